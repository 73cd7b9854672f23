package stats

import (
	"math"
	"slices"
)

// Rating is a number that a rater gave a case, where he gave one.
type Rating struct {
	Value float64
	Given bool
}

// Ratings are those of a panel: one row for each rater, one column for each case.
type Ratings [][]Rating

// Cases is the number of columns.
func (r Ratings) Cases() int {
	if len(r) == 0 {
		return 0
	}
	return len(r[0])
}

// rounding is below any difference that means something: what two sums of the same
// numbers differ by is no order.
const rounding = 1e-12

// Standard is each rater's ratings as z = (rating - mean) / SD (divisor n) over what
// he rated. A rater whose ratings are all equal tells nothing apart: his row is empty
// and he is not used.
func (r Ratings) Standard() (z Ratings, used []bool) {
	for _, row := range r {
		var given []float64
		for _, x := range row {
			if x.Given {
				given = append(given, x.Value)
			}
		}
		out := make([]Rating, len(row))
		varies := len(given) > 0 && slices.Min(given) != slices.Max(given)
		if varies {
			m, _ := Mean(given)
			var d []float64
			for _, x := range given {
				d = append(d, (x-m)*(x-m))
			}
			sigma := math.Sqrt(sum(d) / float64(len(d)))
			for i, x := range row {
				if x.Given {
					out[i] = Rating{(x.Value - m) / sigma, true}
				}
			}
		}
		z, used = append(z, out), append(used, varies)
	}
	return z, used
}

// Consensus is the mean of the standard ratings that a case has, of raters counted so
// often (nil: once each); a case without one has none. The receiver is Standard's.
func (r Ratings) Consensus(times []int) []Rating {
	out := make([]Rating, r.Cases())
	for c := range out {
		var s, n float64
		for i, row := range r {
			w := 1.0
			if times != nil {
				w = float64(times[i])
			}
			if row[c].Given && w > 0 {
				s, n = s+w*row[c].Value, n+w
			}
		}
		if n > 0 {
			out[c] = Rating{math.Round(s/n/rounding) * rounding, true}
		}
	}
	return out
}

// Both are the values of the cases that both sides have.
func Both(a, b []Rating) (x, y []float64, cases []int) {
	for i := range a {
		if a[i].Given && b[i].Given {
			x, y, cases = append(x, a[i].Value), append(y, b[i].Value), append(cases, i)
		}
	}
	return x, y, cases
}

// Others is the consensus of a panel without one rater.
func (r Ratings) Others(rater int) []Rating {
	z, _ := slices.Concat(r[:rater:rater], r[rater+1:]).Standard()
	if len(z) == 0 {
		return make([]Rating, r.Cases())
	}
	return z.Consensus(nil)
}

// Level is what differences between ratings mean.
type Level int

const (
	Nominal  Level = iota // another rating is another
	Ordinal               // how many ratings lie between two tells how far they are apart
	Interval              // their difference does
)

// Panel counts how raters agree; a statistic of it takes cases and raters by index,
// each as often as it was drawn. A rater who was drawn twice is not compared with
// himself.
type Panel struct {
	levels   []float64 // distinct values, ascending
	at       [][]int   // level by rater and case; -1: no rating
	declared int       // how many levels the scale has
}

// NewPanel looks at ratings. declared is how many grades their scale has, used or not;
// 0: those that were used.
func NewPanel(r Ratings, declared int) *Panel {
	p := &Panel{}
	for _, row := range r {
		for _, x := range row {
			if x.Given {
				p.levels = append(p.levels, x.Value)
			}
		}
	}
	slices.Sort(p.levels)
	p.levels = slices.Compact(p.levels)
	for _, row := range r {
		at := make([]int, len(row))
		for i, x := range row {
			at[i] = -1
			if x.Given {
				at[i], _ = slices.BinarySearch(p.levels, x.Value)
			}
		}
		p.at = append(p.at, at)
	}
	p.declared = max(declared, len(p.levels))
	return p
}

// PanelStat is a statistic of a panel's cases and raters.
type PanelStat func(cases, raters []int) (float64, Undefined)

