// Package deflate is a deflate encoder (RFC 1951) for the filtered rows of
// images. It knows two ways. Literals: bytes are only Huffman coded, but for long
// runs of zeros; noise allows no more, and a match search only costs time there.
// Matches: a search with few candidates, for smooth images and drawings.
package deflate

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Reach are the bytes of the longer hash: so many at the end of its input Matches
// never looks up.
const Reach = 40

// BlockBytes are the literals that share a code.
const BlockBytes = 256 << 10

const (
	windowSize  = 32 << 10
	matchBits   = 6       // about what a match costs beside its distance
	bit         = 1024    // costs are fractions of it
	literalMore = bit / 2 // literals that no match covers are the dear ones
	maxMatch    = 258
	hashBits    = 15
	lazyBelow   = 32 // matches that a better one may still replace
	codeLimit   = 13 // bits of a code: two and their length fit 32 bits, four 64 beside a started byte
	pairBits    = 5  // of the length of two codes
	endOfBlock  = 256
	blockTokens = 8 << 10 // tokens that do
	zeroRun     = 24      // shorter runs of zeros stay literals
)

// Encoder writes blocks that follow each other; any split of the input into
// calls of Literals and Matches gives a valid stream. The zero Encoder is ready.
type Encoder struct {
	Out    []byte // what is finished; set it to append to a file's head
	acc    uint64
	n      uint // bits in acc, below 8 between writes
	tokens []uint32
	near   []int32    // the last place by a hash of eight bytes
	far    [][2]int32 // the last two of Reach
	runs   []run
	pairs  []uint32 // codes of two literals << pairBits | their length
	worth  int      // of a literal, see saves
}

type run struct{ at, length int }

// Reset starts another stream in the same memory.
func (d *Encoder) Reset() {
	d.Out, d.acc, d.n = d.Out[:0], 0, 0
	d.Forget()
}

// Forget says that Matches gets another input from here on.
func (d *Encoder) Forget() {
	clear(d.near)
	clear(d.far)
}

// put appends up to 56 bits, least significant first.
func (d *Encoder) put(v uint64, n uint) {
	d.acc |= v << d.n
	d.n += n
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], d.acc)
	d.Out = append(d.Out, b[:d.n>>3]...)
	d.acc >>= d.n &^ 7
	d.n &= 7
}

// Finish ends the stream on a byte.
func (d *Encoder) Finish() {
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
		freq          uint64
		symbol        int // leaf
		parent, depth int
	}
	const symbolBits = 9
	var order []uint64 // by frequency, then symbol
	for s, f := range freq {
		if f > 0 {
			order = append(order, uint64(f)<<symbolBits|uint64(s))
		}
	}
	slices.Sort(order)
	leaves := len(order)
	c := code{make([]uint16, len(freq)), make([]uint8, len(freq))}
	if leaves == 0 {
		return c
	}
	nodes := make([]node, leaves, 2*leaves)
	for i, o := range order {
		nodes[i] = node{freq: o >> symbolBits, symbol: int(o & (1<<symbolBits - 1))}
	}
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

// header starts a block of dynamic codes. It names all symbols, those without a
// code too: runs of zero lengths cost next to nothing.
func (d *Encoder) header(lit, dist code) {
	all := append(slices.Clone(lit.length), dist.length...)
	type item struct{ symbol, extra, value int }
	var items []item
	freq := make([]uint32, 19)
	for i := 0; i < len(all); { // only zeros repeat enough to be worth a code of their own
		n := 0
		for n < 138 && i+n < len(all) && all[i+n] == 0 {
			n++
		}
		it := item{int(all[i]), 0, 0}
		switch {
		case n >= 11:
			it = item{18, 7, n - 11}
		case n >= 3:
			it = item{17, 3, n - 3}
		default:
			n = 1
		}
		items = append(items, it)
		freq[it.symbol]++
		i += n
	}
	c := newCode(freq, 7)
	d.put(0b100, 3) // not the last block, dynamic codes
	d.put(uint64(len(lit.length)-257), 5)
	d.put(uint64(len(dist.length)-1), 5)
	d.put(19-4, 4)
	for _, s := range [19]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15} {
		d.put(uint64(c.length[s]), 3)
	}
	for _, it := range items {
		d.putSymbol(c, it.symbol)
		d.put(uint64(it.value), uint(it.extra))
	}
}

