package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"assay/harness/experiment"
	"assay/harness/plan"
	"assay/harness/servers"
	"assay/results"
	"assay/results/store"
)

// slice works on the slice of a job, and says whether this worker is fit for the next.
// What becomes of it is in the database in any case: stored, given back, or noted as an
// error; where the database cannot be told, the silence is.
func (w *Worker) slice(ctx, jobs context.Context, job *Job, servers *servers.Servers, timed bool, sum *summary) (ok bool) {
	s, err := w.claim(ctx, job)
	if err != nil {
		return errors.Is(err, ErrLost)
	}
	// Who asks for an end once gets the trials that are under way, and nothing is begun.
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	waiting := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	defer waiting()
	w.set(&current{slice: s, cancel: cancel})
	defer w.set(nil)
	w.note("%s: epoch %d, %d trials", s, s.Epoch, s.Trials)
	if !timed {
		t, err := other(run, w.Locks)
		if err != nil {
			return w.ended(ctx, run, s, err)
		}
		defer t.Close()
	}
	path := filepath.Join(w.Dir, fmt.Sprintf("slice-%d-%d.sqlite", w.Experiment.ID, s.ID))
	var trials []Trial
	if s.Kind == Answer {
		waiting()
		defer context.AfterFunc(ctx, func() {
			w.note("%s: ending after the trial under way, and giving the rest back; once more ends at once", s)
		})()
		trials, err = w.answer(run, ctx, s, path, servers)
	} else {
		err = w.judge(run, s, path, servers)
	}
	if err != nil {
		return w.ended(ctx, run, s, err)
	}
	packed, err := pack(run, path)
	if err != nil {
		return w.ended(ctx, run, s, err)
	}
	if err := w.insist(ctx, s, func() error { return w.Fleet.Store(jobs, job, s, w.Host.ID, trials, packed) }); err != nil {
		return w.ended(ctx, run, s, err)
	}
	sum.Slices++
	sum.Trials += s.Trials
	if err := remove(path); err != nil {
		w.note("%v", err)
	}
	return true
}

func (w *Worker) set(c *current) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = c
}

// open notes the store that is worked on, and what was, which is closed when it returns.
func (w *Worker) open(st *store.Store) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.at != nil {
		w.at.store = st
	}
}

// claim takes a job's slice, however often the database has to be asked.
func (w *Worker) claim(ctx context.Context, job *Job) (slice, error) {
	for {
		s, err := w.Fleet.Claim(ctx, job.Args, w.Host.ID)
		if err == nil || errors.Is(err, ErrLost) || ctx.Err() != nil {
			return s, err
		}
		w.note("%v; trying again", err)
		workerPause(ctx, idle)
	}
}

// insist asks the database about a slice, however often it has to be asked: one that is
// kept by a host which lives and has given it up would be nobody's. Only who asked for an
// end does not wait.
func (w *Worker) insist(ctx context.Context, s slice, ask func() error) error {
	for {
		err := ask()
		if err == nil || !Transient(err) || ctx.Err() != nil {
			return err
		}
		w.note("%s: %v; trying again", s, err)
		workerPause(ctx, idle)
	}
}

// ended tells of a slice that was not stored.
func (w *Worker) ended(ctx, run context.Context, s slice, err error) (ok bool) {
	tell := func(what func(context.Context, slice, string, string) error, why string) {
		err := w.insist(ctx, s, func() error {
			short, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			return what(short, s, w.Host.ID, why)
		})
		if err != nil && !errors.Is(err, ErrLost) {
			w.note("%s: %v", s, err)
		}
	}
	switch {
	case errors.Is(err, ErrLost) || errors.Is(context.Cause(run), ErrLost):
		w.note("%s: another host has it now; what was not uploaded stays here in case it comes back", s)
		return true
	case errors.Is(err, errOther):
		w.note("%s: %v", s, err)
		w.avoid[s.Model] = time.Now().Add(24 * time.Hour) // what is served here does not change by itself
		tell(w.Fleet.Release, "host "+w.Host.Name+" serves "+err.Error())
		return false
	case ctx.Err() != nil:
		tell(w.Fleet.Release, "host "+w.Host.Name+" stopped")
		return false
	}
	w.note("%s: %v", s, err)
	tell(w.Fleet.Fail, err.Error())
	w.avoid[s.Model] = time.Now().Add(avoidFor)
	if s.Kind == Judge {
		w.avoid[""] = w.avoid[s.Model]
	}
	return false
}

// part is the plan of a slice, with facts of its own items alone: all items' are in the
// experiment's base.
func (w *Worker) part(s slice, path string) (*experiment.Bench, *plan.Plan, error) {
	b := at(w.Bench, path)
	p, err := b.Plan(plan.Filter{Models: []string{s.Model}, Shard: plan.Shard{Part: s.Part, Of: s.Parts}})
	if err != nil {
		return nil, nil, err
	}
	for i := range p.Studies {
		p.Studies[i].Known = p.Studies[i].Items
	}
	return b, p, nil
}

