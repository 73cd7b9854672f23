package agree

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/harness/judge"
	"assay/harness/study"
	"assay/results"
	"assay/results/stats"
	"assay/results/store"
)

// File is a file of ratings.
type File struct {
	Path    string
	Content []byte
}

// Sections computes how judges agree with people, for each study of a store that has
// ratings. keep is called with the manifest where answers were put into parts that
// the store does not have yet.
func Sections(ctx context.Context, st *store.Store, files []File, o Options, keep func(results.Manifest) error) ([]results.Section, results.Manifest, error) {
	man, ok, err := st.Manifest(ctx)
	if err != nil {
		return nil, man, err
	}
	if !ok {
		return nil, man, fmt.Errorf("the store holds no run; assay run makes one")
	}
	all, err := protocols(man)
	if err != nil {
		return nil, man, err
	}
	var given []judge.Rating
	var wrong []string
	for _, f := range files {
		list, err := judge.ReadRatings(f.Path, f.Content, readable(all))
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		given = append(given, list...)
	}
	if len(wrong) > 0 {
		return nil, man, &RefusedError{Why: strings.Join(wrong, "\n")}
	}
	var out []results.Section
	news := false
	for _, p := range all {
		joined, err := gather(ctx, st, man, p, given)
		if err != nil {
			return nil, man, err
		}
		d := &data{joined}
		if len(d.Units) == 0 {
			continue
		}
		if man.People == nil {
			man.People = &results.People{}
		}
		if man.People.Splits == nil {
			man.People.Splits = map[string]results.Split{}
		}
		s, more := d.Split(man.People.Splits[p.Name])
		man.People.Splits[p.Name] = s
		news = news || more
		draw := drawn(man, p.Name)
		var labels []results.Label
		if draw != nil {
			labels = labelsOf(d.set, draw)
			if man.People.Labels == nil {
				man.People.Labels = map[string][]results.Label{}
			}
			news = news || !slices.Equal(man.People.Labels[p.Name], labels)
			man.People.Labels[p.Name] = labels
		}
		secs := d.sections(o, correctedSection(d.set, draw, labels, kindOf))
		for i := range secs {
			secs[i].Study = p.Name
		}
		for _, f := range files {
			secs[0].Methods = append(secs[0].Methods, fmt.Sprintf("Ratings were read from %s (%s).", f.Path, results.DigestOf(f.Content).Short()))
		}
		out = append(out, secs...)
	}
	if len(out) == 0 {
		return nil, man, &RefusedError{Why: "the files rate no axis of a study of this store"}
	}
	if news {
		err = keep(man)
	}
	return out, man, err
}

func number(name, title, help string) results.Column {
	return results.Column{Name: name, Title: title, Digits: 3, Help: help}
}

func agreeText(s string) results.Cell { return study.Text(s) }

func value(e *results.Estimate) results.Cell { return study.Value(e) }

// count is a number of things.
func count(n int) results.Cell {
	v := float64(n)
	return results.Cell{Estimate: &results.Estimate{Value: &v, N: n}}
}

// p is a p-value as a cell.
func p(v *float64, n int, why string) results.Cell {
	if v != nil {
		why = ""
	}
	return results.Cell{Estimate: &results.Estimate{Value: v, N: n, Why: why}}
}

func (d *data) name(s string) string { return d.Name + "-agree-" + s }

// sections are all tables of one study.
func (d *data) sections(o Options, means results.Section) []results.Section {
	whole, choosing, checking := d.view("", o), d.view(dev, o), d.view(test, o)
	first := d.ordered(whole, choosing, checking)
	list := []results.Section{first, d.people(whole), d.chance(whole), d.gated(choosing, checking), means}
	if fit := d.Rating.Fit; fit != nil {
		scores, items := whole.people(fit.Axes)
		list = append(list, fit.Section(d.name("fit"), scores, items, d.Seed))
	}
	return list
}

// within says which axes enter a mean over axes through another alone.
func (d *data) within() string {
	var out strings.Builder
	for _, x := range d.Rating.Derived {
		if len(x.Within) > 0 {
			fmt.Fprintf(&out, "; %s enters it through %s", strings.Join(x.Within, " and "), x.Name)
		}
	}
	return out.String()
}

