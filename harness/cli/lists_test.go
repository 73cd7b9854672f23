package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/backends/kinds"
	"assay/harness/experiment"
	"assay/harness/study"
	"assay/perturb"
)

// inDocs says that a page of docs lacks a table, and what it should be.
func inDocs(t *testing.T, page string, table []string) {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Join(table, "\n") + "\n"; !strings.Contains(string(doc), "\n"+want+"\n") {
		t.Errorf("docs/%s lacks, with nothing more in it:\n%s", page, want)
	}
}

// TestKindsOfServersAreDocumented: docs/your-server.md has the table of kinds.
func TestKindsOfServersAreDocumented(t *testing.T) {
	lines := []string{"| kind | server | `assay init` asks at | reads | context set by | for timed studies start it with |", "|---|---|---|---|---|---|"}
	for _, k := range kinds.All() {
		if k.Phantom || k.Imported {
			continue
		}
		reads, context, flags := "PNG, JPEG", "", []string{}
		if k.ReadsWebP {
			reads += ", WebP"
		}
		if k.ContextOption != "" {
			context = "`options: {" + k.ContextOption + ": N}`"
		}
		if k.Start != nil {
			for _, a := range k.Start(nil, func(string) string { return "" }, true) {
				flags = append(flags, "`"+a.Flag+"`")
			}
		}
		lines = append(lines, fmt.Sprintf("| `%s` | %s | `%s` | %s | %s | %s |", k.Name, k.Called, k.URL, reads, context, strings.Join(flags, " ")))
	}
	inDocs(t, "your-server.md", lines)
}

// TestListedOpsAreTheTable: what perturb --list prints has every op and parameter.
func TestListedOpsAreTheTable(t *testing.T) {
	code, out, errs := assayHere(t, "perturb", "--list", "--json")
	var listed struct {
		Conditions []struct{ Study, Condition, Does string }
		Ops        []perturb.Spec
	}
	err := json.Unmarshal([]byte(out), &listed)
	got := listed.Ops
	if code != 0 || err != nil || len(got) != len(perturb.Ops()) {
		t.Fatalf("exit code %d, %v, %d ops\n%s%s", code, err, len(got), out, errs)
	}
	code, text, errs := assayHere(t, "perturb", "--list")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	for _, d := range append(experiment.All(), study.Study{Name: "any", Changes: study.AnyConditions()}) {
		for _, c := range d.Changes {
			if n := len(listed.Conditions); n == 0 || listed.Conditions[0].Condition != c.Name || listed.Conditions[0].Study != d.Name || listed.Conditions[0].Does == "" {
				t.Fatalf("%s of %s is missing, out of order or without words", c.Name, d.Name)
			}
			listed.Conditions = listed.Conditions[1:]
			if !strings.Contains(text, "│ "+c.Name+" ") || !strings.Contains(text, "│ "+c.Does+" ") {
				t.Errorf("%s is not in\n%s", c.Name, text)
			}
		}
	}
	for i, op := range perturb.Ops() {
		if got[i].Name != op.Name || len(got[i].Params) != len(op.Params) {
			t.Errorf("%+v, want %+v", got[i], op)
		}
		if !strings.Contains(text, "│ "+op.Name+" ") {
			t.Errorf("%s is not in\n%s", op.Name, text)
		}
		for _, p := range op.Params {
			if !strings.Contains(text, "│ "+p.Name+" ") || !strings.Contains(text, p.Range()) {
				t.Errorf("%s of %s is not in\n%s", p.Name, op.Name, text)
			}
		}
	}
	if code, _, errs := assayHere(t, "perturb", "--list", "picture.png"); code != 2 {
		t.Errorf("exit code %d, %s", code, errs)
	}
}
