package metric

import (
	"fmt"
	"math"
	"slices"

	"assay/harness/metric/draws"
	"assay/results"
	"assay/results/stats"
)

// Sample computes many scores of the same items from one bootstrap: every
// replicate draws items once, for all scores, so that scores which are compared
// are resampled together (metrics.md section 0). Its draws are those of
// stats.Bootstrap with the same seed.
//
//  1. Column makes a column of numbers, one per item; Item makes an item; Add
//     fills in numbers.
//  2. Sums and Several say how scores follow from them; each gives an Estimate
//     that is still empty.
//  3. Run fills the Estimates.
type Sample struct {
	n, room int
	cluster []int          // of each item
	named   map[string]int // clusters of several items
	shares  []share
	columns [][]float64 // with room for more items than there are
	totals  []float64   // of columns, once Run has let go of them
	draw    int         // how often scores were computed
	sums    []func(sums []float64) (float64, bool)
	weights []weighing
	scores  []*results.Estimate // those of sums first, then those of weights
	tail    []*results.Estimate
	kept    map[*results.Estimate][]float64
	pool    *draws.Pool // of samples that draw the same; nil: there are no others
}

type weighing struct {
	outs int
	f    func(sums []float64, w []uint8, out []float64)
}

// Item adds an item, with 0 in every column, and returns its index.
func (s *Sample) Item() int {
	if s.n++; s.n > s.room { // all columns at once, and not for every item
		s.room = max(64, s.n+s.n/4)
		for i, c := range s.columns {
			s.columns[i] = make([]float64, s.room)
			copy(s.columns[i], c)
		}
	}
	s.cluster = append(s.cluster, s.n-1)
	return s.n - 1
}

// Cluster puts an item among those of the same name, such as the questions about
// one picture; "" leaves it by itself.
func (s *Sample) Cluster(item int, name string) {
	if name == "" {
		return
	}
	if s.named == nil {
		s.named = map[string]int{}
	}
	if _, ok := s.named[name]; !ok {
		s.named[name] = item
	}
	s.cluster[item] = s.named[name]
}

// share is a proportion with an interval that rests on clusters.
type share struct {
	of  []Fraction
	est *results.Estimate
}

// Wilson adds the share, in per cent, of what fractions count together, with
// Wilson's interval over clusters: the mean of the clusters' own shares. N is the
// number of clusters that have a case; why is said where none has.
func (s *Sample) Wilson(why string, of ...Fraction) *results.Estimate {
	e := &results.Estimate{Why: why}
	s.shares = append(s.shares, share{of, e})
	return e
}

// shared computes the shares, while the columns are there.
func (s *Sample) shared() {
	num, den := make([]float64, s.n), make([]float64, s.n)
	for _, x := range s.shares {
		clear(num)
		clear(den)
		for item, c := range s.cluster {
			for _, f := range x.of {
				num[c] += s.columns[f.Num][item]
				den[c] += s.columns[f.Den][item]
			}
		}
		var means []float64
		for c, n := range den {
			if n > 0 {
				means = append(means, num[c]/n)
			}
		}
		w := stats.WilsonClusters(means, stats.Z95)
		x.est.N = w.Clusters
		if w.P == nil {
			continue
		}
		x.est.Why = string(w.Why)
		v := 100 * *w.P
		x.est.Value = &v
		if w.Low != nil {
			low, high := 100**w.Low, 100**w.High
			x.est.Low, x.est.High = &low, &high
		}
	}
}

// Keep has a score's replicates kept: those of Replicate.
func (s *Sample) Keep(e *results.Estimate) {
	if s.kept == nil {
		s.kept = map[*results.Estimate][]float64{}
	}
	s.kept[e] = nil
}

// Replicate is a kept score's in each draw, NaN where it does not exist; none where the score
// does not exist, or follows from none of the draws.
func (s *Sample) Replicate(e *results.Estimate) []float64 { return s.kept[e] }

// N is the number of items.
func (s *Sample) N() int { return s.n }

// Column adds a column of zeros and returns its index.
func (s *Sample) Column() int {
	s.columns = append(s.columns, make([]float64, max(s.n, s.room)))
	return len(s.columns) - 1
}

// Add adds v to an item's number in a column.
func (s *Sample) Add(column, item int, v float64) { s.columns[column][item] += v }

// Sum is the sum of a column, also after Run.
func (s *Sample) Sum(column int) float64 {
	if s.totals != nil {
		return s.totals[column]
	}
	var t float64
	for _, v := range s.columns[column][:s.n] {
		t += v
	}
	return t
}

// Sums adds a score that follows from the columns' sums: means, ratios of sums,
// differences. f returns false where the score does not exist. The caller sets
// what else the estimate says (N, Invalid, Undefined, Why).
func (s *Sample) Sums(f func(sums []float64) (float64, bool)) *results.Estimate {
	e := &results.Estimate{}
	s.sums = append(s.sums, f)
	s.scores = append(s.scores, e)
	return e
}

