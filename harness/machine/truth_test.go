package machine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends/phantom"
	films "assay/harness/dataset/phantom"
	"assay/harness/machine"
	"assay/results"
	"assay/results/store"
	"assay/timing"
	"assay/timing/telemetry"
)

// lastWrite is a reply that nobody keeps but for the time of its chunks.
type lastWrite struct {
	*httptest.ResponseRecorder
	chunks []time.Time
}

func (w *lastWrite) Write(b []byte) (int, error) {
	if strings.Contains(string(b), `"done":false`) {
		w.chunks = append(w.chunks, time.Now())
	}
	return len(b), nil
}

// found is how well the energies of a made-up run were recovered.
type found struct {
	trials, within  int
	long            []float64 // uncertainty / energy of trials of ten ticks or more
	low             int
	block, busy     float64 // relative error
	sum, answers    float64 // of the stored trials' sum, and of it before it was scaled
	short, over     float64 // of the sums of trials below and from a second on
	scaled          float64 // factor
	stored, samples int
}

// monitorRecover runs trials of many lengths on a phantom GPU whose truth is known,
// watches it as a run would, and compares. It takes no real time.
func monitorRecover(t testing.TB, card phantom.Card, trials, hz int) found {
	var f found
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(card.Seed, 9))
	act := phantom.NewActivity()
	gpu := machine.PhantomGPU{GPU: phantom.NewGPU(act, card)}
	readers := []phantom.Profile{}
	for i, each := range []time.Duration{3, 12, 35, 80} {
		p := phantom.Profiles()[0]
		p.Name, p.PerChunk, p.Base = fmt.Sprintf("r%d", i), each*time.Millisecond, each*6*time.Millisecond
		readers = append(readers, p)
	}
	h, err := phantom.Handler(phantom.Options{Skill: new(films.Films), Protocol: "ollama", Seed: 1, Readers: readers, Activity: act})
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(ctx, filepath.Join(t.TempDir(), "s.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	clock := timing.NewClock()
	m, err := machine.Start(ctx, st, clock, hz, []telemetry.Probe{gpu}, results.Session{Places: map[string]results.Place{"m": results.PlacePhantom}})
	if err != nil {
		t.Fatal(err)
	}
	level := timing.Level{Median: card.Idle}
	if err := m.Rest(ctx, map[string]timing.Baseline{gpu.Describe().ID: {Counter: &level, Power: &level}}); err != nil {
		t.Fatal(err)
	}
	wait := func(d time.Duration) { <-time.After(d) }
	wait(time.Second)
	truth := map[string]timing.Millijoules{}
	ticks := map[string]int{}
	var first, last time.Time
	var working timing.Millijoules
	for i := range trials {
		wait(time.Duration(20+rng.IntN(300)) * time.Millisecond)
		started := time.Now()
		body := fmt.Sprintf(`{"model":"r%d","messages":[{"role":"user","content":"Is the heart enlarged? Reason step by step."}],"options":{"num_predict":%d}}`, i%len(readers), 5+rng.IntN(60))
		w := &lastWrite{ResponseRecorder: httptest.NewRecorder()}
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/api/chat", strings.NewReader(body)))
		if len(w.chunks) == 0 {
			t.Fatalf("trial %d: no chunks (%d)", i, w.Code)
		}
		end := w.chunks[len(w.chunks)-1]
		rec := timing.NewRecorder(clock)
		rec.MarkAt(timing.Start, clock.At(started))
		rec.Chunks([]timing.Chunk{{At: clock.At(end), Runes: 1, Answer: true}}, timing.StampsUser)
		k := results.Key{Study: "cot", Model: "m", Item: fmt.Sprint(i), Arm: "cot", Condition: "baseline"}
		if err := st.PutTrial(ctx, results.Trial{Key: k, Inputs: "x", Attempts: []results.Attempt{{Started: started, Output: &results.Output{Answer: "a", Finish: "stop"},
			Turns: []results.Turn{{Trace: rec.Trace(), Answer: "a", Finish: "stop"}}}}}); err != nil {
			t.Fatal(err)
		}
		truth[k.Item] = gpu.True(started, end)
		ticks[k.Item] = int(end.Sub(started) / card.Tick)
		working += truth[k.Item]
		if i == 0 {
			first = started
		}
		last = end
	}
	if err := m.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := machine.Measure(ctx, st, 0); err != nil {
		t.Fatal(err)
	}
	var stored, due [2]timing.Millijoules // of trials below and from a second on
	for row, err := range st.Rows(ctx, "cot") {
		if err != nil {
			t.Fatal(err)
		}
		u := row.GPU
		if u == nil || u.Unknown != "" || u.Devices == nil || *u.Devices != 1 || u.Net == nil {
			t.Fatalf("trial %s: %+v", row.Key.Item, u)
		}
		f.trials++
		k := 0
		if *row.Latency >= time.Second {
			k = 1
		}
		stored[k] += u.Gross
		due[k] += truth[row.Key.Item]
		if off := u.Gross - truth[row.Key.Item]; off <= u.Uncertainty && -off <= u.Uncertainty {
			f.within++
		}
		if ticks[row.Key.Item] >= 10 {
			f.long = append(f.long, float64(u.Uncertainty/truth[row.Key.Item]))
		}
		if u.LowConfidence {
			f.low++
		}
	}
	blocks, err := st.Blocks(ctx)
	if err != nil || len(blocks) != 1 || blocks[0].Busy == nil {
		t.Fatalf("blocks %+v, %v", blocks, err)
	}
	if blocks[0].Answers == nil {
		t.Fatalf("the requests' sum is not known: %+v", blocks[0])
	}
	f.short, f.over = float64(stored[0]/due[0])-1, float64(stored[1]/due[1])-1
	f.sum = float64((stored[0]+stored[1])/working) - 1
	f.answers = float64(*blocks[0].Answers/working) - 1
	f.scaled = float64((stored[0] + stored[1]) / *blocks[0].Answers)
	f.block = float64(blocks[0].Energy.Gross/gpu.True(first, last)) - 1
	f.busy = float64(*blocks[0].Busy/working) - 1
	for c, err := range st.SampleBundles(ctx, m.Session(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		f.stored, f.samples = f.stored+len(c.Bytes), f.samples+c.N
	}
	return f
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

func (f found) String() string {
	return fmt.Sprintf("%d of %d trials within their uncertainty (%.1f %%); of %d trials of ten ticks or more its median is %.2f %%; block off by %+.3f %%, its busy energy by %+.3f %%; the sum of its trials by %+.3f %% as measured and %+.3f %% as stored, of those below a second by %+.3f %%, of the others by %+.3f %%; %d of low confidence",
		f.within, f.trials, 100*float64(f.within)/float64(f.trials), len(f.long), 100*median(f.long), 100*f.block, 100*f.busy, 100*f.answers, 100*f.sum, 100*f.short, 100*f.over, f.low)
}

// cards are phantom GPUs with the troubles of real ones.
func cards() map[string]phantom.Card {
	out := map[string]phantom.Card{}
	for _, tick := range []int{20, 50, 100} {
		c := phantom.DefaultCard()
		c.Tick, c.Seed = time.Duration(tick)*time.Millisecond, uint64(tick)
		out[fmt.Sprintf("tick of %d ms", tick)] = c
	}
	c := phantom.DefaultCard()
	c.WrapsAt = 1 << 31
	out["counter wraps"] = c
	c = phantom.DefaultCard()
	c.Resets = []time.Duration{33 * time.Second, 61 * time.Second}
	out["counter resets"] = c
	c = phantom.DefaultCard()
	c.Throttled, c.Limit = []timing.Window{{From: 20 * time.Second, To: 45 * time.Second}}, 120_000
	out["throttled"] = c
	return out
}

// The bars of the energy of phantoms: issue 4 and metrics.md, section 4.
func TestEnergyIsRecovered(t *testing.T) {
	for name, card := range cards() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := monitorRecover(t, card, 200, 20)
				t.Log(f)
				if float64(f.within) < .95*float64(f.trials) {
					t.Errorf("only %d of %d trials lie within their uncertainty", f.within, f.trials)
				}
				if len(f.long) < 30 || median(f.long) > .1 {
					t.Errorf("%d long trials, median uncertainty %.3f", len(f.long), median(f.long))
				}
				if f.block > .01 || f.block < -.01 || f.busy > .01 || f.busy < -.01 {
					t.Errorf("block off by %.4f, its busy energy by %.4f", f.block, f.busy)
				}
				// Issue 9: a length's sum within half a percent with a counter, the ratio of two within one.
				for name, off := range map[string]float64{"the trials as measured": f.answers, "the trials as stored": f.sum, "those below a second": f.short, "those above": f.over} {
					if off > .005 || off < -.005 {
						t.Errorf("the sum of %s is off by %+.2f %%", name, 100*off)
					}
				}
				if ratio := (1+f.short)/(1+f.over) - 1; ratio > .01 || ratio < -.01 {
					t.Errorf("short over long is off by %+.2f %%", 100*ratio)
				}
				if name == "tick of 100 ms" && f.scaled == 1 {
					t.Error("the trials were not scaled to the block")
				}
			})
		})
	}
}

