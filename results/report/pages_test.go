package report

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/results"
)

// twoPages is a run whose studies call some tables and figures main.
func twoPages() ([]results.Section, Meta) {
	sections, m := answered()
	sections[0].Main = []string{"main", "energy", "latency-accuracy"}
	sections[1].Notes, sections[1].Warnings = []string{"a note on more"}, []string{"a caveat of more"}
	table := func(name string) results.Table {
		return results.Table{Name: name, Title: name, Columns: []results.Column{{Name: "model", Title: "Model"}, {Name: "n", Title: "N"}}, Rows: [][]results.Cell{{words("m"), count(1, 1)}, {words("k"), count(2, 1)}}}
	}
	return append(sections,
		results.Section{Study: "cot", Name: "empty", Title: "An empty section", Intro: "Nothing.", Warnings: []string{"what is missing"}},
		results.Section{Study: "cot", Name: "other", Title: "Other", Tables: []results.Table{table("other")}, Notes: []string{"what other says"}},
		results.Section{Study: "cot", Name: "shared", Title: "Shared", Tables: []results.Table{table("shared"), table("behind")}, Main: []string{"shared"}},
		results.Section{Study: "own", Name: "own", Title: "A study that declares nothing", Tables: []results.Table{table("own")}},
		results.Section{Study: "own", Name: "own-more", Title: "More of it", Tables: []results.Table{table("own-more")}, Main: []string{"own-more"}},
	), m
}

// tablesOf are the names of a page's tables.
func tablesOf(page string) (out []string) {
	for _, t := range regexp.MustCompile(`<(?:table|p class="none") id="t-([^"]+)"`).FindAllStringSubmatch(page, -1) {
		out = append(out, t[1])
	}
	slices.Sort(out)
	return out
}

// TestTwoPages: the first page shows what is main, the other one everything; sections without
// table or figure are on neither, though what they say is; every link leads to what it names.
func TestTwoPages(t *testing.T) {
	sections, m := twoPages()
	dir := t.TempDir()
	if err := Write(dir, sections, m); err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, name := range []string{Page, AllTables} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = string(b)
		if strings.Contains(string(b), "An empty section") {
			t.Errorf("%s prints a section without table or figure", name)
		}
	}
	if got, want := tablesOf(pages[Page]), []string{"energy", "headline", "main", "methods-models", "own", "own-more", "shared"}; !slices.Equal(got, want) {
		t.Errorf("the first page has the tables %v, want %v", got, want)
	}
	var all []string
	for _, s := range append(sections, section(m.Run, true, sections...)) {
		for _, table := range s.Tables {
			all = append(all, table.Name)
		}
	}
	slices.Sort(all)
	if got := tablesOf(pages[AllTables]); !slices.Equal(got, all) {
		t.Errorf("the page of all tables has %v, want %v", got, all)
	}
	if strings.Contains(pages[Page], `id="f-nothing"`) || !strings.Contains(pages[Page], `id="f-latency-accuracy"`) || !strings.Contains(pages[AllTables], `id="f-nothing"`) {
		t.Error("the figures are not where they belong")
	}
	for _, want := range []string{"a note on more", "a caveat of more", "what is missing", `href="tables.html#s-other"`} {
		if !strings.Contains(pages[Page], want) {
			t.Errorf("the first page lacks %s", want)
		}
	}
	links := 0
	for name, page := range pages {
		for _, l := range regexp.MustCompile(` href="([^"#]*)(?:#([^"]*))?"`).FindAllStringSubmatch(page, -1) {
			to := name
			if l[1] != "" {
				to = l[1]
				links++
			}
			if pages[to] == "" || l[2] != "" && !strings.Contains(pages[to], ` id="`+l[2]+`"`) {
				t.Errorf("%s: the link to %s#%s leads nowhere", name, l[1], l[2])
			}
		}
	}
	if links < 4 {
		t.Errorf("%d links between the pages", links)
	}
	// Where the first page has everything, there is no other one, and none is left.
	for i := range sections {
		sections[i].Main = nil
	}
	if err := Write(dir, sections, m); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, AllTables)); !os.IsNotExist(err) {
		t.Errorf("the page of all tables is left: %v", err)
	}
	var b bytes.Buffer
	if err := HTML(&b, sections, m); err != nil || strings.Contains(b.String(), AllTables) {
		t.Errorf("the page leads to one that is not there (%v)", err)
	}
}
