package text

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// Lexicon is words that rules know: lists of regular expressions or of words, by name.
type Lexicon map[string][]string

// MustLexicon reads a file that is built in: "[name]", and below it an entry a line. Blank lines and
// those that begin with # say nothing.
func MustLexicon(file string) Lexicon {
	l, name := Lexicon{}, ""
	for line := range strings.Lines(file) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			if name = line[1 : len(line)-1]; l[name] != nil {
				panic(fmt.Sprintf("text: internal error: two lists of a lexicon are called %s", name))
			}
			l[name] = []string{}
		case name == "" || slices.Contains(l[name], line):
			panic(fmt.Sprintf("text: internal error: %q is in no list of a lexicon, or twice in %q", line, name))
		default:
			l[name] = append(l[name], line)
		}
	}
	return l
}

// Any is a regular expression of any entry of a list; of two that begin at one place, of the first.
func (l Lexicon) Any(name string) string { return "(?:" + strings.Join(l.list(name), "|") + ")" }

// Has says whether a word is an entry of a list.
func (l Lexicon) Has(name, word string) bool { return slices.Contains(l.list(name), word) }

func (l Lexicon) list(name string) []string {
	if len(l[name]) == 0 {
		panic("text: internal error: a lexicon has no list " + name)
	}
	return l[name]
}

// Whole is Any between ends of words.
func (l Lexicon) Whole(name string) string { return `\b` + l.Any(name) + `\b` }

//go:embed lexicon.txt
var lexiconFile string

// lexicon is the words of the reader of answers (read.go).
var lexicon = MustLexicon(lexiconFile)
