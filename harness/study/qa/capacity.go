package qa

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
	"assay/results/stats"
)

// level is what one model's arm did at one level.
type level struct {
	inFlight int
	mean     *results.Estimate // in flight
	answers  int
	arm      *study.Account    // nil: nothing is stored under it
	rate     *results.Estimate // answers/s
	tokens   *results.Estimate // tokens/s
	joules   *results.Estimate // an answer
	money    *results.Estimate // an answer
	co2      *results.Estimate // g an answer; nil: emissions are not told
	goodput  *results.Estimate // answers/s
	// powerless says that money is that of GPU time alone: the energy that has a price is not known.
	powerless bool
}

// line is a model's arm over the levels.
type line struct {
	model, arm string
	levels     []*level
	knee       int // index; -1: not known
}

// capacitySection is the table and the figures of a load sweep; false: the study has none. It
// follows Run.
func capacitySection(b study.Basis, r *score.Run, arms []string) (results.Section, bool) {
	if len(b.Levels) == 0 {
		return results.Section{}, false
	}
	slo := b.Manifest.Study(b.Study).SLO
	var lines []line
	var apart []string
	for _, m := range r.Models {
		if over := b.Spread[m.Name]; over != "" {
			apart = append(apart, fmt.Sprintf("The load sweep of %s went over %s. Each made a load of its own, and what all of them did together is the rate of no server: make the sweep on one of them, or report each part's store alone.", m.Name, over))
			continue
		}
		for _, arm := range arms {
			if l, ok := lineOf(b, m, arm, slo.Any()); ok {
				lines = append(lines, l)
			}
		}
	}
	cur := cmp.Or(b.Currency(), "money")
	s := results.Section{Name: b.Study + "-load", Title: "Load",
		Intro: "The same items with more and more requests in flight: how much does the server answer, how long does an answer take, and what does it cost? " +
			"Rates are of the time in which the level was kept and a request was on the wire: from the first request to the moment when the last one was sent.",
		Tables: capacityTables(b.Study, lines, cur, study.Limits(slo), b.Prices.Building()), First: true}
	s.Warnings = apart
	for _, l := range lines {
		s.Notes = append(s.Notes, l.words())
	}
	for _, f := range []struct {
		name, title, unit string
		of                func(*level) *results.Estimate
	}{
		{"throughput", "Tokens a second", "tokens/s", func(l *level) *results.Estimate { return l.tokens }},
		{"latency", "Time of an answer (median)", "s", func(l *level) *results.Estimate { return l.of("latency_median") }},
		{"joules", "Energy of an answer", "J", func(l *level) *results.Estimate { return l.joules }},
		{"money", "Money of an answer", cur, func(l *level) *results.Estimate { return l.money }},
	} {
		s.Figures = append(s.Figures, capacityFigure(b.Study+"-load-"+f.name, f.title, f.unit, lines, f.of)...)
	}
	s.Main = study.NamesOf(s)
	return s, true
}

func lineOf(b study.Basis, m *score.Model, arm string, limited bool) (line, bool) {
	out := line{model: m.Name, arm: arm, knee: -1}
	all := study.Collected(m.Extra)
	conditions := slices.SortedFunc(maps.Keys(b.Levels), func(x, y string) int { return b.Levels[x] - b.Levels[y] })
	any := false
	var rates []*results.Estimate
	for _, c := range conditions {
		l := &level{inFlight: b.Levels[c], arm: all.Find(study.LevelName(arm, b.Levels[c]))}
		any = any || l.arm != nil
		l.fill(b, m.Name, arm, c, limited)
		out.levels = append(out.levels, l)
		rates = append(rates, l.tokens)
	}
	if slices.ContainsFunc(rates, func(e *results.Estimate) bool { return e.Value == nil }) {
		for i, l := range out.levels {
			rates[i] = l.rate
		}
	}
	if k, ok := results.Knee(rates); ok {
		out.knee = k
	}
	return out, any
}

