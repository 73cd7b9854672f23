package study

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/harness/score"
	"assay/results"
	"assay/timing"
)

func row(seconds, joules float64) results.Row {
	d := time.Duration(seconds * float64(time.Second))
	one, prompt, answer := 1, 600, 400
	net := timing.Millijoules(joules*1000) - 25*timing.Millijoules(d.Milliseconds())
	u, absolute := timing.Millijoules(joules*50), timing.Millijoules(joules*80)
	return results.Row{Latency: &d, PromptTokens: &prompt, CompletionTokens: &answer, GPU: &results.Use{Held: &d, Devices: &one,
		Energy: timing.Energy{Gross: timing.Millijoules(joules * 1000), Uncertainty: u, Absolute: &absolute, Net: &net, NetUncertainty: &u, Method: timing.ByCounter, Ticks: 20}}}
}

func ptr[T any](v T) *T { return &v }

// scored is the account of trials of a study that knows steps.
func scored(b Basis, add func(a *Account, item func() int)) *Account {
	b.Study, b.Steps = "cot", true
	s := &score.PairSample{}
	a := NewAccount(&b, "m", "cot")
	add(a, s.Item)
	a.Score(s)
	s.Run(1, 200)
	return a
}

func want(t *testing.T, what string, e *results.Estimate, v float64, n int) {
	t.Helper()
	if e.Value == nil || math.Abs(*e.Value-v) > 1e-9*math.Abs(v) || e.N != n {
		t.Errorf("%s: %+v, want %v of %d", what, e, v, n)
	}
}

// Ten answers of 10 s and 3,600 J, of which four are right; by hand.
func TestCostsByHand(t *testing.T) {
	p := Prices{Cost: &results.Cost{Currency: "EUR", GPUHour: ptr(0.36), KWh: ptr(0.5), HostedInput: ptr(1.0), HostedOutput: ptr(2.0)}, Items: 500}
	fill := func(c *Account, item func() int) {
		for i := range 10 {
			right := 0.
			if i < 4 {
				right = 1
			}
			c.Add(item(), row(10, 3600), nil, &right, ptr(2.5))
		}
		c.Add(item(), row(10, 3600), nil, nil, nil)
		c.Add(item(), results.Row{Failed: true}, nil, nil, nil)
	}
	c := scored(Basis{Prices: p}, fill)
	want(t, "GPU-seconds", c.Estimate("gpu_seconds"), 10, 11)
	want(t, "GPU-seconds per correct answer", c.Estimate("gpu_seconds_per_correct"), 25, 10)
	want(t, "GPU-seconds per correct step", c.Estimate("gpu_seconds_per_step"), 4, 10)
	want(t, "joules", c.Estimate("joules"), 3600, 11)
	want(t, "joules per correct step", c.Estimate("joules_per_step"), 1440, 10)
	want(t, "net", c.Estimate("net_median"), 3350, 11)
	want(t, "power", c.Estimate("power"), 360, 11)
	want(t, "uncertainty", c.Estimate("uncertainty"), 5, 11)
	want(t, "absolute", c.Estimate("absolute"), 8, 11)
	want(t, "electricity, absolute", c.Estimate("money_absolute"), .08*.0005, 11)
	want(t, "electricity per correct answer, absolute", c.Estimate("money_absolute_per_correct"), .08*.00125, 10)
	want(t, "Wh", c.Estimate("wh"), 1, 11)
	// 10 s at 0.36 per hour is 0.001; 1 Wh at 0.50 per kWh is 0.0005.
	want(t, "money", c.Estimate("money"), 0.0015, 11)
	want(t, "money per correct answer", c.Estimate("money_per_correct"), 0.00375, 10)
	want(t, "hosted", c.Estimate("hosted_each"), (600+2*400)/1e6, 11)
	if n := c.Estimate("gross_median").Invalid; n != 0 {
		t.Errorf("the median of answers' energies leaves out %d: failures are none", n)
	}
	if c.Estimate("money").Invalid != 1 || c.paid != "GPU" {
		t.Errorf("%d failures beside money; paid for %s", c.Estimate("money").Invalid, c.paid)
	}
	sec, ok := ptr(Basis{Study: "cot", Prices: p, Steps: true}).CostSection([]*Account{c})
	if !ok || len(sec.Tables) != 3 || !strings.Contains(sec.Intro, "0.36") || len(sec.Notes) != 1 || !strings.Contains(sec.Notes[0], "hosted is cheaper") {
		t.Errorf("section %+v", sec)
	}
	full := sec.Tables[1].Rows[0]
	want(t, "trials per item", full[2].Estimate, 1, 12)
	want(t, "GPU-hours of the full data set", full[7].Estimate, 500*10/3600., 11)
	want(t, "kWh of the full data set", full[8].Estimate, .5, 11)
	want(t, "money of the full data set", full[9].Estimate, .75, 11)
	want(t, "break-even", sec.Tables[2].Rows[0][5].Estimate, 1.5, 11)

	p.Cost = &results.Cost{Currency: "EUR", GPUPrice: ptr(2000.), GPULifeHours: ptr(20000.), KWh: ptr(0.5), HostedInput: ptr(10.0), HostedOutput: ptr(10.0)}
	c = scored(Basis{Prices: p}, fill)
	sec, _ = ptr(Basis{Study: "cot", Prices: p, Steps: true}).CostSection([]*Account{c})
	// Hosted 0.01, electricity 0.0005: 2000 / 0.0095 trials of 10 s.
	if len(sec.Notes) != 1 || !strings.Contains(sec.Notes[0], "paid for after 211 thousand trials, that is 585 hours") {
		t.Errorf("break-even of a bought GPU: %q", sec.Notes)
	}
}

