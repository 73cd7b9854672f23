package contamination

import (
	"math/rand/v2"
	"strings"

	"assay/results"
	"assay/results/stats"
	"assay/results/text"
)

// Measured is a continuation beside the half that was held back.
type Measured struct {
	Answer
	Windowed text.Continued // beside its own half
	Original float64        // indel ratio with its own half, of two decimals
	// The same beside the half of another text.
	Unrelated         text.Continued
	UnrelatedOriginal float64
	Other             string // the item of that text
}

// measured compares a model's answers, but for those of texts too short to be halved
// and, where there is but one, that: it has no other beside it.
func measured(m Model, set Settings) (list []Measured, short int) {
	var of []Answer
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
		list = append(list, Measured{Answer: a, Windowed: own, Original: text.IndelRatio(said, a.Rest),
			Unrelated: another, UnrelatedOriginal: text.IndelRatio(said, of[other[i]].Rest), Other: of[other[i]].Item})
	}
	return list, short
}

// beginsAfresh is what was said without the beginning, which models repeat in a chat.
func (a Answer) beginsAfresh() string {
	s := strings.TrimSpace(a.Said)
	if rest, ok := strings.CutPrefix(s, a.Head); ok && a.Way == Chat {
		s = strings.TrimSpace(rest)
	}
	return s
}

// Result is what a model's continuations say of it.
type Result struct {
	Model
	Measured []Measured
	TooShort int // texts that could not be halved

	Known, UnrelatedKnown   *results.Estimate // share of texts at or above the threshold, per cent, by windows
	Gain                    *results.Estimate // points between the two, of the same texts
	Rho, UnrelatedRho       *results.Estimate // mean rho
	Original, UnrelatedOrig *results.Estimate // share of texts above the threshold, per cent, as MELD was first published
	// Flagged: the interval of Gain lies above 0. nil: there is none.
	Flagged *bool
}

// Of says what each model's continuations say of it.
func Of(models []Model, set Settings) []Result {
	var out []Result
	for _, m := range models {
		r := Result{Model: m}
		r.Measured, r.TooShort = measured(m, set)
		share := func(hit func(Measured) bool) *results.Estimate {
			k, n := 0, len(r.Measured)
			for _, x := range r.Measured {
				if hit(x) {
					k++
				}
			}
			e := &results.Estimate{N: n, Undefined: r.TooShort, Invalid: m.Failed, Why: noAnswers}
			if low, high, ok := stats.Wilson(k, n, stats.Z95); ok {
				v, l, h := 100*float64(k)/float64(n), 100*low, 100*high
				e.Value, e.Low, e.High, e.Why = &v, &l, &h, ""
			}
			return e
		}
		boot := stats.Bootstrap{Seed: set.Seed, B: set.Draws, Alpha: 0.05}
		mean := func(of func(Measured) float64) *results.Estimate {
			e := &results.Estimate{N: len(r.Measured), Undefined: r.TooShort, Invalid: m.Failed, Why: noAnswers}
			if len(r.Measured) == 0 {
				return e
			}
			col, n := make([]float64, len(r.Measured)), float64(len(r.Measured))
			for i, x := range r.Measured {
				col[i] = of(x)
			}
			got := boot.Sums([][]float64{col}, func(sums []float64) (float64, bool) { return sums[0] / n, true })
			e.Value, e.Low, e.High, e.Why = got.Value, got.Low, got.High, ""
			return e
		}
		known := func(c text.Continued) bool { return c.Similarity >= set.Threshold }
		r.Known = share(func(x Measured) bool { return known(x.Windowed) })
		r.UnrelatedKnown = share(func(x Measured) bool { return known(x.Unrelated) })
		r.Original = share(func(x Measured) bool { return x.Original > set.Threshold })
		r.UnrelatedOrig = share(func(x Measured) bool { return x.UnrelatedOriginal > set.Threshold })
		r.Rho = mean(func(x Measured) float64 { return x.Windowed.Similarity })
		r.UnrelatedRho = mean(func(x Measured) float64 { return x.Unrelated.Similarity })
		r.Gain = mean(func(x Measured) float64 {
			gain := 0.
			if known(x.Windowed) {
				gain += 100
			}
			if known(x.Unrelated) {
				gain -= 100
			}
			return gain
		})
		if r.Gain.Low != nil {
			flagged := *r.Gain.Low > 0
			r.Flagged = &flagged
		}
		out = append(out, r)
	}
	return out
}

const noAnswers = "fewer than two texts have a continuation"
