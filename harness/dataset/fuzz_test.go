package dataset

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset/table"
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

func TestFuzzSeeds(t *testing.T) { needSeeds(t, "FuzzJSONL", "FuzzOptions") }

// array says whether a file is one JSON array.
func array(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\ufeff")), " \t\r\n"), []byte("["))
}

func FuzzJSONL(f *testing.F) {
	schema, err := compileSchema()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, problems, err := parseJSONL("f", bytes.NewReader(data), schema, "")
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
			if bad[l.row] && !array(data) && !strings.HasPrefix(string(data), table.BOM) {
				t.Fatalf("line %d has a problem and was read", l.row)
			}
			if it.ID == "" || ids[it.ID] || strings.TrimSpace(it.Question) == "" || it.Answer == "" || len(l.Images) == 0 ||
				it.Type == TypeDiagnosis && (it.Case == nil || !slices.ContainsFunc(it.Options, func(o Option) bool { return o.Label == it.Answer })) ||
				it.Type != TypeDiagnosis && it.Case != nil || it.Type != TypeDiagnosis && !slices.Contains(Types(), it.Type) && (!slices.Contains(ClosedTypes(), it.Type) || !slices.Contains(it.optionTexts(), it.Answer)) {
				t.Fatalf("line %d: %+v", l.row, it)
			}
			ids[it.ID] = true
			bad[l.row] = true
		}
		if len(bad) != rows && !array(data) { // whose elements are no lines
			t.Fatalf("%d lines, %d accounted for", rows, len(bad))
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