// What is not known is not 0, and says why.
func TestCostsThatAreNotKnown(t *testing.T) {
	unknown := row(2, 0)
	unknown.GPU = &results.Use{Held: ptr(2 * time.Second), Energy: timing.Energy{Unknown: "no GPU was watched"}}
	bare := row(2, 0)
	bare.GPU, bare.PromptTokens = nil, nil
	fill := func(c *Account, item func() int) {
		c.Add(item(), unknown, nil, ptr(0.), nil)
		c.Add(item(), bare, nil, ptr(0.), nil)
	}
	c := scored(Basis{Prices: Prices{}}, fill)
	want(t, "GPU-seconds", c.Estimate("gpu_seconds"), 2, 2)
	for what, e := range map[string]*results.Estimate{"joules": c.Estimate("joules"), "net": c.Estimate("net_median"), "money": c.Estimate("money"), "per correct answer of none": c.Estimate("gpu_seconds_per_correct"), "Wh": c.Estimate("wh")} {
		if e.Value != nil || e.Why == "" {
			t.Errorf("%s: %+v", what, e)
		}
	}
	c = scored(Basis{Prices: Prices{Cost: &results.Cost{Currency: "EUR", GPUHour: ptr(1.), KWh: ptr(.3)}}}, fill)
	if c.Estimate("money").Value != nil || !strings.Contains(c.Estimate("money").Why, "no energy is known") {
		t.Errorf("money without the energy that is paid for: %+v", c.Estimate("money"))
	}
	// What is known has its price all the same.
	want(t, "money of GPU time", c.Estimate("money_gpu"), 2./3600, 2)
	if e := c.Estimate("money_power"); e.Value != nil || e.N != 0 || e.Invalid != 2 || !strings.Contains(e.Why, "no answer has a known energy") {
		t.Errorf("money of electricity: %+v", e)
	}
	c = scored(Basis{Prices: Prices{Cost: &results.Cost{Currency: "EUR", GPUHour: ptr(1.), KWh: ptr(0.)}}}, fill)
	want(t, "money with power included", c.Estimate("money"), 2./3600, 2)
	sec, ok := ptr(Basis{Study: "cot", Steps: true}).CostSection([]*Account{c})
	if !ok || !strings.Contains(strings.Join(sec.Tables[0].Notes, " "), "one is taken to be held") {
		t.Errorf("nothing says that a GPU was assumed: %+v", sec.Tables[0].Notes)
	}
	if _, ok := ptr(Basis{Study: "cot"}).EnergySection([]*Account{c}); ok {
		t.Error("a section of energies without any")
	}
}

