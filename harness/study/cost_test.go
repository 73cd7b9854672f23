package study

import (
	"math"
	"strings"
	"testing"
	"time"

	"assay/results"
	"assay/timing"
)

func row(seconds, joules float64) results.Row {
	d := time.Duration(seconds * float64(time.Second))
	one, prompt, answer := 1, 600, 400
	net := timing.Millijoules(joules*1000) - 25*timing.Millijoules(d.Milliseconds())
	u := timing.Millijoules(joules * 50)
	return results.Row{Latency: &d, PromptTokens: &prompt, CompletionTokens: &answer, GPU: &results.Use{Held: d, Devices: &one,
		Energy: timing.Energy{Gross: timing.Millijoules(joules * 1000), Uncertainty: u, Net: &net, NetUncertainty: &u, Method: timing.ByCounter, Ticks: 20}}}
}

func ptr[T any](v T) *T { return &v }

func scored(p Prices, add func(c *Costs, item func() int)) *Costs { return scoredAs(p, false, add) }

func scoredAs(p Prices, together bool, add func(c *Costs, item func() int)) *Costs {
	s := &Sample{}
	c := NewCosts("m", "cot", together)
	add(c, s.Item)
	c.Score(s, p)
	s.Run(1, 200)
	return c
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
	fill := func(c *Costs, item func() int) {
		for i := range 10 {
			right := 0.
			if i < 4 {
				right = 1
			}
			c.Add(item(), row(10, 3600), &right, ptr(2.5))
		}
		c.Add(item(), row(10, 3600), nil, nil)
		c.Add(item(), results.Row{Failed: true}, nil, nil)
	}
	c := scored(p, fill)
	want(t, "GPU-seconds", c.GPUSeconds, 10, 11)
	want(t, "GPU-seconds per correct answer", c.PerCorrect, 25, 10)
	want(t, "GPU-seconds per correct step", c.PerStep, 4, 10)
	want(t, "joules", c.Joules, 3600, 11)
	want(t, "joules per correct step", c.JoulesPerStep, 1440, 10)
	want(t, "net", c.Net, 3350, 11)
	want(t, "power", c.Power, 360, 11)
	want(t, "uncertainty", c.Uncertainty, 5, 11)
	want(t, "Wh", c.WattHours, 1, 11)
	// 10 s at 0.36 per hour is 0.001; 1 Wh at 0.50 per kWh is 0.0005.
	want(t, "money", c.Money, 0.0015, 11)
	want(t, "money per correct answer", c.MoneyPerCorrect, 0.00375, 10)
	want(t, "hosted", c.Hosted, (600+2*400)/1e6, 11)
	if c.Money.Invalid != 1 || c.paid != "GPU" {
		t.Errorf("%d failures beside money; paid for %s", c.Money.Invalid, c.paid)
	}
	sec, ok := Basis{Study: "cot", Prices: p, Steps: true}.CostSection([]*Costs{c})
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
	c = scored(p, fill)
	sec, _ = Basis{Study: "cot", Prices: p, Steps: true}.CostSection([]*Costs{c})
	// Hosted 0.01, electricity 0.0005: 2000 / 0.0095 trials of 10 s.
	if len(sec.Notes) != 1 || !strings.Contains(sec.Notes[0], "paid for after 211000 trials, that is 585 hours") && !strings.Contains(sec.Notes[0], "2.11e+05") {
		t.Errorf("break-even of a bought GPU: %q", sec.Notes)
	}
}

// What is not known is not 0, and says why.
func TestCostsThatAreNotKnown(t *testing.T) {
	unknown := row(2, 0)
	unknown.GPU = &results.Use{Held: 2 * time.Second, Energy: timing.Energy{Unknown: "no GPU was watched"}}
	bare := row(2, 0)
	bare.GPU, bare.PromptTokens = nil, nil
	fill := func(c *Costs, item func() int) {
		c.Add(item(), unknown, ptr(0.), nil)
		c.Add(item(), bare, ptr(0.), nil)
	}
	c := scored(Prices{}, fill)
	want(t, "GPU-seconds", c.GPUSeconds, 2, 2)
	for what, e := range map[string]*results.Estimate{"joules": c.Joules, "net": c.Net, "money": c.Money, "per correct answer of none": c.PerCorrect, "hosted": c.Hosted, "Wh": c.WattHours} {
		if e.Value != nil || e.Why == "" {
			t.Errorf("%s: %+v", what, e)
		}
	}
	c = scored(Prices{Cost: &results.Cost{Currency: "EUR", GPUHour: ptr(1.), KWh: ptr(.3)}}, fill)
	if c.Money.Value != nil || !strings.Contains(c.Money.Why, "no energy is known") {
		t.Errorf("money without the energy that is paid for: %+v", c.Money)
	}
	c = scored(Prices{Cost: &results.Cost{Currency: "EUR", GPUHour: ptr(1.), KWh: ptr(0.)}}, fill)
	want(t, "money with power included", c.Money, 2./3600, 2)
	sec, ok := Basis{Study: "cot", Steps: true}.CostSection([]*Costs{c})
	if !ok || !strings.Contains(strings.Join(sec.Tables[0].Notes, " "), "one is taken to be held") {
		t.Errorf("nothing says that a GPU was assumed: %+v", sec.Tables[0].Notes)
	}
	if _, ok := (Basis{Study: "cot"}).EnergySection([]*Costs{c}); ok {
		t.Error("a section of energies without any")
	}
}
