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
	mark := ""
	for salt := 0; ; salt++ {
		d := string(results.DigestOf([]byte(text), []byte{byte(salt)}))
		mark = strings.TrimPrefix(d, "sha256:")[:16]
		if !strings.Contains(text, mark) {
			break
		}
	}
	return "[begin of quoted text " + mark + "]\n" + text + "\n[end of quoted text " + mark + "]"
}
