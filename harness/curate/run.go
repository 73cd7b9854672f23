package curate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"assay/backends"
	"assay/results"
	"assay/results/text"
	"assay/timing"
)

// asked is a model that is to be asked.
type asked struct {
	Name    string
	Model   string // the server's name for it
	Backend backends.Backend
	// Plain is Backend without what starts and stops its server: what of raw texts it can
	// is looked up there.
	Plain    backends.Backend
	Options  map[string]any // the server's own
	Think    *bool          // nil: not, where the server says that the model could
	InFlight int            // requests beside each other, at least 1
	Timeouts backends.Timeouts
	Retries  int
}

// continueTexts has a model go on with texts, but for those that the store has an answer to.
// Failures are counted in continuedModel and not stored: the next call asks again. Its error is
// for what stops all, an end of ctx among it; what was answered until then is stored.
// tell is told how far it is: so many of all texts.
func continueTexts(ctx context.Context, st *answerStore, m asked, set ContaminationSettings, texts []sourceText, tell func(done, of int)) (continuedModel, error) {
	out := continuedModel{Name: m.Name}
	id, err := m.Backend.Identify(ctx, m.Model)
	if err != nil {
		return out, fmt.Errorf("model %s: %w", m.Name, err)
	}
	out.Identity = id
	way := rawText
	raw, ok := m.Plain.(backends.Continuer)
	if !ok || set.Chat {
		way = chat
	}
	served := results.ServedBy(id)
	var stored map[results.Digest]answer
	q := asker{m: m, raw: raw, thinks: id.Thinking != nil && *id.Thinking, reach: set.Reach}
	if q.cutter, ok = m.Plain.(backends.Tokenizer); !ok {
		q.cutter = nil
	}
	put := func(a answer) error {
		return st.put(context.WithoutCancel(ctx), m.Name, served, q.how(), a)
	}
	use := func(w askingWay) (err error) {
		q.way = w
		stored, out.Former, err = st.answers(ctx, m.Name, served, q.how())
		return err
	}
	if err := use(way); err != nil {
		return out, err
	}
	var open []sourceText
	left := func() {
		open = nil
		for _, t := range texts {
			if _, done := stored[t.Digest]; !done {
				open = append(open, t)
			}
		}
	}
	left()
	if way == rawText && len(open) == len(texts) && len(open) > 0 {
		// A server, or a proxy before it, may lack the endpoint.
		first, err := q.answer(ctx, open[0])
		switch {
		case lacks(err):
			err = use(chat)
		case err == nil:
			if err = put(first); err == nil {
				err = use(rawText)
			}
		default:
			err = nil // it is asked again, patiently
		}
		if err != nil {
			return out, err
		}
		left()
	}
	if err := q.all(ctx, open, put, &out, func(n int) { tell(len(texts)-len(open)+n, len(texts)) }); err != nil {
		return out, err
	}
	if stored, _, err = st.answers(ctx, m.Name, served, q.how()); err != nil {
		return out, err
	}
	for _, t := range texts {
		if a, ok := stored[t.Digest]; ok {
			a.Cluster = t.Cluster
			out.Answers = append(out.Answers, a)
		}
	}
	return out, nil
}

// lacks says whether a server has no such endpoint.
func lacks(err error) bool {
	var e *backends.Error
	return errors.As(err, &e) && e.Kind != backends.ErrUnknownModel && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented)
}

// asker asks one model in one way.
type asker struct {
	m      asked
	way    askingWay
	raw    backends.Continuer
	cutter backends.Tokenizer // nil: the server does not say
	thinks bool
	reach  float64
}

// prompt asks for a continuation in a chat.
const prompt = "Here is the beginning of a text. Go on with it exactly as the original goes on, word for word. Write only the continuation: no comment, and nothing of the beginning again.\n\n"

// how is a digest of all that an answer hangs on besides model and text.
func (q *asker) how() results.Digest {
	b, err := json.Marshal(struct {
		Way     askingWay
		Prompt  string
		Reach   float64
		Think   *bool
		Options map[string]any
	}{q.way, prompt, q.reach, q.think(), q.m.Options})
	if err != nil {
		panic("curate: internal error: " + err.Error())
	}
	return results.DigestOf(b)
}

func (q *asker) think() *bool {
	if q.m.Think == nil && q.thinks {
		return new(bool)
	}
	return q.m.Think
}

// givenUp is how many failures one after another end a model's turn.
const givenUp = 5

