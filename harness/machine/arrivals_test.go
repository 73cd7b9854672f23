package machine_test

import (
	"math"
	"testing"
	"time"

	"assay/harness/machine"
	"assay/results"
	"assay/timing"
)

// TestMeasureSumsUpArrivals: of answers that count, by who stamped them; chunks
// that shared a read are in no lag; figures are right to 5 %.
func TestMeasureSumsUpArrivals(t *testing.T) {
	st := openStore(t)
	defer st.Close()
	clock := timing.NewClock()
	ses := results.Session{Origin: clock.Origin()}
	if err := st.PutSession(t.Context(), &ses); err != nil {
		t.Fatal(err)
	}
	at := time.Millisecond
	answer := func(item string, stamps timing.Stamps, lags ...time.Duration) results.Attempt {
		rec := timing.NewRecorder(clock)
		rec.MarkAt(timing.Start, at)
		var chunks []timing.Chunk
		for _, l := range lags {
			at += time.Millisecond
			chunks = append(chunks, timing.Chunk{At: at, Lag: max(l, 0), Runes: 1, Answer: true, Shared: l < 0})
		}
		rec.Chunks(chunks, stamps)
		return results.Attempt{Started: clock.Origin().Add(at), Output: &results.Output{Answer: "a", Finish: "stop"}, Turns: []results.Turn{{Trace: rec.Trace(), Answer: "a", Finish: "stop"}}}
	}
	store := func(model, item string, attempts ...results.Attempt) {
		if err := st.PutTrial(t.Context(), results.Trial{Key: key(model, item), Inputs: "x", Attempts: attempts}); err != nil {
			t.Fatal(err)
		}
	}
	var lags []time.Duration
	for i := range 200 {
		lags = append(lags, time.Duration(i+1)*time.Microsecond)
	}
	lags = append(lags, -1, -1)                                                                                    // shared
	store("kernel", "a", answer("a", timing.StampsKernel, time.Second), answer("a", timing.StampsKernel, lags...)) // the first attempt does not count
	store("kernel", "b", answer("b", timing.StampsUser, 0, 0))
	store("user", "a", answer("a", timing.StampsUser, 0))
	if err := machine.Measure(t.Context(), st, 0); err != nil {
		t.Fatal(err)
	}
	blocks, err := st.Blocks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]results.Arrivals{}
	for _, b := range blocks {
		if b.Part != results.PartGPU || b.Arrivals == nil {
			t.Fatalf("%+v", b)
		}
		got[b.Model] = *b.Arrivals
	}
	if want := (results.Arrivals{User: 1}); got["user"] != want {
		t.Errorf("%+v", got["user"])
	}
	k := got["kernel"]
	near := func(d, want time.Duration) bool { return math.Abs(float64(d)/float64(want)-1) < .05 }
	if k.Kernel != 1 || k.User != 1 || k.Chunks != 202 || k.Shared != 2 || k.Longest != 200*time.Microsecond || !near(k.Median, 100*time.Microsecond) || !near(k.P99, 198*time.Microsecond) {
		t.Errorf("%+v", k)
	}
}
