// Random numbers are drawn here that are the same on every machine.

package phantom

import "math/bits"

// Source is a stream of draws (SplitMix64). Its value is its state.
type Source uint64

// NewSource starts a stream.
func NewSource(seed uint64) *Source {
	return new(Source(seed))
}

// Next is 64 random bits.
func (s *Source) Next() uint64 {
	*s += 0x9E3779B97F4A7C15
	return Mix(uint64(*s))
}

// Below draws from 0..n-1.
func (s *Source) Below(n int) int {
	hi, _ := bits.Mul64(s.Next(), uint64(n))
	return int(hi)
}

// Span draws from lo..hi, both included.
func (s *Source) Span(lo, hi int64) int64 { return lo + int64(s.Below(int(hi-lo+1))) }

// Weighted draws an index with probability in proportion to its weight.
func (s *Source) Weighted(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	at := s.Below(sum)
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	panic("phantom: internal error: weights do not add up")
}

// Hits is true with probability p.
func (s *Source) Hits(p float64) bool { return s.Unit() < p }

// Unit draws from 0 to below 1.
func (s *Source) Unit() float64 { return float64(s.Next()>>11) / (1 << 53) }

// Mix spreads every bit of z over all of the result.
func Mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}
