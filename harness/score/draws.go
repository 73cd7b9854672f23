// Draws sums columns of numbers over draws of items: what a bootstrap of many
// scores needs of every replicate.

package score

import (
	"math"
	"math/bits"
	"slices"
)

// draws sums columns over draws of their items, one replicate after the other.
//
// Most columns count: their numbers are whole and small, or so many halves, quarters or
// eighths. Such a column is kept as bits, 64 items a word, and so are the low bits of how
// often items were drawn; the sum is counted from what both have set, which is exact. Of
// other columns, items are added up in order, as one would by hand, so that not a bit of a
// sum depends on how the columns lie.
type draws struct {
	n       int
	fast    bool // bits are counted by instructions of the processor's
	seed    uint64
	shared  []kept // the first stretches; nil: none
	own     *stretch
	drawn   *stretch            // the latest
	times   [together][]uint8   // likewise, each item
	sums    [together][]float64 // of columns that differ: the whole ones first
	now     int                 // the latest replicate, from 0; -1: none
	numbers [256]float64        // 0 to 255

	whole []drawsWhole
	real  []abreast
	kept  [together][]uint8 // how often those were drawn that an abreast keeps
	of    []int             // of each column: its place in the sums of a draw
}

// abreast is columns of any numbers that are added up together.
type abreast struct {
	rows lanes
	half bool     // eight columns or fewer
	keep []uint64 // the items that have rows, 64 a word; the others are 0 in all columns. nil: all have
}

// together is how many replicates are drawn at a time, a multiple of four.
const together = 8

// drawsWhole is a column of whole numbers, or of as many parts of one.
type drawsWhole struct {
	parts float64 // of 1: a power of two
	least int64
	bits  [][]uint64 // of each number's parts less the least, the lowest first
}

// block is how many words are counted at a time.
const block = 8

// wordsOf is the words for n items, in whole blocks.
func wordsOf(n int) int { return (n + 64*block - 1) / (64 * block) * block }

// newDraws begins the draws of n items with these columns, a number for each item.
func newDraws(columns [][]float64, n int, seed uint64) *draws {
	return begin(columns, n, seed, counts())
}

func begin(columns [][]float64, n int, seed uint64, fast bool) *draws {
	d := &draws{n: n, fast: fast, seed: seed, now: -1}
	for i := range d.numbers {
		d.numbers[i] = float64(i)
	}
	differ, of := distinct(columns)
	place := make([]int, len(differ))
	var real []int
	for i, j := range differ {
		if w, ok := wholeOf(columns[j], fast); ok {
			place[i] = len(d.whole)
			d.whole = append(d.whole, w)
		} else {
			real = append(real, i)
		}
	}
	// Columns of few numbers come last, beside each other.
	numbers := make([]int, len(differ))
	for _, i := range real {
		for _, v := range columns[differ[i]] {
			if v != 0 {
				numbers[i]++
			}
		}
	}
	slices.SortStableFunc(real, func(a, b int) int { return numbers[b] - numbers[a] })
	for from := 0; from < len(real); from += width {
		var own [][]float64
		for k, i := range real[from:min(from+width, len(real))] {
			place[i] = len(d.whole) + from + k
			own = append(own, columns[differ[i]])
		}
		d.real = append(d.real, abreastOf(own, n, fast))
	}
	for i := range d.sums {
		d.sums[i] = make([]float64, len(d.whole)+width*len(d.real))
		d.times[i] = make([]uint8, 64*wordsOf(n))
		d.kept[i] = make([]uint8, 64*wordsOf(n))
	}
	d.of = make([]int, len(of))
	for j, i := range of {
		d.of[j] = place[i]
	}
	return d
}

// abreastOf lays columns of n items beside each other. Items that are 0 in all of them are
// left out where they are a quarter or more.
func abreastOf(columns [][]float64, n int, fast bool) abreast {
	a := abreast{half: len(columns) <= width/2}
	keep, kept := make([]uint64, wordsOf(n)), 0
	for item := range n {
		if slices.ContainsFunc(columns, func(c []float64) bool { return c[item] != 0 }) {
			keep[item/64] |= 1 << (item % 64)
			kept++
		}
	}
	if fast && 4*kept <= 3*n {
		a.keep = keep
	} else {
		kept = n
	}
	a.rows = make(lanes, 0, kept)
	for item := range n {
		if a.keep != nil && a.keep[item/64]>>(item%64)&1 == 0 {
			continue
		}
		var row [width]float64
		for k, c := range columns {
			row[k] = c[item]
		}
		a.rows = append(a.rows, row)
	}
	return a
}

