package study

import (
	"fmt"
	"slices"
	"strings"

	"assay/results"
	"assay/results/stats"
	"assay/timing"
)

// Prices is what money and projections are computed from.
type Prices struct {
	Cost  *results.Cost // nil: no prices are given
	Items int           // of the full data set; 0: not known
}

// PricesOf finds a study's prices and the size of its data set in the manifest.
func PricesOf(man results.Manifest, study string) Prices {
	p := Prices{Cost: man.Cost}
	for _, d := range man.Datasets {
		if d.Name == man.Settings["studies."+study+".dataset"] {
			p.Items = d.Items
		}
	}
	return p
}

// money is the price of GPU-seconds and joules; false: a price or an energy that
// it needs is not known.
func (p Prices) money(gpuSeconds float64, joules *float64) (float64, bool) {
	hour, ok := p.Cost.PerGPUHour()
	if !ok {
		return 0, false
	}
	m := gpuSeconds / 3600 * hour
	if kwh := p.Cost.KWh; kwh != nil && *kwh > 0 {
		if joules == nil {
			return 0, false
		}
		m += *joules / 3.6e6 * *kwh
	}
	return m, true
}

// needsEnergy says whether money cannot be told without joules.
func (p Prices) needsEnergy() bool { return p.Cost != nil && p.Cost.KWh != nil && *p.Cost.KWh > 0 }

// draw is what one answer took.
type draw struct {
	item            int
	seconds, held   float64 // T; GPU-seconds
	gross, net, cpu *float64
	uncertainty     float64 // of gross, relative
	low, timed      bool
	prompt, answer  *int
	judged          bool
	right           float64 // 0..1: mean over judges
	steps           *float64
}

// Costs collects what one model's answers in one arm took: GPU time, energy,
// tokens, and how much of it led to something right.
type Costs struct {
	Model, Arm string

	draws   []draw
	failed  int
	assumed bool // that one GPU was held
	methods map[timing.Method]int
	flags   map[timing.EnergyFlag]int
	unknown map[string]int
	low     int

	// Set by Score and filled by the sample's Run. Joules are gross, of the GPUs,
	// and of GPUs and processors where money needs them.
	GPUSeconds, PerCorrect, PerStep         *results.Estimate // s
	Joules, JoulesPerCorrect, JoulesPerStep *results.Estimate // J
	Power, Gross, Net, Uncertainty          *results.Estimate // W; J medians; %
	Money, MoneyPerCorrect, MoneyPerStep    *results.Estimate // Prices' currency
	WattHours                               *results.Estimate // Wh: of all that is paid for
	Hosted, Tokens                          *results.Estimate // money; tokens, of prompt and answer
	paid                                    string            // "GPU", "GPU + CPU", "CPU"
	prices                                  Prices
}

// NewCosts makes an empty one.
func NewCosts(model, arm string) *Costs {
	return &Costs{Model: model, Arm: arm, methods: map[timing.Method]int{}, flags: map[timing.EnergyFlag]int{}, unknown: map[string]int{}}
}

