package experiment

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"assay/harness/config"
	"assay/harness/plan"
	"assay/perturb"
	"assay/results"
	"assay/results/store"
	"assay/timing"
)

// An answer of 8 s, four of which are on the wire at a time, adds 2 s to a run.
func TestRequestsTogetherTakeAShareOfTheTime(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "s.sqlite")
	st, err := store.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	base := perturb.Baseline()
	p := &plan.Plan{Studies: []plan.Selection{{Study: "s", Arms: []string{"cot"}, Conditions: []string{"baseline"}}}, Blocks: []plan.Block{{Model: "m"}}}
	for i := range 10 {
		p.Blocks[0].Trials = append(p.Blocks[0].Trials, plan.Trial{Condition: &base, Key: results.Key{Study: "s", Model: "m", Item: fmt.Sprint(i), Arm: "cot", Condition: base.Name}})
	}
	for _, tr := range p.Blocks[0].Trials[:2] {
		rec := timing.NewRecorder(timing.NewClock())
		rec.MarkAt(timing.Start, time.Second)
		rec.Chunks([]timing.Chunk{{At: 9 * time.Second, Runes: 1, Answer: true}}, timing.StampsUser)
		if err := st.PutTrial(ctx, results.Trial{Key: tr.Key, Inputs: "x", Attempts: []results.Attempt{{Output: &results.Output{Finish: "stop"},
			Turns: []results.Turn{{Trace: rec.Trace(), Finish: "stop"}}}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	b := &Bench{Config: &config.Config{Store: path, Studies: []config.Study{{Name: "s", InFlight: 4}}}}
	pre, err := b.Preview(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	if pre.Trials != 10 || pre.Stored != 2 || pre.Seconds == nil || math.Abs(*pre.Seconds-16) > 1e-9 {
		t.Errorf("%d of %d stored, to go: %v s (%s), want 16", pre.Stored, pre.Trials, pre.Seconds, pre.Why)
	}
	if h := pre.Projection.Hours; h.Value == nil || math.Abs(*h.Value-20/3600.) > 1e-12 {
		t.Errorf("all of them: %+v h, want 20 s", h)
	}
}
