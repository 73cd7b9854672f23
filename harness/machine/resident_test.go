package machine

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
	"assay/results"
	"assay/results/store"
	"assay/timing"
	"assay/timing/telemetry"
)

// card is a GPU that others and the model of the test use.
type card struct {
	id        string
	synthetic bool

	mu    sync.Mutex
	users []int
	watts int64
}

func (c *card) Describe() telemetry.Device {
	return telemetry.Device{Source: "fake", ID: c.id, Name: "card " + c.id, Kind: telemetry.GPU, Synthetic: c.synthetic, Measures: []telemetry.Measure{telemetry.PowerInstant}}
}

func (c *card) Read(s *telemetry.Sample) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Set(telemetry.PowerInstant, c.watts*1000)
	return nil
}

func (c *card) Processes() ([]telemetry.Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []telemetry.Process
	for _, pid := range c.users {
		all = append(all, telemetry.Process{PID: pid, Draws: pid == 99})
	}
	return all, nil
}

func (c *card) set(watts int64, users ...int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watts, c.users = watts, users
}

// bed is a machine with two cards and one model on a llama.cpp server.
type bed struct {
	*Machine
	store       *store.Store
	ours, other *card
	proc        *proc
	said        strings.Builder
}

func newBed(t *testing.T, b backends.Server) *bed {
	t.Helper()
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "s.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	x := &bed{store: st, ours: &card{id: "A"}, other: &card{id: "B"}, proc: newProc().run(4001, 1, "python", 1, "")}
	x.ours.set(60)
	x.other.set(300, 4001)
	b.Name, b.URL = "b", "http://127.0.0.1:8080"
	cfg := Setup{Servers: []backends.Server{b}, Models: []backends.Model{{Name: "m", Backend: "b", Model: "x"}}, Telemetry: telemetry.Settings{Hz: 20, Auto: true}}
	x.Machine = &Machine{run: Run{Setup: cfg, Into: st, Notes: &x.said, Down: func(string) {}}, clock: timing.NewClock(), told: map[string]bool{}, site: x.proc.site(),
		probes: []telemetry.Probe{x.ours, x.other}}
	x.places = Places(t.Context(), cfg, x.site)
	return x
}

// starts has the server run and hold the model on card A.
func (x *bed) starts() {
	x.proc.listen(loopback8080, 1000, "71").run(10, 1, "llama-server", 5, "71")
	x.ours.set(100, 10)
}

func (x *bed) hold(t *testing.T) results.Hold {
	t.Helper()
	ses, err := x.store.Sessions(context.Background())
	if err != nil || len(ses) != 1 {
		t.Fatal(ses, err)
	}
	return ses[0].Holds["m"]
}

func (x *bed) end(t *testing.T) {
	t.Helper()
	if err := x.mon.Stop(); err != nil {
		t.Error(err)
	}
	if err := x.store.Close(); err != nil {
		t.Error(err)
	}
}

// watts is a level in whole watts; -1: not known.
func watts(b *timing.Baseline) int {
	if b == nil || b.Power == nil {
		return -1
	}
	return int(b.Power.Median+500) / 1000
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A server that the run starts: at rest without the model, then warm and with it.
func TestABlockMeasuresRestWithoutAndWithItsModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newBed(t, backends.Server{Kind: "llamacpp", Command: []string{"llama-server"}})
		must(t, x.Begin(t.Context(), "m"))
		x.starts()
		must(t, x.Ready(t.Context(), "m"))
		at := x.clock.Now()
		x.End("m")
		if x.clock.Now() != at {
			t.Error("the end of a block waits although all is known")
		}
		h := x.hold(t)
		if !h.Known || h.Assumed || !slices.Equal(h.GPUs, []string{"A"}) || watts(h.Rest["A"].Unloaded) != 60 || watts(h.Rest["A"].Loaded) != 100 {
			t.Errorf("%+v, %d W without and %d W with the model", h, watts(h.Rest["A"].Unloaded), watts(h.Rest["A"].Loaded))
		}
		for _, want := range []string{"at rest, without m in memory: 12 s", "at rest, with m in memory: 12 s", "m: its GPUs are [A]: processes of llama-server (10)"} {
			if !strings.Contains(x.said.String(), want) {
				t.Errorf("said %q without %q", x.said.String(), want)
			}
		}
		x.end(t)
	})
}

// A server that runs already has its model: nothing is known of the card without
// it, and a job beside it is named.
func TestABlockOfAServerThatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newBed(t, backends.Server{Kind: "llamacpp"})
		x.starts()
		x.ours.set(100, 10, 4001)
		at := x.clock.Now()
		must(t, x.Begin(t.Context(), "m"))
		if x.clock.Now()-at > 2*time.Second {
			t.Error("it is waited before the warm-up")
		}
		if h := x.hold(t); !h.Known || !slices.Equal(h.GPUs, []string{"A"}) || !slices.Equal(h.Foreign, []string{"python (4001)"}) {
			t.Errorf("before the first request: %+v", h)
		}
		// No timed study: nobody says that the model is warm.
		x.End("m")
		if h := x.hold(t); watts(h.Rest["A"].Unloaded) != -1 || watts(h.Rest["A"].Loaded) != 100 {
			t.Errorf("%+v", h)
		}
		if !strings.Contains(x.said.String(), "warning: m: card A: python (4001), which is not the model's server, uses it") {
			t.Error(x.said.String())
		}
		x.end(t)
	})
}

func TestAnInterruptedBlockWaitsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newBed(t, backends.Server{Kind: "llamacpp"})
		x.starts()
		ctx, stop := context.WithCancel(t.Context())
		must(t, x.Begin(ctx, "m"))
		stop()
		at := x.clock.Now()
		x.End("m")
		if x.clock.Now() != at || strings.Contains(x.said.String(), "at rest") {
			t.Errorf("it waited, or said so: %s", x.said.String())
		}
		x.end(t)
	})
}

// A phantom has its own card, whose level is known: nothing is measured. Once, after the
// warm-up, the card's ticks are waited for, so that none holds both it and a trial.
func TestAPhantomSettlesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newBed(t, backends.Server{Kind: "phantom"})
		x.ours.synthetic = true
		at := x.clock.Now()
		must(t, x.Begin(t.Context(), "m"))
		if x.clock.Now() != at {
			t.Errorf("to begin took %v", x.clock.Now()-at)
		}
		must(t, x.Ready(t.Context(), "m"))
		must(t, x.Ready(t.Context(), "m"))
		x.End("m")
		if took := x.clock.Now() - at; took != settling {
			t.Errorf("it took %v, want %v", took, settling)
		}
		if h := x.hold(t); !h.Known || !slices.Equal(h.GPUs, []string{"A"}) {
			t.Errorf("%+v", h)
		}
		x.end(t)
	})
}

// Nothing here is watched for a server elsewhere.
func TestAServerElsewhereHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newBed(t, backends.Server{Kind: "llamacpp"})
		x.proc.listen(loopback8080, 1000, "71").run(10, 1, "ssh", 5, "71")
		x.places = Places(t.Context(), x.run.Setup, x.site)
		at := x.clock.Now()
		must(t, x.Begin(t.Context(), "m"))
		from := x.clock.Now()
		<-time.After(time.Second)
		if f := x.Flags(from, x.clock.Now()); len(f) != 0 || from != at {
			t.Errorf("flags %v, waited %v", f, from-at)
		}
		if h := x.hold(t); !h.Known || len(h.GPUs) != 0 || !strings.Contains(h.How, "ssh (10), a tunnel") {
			t.Errorf("%+v", h)
		}
		x.end(t)
	})
}
