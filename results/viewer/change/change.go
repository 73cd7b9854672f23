// Package change says what one text has that another one has not.
package change

import "unicode"

// Part is a stretch of a text: in both texts, or in one of them.
type Part struct {
	Text    string
	Added   bool
	Removed bool
}

// mostWords are compared word by word; of longer texts, whole middles are compared.
const mostWords = 4000

// Of is the text now as parts of itself and of what stood before.
func Of(before, now string) []Part {
	a, b := tokens(before), tokens(now)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	end := 0
	for end < len(a)-head && end < len(b)-head && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	var out []Part
	add := func(p Part) {
		if n := len(out); n > 0 && out[n-1].Added == p.Added && out[n-1].Removed == p.Removed {
			out[n-1].Text += p.Text
		} else if p.Text != "" {
			out = append(out, p)
		}
	}
	for _, t := range b[:head] {
		add(Part{Text: t})
	}
	x, y := a[head:len(a)-end], b[head:len(b)-end]
	if len(x)*len(y) > mostWords*mostWords/4 {
		for _, t := range x {
			add(Part{Text: t, Removed: true})
		}
		for _, t := range y {
			add(Part{Text: t, Added: true})
		}
	} else {
		// Lengths of the longest common subsequences of what is left of each.
		width := len(y) + 1
		longest := make([]int32, (len(x)+1)*width)
		for i := len(x) - 1; i >= 0; i-- {
			for j := len(y) - 1; j >= 0; j-- {
				if x[i] == y[j] {
					longest[i*width+j] = longest[(i+1)*width+j+1] + 1
				} else {
					longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
				}
			}
		}
		i, j := 0, 0
		for i < len(x) || j < len(y) {
			switch {
			case i < len(x) && j < len(y) && x[i] == y[j]:
				add(Part{Text: x[i]})
				i, j = i+1, j+1
			case j == len(y) || i < len(x) && longest[(i+1)*width+j] >= longest[i*width+j+1]:
				add(Part{Text: x[i], Removed: true})
				i++
			default:
				add(Part{Text: y[j], Added: true})
				j++
			}
		}
	}
	for _, t := range b[len(b)-end:] {
		add(Part{Text: t})
	}
	return out
}

// tokens cuts a text into words and what stands between them.
func tokens(s string) []string {
	var out []string
	kind := func(r rune) int {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			return 0
		case unicode.IsSpace(r):
			return 1
		}
		return 2
	}
	from, last := 0, -1
	for i, r := range s {
		if k := kind(r); k != last || k == 2 {
			if i > from {
				out = append(out, s[from:i])
			}
			from, last = i, k
		}
	}
	if from < len(s) {
		out = append(out, s[from:])
	}
	return out
}
