package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"iter"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/template"
	"time"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/plan"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
	"assay/timing"
)

// TestMain has garbage collected less often: what these tests make is small and soon gone.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

// server is a backend without HTTP.
type server struct {
	id       backends.Identity
	identify func(n int) error                        // the nth call, from 1; nil: fine
	reply    func(c call) (*backends.Response, error) // nil: echo
	takes    func(c call) time.Duration               // nil: nothing
	server   func(r *backends.Response)               // what it says beside the echo; nil: nothing
	chunks   func(c call) int                         // how many come in its one read; nil: 1
	mu       sync.Mutex
	asked    int
	calls    []call
	flying   int
	most     int
}

// call is one request as the server saw it.
type call struct {
	n   int // from 1
	nth int // how often this conversation came, from 1
	req *backends.Request
	at  time.Time
}

func (c call) last() string { return c.req.Messages[len(c.req.Messages)-1].Text }
func (c call) warm() bool   { return c.req.Messages[0].Text == warmPrompt }

func (s *server) Identify(ctx context.Context, model string) (backends.Identity, error) {
	s.mu.Lock()
	s.asked++
	n := s.asked
	s.mu.Unlock()
	if s.identify != nil {
		if err := s.identify(n); err != nil {
			return backends.Identity{}, err
		}
	}
	s.mu.Lock()
	id := s.id
	s.mu.Unlock()
	id.Model = model
	return id, nil
}

func (s *server) Generate(ctx context.Context, req *backends.Request, rec *timing.Recorder) (*backends.Response, error) {
	s.mu.Lock()
	c := call{n: len(s.calls) + 1, nth: 1, req: req, at: time.Now()}
	for _, o := range s.calls {
		if talk(o.req) == talk(req) {
			c.nth++
		}
	}
	s.calls = append(s.calls, c)
	s.flying++
	s.most = max(s.most, s.flying)
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.flying--; s.mu.Unlock() }()

	rec.Start()
	if s.takes != nil {
		after := time.NewTimer(s.takes(c))
		defer after.Stop()
		select {
		case <-after.C:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return nil, &backends.Error{Kind: backends.ErrCancelled, Err: ctx.Err()}
	}
	if s.reply != nil {
		if resp, err := s.reply(c); resp != nil || err != nil {
			return resp, err
		}
	}
	chunks := []timing.Chunk{{At: rec.Clock().Now(), Runes: 1, Answer: true}}
	if s.chunks != nil {
		chunks = slices.Repeat(chunks, s.chunks(c))
	}
	rec.Chunks(chunks, timing.StampsUser)
	rec.Mark(timing.End)
	resp := &backends.Response{Answer: "re: " + c.last(), Finish: backends.FinishStop, Sent: []byte(talk(req))}
	if s.server != nil {
		s.server(resp)
	}
	return resp, nil
}

// trials are the calls that were no warm-up.
func (s *server) trials() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.calls), call.warm)
}

func (s *server) prompts() []string {
	var p []string
	for _, c := range s.trials() {
		p = append(p, c.last())
	}
	return p
}

// talk is a conversation as text.
func talk(r *backends.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "%s: %s\n", m.Role, m.Text)
		for _, i := range m.Images {
			fmt.Fprintf(&b, "%s %s\n", i.MIME, results.DigestOf(i.Bytes))
		}
	}
	return b.String()
}

// memory is a store. It refuses what no store should be given.
type memory struct {
	mu     sync.Mutex
	trials map[results.Key]results.Trial
	served map[results.Digest]backends.Identity
	puts   int
	fails  func(n int) error // of the nth PutTrial, from 1; nil: never
	blind  error             // of every read of a trial
}

func newMemory() *memory {
	return &memory{trials: map[results.Key]results.Trial{}, served: map[results.Digest]backends.Identity{}}
}

func (m *memory) OutcomesOf(_ context.Context, study, model string) iter.Seq2[results.KeyedOutcome, error] {
	return func(yield func(results.KeyedOutcome, error) bool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		for k, t := range m.trials {
			if k.Study == study && k.Model == model && !yield(outcomeOf(k, t), nil) {
				return
			}
		}
	}
}

func outcomeOf(k results.Key, t results.Trial) results.KeyedOutcome {
	o := results.KeyedOutcome{Key: k, Outcome: results.Outcome{Attempts: len(t.Attempts)}}
	a, _ := t.Last()
	if a.Failure != nil {
		o.Failed, o.Kind = true, a.Failure.Kind
	}
	o.Invalid = len(a.Invalid()) > 0
	for _, a := range t.Attempts {
		if len(a.Invalid()) > 0 {
			o.Invalids++
		}
	}
	return o
}

func (m *memory) Trial(_ context.Context, k results.Key) (results.Trial, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.trials[k]
	return t, ok && m.blind == nil, m.blind
}

func (m *memory) PutServed(_ context.Context, id backends.Identity) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.served[results.ServedBy(id)] = id
	return nil
}