// Add takes in a trial of an item. right is how right it is (0..1, the mean over
// judges; nil: not judged), steps how many of its steps are (nil: not known).
func (c *Costs) Add(item int, r results.Row, right, steps *float64) {
	if r.Failed {
		c.failed++
		return
	}
	d := draw{item: item, prompt: r.PromptTokens, answer: r.CompletionTokens, steps: steps}
	if right != nil {
		d.judged, d.right = true, *right
	}
	d.seconds, d.timed = Seconds(r)
	switch {
	case r.GPU != nil:
		d.held = r.GPU.Held.Seconds()
		if r.GPU.Devices != nil {
			d.held *= float64(*r.GPU.Devices)
		} else {
			c.assumed = true
		}
	case r.Latency != nil:
		d.held, c.assumed = r.Latency.Seconds(), true
	default:
		return // nothing is known of it
	}
	joules := func(e timing.Millijoules) *float64 { j := float64(e) / 1000; return &j }
	if u := r.GPU; u != nil && u.Unknown == "" {
		d.gross, d.low = joules(u.Gross), u.LowConfidence
		if u.Gross > 0 {
			d.uncertainty = float64(u.Uncertainty / u.Gross)
		}
		if u.Net != nil {
			d.net = joules(*u.Net)
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
	if u := r.CPU; u != nil && u.Unknown == "" {
		d.cpu = joules(u.Gross)
	}
	c.draws = append(c.draws, d)
}

// paidFor is the energy that money is computed from: of GPUs, and of processors
// where all answers have that.
func (c *Costs) paidFor() {
	gpu, cpu := 0, 0
	for _, d := range c.draws {
		if d.gross != nil {
			gpu++
		}
		if d.cpu != nil {
			cpu++
		}
	}
	switch {
	case gpu > 0 && cpu >= gpu:
		c.paid = "GPU + CPU"
	case gpu > 0:
		c.paid = "GPU"
	case cpu > 0:
		c.paid = "CPU"
	}
}

func (c *Costs) joules(d draw) *float64 {
	switch c.paid {
	case "GPU":
		return d.gross
	case "CPU":
		return d.cpu
	case "GPU + CPU":
		if d.gross != nil && d.cpu != nil {
			j := *d.gross + *d.cpu
			return &j
		}
	}
	return nil
}

// ratioOf adds the ratio of two sums over answers to a sample; n counts the
// answers that have both.
func (c *Costs) ratioOf(s *Sample, why string, of func(d draw) (num, den float64, ok bool)) *results.Estimate {
	num, den := s.Column(), s.Column()
	var n Count
	for _, d := range c.draws {
		x, y, ok := of(d)
		n.Note(ok, true)
		if ok {
			s.Add(num, d.item, x)
			s.Add(den, d.item, y)
		}
	}
	n.Invalid += c.failed
	return n.Of(s.Sums(func(sums []float64) (float64, bool) {
		if sums[den] == 0 {
			return 0, false
		}
		return sums[num] / sums[den], true
	}), why)
}

// Score adds the costs to a sample whose Run will fill them.
func (c *Costs) Score(s *Sample, p Prices) {
	c.prices = p
	c.paidFor()
	const noTime, noEnergy, noVerdict = "no answer has a time", "no answer has a known energy", "no answer has both a verdict and a cost"
	each := func(v func(d draw) (float64, bool)) [3]*results.Estimate {
		return [3]*results.Estimate{
			c.ratioOf(s, noTime, func(d draw) (float64, float64, bool) { x, ok := v(d); return x, 1, ok }),
			c.ratioOf(s, noVerdict, func(d draw) (float64, float64, bool) { x, ok := v(d); return x, d.right, ok && d.judged }),
			c.ratioOf(s, noVerdict, func(d draw) (float64, float64, bool) {
				x, ok := v(d)
				if d.steps == nil {
					return 0, 0, false
				}
				return x, *d.steps, ok
			}),
		}
	}
	gs := each(func(d draw) (float64, bool) { return d.held, true })
	c.GPUSeconds, c.PerCorrect, c.PerStep = gs[0], gs[1], gs[2]
	known := slices.ContainsFunc(c.draws, func(d draw) bool { return d.gross != nil })
	none := func(why string) *results.Estimate {
		return &results.Estimate{Invalid: len(c.draws) + c.failed, Why: why}
	}
	c.Joules, c.JoulesPerCorrect, c.JoulesPerStep = none(noEnergy), none(noEnergy), none(noEnergy)
	c.Power, c.Gross, c.Net, c.Uncertainty = none(noEnergy), none(noEnergy), none(noEnergy), none(noEnergy)
	if known {
		js := each(func(d draw) (float64, bool) { return value(d.gross) })
		c.Joules, c.JoulesPerCorrect, c.JoulesPerStep = js[0], js[1], js[2]
		c.Power = c.ratioOf(s, noEnergy, func(d draw) (float64, float64, bool) {
			x, ok := value(d.gross)
			return x, d.seconds, ok && d.timed
		})
		var gross, net, rel []Observation
		var n, nNet Count
		for _, d := range c.draws {
			n.Note(d.gross != nil, true)
			nNet.Note(d.net != nil, true)
			if d.gross != nil {
				gross, rel = append(gross, Observation{d.item, *d.gross}), append(rel, Observation{d.item, 100 * d.uncertainty})
			}
			if d.net != nil {
				net = append(net, Observation{d.item, *d.net})
			}
		}
		c.Gross = n.Of(s.Quantiles(gross, .5)[0], noEnergy)
		c.Uncertainty = n.Of(s.Quantiles(rel, .5)[0], noEnergy)
		c.Net = nNet.Of(s.Quantiles(net, .5)[0], "the power at rest is not known")
	}
	c.WattHours = none("no answer has a known energy")
	if c.paid != "" {
		c.WattHours = c.ratioOf(s, noEnergy, func(d draw) (float64, float64, bool) {
			x, ok := value(c.joules(d))
			return x / 3600, 1, ok
		})
	}
	c.scoreMoney(s, p, each, none)
	c.draws = nil // the sample has them
}

func (c *Costs) scoreMoney(s *Sample, p Prices, each func(func(draw) (float64, bool)) [3]*results.Estimate, none func(string) *results.Estimate) {
	why := ""
	if _, ok := p.Cost.PerGPUHour(); !ok {
		why = "no price per GPU-hour is given (cost: in bench.yaml)"
	} else if p.needsEnergy() && c.paid == "" {
		why = "power has a price, and no energy is known"
	}
	c.Money, c.MoneyPerCorrect, c.MoneyPerStep = none(why), none(why), none(why)
	if why == "" {
		m := each(func(d draw) (float64, bool) { return p.money(d.held, c.joules(d)) })
		c.Money, c.MoneyPerCorrect, c.MoneyPerStep = m[0], m[1], m[2]
	}
	c.Hosted, c.Tokens = none("no hosted price is given (cost: in bench.yaml)"), none("the server counts no tokens")
	tokens := func(d draw, in, out float64) (float64, float64, bool) {
		if d.prompt == nil || d.answer == nil {
			return 0, 0, false
		}
		return float64(*d.prompt)*in + float64(*d.answer)*out, 1, true
	}
	if p.Cost != nil && p.Cost.HostedInput != nil {
		c.Hosted = c.ratioOf(s, "the server counts no tokens", func(d draw) (float64, float64, bool) {
			return tokens(d, *p.Cost.HostedInput/1e6, *p.Cost.HostedOutput/1e6)
		})
		c.Tokens = c.ratioOf(s, "the server counts no tokens", func(d draw) (float64, float64, bool) { return tokens(d, 1, 1) })
	}
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
			x := k * **v
			*v = &x
		}
	}
	return &out
}

