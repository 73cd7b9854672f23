package phantom

import (
	"hash/fnv"
	"regexp"
	"strings"

	"assay/backends/phantom"
)

// Remembers reports whether a question's text was learnt. Which ones were, hangs on
// the text alone.
func Remembers(m phantom.Memory, text string) bool {
	h := fnv.New64a()
	h.Write([]byte(text))
	return phantom.NewSource(h.Sum64()).Hits(m.Share)
}

// more tells a prompt that asks how a text goes on.
var more = regexp.MustCompile(`(?i)\b(?:continu\w+|complete|completion|goes on|go on|finish|what comes next|the rest of|second half|remainder)\b`)

// learnt are the texts of a memory.
func learnt(m phantom.Memory) []string {
	var out []string
	for i := range m.Cases {
		s := NewScene(m.Seed, i)
		for _, q := range append(Questions(s), Faithful(s)...) {
			if Remembers(m, q.Text) {
				out = append(out, q.Text)
			}
		}
	}
	return out
}

// recall finds the text of which a prompt shows the beginning, and gives the
// rest; "" where none is known that shares a third of its length.
func recall(texts []string, prompt string) string {
	const head = 16
	rest, longest := "", 0
	for _, text := range texts {
		if len(text) < head {
			continue
		}
		at := strings.LastIndex(prompt, text[:head])
		if at < 0 {
			continue
		}
		n := shared(prompt[at:], text)
		if n > longest && n < len(text) && 3*n >= len(text) {
			rest, longest = text[n:], n
		}
	}
	return rest
}

// shared is how many bytes two texts begin with alike.
func shared(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
