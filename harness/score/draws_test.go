package score

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay/results/stats"
)

// TestSumsOfADraw: every column's sum is that of its items one by one in order, to the
// bit, however often one is drawn.
func TestSumsOfADraw(t *testing.T) {
	kinds := []*rapid.Generator[float64]{
		rapid.SampledFrom([]float64{0, 1}),
		rapid.Map(rapid.IntRange(-3, 12), func(v int) float64 { return float64(v) }),
		rapid.Map(rapid.IntRange(-1<<20, 1<<20), func(v int) float64 { return float64(v) }),
		rapid.Map(rapid.IntRange(-9, 20), func(v int) float64 { return float64(v) / 8 }),
		rapid.Map(rapid.IntRange(0, 1<<15), func(v int) float64 { return float64(v) / 64 }),
		rapid.SampledFrom([]float64{-1 << 52, 1 << 52}),
		rapid.Float64Range(-1e6, 1e6),
		rapid.Just(2.0),
		rapid.Just(0.1),
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 700).Draw(t, "n")
		rng := stats.SplitMix64(rapid.Uint64().Draw(t, "items"))
		var columns [][]float64
		for range rapid.IntRange(1, 12).Draw(t, "columns") {
			kind := rapid.SampledFrom(kinds).Draw(t, "kind")
			column, some := make([]float64, n), rapid.SliceOfN(kind, 1, 9).Draw(t, "of")
			each := rapid.SampledFrom([]int{1, 1, 10}).Draw(t, "one of so many items has a number")
			for i := range column {
				if rng.Index(each) == 0 {
					column[i] = some[rng.Index(len(some))]
				}
			}
			columns = append(columns, column)
		}
		for range width + 1 { // more than are added up together
			column := make([]float64, n)
			for i := range column {
				column[i] = math.Sin(float64(i + len(columns)))
			}
			columns = append(columns, column)
		}
		d := begin(columns, n, rapid.Uint64().Draw(t, "seed"), counts() && rapid.Bool().Draw(t, "by the processor's own instructions"))
		d.draw(0)
		clear(d.times[0])
		for left := n; left > 0; { // items are drawn n times in all
			times, item := rapid.IntRange(1, left).Draw(t, "times"), rapid.IntRange(0, n-1).Draw(t, "item")
			for d.times[0][item] == math.MaxUint8 {
				item = (item + 1) % n
			}
			times = min(times, math.MaxUint8-int(d.times[0][item]))
			d.times[0][item] += uint8(times)
			left -= times
		}
		d.drawn[0].spread(d.times[0])
		for _, fast := range []bool{false, counts()} {
			again := slices.Repeat([]uint8{255}, len(d.times[0]))
			if d.drawn[0].gather(again, fast); !slices.Equal(again, d.times[0]) {
				t.Fatalf("%v from bits, want %v", again, d.times[0])
			}
		}
		d.add()
		for d.now = range d.drawn {
			checkSums(t, d, columns)
		}
	})
}

// checkSums compares the sums of the latest replicate with those made one by one.
func checkSums(t interface{ Fatalf(string, ...any) }, d *draws, columns [][]float64) {
	sums := make([]float64, len(columns))
	d.Sum(sums)
	times := d.times[d.now%together]
	for c, column := range columns {
		var want float64
		for i, v := range column {
			want += float64(times[i]) * v
		}
		if sums[c] != want {
			t.Fatalf("column %d %v drawn %v: %v, want %v", c, column, times[:len(column)], sums[c], want)
		}
	}
}

