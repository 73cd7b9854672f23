package score

import (
	"encoding/binary"
	"sync"

	"assay/results/stats"
)

// drawn is one replicate: how often each item was drawn.
type drawn struct {
	bits   []uint64    // of all planes, one behind the other
	planes [3][]uint64 // bits 0 to 2 of it, 64 items a word
	often  []often
}

// often is an item that was drawn more often than those bits tell.
type often struct{ item, more int }

// stretch is replicates that are drawn together.
type stretch [together]drawn

func newStretch(n int) *stretch {
	s, words := &stretch{}, wordsOf(n)
	all := make([]uint64, together*3*words)
	for i := range s {
		s[i].bits, all = all[:3*words], all[3*words:]
		for b := range s[i].planes {
			s[i].planes[b] = s[i].bits[b*words : (b+1)*words]
		}
	}
	return s
}

// draw draws n items, the replicates from first on; times has as many as the words have bits.
func (s *stretch) draw(times *[together][]uint8, n, first int, seed uint64) {
	rng := stats.SplitMix64(seed)
	rng.Skip(uint64(first) * uint64(n))
	for i := range s {
		clear(times[i])
		rng.Tally(times[i][:n])
		s[i].spread(times[i])
	}
}

// spread is how often items were drawn, as bits.
func (r *drawn) spread(times []uint8) {
	const low, gather, above = 0x0101010101010101, 0x0102040810204080, 0xf8f8f8f8f8f8f8f8
	r.often = r.often[:0]
	for i := range r.planes[0] {
		var p [3]uint64
		for j := range 8 {
			x := binary.LittleEndian.Uint64(times[64*i+8*j:])
			if x == 0 {
				continue
			}
			// The product brings the lowest bits of eight bytes together.
			p[0] |= (x & low) * gather >> 56 << (8 * j)
			p[1] |= (x >> 1 & low) * gather >> 56 << (8 * j)
			p[2] |= (x >> 2 & low) * gather >> 56 << (8 * j)
			if x&above != 0 {
				for item := 64*i + 8*j; item < 64*i+8*j+8; item++ {
					if times[item] > 7 {
						r.often = append(r.often, often{item, int(times[item] &^ 7)})
					}
				}
			}
		}
		for b := range p {
			r.planes[b][i] = p[b]
		}
	}
}

// gather is spread back again; fast: by instructions of the processor's.
func (r *drawn) gather(times []uint8, fast bool) {
	if fast {
		gatherFast(times, &r.planes)
	} else {
		gatherEach(times, &r.planes)
	}
	for _, o := range r.often {
		times[o.item] += uint8(o.more)
	}
}

func gatherEach(times []uint8, planes *[3][]uint64) {
	p0, p1, p2 := planes[0], planes[1][:len(planes[0])], planes[2][:len(planes[0])]
	for i := range p0 {
		to := times[64*i : 64*i+64]
		for j := 0; j < 64; j += 8 {
			binary.LittleEndian.PutUint64(to[j:], eight(p0[i]>>j)|eight(p1[i]>>j)<<1|eight(p2[i]>>j)<<2)
		}
	}
}

// eight is each of the lowest eight bits as a byte.
func eight(x uint64) uint64 {
	return x&0x7f*0x02040810204081&0x0101010101010101 | x&0x80<<49
}

// pool keeps draws for the samples that draw the same, as those of models that were asked
// the same items: to draw takes as long as to add up a hundred counts. Several goroutines may
// use it at once. A nil one keeps nothing.
type pool struct {
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

// newPool begins one that keeps at most so many bytes.
func newPool(most int) *pool { return &pool{most: most} }

// Of begins the draws of n items with these columns, a number for each item.
func (p *pool) Of(columns [][]float64, n int, seed uint64) *draws {
	d := newDraws(columns, n, seed)
	if p == nil {
		return d
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n == 0 { // the first sample is as large as most
		p.n, p.seed, p.of = n, seed, make([]kept, p.most/(together*wordsOf(n)*3*8))
	}
	if p.n == n && p.seed == seed {
		d.shared = p.of
	}
	return d
}