// EnergySection is the energies of answers and of blocks; false: nothing was
// watched. blocks are the study's. It follows Score and Run.
func EnergySection(study string, costs []*Costs, blocks []results.Block) (results.Section, bool) {
	t := results.Table{Name: study + "-energy", Title: "Energy of the GPUs per answer", Columns: []results.Column{
		TextColumn("model", "Model"), TextColumn("arm", "Arm"),
		SignificantColumn("gross_median", "Gross median", "J", "all that the GPUs drew between the start of the request and its last content"),
		SignificantColumn("net_median", "Net median", "J", "gross less what the GPUs draw at rest in that time"),
		SignificantColumn("mean", "Gross mean", "J", "an arm's mean: errors of single answers even out"),
		SignificantColumn("power", "Power", "W", "gross energy / time, both summed"),
		PercentColumn("uncertainty", "Uncertainty", "of one answer's energy: one tick of the counter, relative, median"),
		CountColumn("low_confidence", "Low confidence", "answers of fewer than ten ticks of the counter: use the block's energy"),
		TextColumn("method", "Method"), TextColumn("flags", "Flags"),
	}}
	any := false
	s := results.Section{Name: study + "-energy", Title: "Energy",
		Intro: "Energies come from the GPU's own counter where it has one that can be trusted, else from its power readings."}
	for _, c := range costs {
		n := 0
		var how []string
		for _, m := range []timing.Method{timing.ByCounter, timing.ByPower, timing.ByBoth} {
			if c.methods[m] > 0 {
				how = append(how, fmt.Sprintf("%s %d", m, c.methods[m]))
				n += c.methods[m]
			}
		}
		var flags []string
		for _, f := range slices.Sorted(keys(c.flags)) {
			flags = append(flags, fmt.Sprintf("%s %d", f, c.flags[f]))
		}
		any = any || n > 0
		t.Rows = append(t.Rows, []results.Cell{Text(c.Model), Text(c.Arm), Value(c.Gross), Value(c.Net), Value(c.Joules), Value(c.Power), Value(c.Uncertainty),
			Counted(c.low, n), Text(strings.Join(how, ", ")), Text(strings.Join(flags, ", "))})
		if n > 0 && 2*c.low > n {
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s, arm %s: %d of %d answers are too short for the GPU's counter (fewer than ten ticks): their single energies are uncertain, and the block's energy is the figure to use.", c.Model, c.Arm, c.low, n))
		}
		for _, why := range slices.Sorted(keys(c.unknown)) {
			t.Notes = append(t.Notes, fmt.Sprintf("%s, arm %s: %d answers have no energy: %s.", c.Model, c.Arm, c.unknown[why], why))
		}
	}
	b := blockTable(study, blocks)
	s.Tables = append(s.Tables, t)
	if len(b.Rows) > 0 {
		s.Tables = append(s.Tables, b)
	}
	return s, any || len(b.Rows) > 0
}

