package score

import (
	"fmt"
	"math"
	"slices"

	"assay/results"
	"assay/results/stats"
)

// PairSample computes many scores of the same items from one bootstrap: every
// replicate draws clusters of items once, for all scores, so that scores which are
// compared are resampled together (metrics.md section 0). Its draws are those of
// stats.Bootstrap with the same seed.
//
//  1. Column makes a column of numbers, one per item; Item makes an item; Add
//     fills in numbers.
//  2. Sums and Several say how scores follow from them; each gives an Estimate
//     that is still empty.
//  3. by and Rests say what else an interval rests on. Run fills the Estimates.
type PairSample struct {
	n, room int
	cluster []int          // of each item
	named   map[string]int // clusters of several items
	drawn   []int          // of each item: its cluster, from 0, once Run has begun
	k       int            // clusters
	ends    []ending
	rests   map[*results.Estimate]resting
	columns [][]float64 // with room for more items than there are
	totals  []float64   // of columns, once Run has let go of them
	draw    int         // how often scores were computed
	sums    []func(sums []float64) (float64, bool)
	weights []weighing
	scores  []*results.Estimate // those of sums first, then those of weights
	tail    []*results.Estimate
	kept    map[*results.Estimate][]float64
}

type weighing struct {
	outs int
	f    func(sums []float64, w []uint8, out []float64)
}

