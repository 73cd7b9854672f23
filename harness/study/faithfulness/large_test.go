package faithfulness_test

import (
	"fmt"
	"runtime"
	"testing"

	"assay/harness/dataset"
	"assay/harness/plan"
	"assay/harness/study"
	"assay/harness/study/faithfulness"
	"assay/perturb"
)

// taix is as many questions as the test split of TAIX-VQA has, all of them with
// sides, so that every one has all twelve conditions.
func taix(t testing.TB) plan.Request {
	t.Helper()
	c := study.Choice{}
	for _, n := range faithfulness.Study().Changes {
		if n.Kind != perturb.KindControl {
			c.Conditions = append(c.Conditions, n.Name)
		}
	}
	s, err := faithfulness.Study().With(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	set := &dataset.Dataset{Name: "taix"}
	for i := range 6592 {
		it := dataset.Item{ID: fmt.Sprintf("uid-%05d/question-%02d", i/32, i%32), Type: "comparative", Answer: "left",
			Question: fmt.Sprintf("On which side is finding %d more severe? (right, left, same severity, none)", i%32),
			Regions:  map[string][]perturb.Region{"left": {{X0: 60, Y0: 20, X1: 95, Y1: 80}}, "right": {{X0: 5, Y0: 20, X1: 40, Y1: 80}}}}
		for _, o := range []string{"right", "left", "same severity", "none"} {
			it.Options = append(it.Options, dataset.Option{Text: o})
		}
		set.Items = append(set.Items, it)
	}
	return plan.Request{Seed: 1, Models: []string{"m"}, Studies: []plan.Study{{Protocol: s.Protocol(), Set: set, Study: study.Choice{Models: []string{"m"}, Arms: []string{"structured"}, Repeats: 1}}}}
}

// The whole of TAIX-VQA is planned within 200 MB; how long it takes is the
// benchmark's.
func TestLargePlanFits(t *testing.T) {
	req := taix(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := plan.Make(req, plan.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := len(p.Blocks[0].Trials); n != 6592*13 {
		t.Errorf("%d trials", n)
	}
	const most = 200 << 20
	if used := after.TotalAlloc - before.TotalAlloc; used > most {
		t.Errorf("%d MB allocated, want at most %d", used>>20, most>>20)
	}
}

func BenchmarkPlan6592x12(b *testing.B) {
	req := taix(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := plan.Make(req, plan.Filter{}); err != nil {
			b.Fatal(err)
		}
	}
}
