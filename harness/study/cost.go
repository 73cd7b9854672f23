package study

import (
	"cmp"
	"math"

	"assay/harness/score"
	"assay/results"
)

const (
	untimed    = "no answer has a valid time"
	noEnergy   = "no answer has a known energy"
	noVerdict  = "no answer has both a verdict and a cost"
	noAbsolute = "how far the sensor's gain and offset are off is not known"
	uncounted  = "the server counts no tokens"
)

// none is an estimate of all trials that does not exist.
func (a *Account) none(why string) *results.Estimate {
	return &results.Estimate{Invalid: len(a.items), Why: why}
}

// noTime is why no answer has a GPU time.
func (a *Account) noTime() string {
	if a.unattributed > 0 {
		return "requests ran beside each other, and what each held is not known"
	}
	return "no answer has a time"
}

// paidFor are the joules that money is computed from, of each trial.
func (a *Account) paidFor(gpu, processors quantity) number {
	return func(i int) float64 { return orNaN(value(a.paid.Joules(a.or(gpu, i), a.or(processors, i)))) }
}

// or is a quantity of a trial; nil: not known.
func (a *Account) or(q quantity, i int) *float64 {
	if !a.has(q, i) {
		return nil
	}
	return &a.columns[q][i]
}

func orNaN(v float64, ok bool) float64 {
	if !ok {
		return math.NaN()
	}
	return v
}

func value(v *float64) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return *v, true
}

// price is what follows from the GPU-seconds and the joules of each trial.
func (a *Account) price(of func(gpuSeconds, joules *float64) (float64, bool)) number {
	joules := a.paidFor(gross, cpu)
	return func(i int) float64 {
		var j *float64
		if v := joules(i); !math.IsNaN(v) {
			j = &v
		}
		return orNaN(of(a.or(heldSeconds, i), j))
	}
}

func (a *Account) money() number { return a.price(a.basis.Prices.Money) }

func (a *Account) gpuMoney() number {
	return a.price(func(gpuSeconds, _ *float64) (float64, bool) { return a.basis.Prices.GPUMoney(gpuSeconds) })
}

func (a *Account) electricity() number {
	return a.price(func(_, joules *float64) (float64, bool) { return a.basis.Prices.Electricity(joules) })
}

// moneyAbsolute is by how much electricity may be off.
func (a *Account) moneyAbsolute() number {
	joules := a.paidFor(absolute, cpuAbsolute)
	return func(i int) float64 {
		v := joules(i)
		if math.IsNaN(v) {
			return v
		}
		return orNaN(a.basis.Prices.Electricity(&v))
	}
}

// noGPUMoney is why GPU time has no price, noElectricity why power has none, and noMoney why both
// together have none; "": they have.
func (a *Account) noGPUMoney() string {
	if _, ok := a.basis.Prices.Cost.PerGPUHour(); !ok {
		return "no price per GPU-hour is given (cost: in bench.yaml)"
	}
	if a.known(heldSeconds) == 0 {
		return "no answer has a known GPU time"
	}
	return ""
}

func (a *Account) noElectricity() string {
	switch p := a.basis.Prices; {
	case p.Cost == nil || p.Cost.KWh == nil:
		return "no price per kWh is given (cost: in bench.yaml)"
	case p.NeedsEnergy() && a.paid == ofNothing:
		return noEnergy
	}
	return ""
}

func (a *Account) noMoney() string {
	why := a.noGPUMoney()
	if why == "" && a.basis.Prices.NeedsEnergy() && a.paid == ofNothing {
		why = "power has a price, and no energy is known; GPU time has a price of its own"
	}
	return why
}