func keys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func blockTable(study string, blocks []results.Block) results.Table {
	t := results.Table{Name: study + "-blocks", Title: "Energy of whole blocks", Columns: []results.Column{
		TextColumn("model", "Model"), CountColumn("session", "Session", "one call of run"), TextColumn("part", "Part"), CountColumn("trials", "Requests", ""),
		SignificantColumn("gross", "Gross", "J", "from the first request's start to the last one's end, pauses included"),
		SignificantColumn("uncertainty", "±", "J", ""),
		SignificantColumn("busy", "Requests alone", "J", "with the devices at rest between requests"),
		CountColumn("ticks", "Ticks", "of the counter"), TextColumn("method", "Method"),
	}}
	for _, b := range blocks {
		if b.Study != study || b.Energy.Unknown != "" {
			continue
		}
		joules := func(v timing.Millijoules) results.Cell {
			j := float64(v) / 1000
			return Value(&results.Estimate{Value: &j, N: b.Energy.Trials})
		}
		busy := Value(&results.Estimate{Why: "the power at rest is not known"})
		if b.Busy != nil {
			busy = joules(*b.Busy)
		}
		t.Rows = append(t.Rows, []results.Cell{Text(b.Model), Counted(int(b.Session), 1), Text(strings.ToUpper(string(b.Part))), Counted(b.Energy.Trials, b.Energy.Trials),
			joules(b.Energy.Gross), joules(b.Energy.Uncertainty), busy, Counted(b.Energy.Ticks, b.Energy.Ticks), Text(string(b.Energy.Method))})
	}
	return t
}