// Whole is a statistic of all cases and raters.
func (p *Panel) Whole(f PanelStat) (float64, Undefined) {
	if len(p.at) == 0 {
		return 0, NoCases
	}
	return f(upTo(len(p.at[0])), upTo(len(p.at)))
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// tally is how one case was rated.
type tally struct {
	n     float64   // ratings
	by    []float64 // ratings by level
	pairs float64   // ordered pairs of different raters
	same  float64   // of them with the same level
}

// visit tallies each case as often as it was drawn.
func (p *Panel) visit(cases, raters []int, each func(times float64, t *tally, seen []int, weight []float64)) {
	if len(p.at) == 0 {
		return
	}
	drawn := make([]float64, len(p.at[0]))
	for _, c := range cases {
		drawn[c]++
	}
	times := make([]float64, len(p.at))
	for _, r := range raters {
		times[r]++
	}
	t := &tally{by: make([]float64, len(p.levels))}
	seen, weight := make([]int, 0, len(p.at)), make([]float64, 0, len(p.at))
	for c, k := range drawn {
		if k == 0 {
			continue
		}
		seen, weight = seen[:0], weight[:0]
		clear(t.by)
		t.n, t.pairs, t.same = 0, 0, 0
		for r, w := range times {
			if l := p.at[r][c]; l >= 0 && w > 0 {
				t.pairs += 2 * w * t.n
				for i, before := range seen {
					if before == l {
						t.same += 2 * w * weight[i]
					}
				}
				t.n += w
				t.by[l] += w
				seen, weight = append(seen, l), append(weight, w)
			}
		}
		each(k, t, seen, weight)
	}
}

// Reasons of agreement that does not exist.
const (
	oneLevel      Undefined = "all ratings that can be compared are equal"
	noPairs       Undefined = "no case has two ratings"
	unevenRatings Undefined = "cases have different numbers of ratings"
)

// Alpha is Krippendorff's alpha (Krippendorff 2011), from the coincidences of values
// in cases with two ratings and more.
func (p *Panel) Alpha(level Level) PanelStat {
	k := len(p.levels)
	return func(cases, raters []int) (float64, Undefined) {
		o := make([]float64, k*k)
		p.visit(cases, raters, func(times float64, t *tally, seen []int, weight []float64) {
			if t.pairs == 0 {
				return
			}
			scale := times * float64(len(seen)) / t.pairs
			for i, a := range seen {
				for j, b := range seen[:i] {
					w := scale * weight[i] * weight[j]
					o[a*k+b] += w
					o[b*k+a] += w
				}
			}
		})
		share, n, used := make([]float64, k), 0.0, 0
		for c := range k {
			for _, w := range o[c*k : c*k+k] {
				share[c] += w
			}
			n += share[c]
			if share[c] > 0 {
				used++
			}
		}
		switch used {
		case 0:
			return 0, noPairs
		case 1:
			return 0, oneLevel
		}
		var seen, chance float64
		for c := range k {
			between := share[c] / 2
			for d := c + 1; d < k; d++ {
				between += share[d] / 2
				far := 1.0
				switch level {
				case Ordinal:
					far = between * between
				case Interval:
					far = (p.levels[c] - p.levels[d]) * (p.levels[c] - p.levels[d])
				}
				between += share[d] / 2
				seen += o[c*k+d] * far
				chance += share[c] * share[d] * far
			}
		}
		return 1 - (n-1)*seen/chance, ""
	}
}

// Fleiss is Fleiss' kappa (Fleiss 1971) of cases that all have the same number of
// ratings. Where raters are drawn, so many may be one rater's.
func (p *Panel) Fleiss(cases, raters []int) (float64, Undefined) {
	var seen, n, ratings float64
	m, uneven, alone := -1.0, false, false
	by := make([]float64, len(p.levels))
	p.visit(cases, raters, func(times float64, t *tally, _ []int, _ []float64) {
		if m >= 0 && t.n != m {
			uneven = true
		}
		m = t.n
		if t.pairs == 0 {
			alone = true
			return
		}
		seen += times * t.same / t.pairs
		n += times
		for l, w := range t.by {
			by[l] += times * w
		}
		ratings += times * t.n
	})
	switch {
	case m < 0:
		return 0, NoCases
	case uneven:
		return 0, unevenRatings
	case alone:
		return 0, noPairs
	}
	var chance float64
	for _, w := range by {
		chance += w / ratings * (w / ratings)
	}
	if slices.Max(by) == ratings {
		return 0, oneLevel
	}
	return (seen/n - chance) / (1 - chance), ""
}

// AC1 is Gwet's first agreement coefficient (Gwet 2008), of any number of raters and
// with ratings missing.
func (p *Panel) AC1(cases, raters []int) (float64, Undefined) {
	if p.declared < 2 {
		return 0, oneLevel
	}
	var seen, pairable, rated float64
	share := make([]float64, len(p.levels))
	p.visit(cases, raters, func(times float64, t *tally, _ []int, _ []float64) {
		if t.n == 0 {
			return
		}
		rated += times
		for l, w := range t.by {
			share[l] += times * w / t.n
		}
		if t.pairs > 0 {
			seen += times * t.same / t.pairs
			pairable += times
		}
	})
	if pairable == 0 {
		return 0, noPairs
	}
	var chance float64
	for _, s := range share {
		chance += s / rated * (1 - s/rated)
	}
	chance /= float64(p.declared - 1)
	return (seen/pairable - chance) / (1 - chance), ""
}

// Shares are how often each level was given, in ascending order of levels, of all
// ratings.
func (p *Panel) Shares() (levels, shares []float64) {
	var n float64
	shares = make([]float64, len(p.levels))
	for _, row := range p.at {
		for _, l := range row {
			if l >= 0 {
				shares[l]++
				n++
			}
		}
	}
	for i := range shares {
		shares[i] /= n
	}
	return p.levels, shares
}
