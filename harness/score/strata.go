package score

import (
	"math"
	"slices"

	"assay/results"
)

// stratified is a metric over the items of one stratum.
type stratified struct {
	kind, stratum int
	value         GroupValue
	est           *results.Estimate // filled when the sample has run
}

// stratify adds the metrics of strata to the sample.
func (m *Model) stratify() {
	for kind, of := range m.strata {
		own := slices.DeleteFunc(slices.Clone(m.within), func(x stratified) bool { return x.kind != kind })
		if len(own) == 0 {
			continue
		}
		for i, e := range m.Sample.within(of, len(m.run.strata[kind]), own) {
			to := own[i].est
			e.N, e.Undefined, e.Invalid, e.Why = to.N, to.Undefined, to.Invalid, to.Why
			in := func(item int) bool { return of[item] == int32(own[i].stratum) }
			m.Sample.Rests(e, in, own[i].value.columns()...)
			if own[i].value.Ends != nil {
				m.Sample.by(e, own[i].value.Ends, in)
			}
			m.after = append(m.after, func() { *to = *e })
		}
	}
}

// within adds values over the sums of strata; of is each item's, -1 where it is in
// none. A stratum has columns of its own: those of all items, 0 outside of it.
func (s *PairSample) within(of []int32, strata int, values []stratified) []*results.Estimate {
	sums := make([]float64, len(s.columns))
	split := map[int][]int{} // by column: those of the strata
	need := func(c int) {
		if split[c] != nil {
			return
		}
		first := len(s.columns)
		for range strata {
			split[c] = append(split[c], s.Column())
		}
		for item, v := range s.columns[c][:s.n] {
			if of[item] >= 0 {
				s.Add(first+int(of[item]), item, v)
			}
		}
	}
	moves := make([][][2]int, len(values)) // from a stratum's columns to those that values look at
	for i, v := range values {
		for _, f := range v.value.Uses {
			need(f.Num)
			need(f.Den)
			moves[i] = append(moves[i], [2]int{split[f.Num][v.stratum], f.Num}, [2]int{split[f.Den][v.stratum], f.Den})
		}
	}
	return s.Several(len(values), func(all []float64, _ []uint8, out []float64) {
		for i, v := range values {
			for _, m := range moves[i] {
				sums[m[1]] = all[m[0]]
			}
			x, ok := v.value.Of(sums)
			if !ok {
				x = math.NaN()
			}
			out[i] = x
		}
	})
}

// into adds a column to one number for each item.
func (s *PairSample) into(sum []float64, column int) {
	for i, v := range s.columns[column][:s.n] {
		sum[i] += v
	}
}