// CostSection is GPU-hours, energy and money, per answer and projected to the
// full data set; false: not even times are known. It follows Score and Run.
func CostSection(study string, costs []*Costs, p Prices) (results.Section, bool) {
	cur := "money"
	if p.Cost != nil {
		cur = p.Cost.Currency
	}
	money := func(name, title, help string) results.Column { return SignificantColumn(name, title, cur, help) }
	per := results.Table{Name: study + "-cost", Title: "Cost per answer", Columns: []results.Column{
		TextColumn("model", "Model"), TextColumn("arm", "Arm"),
		SignificantColumn("gpu_seconds", "GPU time", "s", "GPU-seconds per trial: time x GPUs held"),
		SignificantColumn("gpu_seconds_per_correct", "GPU time per correct answer", "s", ""),
		SignificantColumn("gpu_seconds_per_step", "GPU time per correct step", "s", ""),
		SignificantColumn("joules", "Energy", "J", "gross, of the GPUs, per trial"),
		SignificantColumn("joules_per_correct", "Energy per correct answer", "J", ""),
		SignificantColumn("joules_per_step", "Energy per correct step", "J", ""),
		money("money", "Money", "GPU-hours x price + kWh x price, per trial"),
		money("money_per_correct", "Money per correct answer", ""), money("money_per_step", "Money per correct step", ""),
	}}
	full := results.Table{Name: study + "-projection", Title: "Cost of 1,000 items and of the full data set", Columns: []results.Column{
		TextColumn("model", "Model"), TextColumn("arm", "Arm"),
		SignificantColumn("gpu_hours_1000", "GPU-hours, 1,000 items", "h", ""),
		SignificantColumn("kwh_1000", "Energy, 1,000 items", "kWh", ""),
		money("money_1000", "Money, 1,000 items", ""),
		CountColumn("items", "Items of the full data set", ""),
		SignificantColumn("gpu_hours_full", "GPU-hours, full", "h", ""), SignificantColumn("kwh_full", "Energy, full", "kWh", ""), money("money_full", "Money, full", ""),
		TextColumn("energy_of", "Energy of"),
	}, Notes: []string{"Each item once per arm. Loading, warm-up, repeated trials and judging come on top."}}
	s := results.Section{Name: study + "-cost", Title: "Cost", Intro: p.words()}
	any, assumed := false, false
	for _, c := range costs {
		any, assumed = any || c.GPUSeconds.Value != nil, assumed || c.assumed
		per.Rows = append(per.Rows, []results.Cell{Text(c.Model), Text(c.Arm), Value(c.GPUSeconds), Value(c.PerCorrect), Value(c.PerStep),
			Value(c.Joules), Value(c.JoulesPerCorrect), Value(c.JoulesPerStep), Value(c.Money), Value(c.MoneyPerCorrect), Value(c.MoneyPerStep)})
		row := []results.Cell{Text(c.Model), Text(c.Arm), Value(times(c.GPUSeconds, 1000./3600)), Value(times(c.WattHours, 1)), Value(times(c.Money, 1000))}
		if p.Items > 0 {
			n := float64(p.Items)
			row = append(row, Counted(p.Items, p.Items), Value(times(c.GPUSeconds, n/3600)), Value(times(c.WattHours, n/1000)), Value(times(c.Money, n)))
		} else {
			none := Value(&results.Estimate{Why: "the size of the data set is not known"})
			row = append(row, none, none, none, none)
		}
		full.Rows = append(full.Rows, append(row, Text(c.paid)))
	}
	if assumed {
		per.Notes = append(per.Notes, "Where no GPU was watched, one is taken to be held.")
	}
	s.Tables = append(s.Tables, per, full)
	if p.Cost != nil && p.Cost.HostedInput != nil {
		t, notes := hosted(study, costs, p)
		s.Tables, s.Notes = append(s.Tables, t), append(s.Notes, notes...)
	}
	return s, any
}

