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

// limited is a study with a limit of TTFT.
func limited(ttft *time.Duration) *study.Basis {
	return &study.Basis{Study: "qa", Manifest: results.Manifest{StudySettings: map[string]results.StudySetting{"qa": {SLO: timing.SLO{TTFT: ttft}}}}}
}

// Ten requests are sent in two seconds; every second one fails, and of the others four in
// five keep the limit: two answers a second within it, which failures do not lessen twice.
func TestGoodputIsOfAnswers(t *testing.T) {
	ms := func(n int) *time.Duration { d := time.Duration(n) * time.Millisecond; return &d }
	var s score.PairSample
	p := study.NewAccount(limited(ms(100)), "m", "direct")
	for i := range 10 {
		r := results.Row{TTFT: ms(50), Latency: ms(400)}
		switch {
		case i%2 == 1:
			r = results.Row{Failed: true, Kind: "stalled"}
		case i == 0:
			r.TTFT = ms(101)
		}
		p.Add(s.Item(), r, nil, nil, nil)
	}
	p.Score(&s)
	s.Run(1, 100)
	l := &level{inFlight: 4, arm: p}
	b := study.Basis{Study: "qa", Blocks: []results.Block{{Study: "qa", Model: "m", Part: results.PartGPU,
		Loads: []results.Load{{Arm: "direct", Condition: "LOAD@in_flight=4", InFlight: 4, Answers: 5, Stretches: []results.Stretch{{Answers: 5, Took: 2 * time.Second}}}}}}}
	l.fill(b, "m", "direct", "LOAD@in_flight=4", true)
	if l.rate.Value == nil || *l.rate.Value != 2.5 {
		t.Fatalf("rate %+v, want 2.5 answers a second", l.rate)
	}
	if l.goodput.Value == nil || math.Abs(*l.goodput.Value-2) > 1e-9 {
		t.Errorf("goodput %+v, want 2 a second", l.goodput)
	}
	none := &level{inFlight: 4, arm: study.NewAccount(limited(ms(100)), "m", "direct")}
	none.arm.Score(&s)
	b.Blocks[0].Loads[0].Answers, b.Blocks[0].Loads[0].Stretches[0].Answers = 0, 0
	if none.fill(b, "m", "direct", "LOAD@in_flight=4", true); none.goodput.Value != nil || none.goodput.Why == "" {
		t.Errorf("goodput %+v of a block without trials", none.goodput)
	}
	if *p.Estimate("slo_share").Value != 40 {
		t.Errorf("share of trials %v %%, want 40: a failure is missed", *p.Estimate("slo_share").Value)
	}
}

// TestMeanInFlightIsOverTime: a run that went on for a minute has 20 stretches, as one of an
// hour has, and weighs a sixtieth of it.
func TestMeanInFlightIsOverTime(t *testing.T) {
	kept := func(mean float64, took time.Duration) results.Block {
		ld := results.Load{Arm: "direct", Condition: "c", InFlight: 8, Mean: mean, Answers: 20}
		for range 20 {
			ld.Stretches = append(ld.Stretches, results.Stretch{Answers: 1, Took: took / 20})
		}
		return results.Block{Study: "qa", Model: "m", Part: results.PartGPU, Loads: []results.Load{ld}}
	}
	l := &level{inFlight: 8}
	l.fill(study.Basis{Study: "qa", Blocks: []results.Block{kept(8, 59*time.Second), kept(2, time.Second)}}, "m", "direct", "c", false)
	if l.mean.Value == nil || math.Abs(*l.mean.Value-(8*59+2)/60.) > 1e-9 {
		t.Errorf("%+v, want 7.9", l.mean)
	}
}

