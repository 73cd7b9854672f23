// Findings gathers what a report says first.
//
//  1. Main puts what the studies call their main results into one table, one row a model,
//     with a figure and the answer in words: which model is best, how sure, at what cost.
//     It knows no study: sections declare their columns.
//  2. Which of two models is better follows from the study's table of pairs (results.PairsOf):
//     the test of their difference on the items that both answered, corrected for all pairs.
//  3. findingsOf is what the studies found, Distrust its caveats.

package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/results"
	"assay/results/text"
)

// finding is a sentence with the section it comes from.
type finding struct {
	Text, Section string // Section is a Section's Name; "": none
}

// Subject is who a sentence is about: what stands before its colon; "": it has
// none, or one too long to lead the eye.
func (f finding) Subject() string {
	s, _, found := strings.Cut(f.Text, ": ")
	if !found || len(s) > 60 || strings.Contains(s, ". ") {
		return ""
	}
	return s
}

// Says is the rest of the sentence.
func (f finding) Says() string {
	if s := f.Subject(); s != "" {
		return f.Text[len(s)+len(": "):]
	}
	return f.Text
}

// findingsOf is what the studies found, in words.
func findingsOf(sections []results.Section) []finding {
	var out []finding
	for _, s := range sections {
		for _, n := range s.Notes {
			out = append(out, finding{text.Visible(n), s.Name})
		}
	}
	return together(out)
}

// together says once what is said of several subjects: "a: is so" and "b: is so"
// become "a; b: is so", where the first stood.
func together(list []finding) []finding {
	var out []finding
	at := map[finding]int{} // by what is said
	for _, f := range list {
		subject, says, found := strings.Cut(f.Text, ": ")
		key := finding{says, f.Section}
		if i, ok := at[key]; ok && found {
			before, _, _ := strings.Cut(out[i].Text, ": ")
			out[i].Text = before + "; " + subject + ": " + says
			continue
		}
		if found {
			at[key] = len(out)
		}
		out = append(out, f)
	}
	return out
}

// Shares and counts from which a reader is told.
const (
	manyLeftOut = 0.05
	fewCases    = 30
	manyInDoubt = 0.05
	manyUnread  = 0.02
)