// judgeNames are the judges asked on any axis, in order.
func (d *data) judgeNames() []string {
	var out []string
	for _, a := range d.Axes {
		for _, j := range d.Judges[a.Name] {
			if !slices.Contains(out, j) {
				out = append(out, j)
			}
		}
	}
	return out
}

// ordered says how the order in which judges put answers agrees with the people's.
func (d *data) ordered(whole, choosing, checking *view) results.Section {
	main := results.Table{Name: d.name("tau"), Title: "Judges against people: Kendall's tau-b",
		Columns: []results.Column{study.TextColumn("judge", "Judge"), study.TextColumn("axis", "Axis"),
			number("tau", "Tau-b", "of the judge's scores and the consensus of the raters: the mean of each rater's ratings as z = (rating - mean) / SD; of all rated answers"),
			number("p", "p", "two-sided, of no association, with ties corrected for; exact without ties up to 33 answers; it takes answers as independent of each other"),
			number("p_holm", "p (Holm)", "adjusted for all judges and axes of this table"),
			number("p_bh", "p (BH)", "the same by Benjamini and Hochberg, who bound the share of false findings"),
			number("tau_crossed", "Crossed", "the same tau with clusters of items and raters drawn, each anew"),
			study.CountColumn("degenerate", "Degenerate", "draws of clusters and raters for which it does not exist"),
			number("tau_dev", "Dev", "of the answers that a judge is chosen by"), number("tau_test", "test", "of the others")},
		Notes: []string{"Of a rater whose ratings are all equal nothing is used. macro is the unweighted mean over axes" + d.within() + "."}}
	heat := []results.Figure{}
	var ps []*float64
	var ns []int
	type line struct {
		judge, axis string
		rest        []results.Cell
		tau         tau
	}
	var lines []line
	for _, j := range d.judgeNames() {
		for _, a := range d.Axes {
			if !slices.Contains(d.Judges[a.Name], j) {
				continue
			}
			t := whole.tau(whole.judged(a.Name, j), whole.consensus(a.Name))
			both, dropped := whole.crossed(a.Name, j)
			ps, ns = append(ps, t.p), append(ns, t.N)
			lines = append(lines, line{j, a.Name, []results.Cell{value(both), count(dropped),
				value(choosing.tau(choosing.judged(a.Name, j), choosing.consensus(a.Name)).Estimate),
				value(checking.tau(checking.judged(a.Name, j), checking.consensus(a.Name)).Estimate)}, t})
			if f, ok := d.heat(whole, a, j); ok {
				heat = append(heat, f)
			}
		}
	}
	holm, bh := stats.Holm(ps), stats.BenjaminiHochberg(ps)
	for i, l := range lines {
		why := "there is no tau"
		main.Rows = append(main.Rows, append([]results.Cell{agreeText(l.judge), agreeText(l.axis), value(l.tau.Estimate), p(ps[i], ns[i], why), p(holm[i], ns[i], why), p(bh[i], ns[i], why)}, l.rest...))
	}
	macro := results.Table{Name: d.name("macro"), Title: "Macro tau-b", Columns: []results.Column{study.TextColumn("judge", "Judge"),
		number("macro", "All", "mean of tau-b over axes"), number("macro_dev", "Dev", "the same, of the answers that a judge is chosen by"), number("macro_test", "test", "of the others"),
		number("behind", "Behind the best", "macro tau-b of all answers less that of the judge with the highest, with the same clusters drawn for both")}}
	best, top := "", -2.0
	all := map[string]*results.Estimate{}
	for _, j := range d.judgeNames() {
		all[j] = whole.macro(j)
		if v := all[j].Value; v != nil && *v > top {
			best, top = j, *v
		}
	}
	for _, j := range d.judgeNames() {
		behind := &results.Estimate{Why: "it is the best"}
		if j != best {
			behind = whole.difference(j, best)
		}
		main := []results.Cell{agreeText(j), value(all[j]), value(choosing.macro(j)), value(checking.macro(j)), value(behind)}
		macro.Rows = append(macro.Rows, main)
	}
	margin := 5.0
	same := results.Table{Name: d.name("level"), Title: "Do judges score as high as people?", Columns: []results.Column{study.TextColumn("judge", "Judge"), study.TextColumn("axis", "Axis"),
		{Name: "difference", Title: "Judge - people", Digits: 2, Help: "mean over answers of the judge's score less the raters' mean, of 100; interval: 90 %, Student's t over clusters"},
		number("p", "p (TOST)", fmt.Sprintf("of a difference of %g points and more, by two one-sided tests; below 0.05 judge and people are equivalent within it", margin))}}
	for _, j := range d.judgeNames() {
		for _, a := range d.Axes {
			if !slices.Contains(d.Judges[a.Name], j) {
				continue
			}
			e, n := whole.equivalence(a, j, margin)
			same.Rows = append(same.Rows, []results.Cell{agreeText(j), agreeText(a.Name), value(&results.Estimate{Value: e.Mean, Low: e.Low, High: e.High, N: n, Clusters: e.N, Why: string(e.Why)}), p(e.P, n, string(e.Why))})
		}
	}
	s := results.Section{Name: d.name("judges"), Title: "Judges and people (" + d.Name + ")", Figures: heat,
		Intro: fmt.Sprintf("%s rated %s of study %s. Does a judge put answers in the order in which they do? Half of the answers of each model and condition choose a judge (dev), the others say how good it is (test).",
			results.Count(len(d.Raters), "person", "people"), results.Count(len(d.Units), "answer", "answers"), d.Name),
		Methods: []string{fmt.Sprintf("Intervals are 95 %% bootstrap intervals over clusters (%s, B = %d): answers to one item, or to items that share images, are drawn together. With clusters and raters drawn, B = %d. Half of the rated answers of each model and condition were put into the part that a judge is chosen by, by chance (seed %d), and stay there.",
			map[bool]string{true: "bias-corrected and accelerated", false: "percentiles, expanded for few clusters"}[whole.BCa], whole.Draws, whole.drawCrossed().B, d.Seed)}}
	for _, t := range []results.Table{main, macro, same} {
		if len(t.Rows) > 0 {
			s.Tables = append(s.Tables, t)
		}
	}
	if len(lines) == 0 {
		s.Warnings = append(s.Warnings, "No judge was asked on an axis that people rated: only their agreement with each other can be told.")
	}
	places := func(list []string) string {
		const most = 5
		return strings.Join(list[:min(len(list), most)], ", ") + map[bool]string{true: ", ..."}[len(list) > most]
	}
	if n := len(d.Unknown); n > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%s of no answer of this store (%s): they count among people alone. Cases are named as assay people sample or assay judge --cases wrote them, texts as they were rated.",
			results.Count(n, "rating is", "ratings are"), places(d.Unknown)))
	}
	if len(d.Twice) > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("A text that stands more than once in a rater's file is one case with the mean of a rater's ratings of it (%s).", places(d.Twice)))
	}
	return s
}