// TestSumsOfManyItems: the same where more items are drawn than are added up at a time.
func TestSumsOfManyItems(t *testing.T) {
	for i, n := range []int{tile - 1, tile, tile + 1, 3*tile + 7} {
		rng := stats.SplitMix64(n)
		columns := make([][]float64, 2*width+width/2-1+i) // the last lanes half in use, and more
		for c := range columns {
			columns[c] = make([]float64, n)
			for i := range columns[c] {
				if columns[c][i] = float64(rng.Index(1e9)) / 3e8; c >= width && rng.Index(30) > 0 {
					columns[c][i] = 0 // most items have no number in the last columns
				}
			}
		}
		for _, fast := range []bool{false, counts()} {
			d := begin(columns, n, 5, fast)
			for range together + 1 {
				d.Next()
				checkSums(t, d, columns)
			}
		}
	}
}

// TestLanes: sums are to the bit those of plain Go, and go on from what is there.
func TestLanes(t *testing.T) {
	rng := stats.SplitMix64(3)
	l := make(lanes, 100)
	var times [4][]uint8
	for r := range times {
		times[r] = make([]uint8, len(l))
	}
	for i := range l {
		for r := range times {
			times[r][i] = uint8(rng.Index(4) * rng.Index(86))
		}
		for k := range l[i] {
			l[i][k] = math.Sin(float64(rng.Index(1e9))) * math.Exp(float64(rng.Index(40)))
		}
	}
	d := newDraws(nil, 1, 1)
	for n := range l {
		for i, fast := range []bool{false, counts(), counts()} {
			half := i == 2
			var got, want [4]*[width]float64
			var drawn [4][]uint8
			for r := range got {
				got[r], want[r], drawn[r] = new([width]float64), new([width]float64), times[r][:n]
				for k := range got[r] {
					got[r][k] = float64(k)/3 - float64(r)/5
				}
				*want[r] = *got[r]
				l[:n].addEach(want[r], drawn[r], &d.numbers)
			}
			l[:n].addFour(&got, &drawn, &d.numbers, half, fast)
			needed := width
			if half {
				needed = width / 2
			}
			for r := range got {
				if !slices.Equal(got[r][:needed], want[r][:needed]) {
					t.Fatalf("%d rows, replicate %d, half %v: %v, in plain Go %v", n, r, half, *got[r], *want[r])
				}
			}
		}
	}
}

// TestDrawsAreThoseOfIndex: replicates follow each other as draws of single items do, also
// where some of them, or those of other samples, are kept.
func TestDrawsAreThoseOfIndex(t *testing.T) {
	const n, most = 333, 3*together + 5
	column := make([]float64, n)
	for i := range column {
		column[i] = math.Sqrt(float64(i))
	}
	pool := newPool(5 * together * wordsOf(n) * 3 * 8 / 2) // more than two stretches, less than three
	for i, d := range []*draws{newDraws([][]float64{column}, n, 7), pool.Of([][]float64{column}, n, 7), pool.Of([][]float64{column}, n, 7), pool.Of([][]float64{column[:n-1]}, n-1, 7), pool.Of([][]float64{column}, n, 8)} {
		rng := stats.SplitMix64(7 + i/4)
		for r := range most {
			d.Next()
			want := make([]uint8, d.n)
			for range want {
				want[rng.Index(len(want))]++
			}
			if !slices.Equal(d.Counts(), want) {
				t.Fatalf("draws %d, replicate %d: %v, want %v", i, r, d.Counts(), want)
			}
			checkSums(t, d, [][]float64{column[:d.n]})
		}
	}
	if len(pool.of) != 2 || pool.of[0].at == nil || pool.of[1].at == nil {
		t.Errorf("%d stretches are kept, want two", len(pool.of))
	}
}

