package metric

import (
	"math"
	"slices"

	"assay/results"
)

// stratified is a metric over the items of one stratum.
type stratified struct {
	kind, stratum int
	value         Value
	est           *results.Estimate // filled when the sample has run
}

// stratify adds the metrics of strata to the sample. Their sums are taken from the
// columns of all items: sorting items into strata costs no memory.
func (m *Model) stratify() {
	for kind, of := range m.strata {
		var own []stratified
		for _, x := range m.within {
			if x.kind == kind {
				own = append(own, x)
			}
		}
		if len(own) == 0 {
			continue
		}
		for i, e := range m.Sample.within(of, len(m.run.strata[kind]), own) {
			to := own[i].est
			e.N, e.Undefined, e.Invalid, e.Why = to.N, to.Undefined, to.Invalid, to.Why
			m.after = append(m.after, func() { *to = *e })
		}
	}
}

// within adds values over the sums of strata; of is each item's, -1 where it is in
// none.
func (s *Sample) within(of []int32, strata int, values []stratified) []*results.Estimate {
	var columns []int // that any value uses, equal ones once
	at := map[int]int{}
	need := func(c int) {
		if _, ok := at[c]; ok {
			return
		}
		same := slices.IndexFunc(columns, func(d int) bool { return slices.Equal(s.columns[d], s.columns[c]) })
		if same < 0 {
			same, columns = len(columns), append(columns, c)
		}
		at[c] = same
	}
	for _, v := range values {
		for _, f := range v.value.Uses {
			need(f.Num)
			need(f.Den)
		}
	}
	parts := make([][]float64, len(columns)) // by stratum, from 1; 0: of none
	for d := range parts {
		parts[d] = make([]float64, strata+1)
	}
	sums := make([]float64, len(s.columns))
	used := make([][][2]int, len(values)) // by value: column, place of its part
	for i, v := range values {
		for _, f := range v.value.Uses {
			used[i] = append(used[i], [2]int{f.Num, at[f.Num]}, [2]int{f.Den, at[f.Den]})
		}
	}
	return s.Weights(len(values), func(w []int32, out []float64) {
		for d, c := range columns {
			part, column := parts[d], s.columns[c][:len(w)]
			clear(part)
			for i, n := range w {
				part[of[i]+1] += float64(n) * column[i]
			}
		}
		for i, v := range values {
			for _, u := range used[i] {
				sums[u[0]] = parts[u[1]][v.stratum+1]
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
func (s *Sample) into(sum []float64, column int) {
	for i, v := range s.columns[column] {
		sum[i] += v
	}
}