// fill adds up what sessions stored of a level.
func (l *level) fill(b study.Basis, model, arm, condition string, limited bool) {
	var all []results.Stretch
	devices := map[int]bool{}
	sum, weight := 0., 0.
	for _, x := range b.Blocks {
		if x.Study != b.Study || x.Model != model || x.Part != results.PartGPU {
			continue
		}
		for _, ld := range x.Loads {
			if ld.Arm != arm || ld.Condition != condition {
				continue
			}
			all = append(all, ld.Stretches...)
			l.answers += ld.Answers
			kept := 0.
			for _, part := range ld.Stretches {
				kept += part.Took.Seconds()
			}
			sum, weight = sum+ld.Mean*kept, weight+kept
			if ld.Devices != nil {
				devices[*ld.Devices] = true
			}
		}
	}
	l.mean = &results.Estimate{N: l.answers, Why: "the level was not kept for as long as one answer takes"}
	if weight > 0 {
		l.mean.Value, l.mean.Why = new(sum/weight), ""
	}
	const noTokens, noJoules = "the server does not count the tokens of every answer", "what the GPUs drew is not known for all of the time"
	l.rate = results.Rate(all, "", func(s results.Stretch) (float64, float64, bool) { return float64(s.Answers), s.Took.Seconds(), true })
	l.tokens = results.Rate(all, noTokens, func(s results.Stretch) (float64, float64, bool) {
		if s.Tokens == nil {
			return 0, 0, false
		}
		return float64(*s.Tokens), s.Took.Seconds(), true
	})
	l.joules = results.Rate(all, noJoules, func(s results.Stretch) (float64, float64, bool) {
		if s.Joules == nil {
			return 0, 0, false
		}
		return *s.Joules, float64(s.Answers), true
	})
	held := 1. // where none was watched, one is taken to be held
	for n := range devices {
		held = float64(n)
	}
	price := b.Prices.Money
	if l.powerless = b.Prices.NeedsEnergy() && slices.ContainsFunc(all, func(s results.Stretch) bool { return s.Joules == nil }); l.powerless {
		price = func(gpuSeconds, _ *float64) (float64, bool) { return b.Prices.GPUMoney(gpuSeconds) }
	}
	l.money = results.Rate(all, "no price of a GPU-hour is given, or how many GPUs were held is not known", func(s results.Stretch) (float64, float64, bool) {
		m, ok := price(new(s.Took.Seconds()*held), s.Joules)
		return m, float64(s.Answers), ok && len(devices) < 2
	})
	l.powerless = l.powerless && l.money.Value != nil
	if _, told := b.Prices.Cost.Grams(0); told {
		l.co2 = results.Rate(all, noJoules, func(s results.Stretch) (float64, float64, bool) {
			if s.Joules == nil {
				return 0, 0, false
			}
			g, _ := b.Prices.Cost.Grams(*s.Joules)
			return g, float64(s.Answers), true
		})
	}
	l.goodput = &results.Estimate{Why: "one request in flight"}
	if limited && l.inFlight > 1 && l.arm != nil {
		l.goodput = times(l.rate, l.arm.Estimate("slo_met")) // of answers, as the rate is: failures are in neither
	}
}

// times is a rate times a share in per cent, with what is unsure of both.
func times(rate, share *results.Estimate) *results.Estimate {
	if rate.Value == nil || share.Value == nil {
		return &results.Estimate{Why: "the rate or the share within the limits is not known"}
	}
	v := *rate.Value * *share.Value / 100
	e := &results.Estimate{Value: &v, N: share.N, Undefined: share.Undefined}
	if rate.Low == nil || share.Low == nil {
		return e
	}
	end := func(r, s float64) float64 {
		return math.Hypot((r-*rate.Value)**share.Value/100, (s-*share.Value)/100**rate.Value)
	}
	low, high := v-end(*rate.Low, *share.Low), v+end(*rate.High, *share.High)
	e.Low, e.High = &low, &high
	return e
}

// of is a measure of what is stored under the level.
func (l *level) of(measure string) *results.Estimate {
	if l.arm == nil {
		return &results.Estimate{Why: "nothing is stored under this level"}
	}
	return l.arm.Estimate(measure)
}

// capacityTables are what a sweep found, and how its levels were kept.
func capacityTables(name string, lines []line, currency, limits string, building []string) []results.Table {
	keys := []results.Column{study.TextColumn("model", "Model"), study.TextColumn("arm", "Arm"), study.TextColumn("in_flight", "In flight")}
	s := func(name, title, help string) results.Column {
		return results.Column{Name: name, Title: title, Unit: "s", Digits: 3, Help: help}
	}
	found := results.Table{Name: name + "-load", Title: "Answers by load", Columns: append(slices.Clone(keys),
		study.TextColumn("knee", "Knee"),
		study.SignificantColumn("answers_per_s", "Answers", "1/s", "while the level was kept; the interval is that of a ratio over up to 20 stretches of that time"),
		study.SignificantColumn("tokens_per_s", "Tokens", "tokens/s", "of answers, likewise"),
		s("ttft_median", "TTFT p50", "median of first content - start of the request"), s("ttft_p95", "TTFT p95", "95th percentile"),
		s("latency_median", "T p50", "median of last content - start of the request"), s("latency_p95", "T p95", "95th percentile"),
	), Notes: append([]string{fmt.Sprintf("The knee is the smallest level whose tokens (answers, where tokens are not counted) a second may be %.0f %% of the greatest: whose interval reaches that. More requests in flight bring little beyond it, and make each wait longer.", 100*results.KneeShare)}, building...)}
	kept := results.Table{Name: name + "-load-kept", Title: "How each level was kept", Columns: append(slices.Clone(keys),
		study.SignificantColumn("mean_in_flight", "In flight, mean", "", "requests on the wire, mean over the time in which the level was kept"),
		study.CountColumn("answers", "Answers", ""))}
	if limits != "" {
		found.Columns = append(found.Columns, study.PercentColumn("slo_share", "Within SLO", "share of trials within "+limits))
		kept.Columns = append(kept.Columns, study.SignificantColumn("goodput", "Goodput", "1/s", "answers a second x the share of answers within "+limits+"; above one in flight"))
	}
	found.Columns = append(found.Columns,
		study.PerColumn("joules", "Energy", "J", "answers", "gross, drawn while the level was kept / answers in that time"),
		study.PerColumn("money", "Money", currency, "answers", "that time x GPUs held x price, and energy x price, / answers in it"))
	co2 := slices.ContainsFunc(lines, func(l line) bool { return slices.ContainsFunc(l.levels, func(x *level) bool { return x.co2 != nil }) })
	if co2 {
		kept.Columns = append(kept.Columns, study.PerColumn("gco2", "CO2", "g", "answers", "energy x PUE x g of CO2 per kWh, / answers in that time"))
	}
	for _, l := range lines {
		for i, x := range l.levels {
			key := []results.Cell{study.Text(l.model), study.Text(l.arm), study.Text(fmt.Sprint(x.inFlight))}
			row := append(slices.Clone(key), study.Text(l.named(i)), study.Value(x.rate), study.Value(x.tokens), study.Value(x.of("ttft_median")), study.Value(x.of("ttft_p95")), study.Value(x.of("latency_median")), study.Value(x.of("latency_p95")))
			more := append(key, study.Value(x.mean), study.Counted(x.answers, x.answers))
			if limits != "" {
				row, more = append(row, study.Value(x.of("slo_share"))), append(more, study.Value(x.goodput))
			}
			if co2 {
				more = append(more, study.Value(x.co2))
			}
			found.Rows = append(found.Rows, append(row, study.Value(x.joules), study.Value(x.money)))
			kept.Rows = append(kept.Rows, more)
		}
		if slices.ContainsFunc(l.levels, func(x *level) bool { return x.powerless }) {
			found.Notes = append(found.Notes, fmt.Sprintf("%s, arm %s: money is that of GPU time alone, because what the GPUs drew is not known; electricity comes on top.", l.model, l.arm))
		}
	}
	return []results.Table{found, kept}
}