// answer asks the model, and says which trials are in the store.
func (w *Worker) answer(ctx, enough context.Context, s slice, path string, servers *servers.Servers) (trials []Trial, err error) {
	b, p, err := w.part(s, path)
	if err != nil {
		return nil, err
	}
	if s.Stored {
		if err := w.load(ctx, s, path); err != nil {
			return nil, err
		}
	}
	st, man, err := b.Open(ctx, p, w.Manifest, w.Notes)
	if err != nil {
		return nil, err
	}
	w.open(st)
	defer func() {
		w.open(nil)
		err = errors.Join(err, st.Close())
	}()
	sum, err := b.Answer(ctx, p, st, &man, experiment.Asking{Servers: servers, RetryFailed: s.Stored, Notes: quiet{}, Host: w.here, Enough: enough})
	if err != nil {
		return nil, err
	}
	for _, text := range sum.Warnings {
		w.note("%s: %s", s, text)
	}
	if sum.Left > 0 {
		why := fmt.Errorf("%d trials are left", sum.Left)
		for _, r := range sum.Refused {
			why = fmt.Errorf("%w: %s", why, r.Reason)
		}
		for _, stop := range sum.Stopped {
			why = fmt.Errorf("%w: %w", why, stop.Err)
		}
		return nil, why
	}
	if id, ok := man.Models[s.Model]; ok { // of a server that was started for it, nobody knew before
		if err := w.serves(ctx, s.Model, id); errors.Is(err, errOther) {
			return nil, err
		}
	}
	all, err := st.Outcomes(ctx)
	if err != nil {
		return nil, err
	}
	for k, o := range all {
		trials = append(trials, Trial{Key: keyOf(k), Failed: o.Failed})
	}
	return trials, nil
}

// keyOf is a trial's key as one text that no other key has.
func keyOf(k results.Key) string {
	b, err := json.Marshal([]any{k.Study, k.Model, k.Item, k.Arm, k.Condition, k.Repeat})
	if err != nil {
		panic("fleet: internal error: a key that is no JSON: " + err.Error())
	}
	return string(b)
}

// judge judges the answers of a slice.
func (w *Worker) judge(ctx context.Context, s slice, path string, servers *servers.Servers) (err error) {
	b, p, err := w.part(s, path)
	if err != nil {
		return err
	}
	if err := Patient(ctx, w.Notes, func() error { return w.judged(ctx, s, path) }); err != nil {
		return err
	}
	st, _, err := b.Open(ctx, p, w.Manifest, w.Notes)
	if err != nil {
		return err
	}
	w.open(st)
	defer func() {
		w.open(nil)
		err = errors.Join(err, st.Close())
	}()
	tally, err := b.Judge(ctx, p, st, servers, w.Notes)
	if n := tally[results.StatusUnreachable] + tally[results.StatusRefused]; err == nil && n > 0 {
		err = fmt.Errorf("%d judgments are open: their judge could not be reached, or refused the request", n)
	}
	return err
}

// judged has the store that is to be judged at path: what an earlier epoch left there, if that
// is of the answers that are uploaded now, else these.
func (w *Worker) judged(ctx context.Context, s slice, path string) error {
	now, err := w.Fleet.Upload(ctx, s.Experiment, s.Model, s.Part)
	if err != nil {
		return err
	}
	_, err = os.Stat(path)
	of, _ := os.ReadFile(path + uploadEnd)
	if err == nil && string(of) == now {
		return nil
	}
	if err := w.load(ctx, s, path); err != nil {
		return err
	}
	return os.WriteFile(path+uploadEnd, []byte(now), 0o600)
}

// uploadEnd ends the name of the file beside a store that says of which upload it is.
const uploadEnd = ".of"

// load brings a slice's store here.
func (w *Worker) load(ctx context.Context, s slice, path string) error {
	if err := remove(path); err != nil {
		return err
	}
	tmp := path + ".part"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(w.Fleet.Load(ctx, s.Experiment, s.Model, s.Part, f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, path)
}

// pack compresses a store without what can be made anew: scores and energies.
func pack(ctx context.Context, path string) (packed []byte, err error) {
	out := path + ".out"
	defer func() { err = errors.Join(err, remove(out)) }()
	if err := remove(out); err != nil {
		return nil, err
	}
	if _, err := store.Stores(ctx, out, []string{path}, nil); err != nil {
		return nil, err
	}
	f, err := os.Open(out)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Pack(f)
}

// remove removes a store with what lies beside it.
func remove(path string) error {
	var errs []error
	for _, end := range []string{"", "-wal", "-shm", ".lock", ".stopping", uploadEnd} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// quiet is where a slice's progress goes: that of the experiment is told.
type quiet struct{}

func (quiet) Write(p []byte) (int, error) { return len(p), nil }
