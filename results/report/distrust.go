package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/results"
)

// finding is a sentence with the section it comes from.
type finding struct {
	Text, Section string // Section is a Section's Name; "": none
}

// findings are what the studies found, in words.
func findings(sections []results.Section) []finding {
	var out []finding
	for _, s := range sections {
		for _, n := range s.Notes {
			out = append(out, finding{visible(n), s.Name})
		}
	}
	return out
}

// Shares and counts from which a reader is told.
const (
	manyLeftOut = 0.05
	fewCases    = 30
)

// distrust is what to distrust, and why: the studies' warnings, then what the
// tables and the manifest show by themselves. It knows no study.
func distrust(sections []results.Section, m Meta) []finding {
	var out []finding
	say := func(section, format string, args ...any) {
		f := finding{visible(fmt.Sprintf(format, args...)), section}
		if !slices.ContainsFunc(out, func(o finding) bool { return o.Text == f.Text }) {
			out = append(out, f)
		}
	}
	for _, s := range sections {
		for _, w := range s.Warnings {
			say(s.Name, "%s", w)
		}
	}
	intervals := 0
	var few []string
	for _, s := range sections {
		for _, t := range s.Tables {
			n, least := fromTable(s.Name, t, say)
			intervals += n
			if n > 0 && least < fewCases {
				few = append(few, fmt.Sprintf("%s (%d)", t.Title, least))
			}
		}
	}
	if len(few) > 0 {
		say("", "Intervals of few cases are rough; the fewest, by table: %s.", strings.Join(few, ", "))
	}
	if intervals > 20 {
		say("", "%d intervals are printed, each at 95 %% by itself: about one in twenty misses the truth by chance, and nothing is corrected for their number.", intervals)
	}
	fromManifest(m.Manifest, say)
	return out
}

// fromTable says what a table's own counts show; it returns how many intervals
// the table has, and the fewest cases that one rests on.
func fromTable(section string, t results.Table, say func(section, format string, args ...any)) (intervals, least int) {
	undefined, left := 0, 0.0
	var reasons []string
	var where string
	for _, row := range t.Rows {
		for j, c := range row {
			e := c.Estimate
			if e == nil {
				continue
			}
			if e.Value == nil {
				undefined++
				if !slices.Contains(reasons, e.Why) {
					reasons = append(reasons, e.Why)
				}
				continue
			}
			if e.Low == nil {
				continue
			}
			intervals++
			if intervals == 1 || e.N < least {
				least = e.N
			}
			if all := e.N + e.Invalid; all > 0 && float64(e.Invalid)/float64(all) > left {
				left = float64(e.Invalid) / float64(all)
				where = fmt.Sprintf("%s of %s: %d of %d", t.Columns[j].Title, nameOf(t, row), e.Invalid, all)
			}
		}
	}
	if undefined > 0 {
		say(section, "%s: %s (%s).", t.Title, plural(undefined, "value does", "values do")+" not exist", strings.Join(reasons, "; "))
	}
	if left > manyLeftOut {
		say(section, "%s: up to %.0f %% of the cases are left out for want of an answer or a verdict (%s). If those are the hard ones, the value is too good.", t.Title, 100*left, where)
	}
	return intervals, least
}

// nameOf is the texts that name a row.
func nameOf(t results.Table, row []results.Cell) string {
	var parts []string
	for j, c := range row {
		if numeric(t, j) {
			break
		}
		parts = append(parts, c.Text)
	}
	return strings.Join(parts, ", ")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func fromManifest(m results.Manifest, say func(section, format string, args ...any)) {
	lack := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(m.Models)) {
		id := m.Models[name]
		for _, f := range []struct{ what, value string }{
			{"the digest of the weights", id.Digest}, {"the quantisation", id.Quantisation}, {"its own version", id.Version},
		} {
			if f.value == "" {
				lack[f.what] = append(lack[f.what], name)
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(lack)) {
		say("methods", "%s: the server did not tell %s, so that nobody can check later that the same was run.", strings.Join(lack[what], ", "), what)
	}
	if len(m.Judges) > 0 && !slices.ContainsFunc(slices.Collect(maps.Values(m.Judges)), func(kind string) bool { return kind != "lexical" }) {
		say("methods", "Every verdict was given by rules on words, which know no meanings: paraphrases and synonyms count as missing. Compare models by them, and publish with a judge that reads.")
	}
	if m.Revision == "" && m.Version != "" {
		say("methods", "The revision of assay itself is not recorded: go run does not stamp it, go build in a clone does.")
	}
}
