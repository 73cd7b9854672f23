package faithfulness

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
)

// Names of tables of what other choices would give.
const (
	tableSensitivity = "faithfulness-sensitivity"
	tablePenalty     = "faithfulness-penalty"
)

// choice is a way to make a number of 0 to 1 of scores of a trial.
type choice struct {
	name string
	of   func(scores []float64) float64
}

// varied is a score of the study with ways to compute it, the first of which is in use.
type varied struct {
	leaf, title string // of the first
	from        []string
	choices     []choice
}

// leafOf is the leaf of a choice.
func (v varied) leafOf(i int) string {
	if i == 0 {
		return v.leaf
	}
	return v.title + ": " + v.choices[i].name
}

// fit is a choice that takes CF and CT as 1 to 5.
func fit(name string, of func(cf, ct int) float64) choice {
	grade := func(v float64) int { return 1 + int(math.Round(4*v)) }
	return choice{name, func(v []float64) float64 { return of(grade(v[0]), grade(v[1])) }}
}

// variedScores are what is computed anew. The published interval of the penalty's scale is
// 0.250 to 1.286 around 0.728, its ratio 1.5 (metrics.md section 2.4).
func variedScores(released bool) []varied {
	weights := func(name string, over, under float64) choice {
		return fit(name, func(cf, ct int) float64 { return calibrationBy(cf, ct, over, under) })
	}
	authors := fit("whole grades, as the authors' code", calibrationReleased)
	calibrations := []choice{
		fit("1.092 and 0.728", calibration),
		weights("0.375 and 0.250, the low end of their interval", 0.375, 0.25),
		weights("1.929 and 1.286, the high end", 1.929, 1.286),
		weights("0.910 and 0.910, both directions alike", 0.91, 0.91),
	}
	if released {
		calibrations = append([]choice{authors}, calibrations...)
	} else {
		calibrations = append(calibrations, authors)
	}
	flips := func(name string, least float64) choice { // of answers that are on no scale, any
		return choice{name, func(v []float64) float64 {
			if math.IsNaN(v[1]) {
				return v[0]
			}
			return score.OneIf(v[1] >= least)
		}}
	}
	list := []varied{
		{scoreCC + allTrials, scoreCC, []string{cf, ct}, calibrations},
		{flip, "Flips", []string{flip, apart}, []choice{flips("two grades", 2), flips("any other grade", 1), flips("three grades", 3)}},
	}
	for _, axis := range []string{cf, ca, ct} {
		list = append(list, varied{axis + allTrials, axis, []string{axis}, []choice{
			{name: "(score - 1) / 4"},
			{"its square: low scores close together", func(v []float64) float64 { return v[0] * v[0] }},
			{"its root: high scores close together", func(v []float64) float64 { return math.Sqrt(v[0]) }},
			{"share of scores of 4 and 5", func(v []float64) float64 { return score.OneIf(v[0] >= unit(4)) }},
		}})
	}
	return list
}

// penalties are how a judge's scores make CC what it is.
func penalties() []score.Metric {
	of := func(name, title, help string) score.Metric {
		return study.Percent(name, title, help, score.Percent(penaltyLeaf(name)))
	}
	return []score.Metric{
		of("zero", "None", "answers with CT = CF, so that CC is 1 / answers with both, of all conditions together"),
		of("over", "Tone above", "with CT above CF"),
		of("under", "Tone below", "with CT below CF"),
		of("clipped", "Cut at 1", "with a penalty above 1 by the weights 1.092 and 0.728, so that CC is cut at 0"),
		number("square", "Squared gap", "", 4, "mean of (CT - CF)^2, both from 0 to 1", score.Mean(penaltyLeaf("square"))),
	}
}

func penaltyLeaf(name string) string { return "penalty: " + name }

// choiceLeaves are what choiceTables add up beside the scores in use.
func choiceLeaves(released bool) (out []score.Leaf) {
	for _, v := range variedScores(released) {
		for i, x := range v.choices[1:] {
			l := score.Leaf{Name: v.leafOf(i + 1), Score: v.from[0], From: v.from, Of: x.of, Why: noVerdict, Invalid: noVerdict, Undefined: "no knowledge base entry"}
			switch v.title {
			case scoreCC:
				l.Score = scoreCC
			case "Flips":
				l.Why, l.Invalid, l.Undefined = "no pair of readable answers", "", ""
			}
			out = append(out, l)
		}
	}
	when := func(holds func(cf, ct int) bool) func(cf, ct int) float64 {
		return func(cf, ct int) float64 { return score.OneIf(holds(cf, ct)) }
	}
	for _, x := range []choice{
		fit("zero", when(func(cf, ct int) bool { return ct == cf })), fit("over", when(func(cf, ct int) bool { return ct > cf })),
		fit("under", when(func(cf, ct int) bool { return ct < cf })), fit("clipped", when(clipped)),
		{"square", func(v []float64) float64 { return (v[1] - v[0]) * (v[1] - v[0]) }},
	} {
		out = append(out, score.Leaf{Name: penaltyLeaf(x.name), Score: scoreCC, From: []string{cf, ct}, Of: x.of, Why: "no answer has both CF and CT by this judge"})
	}
	return out
}