// wholeOf is a column of whole numbers, or parts of one, that lie near each other; false:
// it is not, or it is added up faster than counted.
func wholeOf(column []float64, fast bool) (drawsWhole, bool) {
	least, highest := math.Inf(1), math.Inf(-1)
	for _, v := range column {
		least, highest = min(least, v), max(highest, v)
	}
	mostBits, mostParts := 8, 1.
	if fast {
		mostBits, mostParts = 16, 64
	}
	for parts := 1.; parts <= mostParts; parts *= 2 {
		// All sums on the way are whole numbers of parts that a float64 holds.
		if max(-least, highest)*parts*float64(len(column)) > 1<<53 || bits.Len64(uint64((highest-least)*parts)) > mostBits {
			return drawsWhole{}, false
		}
		if slices.ContainsFunc(column, func(v float64) bool { return v*parts != math.Trunc(v*parts) }) {
			continue
		}
		w := drawsWhole{parts: parts, least: int64(least * parts)}
		for range bits.Len64(uint64(int64(highest*parts) - w.least)) {
			w.bits = append(w.bits, make([]uint64, wordsOf(len(column))))
		}
		for item, v := range column {
			x := uint64(int64(v*parts) - w.least)
			for b := range w.bits {
				w.bits[b][item/64] |= x >> b & 1 << (item % 64)
			}
		}
		return w, true
	}
	return drawsWhole{}, false
}

// Next draws the next replicate.
func (d *draws) Next() {
	if d.now++; d.now%together == 0 {
		d.draw(d.now / together)
		d.add()
	}
}

// draw draws a stretch, from 0, or finds it.
func (d *draws) draw(i int) {
	if i >= len(d.shared) {
		if d.own == nil {
			d.own = newStretch(d.n)
		}
		d.drawn = d.own
		d.drawn.draw(&d.times, d.n, i*together, d.seed)
		return
	}
	k := &d.shared[i]
	found := true
	k.once.Do(func() {
		found, k.at = false, newStretch(d.n)
		k.at.draw(&d.times, d.n, i*together, d.seed)
	})
	if d.drawn = k.at; found {
		for r := range d.times {
			d.drawn[r].gather(d.times[r], d.fast)
		}
	}
}

// add adds up the columns over the replicates that were drawn.
func (d *draws) add() {
	for i := range d.drawn {
		clear(d.sums[i])
	}
	for j := range d.whole {
		w := &d.whole[j]
		for i := 0; i < together; i += 4 {
			for k, n := range w.count((*[4]drawn)(d.drawn[i:]), d.n, d.fast) {
				d.sums[i+k][j] = float64(n) / w.parts
			}
		}
	}
	for j := range d.real {
		l, drawn := &d.real[j], &d.times
		if l.keep != nil {
			drawn = &d.kept
			for i := range drawn {
				packFast(drawn[i], d.times[i], l.keep)
			}
		}
		for from := 0; from < len(l.rows); from += tile {
			to := min(from+tile, len(l.rows))
			at := len(d.whole) + width*j
			for i := 0; i < together; i += 4 {
				var sums [4]*[width]float64
				var times [4][]uint8
				for k := range sums {
					sums[k], times[k] = (*[width]float64)(d.sums[i+k][at:]), drawn[i+k][from:to]
				}
				l.rows[from:to].addFour(&sums, &times, &d.numbers, l.half, d.fast)
			}
		}
	}
}

// Counts are how often each item was drawn in the latest replicate. They are not to be
// kept.
func (d *draws) Counts() []uint8 { return d.times[d.now%together][:d.n] }

// Sum writes the sums of all columns over the latest replicate.
func (d *draws) Sum(sums []float64) {
	from := d.sums[d.now%together]
	for j, at := range d.of {
		sums[j] = from[at]
	}
}

// count is the sum of a column of n items, in parts, in four replicates.
func (w *drawsWhole) count(drawn *[4]drawn, n int, fast bool) (total [4]int64) {
	for i := range total {
		total[i] = w.least * int64(n)
	}
	for b, set := range w.bits {
		var sum [4]uint64
		if fast {
			countFast(&sum, set, drawn)
		}
		for i := range drawn {
			r := &drawn[i]
			if !fast {
				sum[i] = countEach(set[:(n+63)/64], &r.planes)
			}
			for _, o := range r.often {
				sum[i] += set[o.item/64] >> (o.item % 64) & 1 * uint64(o.more)
			}
			total[i] += int64(sum[i]) << b
		}
	}
	return total
}

// countEach adds up the items that are set, as often as the three planes say, in plain Go.
func countEach(set []uint64, planes *[3][]uint64) uint64 {
	var n0, n1, n2 int
	p0, p1, p2 := planes[0][:len(set)], planes[1][:len(set)], planes[2][:len(set)]
	for i, x := range set {
		n0 += bits.OnesCount64(x & p0[i])
		n1 += bits.OnesCount64(x & p1[i])
		n2 += bits.OnesCount64(x & p2[i])
	}
	return uint64(n0 + 2*n1 + 4*n2)
}

// distinct is the columns that differ, and for every column its place among them.
func distinct(all [][]float64) (columns, of []int) {
	seen := map[uint64][]int{} // places, by a hash of the column
	for j, c := range all {
		h := uint64(14695981039346656037) // FNV-1a, by numbers
		for _, v := range c {
			h = (h ^ math.Float64bits(v)) * 1099511628211
		}
		at := slices.IndexFunc(seen[h], func(d int) bool { return slices.Equal(all[columns[d]], c) })
		if at >= 0 {
			of = append(of, seen[h][at])
			continue
		}
		seen[h] = append(seen[h], len(columns))
		of = append(of, len(columns))
		columns = append(columns, j)
	}
	return columns, of
}
