package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html"
	"image"
	"image/png"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/backends"
	"assay/results"
)

var update = flag.Bool("update", false, "write the golden files anew")

func ptr[T any](v T) *T { return &v }

func est(v, low, high float64, n int) results.Cell {
	return results.Cell{Estimate: &results.Estimate{Value: &v, Low: &low, High: &high, N: n}}
}

func count(v float64, n int) results.Cell {
	return results.Cell{Estimate: &results.Estimate{Value: &v, N: n}}
}

func none(why string, n, undefined, invalid int) results.Cell {
	return results.Cell{Estimate: &results.Estimate{Why: why, N: n, Undefined: undefined, Invalid: invalid}}
}

func words(s string) results.Cell { return results.Cell{Text: s} }

// hostile is text that would run, reorder, link or break tables if it could.
const hostile = "<script>alert(1)</script> | \u202egnp.exe \x1b[31mred\x07 [x](javascript:alert(1)) =1+2 \u200b`code` https://evil.example &amp; \xff <!-- line1\nline2"

func fixture(synthetic bool) ([]results.Section, Meta) {
	percent := func(name, title string) results.Column {
		return results.Column{Name: name, Title: title, Unit: "%", Digits: 2, Help: "what " + title + " is"}
	}
	wide := results.Table{Name: "main", Title: "Main scores", Columns: []results.Column{{Name: "model", Title: "Model"}, percent("f1", "F1"), percent("precision", "P"),
		percent("recall", "R"), percent("accuracy_direct", "Acc direct"), percent("accuracy_cot", "Acc CoT"), {Name: "impact", Title: "I", Unit: "points", Digits: 2},
		{Name: "efficiency", Title: "E", Unit: "steps/s", Digits: 4, Significant: true}, {Name: "tokens", Title: "Tokens per correct step", Unit: "tokens", Digits: 4, Significant: true}}}
	for i, m := range []string{"honest", "silent-sycophant", "a-model-with-quite-a-long-name-7b-q4_K_M"} {
		f := float64(i)
		wide.Rows = append(wide.Rows, []results.Cell{words(m), est(65.625-f, 60.1, 70.25, 48), est(80, 75.5, 84.125, 48), est(70+f, 65, 75, 46+i),
			est(50, 35.42, 64.58, 48), est(54.1666667, 39.58, 68.75, 48), est(-4.1666667, -12.5, 4.1666667, 48), est(0.00421449, 0.0039, 0.00451234, 48), est(123.456, 99.99999, 150, 48)})
	}
	wide.Rows[2][3] = none("no usable verdict", 0, 1, 47)
	wide.Rows[2][7] = none("the denominator is 0", 0, 0, 0)
	wide.Rows[1][8] = results.Cell{Estimate: &results.Estimate{Value: ptr(12.0), N: 1, Why: "no interval: fewer than two cases"}}
	narrow := results.Table{Name: "impact", Title: "Impact", Caption: "One row per model.", Notes: []string{"A note on the table."}, Columns: []results.Column{{Name: "model", Title: "Model"},
		percent("accuracy", "Accuracy"), {Name: "impact", Title: "I", Unit: "points", Digits: 2}, {Name: "only", Title: "Only CoT right", Help: "items"}}}
	narrow.Rows = [][]results.Cell{
		{words("honest"), {Estimate: &results.Estimate{Value: ptr(95.8333333), Low: ptr(90.0), High: ptr(100.0), N: 46, Undefined: 1, Invalid: 1}}, {Estimate: &results.Estimate{Value: ptr(0.0), Low: ptr(-2.0), High: ptr(2.0), N: 46, Invalid: 2}}, count(3, 46)},
		{words(hostile), est(12.5, 0, 25, 8), none("arm cot was not run", 8, 0, 0), count(0, 8)},
	}
	plain := results.Table{Name: "left-out", Title: "Left out", Columns: []results.Column{{Name: "what", Title: "What"}, {Name: "why", Title: "Why"}},
		Rows: [][]results.Cell{{words("item 17"), words(strings.Repeat("a long reason with many words ", 6))}, {words("=HYPERLINK(\"http://x\")"), words("")}}}
	empty := results.Table{Name: "empty", Title: "Nothing here", Columns: []results.Column{{Name: "model", Title: "Model"}}}
	m := Meta{Title: "phantom tour", Run: results.Run{Manifest: results.Manifest{Name: "phantom-tour", Created: time.Date(2026, 3, 2, 1, 0, 0, 0, time.UTC), Seed: 7, Digest: results.DigestOf([]byte("c")),
		Settings: map[string]string{"seed": "7", "rules": "paper", "studies.cot.dataset": "chest", "studies.cot.sampling.temperature": "0.1", "studies.cot.sampling.max_tokens": "512", "studies.cot.sampling.seed": "1", "models.honest.think": "the model's own"},
		Version:  "0.1.0", Revision: "abcdef", Host: map[string]string{"cpu": "a CPU", "cores": "2"},
		Datasets: []results.DatasetInfo{{Name: "chest", Kind: "phantom", Items: 48, Digest: results.DigestOf([]byte("d"))}},
		Models:   map[string]backends.Identity{"honest": {Server: "ollama", Version: "0.9.6", Model: "honest", Digest: "sha256:0123456789abcdef", Quantisation: "Q4_K_M", Parameters: "4.3B", Synthetic: synthetic}},
		Judges:   map[string]string{"lexical": "rules, offline"}, Prompts: map[string]results.Digest{"direct": results.DigestOf([]byte("p"))},
		Rubrics: map[string]map[string][]string{"cot": {"accuracy": {"lexical", "local"}, "recall": {"lexical"}}}}}}
	m.Versions = []results.Version{{Rubric: "accuracy", Judge: "lexical", Current: true, Judgments: 96}, {Rubric: "recall", Judge: "lexical", Current: true, Judgments: 48}}
	// The real run is not at its end.
	m.Extents = []results.Extent{{Study: "cot", Model: "honest", Planned: ptr(12), Answers: 3, Failures: 1, Items: 2, Timed: 3, Unverified: 3}}
	if synthetic {
		m.Manifest.Synthetic = []string{"phantom cases", "phantom readers"}
		m.Extents[0] = results.Extent{Study: "cot", Model: "honest", Planned: ptr(12), Answers: 12, Items: 6, Timed: 12, Proven: 12}
	}
	m.Examples = []Example{{Study: "cot", Model: "honest", Item: "case-00001", Question: "What is it?\nA: one", Gold: "A", Why: "The first case whose answers differ.", Views: []View{
		{Key: results.Key{Study: "cot", Model: "honest", Item: "case-00001", Arm: "cot", Condition: "baseline"}, Pictures: []Picture{{MIME: "image/png", Bytes: onePixel, Width: 320, Height: 300, Sent: "512 x 480 pixels"}},
			Output: &results.Output{Answer: "Step one: the heart is large.\n" + hostile + "\nAnswer: A", Reasoning: "thinking"},
			Judgments: []Judged{{Judgment: results.Judgment{Rubric: "precision", Judge: "lexical", Status: results.StatusClean, Verdict: json.RawMessage(`{"steps":[{"text":"the heart is large","type":"feature","judgment":"match"}]}`)},
				Reading: results.Reading{More: true, Fields: []results.Field{{Name: "match", Text: "1"}}, Quotes: []results.Quote{{Text: "the heart is large", Says: "match, feature"}}}},
				{Judgment: results.Judgment{Rubric: "accuracy", Judge: "local", Status: results.StatusParse, Detail: "not JSON: " + hostile}}}},
		{Key: results.Key{Study: "cot", Model: "honest", Item: "case-00001", Arm: "direct", Condition: "baseline"}, NoPicture: "The image is not shown: the data set has changed.", Failure: &results.Failure{Kind: "stall", Message: hostile}}}}}
	return []results.Section{
		{Name: "cot", Title: "Step-by-step reasoning", Figures: figures(), Warnings: []string{"silent: 3 of 48 trials failed.", hostile}, Intro: "Every question is asked twice: for the answer only and for all steps. Intervals are 95 % bootstrap intervals over items.",
			Tables: []results.Table{wide}, Notes: []string{"honest: reasoning step by step does not clearly change accuracy.", "1. " + hostile}},
		{Name: "more", Title: "More", Tables: []results.Table{narrow, plain, empty}},
	}, m
}

