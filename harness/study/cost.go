package study

import (
	"cmp"
	"slices"

	"assay/harness/score"
	"assay/results"
	"assay/timing"
)

// draw is what one answer took.
type draw struct {
	item            int
	seconds         float64 // T
	held            amount  // GPU-seconds
	gross, net, cpu amount
	uncertainty     float64 // of gross, relative
	absolute        amount  // J, of gross; of what is paid for
	cpuAbsolute     amount
	low, timed      bool
	counted         bool // prompt and answer, in tokens, are known
	prompt, answer  int
	judged          bool
	right           float64 // 0..1: mean over judges
	steps           amount
}

// amount may not be known. There are millions, so it is no pointer.
type amount struct {
	of    float64
	known bool
}

func amountOf(v *float64) amount {
	if v == nil {
		return amount{}
	}
	return amount{*v, true}
}

// or is nil where it is not known.
func (a *amount) or() *float64 {
	if !a.known {
		return nil
	}
	return &a.of
}

// money is the draw's price; false: a part of it is not known.
func (c *Costs) money(d *draw) (float64, bool) { return c.prices.Money(d.held.or(), c.joules(d)) }

// gpuMoney and electricity are its parts.
func (c *Costs) gpuMoney(d *draw) (float64, bool)    { return c.prices.GPUMoney(d.held.or()) }
func (c *Costs) electricity(d *draw) (float64, bool) { return c.prices.Electricity(c.joules(d)) }

// moneyAbsolute is by how much electricity may be off.
func (c *Costs) moneyAbsolute(d *draw) (float64, bool) {
	if u := c.paid.Joules(d.absolute.or(), d.cpuAbsolute.or()); u != nil {
		return c.prices.Electricity(u)
	}
	return 0, false
}

const noAbsolute = "how far the sensor's gain and offset are off is not known"

// Costs collects what one model's answers in one arm took: GPU time, energy,
// tokens, and how much of it led to something right.
type Costs struct {
	Model, Arm string

	together     bool    // requests ran beside each other
	places       []int32 // items of all trials, in order
	draws        []draw
	failed       int
	assumed      bool // that one GPU was held
	unattributed int  // answers that ran beside others, and how time was shared is not known
	methods      map[timing.Method]int
	flags        map[timing.EnergyFlag]int
	unknown      map[string]int
	low          int

	// Set by Score and filled by the sample's Run. Joules are gross, of the GPUs,
	// and of GPUs and processors where money needs them.
	GPUSeconds, PerCorrect, PerStep         *results.Estimate // s
	Joules, JoulesPerCorrect, JoulesPerStep *results.Estimate // J
	Power, Gross, Net                       *results.Estimate // W; J medians
	Uncertainty, Absolute                   *results.Estimate // %, medians: within the card, and with gain and offset
	Money, MoneyPerCorrect, MoneyPerStep    *results.Estimate // Prices' currency
	// The parts of Money, each over the answers that know it: an answer, a correct
	// one, a correct step.
	GPUMoney, Electricity [3]*results.Estimate
	MoneyAbsolute         [3]*results.Estimate // of Electricity, +/-: the sensors' gain and offset are alike in all answers
	WattHours             *results.Estimate    // Wh: of all that is paid for
	Hosted, Tokens        *results.Estimate    // money; tokens, of prompt and answer
	PerMillion            *results.Estimate    // money for a million tokens
	PaidAfter             *results.Estimate    // trials until a bought GPU is paid for
	// Of an item: all its trials, under every condition and repeat.
	TrialsPerItem                                  *results.Estimate
	SecondsPerItem, WattHoursPerItem, MoneyPerItem *results.Estimate // s; Wh; money
	GPUMoneyPerItem, ElectricityPerItem            *results.Estimate // money

	paid   energyOf
	prices Prices
}

// NewCosts makes an empty one. together says that requests ran beside each other,
// so that the time and energy of one are its share.
func NewCosts(model, arm string, together bool) *Costs {
	return &Costs{Model: model, Arm: arm, together: together, methods: map[timing.Method]int{}, flags: map[timing.EnergyFlag]int{}, unknown: map[string]int{}}
}

