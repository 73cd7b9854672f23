package perturb

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// A deflate encoder (RFC 1951) for filtered images. It knows two ways. Literals:
// bytes are only Huffman coded, but for long runs of zeros; this is all that noise
// allows, at a gigabyte or so per ten seconds of the usual match search. Matches:
// a search with few candidates, for smooth images and drawings.

const (
	windowSize  = 32 << 10
	matchBits   = 6 // about what a match costs beside its distance
	literalMore = 8 // sixteenths: literals that no match covers are the dear ones
	maxMatch    = 258
	hashBits    = 15
	reach       = 40  // bytes of the longer hash
	enough      = 258 // length of a match that ends the search
	lazyBelow   = 32  // matches that a better one may still replace
	codeLimit   = 14  // bits of a code: four fit a 64 bit word beside a started byte
	endOfBlock  = 256
	blockBytes  = 128 << 10 // literals that share a code
	blockTokens = 8 << 10   // tokens that do
	zeroRun     = 24        // shorter runs of zeros stay literals
)

// deflater writes blocks that follow each other; any split of the input into
// calls gives a valid stream.
type deflater struct {
	out    []byte
	acc    uint64
	n      uint // bits in acc, below 8 between writes
	tokens []uint32
	near   []int32    // the last place by a hash of eight bytes
	far    [][2]int32 // the last two of reach
	runs   []run
	worth  int // of a literal, see saves
}

type run struct{ at, length int }

// reset starts another stream, forget another input, in the same memory.
func (d *deflater) reset() {
	d.out, d.acc, d.n = d.out[:0], 0, 0
	d.forget()
}

func (d *deflater) forget() {
	clear(d.near)
	clear(d.far)
}

// put appends up to 56 bits, least significant first. out must have room.
func (d *deflater) put(v uint64, n uint) {
	d.acc |= v << d.n
	d.n += n
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], d.acc)
	d.out = append(d.out, b[:d.n>>3]...)
	d.acc >>= d.n &^ 7
	d.n &= 7
}

// finish ends the stream on a byte.
func (d *deflater) finish() {
	d.put(0b011, 10) // a last block of the fixed codes that holds nothing
	if d.n > 0 {
		d.put(0, 8-d.n)
	}
}

// code is a prefix code by symbol: bits reversed for the stream, and their number.
type code struct {
	bits   []uint16
	length []uint8
}

// newCode makes the shortest prefix code with lengths up to limit. Symbols that
// do not occur have none.
func newCode(freq []uint32, limit int) code {
	type node struct {
		freq   uint32
		symbol int // leaf
		parent int
		depth  int
	}
	var nodes []node
	for s, f := range freq {
		if f > 0 {
			nodes = append(nodes, node{freq: f, symbol: s})
		}
	}
	leaves := len(nodes)
	c := code{make([]uint16, len(freq)), make([]uint8, len(freq))}
	if leaves == 0 {
		return c
	}
	slices.SortFunc(nodes, func(a, b node) int {
		return cmp.Or(cmp.Compare(a.freq, b.freq), cmp.Compare(a.symbol, b.symbol))
	})
	// Two queues, leaves and inner nodes, both in rising order of frequency.
	leaf, inner := 0, leaves
	least := func() int {
		if inner >= len(nodes) || leaf < leaves && nodes[leaf].freq <= nodes[inner].freq {
			leaf++
			return leaf - 1
		}
		inner++
		return inner - 1
	}
	for range leaves - 1 {
		a, b := least(), least()
		nodes[a].parent, nodes[b].parent = len(nodes), len(nodes)
		nodes = append(nodes, node{freq: nodes[a].freq + nodes[b].freq})
	}
	count := make([]int, limit+1) // codes by length
	for i := len(nodes) - 2; i >= 0; i-- {
		nodes[i].depth = nodes[nodes[i].parent].depth + 1
		if i < leaves {
			count[min(nodes[i].depth, limit)]++
		}
	}
	if leaves == 1 {
		count[1]++
	}
	// Codes that were too long now take too much room. Hang one of them beside a
	// shorter one, a level below it, until all fit; the code stays complete.
	kraft := 0
	for l := 1; l <= limit; l++ {
		kraft += count[l] << (limit - l)
	}
	for ; kraft > 1<<limit; kraft-- {
		l := limit - 1
		for count[l] == 0 {
			l--
		}
		count[l]--
		count[l+1] += 2
		count[limit]--
	}
	i := 0 // the rarest get the longest
	for l := limit; l >= 1; l-- {
		for range count[l] {
			c.length[nodes[i].symbol] = uint8(l)
			i++
		}
	}
	next := make([]int, limit+2)
	for l := 1; l <= limit; l++ {
		next[l+1] = (next[l] + count[l]) << 1
	}
	for s, l := range c.length {
		if l > 0 {
			c.bits[s] = bits.Reverse16(uint16(next[l])) >> (16 - l)
			next[l]++
		}
	}
	return c
}