// Literals encodes p by Huffman codes and runs of zeros.
func (d *Encoder) Literals(p []byte) {
	for len(p) > 0 {
		n := min(len(p), BlockBytes)
		d.literalBlock(p[:n])
		p = p[n:]
	}
}

func (d *Encoder) literalBlock(p []byte) {
	d.runs = d.runs[:0]
	for i := 0; i+8 <= len(p); i += 8 {
		if binary.LittleEndian.Uint64(p[i:]) != 0 {
			continue
		}
		from, to := i+1, i+8 // the first zero is there to be copied
		for to+8 <= len(p) && binary.LittleEndian.Uint64(p[to:]) == 0 {
			to += 8
		}
		length := to - from
		if rest := length % maxMatch; rest < 3 { // too short for a match of its own
			length -= rest
		}
		if length >= zeroRun {
			d.runs = append(d.runs, run{from, length})
		}
		i = to - 8
	}
	segments := func(literal func(q []byte), zeros func(length int)) {
		at := 0
		for _, r := range d.runs {
			literal(p[at:r.at])
			for at = r.at; at < r.at+r.length; at += maxMatch {
				zeros(min(maxMatch, r.at+r.length-at))
			}
			at = r.at + r.length
		}
		literal(p[at:])
	}
	var f tally
	var c counts
	segments(f.add, func(length int) { c.match(length, 1) })
	copy(c.lit[:], f.sum())
	lit, dist := d.start(&c)
	d.pair(lit)
	segments(func(q []byte) { d.putLiterals(q, lit) }, func(length int) { d.putMatch(lit, dist, length, 1) })
	d.putSymbol(lit, endOfBlock)
}

// tally counts bytes in four tables: one that repeats would wait for its own count
// to be stored.
type tally [4][256]uint32

func (f *tally) add(q []byte) {
	for ; len(q) >= 4; q = q[4:] {
		f[0][q[0]]++
		f[1][q[1]]++
		f[2][q[2]]++
		f[3][q[3]]++
	}
	for _, v := range q {
		f[0][v]++
	}
}

func (f *tally) sum() []uint32 {
	out := make([]uint32, 256)
	for s := range out {
		out[s] = f[0][s] + f[1][s] + f[2][s] + f[3][s]
	}
	return out
}

// counts are how often the symbols of a block occur.
type counts struct {
	lit  [286]uint32
	dist [30]uint32
}

func (c *counts) match(length, distance int) {
	s, _, _ := lengthCode(length)
	c.lit[s]++
	s, _, _ = distanceCode(distance)
	c.dist[s]++
}

// start makes a block's codes and writes its header.
func (d *Encoder) start(c *counts) (lit, dist code) {
	c.lit[endOfBlock] = 1
	lit, dist = newCode(c.lit[:], codeLimit), newCode(c.dist[:], codeLimit)
	d.header(lit, dist)
	return lit, dist
}

func (d *Encoder) putSymbol(c code, s int) { d.put(uint64(c.bits[s]), uint(c.length[s])) }

func (d *Encoder) putMatch(lit, dist code, length, distance int) {
	s, extra, v := lengthCode(length)
	d.put(uint64(lit.bits[s])|v<<lit.length[s], uint(lit.length[s])+extra)
	s, extra, v = distanceCode(distance)
	d.put(uint64(dist.bits[s])|v<<dist.length[s], uint(dist.length[s])+extra)
}

// pair joins the codes of every two bytes that occur, by first|second<<8.
func (d *Encoder) pair(lit code) {
	if d.pairs == nil {
		d.pairs = make([]uint32, 1<<16)
	}
	var used []uint32
	for v := range uint32(256) {
		if lit.length[v] > 0 {
			used = append(used, v)
		}
	}
	for _, second := range used {
		code, length, row := uint32(lit.bits[second])<<pairBits, uint32(lit.length[second]), d.pairs[second<<8:][:256]
		for _, first := range used {
			n := uint32(lit.length[first])
			row[first] = code<<(n&31) | uint32(lit.bits[first])<<pairBits | (n + length)
		}
	}
}

