package score

import (
	"hash/maphash"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"assay/results/stats"
)

// draws sums columns of numbers over draws of their items: what a bootstrap of many scores
// needs of every replicate. Items are added up in order, as one would by hand: not a bit of a
// sum depends on how columns lie.
type draws struct {
	rng    stats.SplitMix64
	items  [][]float64 // of each item: its number in the columns that differ
	of     []int       // of each column: its place among those that differ
	counts [][]uint8   // of each replicate of the block, how often each item was drawn
	sums   [][]float64 // of each replicate of the block
	at     int         // the latest replicate, in the block
}

// newDraws begins the draws of n items with these columns, a number for each item.
func newDraws(columns [][]float64, n int, seed uint64) *draws {
	const most, cells = 64, 1 << 21 // replicates of a block; of those times items, which are 2 MiB
	differ, of := distinct(columns)
	block := min(most, max(1, cells/max(1, n)))
	d := &draws{rng: stats.SplitMix64(seed), of: of, items: matrix(n, len(differ)), counts: make([][]uint8, block), sums: matrix(block, len(differ)), at: block - 1}
	for item, row := range d.items {
		for k, j := range differ {
			row[k] = columns[j][item]
		}
	}
	for r := range d.counts {
		d.counts[r] = make([]uint8, n)
	}
	return d
}

func matrix(rows, columns int) [][]float64 {
	all, out := make([]float64, rows*columns), make([][]float64, rows)
	for i := range out {
		out[i] = all[i*columns : (i+1)*columns]
	}
	return out
}

// Next draws the next replicate.
func (d *draws) Next() {
	if d.at++; d.at < len(d.counts) {
		return
	}
	d.at = 0
	for r, counts := range d.counts {
		clear(counts)
		d.rng.Tally(counts)
		clear(d.sums[r])
	}
	const near = 32 // items that stay in the processor's cache for all replicates
	for from := 0; from < len(d.items); from += near {
		to := min(from+near, len(d.items))
		for r, counts := range d.counts {
			for item := from; item < to; item++ {
				if times := counts[item]; times > 0 {
					floats.AddScaled(d.sums[r], float64(times), d.items[item])
				}
			}
		}
	}
}

// Counts are how often each item was drawn in the latest replicate. They are not to be
// kept.
func (d *draws) Counts() []uint8 { return d.counts[d.at] }

// Sum writes the sums of all columns over the latest replicate.
func (d *draws) Sum(sums []float64) {
	latest := d.sums[d.at]
	for j, at := range d.of {
		sums[j] = latest[at]
	}
}

// distinct is the columns that differ, and for every column its place among them.
func distinct(all [][]float64) (columns, of []int) {
	seed := maphash.MakeSeed()
	seen := map[uint64][]int{} // places, by a hash of the column
	for j, c := range all {
		var h maphash.Hash
		h.SetSeed(seed)
		for _, v := range c {
			maphash.WriteComparable(&h, math.Float64bits(v))
		}
		key := h.Sum64()
		at := slices.IndexFunc(seen[key], func(d int) bool { return slices.Equal(all[columns[d]], c) })
		if at < 0 {
			seen[key] = append(seen[key], len(columns))
			of, columns = append(of, len(columns)), append(columns, j)
			continue
		}
		of = append(of, seen[key][at])
	}
	return columns, of
}
