package curate

import (
	"math/rand/v2"
	"strings"

	"assay/results"
	"assay/results/stats"
	"assay/results/text"
)

// measuredText is a continuation beside the half that was held back.
type measuredText struct {
	answer
	Windowed text.Continued // beside its own half
	Original float64        // indel ratio with its own half, of two decimals
	// The same beside the half of another text.
	Unrelated         text.Continued
	UnrelatedOriginal float64
	Other             string // the item of that text
}

// measured compares a model's answers, but for those of texts too short to be halved
// and, where there is but one, that: it has no other beside it.
func measured(m continuedModel, set ContaminationSettings) (list []measuredText, short int) {
	var of []answer
	for _, a := range m.Answers {
		if a.Rest == "" {
			short++
			continue
		}
		of = append(of, a)
	}
	if len(of) < 2 {
		return nil, short
	}
	// In a circle through all texts nobody meets himself.
	order := rand.New(rand.NewPCG(set.Seed, uint64(len(of)))).Perm(len(of))
	other := make([]int, len(of))
	for k, i := range order {
		other[i] = order[(k+1)%len(order)]
	}
	for i, a := range of {
		said := a.beginsAfresh()
		own, _ := text.Windowed(said, a.Rest, set.Reach)
		another, _ := text.Windowed(said, of[other[i]].Rest, set.Reach)
		list = append(list, measuredText{answer: a, Windowed: own, Original: text.IndelRatio(said, a.Rest),
			Unrelated: another, UnrelatedOriginal: text.IndelRatio(said, of[other[i]].Rest), Other: of[other[i]].Item})
	}
	return list, short
}

// beginsAfresh is what was said without the beginning, which models repeat in a chat.
func (a answer) beginsAfresh() string {
	s := strings.TrimSpace(a.Said)
	if rest, ok := strings.CutPrefix(s, a.Head); ok && a.Way == chat {
		s = strings.TrimSpace(rest)
	}
	return s
}

// contaminationResult is what a model's continuations say of it.
type contaminationResult struct {
	continuedModel
	Measured []measuredText
	TooShort int // texts that could not be halved

	Known, UnrelatedKnown   *results.Estimate // share of texts at or above the threshold, per cent, by windows
	Gain                    *results.Estimate // points between the two, of the same texts
	P, Holm                 *float64          // of no difference (stats.SignFlips), and over all models; nil: nothing was compared
	Rho, UnrelatedRho       *results.Estimate // mean rho
	Original, UnrelatedOrig *results.Estimate // share of texts above the threshold, per cent, as MELD was first published
	// Flagged: more are known than unrelated ones, and Holm is below 0.05. nil: nothing was compared.
	Flagged *bool
}

// measureContamination says what each model's continuations say of it.
func measureContamination(models []continuedModel, set ContaminationSettings) []contaminationResult {
	var out []contaminationResult
	for _, m := range models {
		r := contaminationResult{continuedModel: m}
		r.Measured, r.TooShort = measured(m, set)
		of := stats.ClustersOf(len(r.Measured), func(i int) string { return r.Measured[i].Cluster })
		estimate := func(value, low, high *float64, scale float64, clusters int, why stats.Undefined) *results.Estimate {
			e := &results.Estimate{N: len(r.Measured), Undefined: r.TooShort, Invalid: m.Failed, Clusters: clusters, Why: string(why)}
			if value == nil {
				e.Why = noAnswers
				return e
			}
			e.Value = new(scale * *value)
			if low != nil {
				e.Low, e.High = new(scale*(*low)), new(scale*(*high))
			}
			return e
		}
		mean := func(scale float64, x []float64) *results.Estimate {
			sums, texts := make([]float64, len(of)), make([]float64, len(of))
			for i, c := range of {
				sums[c], texts[c] = sums[c]+x[i], texts[c]+1
			}
			s := stats.ShareOf(sums, texts)
			return estimate(s.P, s.Low, s.High, scale, s.Clusters, s.Why)
		}
		each := func(of func(measuredText) float64) (x []float64) {
			for _, m := range r.Measured {
				x = append(x, of(m))
			}
			return x
		}
		is := func(yes bool) float64 { return map[bool]float64{true: 1}[yes] }
		known := each(func(x measuredText) float64 { return is(x.Windowed.Similarity >= set.Threshold) })
		unrelated := each(func(x measuredText) float64 { return is(x.Unrelated.Similarity >= set.Threshold) })
		r.Known, r.UnrelatedKnown = mean(100, known), mean(100, unrelated)
		r.Original = mean(100, each(func(x measuredText) float64 { return is(x.Original > set.Threshold) }))
		r.UnrelatedOrig = mean(100, each(func(x measuredText) float64 { return is(x.UnrelatedOriginal > set.Threshold) }))
		r.Rho = mean(1, each(func(x measuredText) float64 { return x.Windowed.Similarity }))
		r.UnrelatedRho = mean(1, each(func(x measuredText) float64 { return x.Unrelated.Similarity }))
		d := stats.Paired{A: unrelated, B: known, Cluster: of}.Difference(true, stats.Bootstrap{})
		r.Gain, r.P = estimate(d.Value, d.Low, d.High, 100, d.Clusters, d.Why), d.P
		out = append(out, r)
	}
	var ps []*float64
	for _, r := range out {
		ps = append(ps, r.P)
	}
	for i, p := range stats.Holm(ps) {
		if out[i].Holm = p; p != nil {
			out[i].Flagged = new(*p < level && *out[i].Gain.Value > 0)
		}
	}
	return out
}

// level is below which a corrected p flags a model.
const level = 0.05

const noAnswers = "fewer than two texts have a continuation"