// Several adds scores that follow from the columns' sums or from how often each item was
// drawn; w is 1 for every item when the value itself is computed. f writes one number per
// score, NaN where it does not exist, and must not keep w. It is never called by two
// goroutines at once, so that it may have room of its own.
func (s *Sample) Several(outs int, f func(sums []float64, w []uint8, out []float64)) []*results.Estimate {
	s.weights = append(s.weights, weighing{outs, f})
	list := make([]*results.Estimate, outs)
	for i := range list {
		list[i] = &results.Estimate{}
		s.tail = append(s.tail, list[i])
	}
	return list
}

// Replicates is how many replicates a bootstrap of n items takes: 10,000, and
// fewer above 5,000 items, where the ends of an interval have long settled.
func Replicates(n int) int {
	const full, drawn = 10_000, 50_000_000
	if n*full <= drawn {
		return full
	}
	return max(drawn/n, 1000)
}

// Run computes every score with its 95 % percentile interval from b replicates.
// A score that does not exist keeps a nil Value and gets a Why, unless it has
// one; that of a score that exists is cleared. Replicates where a score does not
// exist are dropped. Run is the end of a sample: it lets go of the columns.
func (s *Sample) Run(seed uint64, b int) {
	if b <= 0 {
		panic("metric: internal error: a bootstrap without replicates")
	}
	all := slices.Concat(s.scores, s.tail)
	values := make([]float64, len(all))
	w := make([]uint8, s.n)
	for i := range w {
		w[i] = 1
	}
	k := len(s.columns)
	s.shared()
	defer func() {
		s.draw++ // totals are of none (Group.Now)
		s.columns, s.shares, s.sums, s.weights, s.scores, s.tail, s.pool = nil, nil, nil, nil, nil, nil, nil
	}()
	sums := make([]float64, k)
	for j := range s.columns {
		sums[j] = s.Sum(j)
	}
	s.totals = slices.Clone(sums)
	s.compute(sums, w, values)
	defined := false
	for i, e := range all {
		switch v := values[i]; {
		case !math.IsNaN(v):
			e.Value, e.Why = &v, ""
			defined = true
		case e.Why == "" && e.N == 0:
			e.Why = string(stats.NoCases)
		case e.Why == "":
			e.Why = string(stats.ZeroDivisor)
		}
	}
	if !defined || s.n == 0 {
		return
	}
	if s.n <= draws.Few {
		s.few(draws.Repeat(s.n, b, seed), all)
		return
	}
	for j, c := range s.columns {
		s.columns[j] = c[:s.n]
	}
	d, tails := s.pool.Of(s.columns, s.n, seed), draws.TailsOf(len(all), b)
	s.columns = nil
	kept := map[int][]float64{}
	for i, e := range all {
		if _, keep := s.kept[e]; keep && e.Value != nil {
			kept[i] = nil
		}
	}
	for range b {
		d.Next()
		d.Sum(sums)
		s.compute(sums, d.Counts(), values)
		tails.Add(values)
		for i := range kept {
			kept[i] = append(kept[i], values[i])
		}
	}
	for i, e := range all {
		if low, high, ok := tails.Ends(i); ok && e.Value != nil {
			e.Low, e.High = &low, &high
		}
		if r, keep := kept[i]; keep {
			s.kept[e] = r
		}
	}
}

// few is the end of Run where few items make many replicates alike.
func (s *Sample) few(r *draws.Repeated, all []*results.Estimate) {
	sums, of := make([]float64, len(s.columns)), make([]float64, len(r.Different))
	values := make([][]float64, len(of))
	for i, w := range r.Different {
		r.Sum(i, s.columns, sums)
		values[i] = make([]float64, len(all))
		s.compute(sums, w, values[i])
	}
	for q, e := range all {
		if e.Value == nil {
			continue
		}
		for i := range of {
			of[i] = values[i][q]
		}
		if low, high, ok := r.Ends(of); ok {
			e.Low, e.High = &low, &high
		}
		if kept, keep := s.kept[e]; keep {
			for _, at := range r.Of {
				kept = append(kept, of[at])
			}
			s.kept[e] = kept
		}
	}
}

// compute writes every score of one draw, NaN where it does not exist.
func (s *Sample) compute(sums []float64, w []uint8, out []float64) {
	s.draw++
	for i, f := range s.sums {
		v, ok := f(sums)
		if !ok {
			v = math.NaN()
		} else if math.IsNaN(v) || math.IsInf(v, 0) {
			panic(fmt.Sprintf("metric: internal error: score %d is %v", i, v))
		}
		out[i] = v
	}
	at := len(s.sums)
	for _, x := range s.weights {
		x.f(sums, w, out[at:at+x.outs])
		at += x.outs
	}
}