// lengthCode and distanceCode give the symbol, the number of extra bits and these.
func lengthCode(length int) (symbol int, extra uint, value uint64) {
	l := uint(length - 3)
	switch {
	case length == maxMatch:
		return 285, 0, 0
	case l < 8:
		return 257 + int(l), 0, 0
	}
	n := uint(bits.Len(l)) - 3 // extra bits
	return 257 + int(4*(n+1)+(l>>n)&3), n, uint64(l & (1<<n - 1))
}

func distanceCode(distance int) (symbol int, extra uint, value uint64) {
	d := uint(distance - 1)
	if d < 4 {
		return int(d), 0, 0
	}
	n := uint(bits.Len(d)) - 2
	return int(2*(n+1) + (d>>n)&1), n, uint64(d & (1<<n - 1))
}

// header starts a block of dynamic codes.
func (d *deflater) header(lit, dist code) {
	trim := func(l []uint8, least int) []uint8 {
		n := len(l)
		for n > least && l[n-1] == 0 {
			n--
		}
		return l[:n]
	}
	litLen, distLen := trim(lit.length, 257), trim(dist.length, 1)
	all := append(slices.Clone(litLen), distLen...)
	type item struct {
		symbol int
		extra  uint
		value  uint64
	}
	var items []item
	freq := make([]uint32, 19)
	add := func(s int, extra uint, v int) {
		items = append(items, item{s, extra, uint64(v)})
		freq[s]++
	}
	for i := 0; i < len(all); {
		j := i + 1
		for j < len(all) && all[j] == all[i] {
			j++
		}
		n := j - i
		if all[i] != 0 {
			add(int(all[i]), 0, 0)
			for n--; n >= 3; n -= min(n, 6) {
				add(16, 2, min(n, 6)-3)
			}
		} else {
			for ; n >= 11; n -= min(n, 138) {
				add(18, 7, min(n, 138)-11)
			}
			if n >= 3 {
				add(17, 3, n-3)
				n = 0
			}
		}
		for ; n > 0; n-- {
			add(int(all[i]), 0, 0)
		}
		i = j
	}
	c := newCode(freq, 7)
	order := [19]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	n := 19
	for n > 4 && c.length[order[n-1]] == 0 {
		n--
	}
	d.put(0b100, 3) // not the last block, dynamic codes
	d.put(uint64(len(litLen)-257), 5)
	d.put(uint64(len(distLen)-1), 5)
	d.put(uint64(n-4), 4)
	for _, s := range order[:n] {
		d.put(uint64(c.length[s]), 3)
	}
	for _, it := range items {
		d.put(uint64(c.bits[it.symbol]), uint(c.length[it.symbol]))
		d.put(it.value, it.extra)
	}
}

// literals encodes p by Huffman codes and runs of zeros.
func (d *deflater) literals(p []byte) {
	for len(p) > 0 {
		n := min(len(p), blockBytes)
		d.literalBlock(p[:n])
		p = p[n:]
	}
}

