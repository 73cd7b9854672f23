// Package draws sums columns of numbers over draws of items: what a bootstrap of many
// scores needs of every replicate.
package draws

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"assay/results/stats"
)

// Draws sums columns over draws of their items, one replicate after the other.
//
// Most columns count: their numbers are whole and small, or so many halves, quarters or
// eighths. Such a column is kept as bits, 64 items a word, and so are the low bits of how
// often items were drawn; the sum is counted from what both have set, which is exact. Of
// other columns, items are added up in order, as one would by hand, so that not a bit of a
// sum depends on how the columns lie.
type Draws struct {
	n       int
	fast    bool // bits are counted by instructions of the processor's
	rng     stats.SplitMix64
	drawn   [together]drawn
	now     int          // of these, the latest; together: all are used up
	numbers [256]float64 // 0 to 255

	whole []whole
	real  []lanes
	of    []int // of each column: its place in the sums of a draw
}

// together is how many replicates are drawn at a time, a multiple of four.
const together = 8

// drawn is one replicate.
type drawn struct {
	times  []uint8     // each item, as many as the words have bits
	planes [3][]uint64 // bits 0 to 2 of times
	often  []int       // the items drawn more often than those bits tell
	sums   []float64   // of columns that differ: the whole ones first
}

// whole is a column of whole numbers, or of as many parts of one.
type whole struct {
	parts float64 // of 1: a power of two
	least int64
	bits  [][]uint64 // of each number's parts less the least, the lowest first
}

// block is how many words are counted at a time.
const block = 8

// wordsOf is the words for n items, in whole blocks.
func wordsOf(n int) int { return (n + 64*block - 1) / (64 * block) * block }

// Of begins the draws of n items with these columns, a number for each item.
func Of(columns [][]float64, n int, seed uint64) *Draws { return begin(columns, n, seed, counts()) }

func begin(columns [][]float64, n int, seed uint64, fast bool) *Draws {
	words := wordsOf(n)
	d := &Draws{n: n, fast: fast, rng: stats.SplitMix64(seed), now: together}
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
	for k, i := range real {
		if k%width == 0 {
			d.real = append(d.real, make(lanes, n))
		}
		place[i] = len(d.whole) + k
		to := d.real[len(d.real)-1]
		for item, v := range columns[differ[i]] {
			to[item][k%width] = v
		}
	}
	for i := range d.drawn {
		d.drawn[i] = drawn{times: make([]uint8, 64*words), sums: make([]float64, len(d.whole)+width*len(d.real))}
		for b := range d.drawn[i].planes {
			d.drawn[i].planes[b] = make([]uint64, words)
		}
	}
	d.of = make([]int, len(of))
	for j, i := range of {
		d.of[j] = place[i]
	}
	return d
}

// wholeOf is a column of whole numbers, or parts of one, that lie near each other; false:
// it is not, or it is added up faster than counted.
func wholeOf(column []float64, fast bool) (whole, bool) {
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
			return whole{}, false
		}
		if slices.ContainsFunc(column, func(v float64) bool { return v*parts != math.Trunc(v*parts) }) {
			continue
		}
		w := whole{parts: parts, least: int64(least * parts)}
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
	return whole{}, false
}

// Next draws the next replicate.
func (d *Draws) Next() {
	if d.now++; d.now >= together {
		for i := range d.drawn {
			r := &d.drawn[i]
			clear(r.times)
			d.rng.Tally(r.times[:d.n])
		}
		d.add()
		d.now = 0
	}
}

// add adds up the columns over the replicates that were drawn.
func (d *Draws) add() {
	for i := range d.drawn {
		r := &d.drawn[i]
		r.spread()
		clear(r.sums)
		for j := range d.whole {
			w := &d.whole[j]
			r.sums[j] = float64(r.count(w, d.n, d.fast)) / w.parts
		}
	}
	for j, l := range d.real {
		for from := 0; from < d.n; from += tile {
			to := min(from+tile, d.n)
			at := len(d.whole) + width*j
			for i := 0; i < together; i += 4 {
				var sums [4]*[width]float64
				var times [4][]uint8
				for k := range sums {
					r := &d.drawn[i+k]
					sums[k], times[k] = (*[width]float64)(r.sums[at:]), r.times[from:to]
				}
				l[from:to].addFour(&sums, &times, &d.numbers, d.fast)
			}
		}
	}
}

// spread makes what columns are counted by of how often items were drawn.
func (r *drawn) spread() {
	const low, gather, above = 0x0101010101010101, 0x0102040810204080, 0xf8f8f8f8f8f8f8f8
	r.often = r.often[:0]
	for i := range r.planes[0] {
		var p [3]uint64
		for j := range 8 {
			x := binary.LittleEndian.Uint64(r.times[64*i+8*j:])
			if x == 0 {
				continue
			}
			// The product brings the lowest bits of eight bytes together.
			p[0] |= (x & low) * gather >> 56 << (8 * j)
			p[1] |= (x >> 1 & low) * gather >> 56 << (8 * j)
			p[2] |= (x >> 2 & low) * gather >> 56 << (8 * j)
			if x&above != 0 {
				for item := 64*i + 8*j; item < 64*i+8*j+8; item++ {
					if r.times[item] > 7 {
						r.often = append(r.often, item)
					}
				}
			}
		}
		for b := range p {
			r.planes[b][i] = p[b]
		}
	}
}

// Counts are how often each item was drawn in the latest replicate. They are not to be
// kept.
func (d *Draws) Counts() []uint8 { return d.drawn[d.now].times[:d.n] }

// Sum writes the sums of all columns over the latest replicate.
func (d *Draws) Sum(sums []float64) {
	from := d.drawn[d.now].sums
	for j, at := range d.of {
		sums[j] = from[at]
	}
}

// count is the sum of a column of n items, in parts.
func (r *drawn) count(w *whole, n int, fast bool) int64 {
	total := w.least * int64(n)
	for b, set := range w.bits {
		var sum int64
		if fast {
			sum = countFast(set, &r.planes)
		} else {
			sum = countEach(set[:(n+63)/64], &r.planes)
		}
		for _, item := range r.often {
			sum += int64(set[item/64]>>(item%64)&1) * int64(r.times[item]&^7)
		}
		total += sum << b
	}
	return total
}

// countEach adds up the items that are set, as often as the three planes say, in plain Go.
func countEach(set []uint64, planes *[3][]uint64) int64 {
	var n0, n1, n2 int
	p0, p1, p2 := planes[0][:len(set)], planes[1][:len(set)], planes[2][:len(set)]
	for i, x := range set {
		n0 += bits.OnesCount64(x & p0[i])
		n1 += bits.OnesCount64(x & p1[i])
		n2 += bits.OnesCount64(x & p2[i])
	}
	return int64(n0 + 2*n1 + 4*n2)
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

// Ends are the ends of the 95 % percentile interval of replicates, whose order is
// changed.
func Ends(reps []float64) (low, high float64) {
	at := func(q float64) float64 {
		i := int(q * float64(len(reps)-1))
		rank(reps, i)
		if i+1 < len(reps) {
			rank(reps[i+1:], 0)
		}
		v, _ := stats.SortedQuantile(reps, q) // which looks at those two alone
		return v
	}
	return at(0.025), at(0.975)
}

// rank puts the value of rank k, from 0, to its place, smaller ones before it and
// larger ones behind.
func rank(v []float64, k int) {
	for low, high := 0, len(v)-1; low < high; {
		a, b, c := v[low], v[(low+high)/2], v[high]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := low, high
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for pivot < v[j] {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return
		}
	}
}