// named is what a level is called that is the knee; "": it is not.
func (l line) named(i int) string {
	switch {
	case i != l.knee:
		return ""
	case l.open():
		return "knee here or beyond"
	}
	return "knee"
}

// open says that the rate still grows at the greatest level.
func (l line) open() bool { return l.knee == len(l.levels)-1 }

// words say what a sweep found.
func (l line) words() string {
	who := l.model + ", arm " + l.arm
	if l.knee < 0 {
		return who + ": the rate is not known at every level, so no knee is named."
	}
	k, last := l.levels[l.knee], l.levels[len(l.levels)-1]
	told := func(e *results.Estimate, unit string) string {
		if e == nil || e.Value == nil {
			return "unknown " + unit
		}
		return stats.Significant(*e.Value, 3) + " " + unit
	}
	if l.open() {
		return fmt.Sprintf("%s: the rate still grows at the greatest level, %d in flight (%s): the knee lies there or beyond.", who, last.inFlight, told(last.tokens, "tokens/s"))
	}
	return fmt.Sprintf("%s: the knee is at %d in flight (%s, %s s an answer); with %d it is %s and %s s.", who, k.inFlight,
		told(k.tokens, "tokens/s"), strings.TrimSuffix(told(k.of("latency_median"), ""), " "), last.inFlight, told(last.tokens, "tokens/s"), strings.TrimSuffix(told(last.of("latency_median"), ""), " "))
}

// capacityFigure is a quantity over the levels, with the knees; nil: it is not known anywhere.
func capacityFigure(name, title, unit string, lines []line, of func(*level) *results.Estimate) []results.Figure {
	f := results.Figure{Name: name, Kind: results.FigureLines, Title: title + " by load", Caption: "Bars are 95 % CIs. The knee is the smallest level whose rate may be 95 % of the greatest.",
		X: results.Axis{Title: "Requests in flight", Log: true}, Y: results.Axis{Title: title, Unit: unit, Low: new(0.)}}
	var words []string
	knees := map[int][]string{}
	any := false
	for _, l := range lines {
		s := results.Series{Name: l.model + ", " + l.arm}
		var said []string
		for _, x := range l.levels {
			e, n := of(x), float64(x.inFlight)
			if e.Value == nil {
				continue
			}
			any = true
			s.Points = append(s.Points, results.Point{X: &results.Estimate{Value: &n}, Y: e})
			said = append(said, fmt.Sprintf("%s at %d", stats.Significant(*e.Value, 3), x.inFlight))
		}
		f.Series = append(f.Series, s)
		if l.knee >= 0 && !l.open() {
			n := l.levels[l.knee].inFlight
			knees[n] = append(knees[n], s.Name)
			said = append(said, fmt.Sprintf("knee at %d", n))
		}
		words = append(words, s.Name+": "+strings.Join(said, ", "))
	}
	for _, n := range slices.Sorted(maps.Keys(knees)) {
		text := "knee"
		if len(lines) > 1 {
			text = "knee: " + strings.Join(knees[n], "; ")
		}
		f.X.Marks = append(f.X.Marks, results.Mark{At: float64(n), Text: text})
	}
	if !any {
		return nil
	}
	f.Alt = title + " in " + unit + " by requests in flight. " + strings.Join(words, "; ") + "."
	return []results.Figure{f}
}