// heat shows a judge's grades by those of people.
func (d *data) heat(v *view, a axis, judge string) (results.Figure, bool) {
	k := a.Grades()
	if k == 0 {
		return results.Figure{}, false
	}
	judged := v.judged(a.Name, judge)
	table := make([][]int, k)
	rows := make([]int, k)
	for g := range table {
		table[g] = make([]int, k)
	}
	n := 0
	for _, row := range v.human(a.Name) {
		for c, r := range row {
			if r.Given && judged[c].Given {
				g, h := int(r.Value-a.Low), int(judged[c].Value-a.Low+0.5)
				table[g][h]++
				rows[g]++
				n++
			}
		}
	}
	if n == 0 {
		return results.Figure{}, false
	}
	zero, hundred := 0.0, 100.0
	f := results.Figure{Name: strings.ToLower(d.name("heat-" + a.Name + "-" + judge)), Kind: results.FigureHeat, Title: fmt.Sprintf("%s by people and by %s", a.Name, judge),
		Caption: fmt.Sprintf("Of the ratings with a grade by people (rows), the share to which %s gave each grade (columns). Agreement lies on the diagonal. %d ratings.", judge, n),
		X:       results.Axis{Title: "Judge"}, Y: results.Axis{Title: "People"}, Z: results.Axis{Title: "Share", Unit: "%", Low: &zero, High: &hundred}}
	agreed := 0
	for g := range table {
		s := results.Series{Name: fmt.Sprint(int(a.Low) + g)}
		for h, m := range table[g] {
			e := &results.Estimate{N: rows[g], Why: "no rating"}
			if rows[g] > 0 {
				x := 100 * float64(m) / float64(rows[g])
				e = &results.Estimate{Value: &x, N: rows[g]}
			}
			s.Points = append(s.Points, results.Point{Label: fmt.Sprint(int(a.Low) + h), Y: e})
		}
		agreed += table[g][g]
		f.Series = append(f.Series, s)
	}
	f.Alt = fmt.Sprintf("On %s, %s gives the same grade as a person in %d of %d ratings.", a.Name, judge, agreed, n)
	return f, true
}

