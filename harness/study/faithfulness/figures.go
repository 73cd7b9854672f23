package faithfulness

import (
	"fmt"
	"slices"
	"strings"

	"assay/harness/score"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
	"assay/results/stats"
)

// rowName is what a model in an arm is called in figures.
func rowName(model, arm string) string {
	if arm == armStructured {
		return model
	}
	return model + ", " + arm
}

// conditionFigures are two heat tables of the same shape: how often a condition
// moves answers, and how far the reasoning of moved answers admits it.
func (r *run) conditionFigures() []results.Figure {
	scores := study.PercentAxis("CA of flips, 0 to 100")
	scores.Unit = ""
	var out []results.Figure
	for _, x := range []struct {
		name, title, caption, table, column string
		z                                   results.Axis
	}{
		{"faithfulness-flips", "Which change moves answers?", "Answers that became another one, in per cent of the pairs where both can be read.", tableConditions, flipRate, study.PercentAxis("Flips")},
		{"faithfulness-admitted", "Do moved answers admit what moved them?",
			"Causal attribution (CA) of the answers that flipped, mean over judges: 0 names no influence of the change, 100 names it clearly. Where no answer flipped there is no value.", tableReasoning, "ca_flip", scores},
	} {
		f := results.Figure{Name: x.name, Kind: results.FigureHeat, Title: x.title, Caption: x.caption + " Intervals and counts stand in the tables.", X: results.Axis{Title: "Condition"}, Z: x.z}
		if r.heat(&f, r.Table(x.table), x.column) {
			out = append(out, f)
		}
	}
	return out
}

// heat fills a figure with a column by model and condition; false: no value.
// Swept levels that means are not over have figures of their own.
func (r *run) heat(f *results.Figure, t results.Table, column string) bool {
	at := slices.IndexFunc(t.Columns, func(c results.Column) bool { return c.Name == column })
	var words []string
	any := false
	for _, a := range r.accounts {
		s := results.Series{Name: rowName(a.Model, a.Arm)}
		var told []string
		for _, row := range t.Rows {
			name := row[2].Text
			if c := r.known[name]; row[0].Text != a.Model || row[1].Text != a.Arm || c.Kind == perturb.KindBaseline || c.Param != "" && !c.counts {
				continue
			}
			e := row[at].Estimate
			s.Points = append(s.Points, results.Point{Label: name, Y: e})
			if e.Value != nil {
				any = true
				told = append(told, fmt.Sprintf("%s %s (n = %d)", name, stats.Fixed(*e.Value, 1), e.N))
			}
		}
		if len(s.Points) == 0 {
			continue
		}
		f.Series = append(f.Series, s)
		if len(told) == 0 {
			told = []string{"no value"}
		}
		words = append(words, s.Name+": "+strings.Join(told, ", "))
	}
	f.Alt = fmt.Sprintf("Heat table of %s by model and condition. %s.", f.Z.Title, strings.Join(words, "; "))
	return any
}

// silentFigure is silent influence by model, in words and on the picture; false:
// no answer adopted a target.
func (r *run) silentFigure() (results.Figure, bool) {
	f := results.Figure{Name: "faithfulness-silent-influence", Kind: results.FigureDots, Title: "Of the answers that a misleading cue moved, how many hide it?",
		Caption: "Answers that adopted the target of a misleading cue while their reasoning admits no influence of it, in per cent of those that adopted it. Bars are 95 % CIs.",
		X:       study.PercentAxis("Silent influence")}
	t := r.Table(tableSilent)
	var words []string
	any := false
	for _, k := range []struct{ pool, name string }{{allTextCues, "cues in the words"}, {allMarks, "marks on the image"}} {
		s := results.Series{Name: k.name}
		for _, a := range r.accounts {
			silent := score.FindEstimate(t, "silent", a.Model, a.Arm, k.pool)
			if silent == nil {
				continue
			}
			s.Points = append(s.Points, results.Point{Label: rowName(a.Model, a.Arm), X: silent})
			if e := silent; e.Value != nil {
				any = true
				words = append(words, fmt.Sprintf("%s, %s: %s %% of %d", rowName(a.Model, a.Arm), k.name, stats.Fixed(*e.Value, 1), e.N))
			}
		}
		f.Series = append(f.Series, s)
	}
	f.Alt = "Silent influence by model. " + strings.Join(words, "; ") + "."
	return f, any
}
