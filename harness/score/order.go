package score

import (
	"cmp"
	"math"
	"slices"
)

// Order puts values in ascending order, equal ones by their items. They are shared out by
// size first, a few to a part: of tens of thousands that is most of the order.
func Order(values []float64, items []int32) {
	if len(values) == 0 {
		return
	}
	least, most, parts := math.Inf(1), math.Inf(-1), len(values)/4+1
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	scale := float64(parts-1) / (most - least)
	if !(scale > 0 && scale < math.Inf(1)) { // all alike, or too far apart
		scale, parts = 0, 1
	}
	part := func(v float64) int {
		if parts == 1 {
			return 0
		}
		return min(int((v-least)*scale), parts-1)
	}
	type one struct {
		value float64
		item  int32
	}
	list, next := make([]one, len(values)), make([]int, parts+1) // where the next of a part comes
	for _, v := range values {
		next[part(v)+1]++
	}
	for p := range parts {
		next[p+1] += next[p]
	}
	for i, v := range values {
		p := part(v)
		list[next[p]] = one{v, items[i]}
		next[p]++
	}
	from := 0
	for _, to := range next[:parts] { // by now where the next part begins
		slices.SortFunc(list[from:to], func(a, b one) int {
			switch {
			case a.value < b.value:
				return -1
			case a.value > b.value:
				return 1
			}
			return cmp.Compare(a.item, b.item)
		})
		from = to
	}
	for i, x := range list {
		values[i], items[i] = x.value, x.item
	}
}
