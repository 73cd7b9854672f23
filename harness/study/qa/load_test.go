package qa

import (
	"math"
	"strings"
	"testing"
	"time"

	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
	"assay/timing"
)

// TestALoadByHand: every number of a row of the table. Two GPUs are kept busy for 80 s by 20
// requests in flight: 4 stretches of 20 s with 10 answers of 50 tokens each and 7,200 J. An answer takes
// 0.4 s, one in five 0.6 s; its first token comes after 50 ms, that of one in five after 101 ms.
func TestALoadByHand(t *testing.T) {
	ms := func(n int) *time.Duration { d := time.Duration(n) * time.Millisecond; return &d }
	slo := timing.SLO{TTFT: ms(100)}
	arm := study.NewAccount(limited(slo.TTFT), "m", "direct")
	var sample score.PairSample
	for i := range 50 { // of which 10 fail
		r := results.Row{TTFT: ms(50), Latency: ms(400)}
		switch {
		case i < 10:
			r = results.Row{Failed: true, Kind: "stalled"}
		case i%5 == 0:
			r.TTFT, r.Latency = ms(101), ms(600)
		}
		item := sample.Item()
		arm.Add(item, r, nil, nil, nil)
	}
	arm.Score(&sample)
	sample.Run(1, 100)
	kept := func(devices int) results.Block {
		ld := results.Load{Arm: "direct", Condition: "c", InFlight: 20, Mean: 19.5, Answers: 40, Devices: &devices}
		for range 4 {
			ld.Stretches = append(ld.Stretches, results.Stretch{Answers: 10, Took: 20 * time.Second, Tokens: new(500), Joules: new(7200.)})
		}
		return results.Block{Study: "qa", Model: "m", Part: results.PartGPU, Loads: []results.Load{ld}}
	}
	b := study.Basis{Study: "qa", Blocks: []results.Block{kept(2), kept(2), kept(2)},
		Prices: study.Prices{Cost: &results.Cost{Currency: "EUR", GPUHour: new(3.6), KWh: new(.5), GCO2PerKWh: new(400.)}}}
	b.Blocks[1].Study, b.Blocks[2].Part = "another", results.PartCPU // which are not of it
	table := func() ([]results.Table, func(column string) *results.Estimate) {
		l := &level{inFlight: 20, arm: arm}
		l.fill(b, "m", "direct", "c", true)
		tables := capacityTables("qa", []line{{model: "m", arm: "direct", levels: []*level{l}, knee: -1}}, "EUR", study.Limits(slo), nil)
		return tables, func(column string) *results.Estimate {
			t.Helper()
			for _, table := range tables {
				for i, c := range table.Columns {
					if c.Name == column {
						return table.Rows[0][i].Estimate
					}
				}
			}
			t.Fatalf("no column %s", column)
			return nil
		}
	}
	tables, cell := table()
	for _, rows := range tables {
		if len(rows.Rows[0]) != len(rows.Columns) {
			t.Errorf("%s: %d cells, %d columns", rows.Name, len(rows.Rows[0]), len(rows.Columns))
		}
	}
	for column, want := range map[string]float64{
		"mean_in_flight": 19.5, "answers": 40, "answers_per_s": .5, "tokens_per_s": 25,
		"ttft_median": .05, "ttft_p95": .101, "latency_median": .4, "latency_p95": .6,
		"joules": 720,
		"money":  (20*2*.001 + 7200/3.6e6*.5) / 10, // two GPUs at 0.001 a second, and electricity
		"gco2":   7200 / 3.6e6 * 400 / 10,
		// Of 50 trials 32 keep the limit, of 40 answers as many.
		"slo_share": 64, "goodput": .4,
	} {
		if e := cell(column); e.Value == nil || math.Abs(*e.Value-want) > 1e-9 {
			t.Errorf("%s is %+v, want %v", column, e, want)
		}
	}

	// The same on one GPU and on two: how many were held is not known, nor is what they cost.
	b.Blocks = append(b.Blocks, kept(1))
	if _, cell := table(); cell("money").Value != nil || !strings.Contains(cell("money").Why, "not known") || *cell("joules").Value != 720 {
		t.Errorf("held one and two GPUs: money %+v, energy %+v", cell("money"), cell("joules"))
	}
	// A single request waits for nobody, and its limits are not of capacity.
	one := &level{inFlight: 1, arm: arm}
	if one.fill(b, "m", "direct", "c", true); one.goodput.Value != nil || one.goodput.Why != "one request in flight" {
		t.Errorf("goodput of one in flight: %+v", one.goodput)
	}
	// Nobody watched a GPU: one is taken to be held.
	b.Blocks = b.Blocks[:1]
	b.Blocks[0].Loads[0].Devices = nil
	if _, cell := table(); math.Abs(*cell("money").Value-(20*.001+.001)/10) > 1e-12 {
		t.Errorf("no GPU watched: money %+v", cell("money"))
	}
}

// TestGoodputIsAsUnsureAsBoth: a rate of 10 [8, 12] and a share of 80 [60, 90] %.
func TestGoodputIsAsUnsureAsBoth(t *testing.T) {
	e := times(&results.Estimate{N: 9, Value: new(10.), Low: new(8.), High: new(12.)}, &results.Estimate{N: 7, Value: new(80.), Low: new(60.), High: new(90.)})
	low, high := 8-math.Sqrt(1.6*1.6+2*2), 8+math.Sqrt(1.6*1.6+1*1)
	if e.Value == nil || *e.Value != 8 || math.Abs(*e.Low-low) > 1e-12 || math.Abs(*e.High-high) > 1e-12 || e.N != 7 {
		t.Errorf("%+v, want 8 [%v, %v] of 7", e, low, high)
	}
}

// TestWhereTheKneeIs: of tokens a second, where the server counts them; of answers, where it does not.
// Answers of the greatest level are short ones.
func TestWhereTheKneeIs(t *testing.T) {
	for _, c := range []struct {
		tokens []*int // of a stretch of 10 s
		words  string
	}{
		{[]*int{new(500), new(1000), new(1010)}, "m, arm direct: the knee is at 2 in flight (100 tokens/s, unknown s an answer); with 8 it is 101 tokens/s and unknown s."},
		{[]*int{new(500), nil, new(1010)}, "m, arm direct: the rate still grows at the greatest level, 8 in flight (101 tokens/s): the knee lies there or beyond."},
	} {
		b := study.Basis{Study: "qa", Levels: map[string]int{"LOAD@in_flight=8": 8, "LOAD@in_flight=2": 2, "baseline": 1}}
		for i, condition := range []string{"baseline", "LOAD@in_flight=2", "LOAD@in_flight=8"} {
			answers := []int{10, 20, 40}[i]
			one := results.Stretch{Answers: answers, Took: 10 * time.Second, Tokens: c.tokens[i]}
			b.Blocks = append(b.Blocks, results.Block{Study: "qa", Model: "m", Part: results.PartGPU,
				Loads: []results.Load{{Arm: "direct", Condition: condition, InFlight: b.Levels[condition], Answers: 3 * answers, Stretches: []results.Stretch{one, one, one}}}})
		}
		l, _ := lineOf(b, &score.Model{Name: "m", Extra: &study.Arms{}}, "direct", false)
		if l.levels[0].inFlight != 1 || l.levels[1].inFlight != 2 || l.levels[2].inFlight != 8 || *l.levels[2].rate.Value != 4 {
			t.Errorf("levels %+v", l.levels)
		}
		if got := l.words(); got != c.words {
			t.Errorf("%s\nwant\n%s", got, c.words)
		}
	}
}