func (m *memory) PutTrial(ctx context.Context, t results.Trial) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.puts++
	if ctx.Err() != nil {
		return fmt.Errorf("stored under a context that has ended: %w", ctx.Err())
	}
	if m.fails != nil {
		if err := m.fails(m.puts); err != nil {
			return err
		}
	}
	old := m.trials[t.Key]
	if len(t.Attempts) <= len(old.Attempts) {
		return fmt.Errorf("%s: %d attempts over %d", t.Key.Name(), len(t.Attempts), len(old.Attempts))
	}
	for i, a := range t.Attempts {
		if (a.Output == nil) == (a.Failure == nil) {
			return fmt.Errorf("%s: attempt %d has an answer and a failure, or neither", t.Key.Name(), i)
		}
		if _, ok := m.served[a.Served]; a.Served != "" && !ok {
			return fmt.Errorf("%s: attempt %d was served by nobody", t.Key.Name(), i)
		}
		if f := t.Attempts[min(i+1, len(t.Attempts)-1)].Failure; i < len(t.Attempts)-1 && a.Output != nil && len(a.Invalid()) == 0 && (f == nil || f.Kind != KindSwapped) {
			return fmt.Errorf("%s: an attempt after an answer", t.Key.Name())
		}
		if i < len(old.Attempts) && !same(a, old.Attempts[i]) {
			return fmt.Errorf("%s: attempt %d was changed", t.Key.Name(), i)
		}
	}
	m.trials[t.Key] = t
	return nil
}

func same(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// keys are the stored trials, by name and kind of their last failure.
func (m *memory) kinds() map[string]string {
	out := map[string]string{}
	for k, t := range m.trials {
		a, _ := t.Last()
		out[k.Item+"/"+k.Arm] = ""
		if a.Failure != nil {
			out[k.Item+"/"+k.Arm] = a.Failure.Kind
		}
	}
	return out
}

// seen keeps all events.
type seen struct{ events []event }

func (s *seen) Event(e event) { s.events = append(s.events, e) }

func (s *seen) of(k eventKind) []event {
	return slices.DeleteFunc(slices.Clone(s.events), func(e event) bool { return e.Kind != k })
}

func picture(w, h int, seed uint8) dataset.Image {
	return dataset.Image{Name: fmt.Sprintf("%dx%d-%d.png", w, h, seed), Load: func() ([]byte, error) {
		img := image.NewGray(image.Rect(0, 0, w, h))
		img.SetGray(0, 0, color.Gray{Y: seed})
		var b bytes.Buffer
		err := png.Encode(&b, img)
		return b.Bytes(), err
	}}
}

func item(id string, images ...dataset.Image) *dataset.Item {
	return &dataset.Item{ID: id, Question: "question " + id, Type: "short", Images: images}
}

// arm has one turn per text; the item's question and the arm's name come before it.
func arm(arm string, needs []string, turns ...string) *study.Arm {
	a := &study.Arm{Name: arm, Needs: needs}
	for _, text := range turns {
		a.Turns = append(a.Turns, template.Must(template.New(arm).Option("missingkey=error").Parse(text)))
	}
	return a
}

func direct() *study.Arm { return arm("direct", nil, "{{.Question}} direct") }

// block plans every arm of every item, item by item.
func planned(study, model string, items []*dataset.Item, arms ...*study.Arm) plan.Block {
	b := plan.Block{Model: model}
	for _, it := range items {
		for _, a := range arms {
			b.Trials = append(b.Trials, plan.Trial{
				Key:  results.Key{Study: study, Model: model, Item: it.ID, Arm: a.Name, Condition: perturb.Baseline().Name},
				Item: it, Arm: a, Condition: &perturb.Condition{Name: perturb.Baseline().Name}})
		}
	}
	return b
}

func items(n int, images ...dataset.Image) []*dataset.Item {
	var list []*dataset.Item
	for i := range n {
		list = append(list, item(fmt.Sprintf("i%02d", i), images...))
	}
	return list
}

// job runs blocks, all models on one server, study "s" untimed one at a time.
func job(s *server, m trialStore, blocks ...plan.Block) Job {
	j := Job{Plan: &plan.Plan{Blocks: blocks}, Store: m, Clock: timing.NewClock(), Seed: 7,
		Settings:  map[string]Settings{"s": {Study: config.Study{Sampling: backends.Sampling{Temperature: 0.1, MaxTokens: 64}, InFlight: 1, Retries: 2, Backoff: time.Second}}},
		Endpoints: map[string]Endpoint{}}
	for _, b := range blocks {
		j.Endpoints[b.Model] = Endpoint{Backend: s, Model: b.Model + ":latest"}
	}
	return j
}

// set changes a study's settings.
func (j Job) set(study string, change func(*Settings)) Job {
	s := j.Settings["s"]
	change(&s)
	j.Settings = maps.Clone(j.Settings)
	j.Settings[study] = s
	return j
}

// must runs a job that has nothing to complain of.
func must(t testing.TB, j Job) Summary {
	t.Helper()
	sum, err := Run(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	balanced(t, j, sum)
	return sum
}

// balanced checks that a summary accounts for every planned trial.
func balanced(t testing.TB, j Job, s Summary) {
	t.Helper()
	n := 0
	for _, b := range j.Plan.Blocks {
		n += len(b.Trials)
	}
	kinds := 0
	for _, c := range s.ByKind {
		kinds += c
	}
	if s.Done+s.Failed+s.Skipped+s.Left != n || kinds != s.Failed {
		t.Fatalf("summary does not account for %d trials: %+v", n, s)
	}
}

func fail(k backends.Kind, msg string) error {
	return &backends.Error{Kind: k, Op: "POST http://server", Message: msg}
}

var errDisk = errors.New("no space left on device")