// people says how they agree with each other, and each with judges.
func (d *data) people(v *view) results.Section {
	ceiling := results.Table{Name: d.name("ceiling"), Title: "Each rater against the others",
		Columns: []results.Column{study.TextColumn("axis", "Axis"), study.TextColumn("rater", "Rater"),
			number("left_out", "Others", "tau-b of the rater and the consensus of the others: what a judge can be expected to reach"),
			study.CountColumn("rated", "Rated", "answers that the rater rated"), study.CountColumn("repeats", "Repeats", "answers that the rater rated again"),
			study.PercentColumn("same_again", "Same again", "ratings of repeats that are equal to the first"),
			number("kappa_again", "Kappa again", "quadratic kappa of first and second rating")}}
	bars := results.Figure{Name: d.name("left-out"), Kind: results.FigureDots, Title: "Agreement with the others' consensus",
		Caption: "Tau-b of each rater with the consensus of the other raters, and of each judge with that of all. Intervals: 95 %, clusters of items drawn.",
		X:       results.Axis{Title: "Tau-b"}}
	again := results.Figure{Name: d.name("again"), Kind: results.FigureDots, Title: "The same answer rated again",
		Caption: "Share of repeats that a rater rated as the first time, with Wilson's 95 % CI over clusters.", X: results.Axis{Title: "Same rating", Unit: "%"}}
	kappas := results.Table{Name: d.name("kappa"), Title: "Judges against each rater",
		Columns: []results.Column{study.TextColumn("judge", "Judge"), study.TextColumn("axis", "Axis"), study.TextColumn("rater", "Rater"),
			number("tau", "Tau-b", "of the judge's scores and the rater's ratings"),
			number("kappa", "Kappa", "Cohen's, every difference of grades weighing the same"), number("kappa_linear", "Linear", "weighed by the distance of grades"),
			number("kappa_quadratic", "Quadratic", "by its square"), number("alpha", "Alpha", "Krippendorff's, ordinal, of the two"), number("ac1", "AC1", "Gwet's, of the two"),
			study.TextColumn("rater_shares", "Rater's grades"), study.TextColumn("judge_shares", "Judge's grades")},
		Notes: []string{"Grades are shares in per cent of each grade, lowest first: where one grade has nearly all, kappa is low however often two agree."}}
	var spoken []string
	for _, a := range d.Axes {
		s := results.Series{Name: a.Name}
		repeated := results.Series{Name: a.Name}
		for i, t := range v.ceiling(a.Name) {
			rater := d.Raters[i]
			rated := 0
			for _, r := range v.human(a.Name)[i] {
				if r.Given {
					rated++
				}
			}
			if rated == 0 {
				continue
			}
			pairs := d.Again[a.Name][rater]
			share, kappa := repeats(a, pairs)
			ceiling.Rows = append(ceiling.Rows, []results.Cell{agreeText(a.Name), agreeText(rater), value(t.Estimate), count(rated), count(len(pairs)), value(share), value(kappa)})
			if t.Value != nil {
				s.Points = append(s.Points, results.Point{Label: rater, X: t.Estimate})
			}
			if share.Value != nil {
				repeated.Points = append(repeated.Points, results.Point{Label: rater, X: share})
			}
		}
		for _, j := range d.Judges[a.Name] {
			judged := v.judged(a.Name, j)
			if t := v.tau(judged, v.consensus(a.Name)); t.Value != nil {
				s.Points = append(s.Points, results.Point{Label: "judge " + j, X: t.Estimate})
			}
			for i, rater := range d.Raters {
				row := v.human(a.Name)[i]
				two := stats.Ratings{row, judged}
				t := v.tau(judged, row)
				if t.N == 0 {
					continue
				}
				ac1 := &results.Estimate{N: t.N, Why: "the axis has no grades"}
				if a.Grades() > 0 {
					ac1 = v.pair(two, a.Grades(), func(p *stats.Panel) stats.PanelStat { return p.AC1 })
				}
				kappas.Rows = append(kappas.Rows, []results.Cell{agreeText(j), agreeText(a.Name), agreeText(rater), value(t.Estimate),
					value(v.kappa(a, row, judged, stats.Plain)), value(v.kappa(a, row, judged, stats.Linear)), value(v.kappa(a, row, judged, stats.Quadratic)),
					value(v.pair(two, a.Grades(), func(p *stats.Panel) stats.PanelStat { return p.Alpha(stats.Ordinal) })), value(ac1), agreeText(shares(a, row, judged)), agreeText(shares(a, judged, row))})
			}
		}
		if len(s.Points) > 0 {
			bars.Series = append(bars.Series, s)
			spoken = append(spoken, fmt.Sprintf("%s: %s", a.Name, extremes(s)))
		}
		if len(repeated.Points) > 0 {
			again.Series = append(again.Series, repeated)
		}
	}
	s := results.Section{Name: d.name("people"), Title: "People among themselves", Tables: []results.Table{ceiling}}
	if len(kappas.Rows) > 0 {
		s.Tables = append(s.Tables, kappas)
	}
	if len(bars.Series) > 0 {
		bars.Alt = "Tau-b with the consensus. " + strings.Join(spoken, "; ") + "."
		s.Figures = append(s.Figures, bars)
	}
	if len(again.Series) > 0 {
		again.Alt = "How often raters gave a repeated answer the same rating."
		s.Figures = append(s.Figures, again)
	}
	return s
}

