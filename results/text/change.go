package text

import (
	"regexp"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// Part is a stretch of a text: in both texts, or in one of them.
type Part struct {
	Text    string
	Added   bool
	Removed bool
}

// pieces are words, spaces and what is neither.
var pieces = regexp.MustCompile(`[\p{L}\p{N}]+|[\s\p{Z}]+|[^\p{L}\p{N}\s\p{Z}]`)

// Changes is the text now as parts of itself and of what stood before.
func Changes(before, now string) (out []Part) {
	a, b := pieces.FindAllString(before, -1), pieces.FindAllString(now, -1)
	add := func(p Part) {
		if p.Text != "" {
			out = append(out, p)
		}
	}
	for _, op := range difflib.NewMatcher(a, b).GetOpCodes() {
		gone, here := strings.Join(a[op.I1:op.I2], ""), strings.Join(b[op.J1:op.J2], "")
		if op.Tag == 'e' {
			add(Part{Text: here})
			continue
		}
		add(Part{Text: gone, Removed: true})
		add(Part{Text: here, Added: true})
	}
	return out
}

// Excerpt is parts without most of what is in both texts: of the first and the last stretch
// that is, a few words stay.
func Excerpt(parts []Part) []Part {
	const around = 8 // words
	out := append([]Part(nil), parts...)
	for _, i := range []int{0, len(out) - 1} {
		if i < 0 || out[i].Added || out[i].Removed {
			continue
		}
		switch words := strings.SplitAfter(out[i].Text, " "); {
		case len(words) <= around:
		case i == 0:
			out[i].Text = "… " + strings.Join(words[len(words)-around:], "")
		default:
			out[i].Text = strings.Join(words[:around], "") + " …"
		}
	}
	return out
}
