package dataset

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCaseFuzzSeeds(t *testing.T) {
	for _, name := range []string{"FuzzCaseJSONL", "FuzzRatings", "FuzzSections"} {
		files, err := os.ReadDir(filepath.Join("testdata", "fuzz", name))
		if err != nil || len(files) < 5 {
			t.Errorf("%s: %d seeds, %v: want at least 5", name, len(files), err)
		}
	}
}

func FuzzCaseJSONL(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		records, problems, err := caseJSONL("f", bytes.NewReader(data), "")
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
		for _, r := range records {
			if bad[r.Row] && r.Row > 1 && !array(data) || r.ID == "" || r.History == "" || len(r.Options) != 5 || !slices.Contains(labels(), r.Answer) || len(r.Images) < 1 || len(r.Images) > maxImages {
				t.Fatalf("row %d: %+v", r.Row, r)
			}
			for _, im := range r.Images {
				if im.Path == "" {
					t.Fatalf("row %d: an image without a path", r.Row)
				}
			}
			bad[r.Row] = true
		}
		if array(data) { // whose elements are no lines
			return
		}
		rows := strings.Count(string(data), "\n")
		if !strings.HasSuffix(string(data), "\n") {
			rows++
		}
		if len(bad) != rows {
			t.Fatalf("%d lines, %d accounted for", rows, len(bad))
		}
	})
}

func FuzzRatings(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		ratings, problems, err := ratings("f", bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, p := range problems {
			if p.Row < 2 || p.Want == "" || p.Got == "" {
				t.Fatalf("a problem that says too little: %+v", p)
			}
		}
		for _, r := range ratings {
			if r.Row < 2 || len(r.Steps) == 0 {
				t.Fatalf("%+v", r)
			}
			for i, s := range r.Steps {
				if s.Text == "" || s.N < 1 || i > 0 && s.N <= r.Steps[i-1].N || slices.ContainsFunc(s.Types, func(name string) bool { return !slices.Contains(errorTypes(), name) }) {
					t.Fatalf("%+v", s)
				}
			}
		}
	})
}

// A discussion loses no word but its headings.
func FuzzSections(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		out := sections(text)
		n := 0
		for _, s := range out {
			if strings.TrimSpace(s.Text) == "" {
				t.Fatalf("an empty section %q", s.Name)
			}
			for _, line := range strings.Split(s.Text, "\n") {
				if !strings.Contains(text, line) {
					t.Fatalf("%q is not in the text", line)
				}
			}
			n += len(s.Text)
		}
		if n > len(text) {
			t.Fatalf("%d bytes became %d", len(text), n)
		}
		if !strings.ContainsAny(strings.ToLower(text), "bciot") && strings.TrimSpace(text) != "" && (len(out) != 1 || out[0].Name != "") {
			t.Fatalf("%q became %q", text, out)
		}
	})
}
