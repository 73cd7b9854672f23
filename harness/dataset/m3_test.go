package dataset

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseKeySteps(t *testing.T) {
	path := func(s ...string) []Step {
		for len(s) < 4 {
			s = append(s, "")
		}
		return path(s)
	}
	for _, c := range []struct {
		in   string
		want [][]Step
		err  string
	}{
		{"", nil, ""},
		{"null", nil, ""},
		{`{}`, nil, ""},
		{`{"solution1": null, "solution2": null}`, nil, ""},
		// the released form: the four steps of one path, in any order of keys
		{`{"solution4": null, "solution2": "f", "solution1": "m", "solution3": "c"}`, [][]Step{path("m", "f", "c")}, ""},
		{`{"solution1": "m", "solution3": "c"}`, [][]Step{{{StepModality, "m"}, {StepConclusion, "c"}}}, ""},
		{`{"solution1": {"modality": "m", "key_conclusion": "c"}, "solution2": {"feature": "f", "modality": null}}`,
			[][]Step{path("m", "", "c"), path("", "f")}, ""},
		{`{"solution10": ["j"], "solution2": ["m", "f", null, "o"]}`, [][]Step{path("m", "f", "", "o"), path("j")}, ""},
		{`{"solution5": "m"}`, nil, "at most 4 steps"},
		{`{"solution1": "m", "solution2": ["f"]}`, nil, "one or the other"},
		{`{"solution1": {"logic": "m"}}`, nil, `"logic"`},
		{`{"solution1": ["a", "b", "c", "d", "e"]}`, nil, "found 5"},
		{`{"solution1": [1]}`, nil, "the number 1"},
		{`{"solution1": 3}`, nil, "the number 3"},
		{`{"solution01": "m"}`, nil, "solution01"},
		{`{"answer": "m"}`, nil, "answer"},
		{`["m"]`, nil, "a list of 1"},
		{`{"solution1": NaN}`, nil, "the literal NaN"},
		{`{"solution1": "a", "solution1": "b"}`, nil, "each key once"},
		{`{"solution1": "a"`, nil, "ends early"},
	} {
		got, err := paths(c.in)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want %q in it", c.in, err, c.err)
			}
			continue
		}
		if err != nil || !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%s: %v, %v, want %v", c.in, got, err, c.want)
		}
	}
}

func TestTaskNames(t *testing.T) {
	for _, task := range Tasks() {
		if got, ok := taskOf(" " + strings.ToUpper(task)); !ok || got != task {
			t.Errorf("%s: %s, %v", task, got, ok)
		}
	}
	for word, want := range map[string]string{"Treatment": "Action", "Modality": "Examination Type", "Refering Recognition": "Referring Recognition"} {
		if got, ok := taskOf(word); !ok || got != want {
			t.Errorf("%s: %s, %v", word, got, ok)
		}
	}
	for _, word := range []string{"", "Diagnose", "nan"} {
		if got, ok := taskOf(word); ok {
			t.Errorf("%q is %s", word, got)
		}
	}
}
func FuzzKeySteps(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		paths, err := paths(text)
		if err != nil && paths != nil {
			t.Fatal("an error and paths")
		}
		for _, p := range paths {
			if len(p) == 0 || len(p) > 4 {
				t.Fatalf("a path of %d steps", len(p))
			}
			last := -1
			for _, s := range p {
				k := slices.Index(stepKinds(), s.Kind)
				if k <= last || s.Text == "" || strings.TrimSpace(s.Text) != s.Text || !utf8.ValidString(s.Text) {
					t.Fatalf("path %v", p)
				}
				last = k
			}
		}
	})
}

// TestM3FuzzSeeds fails when the committed corpus is gone: the fuzz test would pass on nothing.
func TestM3FuzzSeeds(t *testing.T) {
	if files, err := os.ReadDir("testdata/fuzz/FuzzKeySteps"); err != nil || len(files) < 5 {
		t.Errorf("%d seeds, %v: want at least 5", len(files), err)
	}
}
