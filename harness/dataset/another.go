package dataset

import (
	"fmt"
	"hash/fnv"
	"image"
	"slices"

	"assay/results/text"
)

// Pair gives every item another one whose images can be shown instead of its own: of the same
// type, as many images, the first of the same size, no picture in common, and no gold answer in
// common. The seed decides which; an item for which there is none keeps nil.
func Pair(d *Dataset, seed uint64) {
	type sort struct {
		typ    string
		images int
		size   image.Point
	}
	rank := make([]uint64, len(d.Items))
	alike := map[sort][]int{}
	for i := range d.Items {
		it := &d.Items[i]
		h := fnv.New64a()
		fmt.Fprintf(h, "%d %q", seed, it.ID)
		rank[i] = h.Sum64()
		if len(it.Images) > 0 {
			of := sort{it.Type, len(it.Images), it.Images[0].Size}
			alike[of] = append(alike[of], i)
		}
	}
	const tries = 1024 // where most items have one answer
	for _, list := range alike {
		slices.SortFunc(list, func(a, b int) int {
			if rank[a] < rank[b] {
				return -1
			}
			return 1
		})
		for at, i := range list {
			for k := 1; k < len(list) && k <= tries; k++ {
				if other := &d.Items[list[(at+k)%len(list)]]; apart(&d.Items[i], other) {
					d.Items[i].Another = other
					break
				}
			}
		}
	}
}

// apart says whether two items have neither a picture nor a gold answer in common.
func apart(a, b *Item) bool {
	if a.Picture != "" && a.Picture == b.Picture || slices.ContainsFunc(a.Sums, func(s string) bool { return slices.Contains(b.Sums, s) }) {
		return false
	}
	return !slices.ContainsFunc(a.goldTexts(), func(x string) bool { return slices.Contains(b.goldTexts(), x) })
}

// goldTexts are the gold answers by the texts of their options.
func (it Item) goldTexts() []string {
	out := it.Golds()
	for i, gold := range out {
		if option, ok := it.resolve(gold); ok {
			gold = option
		}
		out[i] = text.Fold(gold)
	}
	return out
}