// all asks about texts, several at once.
func (q *asker) all(ctx context.Context, open []sourceText, put func(answer) error, out *continuedModel, tell func(int)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan sourceText)
	var mu sync.Mutex
	var wg sync.WaitGroup
	var fatal error
	done, inRow := 0, 0
	for range max(1, q.m.InFlight) {
		wg.Go(func() {
			for t := range next {
				if ctx.Err() != nil {
					continue
				}
				a, err := q.patiently(ctx, t)
				if err == nil {
					if lost := put(a); lost != nil {
						mu.Lock()
						fatal = lost
						mu.Unlock()
						stop(lost)
						return
					}
				}
				mu.Lock()
				switch {
				case err == nil:
					done, inRow = done+1, 0
					tell(done)
				case ctx.Err() == nil:
					out.Failed++
					if inRow++; out.Why == "" {
						out.Why = err.Error()
					}
				}
				mu.Unlock()
			}
		})
	}
	sent := 0
feed:
	for _, t := range open {
		mu.Lock()
		lost := inRow >= givenUp
		mu.Unlock()
		if lost {
			break
		}
		select {
		case next <- t:
			sent++
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	if fatal != nil {
		return fatal
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	out.Failed += len(open) - sent
	return nil
}

func (q *asker) patiently(ctx context.Context, t sourceText) (a answer, err error) {
	err = backends.RetryPolicy{Retries: q.m.Retries, Busy: q.m.Timeouts.Busy}.Do(ctx, func() error {
		a, err = q.answer(ctx, t)
		if errors.Is(err, backends.ErrUnreachable) {
			_, _ = q.m.Backend.Identify(ctx, q.m.Model) // a server that we started is started again
		}
		return err
	}, func(error, time.Duration) {})
	return a, err
}

// answer makes one attempt.
func (q *asker) answer(ctx context.Context, t sourceText) (answer, error) {
	if limit := q.m.Timeouts.Total; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	a := answer{Item: t.Item, Text: t.Digest, Way: q.way}
	tokens, err := q.halve(ctx, t.Text, &a)
	if err != nil || a.Rest == "" || a.Head == "" {
		a.Rest = ""
		return a, err
	}
	sampling := backends.Sampling{MaxTokens: tokens, Seed: new(int64)} // temperature 0
	if q.way == rawText {
		said, err := q.raw.Continue(ctx, backends.Continuation{Model: q.m.Model, Text: a.Head, Sampling: sampling, Options: q.m.Options})
		a.Said, a.Finish = said.Text, said.Finish
		return a, err
	}
	r, err := q.m.Backend.Generate(ctx, &backends.Request{Model: q.m.Model, Messages: []backends.Message{{Role: backends.User, Text: prompt + a.Head}},
		Sampling: sampling, Think: q.think(), Options: q.m.Options, Timeouts: q.m.Timeouts}, timing.NewRecorder(timing.NewClock()))
	if err != nil {
		return a, err
	}
	a.Said, a.Finish = text.Outside(r.Answer), r.Finish
	return a, nil
}

// halve cuts a text, and says how many tokens make up what of a continuation is read:
// reach times those of the second half, or where they are not known so many that even
// three letters to a token are enough.
func (q *asker) halve(ctx context.Context, s string, a *answer) (tokens int, err error) {
	if q.cutter != nil {
		n, err := q.byTokens(ctx, s, a)
		if err != nil && !lacks(err) {
			return 0, err
		}
		if n > 0 {
			a.Cut = byTokens
			return int(math.Ceil(q.reach * float64(n))), nil
		}
	}
	a.Cut = cutByWords
	a.Head, a.Rest = halves(s)
	return int(math.Ceil(q.reach * float64(len(a.Rest)) / 3)), nil
}

// byTokens gives the number of tokens of the second half; 0: its first half is not a
// beginning of the text, as where a tokenizer changes what it reads.
func (q *asker) byTokens(ctx context.Context, s string, a *answer) (int, error) {
	ids, err := q.cutter.Tokens(ctx, q.m.Model, s)
	if err != nil || len(ids) < 2 {
		return 0, err
	}
	half := len(ids) / 2
	head, err := q.cutter.Text(ctx, q.m.Model, ids[:half])
	if err != nil {
		return 0, err
	}
	// A letter of several bytes may be cut; some tokenizers put a space before a text.
	head = strings.TrimLeft(strings.TrimRight(head, string(utf8.RuneError)), " ")
	rest, ok := strings.CutPrefix(s, head)
	if !ok || head == "" {
		return 0, nil
	}
	a.Head, a.Rest = strings.TrimSpace(head), strings.TrimSpace(rest)
	return len(ids) - half, nil
}