// Requests that ran beside each other hold a share of the time each, and nothing
// is claimed of one whose share is not known.
func TestCostsOfRequestsTogether(t *testing.T) {
	fill := func(c *Account, item func() int) {
		for range 3 {
			at := item()
			for range 4 { // conditions
				r := row(8, 100)
				r.GPU.Held = ptr(2 * time.Second) // four at a time
				c.Add(at, r, nil, ptr(.5), nil)
			}
			c.Add(at, results.Row{Failed: true}, nil, nil, nil)
		}
		lost := row(8, 100)
		lost.GPU = nil
		c.Add(item(), lost, nil, ptr(1.), nil)
	}
	p := Prices{Cost: &results.Cost{Currency: "EUR", GPUHour: ptr(3.6)}, Items: 100}
	c := scored(Basis{Prices: p, Together: true}, fill)
	want(t, "GPU-seconds", c.Estimate("gpu_seconds"), 2, 12)
	want(t, "GPU-seconds per correct answer", c.Estimate("gpu_seconds_per_correct"), 4, 12)
	want(t, "power", c.Estimate("power"), 50, 12)
	want(t, "trials per item", c.Estimate("trials_per_item"), 4, 4)
	want(t, "seconds per item", c.Estimate("seconds_per_item"), 8, 12)
	want(t, "money per item", c.Estimate("money_per_item"), .008, 12)
	if c.Estimate("gpu_seconds").Invalid != 4 || c.assumed {
		t.Errorf("%d left out, a GPU assumed: %v", c.Estimate("gpu_seconds").Invalid, c.assumed)
	}
	b := Basis{Study: "faithfulness", Prices: p, Together: true}
	sec, ok := b.CostSection([]*Account{c})
	if !ok || !strings.Contains(sec.Intro, "divided equally") || !strings.Contains(strings.Join(sec.Tables[0].Notes, " "), "left out") {
		t.Errorf("%+v", sec)
	}
	for _, col := range sec.Tables[0].Columns {
		if strings.Contains(col.Name, "step") {
			t.Errorf("a study without steps has a column %s", col.Name)
		}
	}
	if n := len(sec.Tables[0].Columns); len(sec.Tables[0].Rows[0]) != n {
		t.Errorf("%d cells, %d columns", len(sec.Tables[0].Rows[0]), n)
	}
	want(t, "GPU-hours of 1,000 items", sec.Tables[1].Rows[0][3].Estimate, 8000./3600, 12)
	want(t, "money of the full data set", sec.Tables[1].Rows[0][9].Estimate, .8, 12)
	if sec, ok := b.EnergySection([]*Account{c}); !ok || !strings.Contains(sec.Intro, "divided equally") {
		t.Errorf("%+v", sec)
	}
}

// TestPowerIsOfKnownShares: of two requests beside each other, how long one held the GPU is not
// known; its own time holds the other's, and is no part of the power.
func TestPowerIsOfKnownShares(t *testing.T) {
	c := scored(Basis{Together: true}, func(c *Account, item func() int) {
		known, unknown := row(8, 100), row(8, 100)
		known.GPU.Held, unknown.GPU.Held = ptr(2*time.Second), nil
		c.Add(item(), known, nil, nil, nil)
		c.Add(item(), unknown, nil, nil, nil)
	})
	want(t, "power", c.Estimate("power"), 50, 1)
	want(t, "joules", c.Estimate("joules"), 100, 2)
}

// Against a hosted price stand 1,000 trials, and are called so: an item may take several.
func TestHostedIsOfTrials(t *testing.T) {
	p := Prices{Cost: &results.Cost{Currency: "EUR", GPUHour: ptr(3.6), HostedInput: ptr(1.), HostedOutput: ptr(2.)}, Items: 10}
	c := scored(Basis{Prices: p}, func(c *Account, item func() int) {
		it := item()
		c.Add(it, row(2, 100), nil, ptr(1.), nil)
		c.Add(it, row(2, 100), nil, ptr(1.), nil)
	})
	sec, _ := ptr(Basis{Study: "faithfulness", Prices: p}).CostSection([]*Account{c})
	want(t, "1,000 items here", sec.Tables[1].Rows[0][5].Estimate, 4, 2)
	for i, v := range map[int]float64{3: 2, 4: 1.4} {
		col := sec.Tables[2].Columns[i]
		want(t, col.Title, sec.Tables[2].Rows[0][i].Estimate, v, 2)
		if !strings.HasSuffix(col.Title, ", 1,000 trials") {
			t.Errorf("%g of a trial stands under %q", v/1000, col.Title)
		}
	}
}