// Add takes in a trial of an item. right is how right it is (0..1, the mean over
// judges; nil: not judged), steps how many of its steps are (nil: not known).
func (c *Costs) Add(item int, r results.Row, right, steps *float64) {
	c.places = append(c.places, int32(item))
	if r.Failed {
		c.failed++
		return
	}
	d := draw{item: item, steps: amountOf(steps)}
	if d.counted = r.PromptTokens != nil && r.CompletionTokens != nil; d.counted {
		d.prompt, d.answer = *r.PromptTokens, *r.CompletionTokens
	}
	if right != nil {
		d.judged, d.right = true, *right
	}
	d.seconds, d.timed = score.Seconds(&r)
	held, assumed := heldBy(&r, c.together)
	d.held, c.assumed = amountOf(held), c.assumed || assumed
	switch {
	case !c.together:
	case r.GPU == nil:
		c.unattributed++
		d.timed = false
	default: // its own latency holds others' time
		if d.timed = r.GPU.Held != nil; d.timed {
			d.seconds = r.GPU.Held.Seconds()
		}
	}
	joules := func(e timing.Millijoules) amount { return amount{float64(e) / 1000, true} }
	if u := r.GPU; u != nil && u.Unknown == "" {
		d.gross, d.low = joules(u.Gross), u.LowConfidence
		if u.Gross > 0 {
			d.uncertainty = float64(u.Uncertainty / u.Gross)
		}
		if u.Net != nil {
			d.net = joules(*u.Net)
		}
		if u.Absolute != nil {
			d.absolute = joules(*u.Absolute)
		}
		c.methods[u.Method]++
		for _, f := range u.Flags {
			c.flags[f]++
		}
		if d.low {
			c.low++
		}
	} else if u != nil {
		c.unknown[u.Unknown]++
	} else {
		c.unknown["no telemetry"]++
	}
	d.cpu = amountOf(joulesOf(r.CPU))
	if d.cpu.known && r.CPU.Absolute != nil {
		d.cpuAbsolute = joules(*r.CPU.Absolute)
	}
	c.draws = append(c.draws, d)
}

// paidFor is the energy that money is computed from.
func (c *Costs) paidFor() {
	gpu, cpu, both := 0, 0, 0
	for i := range c.draws {
		d := &c.draws[i]
		if d.gross.known {
			gpu++
		}
		if d.cpu.known {
			cpu++
		}
		if d.gross.known && d.cpu.known {
			both++
		}
	}
	c.paid = parts(gpu, cpu, both)
}

func (c *Costs) joules(d *draw) *float64 { return c.paid.Joules(d.gross.or(), d.cpu.or()) }

// ratioOf adds the ratio of two sums over answers to a sample; n counts the
// answers that have both.
func (c *Costs) ratioOf(s *score.PairSample, why string, of func(d *draw) (num, den float64, ok bool)) *results.Estimate {
	num, den := s.Column(), s.Column()
	var n score.Count
	for i := range c.draws {
		d := &c.draws[i]
		x, y, ok := of(d)
		n.Note(ok, true)
		if ok {
			s.Add(num, d.item, x)
			s.Add(den, d.item, y)
		}
	}
	n.Invalid += c.failed
	return n.Of(s.Sums(func(sums []float64) (float64, bool) {
		return over(sums[num], sums[den])
	}), why)
}