// costs are the measures of what an answer, a correct one and a correct step take.
func (b *Basis) costs() []measure {
	p, cur := b.Prices, cmp.Or(b.Currency(), "money")
	held := "GPU-seconds per trial: time x GPUs held"
	if b.Together {
		held = "GPU-seconds per trial: its share of the time in which requests were on the wire x GPUs held"
	}
	var out []measure
	each := func(name, title, unit, help string, none func(*Account) string, why string, v func(*Account) number) {
		add := func(suffix, words, per string, over func(*Account) number) {
			m := measure{Column: PerColumn(name+suffix, title+words, unit, per, help)}
			m.of = func(a *Account) *results.Estimate {
				if no := none(a); no != "" {
					return a.none(no)
				}
				reason := cmp.Or(why, noVerdict)
				if suffix == "" {
					reason = cmp.Or(why, a.noTime())
				}
				return a.ratio(ofTrials, reason, v(a), over(a))
			}
			out, help = append(out, m), ""
		}
		add("", "", "answers", func(*Account) number { return one })
		add("_per_correct", " per correct answer", "correct answers", func(a *Account) number { return a.column(right) })
		if b.Steps {
			add("_per_step", " per correct step", "correct steps", func(a *Account) number { return a.column(steps) })
		}
	}
	column := func(q quantity) func(*Account) number { return func(a *Account) number { return a.column(q) } }
	each("gpu_seconds", "GPU time", "s", held, func(*Account) string { return "" }, "", column(heldSeconds))
	each("joules", "Energy", "J", "gross, of the GPUs, per trial", (*Account).noGross, "", column(gross))
	each("money", "Money", cur, "GPU-hours x price + kWh x price, per trial", (*Account).noMoney, "", (*Account).money)
	if p.NeedsEnergy() {
		each("money_gpu", "Money of GPU time", cur, "GPU-hours x price, per trial", (*Account).noGPUMoney, "", (*Account).gpuMoney)
		each("money_power", "Money of electricity", cur, "kWh x price, per trial", (*Account).noElectricity, "", (*Account).electricity)
		each("money_absolute", "± of electricity, absolute", cur, "what gain and offset of the sensors leave open of the money of electricity, beside the interval, which is of the items", (*Account).noElectricity, noAbsolute, (*Account).moneyAbsolute)
	}
	out = append(out, unseen("wh", func(a *Account) *results.Estimate { return a.ratio(ofTrials, noEnergy, a.wattHours(), one) }))
	if perWh, emitted := p.Cost.Grams(3600); emitted {
		out = append(out, measure{Column: PerColumn("gco2", "CO2", "g", "answers", "kWh of what is paid for x PUE x g of CO2 per kWh, per trial"),
			cell: func(a *Account) results.Cell { return Value(times(a.Estimate("wh"), perWh)) }})
	}
	return out
}

func (a *Account) wattHours() number {
	joules := a.paidFor(gross, cpu)
	return func(i int) float64 { return joules(i) / 3600 }
}

// noGross is why the GPUs have no energy; "": they have.
func (a *Account) noGross() string {
	if a.known(gross) == 0 {
		return noEnergy
	}
	return ""
}

// projections are the measures of 1,000 items and of the full data set: the mean of a trial,
// times the trials of an item. A trial that failed counts as one that would have cost what
// others did.
func (b *Basis) projections() []measure {
	p, cur := b.Prices, cmp.Or(b.Currency(), "money")
	n := float64(p.Items)
	item := func(name string, why func(*Account) string, v func(*Account) number) measure {
		return unseen(name, func(a *Account) *results.Estimate {
			trials, items, _ := a.perItem()
			return a.scaled(ofTrials, why(a), v(a), one, func(sums []float64) (float64, bool) { return over(sums[trials], sums[items]) })
		})
	}
	of := func(name, title, unit, like string, k float64) measure {
		return measure{Column: SignificantColumn(name, title, unit, ""), cell: func(a *Account) results.Cell {
			if k == 0 {
				return Value(&results.Estimate{Why: "the size of the data set is not known"})
			}
			return Value(times(a.Estimate(like), k))
		}}
	}
	no := func(like string) func(*Account) string {
		return func(a *Account) string { return a.Estimate(like).Why }
	}
	out := []measure{
		item("seconds_per_item", (*Account).noTime, func(a *Account) number { return a.column(heldSeconds) }),
		item("wh_per_item", func(*Account) string { return noEnergy }, (*Account).wattHours),
		item("money_per_item", no("money"), (*Account).money),
		{Column: SignificantColumn("trials_per_item", "Trials per item", "", "stored trials / items: conditions and repeats"), of: func(a *Account) *results.Estimate {
			trials, items, n := a.perItem()
			e := a.sample.Sums(func(sums []float64) (float64, bool) { return over(sums[trials], sums[items]) })
			return score.Count{N: n}.Of(a.sample.Rests(e, nil, trials, items), "no trials")
		}},
		of("gpu_hours_1000", "GPU-hours, 1,000 items", "h", "seconds_per_item", 1000./3600),
		of("kwh_1000", "Energy, 1,000 items", "kWh", "wh_per_item", p.Cost.Building()),
		of("money_1000", "Money, 1,000 items", cur, "money_per_item", 1000),
		{Column: CountColumn("items", "Items of the full data set", ""), cell: func(*Account) results.Cell {
			if p.Items == 0 {
				return Value(&results.Estimate{Why: "the size of the data set is not known"})
			}
			return Counted(p.Items, p.Items)
		}},
		of("gpu_hours_full", "GPU-hours, full", "h", "seconds_per_item", n/3600),
		of("kwh_full", "Energy, full", "kWh", "wh_per_item", n/1000*p.Cost.Building()),
		of("money_full", "Money, full", cur, "money_per_item", n),
	}
	if p.NeedsEnergy() {
		out = append(out,
			item("money_gpu_per_item", no("money_gpu"), (*Account).gpuMoney),
			item("money_power_per_item", no("money_power"), (*Account).electricity),
			of("money_gpu_1000", "Money of GPU time, 1,000 items", cur, "money_gpu_per_item", 1000),
			of("money_power_1000", "Money of electricity, 1,000 items", cur, "money_power_per_item", 1000),
			of("money_gpu_full", "Money of GPU time, full", cur, "money_gpu_per_item", n),
			of("money_power_full", "Money of electricity, full", cur, "money_power_per_item", n))
	}
	if perWh, emitted := p.Cost.Grams(3600); emitted {
		out = append(out, of("kgco2_1000", "CO2, 1,000 items", "kg", "wh_per_item", perWh))
	}
	return append(out, measure{Column: TextColumn("energy_of", "Energy of"), cell: func(a *Account) results.Cell { return Text(string(a.paid)) }})
}