func (d *deflater) literalBlock(p []byte) {
	// The first byte is never part of a run: there may be nothing before it to copy.
	d.runs = d.runs[:0]
	for i := 1; i+8 <= len(p); i += 8 {
		if binary.LittleEndian.Uint64(p[i:]) != 0 {
			continue
		}
		from := i
		for from > 1 && p[from-1] == 0 {
			from--
		}
		if k := len(d.runs); k > 0 {
			from = max(from, d.runs[k-1].at+d.runs[k-1].length)
		}
		if from == 0 || p[from-1] != 0 {
			from++ // a zero to copy
		}
		to := i + 8
		for to+8 <= len(p) && binary.LittleEndian.Uint64(p[to:]) == 0 {
			to += 8
		}
		for to < len(p) && p[to] == 0 {
			to++
		}
		if to-from >= zeroRun {
			d.runs = append(d.runs, run{from, to - from})
		}
		i = (to - 1) &^ 7 // the loop adds 8: any place past the run will do
	}
	// Four tables: a byte that repeats would wait for its own count to be stored.
	var f [4][256]uint32
	lit, dist := make([]uint32, 286), make([]uint32, 30)
	segments := func(literal func(q []byte), zeros func(length int)) {
		at := 0
		for _, r := range d.runs {
			literal(p[at:r.at])
			for left := r.length; left > 0; {
				k := min(left, maxMatch)
				if left-k > 0 && left-k < 3 {
					k -= 3
				}
				zeros(k)
				left -= k
			}
			at = r.at + r.length
		}
		literal(p[at:])
	}
	segments(func(q []byte) {
		for ; len(q) >= 4; q = q[4:] {
			f[0][q[0]]++
			f[1][q[1]]++
			f[2][q[2]]++
			f[3][q[3]]++
		}
		for _, v := range q {
			f[0][v]++
		}
	}, func(length int) {
		s, _, _ := lengthCode(length)
		lit[s]++
		dist[0]++
	})
	for s := range 256 {
		lit[s] = f[0][s] + f[1][s] + f[2][s] + f[3][s]
	}
	lit[endOfBlock] = 1
	lc, dc := newCode(lit, codeLimit), newCode(dist, codeLimit)
	d.header(lc, dc)
	var table [256]uint32 // code << 4 | length
	for s := range table {
		table[s] = uint32(lc.bits[s])<<4 | uint32(lc.length[s])
	}
	segments(func(q []byte) { d.putLiterals(q, &table) }, func(length int) {
		s, extra, v := lengthCode(length)
		d.put(uint64(lc.bits[s]), uint(lc.length[s]))
		d.put(v, extra)
		d.put(uint64(dc.bits[0]), uint(dc.length[0]))
	})
	d.put(uint64(lc.bits[endOfBlock]), uint(lc.length[endOfBlock]))
}

// putLiterals writes four codes per store.
func (d *deflater) putLiterals(q []byte, table *[256]uint32) {
	d.out = slices.Grow(d.out, len(q)*2+16)
	at := len(d.out)
	out := d.out[:cap(d.out)]
	acc, n := d.acc, d.n
	for ; len(q) >= 4; q = q[4:] {
		a, b, c, e := table[q[0]], table[q[1]], table[q[2]], table[q[3]]
		acc |= uint64(a>>4) << (n & 63)
		n += uint(a & 15)
		acc |= uint64(b>>4) << (n & 63)
		n += uint(b & 15)
		acc |= uint64(c>>4) << (n & 63)
		n += uint(c & 15)
		acc |= uint64(e>>4) << (n & 63)
		n += uint(e & 15)
		binary.LittleEndian.PutUint64(out[at:], acc)
		at += int(n >> 3)
		acc >>= n & 56
		n &= 7
	}
	d.out, d.acc, d.n = out[:at], acc, n
	for _, v := range q {
		d.put(uint64(table[v]>>4), uint(table[v]&15))
	}
}

// matches encodes p[from:] with a match search that may reach back into p[:from].
// above is the distance of the byte one row up, pixel that of the next pixel, and
// literal is literalCost of about this data. It returns the number of tokens:
// bytes per token tell how well, and how fast, it went.
func (d *deflater) matches(p []byte, from, above, pixel, literal int) (tokens int) {
	if d.near == nil {
		d.near, d.far = make([]int32, 1<<hashBits), make([][2]int32, 1<<hashBits)
	}
	d.tokens = d.tokens[:0]
	d.worth = literal
	end := len(p) - reach
	step := 1 // colour is three times the bytes of grey: take less care
	if pixel >= 3 {
		step = pixel
	}
	last := 1
	for i := from; i < len(p); {
		if len(d.tokens) >= blockTokens {
			tokens += len(d.tokens)
			d.tokenBlock()
		}
		if i >= end {
			d.tokens = append(d.tokens, uint32(p[i]))
			i++
			continue
		}
		length, distance := d.search(p, i, last, above, pixel)
		if length == 0 {
			d.tokens = append(d.tokens, uint32(p[i]))
			i++
			continue
		}
		for step == 1 && length < lazyBelow && i+1 < end { // a better one may start at the next byte
			l, dd := d.search(p, i+1, last, above, pixel)
			if l == 0 || d.saves(l, dd) <= d.saves(length, distance) {
				break
			}
			d.tokens = append(d.tokens, uint32(p[i]))
			i++
			length, distance = l, dd
		}
		d.tokens = append(d.tokens, 1<<31|uint32(length-3)<<16|uint32(distance-1))
		last = distance
		for k := i + 1; k < min(i+length, end); k += step + length*step/12 {
			d.insert(p, k)
		}
		i += length
	}
	tokens += len(d.tokens)
	d.tokenBlock()
	return tokens
}

