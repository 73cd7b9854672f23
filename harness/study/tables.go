package study

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"assay/results"
	"assay/results/stats"
	"assay/timing"
)

// energies are the measures of what the GPUs drew for an answer.
func (b *Basis) energies() []measure {
	median := func(m results.Column, why string, v func(*Account) number) measure {
		return measure{Column: m, of: func(a *Account) *results.Estimate {
			if no := a.noGross(); no != "" {
				return a.none(no)
			}
			return a.quantiles(ofAnswers, why, v(a), .5)[0]
		}}
	}
	column := func(q quantity) func(*Account) number { return func(a *Account) number { return a.column(q) } }
	joules := func(name, title, help string) results.Column {
		c := SignificantColumn(name, title, "J", help)
		c.Doubt = "uncertainty"
		return c
	}
	return []measure{
		median(joules("gross_median", "Gross median", "all that the GPUs drew between the start of the request and its last content"), noEnergy, column(gross)),
		median(joules("net_median", "Net median", "gross less what the GPUs draw at rest in that time"), "the power at rest is not known", column(net)),
		{Column: joules("mean", "Gross mean", "an arm's mean: errors of single answers even out"), of: func(a *Account) *results.Estimate { return a.Estimate("joules") }},
		{Column: SignificantColumn("power", "Power", "W", "gross energy / time, both summed"), of: func(a *Account) *results.Estimate {
			return a.ratio(ofTrials, noEnergy, a.column(gross), a.column(busy))
		}},
		median(PercentColumn("uncertainty", "± within the card", "of one answer's gross energy, median: when the device was looked at, and how its sensor repeats itself; for comparing arms, conditions and models on one GPU"),
			noEnergy, func(a *Account) number { return func(i int) float64 { return 100 * a.columns[inexact][i] } }),
		median(PercentColumn("absolute", "± absolute", "the same with the gain and offset of the sensor: for joules as such, money, another machine"), noAbsolute, func(a *Account) number {
			return func(i int) float64 {
				if g := a.columns[gross][i]; g > 0 {
					return 100 * a.columns[absolute][i] / g
				}
				return math.NaN()
			}
		}),
		{Column: CountColumn("low_confidence", "Low confidence", "answers of fewer than ten ticks of the counter: use the block's energy"), cell: func(a *Account) results.Cell { return Counted(a.low, a.measured()) }},
		{Column: TextColumn("method", "Method"), cell: func(a *Account) results.Cell {
			var how []string
			for _, m := range []timing.Method{timing.ByCounter, timing.ByPower, timing.ByBoth} {
				if a.methods[m] > 0 {
					how = append(how, fmt.Sprintf("%s %d", m, a.methods[m]))
				}
			}
			return Text(strings.Join(how, ", "))
		}},
		{Column: TextColumn("flags", "Flags"), cell: func(a *Account) results.Cell {
			var flags []string
			for _, f := range slices.Sorted(maps.Keys(a.odd)) {
				flags = append(flags, fmt.Sprintf("%s %d", f, a.odd[f]))
			}
			return Text(strings.Join(flags, ", "))
		}},
	}
}

// measured is how many answers have an energy.
func (a *Account) measured() (n int) {
	for _, k := range a.methods {
		n += k
	}
	return n
}

