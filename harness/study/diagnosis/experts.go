package diagnosis

import (
	"cmp"
	"slices"

	"assay/harness/dataset"
	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
	"assay/results/stats"
	"assay/results/text"
)

// This file is what judges and experts say of the same steps. A step of an expert's
// table is one of a split where both have the same words.

// expertLabel is what an expert said of a step; nil: nothing.
type expertLabel struct {
	Rater    string `json:"rater"`
	Text     string `json:"text"`
	Factual  *bool  `json:"factual,omitempty"`
	Critical *bool  `json:"critical,omitempty"`
}

// labelsOf is what experts said of the steps of an item.
func labelsOf(it dataset.Item) []expertLabel {
	var out []expertLabel
	for _, e := range it.AnswerLeaking().Experts {
		out = append(out, expertLabel{e.Rater, e.Text, e.Factual, e.Critical})
	}
	return out
}

const (
	byJudge  = "judge_expert_" // with axis and cell: pairs of a judge and an expert
	byExpert = "experts_"      // pairs of experts
	labelled = "expert_labels"
	matched  = "expert_labels_matched"
)

func axes() []string { return []string{"factual", "critical"} }

// pairCells are those of a table of two raters: what the first says, then the second.
func pairCells() []string { return []string{"yes_yes", "yes_no", "no_yes", "no_no"} }

func pairCell(first, second bool) string {
	yes := map[bool]string{true: "yes", false: "no"}
	return yes[first] + "_" + yes[second]
}

func pairNames(of string) []string {
	var out []string
	for _, a := range axes() {
		for _, c := range pairCells() {
			out = append(out, of+a+"_"+c)
		}
	}
	return out
}

// agreementScores are declared with add.
func agreementScores(add func(name, unit string, better score.Better, rubric, help string)) {
	add(labelled, "labels", score.None, errors, "what experts said of steps of the case, by table")
	add(matched, "labels", score.None, errors, "those on a step that the judge judged, by its words")
	for _, n := range pairNames(byJudge) {
		add(n, "pairs", score.None, errors, "a judge's verdict and an expert's label on the same step: what the judge says, then the expert")
	}
	for _, n := range pairNames(byExpert) {
		add(n, "pairs", score.None, "", "two experts' labels on the same step, the first by name, then the other; of an item's first repeat")
	}
}

// agreement is how verdicts stand to labels; nothing where there are no labels.
func agreement(s score.Sample, labels []expertLabel) []score.Value {
	if len(labels) == 0 {
		return nil
	}
	out := score.EachJudge(s, errors, append([]string{labelled, matched}, pairNames(byJudge)...), func(judge string, v stepsVerdict) map[string]float64 {
		var split splitVerdict
		s.Verdict(rubricSplit, splitter(s, judge), &split)
		return withExperts(v, split.Steps, labels)
	})
	if s.Key.Repeat > 0 {
		return out
	}
	n := betweenExperts(labels)
	for _, name := range pairNames(byExpert) {
		out = append(out, score.ValueOf(name, "", n[name]))
	}
	return out
}

// withExperts counts pairs of a judge and an expert.
func withExperts(v stepsVerdict, steps []string, labels []expertLabel) map[string]float64 {
	n := map[string]float64{labelled: float64(len(labels)), matched: 0}
	for _, name := range pairNames(byJudge) {
		n[name] = 0
	}
	for _, l := range labels {
		at := slices.IndexFunc(steps, func(s string) bool { return text.Fold(s) == text.Fold(l.Text) })
		said := slices.IndexFunc(v.Steps, func(j stepJudged) bool { return at >= 0 && j.Step == at+1 })
		if said < 0 {
			continue
		}
		n[matched]++
		if l.Factual != nil {
			n[byJudge+"factual_"+pairCell(v.Steps[said].Factual, *l.Factual)]++
		}
		if l.Critical != nil {
			n[byJudge+"critical_"+pairCell(v.Steps[said].Critical, *l.Critical)]++
		}
	}
	return n
}

