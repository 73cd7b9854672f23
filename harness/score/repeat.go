package score

import (
	"assay/results"
	"assay/results/stats"
)

// Then is a function of another metric, computed anew in every replicate; false:
// it does not exist.
func Then(f Sum, of func(float64) (float64, bool)) Sum {
	return func(g Group) GroupValue {
		v := f(g)
		before := v.Of
		v.Of = func(sums []float64) (float64, bool) {
			x, ok := before(sums)
			if !ok {
				return 0, false
			}
			return of(x)
		}
		return v
	}
}

// Repeated says whether any item was answered in more than one repeat.
func (m *Model) Repeated() bool { return len(m.repeats) > 1 }

// PassHat is pass^k in per cent: the chance that k repeats of an item, drawn at
// random without putting back, are all 1, mean over the items with k known; k 0: all
// repeats of the model, which is joint correctness; EveryTrial: all trials of the item in the
// group, at all of which it has to be known. It is of a leaf of 0 and 1 that
// no judge gives and that is Fixed (Yao et al. 2024, tau-bench).
func PassHat(name string, k int) Direct {
	return func(r Row) *results.Estimate {
		want := k
		if k == 0 {
			want = len(r.repeats)
		}
		hits, known, asked := r.votes(name)
		at := r.Sample.Fraction()
		var n Count
		for i := range hits {
			if k == EveryTrial {
				want = int(asked[i])
			}
			p, ok := passHat(int(known[i]), int(hits[i]), want)
			switch {
			case ok:
				r.Sample.Add(at.Num, i, p)
				r.Sample.Add(at.Den, i, 1)
				n.N++
			case asked[i] > 0:
				n.Undefined++
			}
		}
		e := r.Sample.Rests(r.Sample.Sums(at.Percent), nil, at.Den)
		share := share(func(c clusters) (stats.Share, bool) { return byJudge{{at}}.share(c) })
		r.Sample.by(e, share.times(100), nil)
		return n.Of(e, "no item with so many repeats")
	}
}

// EveryTrial, for PassHat, is as many as there are of each item.
const EveryTrial = -1

// passHat is C(c,k) / C(n,k); false: there are no k of n.
func passHat(n, c, k int) (float64, bool) {
	if k < 1 || k > n {
		return 0, false
	}
	p := 1.
	for i := range k {
		p *= float64(max(c-i, 0)) / float64(n-i)
	}
	return p, true
}
