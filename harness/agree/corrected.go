package agree

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/harness/study"
	"assay/results"
	"assay/results/stats"
)

// cell is what means are taken over.
type cell struct{ model, arm, condition string }

// corrected is a judged mean of a cell, plain and corrected by labels.
type corrected struct {
	cell
	axis, judge string
	plain       *results.Estimate
	people      *results.Estimate // of the labels alone
	ppi         *results.Estimate
	lambda      *results.Estimate
	rogan       *results.Estimate // binary axes
}

// everything stands for every arm and condition of a model.
const everything = "all"

func (c cell) has(k results.Key) bool {
	return c.model == k.Model && (c.arm == everything && c.condition == everything || c.arm == k.Arm && c.condition == k.Condition)
}

// itemKind says what an item is among strata of a kind.
type itemKind func(it results.Item, by string) string

// graded are people's grades of answers that were drawn: of an answer on an axis the mean
// over raters, as scores of 0..1.
type graded map[labelled]results.Label

type labelled struct{ name, axis string }

// labelsOf takes them from ratings that were read, in the order of the drawn cases.
func labelsOf(d *set, draw *results.Draw) (out []results.Label) {
	unit := map[results.Key]int{}
	for i, u := range d.Units {
		unit[u.Key] = i
	}
	for _, c := range draw.Cases {
		i, ok := unit[c.Key]
		if !ok {
			continue
		}
		for _, a := range d.Axes {
			var s float64
			n := 0
			for _, row := range d.Human[a.Name] {
				if row[i].Given {
					s, n = s+a.Unit(row[i].Value), n+1
				}
			}
			if n > 0 {
				out = append(out, results.Label{Case: c.Case, Axis: a.Name, Score: s / float64(n), Raters: n})
			}
		}
	}
	return out
}

// gradedOf finds labels.
func gradedOf(list []results.Label) graded {
	l := graded{}
	for _, x := range list {
		l[labelled{x.Case, x.Axis}] = x
	}
	return l
}

// drawn is the draw whose labels correct means; nil: nothing was drawn.
func drawn(man results.Manifest, study string) *results.Draw {
	if man.People == nil {
		return nil
	}
	for i := len(man.People.Draws) - 1; i >= 0; i-- {
		if d := &man.People.Draws[i]; d.Study == study {
			return d
		}
	}
	return nil
}

// drawing is what means are corrected by.
type drawing struct {
	*set
	*results.Draw
	kind   itemKind
	labels graded
	names  map[results.Key]string // cases of answers that were drawn
}

// correct corrects each judged mean of the cells that were drawn. unrated counts answers
// that were drawn and have no label.
func (d *drawing) correct() (out []corrected, unrated int) {
	var cells []cell
	graded := map[string]bool{}
	for at := range d.labels {
		graded[at.name] = true
	}
	for _, c := range d.Cases {
		d.names[c.Key] = c.Case
		at := cell{c.Key.Model, c.Key.Arm, c.Key.Condition}
		if d.Within > 0 { // few of each, and enough of all together
			at = cell{c.Key.Model, everything, everything}
		}
		if !slices.Contains(cells, at) {
			cells = append(cells, at)
		}
		if !graded[c.Case] {
			unrated++
		}
	}
	slices.SortFunc(cells, func(a, b cell) int {
		return slices.Compare([]string{a.model, a.arm, a.condition}, []string{b.model, b.arm, b.condition})
	})
	for _, a := range d.protocol.Axes {
		if !slices.ContainsFunc(d.Cases, func(c results.Drawn) bool { _, ok := d.label(a, c.Key); return ok }) {
			continue
		}
		for _, j := range d.Judges[a.Name] {
			for _, c := range cells {
				if x := d.cell(a, j, c); x.plain.N > 0 {
					out = append(out, x)
				}
			}
		}
	}
	return out, unrated
}

// label is people's mean grade of an answer; false: it was not drawn, or nobody rated it.
func (d *drawing) label(a axis, k results.Key) (float64, bool) {
	name, ok := d.names[k]
	if !ok {
		return 0, false
	}
	l, ok := d.labels[labelled{name, a.Name}]
	return l.Score, ok
}

// several is an item's mean of several answers.
type several struct{ sum, n float64 }

func (v *several) add(x float64) { v.sum, v.n = v.sum+x, v.n+1 }

