package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"assay/harness/dataset/table"
	"assay/results"
)

func fileKind() Kind {
	return Kind{Name: "file", Make: newFile,
		Keys: []key{{Name: "path", Need: true, File: true}, {Name: "tool", Need: true}, {Name: "version", Need: true}, {Name: "id"}, {Name: "score"}},
		About: func(v map[string]string) string {
			return fmt.Sprintf("numbers made by %s %s, from the file %s", v["tool"], v["version"], filepath.Base(v["path"]))
		}}
}

func humanKind() Kind {
	return Kind{Name: "human", Make: newHuman, Keys: []key{{Name: "path", Need: true, File: true}, {Name: "rater", Need: true}},
		About: func(v map[string]string) string {
			return fmt.Sprintf("a person (%s), from the file %s", v["rater"], filepath.Base(v["path"]))
		}}
}

// File judges by verdicts that were made elsewhere, joined by case. Use a pointer;
// it is safe from several goroutines.
type File struct {
	Name    string
	path    string
	rows    []rating
	at      map[string][]int // rows by the first digits of their case
	schemas schemas

	mu   sync.Mutex
	used map[int]bool
}

// rating is a row of a file.
type rating struct {
	line    int
	id      string // of the case: digits of its digest, at least idDigits
	rater   string // "": it does not say
	rubric  string // "": it does not say
	repeat  int
	score   *float64
	verdict json.RawMessage
}

// idDigits are enough to name a case.
const idDigits = 12

func newFile(s Spec) (Judge, error) {
	id, score := s.Values["id"], s.Values["score"]
	if id == "" {
		id = "case"
	}
	if score == "" {
		score = "score"
	}
	return load(s, "", map[string]string{id: "case", score: "score"}, false)
}

func newHuman(s Spec) (Judge, error) { return load(s, s.Values["rater"], nil, true) }

// load reads a file's rows of one rater ("": all) and compares them with the
// rubrics that ask for them.
func load(s Spec, rater string, rename map[string]string, all bool) (Judge, error) {
	f := &File{Name: s.Name, path: s.Values["path"], at: map[string][]int{}, used: map[int]bool{}}
	list, problems := ratings(f.path, s.Content, rename, all)
	first := map[string]int{}
	for _, r := range list {
		if rater != "" && r.rater != "" && r.rater != rater {
			continue
		}
		bad := func(column, want, got string) {
			problems = append(problems, table.Problem{File: f.path, Row: r.line, Column: column, Want: want, Got: got})
		}
		if r.rubric == "" && len(s.Rubrics) > 1 {
			bad("rubric", "a rubric, because the judge is asked under several", "none")
			continue
		}
		i := slices.IndexFunc(s.Rubrics, func(x Rubric) bool { return r.rubric == "" || x.Name == r.rubric })
		if i < 0 {
			continue // of a rubric that nobody asks it about
		}
		rub := s.Rubrics[i]
		r.rubric = rub.Name
		switch {
		case r.score != nil && rub.Number == nil:
			bad("score", "a verdict: rubric "+rub.Name+" takes no numbers", "a number")
		case r.score != nil && !rub.Number.Takes(*r.score):
			bad("score", rub.Number.Scale+" (rubric "+rub.Name+")", strconv.FormatFloat(*r.score, 'g', -1, 64))
		}
		key := fmt.Sprint(r.rubric, "\n", r.id[:idDigits], "\n", r.repeat)
		if line, twice := first[key]; twice {
			bad("case", "each case once per rubric and repeat", fmt.Sprintf("it again (first on line %d)", line))
			continue
		}
		first[key] = r.line
		f.at[r.id[:idDigits]] = append(f.at[r.id[:idDigits]], len(f.rows))
		f.rows = append(f.rows, r)
	}
	if len(problems) == 0 && len(f.rows) == 0 {
		problems = append(problems, table.Problem{File: f.path, Want: "a row of this judge and its rubrics", Got: "none"})
	}
	if len(problems) > 0 {
		slices.SortStableFunc(problems, func(a, b table.Problem) int { return a.Row - b.Row })
		return nil, fmt.Errorf("judge %s:\n%w", s.Name, table.Listed(problems))
	}
	return f, nil
}

