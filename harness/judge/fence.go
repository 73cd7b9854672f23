package judge

import (
	"strings"
	"text/template"

	"assay/results"
)

// Funcs are the functions of a rubric's template:
//
//	{{fence .Answer}}  the text between two marked lines, as data
func Funcs() template.FuncMap { return template.FuncMap{"fence": Fence} }

// Fence puts text between two lines that carry the same mark, so that nothing
// inside can pass for the end of it. The mark is taken from the digest of the
// text: a text cannot be written around its own digest, and the same text always
// gives the same prompt. Should the mark occur in the text all the same, the next
// one is taken.
func Fence(text string) string {
	mark := markIn(text, markOf)
	return "[begin of quoted text " + mark + "]\n" + text + "\n[end of quoted text " + mark + "]"
}

// markIn is the first mark that does not occur in text.
func markIn(text string, mark func(text string, salt byte) string) string {
	for salt := byte(0); ; salt++ {
		if m := mark(text, salt); !strings.Contains(text, m) {
			return m
		}
	}
}

func markOf(text string, salt byte) string {
	d := string(results.DigestOf([]byte(text), []byte{salt}))
	return strings.TrimPrefix(d, "sha256:")[:16]
}