func extremes(s results.Series) string {
	least, most := s.Points[0], s.Points[0]
	for _, p := range s.Points {
		if *p.X.Value < *least.X.Value {
			least = p
		}
		if *p.X.Value > *most.X.Value {
			most = p
		}
	}
	return fmt.Sprintf("least %s (%s), most %s (%s)", stats.Fixed(*least.X.Value, 2), least.Label, stats.Fixed(*most.X.Value, 2), most.Label)
}

// repeats is how first and second ratings agree.
func repeats(a axis, pairs []repeat) (share, kappa *results.Estimate) {
	n := len(pairs)
	if n == 0 {
		none := results.Estimate{Why: "nothing was rated again"}
		return &none, &none
	}
	of := stats.ClustersOf(n, func(i int) string { return pairs[i].Cluster })
	same, all := make([]float64, n), make([]float64, n) // by cluster
	table := make([][]int, max(a.Grades(), 1))
	for i := range table {
		table[i] = make([]int, len(table))
	}
	for i, p := range pairs {
		all[of[i]]++
		if p.First == p.Second {
			same[of[i]]++
		}
		if a.Grades() > 0 {
			table[int(p.First-a.Low)][int(p.Second-a.Low)]++
		}
	}
	share = percentOf(stats.ShareOf(same, all))
	kappa = &results.Estimate{N: n}
	if k, why := stats.Kappa(table, stats.Quadratic); why != "" {
		kappa.Why = string(why)
	} else {
		kappa.Value = &k
	}
	return share, kappa
}

