package cli_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var updateExpected = flag.Bool("update", false, "write testdata/expected again; each difference needs an entry in docs/decisions.md")

// Stores of this and of older versions give the numbers that they always gave.
func TestSameStoreSameNumbers(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors fuse multiplication and addition: the last digit differs")
	}
	for _, name := range []string{"tour", "rough", "schema4", "cases"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), name+".sqlite")
			unpack(t, filepath.Join("testdata", "expected", name+".sqlite.gz"), path)
			code, out, errs := assayHere(t, "report", "--json", "--examples", "0", path)
			if code != 0 {
				t.Fatalf("assay report: exit code %d: %s", code, errs)
			}
			found, err := reported([]byte(out))
			if err != nil {
				t.Fatal(err)
			}
			if len(found) < 1000 {
				t.Fatalf("%d lines: the report is not read", len(found))
			}
			file := filepath.Join("testdata", "expected", name+".txt")
			if *updateExpected {
				if err := os.WriteFile(file, []byte(strings.Join(found, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			diff := differing(strings.Split(strings.TrimSuffix(string(want), "\n"), "\n"), found)
			const most = 40
			for i, d := range diff {
				if i == most {
					t.Errorf("and %d more", len(diff)-most)
					break
				}
				t.Error(d)
			}
		})
	}
}

