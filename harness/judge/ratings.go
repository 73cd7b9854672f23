// Ratings reads what people said of answers: files of ratings.
//
// CSV or JSON lines with case, rater, axis and score, or the JSON lines of the
// cot-eval reader study, which name no case and are known by the text that was rated.

package judge

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/harness/dataset/table"
	"assay/results"
)

// Rating is one number that a rater gave, or that he could not judge.
type Rating struct {
	Case   string // hex digits, at least CaseDigits of them: of an answer that was drawn, or of what judges are shown
	Text   results.Digest
	Rater  string
	Axis   string
	Score  *float64 // nil: he could not judge it
	Of     int      // how many ratings of one text the score is the mean of; mostly 1
	Repeat int      // from 0; another is of a case that was shown to him again
	// Model and Condition are what a file says that names no case.
	Model, Condition string
	File             string
	Line             int
}

// CaseDigits are enough to name a case.
const CaseDigits = 12

// Axis is what ratings are of.
type Axis struct {
	Name      string
	Low, High float64
	Whole     bool // whole numbers alone
	// Field is the axis' score in the files of a published reader study; "": it is not
	// rated there.
	Field string
}

func (a Axis) takes(x float64) bool {
	return x >= a.Low && x <= a.High && (!a.Whole || x == math.Trunc(x))
}

// words is the scale for a message.
func (a Axis) words() string {
	kind := "a number"
	if a.Whole {
		kind = "a whole number"
	}
	return fmt.Sprintf("%s from %g to %g", kind, a.Low, a.High)
}

// ReadRatings reads a file of ratings of some axes. The error lists everything that is wrong
// with it. A file without a column for the rater is one rater's, by its name.
func ReadRatings(file string, content []byte, axes []Axis) ([]Rating, error) {
	r := reader{file: file, axes: axes, rater: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), first: map[string]int{}}
	in := table.JSONRows{Bad: r.bad, Header: "a header row with the columns case, axis and score (CSV), or JSON lines", Row: r.row, Object: r.object}
	in.Names = func(header []string) ([]string, bool) {
		ok := in.Known(header, columns())
		for _, need := range []string{"case", "axis", "score"} {
			if !slices.Contains(header, need) {
				r.bad(1, need, "a column of this name", "none")
				ok = false
			}
		}
		return header, ok
	}
	in.Read(content)
	if len(r.problems) == 0 && len(r.out) == 0 {
		r.bad(0, "", "a rating", "none")
	}
	if len(r.problems) > 0 {
		slices.SortStableFunc(r.problems, func(a, b table.Problem) int { return a.Row - b.Row })
		return nil, table.Listed(r.problems)
	}
	return r.out, nil
}

type reader struct {
	file, rater string
	axes        []Axis
	first       map[string]int // of out, by what may stand once
	out         []Rating
	problems    []table.Problem
}

func (r *reader) bad(line int, column, want, got string) {
	r.problems = append(r.problems, table.Problem{File: r.file, Row: line, Column: column, Want: want, Got: got})
}

func columns() []string {
	return []string{"case", "rater", "axis", "score", "seconds", "position", "repeat", "remark"}
}

// row takes in a row of our own formats.
func (r *reader) row(line int, values map[string]string) {
	x := Rating{File: r.file, Line: line, Rater: values["rater"], Axis: values["axis"], Case: strings.TrimPrefix(values["case"], "sha256:")}
	if x.Rater == "" {
		x.Rater = r.rater
	}
	ok := true
	if len(x.Case) < CaseDigits || len(x.Case) > 64 || strings.Trim(x.Case, "0123456789abcdef") != "" {
		r.bad(line, "case", fmt.Sprintf("a case: its hex digits, at least the first %d (assay people sample and assay judge --cases list them)", CaseDigits), table.Quote(values["case"]))
		ok = false
	}
	for _, name := range []string{"seconds", "position", "repeat"} {
		v := values[name]
		if v == "" {
			continue
		}
		n, err := strconv.ParseFloat(v, 64)
		if err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) || name != "seconds" && n != math.Trunc(n) {
			r.bad(line, name, "a number, 0 or more", table.Quote(v))
			ok = false
		} else if name == "repeat" {
			x.Repeat = int(n)
		}
	}
	if v := values["score"]; v != "" {
		n, err := strconv.ParseFloat(v, 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
			r.bad(line, "score", "a number, or nothing where the rater could not judge", table.Quote(v))
			return
		}
		x.Score = &n
	}
	if ok {
		r.add(x, "score")
	}
}