// EnergySection is the energies of answers and of blocks; false: nothing was
// watched. It follows Score and Run.
func (b *Basis) EnergySection(accounts []*Account) (results.Section, bool) {
	t := accountTable(b.Study+"-energy", "Energy of the GPUs per answer", accounts, b.energies())
	any := false
	s := results.Section{Name: b.Study + "-energy", Title: "Energy",
		Intro: "Energies come from the GPU's own counter where it has one that can be trusted, else from its power readings."}
	if b.Together {
		s.Intro += " " + togetherWords
	}
	var short shortOnes
	for _, a := range accounts {
		any = any || a.measured() > 0
		short.add(a, a.measured())
		for _, why := range slices.Sorted(maps.Keys(a.unknown)) {
			t.Notes = append(t.Notes, fmt.Sprintf("%s, arm %s: %d answers have no energy: %s.", a.Model, a.Arm, a.unknown[why], why))
		}
	}
	s.Methods = b.Methods(accounts)
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

func (s *shortOnes) add(c *Account, known int) {
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
	return fmt.Sprintf("%s: %d of %d answers of %s are too short for the GPU's energy counter (fewer than ten ticks). Use the energy of whole blocks, not of single answers.", who, s.low, s.all, name)
}

func (b *Basis) blockTable() results.Table {
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
func (b *Basis) CostSection(accounts []*Account) (results.Section, bool) {
	name, p := b.Study, b.Prices
	per := accountTable(name+"-cost", "Cost per answer", accounts, b.costs())
	full := accountTable(name+"-projection", "Cost of 1,000 items and of the full data set", accounts, b.projections())
	full.Notes = []string{"Each item as often as here: under every condition, in every repeat. A trial that failed counts as one that takes what others do. Loading, warm-up, times taken again and judging come on top."}
	if p.NeedsEnergy() {
		per.Notes = append(per.Notes, "Money rests on the answers whose GPU time and energy are both known; each part stands beside, over the answers of which that part is known.")
	}
	s := results.Section{Name: name + "-cost", Title: "Cost", Intro: wordsOf(p)}
	if b.Together {
		s.Intro += " " + togetherWords
	}
	any, assumed, unattributed := false, false, false
	for _, a := range accounts {
		any, assumed, unattributed = any || a.Estimate("gpu_seconds").Value != nil, assumed || a.assumed, unattributed || a.unattributed > 0
	}
	if assumed {
		per.Notes = append(per.Notes, "Where no GPU was watched, one is taken to be held.")
	}
	if unattributed {
		per.Notes = append(per.Notes, "Answers whose share of the time is not known are left out: they ran beside others in a session that was not measured.")
	}
	per.Notes, full.Notes = append(per.Notes, p.Building()...), append(full.Notes, p.Building()...)
	s.Tables = append(s.Tables, per, full)
	if hosted := b.hostedPrices(); len(hosted) > 0 {
		t := accountTable(name+"-hosted", "Against a hosted price", accounts, hosted)
		t.Notes = append(t.Notes, fmt.Sprintf("Hosted prices: %s %s per million tokens of prompt, %s of answer. Hosted models count image tokens in their own way.", costSignificant(*p.Cost.HostedInput), p.Cost.Currency, costSignificant(*p.Cost.HostedOutput)))
		if !b.Together {
			t.Notes = append(t.Notes, "Here one request at a time is answered, as timed trials need; a GPU that answers several at once costs less a trial.")
		}
		t.Notes = append(t.Notes, p.Building()...)
		for _, a := range accounts {
			if line := a.breakEven(); line != "" {
				s.Notes = append(s.Notes, line)
			}
		}
		s.Tables = append(s.Tables, t)
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
func (a *Account) breakEven() string {
	p, hosted, money := a.basis.Prices, a.Estimate("hosted_each"), a.Estimate("money")
	if hosted.Value == nil || money.Value == nil {
		return ""
	}
	name, there := a.Model+", arm "+a.Arm, *hosted.Value
	if p.Cost.GPUPrice == nil {
		cheaper := "hosted"
		if *money.Value < there {
			cheaper = "local"
		}
		return fmt.Sprintf("%s: a trial here costs %s %s, hosted %s: %s is cheaper.", name, costSignificant(*money.Value), p.Cost.Currency, costSignificant(there), cheaper)
	}
	power := 0.
	if wh := a.Estimate("wh"); p.NeedsEnergy() && wh.Value != nil {
		power = *wh.Value / 1000 * p.Cost.PerKWh()
	}
	if power >= there {
		return fmt.Sprintf("%s: electricity alone costs %s %s a trial, hosted %s: the GPU is never paid for.", name, costSignificant(power), p.Cost.Currency, costSignificant(there))
	}
	after := a.Estimate("paid_after")
	if after.Value == nil {
		return ""
	}
	n := *after.Value
	line := fmt.Sprintf("%s: the GPU is paid for after %s trials", name, many(n))
	seconds := a.Estimate("gpu_seconds")
	if seconds.Value == nil {
		return line + "."
	}
	hours := n * *seconds.Value / 3600
	line += fmt.Sprintf(", that is %s hours of work", stats.Significant(hours, 3))
	if p.Cost.GPULifeHours != nil && hours > *p.Cost.GPULifeHours {
		return line + ", which is longer than it lives."
	}
	return line + "."
}
