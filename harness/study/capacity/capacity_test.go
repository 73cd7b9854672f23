package capacity

import (
	"math"
	"testing"
	"time"

	"assay/harness/metric"
	"assay/harness/study/cost"
	"assay/harness/study/pace"
	"assay/results"
	"assay/timing"
)

// Ten requests are sent in two seconds; every second one fails, and of the others four in
// five keep the limit: two answers a second within it, which failures do not lessen twice.
func TestGoodputIsOfAnswers(t *testing.T) {
	ms := func(n int) *time.Duration { d := time.Duration(n) * time.Millisecond; return &d }
	var s metric.Sample
	p := pace.New("m", "direct", "", timing.SLO{TTFT: ms(100)})
	for i := range 10 {
		r := results.Row{TTFT: ms(50), Latency: ms(400)}
		switch {
		case i%2 == 1:
			r = results.Row{Failed: true, Kind: "stalled"}
		case i == 0:
			r.TTFT = ms(101)
		}
		p.Add(s.Item(), r)
	}
	p.Score(&s)
	s.Run(1, 100)
	l := &level{inFlight: 4, arm: &cost.Arm{Paces: p}}
	b := cost.Basis{Study: "qa", Blocks: []results.Block{{Study: "qa", Model: "m", Part: results.PartGPU,
		Loads: []results.Load{{Arm: "direct", Condition: "LOAD@in_flight=4", InFlight: 4, Answers: 5, Stretches: []results.Stretch{{Answers: 5, Took: 2 * time.Second}}}}}}}
	l.fill(b, "m", "direct", "LOAD@in_flight=4", true)
	if l.rate.Value == nil || *l.rate.Value != 2.5 {
		t.Fatalf("rate %+v, want 2.5 answers a second", l.rate)
	}
	if l.goodput.Value == nil || math.Abs(*l.goodput.Value-2) > 1e-9 {
		t.Errorf("goodput %+v, want 2 a second", l.goodput)
	}
	if *p.Share.Value != 40 {
		t.Errorf("share of trials %v %%, want 40: a failure is missed", *p.Share.Value)
	}
}
