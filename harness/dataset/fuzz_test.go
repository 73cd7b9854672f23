package dataset

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// needSeeds fails when a fuzz test's committed corpus is gone: it would pass on nothing.
func needSeeds(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		files, err := os.ReadDir(filepath.Join("testdata", "fuzz", name))
		if err != nil || len(files) < 5 {
			t.Errorf("%s: %d seeds, %v: want at least 5", name, len(files), err)
		}
	}
}

func TestFuzzSeeds(t *testing.T) {
	needSeeds(t, "FuzzJSONL", "FuzzKeySteps", "FuzzOptions", "FuzzBrackets", "FuzzKnowledge", "FuzzRegions")
}

func FuzzJSONL(f *testing.F) {
	schema, err := compileSchema()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, problems, err := parseJSONL("f", data, schema)
		if err != nil {
			return
		}
		bad := map[int]bool{}
		for _, p := range problems {
			if p.Row < 1 || p.Want == "" || p.Got == "" {
				t.Fatalf("a problem that says too little: %+v", p)
			}
			bad[p.Row] = true
		}
		rows := strings.Count(string(data), "\n")
		if !strings.HasSuffix(string(data), "\n") {
			rows++
		}
		ids := map[string]bool{}
		for _, l := range lines {
			it := l.item
			if bad[l.row] && !strings.HasPrefix(string(data), bom) {
				t.Fatalf("line %d has a problem and was read", l.row)
			}
			if it.ID == "" || ids[it.ID] || strings.TrimSpace(it.Question) == "" || it.Answer == "" || len(l.Images) == 0 ||
				!slices.Contains(Types(), it.Type) && (!slices.Contains(ClosedTypes(), it.Type) || !slices.Contains(it.optionTexts(), it.Answer)) {
				t.Fatalf("line %d: %+v", l.row, it)
			}
			ids[it.ID] = true
			bad[l.row] = true
		}
		if len(bad) != rows {
			t.Fatalf("%d lines, %d accounted for", rows, len(bad))
		}
	})
}

func FuzzKeySteps(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		paths, err := parseKeySteps(text)
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

func FuzzOptions(f *testing.F) {
	f.Fuzz(func(t *testing.T, question string) {
		options, err := ParseOptions(question)
		if err != nil && options != nil || len(options) == 1 || len(options) > 26 {
			t.Fatalf("%v, %v", options, err)
		}
		for i, o := range options {
			if o.Label != string(rune('A'+i)) || !strings.Contains(question, o.Text) || strings.Contains(o.Text, "\n") {
				t.Fatalf("option %d is %+v", i, o)
			}
		}
	})
}

func FuzzBrackets(f *testing.F) {
	f.Fuzz(func(t *testing.T, question string) {
		options := BracketOptions(question)
		if len(options) == 1 {
			t.Fatalf("one option %q", options)
		}
		for i, o := range options {
			if strings.TrimSpace(o) != o || o == "" || !strings.Contains(question, o) || slices.Contains(options[:i], o) {
				t.Fatalf("%q of %q", options, question)
			}
		}
		before, inside, ok := cutBrackets(question)
		if ok && (!strings.Contains(question, "("+inside+")") || !strings.HasPrefix(strings.TrimSpace(question), before)) {
			t.Fatalf("%q was cut into %q and %q", question, before, inside)
		}
	})
}

// What is read has something to say of every answer, and is found again by the
// words it stands under.
func FuzzKnowledge(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		kb, problems := ParseKnowledge("f", data)
		if (kb == nil) != (len(problems) > 0) {
			t.Fatalf("a base and %d problems", len(problems))
		}
		for _, p := range problems {
			if p.File != "f" || p.Want == "" || p.Got == "" {
				t.Fatalf("a problem that says too little: %+v", p)
			}
		}
		if kb == nil {
			return
		}
		for q, answers := range kb.questions {
			for a, k := range answers {
				if len(k.MustAll)+len(k.AtLeast)+len(k.Forbidden) == 0 {
					t.Fatalf("%q, %q: an empty entry", q, a)
				}
				for _, g := range k.AtLeast {
					if g.K < 1 || g.K > len(g.AnyOf) {
						t.Fatalf("%q, %q: %d of %d", q, a, g.K, len(g.AnyOf))
					}
				}
				for _, c := range k.Caps {
					if c.MaxScore < 1 || c.MaxScore > 5 {
						t.Fatalf("%q, %q: a cap of %d", q, a, c.MaxScore)
					}
				}
				if got, why := kb.Lookup(Item{Question: " " + q, Answer: a}); got != k {
					t.Fatalf("%q, %q: %s", q, a, why)
				}
			}
		}
	})
}

// What is read can be drawn, and every question finds at most a finding that has
// boxes.
func FuzzRegions(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<12 {
			return
		}
		r, problems := ParseRegions("f", data)
		if (r == nil) != (len(problems) > 0) {
			t.Fatalf("a table and %d problems", len(problems))
		}
		for _, p := range problems {
			if p.File != "f" || p.Want == "" || p.Got == "" {
				t.Fatalf("a problem that says too little: %+v", p)
			}
		}
		if r == nil {
			return
		}
		for finding, sides := range r.boxes {
			for side, list := range sides {
				if len(list) == 0 || side != "" && side != "left" && side != "right" {
					t.Fatalf("%s: %d boxes for the side %q", finding, len(list), side)
				}
				for _, b := range list {
					if b.Check() != nil {
						t.Fatalf("%s: %+v", finding, b)
					}
				}
			}
		}
		it := Item{Question: string(data), Type: TypeOrdinal, Options: []Option{{Text: "none"}, {Text: "mild"}}}
		r.describe(&it)
		if it.Finding != "" && len(it.Regions) == 0 {
			t.Fatalf("the finding %q has no regions", it.Finding)
		}
		for alias, of := range it.Aliases {
			if got, ok := it.resolve(alias); !ok || got != of {
				t.Fatalf("%q stands for %q, is read as %q", alias, of, got)
			}
		}
	})
}