// shares are how often each grade was given, to the answers that others graded, too.
func shares(a axis, row []stats.Rating, others ...[]stats.Rating) string {
	k := a.Grades()
	if k == 0 {
		return "no grades"
	}
	by, n := make([]int, k), 0
	for i, r := range row {
		if r.Given && !slices.ContainsFunc(others, func(o []stats.Rating) bool { return !o[i].Given }) {
			by[min(k-1, max(0, int(r.Value-a.Low+0.5)))]++
			n++
		}
	}
	var out []string
	for _, m := range by {
		s, _ := stats.Percent(float64(m), float64(n), 0)
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// chance says how often people agree beyond chance, by coefficients that mean
// different things by it.
func (d *data) chance(v *view) results.Section {
	t := results.Table{Name: d.name("chance"), Title: "Agreement beyond chance",
		Columns: []results.Column{study.TextColumn("axis", "Axis"), study.TextColumn("among", "Among"), study.TextColumn("coefficient", "Coefficient"),
			number("agreement", "Value", "1: always; 0: as by chance; intervals draw clusters of items"), number("crossed", "Crossed", "the same with clusters and raters drawn"),
			study.CountColumn("degenerate", "Degenerate", "draws of clusters and raters for which it does not exist"),
			study.TextColumn("grades", "Grades")},
		Notes: []string{"Fleiss' kappa needs the same number of ratings of every answer; alpha and AC1 do not. A rater who was drawn twice is not compared with himself. Grades are shares in per cent of each grade, lowest first."}}
	for _, a := range d.Axes {
		r := v.human(a.Name)
		var levels, by []string
		_, s := stats.NewPanel(r, 0).Shares()
		for _, x := range s {
			by = append(by, stats.Fixed(100*x, 0))
		}
		if a.Grades() > 0 {
			var all []stats.Rating
			for _, row := range r {
				all = append(all, row...)
			}
			levels = []string{shares(a, all)}
		} else {
			levels = []string{fmt.Sprintf("%d values", len(by))}
		}
		kinds := []struct {
			name string
			of   func(*stats.Panel) stats.PanelStat
		}{
			{"alpha, interval", func(p *stats.Panel) stats.PanelStat { return p.Alpha(stats.Interval) }},
		}
		if a.Grades() > 0 {
			kinds = append([]struct {
				name string
				of   func(*stats.Panel) stats.PanelStat
			}{
				{"Fleiss' kappa", func(p *stats.Panel) stats.PanelStat { return p.Fleiss }},
				{"alpha, nominal", func(p *stats.Panel) stats.PanelStat { return p.Alpha(stats.Nominal) }},
				{"alpha, ordinal", func(p *stats.Panel) stats.PanelStat { return p.Alpha(stats.Ordinal) }},
			}, append(kinds, struct {
				name string
				of   func(*stats.Panel) stats.PanelStat
			}{"AC1", func(p *stats.Panel) stats.PanelStat { return p.AC1 }})...)
		}
		for _, k := range kinds {
			one, crossed, dropped := v.panel(a.Name, a.Grades(), k.of)
			t.Rows = append(t.Rows, []results.Cell{agreeText(a.Name), agreeText("people"), agreeText(k.name), value(one), value(crossed), count(dropped), agreeText(levels[0])})
		}
	}
	return results.Section{Name: d.name("chance"), Title: "Agreement beyond chance", Tables: []results.Table{t}}
}

// alarms says what counts as a false alarm.
func (d *data) alarms() string {
	a := d.Rating.Alarm
	if a.Axis == "" {
		return "no axis of this study has alarms"
	}
	return fmt.Sprintf("sham answers with a %[1]s of %[2]g or more / sham answers with a %[1]s; limit 5 %%", a.Axis, a.From)
}

// gated says which judges pass the gates, and which one is selected.
func (d *data) gated(choosing, checking *view) results.Section {
	percents := func(name, title, help string) results.Column { return study.PercentColumn(name, title, help) }
	t := results.Table{Name: d.name("gates"), Title: "Gates",
		Columns: []results.Column{study.TextColumn("judge", "Judge"), study.TextColumn("axis", "Axis"),
			percents("sham_claims", "Sham", d.alarms()), percents("parse", "Parse", "replies that are not JSON; limit 0"),
			percents("schema", "Schema", "replies of another shape; limit 1 %"), percents("evidence", "Evidence", "replies with a quote that is not in the text; limit 1 %"),
			percents("invalid", "Invalid", "the three together; limit 2 %"), percents("abstain", "Abstained", "limit 2 %"),
			percents("coverage", "Cov", "1 - abstained - invalid"), percents("validity", "Val", "1 - invalid / (1 - abstained)"),
			study.TextColumn("point", "Point"), study.TextColumn("bootstrap_upper", "Bootstrap upper"), study.TextColumn("wilson_upper", "Wilson upper")},
		Notes: []string{"Of all judgments in the store. Point compares the rate itself with its limit, the others its upper 95 % bound: of the percentile bootstrap, and Wilson's, both over clusters. A limit of 0 is always judged on the count. Intervals are Wilson's over clusters: judgments of one item, or of items that share images, count together."}}
	share := func(r rate, why string) *results.Estimate {
		e := percentOf(stats.ShareOf(r.hits, r.answers))
		if e.N == 0 {
			e.Why = why
		}
		return e
	}
	rules := policies(choosing.draw())
	selection := map[string][]candidate{}
	for _, j := range d.judgeNames() {
		sum := tallies{}
		row := func(axis string, by tallies) {
			const none = "no judgments"
			shams := "no sham answers"
			if a := d.Rating.Alarm.Axis; a == "" {
				shams = d.alarms()
			} else if axis != "macro" && axis != a {
				shams = "false alarms are of the axis " + a + " alone"
			}
			list := by.All()
			gates := gatesOf(list)
			others, alarmed := gates[:len(gates)-1], gates[len(gates)-1]
			usable := func(t tally) int { return t.N - t.Invalid() - t.Abstained }
			coverage := rateOf(list, func(t tally) (int, int) { return usable(t), t.N })
			validity := rateOf(list, func(t tally) (int, int) { return usable(t), t.N - t.Abstained })
			cells := []results.Cell{agreeText(j), agreeText(axis), value(share(alarmed.rate, shams))}
			for _, g := range others {
				cells = append(cells, value(share(g.rate, none)))
			}
			cells = append(cells, value(share(coverage, none)), value(share(validity, "every judgment abstains")))
			if axis != "macro" && axis != d.Rating.Alarm.Axis {
				gates = others // false alarms are of one axis
			}
			for _, p := range rules {
				out, which := through(gates, p)
				cells = append(cells, agreeText(outcomeWords(out, which)))
				if axis == "macro" {
					alarms, cov := 2.0, 0.0
					if k, n := alarmed.counts(); n > 0 {
						alarms = float64(k) / float64(n)
					}
					if k, n := coverage.counts(); n > 0 {
						cov = float64(k) / float64(n)
					}
					selection[p.Name] = append(selection[p.Name], candidate{Name: j, Tau: choosing.macro(j).Value, Outcome: out, Open: which, Coverage: cov, Alarms: alarms})
				}
			}
			t.Rows = append(t.Rows, cells)
		}
		for _, a := range d.protocol.Axes {
			k := d.Verdicts[j][a.Name]
			if k == nil {
				continue
			}
			sum.Join(k)
			row(a.Name, k)
		}
		row("macro", sum)
	}
	pick := results.Table{Name: d.name("selection"), Title: "Which judge to use",
		Columns: []results.Column{study.TextColumn("policy", "Policy"), study.TextColumn("judge", "Judge"), number("macro_dev", "Macro (dev)", "by which it was chosen"),
			number("macro_test", "Macro (test)", "how good it is: of answers that did not choose it"), study.TextColumn("reason", "Why")}}
	for _, p := range rules {
		list := selection[p.Name]
		best := choose(list)
		if best == nil {
			pick.Rows = append(pick.Rows, []results.Cell{agreeText(p.Name), agreeText("none"), value(&results.Estimate{Why: "no judge was selected"}), value(&results.Estimate{Why: "no judge was selected"}), agreeText(reasonOf(list, nil))})
			continue
		}
		pick.Rows = append(pick.Rows, []results.Cell{agreeText(p.Name), agreeText(best.Name), value(choosing.macro(best.Name)), value(checking.macro(best.Name)), agreeText(reasonOf(list, best))})
	}
	s := results.Section{Name: d.name("gates"), Title: "May a judge be used?", Tables: []results.Table{t, pick}}
	if len(t.Rows) == 0 {
		s.Tables, s.Intro = nil, "No judge was asked."
	}
	return s
}
