package cli

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
	"time"

	"assay/harness/compare"
	"assay/results"
	"assay/results/stats"
	"assay/results/text"
	"assay/timing"
)

//go:embed prints.tmpl
var printForms string

// printed is one of the texts of prints.tmpl about something.
func printed(name string, of any) string {
	t := template.Must(template.New("").Funcs(template.FuncMap{
		"add":     func(a, b int) int { return a + b },
		"at":      func(t time.Time) string { return t.Format(time.RFC3339) },
		"came":    came,
		"count":   results.Count,
		"digits":  func(v float64) string { return stats.Significant(v, 3) },
		"join":    func(lists ...[]string) string { return strings.Join(slices.Concat(lists...), ", ") },
		"leftOut": func() string { return compare.LeftOut },
		"of":      func(what, unit string, e *results.Estimate) quantity { return quantity{e, what, unit} },
		"whole":   func(s float64) time.Duration { return time.Duration(s * float64(time.Second)).Round(time.Second) },
	}).Parse(printForms))
	var b strings.Builder
	if err := t.ExecuteTemplate(&b, name, of); err != nil {
		panic("cli: internal error: " + err.Error())
	}
	return b.String()
}

// quantity is an estimate with what it is of.
type quantity struct {
	*results.Estimate
	What, Unit string
}

// came says when the first and the last content of an answer came, where that is known.
func came(t timing.Trace) string {
	s := ""
	if d, ok := t.TTFT(); ok {
		s = "first content after " + results.DurationWords(d.Seconds())
	}
	if d, ok := t.Latency(); ok {
		s += fmt.Sprintf(", last after %s (%s stamps)", results.DurationWords(d.Seconds()), t.Stamps)
	}
	return s
}

// print writes one of the texts of prints.tmpl. Models and data sets are not trusted: a terminal obeys
// some characters.
func (s streams) print(name string, of any) error {
	_, err := io.WriteString(s.Out, text.VisibleLines(printed(name, of)))
	return err
}

// printLines writes lines that hold names and texts of others.
func printLines(out io.Writer, lines []string) error {
	_, err := io.WriteString(out, text.VisibleLines(strings.Join(lines, "\n")+"\n"))
	return err
}