// What holds of many arms is said once.
func TestShortAnswersAreSaidOnce(t *testing.T) {
	costs := func(model, arm string, low bool) *Account {
		c := NewAccount(&Basis{}, model, arm)
		for range 3 {
			r := row(1, 10)
			r.GPU.LowConfidence = low
			c.Add(0, r, nil, nil, nil)
		}
		s := &score.PairSample{}
		s.Item()
		c.Score(s)
		s.Run(1, 10)
		return c
	}
	for _, w := range []struct {
		low  [3]bool
		want string
	}{
		{[3]bool{true, true, true}, "All models and arms: 9 of 9 answers"},
		{[3]bool{true, true, false}, "a (cot, direct): 6 of 6 answers"},
		{[3]bool{false, false, false}, ""},
	} {
		sec, _ := ptr(Basis{Study: "cot"}).EnergySection([]*Account{costs("a", "cot", w.low[0]), costs("a", "direct", w.low[1]), costs("b", "cot", w.low[2])})
		if got := strings.Join(sec.Warnings, "\n"); !strings.HasPrefix(got, w.want) || (w.want == "") != (got == "") || strings.Contains(got, "\n") {
			t.Errorf("%v: %q", w.low, got)
		}
	}
}

// Five answers: two know no time, one no energy, one only the processors' energy.
func TestMoneyRestsOnWhatIsKnown(t *testing.T) {
	timeless := row(4, 100)
	timeless.GPU.Held, timeless.GPU.Unknown = nil, "the times of the answer are not complete"
	set := row(4, 100) // by a store without telemetry
	set.GPU, set.Flags = nil, []results.Flag{results.FlagClockJump}
	noEnergy := row(8, 0)
	noEnergy.GPU.Unknown = "readings are missing"
	noEnergy.CPU = &results.Use{Held: ptr(8 * time.Second), Energy: timing.Energy{Gross: 7.2e6}}
	whole := row(4, 3600)
	whole.GPU.Devices = ptr(2)
	whole.CPU = &results.Use{Held: ptr(4 * time.Second), Energy: timing.Energy{Gross: 1.8e6}}
	p := Prices{Cost: &results.Cost{Currency: "EUR", GPUHour: ptr(3.6), KWh: ptr(1.)}, Items: 10}
	c := scored(Basis{Prices: p}, func(c *Account, item func() int) {
		for _, r := range []results.Row{timeless, set, noEnergy, whole, whole} {
			c.Add(item(), r, nil, ptr(1.), nil)
		}
	})
	want(t, "GPU-seconds", c.Estimate("gpu_seconds"), 8, 3) // 8 on one GPU, 4 on two
	want(t, "money of GPU time", c.Estimate("money_gpu"), .008, 3)
	want(t, "money of electricity", c.Estimate("money_power"), 5400/3.6e6, 2)
	want(t, "money", c.Estimate("money"), .008+5400/3.6e6, 2)
	want(t, "Wh", c.Estimate("wh"), 1.5, 2)
	want(t, "money per item", c.Estimate("money_per_item"), .008+5400/3.6e6, 2)
	if c.Estimate("gpu_seconds").Invalid != 2 || c.Estimate("money").Invalid != 3 || c.paid != ofGPUAndCPU || c.assumed {
		t.Errorf("%d and %d left out, paid for %s, assumed %t", c.Estimate("gpu_seconds").Invalid, c.Estimate("money").Invalid, c.paid, c.assumed)
	}
	sec, _ := ptr(Basis{Study: "cot", Prices: p}).CostSection([]*Account{c})
	for _, table := range sec.Tables {
		for _, r := range table.Rows {
			if len(r) != len(table.Columns) {
				t.Errorf("%s: %d cells, %d columns", table.Name, len(r), len(table.Columns))
			}
		}
	}
	cell := func(table int, column string) *results.Estimate {
		i := slices.IndexFunc(sec.Tables[table].Columns, func(c results.Column) bool { return c.Name == column })
		return sec.Tables[table].Rows[0][i].Estimate
	}
	want(t, "the column of GPU time", cell(0, "money_gpu"), .008, 3)
	want(t, "the column of electricity", cell(0, "money_power_per_correct"), 5400/3.6e6, 2)
	want(t, "electricity of the full data set", cell(1, "money_power_full"), 10*5400/3.6e6, 2)
}

