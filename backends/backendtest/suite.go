// Package backendtest is what every Backend has to pass.
//
//  1. Load, Network: recordings of real servers, replayed byte for byte and read
//     for read over an injected dialer, on a test's own clock.
//  2. Run: the same demands put to a live server, phantom or real.
//  3. tinymodel: a vision-language model small enough to run anywhere, so that
//     "a real server" needs neither a GPU nor anyone's weights.
package backendtest

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"assay/backends"
	"assay/backends/wire"
	"assay/timing"
)

// Target is a live server and what may be expected of it.
type Target struct {
	New         func(wire.Dial) (backends.Backend, error) // a fresh backend; nil dial: the network
	Model       string                                    // sees
	Blind       string                                    // a model of which Identify says that it cannot see; "": there is none
	Drops       bool                                      // images for it are dropped without a word, so the adapter has to refuse
	Server      string                                    // Identity.Server
	Synthetic   bool                                      // a phantom
	ChecksNames bool                                      // refuses a model it does not have
	Options     map[string]any                            // Request.Options of every request
}

// Run puts the suite to a live server.
func Run(t *testing.T, target Target) {
	ask := func(pictures ...backends.Image) func(*testing.T, Target) {
		return func(t *testing.T, s Target) { answered(t, s, Ask(s.Model, "Describe what there is.", pictures...)) }
	}
	for _, demand := range []struct {
		name string
		of   func(*testing.T, Target)
	}{
		{"identity", identity},
		{"text", ask()},
		{"image", ask(Picture(96, 64, 1))},
		{"conversation", conversation},
		{"several images", several},
		{"schema", schema},
		{"token limit", tokenLimit},
		{"at once", atOnce},
		{"unknown model", unknownModel},
		{"cancelled", cancelled},
		{"nobody listens", unreachable},
		{"image to a blind model", blind},
	} {
		t.Run(demand.name, func(t *testing.T) { demand.of(t, target) })
	}
}

