package curate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"text/template"
	"time"
	"unicode/utf8"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/plan"
	"assay/harness/render"
	"assay/harness/run"
	"assay/perturb"
	"assay/results"
	"assay/results/store"
	"assay/results/text"
	"assay/timing"
)

// asked is a model that is to be asked.
type asked struct {
	Name string
	End  run.Endpoint
	// Plain is End.Backend without what starts and stops its server: what of raw texts it
	// can is looked up there.
	Plain    backends.Backend
	InFlight int // requests beside each other, at least 1
	Timeouts backends.Timeouts
	Retries  int
	Seed     uint64    // of the pauses between attempts
	Notes    io.Writer // how far it is
}

// continueTexts has a model go on with texts, but for those that the store has an answer to:
// each text is a trial of a run. What failed is counted in continuedModel, and asked for again
// by the next call. Its error is for what stops all, an end of ctx among it; what was answered
// until then is stored.
func continueTexts(ctx context.Context, st *store.Store, m asked, set ContaminationSettings, texts []sourceText) (continuedModel, error) {
	out := continuedModel{Name: m.Name}
	id, err := m.End.Backend.Identify(ctx, m.End.Model)
	if err != nil {
		return out, fmt.Errorf("model %s: %w", m.Name, err)
	}
	out.Identity = id
	if m.End.Think == nil && id.Thinking != nil && *id.Thinking {
		m.End.Think = new(bool)
	}
	q := continuing{Backend: m.End.Backend, way: rawText, reach: set.Reach}
	var ok bool
	if q.raw, ok = m.Plain.(backends.Continuer); !ok || set.Chat {
		q.way = chat
	}
	if q.cutter, ok = m.Plain.(backends.Tokenizer); !ok {
		q.cutter = nil
	}
	if q.way == rawText {
		if _, err := q.ask(ctx, st, m, id, texts, 1); err != nil {
			return out, err
		}
		first, _, err := st.Trial(ctx, q.key(m, id, texts[0]))
		if err != nil {
			return out, err
		}
		// A server, or a proxy before it, may lack the endpoint.
		if last, ok := first.Last(); ok && last.Failure != nil && lacks(&backends.Error{Kind: backends.Kind(last.Failure.Kind), Status: last.Failure.Status}) {
			q.way = chat
		}
	}
	sum, err := q.ask(ctx, st, m, id, texts, len(texts))
	if err != nil {
		return out, err
	}
	for _, w := range sum.Warnings {
		fmt.Fprintln(m.Notes, "warning:", w)
	}
	for _, s := range sum.Stopped {
		out.Why = s.Err.Error()
	}
	for _, r := range sum.Refused {
		out.Why = r.Reason
	}
	return out, q.read(ctx, st, m, id, texts, &out)
}

// study is what continuations are stored under: a trial's item is the digest of a text, its
// arm how the model was asked, and its condition who served it.
const study = "contamination"

func (q continuing) key(m asked, id backends.Identity, t sourceText) results.Key {
	digits := func(d results.Digest) string { return strings.TrimPrefix(string(d), "sha256:")[:12] }
	return results.Key{Study: study, Model: m.Name, Item: string(t.Digest), Arm: string(q.way) + " " + digits(q.how(m.End)), Condition: "served " + digits(results.ServedBy(id))}
}

// ask asks about the first of the texts, so many, but for those that have an answer.
func (q continuing) ask(ctx context.Context, st *store.Store, m asked, id backends.Identity, texts []sourceText, first int) (run.Summary, error) {
	whole, base := &render.Arm{Name: study, Turns: []*template.Template{template.Must(template.New(study).Parse("{{.Question}}"))}}, perturb.Baseline()
	block := plan.Block{Model: m.Name}
	done := 0
	outcomes, err := st.Outcomes(ctx)
	if err != nil {
		return run.Summary{}, err
	}
	for i, t := range texts {
		key := q.key(m, id, t)
		if was, ok := outcomes[key]; ok && !was.Failed {
			done++
		}
		if i < first {
			block.Trials = append(block.Trials, plan.Trial{Key: key, Item: &dataset.Item{ID: key.Item, Question: t.Text}, Arm: whole, Condition: &base})
		}
	}
	m.End.Backend = q
	return run.Run(ctx, run.Job{Plan: &plan.Plan{Blocks: []plan.Block{block}}, Endpoints: map[string]run.Endpoint{m.Name: m.End},
		Settings: map[string]run.Settings{study: {Study: config.Study{Name: study, InFlight: m.InFlight, Timeouts: m.Timeouts, Retries: m.Retries, Sampling: backends.Sampling{Seed: new(int64)}}}}, // temperature 0
		Store:    &telling{Store: st, notes: m.Notes, model: m.Name, done: done, of: len(texts), last: time.Now()}, Clock: timing.NewClock(), Seed: m.Seed, RetryFailed: true})
}

// telling is a store that says how many texts have an answer.
type telling struct {
	*store.Store
	notes io.Writer
	model string
	of    int

	mu   sync.Mutex
	done int
	last time.Time // that it said so
}

const tellEvery = 5 * time.Second

func (t *telling) PutTrial(ctx context.Context, tr results.Trial) error {
	if err := t.Store.PutTrial(ctx, tr); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, _ := tr.Last(); last.Output == nil {
		return nil
	}
	if t.done++; time.Since(t.last) > tellEvery || t.done == t.of {
		t.last = time.Now()
		fmt.Fprintf(t.notes, "%s: %d of %d texts\n", t.model, t.done, t.of)
	}
	return nil
}

