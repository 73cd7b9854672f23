// Package edits says how one prompt differs from another.
package edits

import (
	"strings"

	"assay/results/text"
)

// Change is a stretch of a prompt beside that of another view.
type Change struct {
	Text        string
	Added, Gone bool
}

// Of is how b differs from a, by word, with a few words around; nil: they are
// alike, or one is not known.
func Of(a, b string) []Change {
	if a == "" || b == "" || a == b {
		return nil
	}
	x, y := strings.SplitAfter(a, " "), strings.SplitAfter(b, " ")
	// What is the same at both ends needs no table of the rest.
	from := 0
	for from < min(len(x), len(y)) && x[from] == y[from] {
		from++
	}
	to := 0
	for to < min(len(x), len(y))-from && x[len(x)-1-to] == y[len(y)-1-to] {
		to++
	}
	const around = 8 // words
	shown := func(words []string) string { return text.VisibleLines(strings.Join(words, "")) }
	var out []Change
	if from > 0 {
		lead := ""
		if from > around {
			lead = "… "
		}
		out = append(out, Change{Text: lead + shown(x[max(0, from-around):from])})
	}
	if gone := x[from : len(x)-to]; len(gone) > 0 {
		out = append(out, Change{Text: shown(gone), Gone: true})
	}
	if added := y[from : len(y)-to]; len(added) > 0 {
		out = append(out, Change{Text: shown(added), Added: true})
	}
	if to > 0 {
		trail := ""
		if to > around {
			trail = " …"
		}
		out = append(out, Change{Text: shown(x[len(x)-to:min(len(x), len(x)-to+around)]) + trail})
	}
	return out
}
