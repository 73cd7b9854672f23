package study

import (
	"context"
	"fmt"

	"assay/results"
)

// Load is how many trials of one kind a plan holds, stored ones included.
type Load struct {
	Study, Model, Arm string
	Trials            int
}

// Projection is what a whole plan will take, judging by what is stored. An
// Estimate that is not known says why.
type Projection struct {
	Hours    *results.Estimate `json:"hours"`     // of requests, one after another
	GPUHours *results.Estimate `json:"gpu_hours"` // time x GPUs held
	KWh      *results.Estimate `json:"kwh"`
	Money    *results.Estimate `json:"money"`
	Currency string            `json:"currency,omitempty"`
	Seen     int               `json:"answers"` // that it rests on
}

// Project computes a Projection from a store: the mean cost of an answer of
// each model and arm, times its trials, with intervals over items. inFlight is
// how many requests of a study go out together.
func Project(ctx context.Context, st *results.Store, seed uint64, cost *results.Cost, loads []Load, inFlight map[string]int) (Projection, error) {
	type cell struct {
		trials                               int
		n, sec, held, nWh, wh, nMoney, money int // columns
	}
	s := &Sample{}
	cells := map[Load]*cell{}
	var order []*cell
	for _, l := range loads {
		k := l
		k.Trials = 0
		if cells[k] == nil {
			c := &cell{n: s.Column(), sec: s.Column(), held: s.Column(), nWh: s.Column(), wh: s.Column(), nMoney: s.Column(), money: s.Column()}
			cells[k] = c
			order = append(order, c)
		}
		cells[k].trials += l.Trials
	}
	items := map[[2]string]int{}
	p := Prices{Cost: cost}
	out := Projection{}
	if cost != nil {
		out.Currency = cost.Currency
	}
	studies := map[string]bool{}
	for _, l := range loads {
		if studies[l.Study] {
			continue
		}
		studies[l.Study] = true
		for r, err := range st.Rows(ctx, l.Study) {
			if err != nil {
				return out, err
			}
			c := cells[Load{Study: r.Key.Study, Model: r.Key.Model, Arm: r.Key.Arm}]
			if c == nil || r.Failed || r.Latency == nil {
				continue
			}
			at, ok := items[[2]string{r.Key.Study, r.Key.Item}]
			if !ok {
				at = s.Item()
				items[[2]string{r.Key.Study, r.Key.Item}] = at
			}
			out.Seen++
			together := float64(max(1, inFlight[r.Key.Study]))
			held := r.Latency.Seconds() / together
			s.Add(c.n, at, 1)
			s.Add(c.sec, at, held)
			var joules *float64
			if r.GPU != nil {
				held = r.GPU.Held.Seconds()
				if r.GPU.Devices != nil {
					held *= float64(*r.GPU.Devices)
				}
				if r.GPU.Unknown == "" {
					j := float64(r.GPU.Gross) / 1000
					joules = &j
				}
			}
			if r.CPU != nil && r.CPU.Unknown == "" {
				j := float64(r.CPU.Gross) / 1000
				if joules != nil {
					j += *joules
				}
				joules = &j
			}
			s.Add(c.held, at, held)
			if joules != nil {
				s.Add(c.nWh, at, 1)
				s.Add(c.wh, at, *joules/3.6e6)
			}
			if m, ok := p.Money(held, joules); ok {
				s.Add(c.nMoney, at, 1)
				s.Add(c.money, at, m)
			}
		}
	}
	total := func(why string, n, of func(*cell) int, over float64) *results.Estimate {
		e := s.Sums(func(sums []float64) (float64, bool) {
			var t float64
			for _, c := range order {
				if c.trials == 0 {
					continue
				}
				if sums[n(c)] == 0 {
					return 0, false
				}
				t += float64(c.trials) * sums[of(c)] / sums[n(c)]
			}
			return t / over, true
		})
		e.N, e.Why = out.Seen, why
		return e
	}
	missing := ""
	for _, l := range loads {
		if c := cells[Load{Study: l.Study, Model: l.Model, Arm: l.Arm}]; c.trials > 0 && s.Sum(c.n) == 0 {
			missing = fmt.Sprintf("no stored answer of model %s in arm %s of study %s", l.Model, l.Arm, l.Study)
			break
		}
	}
	why := func(other string) string {
		if missing != "" {
			return missing
		}
		return other
	}
	num := func(c *cell) int { return c.n }
	out.Hours = total(why("no answer is stored"), num, func(c *cell) int { return c.sec }, 3600)
	out.GPUHours = total(why("no answer is stored"), num, func(c *cell) int { return c.held }, 3600)
	out.KWh = total(why("no energy is known"), func(c *cell) int { return c.nWh }, func(c *cell) int { return c.wh }, 1)
	noMoney := "no energy is known, and power has a price"
	if _, ok := cost.PerGPUHour(); !ok {
		noMoney = "no price per GPU-hour is given (cost: in bench.yaml)"
	}
	out.Money = total(why(noMoney), func(c *cell) int { return c.nMoney }, func(c *cell) int { return c.money }, 1)
	s.Run(seed, Replicates(s.N()))
	return out, nil
}