func (d *drawing) cell(a axis, judge string, c cell) corrected {
	out := corrected{cell: c, axis: a.Name, judge: judge}
	type item struct { // or one answer to it, where answers were drawn
		stratum     string
		drawn       bool
		judged, own several // by the judge, by people
		missing     bool    // of a drawn answer one of the two
	}
	items := map[string]*item{}
	var order, asked []string
	for _, ans := range d.Answers {
		if !c.has(ans.Key) {
			continue
		}
		unit := ans.Key.Item
		if d.Within > 0 { // an answer has the same probability as any other of the stratum, an item has not
			unit = ans.Key.Name()
		}
		it := items[unit]
		if it == nil {
			it = &item{stratum: d.kind(ans.Item, d.By)}
			items[unit] = it
			order, asked = append(order, unit), append(asked, ans.Key.Item)
		}
		f, judged := ans.Judge[a.Name][judge]
		if judged {
			it.judged.add(f)
		}
		if _, drawn := d.names[ans.Key]; drawn {
			it.drawn = true
			y, rated := d.label(a, ans.Key)
			if rated {
				it.own.add(y)
			}
			it.missing = it.missing || !rated || !judged
		}
	}
	of := map[string]int{} // cluster, by item
	for i, c := range stats.ClustersOf(len(order), func(i int) string { return d.Cluster(asked[i]) }) {
		of[order[i]] = c
	}
	var strata []stats.Stratum
	var people []stats.Stratum
	plain, judged := make([]float64, len(order)), make([]float64, len(order)) // by cluster
	counts := yesNo{whole: true}
	clusters := map[int]bool{} // with a label
	total, left := 0, 0
	for _, s := range d.Strata {
		x := stats.Stratum{}
		n := 0
		for _, id := range order {
			it := items[id]
			if it.stratum != s.Name || it.judged.n == 0 && it.own.n == 0 {
				continue
			}
			n++
			if it.judged.n > 0 {
				plain[of[id]] += it.judged.sum / it.judged.n
				judged[of[id]]++
			}
			switch {
			case it.drawn && it.missing:
				left++
			case it.drawn:
				x.Labels, x.Judged = append(x.Labels, it.own.sum/it.own.n), append(x.Judged, it.judged.sum/it.judged.n)
				x.LabelOf = append(x.LabelOf, of[id])
				clusters[of[id]] = true
				counts.label(it.own.sum/it.own.n, it.judged.sum/it.judged.n, of[id])
			case it.judged.n > 0:
				x.Unlabelled = append(x.Unlabelled, it.judged.sum/it.judged.n)
				x.OtherOf = append(x.OtherOf, of[id])
				counts.judge(it.judged.sum/it.judged.n, of[id])
			}
		}
		if n == 0 {
			continue
		}
		x.Share = float64(n)
		total += n
		strata = append(strata, x)
	}
	for i := range strata {
		strata[i].Share /= float64(total)
		people = append(people, stats.Stratum{Share: strata[i].Share, Labels: strata[i].Labels, Judged: strata[i].Judged, LabelOf: strata[i].LabelOf})
	}
	out.plain = percentOf(stats.ShareOf(plain, judged))
	classical := stats.Correct(people, stats.FixedWeight(0))
	out.people = percent(classical.Value, classical.Low, classical.High, classical.Labels, string(classical.Why))
	ppi := stats.Correct(strata, stats.CrossFitted)
	out.ppi = percent(ppi.Value, ppi.Low, ppi.High, ppi.Labels+ppi.Judged, string(ppi.Why))
	out.people.Invalid, out.ppi.Invalid = left, left
	out.people.Clusters, out.ppi.Clusters = len(clusters), len(slices.Compact(slices.Sorted(maps.Values(of))))
	out.lambda = &results.Estimate{N: ppi.Labels, Why: string(ppi.Why)}
	if len(ppi.Lambda) == len(strata) && ppi.Value != nil {
		var l float64
		for i, x := range ppi.Lambda {
			l += strata[i].Share * x
		}
		out.lambda.Value, out.lambda.Why = &l, ""
	}
	out.rogan = &results.Estimate{Why: "the axis is not binary"}
	switch {
	case a.Grades() != 2:
	case len(strata) > 1:
		out.rogan = &results.Estimate{Why: fmt.Sprintf("the items were drawn within %d strata: draw them with --by none", len(strata))}
	case !counts.whole:
		out.rogan = &results.Estimate{Why: "an item's raters, or its repeats, are not of one mind"}
	default:
		p := estimatePrevalence(counts.cases)
		out.rogan = percent(p.Value, p.Low, p.High, len(counts.cases), string(p.Why))
		out.rogan.Clusters = out.ppi.Clusters
	}
	return out
}

// yesNo is items that are 0 or 1.
type yesNo struct {
	cases []judgedCase
	whole bool // all are
}

func (b *yesNo) judge(f float64, cluster int) {
	b.whole = b.whole && (f == 0 || f == 1)
	b.cases = append(b.cases, judgedCase{Called: f == 1, Cluster: cluster})
}

func (b *yesNo) label(y, f float64, cluster int) {
	b.judge(f, cluster)
	b.whole = b.whole && (y == 0 || y == 1)
	b.cases[len(b.cases)-1].Label = new(y == 1)
}