// Score adds the costs to a sample whose Run will fill them.
func (c *Costs) Score(s *score.PairSample, p Prices) {
	c.prices = p
	c.paidFor()
	noTime := "no answer has a time"
	if c.unattributed > 0 {
		noTime = "requests ran beside each other, and what each held is not known"
	}
	const noEnergy, noVerdict = "no answer has a known energy", "no answer has both a verdict and a cost"
	each := func(v func(d *draw) (float64, bool)) [3]*results.Estimate {
		return [3]*results.Estimate{
			c.ratioOf(s, noTime, func(d *draw) (float64, float64, bool) { x, ok := v(d); return x, 1, ok }),
			c.ratioOf(s, noVerdict, func(d *draw) (float64, float64, bool) { x, ok := v(d); return x, d.right, ok && d.judged }),
			c.ratioOf(s, noVerdict, func(d *draw) (float64, float64, bool) {
				x, ok := v(d)
				return x, d.steps.of, ok && d.steps.known
			}),
		}
	}
	gs := each(func(d *draw) (float64, bool) { return d.held.of, d.held.known })
	c.GPUSeconds, c.PerCorrect, c.PerStep = gs[0], gs[1], gs[2]
	known := slices.ContainsFunc(c.draws, func(d draw) bool { return d.gross.known })
	none := func(why string) *results.Estimate {
		return &results.Estimate{Invalid: len(c.draws) + c.failed, Why: why}
	}
	c.Joules, c.JoulesPerCorrect, c.JoulesPerStep = none(noEnergy), none(noEnergy), none(noEnergy)
	c.Power, c.Gross, c.Net, c.Uncertainty, c.Absolute = none(noEnergy), none(noEnergy), none(noEnergy), none(noEnergy), none(noEnergy)
	if known {
		js := each(func(d *draw) (float64, bool) { return d.gross.of, d.gross.known })
		c.Joules, c.JoulesPerCorrect, c.JoulesPerStep = js[0], js[1], js[2]
		c.Power = c.ratioOf(s, noEnergy, func(d *draw) (float64, float64, bool) {
			return d.gross.of, d.seconds, d.gross.known && d.timed
		})
		var gross, net, rel, full []score.Observation
		var n, nNet, nFull score.Count
		for i := range c.draws {
			d := &c.draws[i]
			n.Note(d.gross.known, true)
			nNet.Note(d.net.known, true)
			whole := d.absolute.known && d.gross.of > 0
			nFull.Note(whole, true)
			if whole {
				full = append(full, score.Observation{Item: d.item, Value: 100 * d.absolute.of / d.gross.of})
			}
			if d.gross.known {
				gross, rel = append(gross, score.Observation{Item: d.item, Value: d.gross.of}), append(rel, score.Observation{Item: d.item, Value: 100 * d.uncertainty})
			}
			if d.net.known {
				net = append(net, score.Observation{Item: d.item, Value: d.net.of})
			}
		}
		c.Gross = n.Of(s.Quantiles(gross, .5)[0], noEnergy)
		c.Uncertainty = n.Of(s.Quantiles(rel, .5)[0], noEnergy)
		c.Absolute = nFull.Of(s.Quantiles(full, .5)[0], noAbsolute)
		c.Net = nNet.Of(s.Quantiles(net, .5)[0], "the power at rest is not known")
	}
	c.WattHours = none("no answer has a known energy")
	if c.paid != ofNothing {
		c.WattHours = c.ratioOf(s, noEnergy, func(d *draw) (float64, float64, bool) {
			x, ok := value(c.joules(d))
			return x / 3600, 1, ok
		})
	}
	c.scoreMoney(s, each, none)
	c.scoreItems(s, noTime)
	c.draws, c.places = nil, nil // the sample has them
}

// scoreItems adds what an item takes: the mean of a trial, times the trials of an
// item. A trial that failed counts as one that would have cost what others did.
func (c *Costs) scoreItems(s *score.PairSample, noTime string) {
	trials, items := s.Column(), s.Column()
	last, n := int32(-1), 0
	for _, at := range c.places {
		s.Add(trials, int(at), 1)
		if at != last {
			s.Add(items, int(at), 1)
			last = at
			n++
		}
	}
	c.TrialsPerItem = score.Count{N: n}.Of(s.Sums(func(sums []float64) (float64, bool) { return over(sums[trials], sums[items]) }), "no trials")
	of := func(why string, v func(d *draw) (float64, bool)) *results.Estimate {
		num, den := s.Column(), s.Column()
		var n score.Count
		for i := range c.draws {
			d := &c.draws[i]
			x, ok := v(d)
			n.Note(ok, true)
			if ok {
				s.Add(num, d.item, x)
				s.Add(den, d.item, 1)
			}
		}
		n.Invalid += c.failed
		return n.Of(s.Sums(func(sums []float64) (float64, bool) {
			each, ok := over(sums[num], sums[den])
			per, okPer := over(sums[trials], sums[items])
			return each * per, ok && okPer
		}), why)
	}
	c.SecondsPerItem = of(noTime, func(d *draw) (float64, bool) { return d.held.of, d.held.known })
	c.WattHoursPerItem = of("no answer has a known energy", func(d *draw) (float64, bool) {
		x, ok := value(c.joules(d))
		return x / 3600, ok
	})
	c.MoneyPerItem = of(c.Money.Why, c.money)
	c.GPUMoneyPerItem, c.ElectricityPerItem = of(c.GPUMoney[0].Why, c.gpuMoney), of(c.Electricity[0].Why, c.electricity)
}

func over(num, den float64) (float64, bool) {
	if den == 0 {
		return 0, false
	}
	return num / den, true
}

