package text

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// Continued is how near a model's continuation of the first half of a text comes to
// the second half (metrics.md section 3).
type Continued struct {
	Similarity float64 // rho, 0..1: that of the nearest window
	At         int     // where the first of the nearest windows begins, in code points of the continuation
	Distance   int     // its Levenshtein distance from the second half
	Windows    int     // how many there were
	Region     int     // code points that windows were taken from
	// Short says that the continuation is shorter than the second half: it was compared
	// as a whole, and has lost what it lacks.
	Short bool
}

// Windowed compares rest, the second half of a text, with every window of its length in
// the first reach times as many code points of a continuation. false: rest is empty,
// and there is nothing to compare. reach is at least 1.
func Windowed(continuation, rest string, reach float64) (Continued, bool) {
	want := []rune(rest)
	n := len(want)
	if n == 0 {
		return Continued{}, false
	}
	if !(reach >= 1) {
		panic(fmt.Sprintf("text: internal error: windows reach %v times the length of what they are compared with", reach))
	}
	region := []rune(continuation)
	region = region[:min(len(region), int(math.Floor(reach*float64(n))))]
	p := newPattern(want)
	c := Continued{Region: len(region), Short: len(region) < n}
	if c.Short {
		c.Windows, c.Distance = 1, distanceOf(p, region)
	} else {
		c.Windows = len(region) - n + 1
		c.At, c.Distance = p.nearest(newPattern(reversed(want)), region)
	}
	c.Similarity = 1 - float64(c.Distance)/float64(n)
	return c, true
}

func distanceOf(p *pattern, t []rune) int {
	d, _, _ := p.run(t, false, nil)
	return d
}

func reversed(r []rune) []rune {
	r = slices.Clone(r)
	slices.Reverse(r)
	return r
}

// nearest is the first of the windows of the pattern's length with the least distance.
//
// No window is nearer than the nearest part of the region that ends, or begins, where it
// does: two searches, one of them backwards, tell that for all windows. And windows that
// lie k code points apart differ by at most 2k in distance. So only those are looked at
// that can still be nearer than the nearest found, most promising first.
func (m *pattern) nearest(backwards *pattern, region []rune) (at, least int) {
	n := m.n
	bound := make([]int, len(region)-n+1)
	ends := m.ending(region)
	begins := backwards.ending(reversed(region))
	for j := range bound {
		bound[j] = max(ends[j+n], begins[len(region)-j])
	}
	at, least = -1, n+1
	for {
		next := -1
		for j, b := range bound {
			if (b < least || b == least && j < at) && (next < 0 || b < bound[next]) {
				next = j
			}
		}
		if next < 0 {
			return at, least
		}
		d := distanceOf(m, region[next:next+n])
		if d < least || d == least && next < at {
			at, least = next, d
		}
		for j := range bound {
			bound[j] = max(bound[j], d-2*max(j-next, next-j))
		}
		bound[next] = math.MaxInt
	}
}

// ending is, for each end in t, the least distance from a part of t that ends there, the
// empty one included.
func (m *pattern) ending(t []rune) []int {
	out := make([]int, len(t)+1)
	out[0] = m.n
	m.run(t, true, out)
	return out
}

// IndelRatio is 2*LCS/(|a|+|b|) in code points, 0..1, rounded to two decimals, halves to
// even: what the first version of MELD compares with. 1 for two empty strings.
func IndelRatio(a, b string) float64 {
	n := utf8.RuneCountInString(a) + utf8.RuneCountInString(b)
	if n == 0 {
		return 1
	}
	ratio := 2 * float64(lcs([]rune(a), []rune(b))) / float64(n)
	return math.RoundToEven(100*ratio) / 100
}
