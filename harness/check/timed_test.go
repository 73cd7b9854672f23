package check

import (
	"path/filepath"
	"testing"
	"time"

	"assay/backends"
	"assay/backends/phantom"
	"assay/harness/study/cot"
	"assay/results"
	"assay/results/store"
	"assay/timing"
)

// TestABusyMachineIsNoFault: an answer whose chunks were all read at once says nothing of when
// the first one came. The check ended there, with "has no time", on a busy machine.
func TestABusyMachineIsNoFault(t *testing.T) {
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "s.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	p := phantom.Profile{Base: 40 * time.Millisecond, PerChunk: 2 * time.Millisecond}
	tokens := 9
	var trials []results.Trial
	for i, together := range []bool{false, true} {
		rec := timing.NewRecorder(timing.NewClock())
		rec.MarkAt(timing.Start, time.Second)
		var chunks []timing.Chunk
		for n := range tokens {
			at := time.Second + 41*time.Millisecond + time.Duration(n)*2*time.Millisecond
			if together {
				at = time.Second + 57*time.Millisecond
			}
			chunks = append(chunks, timing.Chunk{At: at, Runes: 4, Answer: true})
		}
		rec.Chunks(chunks, timing.StampsKernel)
		rec.MarkAt(timing.End, time.Second+58*time.Millisecond)
		turn := results.Turn{Trace: rec.Trace(), Answer: "A", Finish: backends.FinishStop, Usage: backends.Usage{CompletionTokens: &tokens}}
		trials = append(trials, results.Trial{Key: results.Key{Study: cot.Name, Model: "timed", Item: "q", Condition: "baseline", Repeat: i},
			Attempts: []results.Attempt{{Turns: []results.Turn{turn}, Output: &results.Output{Answer: "A", Finish: backends.FinishStop}}}})
	}
	compared := func() map[string]Row {
		meter, err := timing.NewMeter(timing.Readings{})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := compare(t.Context(), st, p, meter, phantom.NewGPU(phantom.NewActivity(), phantom.DefaultCard()), timing.NewClock())
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]Row{}
		for _, r := range rows {
			out[r.Score] = r
		}
		return out
	}
	put := func(tr results.Trial) {
		for _, tr.Key.Arm = range cot.ArmNames() {
			if err := st.PutTrial(t.Context(), tr); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(trials[1])
	if r := compared()["first chunk, median s"]; r.Found != nil || r.OK {
		t.Errorf("found %v of no first chunk", *r.Found)
	}
	put(trials[0])
	rows := compared()
	if r := rows["first chunk, median s"]; r.Found == nil || *r.Found != .041 || !r.OK {
		t.Errorf("%+v, want the first chunk of the other answer", r)
	}
	if r := rows["T direct, median s"]; r.Found == nil || *r.Found != .057 || !r.OK {
		t.Errorf("%+v, want the time of both", r)
	}
}