func open(t *testing.T, target Target, dial wire.Dial) backends.Backend {
	t.Helper()
	b, err := target.New(dial)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func identity(t *testing.T, target Target) {
	id, err := open(t, target, nil).Identify(t.Context(), target.Model)
	if err != nil {
		t.Fatal(err)
	}
	if id.Server != target.Server || id.Model != target.Model {
		t.Errorf("server %q, model %q; want %q, %q", id.Server, id.Model, target.Server, target.Model)
	}
	if id.Vision != nil && !*id.Vision {
		t.Errorf("%s says that it cannot see", target.Model)
	}
	if id.Synthetic != target.Synthetic {
		t.Errorf("synthetic: %v, want %v", id.Synthetic, target.Synthetic)
	}
	if id.Context != nil && *id.Context < 1 || id.Slots != nil && *id.Slots < 1 {
		t.Errorf("context %v, slots %v: unknown is nil", id.Context, id.Slots)
	}
}

// answered asks and checks everything that any complete answer must have.
func answered(t *testing.T, target Target, req *backends.Request) *backends.Response {
	t.Helper()
	return answeredBy(t, open(t, target, nil), target, req)
}

func answeredBy(t *testing.T, b backends.Backend, target Target, req *backends.Request) *backends.Response {
	t.Helper()
	req.Options = target.Options
	rec := timing.NewRecorder(timing.NewClock())
	resp, err := b.Generate(t.Context(), req, rec)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Answer == "" {
		t.Error("an answer without text")
	}
	if resp.Finish != backends.FinishStop && resp.Finish != backends.FinishLength {
		t.Errorf("finish %q", resp.Finish)
	}
	if !json.Valid(resp.Sent) || !bytes.Contains(resp.Sent, []byte(req.Model)) {
		t.Errorf("the request as sent: %.200q", resp.Sent)
	}
	if n := resp.Usage.CompletionTokens; n == nil || *n < 1 || *n > req.Sampling.MaxTokens+1 {
		t.Errorf("completion tokens: %v of at most %d", n, req.Sampling.MaxTokens)
	}
	if n := resp.Usage.PromptTokens; n == nil || *n < 1 {
		t.Errorf("prompt tokens: %v", n)
	}
	tr := rec.Trace()
	for _, e := range []timing.Event{timing.Start, timing.Sent, timing.FirstByte, timing.FirstContent, timing.FirstAnswer, timing.LastContent, timing.End} {
		if _, ok := tr.At(e); !ok {
			t.Errorf("no time for %s", e)
		}
	}
	if err := CheckOrder(tr); err != nil {
		t.Error(err)
	}
	var answer, reasoning int
	for _, p := range tr.Chunks {
		if p.Answer {
			answer += p.Runes
		} else {
			reasoning += p.Runes
		}
	}
	if answer != len([]rune(resp.Answer)) || reasoning != len([]rune(resp.Reasoning)) {
		t.Errorf("chunks of %d and %d code points; answer %d, reasoning %d", answer, reasoning, len([]rune(resp.Answer)), len([]rune(resp.Reasoning)))
	}
	latency, _ := tr.Latency()
	for name, d := range map[string]*time.Duration{"total": resp.Server.Total, "load": resp.Server.Load, "prompt": resp.Server.Prompt, "decode": resp.Server.Decode, "queue": resp.Server.Queue} {
		// The server's clock runs inside ours, but for what it does after the last chunk.
		if d != nil && (*d < 0 || *d > latency+time.Second) {
			t.Errorf("the server's %s is %v, the client's latency %v", name, *d, latency)
		}
	}
	return resp
}

func conversation(t *testing.T, target Target) {
	req := Ask(target.Model, "First picture.", Picture(64, 64, 2))
	req.Messages = append([]backends.Message{{Role: backends.System, Text: "Answer in one sentence."}}, req.Messages...)
	req.Messages = append(req.Messages,
		backends.Message{Role: backends.Assistant, Text: "A disc."},
		backends.Message{Role: backends.User, Text: "And these?", Images: []backends.Image{Picture(64, 96, 3), Picture(96, 64, 4)}})
	resp := answered(t, target, req)
	if n := bytes.Count(resp.Sent, []byte("iVBORw0KGgo")); n != 3 {
		t.Errorf("%d pictures in the request, want 3", n)
	}
}

// several images of one message are all sent, in their order, also where nonces are
// written into their files; and the server counts tokens for each.
func several(t *testing.T, target Target) {
	var pictures []backends.Image
	for n := range 5 {
		pictures = append(pictures, Picture(64+8*(n%2), 64, n))
	}
	for name, cold := range map[string]backends.Nonce{"warm": "", "cold": backends.NonceOf(t.Name())} {
		before := 0
		for _, n := range []int{1, 3, 5} {
			req := Ask(target.Model, "Describe these pictures.", pictures[:n]...)
			req.Cold = cold
			resp := answered(t, target, req)
			if err := checkPictures(resp.Sent, pictures[:n]); err != nil {
				t.Errorf("%s, %d pictures: %v", name, n, err)
			}
			if tokens := resp.Usage.PromptTokens; tokens == nil || *tokens <= before {
				t.Errorf("%s: %d pictures cost %v tokens, fewer cost %d", name, n, tokens, before)
			} else {
				before = *tokens
			}
		}
	}
}

func schema(t *testing.T, target Target) {
	req := Ask(target.Model, "Is there a disc? Reply as JSON.", Picture(64, 64, 5))
	req.Schema = Schema()
	resp := answered(t, target, req)
	want, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", want); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := jsonschema.UnmarshalJSON(strings.NewReader(resp.Answer))
	if err == nil {
		err = compiled.Validate(got)
	}
	if err != nil {
		t.Errorf("answer %q under a schema (%s): %v", resp.Answer, resp.Finish, err)
	}
}

func tokenLimit(t *testing.T, target Target) {
	for seed := range int64(8) {
		req := Ask(target.Model, "Describe this image at length.", Picture(64, 64, 6))
		req.Sampling.Seed, req.Sampling.MaxTokens = &seed, 2
		// A model may end by itself that early, but not for every seed.
		if answered(t, target, req).Finish == backends.FinishLength {
			return
		}
	}
	t.Error("no answer was cut by a limit of two tokens")
}

func atOnce(t *testing.T, target Target) {
	b := open(t, target, nil)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			req := Ask(target.Model, "Describe this image.", Picture(64, 64, i))
			req.Options = target.Options
			rec := timing.NewRecorder(timing.NewClock())
			if _, err := b.Generate(t.Context(), req, rec); err != nil {
				t.Error(err)
			} else if err := CheckOrder(rec.Trace()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func unknownModel(t *testing.T, target Target) {
	const nobody = "no-such-model"
	b := open(t, target, nil)
	if !target.ChecksNames {
		if _, err := b.Generate(t.Context(), Ask(nobody, "?"), timing.NewRecorder(timing.NewClock())); err != nil {
			t.Errorf("a server that does not check names: %v", err)
		}
		return
	}
	_, err := b.Identify(t.Context(), nobody)
	Typed(t, nil, err, backends.ErrUnknownModel)
	resp, err := b.Generate(t.Context(), Ask(nobody, "?"), timing.NewRecorder(timing.NewClock()))
	Typed(t, resp, err, backends.ErrUnknownModel)
}

// line is a dialer that counts what it has open. After the first bytes of a
// reply it tells, and delivers nothing more until the connection is closed.
type line struct {
	net.Dialer
	mu    sync.Mutex
	open  int
	dials int
	told  func() // nil: nothing is held back
}

func (l *line) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := l.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	l.count(1)
	h := &held{Conn: conn, line: l, gone: make(chan struct{})}
	return h, nil
}

func (l *line) count(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open += n
	l.dials += max(n, 0)
}

func (l *line) counts() (open, dials int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open, l.dials
}

type held struct {
	net.Conn
	line *line
	gone chan struct{}
	once sync.Once
	read int
}

func (h *held) Read(p []byte) (int, error) {
	if h.line.told == nil {
		return h.Conn.Read(p)
	}
	if h.read > 0 {
		h.line.told()
		<-h.gone
		return 0, net.ErrClosed
	}
	n, err := h.Conn.Read(p[:min(len(p), 64)])
	h.read += n
	return n, err
}

func (h *held) Close() error {
	h.once.Do(func() { close(h.gone); h.line.count(-1) })
	return h.Conn.Close()
}

func cancelled(t *testing.T, target Target) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := &line{told: cancel}
	req := Ask(target.Model, "Describe this image.", Picture(64, 64, 7))
	req.Options = target.Options
	resp, err := open(t, target, l.dial).Generate(ctx, req, timing.NewRecorder(timing.NewClock()))
	Typed(t, resp, err, backends.ErrCancelled)
	if open, _ := l.counts(); open != 0 {
		t.Errorf("%d connections left open", open)
	}
	for deadline := time.Now().Add(5 * time.Second); ; runtime.Gosched() {
		var stacks bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, 2); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(stacks.String(), "assay/backends/wire.") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("goroutines left behind:\n%s", stacks.String())
		}
	}
}

