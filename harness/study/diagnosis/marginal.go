package diagnosis

import (
	"fmt"
	"slices"

	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
	"assay/results/stats"
)

// This file is what one image adds: of each trial that leaves an image out, what its
// twin with all images has more.

// Names of the scores of a trial that leaves an image out.
const (
	scoreImageGain   = "image_gain"
	scoreImageTokens = "image_tokens"
	scoreImageTime   = "image_s"
	scoreImageEnergy = "image_j"

	leafPerJoule = "gain per joule"
	leafPerToken = "gain per token"
)

func marginalScores(add func(name, unit string, better score.Better, rubric, help string)) {
	add(scoreImageGain, "1", score.Higher, "", "accuracy from all images less that without one of them, of the same item and repeat")
	add(scoreImageTokens, "tokens", score.None, "", "prompt tokens with all images less those without one of them: what the server counts for that image")
	add(scoreImageTime, "s", score.Lower, "", "T with all images less that without one of them, of times that count")
	add(scoreImageEnergy, "J", score.Lower, "", "gross energy with all images less that without one of them")
}

// marginal is what an image adds, of a trial without it and its twin with it.
func marginal(without, all score.Sample, gain score.Value) []score.Value {
	less := func(name, why string, of func(score.Sample) (float64, bool)) score.Value {
		x, ok := of(all)
		y, okY := of(without)
		if !ok || !okY {
			return score.Invalid(name, "", why)
		}
		return score.ValueOf(name, "", x-y)
	}
	out := []score.Value{
		less(scoreImageTokens, "the server counts no tokens", func(s score.Sample) (float64, bool) {
			if s.Failed || s.PromptTokens == nil {
				return 0, false
			}
			return float64(*s.PromptTokens), true
		}),
		less(scoreImageTime, "one of the times does not count", func(s score.Sample) (float64, bool) { return score.Seconds(&s.Row) }),
		less(scoreImageEnergy, "one of the energies is not known", func(s score.Sample) (float64, bool) {
			if s.Failed || s.GPU == nil || s.GPU.Unknown != "" {
				return 0, false
			}
			return float64(s.GPU.Gross) / 1000, true
		}),
	}
	if gain.Number == nil {
		return append(out, score.Invalid(scoreImageGain, "", gain.Why))
	}
	return append(out, score.ValueOf(scoreImageGain, "", 0-*gain.Number))
}

func marginalLeaves() []score.Leaf {
	const none = "no answer without an image has its pair"
	return []score.Leaf{
		{Score: scoreImageGain, Why: none},
		{Score: scoreImageTokens, Why: none, Invalid: "the server counts no tokens"},
		{Score: scoreImageTime, Why: none, Invalid: "no pair of answers has two valid times"},
		{Score: scoreImageEnergy, Why: none, Invalid: "no pair of answers has two known energies"},
		{Name: leafPerJoule, Score: scoreImageGain, Over: &score.Term{Score: scoreImageEnergy}, Why: none, Invalid: "no pair of answers has two known energies"},
		{Name: leafPerToken, Score: scoreImageGain, Over: &score.Term{Score: scoreImageTokens}, Why: none, Invalid: "the server counts no tokens"},
	}
}

// marginalRows is all cases, and those with so many images; none where no image was
// left out.
func marginalRows(all score.Group) []score.Row {
	mcq := all.In(score.Keys{armMCQ})
	if mcq.Count(scoreImageGain) == (score.Count{}) {
		return nil
	}
	out := []score.Row{{Group: mcq, Text: []string{"all"}}}
	names, _ := mcq.Strata(byImages)
	for i, name := range names {
		if one := mcq.Stratum(byImages, i); one.Count(scoreImageGain) != (score.Count{}) {
			out = append(out, score.Row{Group: one, Text: []string{name}})
		}
	}
	return out
}

// per is 100 times a ratio of sums, where the divisor is above 0: an image that costs
// nothing has no gain per cost.
func per(leaf string, scale float64) score.Sum {
	return func(g score.Group) score.GroupValue {
		v := score.Mean(leaf)(g)
		uses := slices.Concat(g.Fractions(leaf)...)
		v.Else = "without the image it costs no less"
		v.Of = func(sums []float64) (float64, bool) {
			num, den := 0., 0.
			for _, f := range uses {
				num, den = num+sums[f.Num], den+sums[f.Den]
			}
			return 100 * scale * num / den, den > 0
		}
		return v
	}
}

