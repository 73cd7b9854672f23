package study

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/results"
	"assay/results/stats"
	"assay/timing"
)

// EnergySection is the energies of answers and of blocks; false: nothing was
// watched. It follows Score and Run.
func (b Basis) EnergySection(costs []*Costs) (results.Section, bool) {
	t := results.Table{Name: b.Study + "-energy", Title: "Energy of the GPUs per answer", Columns: []results.Column{
		TextColumn("model", "Model"), TextColumn("arm", "Arm"),
		SignificantColumn("gross_median", "Gross median", "J", "all that the GPUs drew between the start of the request and its last content"),
		SignificantColumn("net_median", "Net median", "J", "gross less what the GPUs draw at rest in that time"),
		SignificantColumn("mean", "Gross mean", "J", "an arm's mean: errors of single answers even out"),
		SignificantColumn("power", "Power", "W", "gross energy / time, both summed"),
		PercentColumn("uncertainty", "± within the card", "of one answer's gross energy, median: when the device was looked at, and how its sensor repeats itself; for comparing arms, conditions and models on one GPU"),
		PercentColumn("absolute", "± absolute", "the same with the gain and offset of the sensor: for joules as such, money, another machine"),
		CountColumn("low_confidence", "Low confidence", "answers of fewer than ten ticks of the counter: use the block's energy"),
		TextColumn("method", "Method"), TextColumn("flags", "Flags"),
	}}
	for j := 2; j < 5; j++ { // power is of all answers together
		t.Columns[j].Doubt = "uncertainty"
	}
	any := false
	s := results.Section{Name: b.Study + "-energy", Title: "Energy",
		Intro: "Energies come from the GPU's own counter where it has one that can be trusted, else from its power readings."}
	if b.Together {
		s.Intro += " " + togetherWords
	}
	var short shortOnes
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
		t.Rows = append(t.Rows, []results.Cell{Text(c.Model), Text(c.Arm), Value(c.Gross), Value(c.Net), Value(c.Joules), Value(c.Power), Value(c.Uncertainty), Value(c.Absolute),
			Counted(c.low, n), Text(strings.Join(how, ", ")), Text(strings.Join(flags, ", "))})
		short.add(c, n)
		for _, why := range slices.Sorted(keys(c.unknown)) {
			t.Notes = append(t.Notes, fmt.Sprintf("%s, arm %s: %d answers have no energy: %s.", c.Model, c.Arm, c.unknown[why], why))
		}
	}
	s.Methods = b.Methods(costs)
	if w := short.warning(b.Study); w != "" {
		s.Warnings = append(s.Warnings, w)
	}
	s.Tables = append(s.Tables, t)
	blocks := b.blockTable()
	if len(blocks.Rows) > 0 {
		s.Tables = append(s.Tables, blocks)
	}
	return s, any || len(blocks.Rows) > 0
}

const togetherWords = "Requests ran beside each other: at every moment the time and the energy of the GPUs are divided equally among the requests on the wire. " +
	"A sum over many answers is what was drawn; a single answer's figure is a share, and none of its own. " +
	"With fewer requests at a time, or more, the same answers take another time and energy."

// shortOnes collects the arms most of whose answers are too short for a counter.
type shortOnes struct {
	arms     map[string][]string // by model
	models   []string
	others   int // arms with energies of which that is not so
	low, all int
}

func (s *shortOnes) add(c *Costs, known int) {
	switch {
	case known == 0:
		return
	case 2*c.low <= known:
		s.others++
		return
	}
	if s.arms == nil {
		s.arms = map[string][]string{}
	}
	if s.arms[c.Model] == nil {
		s.models = append(s.models, c.Model)
	}
	s.arms[c.Model] = append(s.arms[c.Model], c.Arm)
	s.low, s.all = s.low+c.low, s.all+known
}

