package dataset

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Fuzzing that starts from nothing finds nothing.
func TestTableFuzzSeeds(t *testing.T) {
	for _, name := range []string{"FuzzBrackets", "FuzzKnowledge", "FuzzRegions"} {
		if files, err := os.ReadDir(filepath.Join("testdata", "fuzz", name)); err != nil || len(files) < 5 {
			t.Errorf("%s: %d seeds, %v: want at least 5", name, len(files), err)
		}
	}
}

func FuzzBrackets(f *testing.F) {
	f.Fuzz(func(t *testing.T, question string) {
		options := bracketOptions(question)
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
		kb, problems := parseKnowledge("f", data)
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
				if got, why := kb.Lookup(" "+q, a, nil); got != k {
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
		r, problems := parseRegions("f", data)
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
		if finding, side := r.About(string(data)); finding != "" && (len(r.Boxes(finding)) == 0 || side != "" && len(r.Boxes(finding)[side]) == 0) {
			t.Fatalf("the finding %q has no boxes on the side %q", finding, side)
		}
		options := []string{"none", "Mild"}
		for alias, of := range r.Aliases(options) {
			if !slices.Contains(options, of) || slices.ContainsFunc(options, func(o string) bool { return foldText(o) == alias }) {
				t.Fatalf("%q stands for %q", alias, of)
			}
		}
	})
}
