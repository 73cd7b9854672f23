package run_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
	"assay/backends/llamacpp"
	"assay/backends/ollama"
	"assay/backends/phantom"
	"assay/backends/vllm"
	"assay/backends/wire"
	"assay/harness/config"
	"assay/harness/dataset"
	films "assay/harness/dataset/phantom"
	"assay/harness/plan"
	"assay/harness/run"
	"assay/harness/study/cot"
	"assay/results"
	"assay/results/store"
	"assay/timing"
)

// slow is a reader whose time is mostly that of the picture, so that where time
// is real, a machine that is busy does not blur what caches do.
func slow() phantom.Profile {
	p := phantom.Profiles()[0]
	p.Name, p.Base, p.PerToken, p.PerMegapixel, p.PerChunk = "slow", 20*time.Millisecond, 100*time.Microsecond, 2*time.Second, 2*time.Millisecond
	return p
}

const (
	side    = 256 // pixels: 131 ms
	ofItems = 4
	within  = 0.001 // of a ratio
)

// proven is one timed run of the cot study on a phantom of known caches.
type proven struct {
	sum    run.Summary
	trials []results.Trial // in the order of their last attempts
	reused []phantom.Reuse // per attempt at a trial, in order
}

// forgetful takes the nonces out of trials (not out of calibrations), or out of
// everything.
type forgetful struct {
	backends.Backend
	all bool
}

func (f forgetful) Generate(ctx context.Context, req *backends.Request, rec *timing.Recorder) (*backends.Response, error) {
	bare := *req
	if f.all || req.Sampling.MaxTokens > 100 {
		bare.Cold = ""
	}
	return f.Backend.Generate(ctx, &bare, rec)
}

// noting notes which requests are trials: the others are short.
type noting struct {
	backends.Backend
	trial *[]bool
}

func (n noting) Generate(ctx context.Context, req *backends.Request, rec *timing.Recorder) (*backends.Response, error) {
	*n.trial = append(*n.trial, req.Sampling.MaxTokens > 100)
	return n.Backend.Generate(ctx, req, rec)
}

// pipes are connections in memory: in a bubble, time passes only where somebody
// waits for it, and comes out exactly.
type pipes struct {
	far  chan net.Conn
	done chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.far:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.done); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.far <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// exact runs a measurement in a bubble.
func exact(t *testing.T, protocol string, caches *phantom.Caches, cold bool, wrap func(backends.Backend) backends.Backend) (got proven) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h, err := phantom.Handler(phantom.Options{Skill: new(films.Films), Protocol: protocol, Seed: 5, Readers: []phantom.Profile{slow()}, Caches: caches})
		if err != nil {
			t.Fatal(err)
		}
		link := pipes{make(chan net.Conn), make(chan struct{})}
		srv := &http.Server{Handler: h}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(link) }()
		got = measure(t, protocol, wire.Config{URL: "http://phantom.invalid", Dial: link.dial}, caches, cold, wrap)
		srv.Close()
		<-served
	})
	return got
}

// overNetwork runs a measurement over the network, in real time.
func overNetwork(t *testing.T, protocol string, caches *phantom.Caches, cold bool, wrap func(backends.Backend) backends.Backend) proven {
	t.Helper()
	srv, err := phantom.Listen("127.0.0.1:0", phantom.Options{Skill: new(films.Films), Protocol: protocol, Seed: 5, Readers: []phantom.Profile{slow()}, Caches: caches})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	return measure(t, protocol, wire.Config{URL: srv.URL}, caches, cold, wrap)
}