// What differs is named, and nothing else.
func TestDiffering(t *testing.T) {
	report := func(value, low, title string, n int, more string) []string {
		t.Helper()
		lines, err := reported(fmt.Appendf(nil, `{"progress":{"of":[{"study":"s"}]},"sections":[{"name":"sec","title":%q,"tables":[{"name":"tab",
			"columns":[{"name":"model"},{"name":"f1"}],"rows":[[{"text":"a"},{"estimate":{"value":%s,"low":%s,"n":%d}}],[{"text":"b"},{"estimate":{"why":"none","n":0}}]%s]}],
			"figures":[{"name":"fig","series":[{"name":"x","points":[{"x":1,"y":2.50}]}]}]}]}`, title, value, low, n, more))
		if err != nil {
			t.Fatal(err)
		}
		return lines
	}
	was := report("45.96131968145620", "1e-17", "T", 48, "")
	const cell = "sec/tab[a].f1"
	for _, c := range []struct {
		name  string
		found []string
		want  []string // the beginnings of what is said
	}{
		{"nothing", report("45.96131968145620", "1e-17", "T", 48, ""), nil},
		{"the last digit of a value", report("45.96131968145621", "1e-17", "T", 48, ""), []string{cell + ": was {"}},
		{"a bound", report("45.96131968145620", "2e-17", "T", 48, ""), []string{cell + ": was {"}},
		{"n", report("45.96131968145620", "1e-17", "T", 47, ""), []string{cell + ": was {"}},
		{"a title", report("45.96131968145620", "1e-17", "U", 48, ""), []string{"sec.title: was "}},
		{"a row more", report("45.96131968145620", "1e-17", "T", 48, `,[{"text":"c"},{"text":"-"}]`), []string{"sec/tab[c].f1: is new"}},
		{"a row twice", report("45.96131968145620", "1e-17", "T", 48, `,[{"text":"a"},{"text":"-"}]`), []string{"sec/tab[a]#2.f1: is new"}},
		{"a row less", was[:len(was)-2], []string{"sec/tab[b].f1: is gone", "sec.title: is gone"}},
		{"the order", append([]string{was[1], was[0]}, was[2:]...), []string{"the order differs, first at line 1"}},
	} {
		got := differing(was, c.found)
		if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func unpack(t *testing.T, from, to string) {
	t.Helper()
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// reported is what a report as JSON says of its store, one line for each cell and
// each text: all but the manifest, which is input.
func reported(report []byte) ([]string, error) {
	var r map[string]any
	d := json.NewDecoder(bytes.NewReader(report))
	d.UseNumber() // every digit as it was printed
	if err := d.Decode(&r); err != nil {
		return nil, err
	}
	var out []string
	sections, _ := r["sections"].([]any)
	for _, key := range slices.Sorted(maps.Keys(r)) {
		if key != "sections" && key != "manifest" && key != "examples" {
			out = flat(out, key, r[key])
		}
	}
	for _, s := range sections {
		sec := s.(map[string]any)
		name := fmt.Sprint(sec["name"])
		for _, key := range slices.Sorted(maps.Keys(sec)) {
			list, _ := sec[key].([]any)
			for _, e := range list {
				switch of, path := e, name+"/"; key {
				case "tables":
					out = table(out, path, of.(map[string]any))
				case "figures":
					out = flat(out, path+fmt.Sprint(of.(map[string]any)["name"]), of)
				}
			}
			if key != "tables" && key != "figures" {
				out = flat(out, name+"."+key, sec[key])
			}
		}
	}
	return out, nil
}

func table(out []string, path string, t map[string]any) []string {
	path += fmt.Sprint(t["name"])
	for _, key := range slices.Sorted(maps.Keys(t)) {
		if key != "rows" {
			out = flat(out, path+"."+key, t[key])
		}
	}
	columns, _ := t["columns"].([]any)
	rows, _ := t["rows"].([]any)
	times := map[string]int{}
	for _, r := range rows {
		cells := r.([]any)
		var texts, rest []string
		for i, c := range cells {
			cell, leading := c.(map[string]any), len(rest) == 0
			if text, ok := cell["text"]; ok && leading && len(cell) == 1 && i < len(cells)-1 {
				texts = append(texts, fmt.Sprint(text))
				continue
			}
			name := fmt.Sprint(i)
			if i < len(columns) {
				name = fmt.Sprint(columns[i].(map[string]any)["name"])
			}
			if e, ok := cell["estimate"]; ok && len(cell) == 1 {
				c = e
			}
			rest = append(rest, "."+name+sep+compact(c))
		}
		row := path + "[" + strings.Join(texts, " | ") + "]"
		if times[row]++; times[row] > 1 {
			row += fmt.Sprint("#", times[row])
		}
		for _, c := range rest {
			out = append(out, row+c)
		}
	}
	return out
}

// flat adds v, a line for each innermost object or value.
func flat(out []string, path string, v any) []string {
	nested := func(v any) bool {
		switch v.(type) {
		case map[string]any, []any:
			return true
		}
		return false
	}
	switch v := v.(type) {
	case []any:
		if slices.ContainsFunc(v, nested) || len(v) > 0 && len(compact(v)) > 120 {
			for i, e := range v {
				out = flat(out, fmt.Sprintf("%s[%d]", path, i), e)
			}
			return out
		}
	case map[string]any:
		if slices.ContainsFunc(slices.Collect(maps.Values(v)), nested) {
			for _, key := range slices.Sorted(maps.Keys(v)) {
				out = flat(out, path+"."+key, v[key])
			}
			return out
		}
	}
	return append(out, path+sep+compact(v))
}

// sep stands between what a line is of and its value: no text that is printed has it.
const sep = "\t"

func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // it was JSON
	}
	return strings.TrimSpace(b.String())
}

// differing says of each line that is not as it was which it is.
func differing(was, is []string) []string {
	index := func(lines []string) map[string]string {
		m := map[string]string{}
		for _, l := range lines {
			path, value, _ := strings.Cut(l, sep)
			m[path] = value
		}
		return m
	}
	old, now := index(was), index(is)
	var out []string
	if len(old) != len(was) || len(now) != len(is) {
		out = append(out, fmt.Sprintf("%d of %d and %d of %d lines have the name of another", len(was)-len(old), len(was), len(is)-len(now), len(is)))
	}
	for _, l := range was {
		path, value, _ := strings.Cut(l, sep)
		if v, ok := now[path]; !ok {
			out = append(out, fmt.Sprintf("%s: is gone, was %s", path, value))
		} else if v != value {
			out = append(out, fmt.Sprintf("%s: was %s\n\tis  %s", path, value, v))
		}
	}
	for _, l := range is {
		path, value, _ := strings.Cut(l, sep)
		if _, ok := old[path]; !ok {
			out = append(out, fmt.Sprintf("%s: is new, %s", path, value))
		}
	}
	if len(out) == 0 {
		for i := range max(len(was), len(is)) {
			if i >= len(was) || i >= len(is) || was[i] != is[i] {
				return []string{fmt.Sprintf("the order differs, first at line %d", i+1)}
			}
		}
	}
	return out
}