// onePixel is a PNG.
var onePixel = func() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err)
	}
	return b.Bytes()
}()

func figures() []results.Figure {
	point := func(label string, x, y float64) results.Point {
		return results.Point{Label: label, X: est(x, x*0.9, x*1.1, 48).Estimate, Y: est(y, y-10, y+8, 48).Estimate}
	}
	return []results.Figure{
		{Name: "latency-accuracy", Kind: results.FigureScatter, Title: "Accuracy against latency", Caption: "One point per model and arm.", Alt: "honest: 50 % in 0.02 s, 54 % in 0.1 s.",
			X: results.Axis{Title: "Latency", Unit: "s", Log: true}, Y: results.Axis{Title: "Accuracy", Unit: "%", Low: ptr(0.0), High: ptr(100.0)},
			Series: []results.Series{{Name: "honest", Points: []results.Point{point("direct", 0.02, 50), point("cot", 0.1, 54), {Label: "other", X: &results.Estimate{Why: "no time"}}}}, {Name: hostile, Points: []results.Point{point("cot", 0.3, 80)}}}},
		{Name: "nothing", Kind: results.FigureDots, Title: "Nothing yet", Alt: "No values.", X: results.Axis{Title: "Accuracy", Unit: "%"}},
	}
}

// renderers by golden file.
func renderers() map[string]func(io.Writer, []results.Section, Meta) error {
	terminal := func(width int) func(io.Writer, []results.Section, Meta) error {
		return func(w io.Writer, s []results.Section, m Meta) error { return Terminal(w, s, m, width) }
	}
	return map[string]func(io.Writer, []results.Section, Meta) error{
		"report.md": markdown, "report.html": HTML, AllTables: allTables, "report.json": JSON, "report-80.txt": terminal(80), "report-120.txt": terminal(120), "report-400.txt": terminal(400),
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from its golden file; if that is meant: go test ./results/report -update\n%s", name, firstDifference(got, want))
	}
}

