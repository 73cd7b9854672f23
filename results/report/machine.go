package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"assay/results"
)

// writeCSV writes a table. A row is one estimate: the row's texts, then the columns
// quantity, unit, value, low, high, n, n_undefined, n_invalid, why, unfinished and
// synthetic. What is undefined is empty, with a reason. A table without estimates has its
// texts, unfinished and synthetic. Arms or conditions that are levels of a sweep stand in three
// columns: their own, parameter and level.
func writeCSV(w io.Writer, t results.Table, m Meta) error {
	check([]results.Section{{Tables: []results.Table{t}}})
	estimates := false
	var texts []int
	head := []string{}
	for j, c := range t.Columns {
		if t.Numeric(j) {
			estimates = true
		} else {
			texts = append(texts, j)
			head = append(head, c.Name)
			if c.Levels != nil {
				head = append(head, "parameter", "level")
			}
		}
	}
	if estimates {
		head = append(head, "quantity", "unit", "value", "low", "high", "n", "clusters", "n_undefined", "n_invalid", "why")
	}
	head = append(head, "unfinished", "synthetic")
	if len(slices.Compact(slices.Sorted(slices.Values(head)))) < len(head) {
		panic(fmt.Sprintf("report: internal error: table %s: two columns of its file have one name: %q", t.Name, head))
	}
	out := csv.NewWriter(w)
	out.Write(head)
	state := []string{"", strconv.FormatBool(m.Synthetic())} // the store does not say
	if stored, of, ok := m.Planned(); ok {
		state[0] = strconv.FormatBool(stored < of)
	}
	for _, row := range t.Rows {
		var names []string
		for _, j := range texts {
			parts := []string{row[j].Text}
			if of := t.Columns[j].Levels; of != nil {
				l, ok := of[row[j].Text]
				if !ok {
					l.Of = row[j].Text
				}
				parts = []string{l.Of, l.Parameter, l.At}
			}
			for _, s := range parts {
				names = append(names, formulaless(visible(s)))
			}
		}
		if !estimates {
			out.Write(append(names, state...))
		}
		for j, c := range row {
			if e := c.Estimate; e != nil {
				cells := append(names[:len(names):len(names)], t.Columns[j].Name, t.Columns[j].Unit, full(e.Value), full(e.Low), full(e.High),
					strconv.Itoa(e.N), clusters(*e), strconv.Itoa(e.Undefined), strconv.Itoa(e.Invalid), formulaless(visible(e.Why)))
				out.Write(append(cells, state...))
			}
		}
	}
	out.Flush()
	return out.Error()
}

// formulaless keeps a spreadsheet from running what looks like a formula.
func formulaless(s string) string {
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

func wordsOf(found []finding) []string {
	out := []string{}
	for _, f := range found {
		out = append(out, f.Text)
	}
	return out
}

// progress is how far a run got.
type progress struct {
	Planned *int             `json:"planned_trials"`
	Stored  int              `json:"stored_trials"`
	Of      []progressOfPart `json:"of"`
}

type progressOfPart struct {
	Study   string `json:"study"`
	Model   string `json:"model"`
	Planned *int   `json:"planned_trials"`
	Answers int    `json:"answers"`
	Failed  int    `json:"failures"`
}

func progressOf(m Meta) progress {
	out := progress{Of: []progressOfPart{}}
	if _, of, ok := m.Planned(); ok {
		out.Planned = &of
	}
	for _, e := range m.Extents {
		out.Stored += e.Stored()
		out.Of = append(out.Of, progressOfPart{e.Study, e.Model, e.Planned, e.Answers, e.Failures})
	}
	return out
}

// full is a number in full precision; "": there is none.
func full(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

// jsonFormat names the shape of JSON's output; it changes when that does.
const jsonFormat = "assay-report/1"

// JSON writes an object with format, title, synthetic (a list of reasons, or
// null), progress (trials planned and stored; planned is null where the store does
// not say), manifest, findings, distrust, headline (what the report begins
// with), sections (whose tables and figures each
// say whether they are synthetic), examples and methods. Texts of sections and
// examples are as they were stored. docs/tables.md describes it.
func JSON(w io.Writer, sections []results.Section, m Meta) error {
	check(sections)
	type table struct {
		results.Table
		Synthetic bool `json:"synthetic"`
	}
	type drawing struct {
		results.Figure
		Synthetic bool `json:"synthetic"`
	}
	type section struct {
		results.Section
		Tables  []table   `json:"tables"`
		Figures []drawing `json:"figures"`
	}
	out := struct {
		Format    string           `json:"format"`
		Title     string           `json:"title"`
		Synthetic []string         `json:"synthetic"`
		Progress  progress         `json:"progress"`
		Manifest  results.Manifest `json:"manifest"`
		Findings  []string         `json:"findings"`
		Distrust  []string         `json:"distrust"`
		Headline  *answer          `json:"headline"` // null: no study declares one
		Sections  []section        `json:"sections"`
		Examples  []Example        `json:"examples"`
		Methods   []string         `json:"methods"`
	}{jsonFormat, m.Title, m.Manifest.Synthetic, progressOf(m), m.Manifest, wordsOf(findingsOf(sections)), wordsOf(slices.Concat(Distrust(sections, m.Run))), MainResults(sections), []section{}, m.Examples, paragraphs(m.Run, sections...)}
	if out.Examples == nil {
		out.Examples = []Example{}
	}
	for _, s := range sections {
		sec := section{Section: s, Tables: []table{}, Figures: []drawing{}}
		for _, t := range s.Tables {
			if t.Rows == nil {
				t.Rows = [][]results.Cell{}
			}
			sec.Tables = append(sec.Tables, table{t, m.Synthetic()})
		}
		for _, f := range s.Figures {
			sec.Figures = append(sec.Figures, drawing{f, m.Synthetic()})
		}
		out.Sections = append(out.Sections, sec)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// clusters is of how many clusters an estimate is; "": not known.
func clusters(e results.Estimate) string {
	if e.Clusters == 0 {
		return ""
	}
	return strconv.Itoa(e.Clusters)
}