// TestTails: the ends of intervals, of many scores at once, are those of their replicates in order.
func TestTails(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.IntRange(1, 400).Draw(t, "replicates")
		rng := stats.SplitMix64(rapid.Uint64().Draw(t, "seed"))
		// As any numbers, few different ones, all the same, and rarely there.
		of := []func() float64{
			func() float64 { return float64(rng.Index(1e9))/1e9 - 0.5 },
			func() float64 { return []float64{-1, 0, 0.5, 1}[rng.Index(4)] },
			func() float64 { return 1. / 3 },
			func() float64 { return []float64{math.NaN(), math.NaN(), float64(rng.Index(7))}[rng.Index(3)] },
			func() float64 { return math.NaN() },
		}
		tails := tailsOf(len(of), rapid.IntRange(b, 500).Draw(t, "at most"))
		all, values := make([][]float64, len(of)), make([]float64, len(of))
		for range b {
			for i := range of {
				if values[i] = of[i](); !math.IsNaN(values[i]) {
					all[i] = append(all[i], values[i])
				}
			}
			tails.Add(values)
		}
		for i, v := range all {
			low, _ := stats.Quantile(v, 0.025)
			high, _ := stats.Quantile(v, 0.975)
			if a, b, ok := tails.Ends(i, .025); a != low || b != high || ok != (len(v) > 0) {
				t.Fatalf("score %d: %v, %v, %v; want %v, %v of %d", i, a, b, ok, low, high, len(v))
			}
		}
	})
}

// TestFewItems: of few items each replicate, its sums and the ends over all of them are
// those of draws one after the other.
func TestFewItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, b := rapid.IntRange(1, Few).Draw(t, "n"), rapid.IntRange(1, 50).Draw(t, "b")
		seed := rapid.Uint64().Draw(t, "seed")
		column := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-1e6, 1e6), rapid.SampledFrom([]float64{0, 1, 0.1})), n, n).Draw(t, "column")
		missing := rapid.IntRange(0, n).Draw(t, "missing") // where the first item is drawn so often, there is no value
		d, r := newDraws([][]float64{column}, n, seed), repeat(n, b, seed)
		value := func(times []uint8, sum float64) float64 {
			if int(times[0]) == missing {
				return math.NaN()
			}
			return sum
		}
		values := make([]float64, len(r.Different))
		for i, times := range r.Different {
			sum := []float64{1e9} // of another
			r.Sum(i, [][]float64{column}, sum)
			values[i] = value(times, sum[0])
		}
		var reps []float64
		for i := range b {
			d.Next()
			var sum [1]float64
			d.Sum(sum[:])
			if got := r.Different[r.Of[i]]; !slices.Equal(got, d.Counts()) {
				t.Fatalf("replicate %d: %v, want %v", i, got, d.Counts())
			}
			v := value(d.Counts(), sum[0])
			if got := values[r.Of[i]]; got != v && !(math.IsNaN(got) && math.IsNaN(v)) {
				t.Fatalf("replicate %d: %v, want %v", i, got, v)
			}
			if !math.IsNaN(v) {
				reps = append(reps, v)
			}
		}
		low, high, ok := r.Ends(values, .025)
		if ok != (len(reps) > 0) {
			t.Fatalf("%d replicates have a value, and the ends are there: %t", len(reps), ok)
		}
		if ok {
			a, _ := stats.Quantile(reps, 0.025)
			if b, _ := stats.Quantile(reps, 0.975); a != low || b != high {
				t.Fatalf("from %v to %v, want from %v to %v", low, high, a, b)
			}
		}
	})
}

// TestOrder: values come in ascending order, equal ones by their items.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]*rapid.Generator[float64]{
			rapid.Float64(), rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, 1e300, -1e308, math.MaxFloat64}), rapid.Just(0.1),
		}).Draw(t, "kind")
		values := rapid.SliceOfN(kind, 0, 200).Draw(t, "values")
		items := make([]int32, len(values))
		order := make([]int, len(values))
		for i := range items {
			items[i], order[i] = rapid.Int32Range(0, 9).Draw(t, "item"), i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			if values[a] != values[b] {
				return cmp.Compare(values[a], values[b])
			}
			return cmp.Compare(items[a], items[b])
		})
		got, of := slices.Clone(values), slices.Clone(items)
		Order(got, of)
		for i, at := range order {
			if got[i] != values[at] || of[i] != items[at] {
				t.Fatalf("%v of items %v, of %v of items %v", got, of, values, items)
			}
		}
	})
}