// ratings parses JSON lines or CSV. rename gives columns our names; all refuses
// columns that are not known.
func ratings(file string, b []byte, rename map[string]string, all bool) ([]rating, []table.Problem) {
	var out []rating
	var problems []table.Problem
	bad := func(line int, column, want, got string) {
		problems = append(problems, table.Problem{File: file, Row: line, Column: column, Want: want, Got: got})
	}
	row := func(line int, values map[string]string) {
		r := rating{line: line, rater: values["rater"], rubric: values["rubric"]}
		if axis := values["axis"]; r.rubric == "" {
			r.rubric = axis
		}
		r.id = strings.TrimPrefix(values["case"], "sha256:")
		ok := len(r.id) >= idDigits && len(r.id) <= 64 && strings.Trim(r.id, "0123456789abcdef") == ""
		if !ok {
			bad(line, "case", fmt.Sprintf("a case: sha256: and its digits, at least the first %d (assay judge --cases lists them)", idDigits), table.Quote(values["case"]))
		}
		if v := values["repeat"]; v != "" {
			n, err := strconv.Atoi(v)
			if err != nil || n < 0 || n > 1000 {
				bad(line, "repeat", "a whole number from 0 to 1000", table.Quote(v))
				ok = false
			}
			r.repeat = n
		}
		score, verdict := values["score"], values["verdict"]
		switch {
		case (score == "") == (verdict == ""):
			bad(line, "score", "either a score or a verdict", map[bool]string{true: "neither", false: "both"}[score == ""])
			ok = false
		case score != "":
			x, err := strconv.ParseFloat(score, 64)
			if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
				bad(line, "score", "a finite number; leave the row out where there is none", table.Quote(score))
				ok = false
			}
			r.score = &x
		case !json.Valid([]byte(verdict)):
			bad(line, "verdict", "JSON", table.Quote(verdict))
			ok = false
		default:
			r.verdict = json.RawMessage(verdict)
		}
		if ok {
			out = append(out, r)
		}
	}
	known := []string{"case", "rater", "rubric", "axis", "score", "verdict", "repeat", "seconds", "position"}
	name := func(column string) string {
		if to, ok := rename[column]; ok {
			return to
		}
		return column
	}
	object := func(line int, obj map[string]any) {
		values := map[string]string{}
		for _, key := range slices.Sorted(maps.Keys(obj)) {
			if all && !slices.Contains(known, name(key)) {
				bad(line, "$."+key, "one of "+strings.Join(known, ", "), "an unknown key")
			}
			switch x := obj[key].(type) {
			case nil:
			case string:
				values[name(key)] = x
			case json.Number:
				values[name(key)] = x.String()
			default:
				text, err := json.Marshal(x)
				if err != nil {
					bad(line, "$."+key, "JSON", err.Error())
				}
				values[name(key)] = string(text)
			}
		}
		row(line, values)
	}
	in := table.JSONRows{Bad: bad, Header: "a header row with the columns case and score (CSV), or JSON lines", Row: row, Object: object}
	in.Names = func(header []string) ([]string, bool) {
		for i := range header {
			header[i] = name(header[i])
		}
		allowed := known
		if !all {
			allowed = nil
		}
		ok := in.Known(header, allowed)
		for _, need := range [][]string{{"case"}, {"score", "verdict"}} {
			if !slices.ContainsFunc(need, func(n string) bool { return slices.Contains(header, n) }) {
				bad(1, need[0], "a column of this name, or one named in bench.yaml", "none")
				ok = false
			}
		}
		return header, ok
	}
	in.Read(b)
	return out, problems
}

// Repeats is how often the file's most often judged case was judged.
func (f *File) Repeats() int {
	most := 1
	for _, r := range f.rows {
		most = max(most, r.repeat+1)
	}
	return most
}

// row is the row of a case; -1: there is none.
func (f *File) row(c results.Digest, rubric string, repeat int) int {
	digits := strings.TrimPrefix(string(c), "sha256:")
	for _, i := range f.at[digits[:min(idDigits, len(digits))]] {
		if r := f.rows[i]; strings.HasPrefix(digits, r.id) && r.rubric == rubric && r.repeat == repeat {
			return i
		}
	}
	return -1
}

// Meets notes that a case is there to be judged, whether or not it was before.
func (f *File) Meets(k results.JudgmentKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	digits := strings.TrimPrefix(string(k.Case), "sha256:")
	for _, i := range f.at[digits[:min(idDigits, len(digits))]] {
		if r := f.rows[i]; strings.HasPrefix(digits, r.id) && r.rubric == k.Rubric {
			f.used[i] = true
		}
	}
}

// Unmatched is the rows whose case did not come, as file and line with the case.
func (f *File) Unmatched() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for i, r := range f.rows {
		if !f.used[i] {
			out = append(out, fmt.Sprintf("%s:%d: case %s of rubric %s", f.path, r.line, r.id[:idDigits], r.rubric))
		}
	}
	return out
}

// Judge looks the case up. One that the file lacks has no judgment: its status is "".
func (f *File) Judge(ctx context.Context, r Rubric, c Case) (results.Judgment, error) {
	j, err := begun(ctx, f.Name, r, c)
	if err != nil {
		return j, err
	}
	i := f.row(j.Case, r.Name, c.Repeat)
	if i < 0 {
		return j, nil
	}
	if row := f.rows[i]; row.score != nil {
		f.schemas.Numbered(&j, r, c, *row.score)
	} else {
		f.schemas.Written(&j, r, c, row.verdict)
	}
	return j, nil
}
