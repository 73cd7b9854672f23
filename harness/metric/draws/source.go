package draws

import (
	"encoding/binary"
	"sync"

	"assay/results/stats"
)

// drawn is one replicate: how often each item was drawn.
type drawn struct {
	times  []uint8     // each item, as many as the words have bits
	planes [3][]uint64 // bits 0 to 2 of times
	often  []int       // the items drawn more often than those bits tell
}

// stretch is replicates that are drawn together.
type stretch [together]drawn

func newStretch(n int) *stretch {
	s, words := &stretch{}, wordsOf(n)
	times, planes := make([]uint8, together*64*words), make([]uint64, together*3*words)
	for i := range s {
		s[i].times, times = times[:64*words], times[64*words:]
		for b := range s[i].planes {
			s[i].planes[b], planes = planes[:words], planes[words:]
		}
	}
	return s
}

// draw draws n items, the replicates from first on.
func (s *stretch) draw(n, first int, seed uint64) {
	rng := stats.SplitMix64(seed)
	rng.Skip(uint64(first) * uint64(n))
	for i := range s {
		clear(s[i].times)
		rng.Tally(s[i].times[:n])
		s[i].spread()
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

// Pool keeps draws for the samples that draw the same, as those of models that were asked
// the same items: to draw takes as long as to add up a hundred counts. Several goroutines may
// use it at once. A nil one keeps nothing.
type Pool struct {
	most int // bytes

	mu   sync.Mutex
	n    int // items of what is kept; 0: nothing is
	seed uint64
	of   []kept
}

type kept struct {
	once sync.Once
	at   *stretch
}

// NewPool begins one that keeps at most so many bytes.
func NewPool(most int) *Pool { return &Pool{most: most} }

// Of begins the draws of n items with these columns, a number for each item.
func (p *Pool) Of(columns [][]float64, n int, seed uint64) *Draws {
	d := Of(columns, n, seed)
	if p == nil {
		return d
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n == 0 { // the first sample is as large as most
		p.n, p.seed, p.of = n, seed, make([]kept, p.most/(together*wordsOf(n)*(64+3*8)))
	}
	if p.n == n && p.seed == seed {
		d.shared = p.of
	}
	return d
}