// add takes in a rating of a known axis and scale that was not given before.
func (r *reader) add(x Rating, column string) {
	i := slices.IndexFunc(r.axes, func(a Axis) bool { return a.Name == x.Axis })
	if i < 0 {
		var names []string
		for _, a := range r.axes {
			if !slices.Contains(names, a.Name) { // several studies may have it
				names = append(names, a.Name)
			}
		}
		r.bad(x.Line, "axis", "one of "+strings.Join(names, ", "), table.Quote(x.Axis))
		return
	}
	if a := r.axes[i]; x.Score != nil && !a.takes(*x.Score) {
		r.bad(x.Line, column, a.words()+" (axis "+a.Name+")", strconv.FormatFloat(*x.Score, 'g', -1, 64))
		return
	}
	id := x.Case
	if id == "" {
		id = string(x.Text)
	} else {
		id = id[:CaseDigits]
	}
	key := fmt.Sprint(x.Rater, "\n", x.Axis, "\n", id, "\n", x.Repeat)
	if i, twice := r.first[key]; twice {
		was := &r.out[i]
		if x.Case != "" {
			r.bad(x.Line, "case", "each case once per rater, axis and repeat", fmt.Sprintf("it again (first on line %d)", was.Line))
			return
		}
		was.Of++ // the reader study showed some texts under two conditions
		was.Score = new(*was.Score + (*x.Score-*was.Score)/float64(was.Of))
		return
	}
	r.first[key] = len(r.out)
	x.Of = 1
	r.out = append(r.out, x)
}

// object takes in a line of JSON.
func (r *reader) object(line int, obj map[string]any) {
	if _, ok := obj["cot_with_hint"]; ok {
		r.study(line, obj)
		return
	}
	values := map[string]string{}
	ok := true
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		if !slices.Contains(columns(), key) {
			r.bad(line, "$."+key, "one of "+strings.Join(columns(), ", "), "an unknown key")
			ok = false
		}
		switch x := obj[key].(type) {
		case nil:
		case string:
			values[key] = strings.TrimSpace(x)
		case json.Number:
			values[key] = x.String()
		default:
			r.bad(line, "$."+key, "a text or a number", table.Kind(x))
			ok = false
		}
	}
	if ok {
		r.row(line, values)
	}
}

// study takes in a line of the cot-eval reader study.
func (r *reader) study(line int, obj map[string]any) {
	text, _ := obj["cot_with_hint"].(string)
	if strings.TrimSpace(text) == "" {
		r.bad(line, "$.cot_with_hint", "the reasoning that was rated", "none")
		return
	}
	model, _ := obj["model_name"].(string)
	condition, _ := obj["modification_type"].(string)
	asked := false
	for _, a := range r.axes {
		if a.Field == "" {
			continue
		}
		asked = true
		key := a.Field
		switch v := obj[key].(type) {
		case nil:
		case json.Number:
			n, err := v.Float64()
			if err != nil {
				r.bad(line, "$."+key, "a number", table.Quote(v.String()))
				continue
			}
			r.add(Rating{Text: TextOf(text), Rater: r.rater, Axis: a.Name, Score: &n, Model: model, Condition: condition, File: r.file, Line: line}, "$."+key)
		default:
			r.bad(line, "$."+key, "a number", table.Kind(v))
		}
	}
	if !asked {
		r.bad(line, "$", "ratings of a study of this store", "a line of the cot-eval reader study, which rated another")
	}
}

// TextOf names an answer by its text, whatever its white space.
func TextOf(s string) results.Digest {
	return results.DigestOf([]byte(strings.Join(strings.Fields(s), " ")))
}
