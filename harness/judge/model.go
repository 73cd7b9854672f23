package judge

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"assay/backends"
	"assay/results"
	"assay/results/text"
	"assay/timing"
)

// Model is a judge that asks a language model behind one of our own backends.
// Use a pointer; it is safe from several goroutines.
type Model struct {
	Name     string // in bench.yaml
	Backend  backends.Backend
	Model    string // the server's name for it
	Sampling backends.Sampling
	Timeouts backends.Timeouts
	Options  map[string]any // of the server
	Think    *bool          // to false where a server can be told: who thinks may ignore the schema; nil: it cannot
	Clock    timing.Clock
	Retries  int           // further attempts after a failure that can heal
	Backoff  time.Duration // before the first of them, then twice as long each time; 0: half a second
	schemas  schemas
}

// Judge asks once, and again only where no reply came. A reply that is not a
// verdict is not asked for again: the same request would give the same reply.
// The error is that of ctx; everything else is a status. Beside it there is a status
// where a request may have cost money.
func (m *Model) Judge(ctx context.Context, r Rubric, c Case) (results.Judgment, error) {
	j, err := begun(ctx, m.Name, r, c)
	if err != nil {
		return j, err
	}
	if r.Template == nil {
		panic("judge: internal error: rubric " + r.Name + " has no template")
	}
	var prompt strings.Builder
	if err := r.Template.Execute(&prompt, c.Fields); err != nil {
		j.Status, j.Detail = results.StatusUnreachable, "the prompt could not be made: "+err.Error()
		return j, nil
	}
	sampling := m.Sampling
	if sampling.Seed != nil && c.Repeat > 0 {
		seed := *sampling.Seed + int64(c.Repeat) // the same seed would give the same reply
		sampling.Seed = &seed
	}
	req := &backends.Request{
		Model:    m.Model,
		Messages: []backends.Message{{Role: backends.User, Text: prompt.String()}},
		Sampling: sampling,
		Schema:   r.Schema,
		Think:    m.Think,
		Timeouts: m.Timeouts,
		Options:  m.Options,
	}
	var resp *backends.Response
	// No jitter: in_flight already spreads the requests.
	err = backends.RetryPolicy{Retries: max(m.Retries, 0), First: m.Backoff, Busy: m.Timeouts.Busy}.Do(ctx, func() error {
		a, r, err := m.attempt(ctx, req)
		if ctx.Err() == nil || err == nil || paid(a) {
			j.Attempts = append(j.Attempts, a)
		}
		resp = r
		return err
	}, func(error, time.Duration) {})
	if ctxErr := ctx.Err(); ctxErr != nil && err != nil {
		if slices.ContainsFunc(j.Attempts, paid) {
			j.Status, j.Detail = results.StatusUnreachable, err.Error()
		}
		return j, ctxErr
	}
	var e *backends.Error
	switch {
	case err == nil:
	case errors.As(err, &e) && (e.Kind == backends.ErrDeclined || e.Kind == backends.ErrLimit):
		// The same request would have no other end.
		j.Status, j.Detail = results.StatusParse, e.Error()
		return j, nil
	case e != nil && (e.Kind == backends.ErrRefused || e.Kind == backends.ErrContextExceeded || e.Kind == backends.ErrUnknownModel):
		j.Status, j.Detail = results.StatusRefused, e.Error()
		return j, nil
	default:
		j.Status, j.Detail = results.StatusUnreachable, err.Error()
		return j, nil
	}
	rep, err := parsed(resp.Answer)
	cut := resp.Finish == backends.FinishLength
	switch {
	case cut && (err != nil || len(rep.Mends) > 0):
		j.Status, j.Detail = results.StatusParse, "the token limit cut the reply; raise the judge's max_tokens"
	case err != nil:
		j.Status, j.Detail = results.StatusParse, err.Error()
	default:
		m.schemas.check(&j, r, c, rep)
	}
	return j, nil
}

// paid says whether a failed attempt has cost money, or may have (as package hosted tells it).
func paid(a results.Attempt) bool {
	var of struct{ Cost *float64 }
	return a.Failure != nil && json.Unmarshal(a.Turns[0].Server.Raw, &of) == nil && of.Cost != nil && *of.Cost > 0
}

// parsed is the JSON of a reply. What a server splits off as reasoning and what it
// leaves in <think> are the same, but a tag that a verdict quotes stays.
func parsed(answer string) (parsedReply, error) {
	if s := strings.TrimSpace(answer); s != "" && !strings.ContainsRune("{[`", rune(s[0])) {
		answer = text.Outside(answer)
	}
	return parseReply(answer)
}

// Reader reads stored replies. The zero value is ready; it is safe from several goroutines.
type Reader struct{ schemas schemas }

// Read is what a model's reply says under a rubric, as if it came now.
func (re *Reader) Read(r Rubric, c Case, answer string) (results.Status, json.RawMessage) {
	var j results.Judgment
	rep, err := parsed(answer)
	if err != nil {
		return results.StatusParse, nil
	}
	re.schemas.check(&j, r, c, rep)
	return j.Status, j.Verdict
}

// generate asks once it is known that the limit of an answer reaches the server. What
// else keeps that from being found out, the request meets itself.
func (m *Model) generate(ctx context.Context, req *backends.Request, rec *timing.Recorder) (*backends.Response, error) {
	if l, ok := m.Backend.(backends.Limiter); ok {
		if _, err := l.Limits(ctx, req.Model, req.Options); errors.Is(err, backends.ErrDropped) {
			return nil, err
		}
	}
	return m.Backend.Generate(ctx, req, rec)
}

// attempt makes one request under a recorder of its own.
func (m *Model) attempt(ctx context.Context, req *backends.Request) (results.Attempt, *backends.Response, error) {
	a := results.Attempt{Started: time.Now().UTC()}
	rec := timing.NewRecorder(m.Clock)
	resp, err := m.generate(ctx, req, rec)
	turn := results.Turn{Trace: rec.Trace()}
	if err != nil {
		f := &results.Failure{Kind: string(backends.ErrServer), Message: err.Error()}
		var e *backends.Error
		if errors.As(err, &e) {
			f.Kind, f.Status, f.Partial = string(e.Kind), e.Status, e.Partial
			turn.Usage, turn.Server.Raw = e.Usage, e.Raw
			if e.Kind == backends.ErrLimit {
				a.Flags = append(a.Flags, results.FlagTruncated)
			}
			if e.Sent != nil {
				turn.Sent = results.DigestOf(e.Sent)
			}
		}
		a.Turns, a.Failure = []results.Turn{turn}, f
		return a, nil, err
	}
	turn.Usage, turn.Server = resp.Usage, resp.Server
	turn.Answer, turn.Reasoning, turn.Finish = resp.Answer, resp.Reasoning, resp.Finish
	if resp.Sent != nil {
		turn.Sent = results.DigestOf(resp.Sent)
	}
	a.Turns = []results.Turn{turn}
	a.Output = &results.Output{Answer: resp.Answer, Reasoning: resp.Reasoning, Finish: resp.Finish}
	if resp.Finish == backends.FinishLength {
		a.Flags = append(a.Flags, results.FlagTruncated)
	}
	if len(resp.Odd) > 0 {
		a.Flags = append(a.Flags, results.FlagOddFigures)
	}
	if resp.Unended {
		a.Flags = append(a.Flags, results.FlagNoEndMark)
	}
	return a, resp, nil
}