func measure(t *testing.T, protocol string, w wire.Config, caches *phantom.Caches, cold bool, wrap func(backends.Backend) backends.Backend) proven {
	t.Helper()
	var b backends.Backend
	var err error
	switch protocol {
	case "ollama":
		b, err = ollama.New(w)
	case "llamacpp":
		b, err = llamacpp.New(w)
	case "vllm":
		b, err = vllm.New(w)
	}
	if err != nil {
		t.Fatal(err)
	}
	if wrap != nil {
		b = wrap(b)
	}
	var trial []bool
	b = noting{b, &trial}
	set, err := dataset.Phantom("chest", 5, ofItems, side)
	if err != nil {
		t.Fatal(err)
	}
	study, err := cot.Study().With(nil, config.Study{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Make(plan.Request{Seed: 5, Models: []string{"m"}, Studies: []plan.Study{{Protocol: study.Protocol(), Set: set, Study: config.Study{Models: []string{"m"}, Arms: cot.ArmNames(), Repeats: 1}}}}, plan.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	// The order that misleads most: the step-by-step arm always comes second.
	trials := p.Blocks[0].Trials
	for i := 0; i < len(trials); i += 2 {
		if trials[i].Key.Arm == "cot" {
			trials[i], trials[i+1] = trials[i+1], trials[i]
		}
	}
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var got proven
	seed := int64(1)
	got.sum, err = run.Run(t.Context(), run.Job{Plan: p, Store: st, Clock: timing.NewClock(), Seed: 5,
		Settings:  map[string]run.Settings{"cot": {Study: config.Study{Sampling: backends.Sampling{Temperature: 0.1, MaxTokens: 512, Seed: &seed}, Timed: true, InFlight: 1, Cache: map[bool]string{true: "cold", false: "warm"}[cold], RepeatsOfInvalid: 2}}},
		Endpoints: map[string]run.Endpoint{"m": {Backend: b, Model: "slow"}}})
	if err != nil {
		t.Fatal(err)
	}
	for tr, err := range st.Trials(t.Context(), "cot") {
		if err != nil {
			t.Fatal(err)
		}
		got.trials = append(got.trials, tr)
	}
	slices.SortFunc(got.trials, func(a, b results.Trial) int { return last(a).Started.Compare(last(b).Started) })
	if caches != nil {
		log := caches.Log() // which may begin with what Identify sent
		for i, r := range log[len(log)-len(trial):] {
			if trial[i] {
				got.reused = append(got.reused, r)
			}
		}
	}
	if len(got.trials) != 2*ofItems || got.sum.Failed > 0 {
		t.Fatalf("%d trials, %+v", len(got.trials), got.sum)
	}
	return got
}

func last(t results.Trial) results.Attempt { return t.Attempts[len(t.Attempts)-1] }

// truth is what an attempt takes by construction.
func truth(t *testing.T, a results.Attempt, reused phantom.Reuse) time.Duration {
	u := a.Turns[0].Usage
	if u.PromptTokens == nil || u.CompletionTokens == nil {
		t.Fatal("a phantom counts tokens")
	}
	return slow().Prefill(*u.PromptTokens-reused.Tokens, side*side-reused.Pixels) + time.Duration(*u.CompletionTokens-1)*slow().PerChunk
}

// ratio is L over all trials: measured, and as it has to be.
func (p proven) ratio(t *testing.T) (measured, configured float64) {
	var got, want [2]time.Duration
	for i, tr := range p.trials {
		var reused phantom.Reuse
		if p.reused != nil {
			reused = p.reused[i]
		}
		arm := 0
		if tr.Key.Arm == "cot" {
			arm = 1
		}
		d, ok := last(tr).Turns[0].Trace.Latency()
		if !ok {
			t.Fatal("no latency")
		}
		got[arm] += d
		want[arm] += truth(t, last(tr), reused)
	}
	return float64(got[1]) / float64(got[0]), float64(want[1]) / float64(want[0])
}

func states(p proven) map[backends.CacheState]int {
	n := map[backends.CacheState]int{}
	for _, tr := range p.trials {
		n[last(tr).Cache.State]++
	}
	return n
}

// Two servers of each kind, one with caches and one without. On the one without,
// every trial is proven cold; on the one with, cold trials are proven cold as
// well, and left to itself every hit is found and nothing else. L is what the
// reader's profile and the caches make of it.
func TestCachesAreFoundOut(t *testing.T) {
	for _, protocol := range []string{"ollama", "llamacpp", "vllm"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			check := func(name string, caches bool, policy results.CachePolicy) (proven, float64) {
				var c *phantom.Caches
				if caches {
					c = &phantom.Caches{}
				}
				p := exact(t, protocol, c, policy == results.PolicyCold, nil)
				got, want := p.ratio(t)
				t.Logf("%s, %s: L = %.3f, configured %.3f; states %v", protocol, name, got, want, states(p))
				if math.Abs(got/want-1) > within {
					t.Errorf("%s: L is %.3f, configured %.3f", name, got, want)
				}
				for i, tr := range p.trials {
					a := last(tr)
					state := backends.CacheCold
					if p.reused != nil && p.reused[i].Hit() {
						state = backends.CacheHit
					}
					c := a.Cache
					if c == nil || c.State != state || c.Policy != policy || c.Field == "" || c.Value == "" || len(a.Flags) > 0 || len(tr.Attempts) != 1 {
						t.Errorf("%s, %s/%s: %d attempts, flags %v, %+v; want %s, reused %+v", name, tr.Key.Item, tr.Key.Arm, len(tr.Attempts), a.Flags, c, state, p.reused)
					}
					if (c.Calibration != nil) != (protocol == "ollama") || (len(c.Nonces) == 1) != (policy == results.PolicyCold) {
						t.Errorf("%s: %+v", name, c)
					}
				}
				return p, got
			}
			cold, l := check("caches, cold", true, results.PolicyCold)
			if slices.ContainsFunc(cold.reused, phantom.Reuse.Hit) {
				t.Errorf("the server reused something all the same: %+v", cold.reused)
			}
			warm, w := check("caches, warm", true, results.PolicyWarm)
			hits := 0
			for _, r := range warm.reused {
				if r.Hit() {
					hits++
				}
			}
			if hits < ofItems {
				t.Errorf("%d hits among the second arms of %d items: the test proves nothing", hits, ofItems)
			}
			check("no caches, cold", false, results.PolicyCold)
			_, none := check("no caches, warm", false, results.PolicyWarm)
			if w/none > 0.75 || w/l > 0.75 {
				t.Errorf("L is %.3f without caches, %.3f with caches kept cold, %.3f with warm ones", none, l, w)
			}
		})
	}
}

// Where the measures fail, hits are found, done again and, being hits again, left
// out: none passes for a cold time.
func TestHitsInAColdStudyAreRepeatedAndCounted(t *testing.T) {
	for _, protocol := range []string{"ollama", "llamacpp", "vllm"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			p := exact(t, protocol, &phantom.Caches{}, true, func(b backends.Backend) backends.Backend { return forgetful{b, false} })
			type attempt struct {
				results.Attempt
				of results.Key
			}
			var all []attempt
			for _, tr := range p.trials {
				for i, a := range tr.Attempts {
					all = append(all, attempt{a, tr.Key})
					hit := slices.Contains(a.Flags, results.FlagCacheHit)
					if hit != (a.Cache.State == backends.CacheHit) || (i+1 < len(tr.Attempts)) != (hit && i < 2) {
						t.Errorf("%s/%s: attempt %d of %d, flags %v, %+v", tr.Key.Item, tr.Key.Arm, i+1, len(tr.Attempts), a.Flags, a.Cache)
					}
				}
			}
			slices.SortFunc(all, func(a, b attempt) int { return a.Started.Compare(b.Started) })
			hits := 0
			for i, a := range all {
				is := p.reused[i].Hit()
				if is {
					hits++
				}
				if want := map[bool]backends.CacheState{true: backends.CacheHit, false: backends.CacheCold}[is]; a.Cache.State != want {
					t.Errorf("%+v: hit %t, found %+v", a.of, is, a.Cache)
				}
			}
			// Without its nonce each item's second arm meets its first one's picture.
			if hits != 3*ofItems || p.sum.Repeated != len(all)-len(p.trials) || p.sum.Done != len(p.trials) {
				t.Errorf("%d hits, %d attempts, %+v", hits, len(all), p.sum)
			}
		})
	}
}

// Where nonces do not reach a cache that only time shows, nothing is proven.
func TestACalibrationWithoutNoncesProvesNothing(t *testing.T) {
	t.Parallel()
	p := overNetwork(t, "ollama", &phantom.Caches{}, true, func(b backends.Backend) backends.Backend { return forgetful{b, true} })
	late := 0
	for _, tr := range p.trials {
		c := last(tr).Cache
		if c.State == backends.CacheUnverified && strings.Contains(c.Reason, "many tokens came in one read") {
			late++ // of a busy machine
		} else if c.State != backends.CacheUnverified || !strings.Contains(c.Reason, "a request with a new nonce was not as slow") {
			t.Errorf("%s/%s: %s", tr.Key.Item, tr.Key.Arm, fmt.Sprintf("%+v", c))
		}
	}
	if late > len(p.trials)/2 {
		t.Errorf("of %d trials %d have tokens that came in one read", len(p.trials), late)
	}
	if p.sum.Repeated != 0 || p.sum.Invalid != 0 {
		t.Errorf("%+v", p.sum)
	}
}
