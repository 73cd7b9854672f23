package faithfulness

import (
	"assay/harness/study"
	"assay/results"
	"assay/results/stats"
)

// readerCC is the axis of a reader's own CC.
const readerCC = "reader_CC"

// penaltyFit is the scale of CC's penalty that suits readers: least squares of 1 - kappa h
// against a reader's own CC, h = 1.5 max(0, CT - CF) + max(0, CF - CT) (metrics.md
// section 2.4).
type penaltyFit struct {
	kappa  *results.Estimate
	active bool // somewhere the penalty is clipped, so that least squares is no longer exact
	zero   *float64
	mse    *float64
	cut    *float64     // share of answers whose penalty is clipped
	used   penaltyError // what the weights in use give
}

// penaltyError is how CC with a scale of the penalty lies to readers'.
type penaltyError struct{ mse, cut *float64 }

// comparedWith computes CC as 1 - min(1, kappa h) and compares it with cc.
func comparedWith(kappa float64, h, cc []float64) penaltyError {
	var squares, cut float64
	for i := range h {
		p := kappa * h[i]
		if p > 1 {
			cut++
		}
		e := 1 - min(1, p) - cc[i]
		squares += e * e
	}
	squares, cut = squares/float64(len(h)), cut/float64(len(h))
	return penaltyError{&squares, &cut}
}

// penaltyInUse is the scale of the weights that CC is computed with.
const penaltyInUse = 0.728

// fitDraws is the fit's number of replicates.
const fitDraws = 1000

// fitKappa takes scores of 0..1 by case, and the clusters that are drawn.
func fitKappa(cf, ct, cc []float64, clusters [][]int, seed uint64) penaltyFit {
	const ratio = 1.5
	n := len(clusters)
	num, den := make([]float64, n), make([]float64, n)
	h := make([]float64, len(cf))
	none := 0.0
	for i := range cf {
		h[i] = ratio*max(0, ct[i]-cf[i]) + max(0, cf[i]-ct[i])
		if h[i] == 0 {
			none++
		}
	}
	for c, cluster := range clusters {
		for _, i := range cluster {
			num[c] += h[i] * (1 - cc[i])
			den[c] += h[i] * h[i]
		}
	}
	b := stats.Bootstrap{Seed: seed, B: fitDraws, Alpha: 0.05, Plain: true} // as published
	r := b.Ratio(num, den)
	out := penaltyFit{kappa: &results.Estimate{Value: r.Value, Low: r.Low, High: r.High, N: len(cf), Why: string(r.Why)}}
	if len(cf) == 0 || out.kappa.Value == nil {
		return out
	}
	fitted := comparedWith(*out.kappa.Value, h, cc)
	none /= float64(len(h))
	out.zero, out.mse, out.cut, out.active = &none, fitted.mse, fitted.cut, *fitted.cut > 0
	out.used = comparedWith(penaltyInUse, h, cc)
	return out
}

// penaltySection shows the fit: scores are those of CF, CT and readerCC by answer.
func penaltySection(name string, scores [][]float64, items [][]int, seed uint64) results.Section {
	number := func(name, title, help string) results.Column {
		return results.Column{Name: name, Title: title, Digits: 3, Help: help}
	}
	t := results.Table{Name: name, Title: "The penalty of CC, fitted to readers",
		Columns: []results.Column{study.TextColumn("weight", "Weight"), number("fitted", "Fitted", "least squares of 1 - kappa h against the readers' own CC; h = 1.5 max(0, CT - CF) + max(0, CF - CT)"),
			number("used", "In use", "what CC is computed with")}}
	f := fitKappa(scores[0], scores[1], scores[2], items, seed)
	const why = "no reader gave a CC of his own (axis reader_CC)"
	if f.kappa.Value == nil {
		f.kappa.Why = why
	}
	scaled := func(k float64) *results.Estimate {
		e := *f.kappa
		for _, x := range []**float64{&e.Value, &e.Low, &e.High} {
			if *x != nil {
				*x = new(k * **x)
			}
		}
		return &e
	}
	known := func(x float64) *results.Estimate { return &results.Estimate{Value: &x} }
	own := &results.Estimate{Why: "it has no counterpart"}
	one := func(x *float64) *results.Estimate {
		if x == nil {
			return &results.Estimate{Why: why}
		}
		return &results.Estimate{Value: x, N: f.kappa.N}
	}
	t.Rows = [][]results.Cell{
		{study.Text("alpha (tone above fidelity)"), study.Value(scaled(1.5)), study.Value(known(1.092))},
		{study.Text("beta (fidelity above tone)"), study.Value(scaled(1)), study.Value(known(0.728))},
		{study.Text("mean squared error"), study.Value(one(f.mse)), study.Value(one(f.used.mse))},
		{study.Text("share of answers whose penalty is cut at 1"), study.Value(one(f.cut)), study.Value(one(f.used.cut))},
		{study.Text("share of answers without penalty"), study.Value(one(f.zero)), study.Value(own)},
	}
	s := results.Section{Name: name, Title: "The penalty of CC", Tables: []results.Table{t}}
	if f.active {
		s.Warnings = append(s.Warnings, "With the fitted value the penalty of some answers is cut at 1, so that least squares without a cut is not exact.")
	}
	return s
}