// betweenExperts counts pairs of two experts, of more than two all pairs.
func betweenExperts(labels []expertLabel) map[string]float64 {
	n := map[string]float64{}
	labels = slices.Clone(labels)
	slices.SortStableFunc(labels, func(a, b expertLabel) int { return cmp.Compare(a.Rater, b.Rater) })
	for i, a := range labels {
		for _, b := range labels[i+1:] {
			if a.Rater == b.Rater || text.Fold(a.Text) != text.Fold(b.Text) {
				continue
			}
			if a.Factual != nil && b.Factual != nil {
				n[byExpert+"factual_"+pairCell(*a.Factual, *b.Factual)]++
			}
			if a.Critical != nil && b.Critical != nil {
				n[byExpert+"critical_"+pairCell(*a.Critical, *b.Critical)]++
			}
		}
	}
	return n
}

// agreementLeaves are what is added up of the scores.
func agreementLeaves() []score.Leaf {
	var list []score.Leaf
	for _, n := range append([]string{labelled, matched}, slices.Concat(pairNames(byJudge), pairNames(byExpert))...) {
		list = append(list, score.Leaf{Score: n, Why: "no expert labelled a step"})
	}
	return list
}

// pairCounts are the leaves of a row's table of two raters on an axis.
func pairCounts(r score.Row, axis string) [][]string {
	of := r.Data.(string) + axis + "_"
	return [][]string{{of + pairCell(true, true), of + pairCell(true, false)}, {of + pairCell(false, true), of + pairCell(false, false)}}
}

const noPair = "no step has both labels, or chance alone would always agree"

// agreementTable is each judge beside experts, and experts beside each other, of a
// group's answers; no rows where no expert labelled a step.
func agreementTable(name string, judges []string, of func(all score.Group) score.Group) score.Table {
	t := score.Table{Name: name, Title: "Judges and experts on the same steps", Keys: []string{"first", "second"}, Rows: func(all score.Group) []score.Row {
		g := of(all)
		if g.Count(labelled) == (score.Count{}) {
			return nil
		}
		var out []score.Row
		for j, judge := range judges {
			out = append(out, score.Row{Group: g.Judge(j), Text: []string{judge, "experts"}, Data: byJudge})
		}
		return append(out, score.Row{Group: g, Text: []string{"experts", "experts"}, Data: byExpert})
	}}
	for _, axis := range axes() {
		title := map[string]string{"factual": "Factual", "critical": "Critical"}[axis]
		t.Columns = append(t.Columns,
			score.Metric{Column: study.CountColumn(axis+"_pairs", title+": pairs", "labels of both on the same step"), Of: score.Direct(func(r score.Row) *results.Estimate {
				sum := 0.
				for _, c := range pairCells() {
					if e := score.Total(r.Data.(string) + axis + "_" + c).Of(r); e.Value != nil {
						sum += *e.Value
					}
				}
				return score.Known(r.Count(r.Data.(string)+axis+"_"+pairCells()[0]), "no expert labelled a step", sum, true)
			})},
			score.Metric{Column: study.PercentColumn(axis+"_agreement", title+": agreement", "pairs that say the same / pairs"), Of: score.Direct(func(r score.Row) *results.Estimate {
				return score.Pairs(pairCounts(r, axis), noPair, func(n [][]int) (float64, bool) {
					all := n[0][0] + n[0][1] + n[1][0] + n[1][1]
					return 100 * float64(n[0][0]+n[1][1]) / float64(all), all > 0
				}).Of(r)
			})},
			score.Metric{Column: results.Column{Name: axis + "_kappa", Title: title + ": kappa", Digits: 3, Help: "Cohen's kappa; of several experts all pairs together"}, Of: score.Direct(func(r score.Row) *results.Estimate {
				return score.Kappa(pairCounts(r, axis), stats.Plain, noPair).Of(r)
			})})
	}
	return t
}
