package score

import (
	"hash/maphash"
	"math"
	"slices"

	"assay/results/stats"
)

// draws sums columns of numbers over draws of their items: what a bootstrap of many scores
// needs of every replicate. Items are added up in order, as one would by hand, so that not a
// bit of a sum depends on how the columns lie.
type draws struct {
	rng    stats.SplitMix64
	counts []uint8     // how often each item was drawn in the latest replicate
	rows   [][]float64 // of each item: its number in the columns that differ
	of     []int       // of each column: its place among those that differ
	sums   []float64   // of those, in the latest replicate
}

// newDraws begins the draws of n items with these columns, a number for each item.
func newDraws(columns [][]float64, n int, seed uint64) *draws {
	d := &draws{rng: stats.SplitMix64(seed), counts: make([]uint8, n), rows: make([][]float64, n)}
	differ, of := distinct(columns)
	d.of, d.sums = of, make([]float64, len(differ))
	cells := make([]float64, n*len(differ))
	for item := range d.rows {
		d.rows[item], cells = cells[:len(differ)], cells[len(differ):]
		for k, j := range differ {
			d.rows[item][k] = columns[j][item]
		}
	}
	return d
}

// Next draws the next replicate.
func (d *draws) Next() {
	clear(d.counts)
	d.rng.Tally(d.counts)
	clear(d.sums)
	for item, times := range d.counts {
		if times == 0 {
			continue
		}
		w, row := float64(times), d.rows[item]
		sums := d.sums[:len(row)]
		for k, v := range row {
			sums[k] += w * v
		}
	}
}

// Counts are how often each item was drawn in the latest replicate. They are not to be
// kept.
func (d *draws) Counts() []uint8 { return d.counts }

// Sum writes the sums of all columns over the latest replicate.
func (d *draws) Sum(sums []float64) {
	for j, at := range d.of {
		sums[j] = d.sums[at]
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