// percent is an estimate of 0..1 as one of 0..100.
func percent(v, low, high *float64, n int, why string) *results.Estimate {
	e := &results.Estimate{N: n, Why: why}
	for _, x := range []struct{ from, to **float64 }{{&v, &e.Value}, {&low, &e.Low}, {&high, &e.High}} {
		if *x.from != nil {
			y := 100 * **x.from
			*x.to = &y
		}
	}
	return e
}

// percentOf is a share as an estimate of 0..100.
func percentOf(s stats.Share) *results.Estimate {
	e := percent(s.P, s.Low, s.High, int(s.N), string(s.Why))
	e.Clusters = s.Clusters
	return e
}

// refused is the section of a study whose means are not corrected, with the reason.
func refused(study, why string) results.Section {
	return results.Section{Study: study, Name: study + "-agree-corrected", Title: "Judged means, corrected by people", Intro: "No mean is corrected: " + why + "."}
}

// uncorrected is refused where people were asked: a reader is told.
func uncorrected(study, why string) results.Section {
	s := refused(study, why)
	s.Warnings = []string{s.Title + ": none is (study " + study + "), " + why + "."}
	return s
}

// notDrawn and notRated are why labels correct nothing.
const (
	notDrawn = "the answers that were rated were not drawn at random by assay people sample, so nobody knows with which probability each of them came to be rated"
	notRated = "none of the answers that were drawn has a rating"
)

// correctedSection is judged means beside what they are when labels correct them. Labels of cases
// that were not drawn by chance correct nothing: draw nil.
func correctedSection(data *set, draw *results.Draw, labels []results.Label, kind itemKind) results.Section {
	if draw == nil {
		return uncorrected(data.Name, notDrawn)
	}
	d := &drawing{data, draw, kind, gradedOf(labels), map[results.Key]string{}}
	list, unrated := d.correct()
	if unrated == len(draw.Cases) {
		return uncorrected(data.Name, notRated)
	}
	s := refused(data.Name, "")
	s.Intro = ""
	score := func(name, title, help string) results.Column {
		return results.Column{Name: name, Title: title, Digits: 2, Help: help}
	}
	t := results.Table{Name: s.Name, Title: "Judged means, plain and corrected",
		Columns: []results.Column{study.TextColumn("axis", "Axis"), study.TextColumn("judge", "Judge"), study.TextColumn("model", "Model"), study.TextColumn("arm", "Arm"), study.TextColumn("condition", "Condition"),
			score("judged", "Judged", "the judge's mean over all items, of 100"), score("people", "People", "the mean of the labels alone: Student's t over clusters"),
			score("corrected", "Corrected", "PPI++: lambda mean of the others + mean of (label - lambda score) of the labelled, by stratum; n is labelled and other items"),
			{Name: "lambda", Title: "Lambda", Digits: 3, Help: "how much of the judge enters: 0 none; cross-fitted, mean over labels"},
			score("rogan_gladen", "Rogan-Gladen", "of binary axes: (share + specificity - 1) / (sensitivity + specificity - 1); its interval is that of the profile likelihood, widened by what clusters add to the variance")},
		Notes: []string{"Items are drawn whole: no item has a label and counts among the others. Strata are combined by their share of the items. Variances are over clusters: items that share images."}}
	if draw.Within > 0 {
		t.Notes = []string{"Items are drawn, then answers to them: means are over answers, of all arms and conditions of a model, as few of each were drawn. Strata are combined by their share of the answers. Variances are over clusters: answers to one item, and items that share images."}
	}
	for _, c := range list {
		t.Rows = append(t.Rows, []results.Cell{study.Text(c.axis), study.Text(c.judge), study.Text(c.model), study.Text(c.arm), study.Text(c.condition), study.Value(c.plain), study.Value(c.people), study.Value(c.ppi), study.Value(c.lambda), study.Value(c.rogan)})
	}
	var drawn []string
	for _, x := range draw.Strata {
		name := x.Name
		if name == "" {
			name = "all items"
		}
		drawn = append(drawn, fmt.Sprintf("%s: %d of %d (probability %s)", name, x.Drawn, x.Items, stats.Fixed(x.Probability(), 3)))
	}
	s.Methods = []string{fmt.Sprintf("Items to be labelled were drawn at random within strata by %s (seed %d): %s.", draw.By, draw.Seed, strings.Join(drawn, "; "))}
	if draw.Within > 0 {
		s.Methods[0] += fmt.Sprintf(" Of the answers to these items %d were drawn, each with probability %s.", len(draw.Cases), stats.Fixed(draw.Within, 3))
	}
	if unrated > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%d of %d answers that were drawn have no rating: if those are harder than the others, corrected means are off.", unrated, len(draw.Cases)))
	}
	s.Tables, s.Main = []results.Table{t}, []string{t.Name}
	return s
}
