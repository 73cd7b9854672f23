package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"

	"assay/results"
)

//go:embed page.html page.css
var pageFiles embed.FS

// HTML writes one page that needs nothing else: no script, no request, its only
// style named by digest in its content security policy.
func HTML(w io.Writer, sections []results.Section, m Meta) error {
	check(sections)
	// Footnotes count from one.
	page, err := template.New("page.html").Funcs(template.FuncMap{"add": func(i int) int { return i + 1 }}).ParseFS(pageFiles, "page.html")
	if err != nil {
		panic("report: internal error: " + err.Error())
	}
	css, err := pageFiles.ReadFile("page.css")
	if err != nil {
		panic("report: internal error: " + err.Error())
	}
	digest := sha256.Sum256(css)
	type section struct {
		Name, Title string
		Paragraphs  []string
		Tables      []htmlTable
		Notes       []string
	}
	data := struct {
		Title, Banner, Reading, Policy string
		Style                          template.CSS
		Sections                       []section
	}{visible(m.Title), m.banner(), reading, "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'; base-uri 'none'; form-action 'none'", template.CSS(css), nil}
	for i, s := range append(sections[:len(sections):len(sections)], methods(m, true)) {
		out := section{Name: visible(s.Name), Title: visible(s.Title)}
		if s.Intro != "" {
			for _, par := range strings.Split(s.Intro, "\n") {
				out.Paragraphs = append(out.Paragraphs, visible(par))
			}
		}
		meta := m
		if i == len(sections) {
			meta = Meta{} // what was run is no result
		}
		for _, t := range s.Tables {
			out.Tables = append(out.Tables, newHTMLTable(t, meta))
		}
		for _, n := range s.Notes {
			out.Notes = append(out.Notes, visible(n))
		}
		data.Sections = append(data.Sections, out)
	}
	return page.Execute(w, data)
}

type htmlTable struct {
	Name, Title, Caption string
	Synthetic            bool
	Columns              []htmlColumn
	Rows                 [][]htmlCell
	Feet, Notes          []string
	Help                 []htmlColumn
}

type htmlColumn struct {
	Title, Unit, Help string
	Numeric           bool
}

type htmlCell struct {
	Text, Value, Interval, N string
	Foot                     int
	Numeric, Names           bool // Names: the cell names its row
}

func newHTMLTable(t results.Table, m Meta) htmlTable {
	g := newGrid(t, m)
	out := htmlTable{Name: t.Name, Title: strings.TrimPrefix(g.title, mark), Caption: g.caption, Synthetic: m.synthetic(), Feet: g.feet, Notes: g.notes}
	for _, c := range g.cols {
		h := htmlColumn{Title: c.title, Unit: c.unit, Help: c.help, Numeric: c.numeric}
		out.Columns = append(out.Columns, h)
		if c.help != "" {
			out.Help = append(out.Help, h)
		}
	}
	for _, row := range g.rows {
		var line []htmlCell
		for j, c := range row {
			line = append(line, htmlCell{Text: c.text, Value: c.value, Interval: c.interval, N: c.n, Foot: c.foot, Numeric: g.cols[j].numeric, Names: j == 0 && g.cols[j].lead && !g.cols[j].numeric})
		}
		out.Rows = append(out.Rows, line)
	}
	return out
}