// A sweep that went over two hosts has no rates: they would be those of no server.
func TestASweepOverSeveralHostsIsRefused(t *testing.T) {
	b := study.Basis{Study: "qa", Levels: map[string]int{"c": 8}, Spread: map[string]string{"m": "2 hosts"}}
	for _, model := range []string{"m", "n"} {
		b.Blocks = append(b.Blocks, results.Block{Study: "qa", Model: model, Part: results.PartGPU, Loads: []results.Load{{Arm: "direct", Condition: "c", InFlight: 8, Answers: 2, Stretches: []results.Stretch{{Answers: 2, Took: time.Second}}}}})
	}
	collected := func(name string) score.Extra {
		var sample score.PairSample
		a := study.NewAccount(&study.Basis{}, "n", name)
		a.Score(&sample)
		sample.Run(1, 100)
		return &study.Arms{List: []*study.Account{a}}
	}
	run := &score.Run{Models: []*score.Model{{Name: "m", Extra: collected("direct, 8 in flight")}, {Name: "n", Extra: collected("direct, 8 in flight")}}}
	s, ok := capacitySection(b, run, []string{"direct"})
	if !ok || len(s.Tables[0].Rows) != 1 || s.Tables[0].Rows[0][0].Text != "n" || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "sweep of m went over 2 hosts") {
		t.Errorf("%t %+v", ok, s)
	}
}

// TestMoneyOfGPUTimeAlone: where what the GPUs drew is not known and electricity has a price, money is that of GPU
// time, and the table says so; it is not unknown.
func TestMoneyOfGPUTimeAlone(t *testing.T) {
	b := study.Basis{Study: "qa", Levels: map[string]int{"c": 8}, Prices: study.Prices{Cost: &results.Cost{Currency: "EUR", GPUHour: new(3.6), KWh: new(.3)}},
		Blocks: []results.Block{{Study: "qa", Model: "m", Part: results.PartGPU, Loads: []results.Load{{Arm: "direct", Condition: "c", InFlight: 8, Answers: 5, Stretches: []results.Stretch{{Answers: 5, Took: 2 * time.Second}}}}}}}
	l := &level{inFlight: 8}
	l.fill(b, "m", "direct", "c", false)
	if l.money.Value == nil || math.Abs(*l.money.Value-.0004) > 1e-12 || !l.powerless {
		t.Fatalf("money %+v (GPU time alone: %t), want 2 s / 5 answers at 3.6 EUR an hour", l.money, l.powerless)
	}
	tables := capacityTables("qa", []line{{model: "m", arm: "direct", levels: []*level{l}}}, "EUR", "", nil)
	if notes := strings.Join(tables[0].Notes, " "); !strings.Contains(notes, "m, arm direct: money is that of GPU time alone") {
		t.Error(notes)
	}
	b.Blocks[0].Loads[0].Stretches[0].Joules = new(3.6e6)
	if l.fill(b, "m", "direct", "c", false); math.Abs(*l.money.Value-.0604) > 1e-12 || l.powerless {
		t.Errorf("money %+v (GPU time alone: %t), want that of a kWh more", l.money, l.powerless)
	}
}

// TestTheKneeIsNamedAlike: the table names a knee as the sentence does: at a level, or at the greatest one or beyond.
func TestTheKneeIsNamedAlike(t *testing.T) {
	at := func(rates ...float64) line {
		l := line{model: "m", arm: "direct"}
		for i, r := range rates {
			e := &results.Estimate{Value: new(r)}
			l.levels = append(l.levels, &level{inFlight: 1 << i, mean: e, rate: e, tokens: e, joules: e, money: e, goodput: e})
		}
		return l
	}
	for _, c := range []struct {
		line
		knee int
		row  int
		cell string
		says string
	}{
		{at(10, 20, 20.1), 1, 1, "knee", "the knee is at 2 in flight"},
		{at(10, 20, 40), 2, 2, "knee here or beyond", "the knee lies there or beyond"},
	} {
		c.line.knee = c.knee
		table := capacityTables("qa", []line{c.line}, "EUR", "", nil)[0]
		for i, row := range table.Rows {
			if want := map[bool]string{true: c.cell}[i == c.row]; row[3].Text != want {
				t.Errorf("row %d says %q, want %q", i, row[3].Text, want)
			}
		}
		if !strings.Contains(c.words(), c.says) {
			t.Error(c.words())
		}
		f := capacityFigure("x", "Tokens", "tokens/s", []line{c.line}, func(l *level) *results.Estimate { return l.tokens })[0]
		if got := len(f.X.Marks); got != map[bool]int{true: 1}[c.cell == "knee"] {
			t.Errorf("%d marks of a knee that is %q", got, c.cell)
		}
	}
}
