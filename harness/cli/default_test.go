package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/harness/cli"
)

// defaultRun is the default experiment with few items: its folder, and what run printed.
var defaultRun = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "assay-default-")
	if err != nil {
		return "", err
	}
	madeDefault = dir
	bench, err := os.ReadFile(filepath.Join("..", "..", "bench.yaml"))
	if err != nil {
		return "", err
	}
	bench = []byte(strings.NewReplacer("items: 48, size: 512", "items: 6, size: 256", "items: 24, images: 3, size: 256", "items: 4, images: 3, size: 256", "per_type: 12", "per_type: 2").Replace(string(bench)))
	if err := os.WriteFile(filepath.Join(dir, "bench.yaml"), bench, 0o600); err != nil {
		return "", err
	}
	var out, errs bytes.Buffer
	if code := cli.Main(context.Background(), []string{"assay", "run", "-c", filepath.Join(dir, "bench.yaml")}, strings.NewReader(""), &out, &errs); code != 0 {
		return "", fmt.Errorf("exit code %d: %s", code, errs.String())
	}
	return dir, os.WriteFile(filepath.Join(dir, "printed"), out.Bytes(), 0o600)
})

// A run ends with at most 40 lines: which model, at what cost, the first caveats, where the
// report is and how to see more; assay report prints the same.
func TestTheDefaultRunEndsInBrief(t *testing.T) {
	t.Parallel()
	dir, err := defaultRun()
	if err != nil {
		t.Fatal(err)
	}
	printed, err := os.ReadFile(filepath.Join(dir, "printed"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(printed, []byte("\n")); n > 40 || n < 20 {
		t.Errorf("%d lines", n)
	}
	for _, want := range []string{"Which model, how sure, at what cost", "\nhonest ", "> cot, accuracy CoT: ", "\nFirst caveats (3 of ", "phantom-tour-report/report.html\n", "assay report --table NAME"} {
		if !bytes.Contains(printed, []byte(want)) {
			t.Errorf("no %q in\n%s", want, printed)
		}
	}
	code, out, errs := assayHere(t, "report", "-c", filepath.Join(dir, "bench.yaml"))
	if code != 0 || out != string(printed) {
		t.Errorf("assay report (exit code %d, %s) prints\n%s\nand assay run\n%s", code, errs, out, printed)
	}
}

// The default page has at most 25 tables and 8 figures; every table and figure is on one of the
// report's two pages, and every link leads somewhere.
func TestTheDefaultPageIsShort(t *testing.T) {
	t.Parallel()
	dir, err := defaultRun()
	if err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(dir, ".assay", "phantom-tour-report")
	pages := map[string]string{}
	for _, name := range []string{"report.html", "tables.html", "report.json"} {
		b, err := os.ReadFile(filepath.Join(report, name))
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = string(b)
	}
	var all struct {
		Sections []struct {
			Name            string
			Tables, Figures []struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(pages["report.json"]), &all); err != nil {
		t.Fatal(err)
	}
	delete(pages, "report.json")
	first := pages["report.html"]
	tables, figures := strings.Count(first, "<table "), strings.Count(first, `<figure id="f-`)
	if tables > 25 || tables < 15 || figures > 8 || figures < 4 {
		t.Errorf("the page has %d tables and %d figures; want at most 25 and 8, and the main ones of each study", tables, figures)
	}
	whole := 0
	for _, s := range all.Sections {
		for kind, list := range map[string][]struct{ Name string }{"t": s.Tables, "f": s.Figures} {
			for _, of := range list {
				whole++
				if !strings.Contains(pages["tables.html"], ` id="`+kind+"-"+of.Name+`"`) {
					t.Errorf("%s is not on the page of all tables", of.Name)
				}
			}
		}
		for name, page := range pages {
			if len(s.Tables)+len(s.Figures) == 0 && strings.Contains(page, ` id="s-`+s.Name+`"`) {
				t.Errorf("%s has section %s, without table or figure", name, s.Name)
			}
		}
	}
	if whole < 60 {
		t.Errorf("the run has %d tables and figures", whole)
	}
	for _, s := range []string{"cot", "diagnosis", "faithfulness"} { // each study's first table and its prices
		for _, want := range []string{`id="s-` + s + `"`, `id="t-` + s + `-pairs"`, `id="t-` + s + `-cost"`} {
			if !strings.Contains(first, want) {
				t.Errorf("the first page lacks %s", want)
			}
		}
	}
	links := regexp.MustCompile(` href="([^"#]*)(?:#([^"]*))?"`)
	for name, page := range pages {
		found := links.FindAllStringSubmatch(page, -1)
		if !slices.ContainsFunc(found, func(l []string) bool { return l[1] != "" }) {
			t.Errorf("%s does not lead to the other page", name)
		}
		for _, l := range found {
			to := name
			if l[1] != "" {
				to = l[1]
			}
			if pages[to] == "" || l[2] != "" && !strings.Contains(pages[to], ` id="`+l[2]+`"`) {
				t.Errorf("%s: the link to %s#%s leads nowhere", name, l[1], l[2])
			}
		}
	}
}
