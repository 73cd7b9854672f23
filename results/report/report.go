// Package report prints sections of tables and figures.
//
//  1. A grid is made of each table: estimates become "value [low, high]" with n,
//     what is undefined becomes a dash with a footnote that says why.
//  2. What a report says first, and its caveats, is gathered from the studies'
//     main results, their warnings and the manifest (findings.go, headline.go); the methods
//     are written from the manifest (methods.go).
//  3. Terminal, Markdown, HTML and LaTeX (latex.go) print grids for people; CSV and JSON
//     hand the same tables to programs, in full precision. figure.go draws, in one quiet
//     style, the same figure to SVG and PDF.
//  4. Write does all of it into one folder.
//
// Everything that came from outside is inert in every format, and what does not
// show (control and direction characters) is made visible. Nothing depends on the
// time or the machine of printing: the same store gives the same bytes. While the
// manifest says that results are synthetic, every table says so.
package report

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"assay/results"
	"assay/results/text"
)

// Meta is what a report says of its run.
type Meta struct {
	Title string
	results.Run
	Examples []Example
	Digits   results.Digits
	Figures  []string // of FigureTypes, those that are written beside svg, which report.md shows; nil: all
}

// What stands before the title of every table of synthetic results, and of every
// one of a run that is not at its end.
const (
	mark       = "SYNTHETIC · "
	unfinished = "UNFINISHED"
)

func (m Meta) caption(title string) string {
	if stored, of, _ := m.Planned(); stored < of {
		title = fmt.Sprintf("%s %d/%d · %s", unfinished, stored, of, title)
	}
	if m.Synthetic() {
		return mark + title
	}
	return title
}

// What is said of unfinished runs and of synthetic results wherever they stand.
const (
	unfinishedRun    = "Unfinished: "
	syntheticResults = "Synthetic results"
	instrumentOnly   = "They test the instrument and say nothing of any real model."
)

// figureMark is what is drawn on every figure file; "": nothing.
func (m Meta) figureMark() string {
	var marks []string
	if m.Synthetic() {
		marks = append(marks, "SYNTHETIC")
	}
	if stored, of, _ := m.Planned(); stored < of {
		marks = append(marks, fmt.Sprintf("%s %d/%d", unfinished, stored, of))
	}
	return strings.Join(marks, ", ")
}

// banner says what synthetic results are not, and that a run is not at its end;
// "": neither.
func (m Meta) banner() string {
	var parts []string
	if s := m.Unfinished(); s != "" {
		parts = append(parts, unfinishedRun+s+" ("+visible(m.Lacking())+").")
	}
	if m.Synthetic() {
		parts = append(parts, syntheticResults+": "+visible(strings.Join(m.Manifest.Synthetic, "; "))+". "+instrumentOnly)
	}
	return strings.Join(parts, " ")
}

// reading explains the cells to people.
const reading = "A cell is a value with its 95 % CI in brackets. n is the number of cases behind it. 46/48: 2 of 48 cases were left out, undefined or without a usable verdict. 48 in 12: the 48 cases are of 12 clusters (images or cases that several share), which intervals and tests resample. " + dash + " means undefined; its footnote gives the reason."

const dash = "—"

// machineName is what tables and columns are called in files.
var machineName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)

// check panics on tables that our own code must never make: a row of another
// length, a cell that is both text and estimate, a number that is none.
func check(sections []results.Section) {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			panic("report: internal error: " + fmt.Sprintf(format, args...))
		}
	}
	seen := map[string]bool{}
	for _, s := range sections {
		for _, f := range s.Figures {
			must(machineName.MatchString(f.Name) && !seen["figure "+f.Name], "a figure is named %q, or two are", f.Name)
			seen["figure "+f.Name] = true
			checkFigure(f)
		}
		for _, t := range s.Tables {
			must(machineName.MatchString(t.Name) && !seen[t.Name], "a table is named %q, or two are", t.Name)
			seen[t.Name] = true
			for i, row := range t.Rows {
				must(len(row) == len(t.Columns), "table %s: row %d has %d cells, not %d", t.Name, i, len(row), len(t.Columns))
				for j, c := range row {
					sound := func(ok bool, what string) {
						if !ok { // a sentence for each cell would take longer than its check
							must(ok, "table %s: row %d, column %s: %s", t.Name, i, t.Columns[j].Name, what)
						}
					}
					sound(c.Text == "" || c.Estimate == nil, "text and an estimate")
					if e := c.Estimate; e != nil {
						sound(e.Value != nil || e.Why != "", "undefined without a reason")
						sound(e.Value != nil || e.Low == nil && e.High == nil, "an interval without a value")
						sound((e.Low == nil) == (e.High == nil), "half an interval")
						for _, v := range []*float64{e.Value, e.Low, e.High} {
							sound(v == nil || !math.IsNaN(*v) && !math.IsInf(*v, 0), "not a number")
						}
					}
				}
			}
		}
	}
}

// visible is text that a reader sees as it is, whoever wrote it.
func visible(s string) string { return text.Visible(s) }