// TestASharedTrialKeepsItsShareOfTheUncertainty measures one stretch three times:
// alone for one model, and as two requests on the wire together for another.
func TestASharedTrialKeepsItsShareOfTheUncertainty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := openStore(t)
		defer st.Close()
		clock := timing.NewClock()
		var load atomic.Bool
		m, err := machine.Start(t.Context(), st, clock, 20, []telemetry.Probe{&fake{id: "gpu", kind: telemetry.GPU, read: steady(clock, &load, 1)}}, results.Session{})
		if err != nil {
			t.Fatal(err)
		}
		for _, model := range []string{"alone", "pair"} {
			if _, err := m.Hold(t.Context(), model, results.Hold{Known: true, GPUs: []string{"gpu"}, How: "test"}, nil); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(2 * time.Second)
		at := clock.Now()
		load.Store(true)
		<-time.After(4 * time.Second)
		load.Store(false)
		<-time.After(2 * time.Second)
		put(t, st, clock, key("alone", "x"), at, at+4*time.Second)
		put(t, st, clock, key("pair", "x"), at, at+4*time.Second)
		put(t, st, clock, key("pair", "y"), at, at+4*time.Second)
		if err := m.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := machine.Measure(t.Context(), st, 0); err != nil {
			t.Fatal(err)
		}
		got := rows(t, st)
		whole := got["alone/x"].GPU
		if whole == nil || whole.Unknown != "" || whole.Uncertainty <= 0 {
			t.Fatalf("alone: %+v", whole)
		}
		for _, k := range []string{"pair/x", "pair/y"} {
			u := got[k].GPU
			if u == nil || u.Unknown != "" {
				t.Fatalf("%s: %+v", k, u)
			}
			for what, part := range map[string]float64{"energy": float64(u.Gross / whole.Gross), "uncertainty": float64(u.Uncertainty / whole.Uncertainty)} {
				if part < .499 || part > .501 {
					t.Errorf("%s has %.3f of the %s, want half", k, part, what)
				}
			}
		}
	})
}