// Distrust is the caveats: the studies' warnings, and what the tables and
// the manifest show by themselves. first is what may turn a conclusion around, by what it
// touches and then by how much of it: every number; answers that could not be read; those that
// failed; what judges say; times. It touches at least one in twenty, or one answer in fifty that
// could not be read. rest is all else; where nothing
// stands before it, it is first. It knows no study.
func Distrust(sections []results.Section, r results.Run) (first, rest []finding) {
	type ranked struct {
		finding
		of    results.DoubtOf
		share float64
	}
	var all []ranked
	doubt := func(d results.Doubt, section, format string, args ...any) {
		f := finding{text.Visible(fmt.Sprintf(format, args...)), section}
		if !slices.ContainsFunc(all, func(o ranked) bool { return o.Text == f.Text }) {
			all = append(all, ranked{f, d.Of, d.Share})
		}
	}
	say := func(section, format string, args ...any) { doubt(results.Doubt{}, section, format, args...) }
	every := results.Doubt{Of: doubtEvery, Share: 1}
	verdicts := results.Doubt{Of: results.DoubtJudges, Share: 1}
	if s := r.Unfinished(); s != "" {
		doubt(every, "", "Unfinished: %s (%s). All numbers rest on these trials alone; the others may differ.", s, r.Lacking())
	} else if _, _, ok := r.Planned(); !ok && len(r.Extents) > 0 {
		doubt(every, "", "The store does not record how many trials were planned (an older version made it), so it is unknown whether the run is finished.")
	}
	for _, d := range r.Manifest.Datasets {
		if d.Lost > 0 {
			doubt(results.Doubt{Of: doubtEvery, Share: float64(d.Lost) / float64(d.Lost+d.Items)}, "methods", "Data set %s: %s left out as unusable (assay dataset check gives the reasons). If those are the hard ones, every value is too good.", d.Name, results.Count(d.Lost, "row", "rows"))
		}
	}
	if judges := r.Manifest.Judges; len(judges) > 0 && !slices.ContainsFunc(slices.Collect(maps.Values(judges)), func(kind string) bool { return kind != "lexical" }) {
		doubt(verdicts, "methods", "All verdicts come from the rule-based judge; it misses paraphrases and synonyms. Use them to compare models, and publish with a judge that is a model.")
	}
	for _, s := range sections {
		for _, w := range s.Warnings {
			doubt(s.Doubts[w], s.Name, "%s", w)
		}
	}
	intervals, gaps := 0, 0
	var few, missing []worst
	for _, s := range sections {
		for _, t := range s.Tables {
			c := fromTable(s.Name, t, say)
			intervals += c.intervals
			gaps += c.undefined
			if c.intervals > 0 && c.least < fewCases {
				few = append(few, worst{fmt.Sprintf("%s (%d)", t.Title, c.least), c.least})
			}
			if c.undefined > 0 {
				missing = append(missing, worst{fmt.Sprintf("%s (%d: %s)", t.Title, c.undefined, strings.Join(c.reasons, "; ")), -c.undefined})
			}
		}
	}
	if gaps > 0 {
		say("", "%s empty; footnotes give the reasons. Most are in %s.", thousands(gaps)+map[bool]string{true: " cell is", false: " cells are"}[gaps == 1], worstOf(missing))
	}
	if len(few) > 0 {
		say("", "Intervals from few cases are rough. The fewest are in %s.", worstOf(few))
	}
	if intervals > 20 {
		say("", "%s separate 95 %% intervals, not corrected for multiplicity: expect one in twenty to miss.", thousands(intervals))
	}
	fromManifest(r.Manifest, say, func(format string, args ...any) { doubt(verdicts, "methods", format, args...) })
	last := func(of results.DoubtOf) int {
		if of == results.DoubtRest {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		return cmp.Or(last(a.of)-last(b.of), cmp.Compare(a.of, b.of), cmp.Compare(b.share, a.share))
	})
	for _, f := range all {
		if f.of != results.DoubtRest && f.share >= manyInDoubt || f.of == results.DoubtUnread && f.share > manyUnread {
			first = append(first, f.finding)
		} else {
			rest = append(rest, f.finding)
		}
	}
	if len(first) == 0 {
		return together(rest), nil
	}
	return together(first), together(rest)
}

// thousands prints a whole number with commas: "2,825".
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// doubtEvery is in front of all: every number is in doubt.
const doubtEvery results.DoubtOf = -1

// worst is something to name, the worse the smaller.
type worst struct {
	words string
	rank  int
}

// worstOf names the worst few of a list.
func worstOf(list []worst) string {
	const most = 4
	slices.SortStableFunc(list, func(a, b worst) int { return a.rank - b.rank })
	var parts []string
	for i, w := range list {
		if i == most {
			return strings.Join(parts, ", ") + fmt.Sprintf(" and %d more", len(list)-i)
		}
		parts = append(parts, w.words)
	}
	return strings.Join(parts, ", ")
}

// counted is what a table's own counts show: values that do not exist, with the
// reasons; intervals, and the fewest cases that one rests on.
type counted struct {
	undefined, intervals, least int
	reasons                     []string
}

// fromTable counts, and says where much is left out.
func fromTable(section string, t results.Table, say func(section, format string, args ...any)) counted {
	var c counted
	left, where := 0.0, ""
	for _, row := range t.Rows {
		for j, cell := range row {
			e := cell.Estimate
			switch {
			case e == nil:
				continue
			case e.Value == nil:
				c.undefined++
				if !slices.Contains(c.reasons, e.Why) {
					c.reasons = append(c.reasons, e.Why)
				}
				continue
			case e.Low == nil:
				continue
			}
			if c.intervals++; c.intervals == 1 || e.N < c.least {
				c.least = e.N
			}
			if all := e.N + e.Invalid; all > 0 && float64(e.Invalid)/float64(all) > left {
				left = float64(e.Invalid) / float64(all)
				where = fmt.Sprintf("%s of %s: %d of %d", t.Columns[j].Title, nameOf(t, row), e.Invalid, all)
			}
		}
	}
	if left > manyLeftOut {
		say(section, "%s: up to %.0f %% of the cases have no answer or verdict and are left out (%s). If they are the hard ones, the value is too good.", t.Title, 100*left, where)
	}
	return c
}

