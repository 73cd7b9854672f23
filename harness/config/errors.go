package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one thing wrong with a bench.yaml. It never holds a secret.
type Error struct {
	File   string
	Line   int    // 1-based
	Column int    // 1-based, in code points
	Path   string // dotted keys, "studies.cot.arms"; "": the file as a whole
	Msg    string // what was expected, what was found, what to do
}

func (e Error) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s: %s", e.File, e.Line, e.Column, e.Path, e.Msg)
}

// At is where a data set stands: "bench.yaml:8:3".
func (c *Config) At(dataset string) string {
	at, ok := c.at[dataset]
	if !ok {
		return c.File
	}
	return fmt.Sprintf("%s:%d:%d", c.File, at.line, at.column)
}

// Errors is everything wrong with a bench.yaml, in the order of the file.
type Errors []Error

func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

func (es Errors) sort() {
	slices.SortStableFunc(es, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Msg, b.Msg))
	})
}

// nearest is the name that word was probably meant to be: at most one slip per
// three letters away, where a slip is a letter too many, too few, wrong or
// swapped with its neighbour. false: none is that near.
func nearest(word string, names []string) (string, bool) {
	best, found := 1+max(1, len([]rune(word))/3), ""
	for _, n := range names {
		if d := slips(strings.ToLower(word), strings.ToLower(n)); d < best {
			best, found = d, n
		}
	}
	return found, found != ""
}

// slips is the optimal string alignment distance.
func slips(s, t string) int {
	a, b := []rune(s), []rune(t)
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range b {
			wrong := 1
			if a[i] == b[j] {
				wrong = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+wrong)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// DidYouMean is "; did you mean X?" where one of names is near, or nothing.
func DidYouMean(word string, names []string) string {
	if n, ok := nearest(word, names); ok {
		return "; did you mean " + n + "?"
	}
	return ""
}

// oneOf lists what is allowed, in words.
func oneOf(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "one of " + strings.Join(names, ", ")
}
