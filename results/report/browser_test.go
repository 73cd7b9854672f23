//go:build browser

package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assay/results"
	"assay/results/browser"
)

// These tests open reports in Chromium, which must be on the PATH:
//
//	go test -tags browser ./results/report/
//
// ASSAY_SCREENSHOTS names a folder that keeps what they saw.

// defaultReport is the page of the default run, as a person makes it.
var defaultReport = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "assay-report-")
	if err != nil {
		return "", err
	}
	bench, err := os.ReadFile(filepath.Join("..", "..", "bench.yaml"))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "bench.yaml"), bench, 0o644); err != nil {
		return "", err
	}
	for _, cmd := range []*exec.Cmd{exec.Command("go", "build", "-o", filepath.Join(dir, "assay"), "assay"), exec.Command(filepath.Join(dir, "assay"), "run")} {
		if cmd.Args[0] != "go" {
			cmd.Dir = dir
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
		}
	}
	found, err := filepath.Glob(filepath.Join(dir, ".assay", "*-report", "report.html"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("the default run left the reports %v (%v)", found, err)
	}
	return found[0], nil
})

// hostileReport is a page whose every text wants to be more than text.
func hostileReport(t *testing.T) string {
	t.Helper()
	bad := `<script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)></svg><a href="javascript:alert(4)">x</a><style>*{display:none}</style><iframe src="http://127.0.0.1:1/"></iframe>` + hostile
	sections, m := fixture(true)
	m.Title, m.Manifest.Name = bad, bad
	sections[0].Notes, sections[0].Warnings, sections[0].Intro = []string{bad}, []string{bad}, bad
	sections[0].Tables[0].Columns[1].Title, sections[0].Tables[0].Columns[1].Unit = bad[:80], bad[:30]
	sections[0].Tables[0].Rows[0][0].Text = strings.Repeat("W", 400)
	sections[0].Figures[0].Title, sections[0].Figures[0].Alt, sections[0].Figures[0].X.Title = bad, bad, bad
	sections[0].Figures[0].Series[0].Name = bad
	m.Examples[0].Question, m.Examples[0].Views[0].Output.Answer = bad, bad+" the heart is large "+strings.Repeat("x", 3000)
	m.Examples[0].Views[0].Judgments[0].Verdict = json.RawMessage(`{"quote":"<script>alert(1)</script>","verdict":"<b>correct</b>"}`)
	m.Examples[0].Views[0].Judgments[0].Reading = results.Reading{More: true, Fields: []results.Field{{Name: "<i>verdict</i>", Text: "<b>correct</b>"}},
		Quotes: []results.Quote{{Text: "<script>alert(1)</script>", Says: "<b>correct</b>"}}}
	var b bytes.Buffer
	if err := HTML(&b, sections, m); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hostile.html")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// oneColumn is a report whose first table has one column of numbers.
func oneColumn(t *testing.T) string {
	t.Helper()
	section := results.Section{Study: "one", Name: "one", Title: "Questions and answers (qa)", Headline: []results.Headline{{Table: "one-main", Column: "accuracy", Main: true}},
		Tables: []results.Table{{Name: "one-main", Title: "Accuracy", Columns: []results.Column{{Name: "model", Title: "Model"}, {Name: "accuracy", Title: "Accuracy", Unit: "%"}},
			Rows: [][]results.Cell{{{Text: "a"}, {Estimate: &results.Estimate{Value: new(50.), N: 4}}}}}}}
	var b bytes.Buffer
	if err := HTML(&b, []results.Section{section}, Meta{Title: "one"}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "one.html")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestInABrowser opens pages at three widths, light and dark, and in print: no
// text runs, nothing is fetched or refused, nothing overflows, and what a person
// needs who does not see the page is there.
func TestInABrowser(t *testing.T) {
	path, err := defaultReport()
	if err != nil {
		t.Fatal(err)
	}
	b := browser.Start(t)
	for name, path := range map[string]string{"default": path, "tables": filepath.Join(filepath.Dir(path), AllTables), "hostile": hostileReport(t)} {
		for _, l := range append(browser.Looks(), browser.Look{Width: 794, Height: 1123, Scheme: "dark", Media: "print"}) {
			b.Look(l)
			b.Open("about:blank")
			b.Open("file://" + path + map[bool]string{true: "#all"}[l.Media == "print"])
			b.Keep(fmt.Sprintf("first-%s-%v", name, l), false)
			b.See(name, l)
		}
	}
	// Who sees the first screen of a desk alone sees the answer in words and drawn, and what to
	// distrust, whole; and the table, which is not cut.
	for _, l := range []browser.Look{{Width: 1440, Height: 900, Scheme: "light"}, {Width: 1280, Height: 800, Scheme: "light"}} {
		b.Look(l)
		b.Open("about:blank")
		b.Open("file://" + path)
		below := browser.Eval[[]string](b, `[['#answer .says', 1], ['#answer figure', 1], ['#answer .worst', 1], ['#answer .wide', 0.3]].filter(([s, part]) => {
const e = document.querySelector(s), r = e.getBoundingClientRect(); return r.top + part * r.height > innerHeight || e.scrollWidth > e.clientWidth; }).map(([s]) => s)`)
		if len(below) > 0 {
			t.Errorf("%v: the first screen does not hold %v", l, below)
		}
	}
	// Nor is the table cut at the width of a small desk, and a table of one column is no wider than what is in it.
	b.Look(browser.Look{Width: 1024, Height: 768, Scheme: "light"})
	for what, path := range map[string]string{"default": path, "one column": oneColumn(t)} {
		b.Open("file://" + path)
		if cut := browser.Eval[int](b, "(e => e.scrollWidth - e.clientWidth)(document.querySelector('#answer .wide'))"); cut > 0 {
			t.Errorf("%s: %d px of the first table are cut at 1,024 px", what, cut)
		}
		if wider := browser.Eval[int](b, "(e => { const w = e.offsetWidth; e.style.width = 'auto'; return w - e.offsetWidth })(document.querySelector('#answer table'))"); wider > 0 {
			t.Errorf("%s: the first table is %d px wider than what is in it", what, wider)
		}
	}
	// Everything at once, and how much paper it takes.
	b.Look(browser.Look{Width: 1440, Height: 900, Scheme: "light"})
	b.Open("file://" + path)
	tables := browser.Eval[int](b, "[...document.querySelectorAll('table')].filter(t => t.checkVisibility({contentVisibilityAuto: true})).length")
	height := browser.Eval[int](b, "document.documentElement.scrollHeight")
	summary := b.Pages()
	b.Open("about:blank")
	b.Open("file://" + path + "#all")
	all := browser.Eval[int](b, "document.querySelectorAll('table').length")
	whole := browser.Eval[int](b, "document.documentElement.scrollHeight")
	pages := b.Pages()
	t.Logf("default run: %d tables unfolded of %d; %.1f screens of 900 px, %.1f unfolded; printed: %d pages, %d unfolded", tables, all, float64(height)/900, float64(whole)/900, summary, pages)
	if summary > 2 || tables > 8 || height > 12*900 {
		t.Errorf("the summary of the default run: %d pages, %d tables unfolded, %d px", summary, tables, height)
	}
	b.Open("file://" + filepath.Join(filepath.Dir(path), AllTables))
	if other := b.Pages(); other < 3 {
		t.Errorf("the page of all tables is printed on %d pages", other)
	}
	if pages < 10 || whole < 2*height {
		t.Errorf("unfolded: %d pages, %d px; folded %d px", pages, whole, height)
	}
	b.Fine()
}

// TestImagesForTheReadme takes the pictures of docs/images; .ci/screenshots
// names the folder. Each begins where at is, an expression of JavaScript for an
// element; "": at the top.
func TestImagesForTheReadme(t *testing.T) {
	dir := os.Getenv("ASSAY_IMAGES")
	if dir == "" {
		dir = t.TempDir()
	}
	path, err := defaultReport()
	if err != nil {
		t.Fatal(err)
	}
	b := browser.Start(t)
	id := func(name string) string { return fmt.Sprintf("document.getElementById(%q)", name) }
	for _, shot := range []struct {
		name string
		browser.Look
		at string
	}{
		{"report", browser.Look{Width: 1440, Height: 900, Scheme: "light"}, ""},
		{"report-study", browser.Look{Width: 1280, Height: 900, Scheme: "light"}, id("h-cot")},
		{"report-conditions", browser.Look{Width: 760, Height: 820, Scheme: "dark"}, id("f-faithfulness-flips")},
		{"report-example", browser.Look{Width: 1280, Height: 900, Scheme: "light"}, "[...document.querySelectorAll('.example')].find(e => [...e.querySelectorAll('.view')].every(v => v.querySelectorAll('img').length === 1) && e.querySelector('.view:last-child mark'))"},
		{"report-phone", browser.Look{Width: 390, Height: 844, Scheme: "dark"}, ""},
	} {
		b.Look(shot.Look)
		b.Open("file://" + path)
		if shot.at != "" {
			if !browser.Eval[bool](b, "(() => { const e = "+shot.at+"; for (let d = e; d; d = d.parentElement) if (d.tagName === 'DETAILS') d.open = true; if (e) scrollTo(0, e.getBoundingClientRect().top + scrollY - 16); return !!e; })()") {
				t.Errorf("%s: the page does not have what it shows", shot.name)
				continue
			}
		}
		b.Image(filepath.Join(dir, shot.name+".png"))
	}
}
