package curate

import (
	"fmt"
	"strings"

	"assay/harness/dataset"
	"assay/results"
)

// sourceText is a text of a data set.
type sourceText struct {
	Item   string // the first that has it
	Digest results.Digest
	Text   string
	// Cluster is what its item is drawn together with in intervals and tests; "": nothing.
	Cluster string
}

// texts are the texts of a kind of a data set, each once, in its order; without is how
// many items have none. The question of a case is its clinical history.
func texts(d *dataset.Dataset, of string) (list []sourceText, without int) {
	seen := map[results.Digest]bool{}
	for _, it := range d.Items {
		s := strings.TrimSpace(textOf(it, of))
		if s == "" {
			without++
			continue
		}
		sum := results.DigestOf([]byte(s))
		if !seen[sum] {
			seen[sum] = true
			list = append(list, sourceText{it.ID, sum, s, it.Picture})
		}
	}
	return list, without
}

func textOf(it dataset.Item, of string) string {
	switch of {
	case ofFindings:
		return it.AnswerLeaking().Findings
	case ofDiscussion:
		var parts []string
		for _, s := range it.AnswerLeaking().Discussion {
			parts = append(parts, strings.TrimSpace(s.Text))
		}
		return strings.Join(parts, "\n")
	case ofQuestion:
		if it.Case != nil && it.Case.History != "" {
			return it.Case.History
		}
		return it.Question
	}
	panic(fmt.Sprintf("curate: internal error: no text %q", of))
}

// halves cuts a text between its words: of n words the first n/2, and the others. The
// second is "" where there are fewer than two.
func halves(text string) (head, rest string) {
	words := strings.Fields(text)
	at := 0
	for _, w := range words[:len(words)/2] {
		at += strings.Index(text[at:], w) + len(w)
	}
	return strings.TrimSpace(text[:at]), strings.TrimSpace(text[at:])
}
