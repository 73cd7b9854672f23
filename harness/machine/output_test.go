package machine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
	"assay/harness/machine"
	"assay/results"
	"assay/timing"
)

// A block's output is the tokens of its answers, over all streams, in the time from the
// first request's start to the last content: pauses and failures count as time.
func TestOutputOfABlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := openStore(t)
		defer st.Close()
		ctx, clock := t.Context(), timing.NewClock()
		m, err := machine.Start(ctx, st, clock, 20, nil, results.Session{Places: map[string]results.Place{"m": results.PlaceRemote, "n": results.PlaceRemote}})
		if err != nil {
			t.Fatal(err)
		}
		trial := func(model, item string, from, to time.Duration, tokens int, failed bool) {
			rec := timing.NewRecorder(clock)
			rec.MarkAt(timing.Start, from)
			rec.Chunks([]timing.Chunk{{At: to, Runes: 1, Answer: true}}, timing.StampsUser)
			turn := results.Turn{Trace: rec.Trace(), Answer: "a", Finish: "stop"}
			if tokens > 0 {
				turn.Usage = backends.Usage{CompletionTokens: &tokens}
			}
			a := results.Attempt{Started: clock.Origin().Add(from), Turns: []results.Turn{turn}}
			if failed {
				a.Failure = &results.Failure{Kind: "stalled", Message: "no"}
			} else {
				a.Output = &results.Output{Answer: "a", Finish: "stop"}
			}
			if err := st.PutTrial(ctx, results.Trial{Key: key(model, item), Inputs: "x", Attempts: []results.Attempt{a}}); err != nil {
				t.Fatal(err)
			}
		}
		s := time.Second
		<-time.After(20 * s)
		trial("m", "a", s, 3*s, 100, false)
		trial("m", "b", 2*s, 4*s, 50, false) // beside a
		trial("m", "c", 6*s, 7*s, 30, false)
		trial("m", "d", 8*s, 10*s, 900, true)
		trial("n", "a", 11*s, 12*s, 10, false)
		trial("n", "b", 13*s, 14*s, 0, false)
		if err := m.Stop(); err != nil {
			t.Fatal(err)
		}
		if err := machine.Measure(ctx, st, 0); err != nil {
			t.Fatal(err)
		}
		blocks, err := st.Blocks(ctx)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, b := range blocks {
			if b.Part != results.PartGPU {
				continue
			}
			seen++
			rate, why := b.Output.TokenRate()
			switch {
			case b.Model == "m" && (b.Output.N != 3 || b.Output.Window != 9*s || why != "" || rate != 20):
				t.Errorf("m: %+v, %v tokens/s (%s); want 180 tokens in 9 s", *b.Output, rate, why)
			case b.Model == "n" && (b.Output.N != 2 || b.Output.Tokens != nil || why == ""):
				t.Errorf("n: %+v (%s); an answer has no count", *b.Output, why)
			}
		}
		if seen != 2 {
			t.Errorf("%d blocks", seen)
		}
	})
}
