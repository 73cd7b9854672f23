package judge

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"assay/results"
)

// scored is a rubric that takes numbers.
func scored(t *testing.T, name string) Rubric {
	t.Helper()
	r := Rubric{Name: name, Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["quote","verdict"],
		"properties":{"quote":{"type":"string"},"verdict":{"enum":["yes","no","abstain"]}}}`)}
	r.Number = &Number{High: 1, Whole: true, Scale: "0 or 1", Verdict: func(x float64) any {
		return map[string]any{"quote": "", "verdict": map[bool]string{true: "yes", false: "no"}[x == 1]}
	}}
	return r
}

func caseOf(t *testing.T, rubric, answer string) (Case, string) {
	t.Helper()
	c := Case{Rubric: rubric, Fields: struct {
		Answer string `json:"answer"`
	}{answer}}
	st, err := c.Stored()
	if err != nil {
		t.Fatal(err)
	}
	return c, strings.TrimPrefix(string(st.Digest), "sha256:")
}

// Numbers from a file are joined by case; what it lacks has no judgment, and what it
// has too much is listed.
func TestFileJudges(t *testing.T) {
	r := scored(t, "r")
	a, idA := caseOf(t, "r", "left")
	b, idB := caseOf(t, "r", "right")
	c, _ := caseOf(t, "r", "none")
	for name, content := range map[string]string{
		"csv":        "\ufeffcase,score,more\r\nsha256:" + idA + ",1,x\r\n" + idB[:12] + ",0,y\r\n" + strings.Repeat("f", 64) + ",1,\r\n",
		"json lines": `{"case":"sha256:` + idA + `","score":1}` + "\n\n" + `{"case":"` + idB[:12] + `","score":0,"more":[1]}` + "\n" + `{"case":"` + strings.Repeat("f", 64) + `","verdict":{"quote":"","verdict":"yes"}}`,
	} {
		kind, _ := KindOf("file")
		j, err := kind.Make(Spec{Name: "f", Values: map[string]string{"path": "x.csv"}, Content: []byte(content), Rubrics: []Rubric{r}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, want := range map[*Case]string{&a: "yes", &b: "no", &c: ""} {
			got, err := j.Judge(t.Context(), r, *i)
			if err != nil {
				t.Fatal(err)
			}
			var v struct{ Verdict string }
			if want == "" {
				if got.Status != "" {
					t.Errorf("%s: a case without a row is %+v", name, got)
				}
			} else if err := json.Unmarshal(got.Verdict, &v); err != nil || v.Verdict != want || got.Status != results.StatusClean {
				t.Errorf("%s: %+v, want %s", name, got, want)
			}
			st, _ := i.Stored()
			j.(*File).Meets(results.JudgmentKey{Case: st.Digest, Rubric: "r"})
		}
		if rows := j.(*File).Unmatched(); len(rows) != 1 || !strings.Contains(rows[0], "case ffffffffffff of rubric r") {
			t.Errorf("%s: %v", name, rows)
		}
	}
}

// All that is wrong with a file is said at once, with its place.
func TestFileRefusesWhatItCannotRead(t *testing.T) {
	rubrics := []Rubric{scored(t, "r"), scored(t, "s")}
	id := strings.Repeat("a", 12)
	for content, want := range map[string][]string{
		"":                          {"x:1: expected a header row"},
		"case,note\n" + id + ",1\n": {"x:1: score: expected a column of this name"},
		"case,score,rubric\nzz,1,r\n" + id + ",n/a,r\n" + id + ",2,r\n" + id + ",1\n" + id + ",1,s\n" + id + ",0,s\n" + id + ",1,\n": {
			`x:2: case: expected a case`, `x:3: score: expected a finite number`, `x:4: score: expected 0 or 1 (rubric r), found 2`, `x:5: expected 3 fields`,
			"x:7: case: expected each case once per rubric and repeat, found it again (first on line 6)", "x:8: rubric: expected a rubric"},
		`{"case":"` + id + `","score":1,"verdict":{},"rubric":"r"}` + "\n[]\n" + `{"case":"` + id + `","rubric":"r","score":NaN}`: {
			"x:1: score: expected either a score or a verdict, found both", "x:2: $: expected an object", "x:3: score: expected a finite number"},
	} {
		kind, _ := KindOf("file")
		_, err := kind.Make(Spec{Name: "f", Values: map[string]string{"path": "x"}, Content: []byte(content), Rubrics: rubrics})
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %v\nlacks %s", content, err, w)
			}
		}
		if err != nil && strings.Count(err.Error(), "\n") != len(want) {
			t.Errorf("%q: %v", content, err)
		}
	}
	human, _ := KindOf("human")
	_, err := human.Make(Spec{Name: "h", Values: map[string]string{"path": "x", "rater": "anna"}, Content: []byte("case,score,shoe\n" + id + ",1,2\n"), Rubrics: rubrics[:1]})
	if err == nil || !strings.Contains(err.Error(), "x:1: shoe: expected one of case, rater") {
		t.Errorf("%v", err)
	}
}

// A rater's rows are told from others', and a case rated again stands beside the first.
func TestHumanJudges(t *testing.T) {
	r := scored(t, "r")
	c, id := caseOf(t, "r", "left")
	content := fmt.Sprintf("rater,case,axis,score,seconds,position,repeat\nanna,%[1]s,r,1,3.2,1,0\nben,%[1]s,r,0,2,1,0\nanna,%[1]s,r,0,1,2,1\n", id)
	human, _ := KindOf("human")
	j, err := human.Make(Spec{Name: "h", Values: map[string]string{"path": "x", "rater": "anna"}, Content: []byte(content), Rubrics: []Rubric{r}})
	if err != nil {
		t.Fatal(err)
	}
	if n := j.(*File).Repeats(); n != 2 {
		t.Errorf("%d repeats", n)
	}
	for repeat, want := range []string{"yes", "no"} {
		c.Repeat = repeat
		got, err := j.Judge(t.Context(), r, c)
		if err != nil || got.Repeat != repeat || !strings.Contains(string(got.Verdict), want) {
			t.Errorf("repeat %d: %+v %v", repeat, got, err)
		}
	}
}

func FuzzRatings(f *testing.F) {
	f.Add([]byte("case,score\nsha256:aaaaaaaaaaaa,1\n"), true)
	f.Add([]byte(`{"case":"aaaaaaaaaaaa","verdict":{"a":[1]},"repeat":2}`), false)
	f.Add([]byte("case,score\n\"a,1\n"), false)
	f.Fuzz(func(t *testing.T, b []byte, all bool) {
		rows, problems := ratings("f", b, nil, all)
		for _, r := range rows {
			if r.line < 1 || len(r.id) < idDigits || (r.score == nil) == (r.verdict == nil) {
				t.Errorf("%+v of %q", r, b)
			}
		}
		for _, p := range problems {
			if p.Row < 1 || p.Want == "" || p.Got == "" {
				t.Errorf("%+v of %q", p, b)
			}
		}
	})
}

// A metric compares a case's text with each reference.
func TestMetricJudges(t *testing.T) {
	r := scored(t, "r")
	r.Texts = func(c Case) (string, []string) { return "Left.", []string{"right", "left"} }
	c, _ := caseOf(t, "r", "x")
	metric, _ := KindOf("metric")
	j, err := metric.Make(Spec{Name: "m", Values: map[string]string{"function": "exact_match"}, Rubrics: []Rubric{r}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := j.Judge(t.Context(), r, c); err != nil || got.Status != results.StatusClean || !strings.Contains(string(got.Verdict), "yes") {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := metric.Make(Spec{Name: "m", Values: map[string]string{"function": "rouge_l"}, Rubrics: []Rubric{r}}); err == nil || !strings.Contains(err.Error(), "rubric r takes 0 or 1, and rouge_l gives fractions") {
		t.Errorf("%v", err)
	}
	r.Texts = nil
	if _, err := metric.Make(Spec{Name: "m", Values: map[string]string{"function": "exact_match"}, Rubrics: []Rubric{r}}); err == nil || !strings.Contains(err.Error(), "has no two texts") {
		t.Errorf("%v", err)
	}
}
