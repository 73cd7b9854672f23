package qa

import (
	"fmt"
	"runtime"
	"testing"

	"assay/harness/dataset"
	"assay/harness/plan"
	"assay/harness/study"
	"assay/perturb"
)

// BenchmarkPlan10000x40 plans 10,000 questions with an image and a region under 40 conditions; MB is
// what the plan holds.
//
//	go test -run '^$' -bench Plan10000x40 -benchtime 3x ./harness/study/qa
func BenchmarkPlan10000x40(b *testing.B) {
	var c study.Choice
	for _, x := range study.AnyConditions() {
		if x.Options == "" && !x.Other && x.Name != "VX-TEXT" {
			c.Conditions = append(c.Conditions, x.Name)
		}
	}
	c.Sweeps = []perturb.Sweep{{Condition: "VD-BLUR", Param: "sigma_px", Levels: []float64{1, 2, 8, 16}}}
	for n := 2; len(c.Conditions)+len(c.Sweeps[0].Levels)+len(c.Sweeps)-1 < 40; n++ {
		c.Sweeps[0].Levels = append(c.Sweeps[0].Levels, float64(16+n))
	}
	s, err := Study().With(nil, c)
	if err != nil {
		b.Fatal(err)
	}
	set := &dataset.Dataset{Name: "mine"}
	for i := range 10_000 {
		set.Items = append(set.Items, dataset.Item{ID: fmt.Sprint("item-", i), Question: "Which?", Type: "short", Answer: "x", Images: make([]dataset.Image, 1),
			Regions: map[string][]perturb.Region{"": {{X0: 10, Y0: 10, X1: 40, Y1: 40}}}})
	}
	req := plan.Request{Seed: 1, Models: []string{"m"}, Studies: []plan.Study{{Protocol: s.Protocol(), Set: set, Study: study.Choice{Models: []string{"m"}, Arms: []string{armAnswer}, Repeats: 1}}}}
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		p, err := plan.Make(req, plan.Filter{})
		if err != nil {
			b.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(len(p.Blocks[0].Trials))/10_000, "trials/item")
		runtime.GC()
		var held runtime.MemStats
		runtime.ReadMemStats(&held)
		b.ReportMetric(float64(held.HeapAlloc-before.HeapAlloc)/(1<<20), "MB")
		b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/(1<<20), "allocated-MB")
		runtime.KeepAlive(p)
	}
}
