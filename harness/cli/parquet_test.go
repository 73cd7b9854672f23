package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"assay/harness/cli"
	"assay/results"
	"assay/results/store"
)

// TestParquetReadByHyparquet: every row of every kind of export is what the same export
// is as JSON lines, and what the store itself says of trials, judgments and attempts.
// .ci/parquet runs it; ASSAY_HYPARQUET names a folder with rows.js and hyparquet.
func TestParquetReadByHyparquet(t *testing.T) {
	tool := os.Getenv("ASSAY_HYPARQUET")
	if tool == "" {
		t.Skip("ASSAY_HYPARQUET names no folder with hyparquet; .ci/parquet makes one")
	}
	dir, err := toured()
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(dir, "tour.sqlite")
	do := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := cli.Main(t.Context(), append([]string{"assay", "export", "-c", filepath.Join(dir, "bench.yaml")}, args...), strings.NewReader(""), &out, &errs); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
		}
		return out.String()
	}
	read := map[string][]map[string]any{}
	for _, kind := range []string{"trials", "judgments", "attempts", "samples"} {
		file := filepath.Join(t.TempDir(), kind+".parquet")
		do("--rows", kind, "--out", file, store)
		cmd := exec.CommandContext(t.Context(), "node", filepath.Join(tool, "rows.js"), file)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		rows := hyparquet(t, out)
		read[kind] = rows
		lines := bufio.NewReader(strings.NewReader(do("--rows", kind, "--format", "jsonl", store)))
		n := 0
		for ; ; n++ {
			line, err := lines.ReadBytes('\n')
			if err == io.EOF {
				break
			}
			want := map[string]any{}
			dec := json.NewDecoder(bytes.NewReader(line))
			dec.UseNumber()
			if err := dec.Decode(&want); err != nil {
				t.Fatal(err)
			}
			if n >= len(rows) || len(rows[n]) != len(want) {
				t.Fatalf("%s, row %d: %d rows by hyparquet", kind, n, len(rows))
			}
			for name, v := range want {
				if !equal(v, rows[n][name]) {
					t.Errorf("%s, row %d, %s: %v by hyparquet, %v", kind, n, name, rows[n][name], v)
				}
			}
		}
		if n != len(rows) || n == 0 {
			t.Errorf("%s: %d rows, %d by hyparquet", kind, n, len(rows))
		}
		fmt.Printf("%s: %d rows of %d columns read by hyparquet, equal\n", kind, n, len(rows[0]))
	}
	compareWithStore(t, store, read)
}

// hyparquet reads what rows.js prints.
func hyparquet(t *testing.T, out []byte) (rows []map[string]any) {
	t.Helper()
	var names []string
	for i, line := range bytes.Split(bytes.TrimSpace(out), []byte("\n")) {
		if i == 0 {
			if err := json.Unmarshal(line, &names); err != nil {
				t.Fatal(err)
			}
			continue
		}
		var cells []any
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.UseNumber()
		if err := dec.Decode(&cells); err != nil || len(cells) != len(names) {
			t.Fatalf("row %d: %d cells, %d names, %v", i, len(cells), len(names), err)
		}
		row := map[string]any{}
		for j, c := range cells {
			if o, ok := c.(map[string]any); ok {
				c = json.Number(o["int"].(string))
			}
			row[names[j]] = c
		}
		rows = append(rows, row)
	}
	return rows
}

// equal compares values; numbers by what they are, not by how they are written.
func equal(a, b any) bool {
	x, ok1 := a.(json.Number)
	y, ok2 := b.(json.Number)
	if !ok1 || !ok2 {
		return a == b
	}
	p, err1 := strconv.ParseFloat(x.String(), 64)
	q, err2 := strconv.ParseFloat(y.String(), 64)
	return err1 == nil && err2 == nil && p == q
}

// compareWithStore compares rows with what the store itself says.
func compareWithStore(t *testing.T, path string, read map[string][]map[string]any) {
	t.Helper()
	st, err := store.OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	key := func(row map[string]any) string {
		return fmt.Sprint(row["study"], "/", row["model"], "/", row["item"], "/", row["arm"], "/", row["condition"], "#", row["repeat"])
	}
	name := func(k results.Key) string {
		return fmt.Sprint(k.Study, "/", k.Model, "/", k.Item, "/", k.Arm, "/", k.Condition, "#", k.Repeat)
	}
	trials := map[string]map[string]any{}
	for _, r := range read["trials"] {
		trials[key(r)] = r
	}
	stored, attempts := 0, 0
	for tr, err := range st.Trials(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		stored++
		r := trials[name(tr.Key)]
		last, _ := tr.Last()
		if r == nil || last.Output == nil != (r["answer"] == nil) || last.Output != nil && r["answer"] != last.Output.Answer || !equal(r["attempts"], json.Number(strconv.Itoa(len(tr.Attempts)))) {
			t.Errorf("%s: %v, the store has %+v", name(tr.Key), r, last.Output)
		}
		var latency float64
		for _, a := range tr.Attempts {
			attempts += max(1, len(a.Turns))
		}
		for _, u := range last.Turns {
			d, _ := u.Trace.Latency()
			latency += d.Seconds()
		}
		if got, ok := r["latency_any_s"].(json.Number); ok {
			if v, err := got.Float64(); err != nil || v < latency-1e-9 || v > latency+1e-9 {
				t.Errorf("%s: latency %v, the store has %v", name(tr.Key), got, latency)
			}
		} else if last.Output != nil {
			t.Errorf("%s has no latency", name(tr.Key))
		}
	}
	judgments := 0
	for j, err := range st.Judgments(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if r := read["judgments"][judgments]; key(r) != name(j.Key) || r["status"] != string(j.Status) || r["verdict"] != nil && r["verdict"] != string(j.Verdict) {
			t.Errorf("%+v, the store has %+v", r, j)
		}
		judgments++
	}
	if stored != len(read["trials"]) || attempts != len(read["attempts"]) || judgments != len(read["judgments"]) {
		t.Errorf("%d trials, %d attempts, %d judgments in the store; %d, %d, %d rows", stored, attempts, judgments, len(read["trials"]), len(read["attempts"]), len(read["judgments"]))
	}
}
