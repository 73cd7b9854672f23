package backendtest_test

import (
	"bytes"
	"errors"
	"image/png"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/backends"
	"assay/backends/backendtest"
	"assay/backends/phantom"
	"assay/backends/wire"
	films "assay/harness/dataset/phantom"
	"assay/results"
	"assay/timing"
)

// book is a ledger in memory.
type book struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (k *book) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.b.Write(p)
}

func (k *book) entries(t *testing.T) []phantom.Entry {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	out, err := phantom.ReadLedger(bytes.NewReader(k.b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func connected(t *testing.T, protocol, url string) backends.Backend {
	t.Helper()
	b, err := adapters()[protocol].new(wire.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func chest(t *testing.T, seed uint64, index int) (backends.Image, films.Question) {
	t.Helper()
	s := films.NewScene(seed, index)
	var b bytes.Buffer
	if err := png.Encode(&b, s.Render(256)); err != nil {
		t.Fatal(err)
	}
	q := films.Questions(s)
	return backends.Image{Bytes: b.Bytes(), MIME: "image/png"}, q[index%len(q)]
}

// noneLeft waits until there are no more goroutines than before; what waits for a
// peer to close its end needs a moment.
func noneLeft(t *testing.T, before int) {
	t.Helper()
	for range 500 {
		if runtime.NumGoroutine() <= before {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}

// Every hazard is a typed failure or a right answer, in every protocol; none
// hangs, and none leaves a goroutine behind.
func TestPlantedFaults(t *testing.T) {
	want := map[phantom.FaultKind][]backends.Kind{
		phantom.FaultErrorInBand: {backends.ErrServer}, phantom.FaultEarlyClose: {backends.ErrTruncated}, phantom.FaultStall: {backends.ErrStalled},
		phantom.FaultLongLine: {backends.ErrMalformed}, phantom.FaultWrongType: {backends.ErrMalformed, backends.ErrTruncated}, phantom.FaultReset: {backends.ErrTruncated},
		phantom.FaultLoading: {backends.ErrLoading, backends.ErrServer}, phantom.FaultInternal: {backends.ErrServer},
	}
	for _, protocol := range []string{"ollama", "llamacpp", "vllm"} {
		var readers []phantom.Profile
		for _, kind := range append([]phantom.FaultKind{""}, phantom.FaultKinds()...) {
			p := phantom.Profiles()[0]
			p.Name, p.Base, p.PerChunk, p.PerMegapixel = "with-"+string(kind), 0, 20*time.Microsecond, 0
			if kind != "" {
				p.Faults = []phantom.Fault{{Kind: kind, Rate: 1}}
			}
			p.Acuity, p.AcuityCoT, p.Wanders, p.StepRight = 1, 1, 0, 1 // nothing is left to chance, which the name sways
			readers = append(readers, p)
		}
		var ledger book
		before := runtime.NumGoroutine()
		s, err := phantom.Listen("127.0.0.1:0", phantom.Options{Skill: new(films.Films), Protocol: protocol, Readers: readers, Ledger: &ledger})
		if err != nil {
			t.Fatal(err)
		}
		b := connected(t, protocol, s.URL)
		picture, q := chest(t, 3, 4)
		ask := func(model string) (*backends.Response, error) {
			r := backendtest.Ask(model, q.Text+"\n\nReason step by step.", picture)
			r.Timeouts = backends.Timeouts{Connect: 5 * time.Second, FirstContent: 5 * time.Second, Stall: 5 * time.Second, Total: 20 * time.Second}
			if model == "with-"+string(phantom.FaultStall) {
				r.Timeouts.Stall = 300 * time.Millisecond // the others may be as slow as the machine is
			}
			return b.Generate(t.Context(), r, timing.NewRecorder(timing.NewClock()))
		}
		plain, err := ask("with-")
		if err != nil {
			t.Fatal(err)
		}
		last := func(r *backends.Response) string { return r.Answer[strings.LastIndex(r.Answer, "\n")+1:] }
		if last(plain) != "Final answer: "+q.Answer {
			t.Errorf("%s: %q, right is %q", protocol, plain.Answer, q.Answer)
		}
		for _, kind := range phantom.FaultKinds() {
			resp, err := ask("with-" + string(kind))
			if want[kind] == nil { // it breaks no rule of the protocol
				switch {
				case err != nil:
					t.Errorf("%s, %s: %v", protocol, kind, err)
				case last(resp) != last(plain):
					t.Errorf("%s, %s: %q", protocol, kind, resp.Answer)
				case kind == phantom.FaultSplitUTF8 && !strings.Contains(resp.Answer, "Röntgen"):
					t.Errorf("%s: letters cut in two came as %q", protocol, resp.Answer)
				case kind == phantom.FaultNoUsage && resp.Usage.CompletionTokens != nil:
					t.Errorf("%s: %d tokens, which nobody counted", protocol, *resp.Usage.CompletionTokens)
				case kind != phantom.FaultNoUsage && 2**resp.Usage.CompletionTokens < *plain.Usage.CompletionTokens: // wording differs by name
					t.Errorf("%s, %s: %d tokens, %d without it", protocol, kind, *resp.Usage.CompletionTokens, *plain.Usage.CompletionTokens)
				}
				continue
			}
			var e *backends.Error
			if !errors.As(err, &e) || !slices.Contains(want[kind], e.Kind) {
				t.Errorf("%s, %s: %v with %v, want %v", protocol, kind, err, resp, want[kind])
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		noneLeft(t, before)
		struck := map[phantom.FaultKind]bool{}
		for _, e := range ledger.entries(t) {
			struck[e.Fault] = true
			if e.Reader != "with-"+string(e.Fault) || e.Protocol != protocol {
				t.Errorf("%s: the ledger says %s of %s", protocol, e.Fault, e.Reader)
			}
		}
		if len(struck) != 1+len(phantom.FaultKinds()) {
			t.Errorf("%s: the ledger knows %v", protocol, struck)
		}
	}
}

// A fault strikes at its rate, and not the same request every time.
func TestFaultsStrikeAtTheirRate(t *testing.T) {
	p := phantom.Profiles()[0]
	p.Name, p.Base, p.PerChunk, p.PerMegapixel, p.PerToken = "often", 0, 0, 0, 0
	p.Faults = []phantom.Fault{{Kind: phantom.FaultInternal, Rate: .2}, {Kind: phantom.FaultLoading, Rate: .1}}
	s, err := phantom.Listen("127.0.0.1:0", phantom.Options{Skill: new(films.Films), Protocol: "llamacpp", Readers: []phantom.Profile{p}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := connected(t, "llamacpp", s.URL)
	n := map[backends.Kind]int{}
	for i := range 300 {
		text := "Describe this."
		if i%2 == 0 {
			text = strings.Repeat("Describe this. ", i)
		}
		_, err := b.Generate(t.Context(), backendtest.Ask("often", text), timing.NewRecorder(timing.NewClock()))
		var e *backends.Error
		if errors.As(err, &e) {
			n[e.Kind]++
		}
	}
	if k := n[backends.ErrServer]; k < 36 || k > 84 {
		t.Errorf("%d of 300 failed with 500, the rate is 0.2", k)
	}
	if k := n[backends.ErrLoading]; k < 12 || k > 48 {
		t.Errorf("%d of 300 failed with 503, the rate is 0.1", k)
	}
}

// The ledger names a request as a store does, and tells what stands behind it.
func TestLedgerJoinsTurns(t *testing.T) {
	for _, protocol := range []string{"ollama", "llamacpp", "vllm"} {
		var ledger book
		s, err := phantom.Listen("127.0.0.1:0", phantom.Options{Skill: new(films.Films), Protocol: protocol, Seed: 5, Ledger: &ledger})
		if err != nil {
			t.Fatal(err)
		}
		b := connected(t, protocol, s.URL)
		sent := map[string]*backends.Response{}
		for i := range 6 {
			picture, q := chest(t, 4, i)
			for _, words := range []string{"\n\nAnswer only.", "\n\nReason step by step."} {
				resp, err := b.Generate(t.Context(), backendtest.Ask("honest", q.Text+words, picture), timing.NewRecorder(timing.NewClock()))
				if err != nil {
					t.Fatal(err)
				}
				sent[string(results.DigestOf(resp.Sent))] = resp
			}
		}
		s.Close()
		all := ledger.entries(t)
		if len(all) != len(sent) || len(all) != 12 {
			t.Fatalf("%s: %d entries of %d requests", protocol, len(all), len(sent))
		}
		for _, e := range all {
			resp, ok := sent[e.Sent]
			if !ok {
				t.Errorf("%s: nobody sent %s", protocol, e.Sent)
				continue
			}
			if e.Final == "" || !strings.HasSuffix(resp.Answer, e.Final) || len(e.Believed) != int(films.NumSites) || e.Own != e.Final {
				t.Errorf("%s: %q came, the ledger has %+v", protocol, resp.Answer, e)
			}
			for _, step := range e.Steps {
				if !strings.Contains(resp.Answer, step.Text) {
					t.Errorf("%s: step %q was not said in %q", protocol, step.Text, resp.Answer)
				}
			}
		}
	}
	if _, err := phantom.ReadLedger(strings.NewReader("{\"sent\":\"x\",\"reader\":\"y\"}\n{}\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a bad line: %v", err)
	}
}
