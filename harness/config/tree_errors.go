package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// readError is one thing wrong with a bench.yaml. It never holds a secret.
type readError struct {
	File   string
	Line   int    // 1-based
	Column int    // 1-based, in code points
	Path   string // dotted keys, "studies.cot.arms"; "": the file as a whole
	Msg    string // what was expected, what was found, what to do
}

func (e readError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s: %s", e.File, e.Line, e.Column, e.Path, e.Msg)
}

// Errors is everything wrong with a bench.yaml, in the order of the file.
type Errors []readError

func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Sort puts them into the order of the file.
func (es Errors) Sort() {
	slices.SortStableFunc(es, func(a, b readError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Msg, b.Msg))
	})
}