// perItem is two columns of the sample, trials and items that have any, and how many these are.
func (a *Account) perItem() (trials, items, n int) {
	if a.each == nil {
		a.each = []int{a.sample.Column(), a.sample.Column(), 0}
		last := int32(-1)
		for _, at := range a.items {
			a.sample.Add(a.each[0], int(at), 1)
			if at != last {
				a.sample.Add(a.each[1], int(at), 1)
				last = at
				a.each[2]++
			}
		}
	}
	return a.each[0], a.each[1], a.each[2]
}

func over(num, den float64) (float64, bool) {
	if den == 0 {
		return 0, false
	}
	return num / den, true
}

// hostedPrices are the measures against an API that is paid by the token; none: it has no price.
func (b *Basis) hostedPrices() []measure {
	p, cur := b.Prices, b.Currency()
	if p.Cost == nil || p.Cost.HostedInput == nil {
		return nil
	}
	count := func(a *Account, in, out float64) number {
		return func(i int) float64 { return a.columns[prompt][i]*in + a.columns[tokens][i]*out }
	}
	there := func(a *Account) number { return count(a, *p.Cost.HostedInput/1e6, *p.Cost.HostedOutput/1e6) }
	thousand := func(name, title, like, help string) measure {
		return measure{Column: SignificantColumn(name, title, cur, help), cell: func(a *Account) results.Cell { return Value(times(a.Estimate(like), 1000)) }}
	}
	return []measure{
		{Column: SignificantColumn("tokens", "Tokens per trial", "tokens", "prompt and answer, as the local server counts them"),
			of: func(a *Account) *results.Estimate { return a.ratio(ofTrials, uncounted, count(a, 1, 1), one) }},
		unseen("hosted_each", func(a *Account) *results.Estimate { return a.ratio(ofTrials, uncounted, there(a), one) }),
		thousand("here", "Here, 1,000 trials", "money", ""), thousand("hosted", "Hosted, 1,000 trials", "hosted_each", "the same tokens at the hosted price"),
		{Column: SignificantColumn("break_even", "Break-even", cur+"/Mtok", "the hosted price per million tokens at which both cost the same"), of: func(a *Account) *results.Estimate {
			money := a.money()
			if a.noMoney() != "" {
				money = func(int) float64 { return math.NaN() }
			}
			return a.ratio(ofTrials, "tokens or money are not known", money, count(a, 1e-6, 1e-6))
		}},
		unseen("paid_after", func(a *Account) *results.Estimate { return a.paidAfter(there(a)) }),
	}
}

// paidAfter is after how many trials a bought GPU has saved its price: price /
// (hosted - electricity), means of a trial.
func (a *Account) paidAfter(hosted number) *results.Estimate {
	p := a.basis.Prices
	if p.Cost.GPUPrice == nil {
		return a.none("no GPU is bought, or hosted costs less than electricity")
	}
	saved, trials := a.sample.Column(), a.sample.Column()
	var n score.Count
	joules := a.paidFor(gross, cpu)
	for i, item := range a.items {
		h := hosted(i)
		if p.NeedsEnergy() {
			h -= joules(i) / 3.6e6 * p.Cost.PerKWh()
		}
		if n.Note(!math.IsNaN(h), true); !math.IsNaN(h) {
			a.sample.Add(saved, int(item), h)
			a.sample.Add(trials, int(item), 1)
		}
	}
	e := a.sample.Sums(func(sums []float64) (float64, bool) {
		if sums[saved] <= 0 {
			return 0, false
		}
		return *p.Cost.GPUPrice * sums[trials] / sums[saved], true
	})
	n.Of(a.sample.Rests(e, nil, trials), "tokens or energies are not known")
	e.Why = cmp.Or(e.Why, "hosted costs less than the electricity alone")
	return e
}

// times is an estimate in another unit, or for more of the same.
func times(e *results.Estimate, k float64) *results.Estimate {
	out := *e
	for _, v := range []**float64{&out.Value, &out.Low, &out.High} {
		if *v != nil {
			*v = new(k * **v)
		}
	}
	return &out
}