func firstDifference(got, want []byte) string {
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d\ngot  %q\nwant %q", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

func TestGolden(t *testing.T) {
	for _, synthetic := range []bool{true, false} {
		dir := map[bool]string{true: "synthetic", false: "real"}[synthetic]
		sections, m := fixture(synthetic)
		for name, render := range renderers() {
			if !synthetic && name != "report.md" && name != "report.html" {
				continue
			}
			var b, again bytes.Buffer
			if err := render(&b, sections, m); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join(dir, name), b.Bytes())
			if err := render(&again, sections, m); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
				t.Errorf("%s: a second time, other bytes (%v)", name, err)
			}
		}
		if synthetic {
			for _, s := range sections {
				for _, table := range s.Tables {
					for end, render := range map[string]func(io.Writer, results.Table, Meta) error{".csv": writeCSV, ".tex": LaTeX} {
						var b bytes.Buffer
						if err := render(&b, table, m); err != nil {
							t.Fatal(err)
						}
						golden(t, filepath.Join(dir, table.Name+end), b.Bytes())
					}
				}
			}
			var b bytes.Buffer
			if err := latexMethods(&b, m); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join(dir, "methods.tex"), b.Bytes())
		}
	}
}

// TestWrite: everything is there, and the same input gives the same bytes.
func TestWrite(t *testing.T) {
	sections, m := fixture(true)
	dir := t.TempDir()
	read := func() map[string]string {
		if err := Write(dir, sections, m); err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			name, _ := filepath.Rel(dir, path)
			all[filepath.ToSlash(name)] = string(b)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	first := read()
	dir = t.TempDir()
	second := read()
	for _, want := range []string{"report.html", "report.md", "report.json", "tables/main.csv", "tables/main.tex", "tables/left-out.csv", "tables/methods-settings.csv", "tables/methods.tex",
		"figures/latency-accuracy.svg", "figures/latency-accuracy.pdf"} {
		if first[want] == "" {
			t.Errorf("%s was not written", want)
		}
	}
	if _, ok := first["figures/nothing.svg"]; ok {
		t.Error("a figure without anything in it was written")
	}
	for name, text := range first {
		if strings.HasSuffix(name, ".csv") && !strings.HasSuffix(text, ",true\n") && strings.Count(text, "\n") > 1 || strings.HasSuffix(name, ".tex") && strings.Contains(text, `\caption`) && !strings.Contains(text, "SYNTHETIC") {
			t.Errorf("%s: no mark that it is synthetic: %s", name, text)
		}
		if second[name] != text {
			t.Errorf("%s: a second time, other bytes", name)
		}
	}
	if len(first) != len(second) || len(first) != 3+2*(4+3)+1+2 {
		t.Errorf("%d files and then %d", len(first), len(second))
	}
	// What says the same stays, but where others could read it; what does not is replaced.
	page, table := filepath.Join(dir, "report.html"), filepath.Join(dir, "tables", "main.csv")
	for path, how := range map[string]func() error{
		page:                              func() error { return nil },
		table:                             func() error { return os.WriteFile(table, []byte(strings.ToUpper(first["tables/main.csv"])), 0o600) },
		filepath.Join(dir, "report.md"):   func() error { return os.Chmod(filepath.Join(dir, "report.md"), 0o644) },
		filepath.Join(dir, "report.json"): func() error { return os.Truncate(filepath.Join(dir, "report.json"), 3) },
	} {
		old, err := os.Lstat(path)
		if err = errors.Join(err, how()); err != nil {
			t.Fatal(err)
		}
		again := read()
		now, err := os.Lstat(path)
		if err != nil || os.SameFile(old, now) != (path == page) || runtime.GOOS != "windows" && now.Mode() != 0o600 {
			t.Errorf("%s: %v, %v of %v, %v", path, err, now.Mode(), old.Mode(), os.SameFile(old, now))
		}
		if name, _ := filepath.Rel(dir, path); again[filepath.ToSlash(name)] != first[filepath.ToSlash(name)] {
			t.Errorf("%s has other bytes", path)
		}
	}
	// Of figures that are not asked for no older file is left.
	for types, want := range map[string]int{"pdf": 2, "svg": 1, "svg,pdf": 2} {
		m.Figures = strings.Split(types, ",")
		var left []string
		for name, text := range read() {
			if first[name] != text {
				t.Errorf("%s of %s: other bytes", name, types)
			}
			if strings.HasPrefix(name, "figures/") {
				left = append(left, strings.TrimPrefix(filepath.Ext(name), "."))
			}
		}
		if len(left) != want || !slices.Contains(left, "svg") || slices.ContainsFunc(left, func(t string) bool { return t != "svg" && !strings.Contains(types, t) }) {
			t.Errorf("%s asked for: figures of %v", types, left)
		}
	}
}

// TestSyntheticIsMarked: the banner once, and a mark on every table of results
// in every format; none of it when results are real.
func TestSyntheticIsMarked(t *testing.T) {
	for _, synthetic := range []bool{true, false} {
		sections, m := fixture(synthetic)
		tables, figures := 0, 0
		for _, s := range sections {
			tables += len(s.Tables)
			figures += len(s.Figures)
		}
		for name, render := range renderers() {
			var b bytes.Buffer
			if err := render(&b, sections, m); err != nil {
				t.Fatal(err)
			}
			marks, banners := strings.Count(b.String(), "SYNTHETIC"), strings.Count(b.String(), "Synthetic results: phantom cases; phantom readers.")
			if strings.HasSuffix(name, ".html") { // where what matters of it stands out
				banners = strings.Count(b.String(), "<b>Synthetic results. They test the instrument and say nothing of any real model.</b> <small>phantom cases; phantom readers.</small>")
			}
			if name == "report.json" {
				var got struct {
					Synthetic []string
					Sections  []struct{ Tables, Figures []struct{ Synthetic bool } }
				}
				if err := json.Unmarshal(b.Bytes(), &got); err != nil {
					t.Fatal(err)
				}
				marks, banners = 0, len(got.Synthetic)/2
				for _, s := range got.Sections {
					for _, x := range append(s.Tables, s.Figures...) {
						if x.Synthetic {
							marks++
						}
					}
				}
			}
			wantMarks, wantBanners := tables, 1
			switch name { // a terminal shows neither figures nor examples
			case "report.html", "report.md":
				wantMarks += figures + len(m.Examples)
			case "report.json", AllTables:
				wantMarks += figures
			}
			if !synthetic {
				wantMarks, wantBanners = 0, 0
			}
			if marks != wantMarks || banners != wantBanners {
				t.Errorf("synthetic %v, %s: %d marks and %d banners, want %d and %d", synthetic, name, marks, banners, wantMarks, wantBanners)
			}
		}
		for _, s := range sections {
			for _, table := range s.Tables {
				var b bytes.Buffer
				if err := writeCSV(&b, table, m); err != nil {
					t.Fatal(err)
				}
				rows, err := csv.NewReader(&b).ReadAll()
				if err != nil {
					t.Fatal(err)
				}
				for i, row := range rows {
					want := fmt.Sprint(synthetic)
					if i == 0 {
						want = "synthetic"
					}
					if got := row[len(row)-1]; got != want {
						t.Errorf("%s, row %d: the last column is %q, want %q", table.Name, i, got, want)
					}
				}
			}
		}
	}
}

// TestWidth: at any width from 40 on, no line is wider, and no value is lost.
func TestWidth(t *testing.T) {
	sections, m := fixture(true)
	for width := 40; width <= 200; width++ {
		var b bytes.Buffer
		if err := Terminal(&b, sections, m, width); err != nil {
			t.Fatal(err)
		}
		for i, l := range strings.Split(b.String(), "\n") {
			if wide(l) > width {
				t.Fatalf("width %d: line %d is %d wide: %q", width, i+1, wide(l), l)
			}
		}
		for _, v := range []string{"66", "[60, 70]", "-4", "0.00421", "[0.00390, 0.00451]", "123", "96", "n=0/48", "46/48"} {
			if !strings.Contains(b.String(), v) {
				t.Fatalf("width %d: %s is missing", width, v)
			}
		}
	}
}

// TestHostileTextIsInert: in no format does text from outside keep its power.
func TestHostileTextIsInert(t *testing.T) {
	sections, m := fixture(false)
	m.Title, m.Manifest.Name, m.Manifest.Synthetic = hostile, hostile, []string{hostile}
	m.Manifest.Settings[hostile], m.Manifest.Judges[hostile], m.Manifest.Host[hostile] = hostile, hostile, hostile
	sections[0].Title, sections[0].Intro = hostile, hostile
	for i := range sections[0].Tables[0].Columns {
		c := &sections[0].Tables[0].Columns[i]
		c.Title, c.Unit, c.Help = hostile, hostile, hostile
	}
	sections[1].Tables[0].Rows[1][2].Estimate.Why = hostile
	for name, render := range renderers() {
		var b bytes.Buffer
		if err := render(&b, sections, m); err != nil {
			t.Fatal(err)
		}
		out := b.String()
		written := out
		if name != "report.json" { // JSON's readers get the text as it is
			for _, r := range out {
				if r == '\u202e' || r == '\u200b' || r < ' ' && r != '\n' || r == '\ufffd' {
					t.Errorf("%s: %U came through", name, r)
					break
				}
			}
			if out = html.UnescapeString(out); !strings.Contains(out, "U+202E") || !strings.Contains(out, "0xFF") {
				t.Errorf("%s: hidden characters are not shown", name)
			}
		}
		switch name {
		case "report.html", AllTables:
			written = strings.ReplaceAll(written, `href="`+Page+`"`, "")
			if strings.Contains(written, "<script") || strings.Contains(written, "<!--") || regexp.MustCompile(`<a [^>]*href="[^#]`).MatchString(written) || strings.Contains(written, `style="`) {
				t.Error("HTML: text became markup")
			}
		case "report.md":
			for _, bad := range []string{"<script", "[x](", "`code", "://", "<!--"} {
				if strings.Contains(strings.ReplaceAll(written, `\`+bad[:1], ""), bad) {
					t.Errorf("Markdown: %s came through", bad)
				}
			}
			for i, l := range strings.Split(out, "\n") {
				if strings.HasPrefix(l, "| honest") && strings.Count(strings.ReplaceAll(l, `\|`, ""), "|") < 5 {
					t.Errorf("Markdown: line %d is a broken row: %s", i+1, l)
				}
			}
		}
	}
	var b bytes.Buffer
	if err := writeCSV(&b, sections[1].Tables[1], m); err != nil || !bytes.Contains(b.Bytes(), []byte("'=HYPERLINK")) {
		t.Errorf("CSV: a formula came through (%v): %s", err, b.String())
	}
}

// TestPageNeedsNothing: the policy forbids everything but the one style, whose
// digest it names, and the page holds nothing that the policy would stop.
func TestPageNeedsNothing(t *testing.T) {
	sections, m := fixture(true)
	var b bytes.Buffer
	if err := HTML(&b, sections, m); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindAllStringSubmatch(page, -1)
	if len(style) != 1 {
		t.Fatalf("%d styles", len(style))
	}
	sum := sha256.Sum256([]byte(style[0][1]))
	policy := "default-src &#39;none&#39;; style-src &#39;sha256-" + strings.ReplaceAll(base64.StdEncoding.EncodeToString(sum[:]), "+", "&#43;") + "&#39;; img-src data:; base-uri"
	if !strings.Contains(page, policy) {
		t.Errorf("the policy does not name the style: want %s", policy)
	}
	if found := regexp.MustCompile(`(?i)<(script|link|iframe|object|form|input|image|use)|\son\w+=|\ssrc="[^d]|href="[^#]|@import|url\(|\sstyle=`).FindString(page); found != "" {
		t.Errorf("the page holds %q", found)
	}
	for _, tag := range []string{"table", "tr", "td", "section", "ul", "li", "div", "details", "dl", "figure", "svg", "summary", "mark"} {
		if open, closed := strings.Count(page, "<"+tag+">")+strings.Count(page, "<"+tag+" "), strings.Count(page, "</"+tag+">"); open != closed || open == 0 {
			t.Errorf("%d <%s> and %d </%s>", open, tag, closed, tag)
		}
	}
}

// TestJSONReadsBack: what JSON writes holds the sections, absence as null.
func TestJSONReadsBack(t *testing.T) {
	sections, m := fixture(true)
	var b bytes.Buffer
	if err := JSON(&b, sections, m); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Format   string
		Sections []struct {
			Tables []struct {
				results.Table
				Synthetic bool
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	c := got.Sections[0].Tables[0].Rows[2][3].Estimate
	if got.Format != jsonFormat || c == nil || c.Value != nil || c.Why != "no usable verdict" || c.Invalid != 47 || !got.Sections[1].Tables[2].Synthetic {
		t.Errorf("read back %+v, %+v", got.Format, c)
	}
	if v := got.Sections[0].Tables[0].Rows[0][1].Estimate.Value; v == nil || *v != 65.625 {
		t.Error("a value lost digits")
	}
}

func TestBrokenTablesPanic(t *testing.T) {
	sections, m := fixture(false)
	sections[0].Figures[1].Name = "latency-accuracy"
	func() {
		defer func() {
			if p := recover(); !strings.HasPrefix(fmt.Sprint(p), "report: internal error: ") {
				t.Errorf("two figures with one name: got %v", p)
			}
		}()
		HTML(io.Discard, sections, m)
	}()
	for name, spoil := range map[string]func(*results.Table){
		"NaN":                   func(t *results.Table) { t.Rows[0][1].Estimate.Value = ptr(math.NaN()) },
		"infinity":              func(t *results.Table) { t.Rows[0][1].Estimate.High = ptr(math.Inf(1)) },
		"a short row":           func(t *results.Table) { t.Rows[0] = t.Rows[0][1:] },
		"undefined, no reason":  func(t *results.Table) { t.Rows[0][1].Estimate = &results.Estimate{} },
		"text and estimate":     func(t *results.Table) { t.Rows[0][1].Text = "x" },
		"half an interval":      func(t *results.Table) { t.Rows[0][1].Estimate.Low = nil },
		"a name that is a path": func(t *results.Table) { t.Name = "../x" },
		"an interval of nothing": func(t *results.Table) {
			t.Rows[0][1].Estimate = &results.Estimate{Low: ptr(1.0), High: ptr(2.0), Why: "w"}
		},
		"two tables with one name": func(t *results.Table) { t.Name = "impact" },
	} {
		sections, m := fixture(false)
		spoil(&sections[0].Tables[0])
		func() {
			defer func() {
				if p := recover(); !strings.HasPrefix(fmt.Sprint(p), "report: internal error: ") {
					t.Errorf("%s: got %v", name, p)
				}
			}()
			markdown(io.Discard, sections, m)
		}()
	}
}

// TestVisible: the result prints, and text that prints stays as it is.
func TestVisible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "string")
		v := visible(s)
		if visible(v) != v {
			t.Fatalf("%q became %q and then %q", s, v, visible(v))
		}
		for _, l := range fold(v, 20) {
			if wide(l) > 20 {
				t.Fatalf("a line of %d: %q", wide(l), l)
			}
		}
		if got, want := strings.Join(strings.Fields(strings.Join(fold(v, 20), "")), ""), strings.Join(strings.Fields(v), ""); got != want {
			t.Fatalf("folding %q lost text: %q", want, got)
		}
	})
	if got := visible("plain ä 漢 😀"); got != "plain ä 漢 😀" {
		t.Errorf("got %q", got)
	}
	if got := visible("a\tb\r\nc\u00a0d\u2066\x00\x80"); got != "a b  c d[U+2066][U+0000][0x80]" {
		t.Errorf("got %q", got)
	}
}

// answered is a fixture whose first study says what its main results are.
func answered() ([]results.Section, Meta) {
	sections, m := fixture(true)
	sections[0].Study = "cot"
	sections[0].Tables[0].Columns[5].Better = results.Higher
	sections[0].Headline = []results.Headline{{Table: "main", Column: "accuracy_cot", Main: true, Drawn: true}, {Table: "main", Column: "efficiency"}}
	same := results.Table{Name: "same", Title: "All alike", Columns: []results.Column{{Name: "model", Title: "Model"}, {Name: "failed", Title: "Failures"}, {Name: "reason", Title: "Why"}}}
	energy := results.Table{Name: "energy", Title: "Energy", Columns: []results.Column{{Name: "model", Title: "Model"}, {Name: "joules", Title: "Joules", Unit: "J", Digits: 4, Significant: true, Doubt: "uncertainty"},
		{Name: "uncertainty", Title: "Uncertainty", Unit: "%", Digits: 2}}}
	for i, name := range []string{"a", "b"} {
		same.Rows = append(same.Rows, []results.Cell{words(name), count(0, 48), words("")})
		energy.Rows = append(energy.Rows, []results.Cell{words(name), count(7.25, 48), count(float64(100+i), 48)})
	}
	sections[1].Study, sections[1].Tables = "cot", append(sections[1].Tables, same, energy)
	return sections, m
}

// The answer stands before the findings, these before the caveats, and no table is
// lost: each is on the page, as a table or as a sentence, and in the files.
func TestTheAnswerStandsFirst(t *testing.T) {
	sections, m := answered()
	var b bytes.Buffer
	if err := HTML(&b, sections, m); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	at := -1
	for _, want := range []string{`id="answer"`, "has 54 % (95 % CI 40 to 69, n = 48), the highest together with honest and silent-sycophant.", `id="t-headline"`, `id="f-headline"`, `First caveats`, `id="findings"`, `id="caveats"`, `id="s-cot"`, `id="s-methods"`} {
		i := strings.Index(page, want)
		if i <= at {
			t.Errorf("%s stands at %d, behind what is before it (%d)", want, i, at)
		}
		at = i
	}
	for _, s := range sections {
		for _, table := range s.Tables {
			if strings.Count(page, `id="t-`+table.Name+`"`) != 1 {
				t.Errorf("table %s is not once on the page", table.Name)
			}
		}
	}
	if want := `<b>All alike.</b> The same for all 2: Failures: 0. Why: none.</p>`; !strings.Contains(page, want) || strings.Contains(page, `<table id="t-same"`) {
		t.Errorf("a table whose rows say the same is no sentence: want %s", want)
	}
	// 7.25 J of 101 % uncertainty is a guess, of 100 % it is not yet one.
	if !strings.Contains(page, `<td class="num doubt">(7.25)</td>`) || !strings.Contains(page, `<td class="num">7.25</td>`) {
		t.Error("the doubtful energy is not marked, or the other one is")
	}
	dir := t.TempDir()
	if err := Write(dir, sections, m); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"headline", "same", "energy", "main", "impact", "left-out", "empty"} {
		for _, end := range []string{".csv", ".tex"} {
			if _, err := os.Stat(filepath.Join(dir, "tables", name+end)); err != nil {
				t.Error(err)
			}
		}
	}
	for _, render := range []func(io.Writer, []results.Section, Meta) error{markdown, renderers()["report-120.txt"]} {
		b.Reset()
		if err := render(&b, sections, m); err != nil || !strings.Contains(b.String(), "54 % (95 % CI 40 to 69, n = 48)") && !strings.Contains(b.String(), "54 % \\(95 % CI 40 to 69, n = 48\\)") {
			t.Errorf("the answer is not said (%v):\n%.1500s", err, b.String())
		}
	}
}

func TestOutcome(t *testing.T) {
	view := func(answer string, judgments ...Judged) View {
		return View{Output: &results.Output{Answer: answer}, Judgments: judgments}
	}
	verdict := Judged{Judgment: results.Judgment{Rubric: "accuracy"}, Reading: results.Reading{Fields: []results.Field{{Name: "verdict", Text: "correct", Decides: true}, {Name: "why", Text: "x"}}}}
	for _, c := range []struct {
		name string
		view View
		want outcome
	}{
		{"right", View{Output: &results.Output{Answer: "<answer>Yes</answer>"}, Right: new(true)}, outcome{Answer: "Yes", Tick: " ✓", Class: "right"}},
		{"wrong", View{Output: &results.Output{Answer: "\\boxed{B}"}, Right: new(false)}, outcome{Answer: "B", Tick: " ✗", Class: "wrong"}},
		{"it is not known whether it is right", view("<answer>no</answer>"), outcome{Answer: "no"}},
		{"no tag", view("step one\nFinal answer: yes\n"), outcome{Answer: "yes"}},
		{"judged", view("<answer>no</answer>", verdict, verdict), outcome{Answer: "no", Verdict: "(accuracy correct)"}},
		{"failed", View{Failure: &results.Failure{Kind: "stall"}}, outcome{Answer: "stall"}},
		{"nothing said", view("<think>yes</think>"), outcome{Answer: "no answer"}},
	} {
		if got := *outcomeOf(c.view); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestColumns(t *testing.T) {
	sections, _ := fixture(true)
	table := sections[0].Tables[0]
	pick, err := Columns(table, []string{"efficiency", "f1"})
	if err != nil || len(pick.Columns) != 3 || pick.Columns[0].Name != "model" || pick.Columns[1].Name != "efficiency" || pick.Columns[2].Name != "f1" || len(pick.Rows) != 3 || pick.Rows[0][2] != table.Rows[0][1] {
		t.Errorf("%+v (%v)", pick.Columns, err)
	}
	if _, err := Columns(table, []string{"f2"}); err == nil || !strings.Contains(err.Error(), "table main has no column f2; it has f1, precision") {
		t.Errorf("%v", err)
	}
}

// TestNIsOfValues: the n that a row's cells share is of cells with a value; one without says
// by itself that it rests on none.
func TestNIsOfValues(t *testing.T) {
	good := func(v float64) results.Cell {
		return results.Cell{Estimate: &results.Estimate{N: 60, Value: &v, Low: new(v - 1), High: new(v + 1)}}
	}
	none := results.Cell{Estimate: &results.Estimate{Invalid: 60, Why: "no energy is known"}}
	table := results.Table{Name: "main", Columns: []results.Column{{Name: "model"}, {Name: "a", Unit: "%", Digits: 1}, {Name: "b", Unit: "%", Digits: 1}, {Name: "c", Unit: "J", Digits: 1}, {Name: "d", Unit: "J", Digits: 1}, {Name: "e", Unit: "J", Digits: 1}},
		Rows: [][]results.Cell{{{Text: "m"}, good(50), good(60), none, none, none}}}
	g := newGrid(table, Meta{})
	if row := g.rows[0]; row[1].value != "60" || row[2].n != "" || row[4].n != "n=0/60" {
		t.Errorf("n %q, a good cell says %q, one without a value %q", row[1].value, row[2].n, row[4].n)
	}
}

// TestFindingsThatAreNone: a heading stands over what was found, and over nothing it does not.
func TestFindingsThatAreNone(t *testing.T) {
	page := func(notes ...string) string {
		var b strings.Builder
		if err := HTML(&b, []results.Section{{Study: "qa", Title: "Questions", Notes: notes}, {Study: "qa", Title: "More"}}, Meta{Title: "t"}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if strings.Contains(page(), ">Findings<") {
		t.Error("an empty section of findings is printed")
	}
	if found := page("m is right more often."); !strings.Contains(found, ">Findings<") || !strings.Contains(found, "m is right more often.") {
		t.Error("a finding is not printed")
	}
}
