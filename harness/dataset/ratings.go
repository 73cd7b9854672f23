package dataset

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"assay/harness/dataset/table"
)

// rating is what one expert said of the steps of an explanation.
type rating struct {
	Row   int
	Case  string // caseKey
	Rater string // "": not named
	Steps []ratedStep
}

// ratedStep is a step with what was said of it; nil: nothing.
type ratedStep struct {
	N                 int // from 1
	Text              string
	Factual, Critical *bool
	Types             []string // of errors
}

// caseKey joins ratings with cases: title and history in lower case, without the space
// that tables add.
func caseKey(title, history string) string {
	fold := func(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
	return fold(title) + "\x00" + fold(history)
}

var stepColumn = regexp.MustCompile(`^(step|human_factual|human_critical|human_error_types)([1-9][0-9]?)$`)

// ratings reads a CSV file with the columns title, clinical_history and, for each step N,
// stepN, human_factualN, human_criticalN, human_error_typesN; rater is one more that it
// may have. The error is for what makes all of it unreadable.
func ratings(file string, in io.Reader) (ratings []rating, problems []table.Problem, err error) {
	r := csv.NewReader(in)
	r.FieldsPerRecord = -1
	head, err := r.Read()
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: expected a header: %w", file, err)
	}
	at := map[string]int{}
	last := 0
	for i, name := range head {
		name = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, table.BOM)))
		if _, twice := at[name]; twice {
			return nil, nil, fmt.Errorf("%s: two columns are called %s: rename one", file, table.Quote(name))
		}
		at[name] = i
		if m := stepColumn.FindStringSubmatch(name); m != nil {
			n, _ := strconv.Atoi(m[2]) // one or two digits
			last = max(last, n)
		}
	}
	for _, needed := range []string{"title", "clinical_history", "step1"} {
		if _, ok := at[needed]; !ok {
			return nil, nil, fmt.Errorf("%s: expected the columns title, clinical_history, step1, human_factual1 and so on, found no %s", file, needed)
		}
	}
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return ratings, problems, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", file, err)
		}
		number, _ := r.FieldPos(0)
		n := 0
		bad := func(column, want, got string) {
			n++
			problems = append(problems, table.Problem{File: file, Row: number, Column: column, Want: want, Got: got})
		}
		if len(fields) != len(head) {
			bad("", fmt.Sprintf("%d fields, as in the header", len(head)), strconv.Itoa(len(fields)))
			continue
		}
		cell := func(column string) string {
			if i, ok := at[column]; ok {
				return strings.TrimSpace(fields[i])
			}
			return ""
		}
		one := rating{Row: number, Case: caseKey(cell("title"), cell("clinical_history")), Rater: cell("rater")}
		for k := 1; k <= last; k++ {
			step := fmt.Sprint(k)
			s := ratedStep{N: k, Text: cell("step" + step), Factual: said(cell, "human_factual"+step, bad), Critical: said(cell, "human_critical"+step, bad)}
			for _, word := range strings.FieldsFunc(cell("human_error_types"+step), func(r rune) bool { return strings.ContainsRune(`,;|[]"'`, r) }) {
				if word = strings.TrimSpace(word); word == "" || strings.EqualFold(word, "none") {
					continue
				}
				i := slices.IndexFunc(errorTypes(), func(t string) bool { return strings.EqualFold(t, word) })
				if i < 0 {
					bad("human_error_types"+step, "some of "+strings.Join(errorTypes(), ", "), table.Quote(word))
					continue
				}
				s.Types = append(s.Types, errorTypes()[i])
			}
			switch {
			case s.Text != "":
				one.Steps = append(one.Steps, s)
			case s.Factual != nil || s.Critical != nil || s.Types != nil:
				bad("step"+step, "the step that was rated", "none")
			}
		}
		if len(one.Steps) == 0 && n == 0 {
			bad("step1", "at least one step", "none")
		}
		if n == 0 {
			ratings = append(ratings, one)
		}
	}
}

// errorTypes are those of steps (metrics.md section 3).
func errorTypes() []string {
	return []string{"Reasoning", "Image Understanding", "Clinical Scenario", "Medical Knowledge", "Other"}
}

func said(cell func(string) string, column string, bad func(column, want, got string)) *bool {
	text := cell(column)
	if text == "" {
		return nil
	}
	v, ok := flagOf(text)
	if !ok {
		bad(column, "true, false or nothing", table.Quote(text))
		return nil
	}
	return &v
}