func (c *Costs) scoreMoney(s *score.PairSample, each func(func(*draw) (float64, bool)) [3]*results.Estimate, none func(string) *results.Estimate) {
	p := c.prices
	var noGPU, noPower string
	if _, ok := p.Cost.PerGPUHour(); !ok {
		noGPU = "no price per GPU-hour is given (cost: in bench.yaml)"
	} else if !slices.ContainsFunc(c.draws, func(d draw) bool { return d.held.known }) {
		noGPU = "no answer has a known GPU time"
	}
	switch {
	case p.Cost == nil || p.Cost.KWh == nil:
		noPower = "no price per kWh is given (cost: in bench.yaml)"
	case p.NeedsEnergy() && c.paid == ofNothing:
		noPower = "no answer has a known energy"
	}
	why := noGPU
	if why == "" && p.NeedsEnergy() && c.paid == ofNothing {
		why = "power has a price, and no energy is known; GPU time has a price of its own"
	}
	priced := func(why string, of func(*draw) (float64, bool)) [3]*results.Estimate {
		if why != "" {
			return [3]*results.Estimate{none(why), none(why), none(why)}
		}
		return each(of)
	}
	m := priced(why, c.money)
	c.Money, c.MoneyPerCorrect, c.MoneyPerStep = m[0], m[1], m[2]
	c.GPUMoney, c.Electricity, c.MoneyAbsolute = priced(noGPU, c.gpuMoney), priced(noPower, c.electricity), priced(noPower, c.moneyAbsolute)
	for _, e := range c.MoneyAbsolute {
		if e.Value == nil && noPower == "" {
			e.Why = noAbsolute
		}
	}
	c.Hosted, c.Tokens = none("no hosted price is given (cost: in bench.yaml)"), none("the server counts no tokens")
	c.PerMillion, c.PaidAfter = none("tokens or money are not known"), none("no GPU is bought, or hosted costs less than electricity")
	tokens := func(d *draw, in, out float64) (float64, float64, bool) {
		if !d.counted {
			return 0, 0, false
		}
		return float64(d.prompt)*in + float64(d.answer)*out, 1, true
	}
	if p.Cost != nil && p.Cost.HostedInput != nil {
		c.Hosted = c.ratioOf(s, "the server counts no tokens", func(d *draw) (float64, float64, bool) {
			return tokens(d, *p.Cost.HostedInput/1e6, *p.Cost.HostedOutput/1e6)
		})
		c.Tokens = c.ratioOf(s, "the server counts no tokens", func(d *draw) (float64, float64, bool) { return tokens(d, 1, 1) })
		c.PerMillion = c.ratioOf(s, "tokens or money are not known", func(d *draw) (float64, float64, bool) {
			m, ok := c.money(d)
			n, _, okTokens := tokens(d, 1e-6, 1e-6)
			return m, n, why == "" && ok && okTokens
		})
		c.scorePaid(s, func(d *draw) (float64, bool) {
			h, _, ok := tokens(d, *p.Cost.HostedInput/1e6, *p.Cost.HostedOutput/1e6)
			return h, ok
		})
	}
}

// scorePaid adds after how many trials a bought GPU has saved its price: price /
// (hosted - electricity), means of a trial.
func (c *Costs) scorePaid(s *score.PairSample, hosted func(*draw) (float64, bool)) {
	if c.prices.Cost.GPUPrice == nil {
		return
	}
	saved, trials := s.Column(), s.Column()
	var n score.Count
	for i := range c.draws {
		d := &c.draws[i]
		h, ok := hosted(d)
		if c.prices.NeedsEnergy() {
			j, known := value(c.joules(d))
			h, ok = h-j/3.6e6*c.prices.Cost.PerKWh(), ok && known
		}
		n.Note(ok, true)
		if ok {
			s.Add(saved, d.item, h)
			s.Add(trials, d.item, 1)
		}
	}
	n.Invalid += c.failed
	c.PaidAfter = n.Of(s.Sums(func(sums []float64) (float64, bool) {
		if sums[saved] <= 0 {
			return 0, false
		}
		return *c.prices.Cost.GPUPrice * sums[trials] / sums[saved], true
	}), "tokens or energies are not known")
	c.PaidAfter.Why = cmp.Or(c.PaidAfter.Why, "hosted costs less than the electricity alone")
}

func value(v *float64) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return *v, true
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