// putLiterals writes four codes per store.
func (d *Encoder) putLiterals(q []byte, lit code) {
	d.Out = slices.Grow(d.Out, len(q)*2+16)
	at := len(d.Out)
	out := d.Out[:cap(d.Out)]
	acc, n := d.acc, d.n
	pairs := (*[1 << 16]uint32)(d.pairs)
	for ; len(q) >= 4; q = q[4:] {
		w := binary.LittleEndian.Uint32(q)
		ab, ce := pairs[uint16(w)], pairs[w>>16]
		m := uint(ab % (1 << pairBits))
		acc |= (uint64(ab>>pairBits) | uint64(ce>>pairBits)<<m) << (n & 63)
		n += m + uint(ce%(1<<pairBits))
		binary.LittleEndian.PutUint64(out[at:], acc)
		at += int(n >> 3)
		acc >>= n & 56
		n &= 7
	}
	d.Out, d.acc, d.n = out[:at], acc, n
	for _, v := range q {
		d.putSymbol(lit, int(v))
	}
}

// Matches encodes p[from:] with a match search that may reach back into p[:from].
// above is the distance of the byte one row up, pixel that of the next pixel, and
// literal is LiteralCost of about this data. It returns the number of tokens:
// bytes per token tell how well, and how fast, it went.
func (d *Encoder) Matches(p []byte, from, above, pixel, literal int) (tokens int) {
	if d.near == nil {
		d.near, d.far = make([]int32, 1<<hashBits), make([][2]int32, 1<<hashBits)
	}
	d.tokens = d.tokens[:0]
	d.worth = literal
	end := len(p) - Reach
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
func (d *Encoder) insert(p []byte, i int) (near int32, far [2]int32) {
	q := p[i : i+Reach]
	x := binary.LittleEndian.Uint64(q) * hashPrime
	y := x
	for k := 8; k < Reach; k += 8 {
		y = (y ^ y>>29 ^ binary.LittleEndian.Uint64(q[k:])) * hashPrime
	}
	n, f := &d.near[x>>(64-hashBits)], &d.far[y>>(64-hashBits)]
	near, far = *n, *f
	*n, *f = int32(i+1), [2]int32{int32(i + 1), far[0]}
	return near, far
}

// search inserts place i and finds the match that saves most among a few: where
// the hashes remember, the row above, and at the last distance. Length 0: none pays.
func (d *Encoder) search(p []byte, i, last, above, pixel int) (length, distance int) {
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
			if l == maxMatch {
				break
			}
		}
	}
	return length, distance
}

// saves is about how much a match is shorter than literals, 1024 to the bit: a far
// one costs more, and filtered bytes are cheap.
func (d *Encoder) saves(length, distance int) int {
	return length*d.worth - bit*(matchBits+bits.Len(uint(distance)))
}

// Adler continues the check sum of a zlib stream (RFC 1950), eight bytes at a
// time; the first is 1.
func Adler(sum uint32, p []byte) uint32 {
	const prime = 65521
	const even, all = 0x00ff00ff00ff00ff, 0x0001000100010001
	const evenWeights, oddWeights = 0x0008000600040002, 0x0007000500030001 // of the first byte in the highest lane
	s, t := uint64(sum&0xffff), uint64(sum>>16)
	for len(p) > 0 {
		q := p[:min(len(p), 1<<16)] // sums stay far below 64 bits
		p = p[len(q):]
		for ; len(q) >= 8; q = q[8:] {
			w := binary.LittleEndian.Uint64(q)
			e, o := w&even, w>>8&even
			t += 8*s + (e*evenWeights+o*oddWeights)>>48
			s += (e + o) * all >> 48
		}
		for _, v := range q {
			s += uint64(v)
			t += s
		}
		s, t = s%prime, t%prime
	}
	return uint32(t<<16 | s)
}

// LiteralCost is about the mean length of a byte's Huffman code, 1024 to the bit.
func LiteralCost(p []byte) int {
	var f tally
	f.add(p)
	freq, sum := f.sum(), 0
	for s, l := range newCode(freq, codeLimit).length {
		sum += int(freq[s]) * int(l)
	}
	return bit*sum/max(1, len(p)) + literalMore
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
func (d *Encoder) tokenBlock() {
	tokens := d.tokens
	d.tokens = d.tokens[:0]
	var c counts
	match := func(t uint32) (length, distance int) { return int(t>>16&0xff) + 3, int(t&0xffff) + 1 }
	for _, t := range tokens {
		if t < 256 {
			c.lit[t]++
		} else {
			c.match(match(t))
		}
	}
	lit, dist := d.start(&c)
	for _, t := range tokens {
		if t < 256 {
			d.putSymbol(lit, int(t))
		} else {
			length, distance := match(t)
			d.putMatch(lit, dist, length, distance)
		}
	}
	d.putSymbol(lit, endOfBlock)
}