func unreachable(t *testing.T, target Target) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	b := open(t, target, func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, addr)
	})
	_, err = b.Identify(t.Context(), target.Model)
	Typed(t, nil, err, backends.ErrUnreachable)
	rec := timing.NewRecorder(timing.NewClock())
	resp, err := b.Generate(t.Context(), Ask(target.Model, "?"), rec)
	if e := Typed(t, resp, err, backends.ErrUnreachable); e.Sent != nil {
		t.Errorf("%d bytes said to be sent", len(e.Sent))
	}
	if _, ok := rec.Trace().At(timing.Start); ok {
		t.Error("a request that was never sent has a start")
	}
}

func blind(t *testing.T, target Target) {
	if target.Blind == "" {
		return
	}
	l := &line{}
	b := open(t, target, l.dial)
	id, err := b.Identify(t.Context(), target.Blind)
	if err != nil || id.Vision == nil || *id.Vision {
		t.Fatalf("identity %+v, %v: want vision false", id, err)
	}
	_, before := l.counts()
	req := Ask(target.Blind, "What is this?", Picture(64, 64, 8))
	req.Options = target.Options
	resp, err := b.Generate(t.Context(), req, timing.NewRecorder(timing.NewClock()))
	_, after := l.counts()
	if e := Typed(t, resp, err, backends.ErrNoVision); target.Drops && (e.Sent != nil || after != before) {
		t.Errorf("%d bytes sent over %d connections, want none", len(e.Sent), after-before)
	}
	answeredBy(t, b, target, Ask(target.Blind, "What is a disc?"))
}