// words says what the prices are.
func (p Prices) words() string {
	hour, ok := p.Cost.PerGPUHour()
	if !ok {
		return "No prices are given (cost: in bench.yaml), so there is no money here."
	}
	w := fmt.Sprintf("Prices: %s %s per GPU-hour", significant(hour), p.Cost.Currency)
	if p.Cost.GPUHour == nil {
		w += fmt.Sprintf(" (%s for a GPU that works %s hours)", significant(*p.Cost.GPUPrice), significant(*p.Cost.GPULifeHours))
	}
	switch kwh := p.Cost.KWh; {
	case kwh == nil:
		w += "; electricity is left out, since its price is not given."
	case *kwh == 0:
		w += "; electricity is included."
	default:
		w += fmt.Sprintf("; %s %s per kWh.", significant(*kwh), p.Cost.Currency)
	}
	return w
}

func significant(v float64) string { return stats.Significant(v, 4) }

// hosted compares with an API that is paid by the token.
func hosted(study string, costs []*Costs, p Prices) (results.Table, []string) {
	cur := p.Cost.Currency
	t := results.Table{Name: study + "-hosted", Title: "Against a hosted price", Columns: []results.Column{
		TextColumn("model", "Model"), TextColumn("arm", "Arm"),
		SignificantColumn("tokens", "Tokens per trial", "tokens", "prompt and answer, as the local server counts them"),
		SignificantColumn("here", "Here, 1,000 items", cur, ""), SignificantColumn("hosted", "Hosted, 1,000 items", cur, "the same tokens at the hosted price"),
		SignificantColumn("break_even", "Break-even", cur+"/Mtok", "the hosted price per million tokens at which both cost the same"),
	}, Notes: []string{fmt.Sprintf("Hosted prices: %s %s per million tokens of prompt, %s of answer. Hosted models count a picture's tokens in their own way.", significant(*p.Cost.HostedInput), cur, significant(*p.Cost.HostedOutput))}}
	var notes []string
	for _, c := range costs {
		even := &results.Estimate{Why: "tokens or money are not known", N: c.Money.N}
		if m, n := c.Money.Value, c.Tokens.Value; m != nil && n != nil && *n > 0 {
			v := *m / *n * 1e6
			even.Value, even.Why = &v, ""
		}
		t.Rows = append(t.Rows, []results.Cell{Text(c.Model), Text(c.Arm), Value(c.Tokens), Value(times(c.Money, 1000)), Value(times(c.Hosted, 1000)), Value(even)})
		if line := c.breakEven(p); line != "" {
			notes = append(notes, line)
		}
	}
	return t, notes
}

// breakEven says from when on local work is cheaper; "": not known.
func (c *Costs) breakEven(p Prices) string {
	if c.Hosted.Value == nil || c.Money.Value == nil {
		return ""
	}
	name, there := c.Model+", arm "+c.Arm, *c.Hosted.Value
	if p.Cost.GPUPrice == nil {
		here := *c.Money.Value
		if here < there {
			return fmt.Sprintf("%s: a trial here costs %s %s, hosted %s: local is cheaper.", name, significant(here), p.Cost.Currency, significant(there))
		}
		return fmt.Sprintf("%s: a trial here costs %s %s, hosted %s: hosted is cheaper.", name, significant(here), p.Cost.Currency, significant(there))
	}
	power := 0.
	if p.needsEnergy() && c.WattHours.Value != nil {
		power = *c.WattHours.Value / 1000 * *p.Cost.KWh
	}
	if power >= there {
		return fmt.Sprintf("%s: electricity alone costs %s %s a trial, hosted %s: the GPU is never paid for.", name, significant(power), p.Cost.Currency, significant(there))
	}
	n := *p.Cost.GPUPrice / (there - power)
	line := fmt.Sprintf("%s: the GPU is paid for after %s trials", name, stats.Significant(n, 3))
	if hours := n * *c.GPUSeconds.Value / 3600; p.Cost.GPULifeHours != nil && hours > *p.Cost.GPULifeHours {
		return line + fmt.Sprintf(", that is %s hours of work, which is longer than it lives.", stats.Significant(hours, 3))
	} else {
		return line + fmt.Sprintf(", that is %s hours of work.", stats.Significant(hours, 3))
	}
}
