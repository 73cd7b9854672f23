package agree

import (
	"fmt"
	"slices"

	"assay/harness/agree/rated"
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

// latest is the draw whose labels correct means; nil: nothing was drawn.
func latest(man results.Manifest, study string) *results.Draw {
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

// correct corrects each judged mean of the cells that were drawn. refused says why none
// is: labels of cases that were not drawn by chance correct nothing. unrated counts
// answers that were drawn and have no rating.
func (d *data) correct(draw *results.Draw) (out []corrected, refused string, unrated int) {
	if draw == nil {
		return nil, "the answers that were rated were not drawn at random by assay rate sample, so nobody knows with which probability each of them came to be rated", 0
	}
	stratum := map[string]string{} // of drawn items
	drawn := map[results.Key]bool{}
	var cells []cell
	for _, c := range draw.Cases {
		stratum[c.Key.Item] = c.Stratum
		drawn[c.Key] = true
		if at := (cell{c.Key.Model, c.Key.Arm, c.Key.Condition}); !slices.Contains(cells, at) {
			cells = append(cells, at)
		}
	}
	slices.SortFunc(cells, func(a, b cell) int {
		return slices.Compare([]string{a.model, a.arm, a.condition}, []string{b.model, b.arm, b.condition})
	})
	unit := map[results.Key]int{}
	for i, u := range d.Units {
		unit[u.Key] = i
	}
	label := func(a rated.Axis, k results.Key) (float64, bool) {
		i, ok := unit[k]
		if !ok {
			return 0, false
		}
		var s, n float64
		for _, row := range d.Human[a.Name] {
			if row[i].Given {
				s, n = s+a.Unit(row[i].Value), n+1
			}
		}
		return s / n, n > 0
	}
	for k := range drawn {
		if !slices.ContainsFunc(d.Axes, func(a rated.Axis) bool { _, ok := label(a, k); return ok }) {
			unrated++
		}
	}
	if unrated == len(drawn) {
		return nil, "none of the answers that were drawn has a rating in these files", unrated
	}
	for _, a := range d.Axes {
		for _, j := range d.Judges[a.Name] {
			for _, c := range cells {
				if x := d.correctCell(a, j, c, draw, drawn, label); x.plain.N > 0 {
					out = append(out, x)
				}
			}
		}
	}
	return out, "", unrated
}

// several is an item's mean of several answers.
type several struct{ sum, n float64 }

func (v *several) add(x float64) { v.sum, v.n = v.sum+x, v.n+1 }

func (d *data) correctCell(a rated.Axis, judge string, c cell, draw *results.Draw, drawn map[results.Key]bool, label func(rated.Axis, results.Key) (float64, bool)) corrected {
	out := corrected{cell: c, axis: a.Name, judge: judge}
	type item struct {
		stratum     string
		drawn       bool
		judged, own several // by the judge, by people
		missing     bool    // of a drawn answer one of the two
	}
	items := map[string]*item{}
	var order []string
	for _, ans := range d.Answers {
		if (cell{ans.Key.Model, ans.Key.Arm, ans.Key.Condition}) != c {
			continue
		}
		it := items[ans.Key.Item]
		if it == nil {
			it = &item{stratum: kindOf(ans.Item, draw.By)}
			items[ans.Key.Item] = it
			order = append(order, ans.Key.Item)
		}
		f, judged := ans.Judge[a.Name][judge]
		if judged {
			it.judged.add(f)
		}
		if drawn[ans.Key] {
			it.drawn = true
			y, rated := label(a, ans.Key)
			if rated {
				it.own.add(y)
			}
			it.missing = it.missing || !rated || !judged
		}
	}
	var strata []stats.Stratum
	var people []stats.Stratum
	var plain []float64
	counts := yesNo{whole: true}
	total, left := 0, 0
	for _, s := range draw.Strata {
		x := stats.Stratum{}
		n := 0
		for _, id := range order {
			it := items[id]
			if it.stratum != s.Name || it.judged.n == 0 && it.own.n == 0 {
				continue
			}
			n++
			if it.judged.n > 0 {
				plain = append(plain, it.judged.sum/it.judged.n)
			}
			switch {
			case it.drawn && it.missing:
				left++
			case it.drawn:
				x.Labels, x.Judged = append(x.Labels, it.own.sum/it.own.n), append(x.Judged, it.judged.sum/it.judged.n)
				counts.label(it.own.sum/it.own.n, it.judged.sum/it.judged.n)
			case it.judged.n > 0:
				x.Unlabelled = append(x.Unlabelled, it.judged.sum/it.judged.n)
				counts.judge(it.judged.sum / it.judged.n)
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
		people = append(people, stats.Stratum{Share: strata[i].Share, Labels: strata[i].Labels, Judged: strata[i].Judged})
	}
	b := stats.Bootstrap{Seed: d.Seed, B: 1000, Alpha: 0.05}
	e := b.Mean(plain)
	out.plain = percent(e.Value, e.Low, e.High, len(plain), string(e.Why))
	classical := stats.Correct(people, stats.FixedWeight(0))
	out.people = percent(classical.Value, classical.Low, classical.High, classical.Labels, string(classical.Why))
	ppi := stats.Correct(strata, stats.CrossFitted)
	out.ppi = percent(ppi.Value, ppi.Low, ppi.High, ppi.Labels+ppi.Judged, string(ppi.Why))
	out.people.Invalid, out.ppi.Invalid = left, left
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
		p := counts.Prevalence()
		out.rogan = percent(p.Value, p.Low, p.High, counts.Judged+counts.Yes+counts.No, string(p.Why))
	}
	return out
}

// yesNo counts items that are 0 or 1.
type yesNo struct {
	stats.Counts
	whole bool // all are
}

func (b *yesNo) judge(f float64) {
	b.Judged++
	switch f {
	case 1:
		b.Positive++
	case 0:
	default:
		b.whole = false
	}
}

func (b *yesNo) label(y, f float64) {
	b.whole = b.whole && (y == 0 || y == 1) && (f == 0 || f == 1)
	if y == 1 {
		b.Yes++
		if f == 1 {
			b.TrueYes++
		}
	} else {
		b.No++
		if f == 0 {
			b.TrueNo++
		}
	}
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
