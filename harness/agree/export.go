package agree

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strconv"

	"assay/results/rating"
)

// Written is what an export holds.
type Written struct {
	Ratings  int // rows of the CSV
	Verdicts int // lines of the JSON
	Open     int // cases that a rater began and did not submit: left out
}

// Export writes what raters submitted, calibration left out: grades as CSV for assay
// agree, and everything under the judges' own names of cases as JSON lines, for judges of
// kind human. verdicts nil: no such lines.
func (s *Set) Export(log *rating.Log, grades io.Writer, verdicts io.Writer) (Written, error) {
	var n Written
	out := csv.NewWriter(grades)
	if err := out.Write([]string{"case", "rater", "axis", "score", "seconds", "position", "repeat", "remark"}); err != nil {
		return n, err
	}
	for _, r := range log.Rated() {
		if !r.Submitted {
			n.Open++
			continue
		}
		if r.Showing.Calibration {
			continue
		}
		seconds, position, repeat := strconv.FormatFloat(r.Seconds, 'f', 1, 64), strconv.Itoa(r.Position), strconv.Itoa(r.Showing.Repeat)
		row := func(axis string) error {
			said := r.Values[axis]
			if len(said) != 1 {
				return nil
			}
			score := said[0]
			if score == rating.CannotJudge {
				score = ""
			}
			n.Ratings++
			return out.Write([]string{r.Showing.Case, r.Rater, axis, score, seconds, position, repeat, r.Remark})
		}
		for _, a := range s.axes {
			if err := row(a.Name); err != nil {
				return n, err
			}
		}
		for _, f := range s.forms[r.Showing.Case] {
			line := map[string]any{"case": s.cases[r.Showing.Case][f.rubric.Name], "rater": r.Rater, "rubric": f.rubric.Name, "repeat": r.Showing.Repeat, "seconds": r.Seconds, "position": r.Position}
			if f.rubric.Number != nil {
				if err := row(f.rubric.Name); err != nil {
					return n, err
				}
				said := r.Values[f.rubric.Name]
				if len(said) != 1 || said[0] == rating.CannotJudge {
					continue
				}
				line["score"] = json.Number(said[0])
			} else {
				v, ok := f.verdict(r.Values)
				if !ok {
					continue
				}
				line["verdict"] = v
			}
			if verdicts == nil {
				continue
			}
			b, err := json.Marshal(line)
			if err != nil {
				return n, err
			}
			if _, err := verdicts.Write(append(b, '\n')); err != nil {
				return n, err
			}
			n.Verdicts++
		}
	}
	out.Flush()
	return n, out.Error()
}

// Grades says whether anything is rated by numbers: of labels alone assay people agree says
// nothing.
func (s *Set) Grades() bool {
	if len(s.axes) > 0 {
		return true
	}
	for _, forms := range s.forms {
		if slices.ContainsFunc(forms, func(f form) bool { return f.rubric.Number != nil }) {
			return true
		}
	}
	return false
}
