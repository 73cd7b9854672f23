package text

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Distance is the Levenshtein distance of a and b in code points.
func Distance(a, b string) int {
	p, t := []rune(a), []rune(b)
	// Fewer words per step with the shorter one as the pattern.
	if len(p) > len(t) {
		p, t = t, p
	}
	whole, _, _ := newPattern(p).run(t, false, nil)
	return whole
}

// Occurs is the evidence check of metrics.md section 2.4: whether quote, after
// Normalise, stands in text with at most one edit per 50 of its code points. An
// empty quote does not occur.
func Occurs(quote, text string) bool {
	_, _, ok := find(quote, text)
	return ok
}

// find is where a quote that Occurs stands: the code points [from, to) of
// Normalise(text), the first of the nearest places to end.
func find(quote, text string) (from, to int, ok bool) {
	q, s := Normalise(quote), Normalise(text)
	pattern := []rune(q)
	if len(pattern) == 0 {
		return 0, 0, false
	}
	if i := strings.Index(s, q); i >= 0 {
		from = utf8.RuneCountInString(s[:i])
		return from, from + len(pattern), true
	}
	runes := []rune(s)
	_, edits, to := newPattern(pattern).run(runes, true, nil)
	if 50*edits > len(pattern) {
		return 0, 0, false
	}
	// Backwards from its end, the place with as few edits is its beginning.
	slices.Reverse(pattern)
	back := slices.Clone(runes[max(0, to-len(pattern)-edits):to])
	slices.Reverse(back)
	_, _, length := newPattern(pattern).run(back, false, nil)
	return to - length, to, true
}

// pattern holds, for each of its distinct code points, the positions where that
// occurs: Myers' bit vectors (J. ACM 46, 1999) in Hyyrö's blocked form (2003).
type pattern struct {
	n     int // code points
	words int
	ascii [128]int     // 1 + row in eq; 0: does not occur
	other map[rune]int // the same beyond ASCII
	eq    []uint64     // rows of words
}

func newPattern(p []rune) *pattern {
	m := &pattern{n: len(p), words: (len(p) + 63) / 64}
	rows := 0
	for i, r := range p {
		at := m.row(r)
		if at == 0 {
			rows++
			at = rows
			if r >= 0 && r < 128 {
				m.ascii[r] = at
			} else {
				if m.other == nil {
					m.other = map[rune]int{}
				}
				m.other[r] = at
			}
			m.eq = append(m.eq, make([]uint64, m.words)...)
		}
		m.eq[(at-1)*m.words+i/64] |= 1 << (i % 64)
	}
	return m
}

func (m *pattern) row(r rune) int {
	if r >= 0 && r < 128 {
		return m.ascii[r]
	}
	return m.other[r]
}

// run is the distance from the whole of t, and the least distance from a part of
// it that begins where t does, or with search anywhere, and ends after end code
// points. ends, where it is not nil, gets that distance for each end but 0. A column of the edit matrix is kept as its vertical differences: bit i
// of pv says +1 from row i to i+1, bit i of mv says -1.
func (m *pattern) run(t []rune, search bool, ends []int) (whole, best, end int) {
	if m.n == 0 {
		return len(t), 0, 0
	}
	type block struct{ pv, mv uint64 }
	col := make([]block, m.words)
	for i := range col {
		col[i].pv = ^uint64(0)
	}
	none := make([]uint64, m.words)
	last := uint(m.n-1) % 64
	// The top row grows by one per column, unless a match may begin anywhere.
	var top uint64 = 1
	if search {
		top = 0
	}
	score := m.n
	best = score
	for i, r := range t {
		eqs := none
		if at := m.row(r); at > 0 {
			eqs = m.eq[(at-1)*m.words : at*m.words]
		}
		// phin and mhin carry the horizontal difference into the next block.
		phin, mhin := top, uint64(0)
		var ph, mh uint64
		eqs = eqs[:len(col)]
		for w := range col {
			pv, mv, eq := col[w].pv, col[w].mv, eqs[w]
			xv := eq | mv
			eq |= mhin
			xh := ((eq&pv + pv) ^ pv) | eq
			ph = mv | ^(xh | pv)
			mh = pv & xh
			up, down := ph<<1|phin, mh<<1|mhin
			col[w] = block{pv: down | ^(xv | up), mv: up & xv}
			phin, mhin = ph>>63, mh>>63
		}
		score += int(ph>>last&1) - int(mh>>last&1)
		if score < best {
			best, end = score, i+1
		}
		if ends != nil {
			ends[i+1] = score
		}
	}
	return score, best, end
}