// warning says it once for all of them; "": there are none.
func (s *shortOnes) warning(name string) string {
	if len(s.models) == 0 {
		return ""
	}
	who := "All models and arms"
	if s.others > 0 {
		var parts []string
		for _, m := range s.models {
			parts = append(parts, fmt.Sprintf("%s (%s)", m, strings.Join(s.arms[m], ", ")))
		}
		who = strings.Join(parts, ", ")
	}
	return fmt.Sprintf("%s: %d of %d answers of %s are too short for the GPU's counter (fewer than ten ticks): their single energies are uncertain, and the block's energy is the figure to use.", who, s.low, s.all, name)
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

func (b Basis) blockTable() results.Table {
	t := results.Table{Name: b.Study + "-blocks", Title: "Energy of whole blocks", Columns: []results.Column{
		TextColumn("model", "Model"), results.Column{Name: "session", Title: "Session", Help: "one call of run"}, TextColumn("part", "Part"), CountColumn("trials", "Requests", ""),
		SignificantColumn("gross", "Gross", "J", "from the first request's start to the last one's end, pauses included"),
		SignificantColumn("uncertainty", "± within the card", "J", "without the gain and offset of the sensor"),
		SignificantColumn("absolute", "± absolute", "J", "with them"),
		SignificantColumn("busy", "Requests alone", "J", "with the devices at rest between requests"),
		SignificantColumn("between", "Above rest between", "J", "drawn above rest between requests, as while power falls after one: requests alone less their sum as measured one by one"),
		CountColumn("ticks", "Ticks", "of the counter"), TextColumn("method", "Method"),
		TextColumn("sensor", "Sensor"),
	}}
	for _, x := range b.Blocks {
		if x.Study != b.Study || x.Energy.Unknown != "" {
			continue
		}
		joules := func(v timing.Millijoules) results.Cell {
			return Value(&results.Estimate{Value: new(float64(v) / 1000), N: x.Energy.Trials})
		}
		absolute := Value(&results.Estimate{Why: noAbsolute})
		if x.Energy.Absolute != nil {
			absolute = joules(*x.Energy.Absolute)
		}
		busy := Value(&results.Estimate{Why: "the power at rest is not known"})
		if x.Busy != nil {
			busy = joules(*x.Busy)
		}
		between := Value(&results.Estimate{Why: "the power at rest or a request's energy is not known"})
		if x.Busy != nil && x.Answers != nil {
			between = joules(0)
			if !stats.Same(float64(*x.Busy), float64(*x.Answers)) {
				between = joules(*x.Busy - *x.Answers)
			}
		}
		t.Rows = append(t.Rows, []results.Cell{Text(x.Model), Text(fmt.Sprint(x.Session)), Text(strings.ToUpper(string(x.Part))), Counted(x.Energy.Trials, x.Energy.Trials),
			joules(x.Energy.Gross), joules(x.Energy.Uncertainty), absolute, busy, between, Counted(x.Energy.Ticks, x.Energy.Ticks), Text(string(x.Energy.Method)), Text(x.Energy.Sensor)})
	}
	return t
}

// CostSection is GPU-hours, energy and money, per answer and projected to the
// full data set; false: not even times are known. It follows Score and Run.
func (b Basis) CostSection(costs []*Costs) (results.Section, bool) {
	name, p, cur := b.Study, b.Prices, cmp.Or(b.Currency(), "money")
	money := func(name, title, help string) results.Column { return SignificantColumn(name, title, cur, help) }
	each := func(name, title, help string) results.Column {
		return PerColumn(name, title, cur, "answers", help)
	}
	held := "GPU-seconds per trial: time x GPUs held"
	if b.Together {
		held = "GPU-seconds per trial: its share of the time in which requests were on the wire x GPUs held"
	}
	type quantity struct {
		column results.Column
		each   func(*Costs) []*results.Estimate
	}
	quantities := []quantity{
		{PerColumn("gpu_seconds", "GPU time", "s", "answers", held), func(c *Costs) []*results.Estimate {
			return []*results.Estimate{c.GPUSeconds, c.PerCorrect, c.PerStep}
		}},
		{PerColumn("joules", "Energy", "J", "answers", "gross, of the GPUs, per trial"), func(c *Costs) []*results.Estimate {
			return []*results.Estimate{c.Joules, c.JoulesPerCorrect, c.JoulesPerStep}
		}},
		{each("money", "Money", "GPU-hours x price + kWh x price, per trial"), func(c *Costs) []*results.Estimate {
			return []*results.Estimate{c.Money, c.MoneyPerCorrect, c.MoneyPerStep}
		}},
	}
	parts := p.NeedsEnergy()
	if parts {
		quantities = append(quantities,
			quantity{each("money_gpu", "Money of GPU time", "GPU-hours x price, per trial"), func(c *Costs) []*results.Estimate { return c.GPUMoney[:] }},
			quantity{each("money_power", "Money of electricity", "kWh x price, per trial"), func(c *Costs) []*results.Estimate { return c.Electricity[:] }},
			quantity{each("money_absolute", "± of electricity, absolute", "what gain and offset of the sensors leave open of the money of electricity, beside the interval, which is of the items"), func(c *Costs) []*results.Estimate { return c.MoneyAbsolute[:] }})
	}
	per := results.Table{Name: name + "-cost", Title: "Cost per answer", Columns: []results.Column{TextColumn("model", "Model"), TextColumn("arm", "Arm")}}
	for _, q := range quantities {
		columns := []results.Column{q.column, q.column}
		columns[1].Name, columns[1].Title, columns[1].Help = q.column.Name+"_per_correct", q.column.Title+" per correct answer", ""
		columns[1].Per = "correct answers"
		if b.Steps {
			step := columns[1]
			step.Name, step.Title, step.Per = q.column.Name+"_per_step", q.column.Title+" per correct step", "correct steps"
			columns = append(columns, step)
		}
		per.Columns = append(per.Columns, columns...)
		for i, c := range costs {
			if len(per.Rows) == i {
				per.Rows = append(per.Rows, []results.Cell{Text(c.Model), Text(c.Arm)})
			}
			for _, e := range q.each(c)[:len(columns)] {
				per.Rows[i] = append(per.Rows[i], Value(e))
			}
		}
	}
	full := results.Table{Name: name + "-projection", Title: "Cost of 1,000 items and of the full data set", Columns: []results.Column{
		TextColumn("model", "Model"), TextColumn("arm", "Arm"),
		SignificantColumn("trials_per_item", "Trials per item", "", "stored trials / items: conditions and repeats"),
		SignificantColumn("gpu_hours_1000", "GPU-hours, 1,000 items", "h", ""),
		SignificantColumn("kwh_1000", "Energy, 1,000 items", "kWh", ""),
		money("money_1000", "Money, 1,000 items", ""),
		CountColumn("items", "Items of the full data set", ""),
		SignificantColumn("gpu_hours_full", "GPU-hours, full", "h", ""), SignificantColumn("kwh_full", "Energy, full", "kWh", ""), money("money_full", "Money, full", ""),
	}, Notes: []string{"Each item as often as here: under every condition, in every repeat. A trial that failed counts as one that takes what others do. Loading, warm-up, times taken again and judging come on top."}}
	if parts {
		full.Columns = append(full.Columns, money("money_gpu_1000", "Money of GPU time, 1,000 items", ""), money("money_power_1000", "Money of electricity, 1,000 items", ""),
			money("money_gpu_full", "Money of GPU time, full", ""), money("money_power_full", "Money of electricity, full", ""))
		per.Notes = append(per.Notes, "Money rests on the answers whose GPU time and energy are both known; each part stands beside, over the answers of which that part is known.")
	}
	perWh, emitted := p.Cost.Grams(3600)
	if emitted {
		per.Columns = append(per.Columns, PerColumn("gco2", "CO2", "g", "answers", "kWh of what is paid for x PUE x g of CO2 per kWh, per trial"))
		for i, c := range costs {
			per.Rows[i] = append(per.Rows[i], Value(times(c.WattHours, perWh)))
		}
		full.Columns = append(full.Columns, SignificantColumn("kgco2_1000", "CO2, 1,000 items", "kg", ""))
	}
	full.Columns = append(full.Columns, TextColumn("energy_of", "Energy of"))
	s := results.Section{Name: name + "-cost", Title: "Cost", Intro: wordsOf(p)}
	if b.Together {
		s.Intro += " " + togetherWords
	}
	any, assumed, unattributed := false, false, false
	for _, c := range costs {
		any, assumed, unattributed = any || c.GPUSeconds.Value != nil, assumed || c.assumed, unattributed || c.unattributed > 0
		row := []results.Cell{Text(c.Model), Text(c.Arm), Value(c.TrialsPerItem), Value(times(c.SecondsPerItem, 1000./3600)), Value(times(c.WattHoursPerItem, p.Cost.Building())), Value(times(c.MoneyPerItem, 1000))}
		none := Value(&results.Estimate{Why: "the size of the data set is not known"})
		n := float64(p.Items)
		if p.Items > 0 {
			row = append(row, Counted(p.Items, p.Items), Value(times(c.SecondsPerItem, n/3600)), Value(times(c.WattHoursPerItem, n/1000*p.Cost.Building())), Value(times(c.MoneyPerItem, n)))
		} else {
			row = append(row, none, none, none, none)
		}
		if parts {
			row = append(row, Value(times(c.GPUMoneyPerItem, 1000)), Value(times(c.ElectricityPerItem, 1000)))
			if p.Items > 0 {
				row = append(row, Value(times(c.GPUMoneyPerItem, n)), Value(times(c.ElectricityPerItem, n)))
			} else {
				row = append(row, none, none)
			}
		}
		if emitted {
			row = append(row, Value(times(c.WattHoursPerItem, perWh)))
		}
		full.Rows = append(full.Rows, append(row, Text(string(c.paid))))
	}
	if assumed {
		per.Notes = append(per.Notes, "Where no GPU was watched, one is taken to be held.")
	}
	if unattributed {
		per.Notes = append(per.Notes, "Answers whose share of the time is not known are left out: they ran beside others in a session that was not measured.")
	}
	per.Notes, full.Notes = append(per.Notes, p.Building()...), append(full.Notes, p.Building()...)
	s.Tables = append(s.Tables, per, full)
	if p.Cost != nil && p.Cost.HostedInput != nil {
		t, notes := b.hosted(costs)
		t.Notes = append(t.Notes, p.Building()...)
		s.Tables, s.Notes = append(s.Tables, t), append(s.Notes, notes...)
	}
	return s, any
}

// wordsOf says what the prices are.
func wordsOf(p Prices) string {
	hour, ok := p.Cost.PerGPUHour()
	if !ok {
		return "No prices are given (cost: in bench.yaml), so there is no money here."
	}
	w := fmt.Sprintf("Prices: %s %s per GPU-hour", costSignificant(hour), p.Cost.Currency)
	if p.Cost.GPUHour == nil {
		w += fmt.Sprintf(" (%s for a GPU that works %s hours)", costSignificant(*p.Cost.GPUPrice), costSignificant(*p.Cost.GPULifeHours))
	}
	switch kwh := p.Cost.KWh; {
	case kwh == nil:
		w += "; electricity is left out, since its price is not given."
	case *kwh == 0:
		w += "; electricity is included."
	default:
		w += fmt.Sprintf("; %s %s per kWh.", costSignificant(*kwh), p.Cost.Currency)
	}
	return w
}

func costSignificant(v float64) string { return significantTo(v, 4) }

func significantTo(v float64, digits int) string { return stats.Significant(v, digits) }

// hosted compares with an API that is paid by the token.
func (b Basis) hosted(costs []*Costs) (results.Table, []string) {
	name, p, cur := b.Study, b.Prices, b.Prices.Cost.Currency
	t := results.Table{Name: name + "-hosted", Title: "Against a hosted price", Columns: []results.Column{
		TextColumn("model", "Model"), TextColumn("arm", "Arm"),
		SignificantColumn("tokens", "Tokens per trial", "tokens", "prompt and answer, as the local server counts them"),
		SignificantColumn("here", "Here, 1,000 trials", cur, ""), SignificantColumn("hosted", "Hosted, 1,000 trials", cur, "the same tokens at the hosted price"),
		SignificantColumn("break_even", "Break-even", cur+"/Mtok", "the hosted price per million tokens at which both cost the same"),
	}, Notes: []string{fmt.Sprintf("Hosted prices: %s %s per million tokens of prompt, %s of answer. Hosted models count a picture's tokens in their own way.", costSignificant(*p.Cost.HostedInput), cur, costSignificant(*p.Cost.HostedOutput))}}
	if !b.Together {
		t.Notes = append(t.Notes, "Here one request at a time is answered, as timed trials need; a GPU that answers several at once costs less a trial.")
	}
	var notes []string
	for _, c := range costs {
		t.Rows = append(t.Rows, []results.Cell{Text(c.Model), Text(c.Arm), Value(c.Tokens), Value(times(c.Money, 1000)), Value(times(c.Hosted, 1000)), Value(c.PerMillion)})
		if line := c.breakEven(p); line != "" {
			notes = append(notes, line)
		}
	}
	return t, notes
}

// many is a number of trials in words.
func many(n float64) string {
	for _, unit := range []struct {
		of   float64
		name string
	}{{1e9, " billion"}, {1e6, " million"}, {1e3, " thousand"}} {
		if n >= max(1e4, unit.of) {
			return stats.Significant(n/unit.of, 3) + unit.name
		}
	}
	return stats.Significant(n, 3)
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
			return fmt.Sprintf("%s: a trial here costs %s %s, hosted %s: local is cheaper.", name, costSignificant(here), p.Cost.Currency, costSignificant(there))
		}
		return fmt.Sprintf("%s: a trial here costs %s %s, hosted %s: hosted is cheaper.", name, costSignificant(here), p.Cost.Currency, costSignificant(there))
	}
	power := 0.
	if p.NeedsEnergy() && c.WattHours.Value != nil {
		power = *c.WattHours.Value / 1000 * p.Cost.PerKWh()
	}
	if power >= there {
		return fmt.Sprintf("%s: electricity alone costs %s %s a trial, hosted %s: the GPU is never paid for.", name, costSignificant(power), p.Cost.Currency, costSignificant(there))
	}
	if c.PaidAfter.Value == nil {
		return ""
	}
	n := *c.PaidAfter.Value
	line := fmt.Sprintf("%s: the GPU is paid for after %s trials", name, many(n))
	if c.GPUSeconds.Value == nil {
		return line + "."
	}
	if hours := n * *c.GPUSeconds.Value / 3600; p.Cost.GPULifeHours != nil && hours > *p.Cost.GPULifeHours {
		return line + fmt.Sprintf(", that is %s hours of work, which is longer than it lives.", stats.Significant(hours, 3))
	} else {
		return line + fmt.Sprintf(", that is %s hours of work.", stats.Significant(hours, 3))
	}
}
