package report

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/results"

	"pgregory.net/rapid"
)

// TestHostileTextInFigures: a figure's file draws text and nothing else, whatever
// its names are.
func TestHostileTextInFigures(t *testing.T) {
	sections, m := fixture(false)
	f := &sections[0].Figures[0]
	f.Title, f.Caption, f.Alt, f.X.Title, f.X.Unit, f.Y.Title = hostile, hostile, hostile, hostile, hostile, hostile
	f.X.Marks, f.Spans = []results.Mark{{At: 0.1, Text: hostile}}, []results.Span{{From: 0.02, To: 0.2, Text: hostile}}
	for i := range f.Series {
		f.Series[i].Name = hostile
		for k := range f.Series[i].Points {
			f.Series[i].Points[k].Label = hostile
		}
	}
	dir := t.TempDir()
	if err := Write(dir, sections, m); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "figures", f.Name+".svg"))
	if err != nil {
		t.Fatal(err)
	}
	shown := false
	dec := xml.NewDecoder(bytes.NewReader(data))
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the SVG is not XML: %v", err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			if !slices.Contains([]string{"svg", "g", "path", "text", "tspan", "rect", "title", "desc"}, tok.Name.Local) {
				t.Errorf("the SVG has an element %s", tok.Name.Local)
			}
			for _, a := range tok.Attr {
				if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") || a.Name.Local == "href" {
					t.Errorf("the SVG has the attribute %s", a.Name.Local)
				}
			}
		case xml.Comment, xml.Directive:
			t.Errorf("the SVG has a %T", tok)
		case xml.CharData:
			shown = shown || strings.Contains(string(tok), "<script>")
			for _, r := range string(tok) {
				if r == '\u202e' || r == '\u200b' || r < ' ' && r != '\n' {
					t.Errorf("%U came through", r)
				}
			}
		}
	}
	if !shown {
		t.Error("the text is not shown as text")
	}
}

// TestNoCellIsAFormula: no text of a CSV begins as a spreadsheet's formula does,
// and every file can be read back.
func TestNoCellIsAFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"=1+1", "+cmd|' /C calc'!A0", "-2", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\u202e=1", "\ufeff=1", `"=1"`, ",=1"}))
		table := results.Table{Name: "t", Title: "t", Columns: []results.Column{{Name: "a", Title: "a"}, {Name: "b", Title: "b"}},
			Rows: [][]results.Cell{{words(text.Draw(t, "text")), none(text.Draw(t, "why")+"!", 0, 0, 0)}}}
		var b bytes.Buffer
		if err := writeCSV(&b, table, Meta{}); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&b).ReadAll()
		if err != nil || len(rows) != 2 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		for j, cell := range rows[1] {
			if rows[0][j] != "a" && rows[0][j] != "why" {
				continue
			}
			if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r\n") {
				t.Errorf("%s begins a formula: %q", rows[0][j], cell)
			}
		}
	})
}

// TestTheReportKnowsNoStudy: what a report shows is data of the studies; neither
// the page nor the code that prints it names one.
func TestTheReportKnowsNoStudy(t *testing.T) {
	// A study is a package that names its prompts.
	studies, err := filepath.Glob(filepath.Join("..", "..", "harness", "study", "*", "prompts.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range studies {
		names = append(names, filepath.Base(filepath.Dir(s)))
	}
	if len(names) < 2 {
		t.Fatalf("studies: %v", names)
	}
	named := regexp.MustCompile(`(?i)\b(` + strings.Join(names, "|") + `|harness/study)\b`)
	files := 0
	for _, pattern := range []string{"*.go", "*.html", "*.css", "figure/*.go"} {
		list, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range list {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			files++
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if found := named.Find(text); found != nil {
				t.Errorf("%s knows of %s", path, found)
			}
		}
	}
	if files < 15 {
		t.Errorf("only %d files were read", files)
	}
}