// What the building adds is in kWh, in electricity and in CO2, once each, and GPU time is
// as it was.
func TestTheBuildingAndItsEmissions(t *testing.T) {
	of := func(pue *float64) (*Account, results.Section) {
		r := row(4, 1800)
		p := Prices{Cost: &results.Cost{Currency: "EUR", GPUHour: ptr(3.6), KWh: ptr(.5), PUE: pue, GCO2PerKWh: ptr(400.)}, Items: 10}
		c := scored(Basis{Prices: p}, func(c *Account, item func() int) {
			c.Add(item(), r, nil, ptr(1.), nil)
			c.Add(item(), r, nil, ptr(1.), nil)
		})
		sec, _ := ptr(Basis{Study: "cot", Prices: p}).CostSection([]*Account{c})
		return c, sec
	}
	cell := func(sec results.Section, table int, column string) *results.Estimate {
		i := slices.IndexFunc(sec.Tables[table].Columns, func(c results.Column) bool { return c.Name == column })
		if i < 0 || len(sec.Tables[table].Rows[0]) != len(sec.Tables[table].Columns) {
			t.Fatalf("%s: no column, or rows of another length", column)
		}
		return sec.Tables[table].Rows[0][i].Estimate
	}
	for pue, sum := range map[float64]float64{1: 1, 1.5: 1.5} {
		c, sec := of(ptr(pue))
		want(t, "electricity", c.Estimate("money_power"), sum*1800/3.6e6*.5, 2)
		want(t, "GPU time", c.Estimate("money_gpu"), .004, 2)
		want(t, "money", c.Estimate("money"), .004+sum*1800/3.6e6*.5, 2)
		want(t, "CO2", cell(sec, 0, "gco2"), sum*.0005*400, 2)
		want(t, "CO2 of 1,000 items", cell(sec, 1, "kgco2_1000"), sum*.0005*400, 2)
		want(t, "kWh of 1,000 items", cell(sec, 1, "kwh_1000"), sum*.5, 2)
		for _, one := range sec.Tables {
			if !slices.ContainsFunc(one.Notes, func(n string) bool { return strings.Contains(n, "kWh of the building (PUE)") }) {
				t.Errorf("%s does not say what the building adds: %q", one.Name, one.Notes)
			}
		}
	}
	c, sec := of(nil)
	for _, one := range sec.Tables {
		if strings.Contains(strings.Join(one.Notes, ""), "PUE") {
			t.Errorf("%s: nothing is added, and it says %q", one.Name, one.Notes)
		}
	}
	if math.Abs(*c.Estimate("money_power").Value-1800/3.6e6*.5) > 1e-12 {
		t.Errorf("without a PUE: %v", *c.Estimate("money_power").Value)
	}
}

// TestCutAnswersAreSaidOfUntimedStudies: by the token limit and below it, where what
// disturbs times alone is left out.
func TestCutAnswersAreSaidOfUntimedStudies(t *testing.T) {
	a := &Account{Model: "m", Arm: "a", Trials: 9, Flags: map[results.Flag]int{results.FlagTruncated: 2, results.FlagContextEnd: 3, results.FlagConcurrent: 4}}
	for together, want := range map[bool]int{true: 2, false: 3} {
		b := Basis{Together: together}
		got := b.Warnings(&score.Run{Models: []*score.Model{{}}}, []*Account{a}, nil)
		text := ""
		for _, w := range got {
			text += w.Text + "\n"
		}
		if len(got) != want || !strings.Contains(text, "2 of 9 answers were cut by the token limit") || !strings.Contains(text, "3 of 9 answers were cut by the server below the token limit") {
			t.Errorf("together %t: %s", together, text)
		}
		for _, cause := range []string{"longer context", "limit of answers that it has of its own"} {
			if !strings.Contains(text, cause) {
				t.Errorf("together %t: %q is not named: %s", together, cause, text)
			}
		}
	}
}

// A mean rests on the clusters that have an answer in it, not on all of the sample.
func TestCostsRestOnTheirOwnClusters(t *testing.T) {
	unknown := row(2, 0)
	unknown.GPU = &results.Use{Held: ptr(2 * time.Second), Energy: timing.Energy{Unknown: "no GPU was watched"}}
	c := scored(Basis{}, func(c *Account, item func() int) {
		for i := range 5 {
			r := unknown
			if i < 2 {
				r = row(2, float64(100*(i+1)))
			}
			c.Add(item(), r, nil, ptr(1.), nil)
		}
	})
	if e := c.Estimate("joules"); e.Clusters != 2 || e.N != 2 {
		t.Errorf("joules: %+v, want 2 clusters", e)
	}
	if e := c.Estimate("gpu_seconds"); e.Clusters != 5 {
		t.Errorf("GPU-seconds: %+v, want 5 clusters", e)
	}
}