// nameOf is the texts that name a row.
func nameOf(t results.Table, row []results.Cell) string {
	var parts []string
	for j, c := range row {
		if t.Numeric(j) {
			break
		}
		parts = append(parts, c.Text)
	}
	return strings.Join(parts, ", ")
}

// fromManifest says what the manifest lacks, and of verdicts what puts them in doubt.
func fromManifest(m results.Manifest, say func(section, format string, args ...any), verdicts func(format string, args ...any)) {
	lack := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(m.Models)) {
		id := m.Models[name]
		for _, f := range []struct{ what, value string }{
			{"weights digest, so the exact weights", cmp.Or(id.Weights, id.Digest)}, {"quantisation, so it", id.Quantisation}, {"version, so it", id.Version},
		} {
			if f.value == "" {
				lack[f.what] = append(lack[f.what], name)
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(lack)) {
		say("methods", "%s: the server reports no %s cannot be verified later.", strings.Join(lack[what], ", "), what)
	}
	for _, name := range slices.Sorted(maps.Keys(m.ServedAs)) {
		say("methods", "%s: the server replied as %s when %s was requested. It may be another name of the same model, or another model.", name, strings.Join(m.ServedAs[name], ", "), m.Models[name].Model)
	}
	for _, name := range slices.Sorted(maps.Keys(m.ModelSettings)) {
		if omit := m.ModelSettings[name].Omit; len(omit) > 0 {
			say("methods", "%s: requests left out %s (omit in bench.yaml), so the server's defaults applied.", name, strings.Join(omit, ", "))
		}
	}
	for _, judge := range slices.Sorted(maps.Keys(m.JudgeSettings)) {
		omit := m.JudgeSettings[judge].Omit
		if slices.Contains(omit, "response_format") {
			say("methods", "judge %s: its server does not enforce JSON (omit in bench.yaml). The schema was in the prompt instead, so more replies may be unusable.", judge)
		}
		if rest := slices.DeleteFunc(slices.Clone(omit), func(f string) bool { return f == "response_format" }); len(rest) > 0 {
			say("methods", "judge %s: requests left out %s (omit in bench.yaml), so the server's defaults applied.", judge, strings.Join(rest, ", "))
		}
	}
	for _, judge := range slices.Sorted(maps.Keys(m.Judges)) {
		for _, name := range slices.Sorted(maps.Keys(m.Models)) {
			if how := ownJudge(m, judge, name); how != "" {
				verdicts("%s: judge %s %s. It judges its own answers; compare with a judge that has other weights.", name, judge, how)
			}
		}
	}
	if m.Revision == "" && m.Version != "" {
		say("methods", "The revision of assay itself is not recorded (go run does not stamp it; go build in a clone does).")
	}
}

// ownJudge says how far a judge is known to be a model that it judges; "": it is
// another one, or nothing is known.
func ownJudge(m results.Manifest, judge, model string) string {
	a, known := m.JudgeModels[judge]
	b := m.Models[model]
	switch {
	case known && a.Weights != "" && b.Weights != "":
		if a.Weights == b.Weights {
			return "has the same weights (" + results.Digest(a.Weights).Short() + ")"
		}
		return ""
	case known && a.Digest != "" && a.Digest == b.Digest:
		return "has the same weights (" + results.Digest(a.Digest).Short() + ")"
	case known && a.Path != "" && a.Path == b.Path && a.Bytes != nil && b.Bytes != nil && *a.Bytes == *b.Bytes:
		return "has its weights from the same file (" + a.Path + ")"
	}
	j, _ := m.AskedJudge(judge)
	o, _ := m.Asked(model)
	same := j.Model != "" && j.Model == o.Model && j.Server == o.Server
	if same && (!known || a.Digest == "" || b.Digest == "") {
		return "has the same name on a server of the same kind, and may have the same weights"
	}
	return ""
}