// Item adds an item, with 0 in every column, and returns its index.
func (s *PairSample) Item() int {
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
func (s *PairSample) Cluster(item int, name string) {
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

// ends computes the interval of an estimate from sums of columns by cluster (see clusters),
// instead of percentiles of replicates. why is said where there is none.
type ends func(c clusters) (low, high float64, why stats.Undefined)

// by has an estimate's interval be computed by ends, over the items for which in holds; nil:
// all items.
func (s *PairSample) by(e *results.Estimate, ends ends, in func(item int) bool) {
	s.ends = append(s.ends, ending{e, ends, in})
}

type ending struct {
	est *results.Estimate
	of  ends
	in  func(item int) bool
}

// clusters tells sums of columns by cluster.
type clusters struct {
	s  *PairSample
	in func(item int) bool
}

// sum adds a column, by cluster.
func (c clusters) sum(column int, into []float64) {
	for item, k := range c.s.drawn {
		if c.in == nil || c.in(item) {
			into[k] += c.s.columns[column][item]
		}
	}
}

// zeros is a number for each cluster.
func (c clusters) zeros() []float64 { return make([]float64, c.s.k) }

// Rests says which columns an estimate rests on: clusters with a number in one of them are
// those that its interval stands on, of the items for which in holds. Without, all are.
func (s *PairSample) Rests(e *results.Estimate, in func(item int) bool, columns ...int) *results.Estimate {
	if s.rests == nil {
		s.rests = map[*results.Estimate]resting{}
	}
	s.rests[e] = resting{columns, in}
	return e
}

type resting struct {
	columns []int
	in      func(item int) bool
}

// held is how many clusters an estimate rests on.
func (s *PairSample) held(e *results.Estimate) int {
	r, known := s.rests[e]
	if !known {
		return s.k
	}
	seen, n := make([]bool, s.k), 0
	for _, c := range r.columns {
		for item, k := range s.drawn {
			if !seen[k] && s.columns[c][item] != 0 && (r.in == nil || r.in(item)) {
				seen[k] = true
				n++
			}
		}
	}
	return n
}

// gather numbers the clusters in the order of their first items.
func (s *PairSample) gather() {
	s.drawn = make([]int, s.n)
	at := map[int]int{}
	for item, c := range s.cluster {
		if _, ok := at[c]; !ok {
			at[c] = len(at)
		}
		s.drawn[item] = at[c]
	}
	s.k = len(at)
}

// Keep has a score's replicates kept: those of Replicate.
func (s *PairSample) Keep(e *results.Estimate) {
	if s.kept == nil {
		s.kept = map[*results.Estimate][]float64{}
	}
	s.kept[e] = nil
}

// Replicate is a kept score's in each draw, NaN where it does not exist; none where the score
// does not exist, or follows from none of the draws.
func (s *PairSample) Replicate(e *results.Estimate) []float64 { return s.kept[e] }

// N is the number of items.
func (s *PairSample) N() int { return s.n }

// Column adds a column of zeros and returns its index.
func (s *PairSample) Column() int {
	s.columns = append(s.columns, make([]float64, max(s.n, s.room)))
	return len(s.columns) - 1
}

// Add adds v to an item's number in a column.
func (s *PairSample) Add(column, item int, v float64) { s.columns[column][item] += v }

// Sum is the sum of a column, also after Run.
func (s *PairSample) Sum(column int) float64 {
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
func (s *PairSample) Sums(f func(sums []float64) (float64, bool)) *results.Estimate {
	e := &results.Estimate{}
	s.sums = append(s.sums, f)
	s.scores = append(s.scores, e)
	return e
}

// Several adds scores that follow from the columns' sums or from how often each item was
// drawn; w is 1 for every item when the value itself is computed. f writes one number per
// score, NaN where it does not exist, and must not keep w. It is never called by two
// goroutines at once, so that it may have room of its own.
func (s *PairSample) Several(outs int, f func(sums []float64, w []uint8, out []float64)) []*results.Estimate {
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

// Run computes every score with its 95 % CI: its own (by), or percentiles of b
// replicates of clusters, expanded for few of them.
// A score that does not exist keeps a nil Value and gets a Why, unless it has
// one; that of a score that exists says why it has no interval. Replicates where a score does
// not exist are dropped. Run is the end of a sample: it lets go of the columns.
func (s *PairSample) Run(seed uint64, b int) {
	if b <= 0 {
		panic("score: internal error: a bootstrap without replicates")
	}
	all := slices.Concat(s.scores, s.tail)
	values := make([]float64, len(all))
	s.gather()
	w := make([]uint8, s.n)
	for i := range w {
		w[i] = 1
	}
	defer func() {
		s.draw++ // totals are of none (Group.Now)
		s.columns, s.ends, s.rests, s.sums, s.weights, s.scores, s.tail = nil, nil, nil, nil, nil, nil, nil
	}()
	sums := make([]float64, len(s.columns))
	for j := range s.columns {
		sums[j] = s.Sum(j)
	}
	s.totals = slices.Clone(sums)
	s.compute(sums, w, values)
	defined := false
	for i, e := range all {
		switch v := stats.Settled(values[i]); {
		case !math.IsNaN(v):
			e.Value, e.Why = &v, ""
			e.Clusters = s.held(e)
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
	own := map[*results.Estimate]bool{}
	for _, x := range s.ends {
		if own[x.est] = true; x.est.Value == nil {
			continue
		}
		low, high, why := x.of(clusters{s, x.in})
		s.end(x.est, low, high, why)
	}
	// Replicates of the others would change nothing.
	s.only(func(e *results.Estimate) bool {
		_, keep := s.kept[e]
		return e.Value != nil && (keep || !own[e] && e.Clusters > 1)
	})
	again := slices.Concat(s.scores, s.tail)
	tails, kept, place := tailsOf(len(again), b), map[int][]float64{}, map[*results.Estimate]int{}
	for i, e := range again {
		place[e] = i
		if _, keep := s.kept[e]; keep && e.Value != nil {
			kept[i] = nil
		}
	}
	columns := s.byCluster()
	s.columns = nil
	if values = values[:len(again)]; len(again) == 0 {
		b = 0
	}
	d := newDraws(columns, s.k, seed)
	const most = 6 // clusters, of which 462 draws differ
	same := map[string][]float64{}
	for range b {
		d.Next()
		drawn, known := same[string(d.Counts())]
		if !known {
			d.Sum(sums)
			s.compute(sums, s.each(d.Counts(), w), values)
			if drawn = values; s.k <= most {
				drawn = slices.Clone(values)
				same[string(d.Counts())] = drawn
			}
		}
		tails.Add(drawn)
		for i := range kept {
			kept[i] = append(kept[i], drawn[i])
		}
	}
	for _, e := range all {
		if e.Value != nil && !own[e] {
			s.percentiles(e, func(tail float64) (float64, float64, bool) { return tails.Ends(place[e], tail) })
		}
	}
	for i, r := range kept {
		s.kept[again[i]] = r
	}
}

// only lets go of the scores that are not wanted, but for those that are computed together
// with one that is.
func (s *PairSample) only(want func(*results.Estimate) bool) {
	sums, scores, weights, tail := s.sums, s.scores, s.weights, s.tail
	s.sums, s.scores, s.weights, s.tail = nil, nil, nil, nil
	for i, e := range scores {
		if want(e) {
			s.sums, s.scores = append(s.sums, sums[i]), append(s.scores, e)
		}
	}
	for _, x := range weights {
		if slices.ContainsFunc(tail[:x.outs], want) {
			s.weights, s.tail = append(s.weights, x), append(s.tail, tail[:x.outs]...)
		}
		tail = tail[x.outs:]
	}
}

// byCluster is the columns' sums by cluster.
func (s *PairSample) byCluster() [][]float64 {
	out := make([][]float64, len(s.columns))
	for j, c := range s.columns {
		if out[j] = c[:s.n]; s.k < s.n {
			out[j] = make([]float64, s.k)
			clusters{s, nil}.sum(j, out[j])
		}
	}
	return out
}

// each is how often each item was drawn, written into w, from how often its cluster was.
func (s *PairSample) each(counts, w []uint8) []uint8 {
	if s.k == s.n || len(s.weights) == 0 {
		return counts
	}
	for item, k := range s.drawn {
		w[item] = counts[k]
	}
	return w
}

// percentiles sets an estimate's interval from what ends says of its replicates.
func (s *PairSample) percentiles(e *results.Estimate, ends func(tail float64) (low, high float64, ok bool)) {
	if e.Clusters < 2 {
		e.Why = string(stats.OneCluster)
		return
	}
	low, high, ok := ends(stats.TailOf(e.Clusters))
	switch {
	case !ok:
		e.Why = string(stats.NoReplicates)
	case stats.Same(low, high):
		e.Why = string(stats.Constant)
	default:
		s.end(e, low, high, "")
	}
}

// end sets an interval; why says why there is none.
func (s *PairSample) end(e *results.Estimate, low, high float64, why stats.Undefined) {
	if e.Why = string(why); why == "" {
		e.Low, e.High = new(stats.Settled(low)), new(stats.Settled(high))
	}
}

// compute writes every score of one draw, NaN where it does not exist.
func (s *PairSample) compute(sums []float64, w []uint8, out []float64) {
	s.draw++
	for i, f := range s.sums {
		v, ok := f(sums)
		if !ok {
			v = math.NaN()
		} else if math.IsNaN(v) || math.IsInf(v, 0) {
			panic(fmt.Sprintf("score: internal error: score %d is %v", i, v))
		}
		out[i] = v
	}
	at := len(s.sums)
	for _, x := range s.weights {
		x.f(sums, w, out[at:at+x.outs])
		at += x.outs
	}
}