// read takes the answers from the store, and counts what is missing.
func (q continuing) read(ctx context.Context, st *store.Store, m asked, id backends.Identity, texts []sourceText, out *continuedModel) error {
	like := q.key(m, id, sourceText{})
	by, why := map[results.Digest]answer{}, map[results.Digest]string{}
	for t, err := range st.Trials(ctx, study) {
		if err != nil {
			return err
		}
		last, _ := t.Last()
		text := results.Digest(t.Key.Item)
		switch {
		case t.Key.Model != like.Model || t.Key.Arm != like.Arm:
		case t.Key.Condition != like.Condition:
			if last.Output != nil {
				out.Former++
			}
		case last.Failure != nil:
			why[text] = last.Failure.Message
		default:
			a := answer{Text: text, Way: q.way, Said: last.Output.Answer, Finish: last.Output.Finish}
			if err := json.Unmarshal(last.Turns[0].Server.Raw, &a.halved); err != nil {
				return fmt.Errorf("reading continuations: %w: %v", results.FaultDamaged, err)
			}
			by[text] = a
		}
	}
	for _, t := range texts {
		a, ok := by[t.Digest]
		if !ok {
			if out.Failed++; out.Why == "" {
				out.Why = why[t.Digest]
			}
			continue
		}
		a.Item, a.Cluster = t.Item, t.Cluster
		out.Answers = append(out.Answers, a)
	}
	return nil
}

// lacks says whether a server has no such endpoint.
func lacks(err error) bool {
	var e *backends.Error
	return errors.As(err, &e) && e.Kind != backends.ErrUnknownModel && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented)
}

// continuing is a model that is given the first half of the text that it is asked, and goes on.
type continuing struct {
	backends.Backend
	way    askingWay
	raw    backends.Continuer
	cutter backends.Tokenizer // nil: the server does not say
	reach  float64
}

// prompt asks for a continuation in a chat.
const prompt = "Here is the beginning of a text. Go on with it exactly as the original goes on, word for word. Write only the continuation: no comment, and nothing of the beginning again.\n\n"

// how is a digest of all that an answer hangs on besides model and text.
func (q continuing) how(end run.Endpoint) results.Digest {
	b, err := json.Marshal(struct {
		Way     askingWay
		Prompt  string
		Reach   float64
		Think   *bool
		Options map[string]any
	}{q.way, prompt, q.reach, end.Think, end.Options})
	if err != nil {
		panic("curate: internal error: " + err.Error())
	}
	return results.DigestOf(b)
}

// Generate halves the text of a request, and asks for as many tokens as are read of what the
// model goes on with. Where the text was halved stands in place of the server's timings.
func (q continuing) Generate(ctx context.Context, req *backends.Request, rec *timing.Recorder) (*backends.Response, error) {
	if limit := req.Timeouts.Total; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	h, tokens, err := q.halve(ctx, req.Model, req.Messages[0].Text)
	if err != nil {
		return nil, err
	}
	if h.Head == "" {
		h.Rest = ""
	}
	where, err := json.Marshal(h)
	if err != nil {
		panic("curate: internal error: " + err.Error())
	}
	out := &backends.Response{Server: backends.Timings{Raw: where}}
	if h.Rest == "" {
		return out, nil
	}
	sampling := req.Sampling
	sampling.MaxTokens = tokens
	if q.way == rawText {
		said, err := q.raw.Continue(ctx, backends.Continuation{Model: req.Model, Text: h.Head, Sampling: sampling, Options: req.Options})
		out.Answer, out.Finish = said.Text, said.Finish
		return out, err
	}
	r, err := q.Backend.Generate(ctx, &backends.Request{Model: req.Model, Messages: []backends.Message{{Role: backends.User, Text: prompt + h.Head}},
		Sampling: sampling, Think: req.Think, Options: req.Options, Timeouts: req.Timeouts}, rec)
	if err != nil {
		return nil, err
	}
	out.Answer, out.Finish, out.Sent, out.Served = text.Outside(r.Answer), r.Finish, r.Sent, r.Served
	return out, nil
}

// halve cuts a text, and says how many tokens make up what of a continuation is read:
// reach times those of the second half, or where they are not known so many that even
// three letters to a token are enough.
func (q continuing) halve(ctx context.Context, model, s string) (h halved, tokens int, err error) {
	if q.cutter != nil {
		h, n, err := q.byTokens(ctx, model, s)
		if err != nil && !lacks(err) {
			return h, 0, err
		}
		if n > 0 {
			return h, int(math.Ceil(q.reach * float64(n))), nil
		}
	}
	h.Cut = cutByWords
	h.Head, h.Rest = halves(s)
	return h, int(math.Ceil(q.reach * float64(len(h.Rest)) / 3)), nil
}

// byTokens gives the number of tokens of the second half; 0: its first half is not a
// beginning of the text, as where a tokenizer changes what it reads.
func (q continuing) byTokens(ctx context.Context, model, s string) (h halved, n int, err error) {
	ids, err := q.cutter.Tokens(ctx, model, s)
	if err != nil || len(ids) < 2 {
		return h, 0, err
	}
	half := len(ids) / 2
	head, err := q.cutter.Text(ctx, model, ids[:half])
	if err != nil {
		return h, 0, err
	}
	// A letter of several bytes may be cut; some tokenizers put a space before a text.
	head = strings.TrimLeft(strings.TrimRight(head, string(utf8.RuneError)), " ")
	rest, ok := strings.CutPrefix(s, head)
	if !ok || head == "" {
		return h, 0, nil
	}
	return halved{byTokens, strings.TrimSpace(head), strings.TrimSpace(rest)}, len(ids) - half, nil
}
