package score

import (
	"hash/maphash"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"assay/results/stats"
)

// draws sums columns of numbers over draws of their items: what a bootstrap of many scores
// needs of every replicate. A block of replicates is one product of matrices, which adds
// items up in order, as one would by hand: not a bit of a sum depends on how columns lie.
type draws struct {
	rng    stats.SplitMix64
	items  blas64.General // of each item: its number in the columns that differ
	of     []int          // of each column: its place among those that differ
	counts [][]uint8      // of each replicate of the block, how often each item was drawn
	times  blas64.General // the same
	sums   blas64.General // of each replicate of the block
	at     int            // the latest replicate, in the block
}

// newDraws begins the draws of n items with these columns, a number for each item.
func newDraws(columns [][]float64, n int, seed uint64) *draws {
	const most, cells = 64, 1 << 21 // replicates of a block; of those times items, which are 16 MiB
	differ, of := distinct(columns)
	block := min(most, max(1, cells/max(1, n)))
	d := &draws{rng: stats.SplitMix64(seed), of: of, items: matrix(n, len(differ)), counts: make([][]uint8, block), times: matrix(block, n), sums: matrix(block, len(differ)), at: block - 1}
	for item := range n {
		for k, j := range differ {
			d.items.Data[item*d.items.Stride+k] = columns[j][item]
		}
	}
	for r := range d.counts {
		d.counts[r] = make([]uint8, n)
	}
	return d
}

func matrix(rows, columns int) blas64.General {
	return blas64.General{Rows: rows, Cols: columns, Stride: max(1, columns), Data: make([]float64, rows*max(1, columns))}
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
		for item, times := range counts {
			d.times.Data[r*d.times.Stride+item] = float64(times)
		}
	}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, d.times, d.items, 0, d.sums)
}

// Counts are how often each item was drawn in the latest replicate. They are not to be
// kept.
func (d *draws) Counts() []uint8 { return d.counts[d.at] }

// Sum writes the sums of all columns over the latest replicate.
func (d *draws) Sum(sums []float64) {
	latest := d.sums.Data[d.at*d.sums.Stride:]
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
