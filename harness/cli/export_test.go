package cli_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/harness/machine"
	"assay/harness/score"
	"assay/results"
)

// exportHoldsTheReport: rows that a person takes away of a run of everything give the
// report's numbers, every score that is missing says why, and docs/export.md has the columns.
func exportHoldsTheReport(t *testing.T, file, printed string) {
	t.Helper()
	store := filepath.Join(filepath.Dir(file), "all.sqlite")
	do := func(args ...string) string {
		t.Helper()
		code, out, errs := assayHere(t, args...)
		if code != 0 {
			t.Fatalf("assay %s: exit code %d: %s", strings.Join(args, " "), code, errs)
		}
		return out
	}
	var report struct {
		Sections []struct {
			Tables []struct {
				Name    string
				Columns []struct{ Name string }
				Rows    [][]struct {
					Text     string
					Estimate *struct{ Value *float64 }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(printed), &report); err != nil {
		t.Fatal(err)
	}
	// cell is a number of the report.
	cell := func(table, column string, is ...string) float64 {
		t.Helper()
		for _, s := range report.Sections {
			for _, tab := range s.Tables {
				if tab.Name != table {
					continue
				}
				for _, row := range tab.Rows {
					found := true
					for i, text := range is {
						found = found && row[i].Text == text
					}
					for i, c := range tab.Columns {
						if found && c.Name == column && row[i].Estimate != nil && row[i].Estimate.Value != nil {
							return *row[i].Estimate.Value
						}
					}
				}
			}
		}
		t.Fatalf("the report has no %s of %v in %s", column, is, table)
		return 0
	}
	rows := func(kind string) (out []map[string]any) {
		t.Helper()
		for line := range strings.Lines(do("export", "-c", file, "--rows", kind, "--format", "jsonl", "--columns", "all", store)) {
			var row map[string]any
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			out = append(out, row)
		}
		return out
	}
	trials := rows("trials")
	mean := func(score string, where func(map[string]any) bool) float64 {
		var sum float64
		n := 0
		for _, r := range trials {
			if v, ok := r[score].(float64); ok && where(r) {
				sum, n = sum+v, n+1
			}
		}
		return 100 * sum / float64(n)
	}
	is := func(study, arm, condition string) func(map[string]any) bool {
		return func(r map[string]any) bool {
			return r["study"] == study && r["arm"] == arm && r["condition"] == condition
		}
	}
	for what, pair := range map[string][2]float64{
		"accuracy, cot":    {mean("accuracy", is("cot", "cot", "baseline")), cell("cot-accuracy", "accuracy", "silent", "cot")},
		"precision":        {mean("precision__lexical", is("cot", "cot", "baseline")), cell("cot-main", "precision", "silent")},
		"flips":            {mean("flip", is("faithfulness", "structured", "TB-LA-")), cell("faithfulness-conditions", "flip_rate", "silent", "structured", "TB-LA-")},
		"accuracy, TB-LA-": {mean("accuracy", is("faithfulness", "structured", "TB-LA-")), cell("faithfulness-conditions", "accuracy", "silent", "structured", "TB-LA-")},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-9 {
			t.Errorf("%s: %v in the rows, %v in the report", what, pair[0], pair[1])
		}
	}
	answers := map[string]bool{}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	name = cmp.Or(os.Getenv(machine.Pseudonym), name)
	keyOf := func(r map[string]any) string {
		return fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%03.0f", r["model"], r["item"], r["arm"], r["condition"], r["repeat"])
	}
	for i, r := range trials {
		if i > 0 && r["study"] == trials[i-1]["study"] && keyOf(r) <= keyOf(trials[i-1]) {
			t.Fatalf("%q stands behind %q", keyOf(r), keyOf(trials[i-1]))
		}
		answers[fmt.Sprint(r["study"], r["item"], r["arm"], r["condition"], r["repeat"], r["answer"])] = true
		var why map[string]string
		if s, ok := r["missing"].(string); ok {
			if err := json.Unmarshal([]byte(s), &why); err != nil {
				t.Fatal(err)
			}
		}
		for name := range why {
			if v, known := r[name]; !known || v != nil {
				t.Errorf("%s is said to be missing, and is %v (column there: %t)", name, v, known)
			}
		}
		if r["energy_j"] == nil && why["energy_j"] == "" {
			t.Errorf("no energy and no reason: %v", r)
		}
		if q, ok := r["question"].(string); !ok || q == "" || r["gold"] == nil {
			t.Fatalf("no question or no gold answer: %v", r)
		}
		if right, ok := r["accuracy"].(float64); ok && r["study"] == "faithfulness" && right == 1 && !strings.Contains(strings.ToLower(fmt.Sprint(r["answer"])), strings.ToLower(fmt.Sprint(r["gold"]))) {
			t.Errorf("the answer %q is right, and the gold answer is %q", r["answer"], r["gold"])
		}
		if r["host"] != name || r["gpu"] == nil || r["driver"] != nil || r["clock_offset_s"] != nil {
			t.Fatalf("the machine is %v, its GPU %v with driver %v, its clock off by %v", r["host"], r["gpu"], r["driver"], r["clock_offset_s"])
		}
		if r["synthetic"] != true {
			t.Fatalf("a phantom's row is not marked: %v", r)
		}
	}
	// A request's times are its trial's, and as unknown: phantoms without delay send some answers
	// in one read, of which nothing says when they began.
	of := func(r map[string]any) string {
		return fmt.Sprint(r["study"], r["model"], r["item"], r["arm"], r["condition"], r["repeat"])
	}
	requests := map[string][]map[string]any{}
	for _, a := range rows("attempts") {
		requests[of(a)] = append(requests[of(a)], a)
	}
	same := 0
	for _, r := range trials {
		if one := requests[of(r)]; len(one) == 1 {
			same++
			if one[0]["ttft_s"] != r["ttft_any_s"] || one[0]["latency_s"] != r["latency_any_s"] {
				t.Errorf("a trial's times are %v and %v, its request's %v and %v", r["ttft_any_s"], r["latency_any_s"], one[0]["ttft_s"], one[0]["latency_s"])
			}
		}
	}
	if same == 0 {
		t.Error("no trial of one request")
	}
	for _, a := range rows("attempts") {
		last := fmt.Sprint(a["study"], a["item"], a["arm"], a["condition"], a["repeat"], a["answer"])
		ttft, _ := a["ttft_s"].(float64)
		if v, ok := a["latency_s"].(float64); !ok || v <= 0 || v < ttft {
			t.Errorf("latency %v, TTFT %v", a["latency_s"], a["ttft_s"])
		}
		delete(answers, last)
	}
	if len(answers) > 0 {
		t.Errorf("no request has these answers: %v", answers)
	}
	if n := len(rows("judgments")); n == 0 {
		t.Error("no judgments")
	}
	if n := len(rows("samples")); n == 0 {
		t.Error("no samples of devices")
	}

	var page []string
	for _, kind := range []string{"trials", "judgments", "attempts", "samples"} {
		var cols []results.FileColumn
		if err := json.Unmarshal([]byte(do("export", "--describe", "--json", "--rows", kind, store)), &cols); err != nil {
			t.Fatal(err)
		}
		page = []string{"| column | kind | unit | what it is |", "|---|---|---|---|"}
		for _, c := range cols {
			if c.Name == score.Answered { // the scores stand in docs/scores.md
				break
			}
			page = append(page, fmt.Sprintf("| `%s` | %s | %s | %s |", c.Name, c.Kind, c.Unit, strings.ReplaceAll(c.Help, "|", "\\|")))
		}
		inDocs(t, "export.md", page)
	}
	var cols []results.FileColumn
	if err := json.Unmarshal([]byte(do("export", "--describe", "--json", "--images", filepath.Join(t.TempDir(), "none"), store)), &cols); err != nil {
		t.Fatal(err)
	}
	for _, c := range cols {
		if c.Name == "images" {
			inDocs(t, "export.md", []string{fmt.Sprintf("| `%s` | %s | %s | %s |", c.Name, c.Kind, c.Unit, c.Help)})
			return
		}
	}
	t.Error("no column images")
}
