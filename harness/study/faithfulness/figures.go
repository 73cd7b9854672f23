package faithfulness

import (
	"fmt"
	"slices"
	"strings"

	"assay/perturb"
	"assay/results"
	"assay/results/stats"
)

// rowName is what a model in an arm is called in figures.
func rowName(m *model, arm string) string {
	if arm == armStructured {
		return m.name
	}
	return m.name + ", " + arm
}

func percentAxis(title string) results.Axis {
	low, high := 0.0, 100.0
	return results.Axis{Title: title, Unit: "%", Low: &low, High: &high}
}

// conditionFigures are two heat tables of the same shape: how often a condition
// moves answers, and how far the reasoning of moved answers admits it.
func (r *run) conditionFigures() []results.Figure {
	scores := percentAxis("CA of flips, 0 to 100")
	scores.Unit = ""
	var out []results.Figure
	for _, x := range []struct {
		name, title, caption, measure string
		z                             results.Axis
	}{
		{"faithfulness-flips", "Which change moves answers?", "Answers that became another one, in per cent of the pairs where both can be read.", "flip_rate", percentAxis("Flips")},
		{"faithfulness-admitted", "Do moved answers admit what moved them?",
			"Causal attribution (CA) of the answers that flipped, mean over judges: 0 names no influence of the change, 100 names it clearly. Where no answer flipped there is no value.", "CA_flip", scores},
	} {
		f := results.Figure{Name: x.name, Kind: results.FigureHeat, Title: x.title, Caption: x.caption + " Intervals and counts stand in the tables.", X: results.Axis{Title: "Condition"}, Z: x.z}
		if r.heat(&f, x.measure) {
			out = append(out, f)
		}
	}
	return out
}

// heat fills a figure with a measure by model and condition; false: no value.
// Swept levels have figures of their own.
func (r *run) heat(f *results.Figure, measure string) bool {
	var words []string
	any := false
	r.each(func(m *model, a *armScores) {
		s := results.Series{Name: rowName(m, a.arm)}
		var told []string
		for _, c := range m.cells {
			if c.arm != a.arm || c.unchanged || c.fact.Kind == perturb.KindBaseline || c.fact.Param != "" {
				continue
			}
			e := c.estimate(measure)
			s.Points = append(s.Points, results.Point{Label: c.fact.Name, Y: e})
			if e.Value != nil {
				any = true
				told = append(told, fmt.Sprintf("%s %s (n = %d)", c.fact.Name, stats.Fixed(*e.Value, 1), e.N))
			}
		}
		if len(s.Points) == 0 {
			return
		}
		f.Series = append(f.Series, s)
		if len(told) == 0 {
			told = []string{"no value"}
		}
		words = append(words, s.Name+": "+strings.Join(told, ", "))
	})
	f.Alt = fmt.Sprintf("Heat table of %s by model and condition. %s.", f.Z.Title, strings.Join(words, "; "))
	return any
}

// silentFigure is silent influence by model, in words and on the picture; false:
// no answer adopted a target.
func (r *run) silentFigure() (results.Figure, bool) {
	f := results.Figure{Name: "faithfulness-silent-influence", Kind: results.FigureDots, Title: "Of the answers that a misleading cue moved, how many hide it?",
		Caption: "Answers that adopted the target of a misleading cue while their reasoning admits no influence of it, in per cent of those that adopted it. " +
			"Intervals are bootstrap intervals over items, and Wilson intervals of the first judge where all answers agree.",
		X: percentAxis("Silent influence")}
	kinds := []struct{ pool, name string }{{allTextCues, "cues in the words"}, {allMarks, "marks on the picture"}}
	var words []string
	any := false
	for _, k := range kinds {
		s := results.Series{Name: k.name}
		r.each(func(m *model, a *armScores) {
			at := slices.IndexFunc(a.silent, func(p pooled) bool { return p.name == k.pool })
			if at < 0 {
				return
			}
			e := a.silent[at].told()
			s.Points = append(s.Points, results.Point{Label: rowName(m, a.arm), X: e})
			if e.Value != nil {
				any = true
				words = append(words, fmt.Sprintf("%s, %s: %s %% of %d", rowName(m, a.arm), k.name, stats.Fixed(*e.Value, 1), e.N))
			}
		})
		f.Series = append(f.Series, s)
	}
	f.Alt = "Silent influence by model. " + strings.Join(words, "; ") + "."
	return f, any
}

// told is silent influence with an interval that says something: resampling
// cannot doubt what all cases have in common.
func (p pooled) told() *results.Estimate {
	e := *p.silent
	if e.Value == nil || e.Low != nil && *e.Low != *e.High {
		return &e
	}
	if w := p.wilson; w.Value != nil && *w.Value == *e.Value {
		e.Low, e.High, e.Why = w.Low, w.High, ""
	}
	return &e
}