func marginalTable(accuracy score.Metric) score.Table {
	accuracy.Of = score.In(score.Keys{"", alone}, score.Percent(scoreAccuracy))
	return score.Table{Name: "diagnosis-marginal", Title: "What one image adds", Keys: []string{"images"}, Rows: marginalRows, Columns: []score.Metric{
		accuracy,
		study.Points("gain", "Points per image", "accuracy from all images less that without one of them, mean over the images of a case and over cases", score.Gain(scoreImageGain)),
		{Column: results.Column{Name: "tokens", Title: "Tokens per image", Unit: "tokens", Digits: 1, Help: "prompt tokens with all images less those without one of them, as the server counts them"}, Of: score.Mean(scoreImageTokens)},
		{Column: results.Column{Name: "seconds", Title: "T per image", Unit: "s", Digits: 3, Help: "the same of T, of times that count"}, Of: score.Mean(scoreImageTime)},
		{Column: results.Column{Name: "joules", Title: "Energy per image", Unit: "J", Digits: 2, Help: "the same of the gross energy of the GPUs"}, Of: score.Mean(scoreImageEnergy)},
		{Column: results.Column{Name: "per_joule", Title: "Points per joule", Unit: "points/J", Digits: 2, Help: "points that images add / joules that they add, of sums; undefined where they add none"}, Of: per(leafPerJoule, 1)},
		study.Points("per_token", "Points per 1,000 tokens", "the same by thousand prompt tokens", per(leafPerToken, 1000)),
	}}
}

// withoutDoubt takes a ratio away where what it is divided by may be 0: its interval would
// be that of the draws where it happens to be more.
func withoutDoubt(t results.Table, ratio, divisor string) {
	for _, row := range t.Rows {
		e, by := score.FindEstimate(t, ratio, row[0].Text, row[1].Text), score.FindEstimate(t, divisor, row[0].Text, row[1].Text)
		if e.Value != nil && (by.Low == nil || *by.Low <= 0) {
			*e = results.Estimate{N: e.N, Undefined: e.Undefined, Invalid: e.Invalid, Why: "the energy per image is not clearly above 0"}
		}
	}
}

// cites say of a model whether its explanations name the images whose absence changes its answers
// more often than others.
func cites(r *score.Run, t results.Table) []string {
	var out []string
	for _, m := range r.Models {
		moving, idle := score.FindEstimate(t, "named_moving", m.Name, anyLess), score.FindEstimate(t, "named_idle", m.Name, anyLess)
		if moving == nil || moving.Value == nil || moving.N < few || idle == nil || idle.Value == nil || idle.N < few {
			continue
		}
		out = append(out, fmt.Sprintf("%s: its explanations name %s %% of the images whose removal changes the answer (n = %d), and %s %% of those whose removal does not (n = %d).", m.Name,
			stats.Fixed(*moving.Value, 1), moving.N, stats.Fixed(*idle.Value, 1), idle.N))
	}
	return out
}

// overSize is accuracy over the longest side of the images, where there are several
// sizes.
func overSize(r *score.Run, t results.Table, levels map[string]float64) []results.Figure {
	f := results.Figure{Name: "diagnosis-over-size", Kind: results.FigureLines, Title: "Accuracy over the size of images",
		Caption: "Accuracy from the images alone, scaled down to a longest side; bars are 95 % CIs.", X: results.Axis{Title: "Longest side", Unit: "pixels", Log: true}, Y: study.PercentAxis("Accuracy")}
	several := false
	words := []string{"Lines of accuracy over the longest side"}
	for _, m := range r.Models {
		s := results.Series{Name: m.Name}
		said := m.Name + ":"
		for _, row := range t.Rows {
			px := levels[row[1].Text]
			if e := row[2].Estimate; row[0].Text == m.Name && px > 0 && e.Value != nil {
				s.Points = append(s.Points, results.Point{Label: row[1].Text, X: &results.Estimate{Value: &px, N: e.N}, Y: e})
				said += fmt.Sprintf(" %s at %v", told(e), px)
			}
		}
		several = several || len(s.Points) > 1
		f.Series, words = append(f.Series, s), append(words, said)
	}
	return drawn(f, several, words)
}

// sizes are the levels of downscaling of a run, by condition.
func sizes(m results.Manifest) map[string]float64 {
	out := map[string]float64{}
	for name := range m.Conditions[studyName] {
		if c, ok := described(m, name); ok && c.Family == downscale {
			out[name] = c.Level
		}
	}
	return out
}
