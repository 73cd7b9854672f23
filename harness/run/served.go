package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"assay/backends"
	"assay/results"
)

// Who serves a model may change inside a block: a server is killed and another
// one takes its port, a model is overwritten. Nothing in an answer says so. So
// the server is asked again who it is, outside of any clock:
//
//   - before the next attempt once a connection was lost, or another process
//     listens,
//   - before an answer is stored whose request had the model loaded,
//   - every askEvery answers, and at the end of a block.
//
// Answers since the server was last asked are in doubt once it is another one:
// they get one more attempt, a failure, and are done again by the next run.
const askEvery = 50

// KindSwapped is the failure of an answer of which it is not known who gave it.
const KindSwapped = "server_changed"

// served is who serves a block's model, as far as the server was asked.
type served struct {
	mu      sync.Mutex // held while the server is asked
	id      backends.Identity
	process string        // that listens; "": not known
	doubt   bool          // it is to be asked before anything else is sent
	since   []*task       // whose answers were stored since then
	swapped *swappedError // it is another one
}

// swappedError is a model that is not the one that answered before.
type swappedError struct {
	Changes string // what differs
	Doubt   int    // answers that do not count because of it
}

func (e *swappedError) Error() string {
	text := "another model answers than the one of the trials before: " + e.Changes
	if e.Doubt > 0 {
		text += fmt.Sprintf("; %d answers since the server was last asked do not count, and are asked for again", e.Doubt)
	}
	return text + "; serve the former one again and run the same command, or give the present one a store of its own (store: in bench.yaml)"
}

// identified notes who serves the model as the block begins.
func (b *block) identified(ctx context.Context, id backends.Identity) {
	b.id = id
	b.who, b.by.id = results.ServedBy(id), id
	b.by.process, _ = b.listener(ctx)
}

// listener is the process that listens, in words; false: not known.
func (b *block) listener(ctx context.Context) (string, bool) {
	if b.run.job.Listener == nil {
		return "", false
	}
	return b.run.job.Listener(ctx, b.model)
}

// sure asks the server who it is, if there is reason to. The error is a
// *swappedError, or why it could not be asked: then nothing may be sent. ask does
// the asking.
func (b *block) sure(ctx context.Context, ask func(context.Context) (backends.Identity, error)) error {
	s := &b.by
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.swapped != nil {
		return s.swapped
	}
	process, _ := b.listener(ctx)
	if process == s.process && !s.doubt && len(s.since) < askEvery {
		return nil
	}
	for range askAgain {
		id, err := ask(ctx)
		if err != nil {
			return err
		}
		if diff := id.ChangesFrom(s.id); len(diff) > 0 {
			s.swapped = &swappedError{Changes: strings.Join(diff, ", "), Doubt: len(s.since)}
			return s.swapped
		}
		// Asking may have started a server. The one that said who it is must be the
		// one that listens now.
		before := process
		if process, _ = b.listener(ctx); process == before {
			break
		}
	}
	if process != s.process {
		b.cooled.Store(true) // a new process has seen no picture
	}
	s.process, s.doubt, s.since = process, false, nil
	return nil
}

// askAgain is how often at most a server is asked while its process changes.
const askAgain = 3

// once asks the server a single time.
func (b *block) once(ctx context.Context) (backends.Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	id, err := b.end.Backend.Identify(ctx, b.end.Model)
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		return id, &backends.Error{Kind: backends.ErrStalled, Op: "ask who serves " + b.end.Model, Message: "no reply within " + identifyTimeout.String(), Err: err}
	}
	return id, err
}

// doubtful notes that the server is to be asked again: a connection was lost, or
// the model was loaded.
func (b *block) doubtful() {
	b.by.mu.Lock()
	defer b.by.mu.Unlock()
	b.by.doubt = true
}

// answered notes an answer as given since the server was last asked. The error is
// that another one was found meanwhile: the answer may be its.
func (b *block) answered(t *task) error {
	b.by.mu.Lock()
	defer b.by.mu.Unlock()
	if b.by.swapped != nil {
		return b.by.swapped
	}
	b.by.since = append(b.by.since, t)
	return nil
}

// letGo asks once more as the block ends, and takes back what is in doubt. The
// error ends the run.
func (b *block) letGo(ctx context.Context) error {
	if len(b.by.since) > 0 && b.by.swapped == nil {
		// Also after an interruption: those answers are stored.
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
		defer cancel()
		b.by.doubt = true
		var e *swappedError
		if err := b.sure(short, b.once); err != nil && !errors.As(err, &e) {
			b.run.warn(b.model, fmt.Sprintf("who gave the last %d answers could not be asked as the block ended: %v", len(b.by.since), err))
		}
	}
	if b.by.swapped == nil {
		return nil
	}
	if b.stopped == nil {
		b.stop(b.by.swapped)
	}
	for _, t := range b.by.since {
		if err := b.takeBack(ctx, t); err != nil {
			return err
		}
	}
	b.by.since = nil
	return nil
}

// lastLook is how long the end of a block waits for a server to say who it is.
const lastLook = 5 * time.Second

// takeBack adds to a stored answer the failure that takes its place. The trial is
// to be done again.
func (b *block) takeBack(ctx context.Context, t *task) error {
	r := b.run
	was, ok, err := r.job.Store.Trial(context.WithoutCancel(ctx), t.Key)
	if err != nil || !ok {
		return fmt.Errorf("run: read trial %s, whose answer is in doubt (found: %t): %w", t.Key.Name(), ok, err)
	}
	if last, _ := was.Last(); last.Failure != nil {
		return nil // what was in doubt has failed since
	}
	was.Attempts = append(was.Attempts, results.Attempt{Started: now(), Failure: &results.Failure{Kind: KindSwapped, Message: b.by.swapped.Error()}})
	if err := b.put(ctx, was); err != nil {
		return err
	}
	delete(r.state, t.Key)
	r.counts(t.Key, true)
	if t.before {
		r.sum.Skipped--
	} else {
		r.sum.Done--
	}
	r.sum.Left++
	return nil
}