const hashPrime = 0x9E3779B185EBCA87

// insert remembers place i, where the eight bytes x and 32 more stand, and returns
// the places remembered for the same eight and the same 40 bytes, newest first.
// Filtered images repeat long patterns that differ here and there: the long hash
// finds where the pattern goes on, the short one mostly finds zeros. Places are
// counted from one: zero is none.
func (d *deflater) insert(p []byte, i int) (near int32, far [2]int32) {
	q := p[i : i+reach]
	x := binary.LittleEndian.Uint64(q) * hashPrime
	y := x
	for k := 8; k < reach; k += 8 {
		y = (y ^ y>>29 ^ binary.LittleEndian.Uint64(q[k:])) * hashPrime
	}
	n, f := &d.near[x>>(64-hashBits)], &d.far[y>>(64-hashBits)]
	near, far = *n, *f
	*n, *f = int32(i+1), [2]int32{int32(i + 1), far[0]}
	return near, far
}

// search inserts place i and finds the match that saves most among a few: where
// the hashes remember, the row above, and at the last distance. Length 0: none pays.
func (d *deflater) search(p []byte, i, last, above, pixel int) (length, distance int) {
	x := binary.LittleEndian.Uint64(p[i:])
	near, far := d.insert(p, i)
	most := 0
	for _, j := range [...]int{int(far[0]) - 1, int(far[1]) - 1, i - above, i - above - pixel, i - above + pixel, i - last, int(near) - 1} {
		if j < 0 || j >= i || i-j > windowSize || binary.LittleEndian.Uint64(p[j:]) != x {
			continue
		}
		l := matchLength(p, j, i)
		if s := d.saves(l, i-j); s > most {
			most, length, distance = s, l, i-j
			if l >= enough {
				break
			}
		}
	}
	return length, distance
}

// saves is about how many sixteenths of a bit a match is shorter than literals: a
// far one costs more, and filtered bytes are cheap.
func (d *deflater) saves(length, distance int) int {
	return length*d.worth - 16*(matchBits+bits.Len(uint(distance)))
}

// literalCost is the mean length of a byte's Huffman code in sixteenths of a bit.
func literalCost(p []byte) int {
	freq := make([]uint32, 256)
	for _, v := range p {
		freq[v]++
	}
	sum := 0
	for s, l := range newCode(freq, codeLimit).length {
		sum += int(freq[s]) * int(l)
	}
	return 16*sum/max(1, len(p)) + literalMore
}

// matchLength is how far p[j:] and p[i:] agree, j < i, up to maxMatch.
func matchLength(p []byte, j, i int) int {
	n := min(maxMatch, len(p)-i)
	k := 0
	for ; k+8 <= n; k += 8 {
		if x := binary.LittleEndian.Uint64(p[j+k:]) ^ binary.LittleEndian.Uint64(p[i+k:]); x != 0 {
			return k + bits.TrailingZeros64(x)>>3
		}
	}
	for k < n && p[j+k] == p[i+k] {
		k++
	}
	return k
}

// tokenBlock writes the tokens as a block.
func (d *deflater) tokenBlock() {
	tokens := d.tokens
	d.tokens = d.tokens[:0]
	lit, dist := make([]uint32, 286), make([]uint32, 30)
	lit[endOfBlock] = 1
	for _, t := range tokens {
		if t < 256 {
			lit[t]++
			continue
		}
		s, _, _ := lengthCode(int(t>>16&0xff) + 3)
		lit[s]++
		s, _, _ = distanceCode(int(t&0xffff) + 1)
		dist[s]++
	}
	lc, dc := newCode(lit, codeLimit), newCode(dist, codeLimit)
	d.header(lc, dc)
	d.out = slices.Grow(d.out, len(tokens)*6+16)
	for _, t := range tokens {
		if t < 256 {
			d.put(uint64(lc.bits[t]), uint(lc.length[t]))
			continue
		}
		s, extra, v := lengthCode(int(t>>16&0xff) + 3)
		d.put(uint64(lc.bits[s])|v<<lc.length[s], uint(lc.length[s])+extra)
		s, extra, v = distanceCode(int(t&0xffff) + 1)
		d.put(uint64(dc.bits[s])|v<<dc.length[s], uint(dc.length[s])+extra)
	}
	d.put(uint64(lc.bits[endOfBlock]), uint(lc.length[endOfBlock]))
}
