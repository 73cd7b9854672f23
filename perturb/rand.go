package perturb

import (
	"math/bits"
	"slices"
)

// rng is SplitMix64 (Steele, Lea and Flood 2014): small, fast and the same on
// every machine.
type rng struct{ state uint64 }

func (r *rng) next() uint64 {
	r.state += 0x9E3779B97F4A7C15
	return mix(r.state)
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// below is uniform in [0, n).
func (r *rng) below(n int) int {
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int(hi)
}

// reorder draws another order of rising numbers than theirs, where there is one.
func (r *rng) reorder(list []int) {
	for len(list) > 1 && slices.IsSorted(list) {
		for i := len(list) - 1; i > 0; i-- {
			k := r.below(i + 1)
			list[i], list[k] = list[k], list[i]
		}
	}
}

// bell is a bell-shaped integer around 0: the sum of four 16 bit uniforms less
// its mean. Standard deviation bellSD. Integer only, so the same everywhere.
func (r *rng) bell() int {
	v := r.next()
	return int(v&0xffff+v>>16&0xffff+v>>32&0xffff+v>>48) - 2*0xffff
}

const bellSD = 37837.2 // 65536 / sqrt(12) * sqrt(4)

// stream derives the seed of an independent stream.
func stream(seed, n uint64) uint64 { return mix(seed ^ mix(n+0x9E3779B97F4A7C15)) }