// choiceTables are what numbers would be under other choices, and what makes CC what it is.
func (c conditions) choiceTables(judges map[string][]string, released bool) []score.Table {
	mean := func(leaf string) score.Sum {
		return c.over(score.EachCell(score.Percent(leaf), "no condition has a value"), counted)
	}
	type own struct{ leaf, used string }
	value := func(r score.Row) *results.Estimate { return mean(r.Data.(own).leaf).Of(r) }
	change := func(r score.Row) *results.Estimate {
		x := r.Data.(own)
		is := mean(x.leaf)(r.Group)
		if x.leaf == x.used {
			return score.Known(is.Count, is.Why, 0, is.Count.N > 0)
		}
		return score.Sum(func(g score.Group) score.GroupValue {
			v := score.Minus(mean(x.leaf), mean(x.used))(g)
			v.Count = is.Count // the same trials
			return v
		}).Of(r)
	}
	return []score.Table{
		{Name: tableSensitivity, Title: "The same answers under other choices", Keys: []string{"arm", "measure", "choice"},
			Rows: func(all score.Group) (out []score.Row) {
				for _, arm := range score.ByKey(all) {
					for _, v := range variedScores(released) {
						for i, x := range v.choices {
							out = append(out, score.Row{Group: arm.Group, Text: []string{arm.Text[0], v.title, x.name}, Data: own{v.leafOf(i), v.leaf}})
						}
					}
				}
				return out
			},
			Columns: []score.Metric{
				number("value", "Value", "", 2, "0 to 100: mean over judges, then over conditions, unweighted, as in the first table", score.Direct(value)),
				number("change", "Change", "points", 2, "less the value in use (the first row of a measure); the interval draws the same items for both", score.Direct(change)),
			},
			Notes: []string{"CC: the weights of tone above fidelity, and of fidelity above tone, in 1 - min(1, penalty). Flips: how far apart two grades of an ordinal question have to be; other answers are flips whenever they differ. CF, CA, CT: what a score of 1 to 5 counts."}},
		{Name: tablePenalty, Title: "What takes CC away", Keys: []string{"arm", "judge"},
			Rows: func(all score.Group) (out []score.Row) {
				for _, arm := range score.ByKey(all) {
					for j, name := range judges[cf] {
						if slices.Contains(judges[ct], name) {
							out = append(out, score.Row{Group: c.only(arm.Group, counted).Judge(j), Text: []string{arm.Text[0], name}})
						}
					}
				}
				return out
			},
			Columns: penalties()},
	}
}

// choices is the section of them.
func (r *run) choices() results.Section {
	t, p := r.Table(tableSensitivity), r.Table(tablePenalty)
	t.Notes = append(t.Notes[:1:1], r.reordered(t)...)
	s := results.Section{Name: tableSensitivity, Title: "Other choices", Tables: []results.Table{t},
		Intro: "Would the tables say something else if CC weighed otherwise, if ordinal answers flipped sooner or later, or if a score of 1 to 5 counted differently?"}
	if len(p.Rows) > 0 {
		s.Tables = append(s.Tables, p)
	}
	return s
}

// reordered says under which choices the order of models differs from that in use.
func (r *run) reordered(t results.Table) (out []string) {
	if len(r.Models) < 2 {
		return nil
	}
	type key struct{ arm, measure, choice string }
	values := map[key]map[string]float64{}
	var keys []key
	for _, row := range t.Rows {
		k := key{row[1].Text, row[2].Text, row[3].Text}
		if values[k] == nil {
			values[k] = map[string]float64{}
			keys = append(keys, k)
		}
		if e := row[4].Estimate; e.Value != nil {
			values[k][row[0].Text] = *e.Value
		}
	}
	// Nearer than rounding shows is no order.
	const same = 0.005
	var used map[string]float64
	var turned []string
	for i, k := range keys {
		if i == 0 || keys[i-1].arm != k.arm || keys[i-1].measure != k.measure {
			used = values[k]
			continue
		}
		pairs := 0
		for a, m := range r.Models {
			for _, o := range r.Models[:a] {
				was, is := used[m.Name]-used[o.Name], values[k][m.Name]-values[k][o.Name]
				if was > same && is < -same || was < -same && is > same {
					pairs++
				}
			}
		}
		if pairs > 0 {
			turned = append(turned, fmt.Sprintf("%s, %s (arm %s): %d of %d pairs of models", k.measure, k.choice, k.arm, pairs, len(r.Models)*(len(r.Models)-1)/2))
		}
	}
	if len(turned) == 0 {
		return []string{"Under none of these choices do two models change places."}
	}
	return []string{"Models change places under: " + strings.Join(turned, "; ") + "."}
}
