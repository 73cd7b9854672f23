package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"assay/results"
	"assay/results/text"
)

//go:embed page.html page.css
var pageFiles embed.FS

// htmlPage is what page.html prints; all text in it shows as it is.
type htmlPage struct {
	Title, Banner, Because, Reading, Policy, Facts string
	Unfinished, Lacking                            string
	Style                                          template.CSS
	Answer                                         *htmlAnswer // nil: no study has one
	Findings                                       []htmlFindings
	Distrust, Besides                              []finding // caveats that may turn a conclusion around, and all others
	Parts                                          []htmlPart
	Examples                                       []htmlExample
	Methods                                        htmlSection
	More                                           string // the page with more tables than this one; "": there is none
	Back                                           string // the first page; "": it is this one
}

// htmlPart is a study: its first section, and the others, which are folded up.
type htmlPart struct {
	htmlSection
	study   string
	Folded  bool // the first one, too: it belongs to no study
	More    []htmlSection
	All, Of string // what the page of all tables holds of the study, in words, and where; "": no more
}

type htmlSection struct {
	Name, Title string
	Paragraphs  []string
	Figures     []htmlFigure
	Tables      []htmlTable
}

// Holds is what is folded up in a section, in words.
func (s htmlSection) Holds() string { return held(len(s.Tables), len(s.Figures)) }

// holds is what sections have, in words.
func holds(sections []results.Section) string {
	tables, figures := 0, 0
	for _, s := range sections {
		tables, figures = tables+len(s.Tables), figures+len(s.Figures)
	}
	return held(tables, figures)
}

func held(tables, figures int) string {
	var parts []string
	if tables > 0 {
		parts = append(parts, results.Count(tables, "table", "tables"))
	}
	if figures > 0 {
		parts = append(parts, results.Count(figures, "figure", "figures"))
	}
	return strings.Join(parts, ", ")
}

// HTML writes a report's first page: what was found, and the tables and figures that studies call
// main. Where there are more, it links to AllTables beside it. It needs nothing else: no script,
// no request, its only style named by digest in its content security policy.
func HTML(w io.Writer, sections []results.Section, m Meta) error {
	check(sections)
	data, err := newHTMLPage(m)
	if err != nil {
		return err
	}
	data.Examples = htmlExamples(m)
	data.Distrust, data.Besides = Distrust(sections, m.Run)
	found := sections
	answer := MainResults(sections)
	if answer != nil {
		found = below(sections)
		if data.Answer, err = newHTMLAnswer(*answer, m); err != nil {
			return err
		}
		all := slices.Concat(data.Distrust, data.Besides)
		data.Answer.Worst = all[:min(mostWorst, len(all))]
		data.Answer.Others = len(all) - len(data.Answer.Worst)
	}
	data.Findings = htmlFound(found)
	first, more := firstPage(found)
	methods := []results.Section{section(m.Run, true, sections...)}
	if more {
		methods, _ = firstPage(methods)
		data.More = AllTables
	}
	if err := data.fill(first, methods, m); err != nil {
		return err
	}
	for i, p := range data.Parts {
		of := slices.DeleteFunc(filled(sections), func(s results.Section) bool { return s.Study != p.study })
		if more && p.study != "" {
			data.Parts[i].All, data.Parts[i].Of = holds(of), visible(of[0].Name)
		}
	}
	return data.write(w, first, filled(sections))
}

// allTables writes the page of all tables and figures.
func allTables(w io.Writer, sections []results.Section, m Meta) error {
	check(sections)
	data, err := newHTMLPage(m)
	if err != nil {
		return err
	}
	data.Back = Page
	all := filled(sections)
	if err := data.fill(all, []results.Section{section(m.Run, true, sections...)}, m); err != nil {
		return err
	}
	return data.write(w, all, all)
}

// newHTMLPage is what every page of a report says.
func newHTMLPage(m Meta) (*htmlPage, error) {
	css, err := pageFiles.ReadFile("page.css")
	if err != nil {
		return nil, fmt.Errorf("reading the style of the page: %w", err)
	}
	digest := sha256.Sum256(css)
	data := &htmlPage{
		Title: visible(m.Title), Reading: reading, Facts: visible(facts(m)),
		Policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'; img-src data:; base-uri 'none'; form-action 'none'",
		Style:  template.CSS(css),
	}
	if m.Synthetic() {
		data.Banner, data.Because = syntheticResults+". "+instrumentOnly, visible(strings.Join(m.Manifest.Synthetic, "; "))+"."
	}
	if s := m.Unfinished(); s != "" {
		data.Unfinished, data.Lacking = unfinishedRun+s+".", visible(m.Lacking())+". assay run goes on where it stopped."
	}
	return data, nil
}

// fill adds the sections of a page, and its methods.
func (p *htmlPage) fill(sections, methods []results.Section, m Meta) error {
	for i, s := range sections {
		out, err := newHTMLSection(s, m)
		if err != nil {
			return err
		}
		if n := len(p.Parts); i > 0 && s.Study != "" && s.Study == sections[i-1].Study {
			p.Parts[n-1].More = append(p.Parts[n-1].More, out)
		} else {
			p.Parts = append(p.Parts, htmlPart{htmlSection: out, study: s.Study, Folded: s.Study == "" && i > 0})
		}
	}
	for _, s := range methods {
		var err error
		if p.Methods, err = newHTMLSection(s, Meta{}); err != nil { // what was run is no result
			return err
		}
	}
	return nil
}

// write prints a page that shows the sections here; AllTables shows all.
func (p *htmlPage) write(w io.Writer, here, all []results.Section) error {
	named := func(name string) func(results.Section) bool {
		return func(s results.Section) bool { return s.Name == name }
	}
	page, err := template.New("page.html").Funcs(template.FuncMap{
		"add": func(i int) int { return i + 1 }, // footnotes count from one
		// Where a section of a name is; "": on neither page.
		"where": func(name string) string {
			switch {
			case name == "methods" || slices.ContainsFunc(here, named(name)):
				return "#s-" + visible(name)
			case slices.ContainsFunc(all, named(name)):
				return AllTables + "#s-" + visible(name)
			}
			return ""
		}}).ParseFS(pageFiles, "page.html")
	if err != nil {
		return fmt.Errorf("reading the form of the page: %w", err)
	}
	return page.Execute(w, p)
}

// mostWorst is how many caveats stand beside the answer.
const mostWorst = 3

// htmlAnswer is what the page begins with.
type htmlAnswer struct {
	Says   []finding
	Groups []headlineGroup
	Table  htmlTable
	Whole  []htmlTable
	Figure *htmlFigure // nil: nothing to draw
	Worst  []finding
	Others int // caveats that stand below
}

// longInterval is how many characters an interval has before it may be broken.
const longInterval = 15

// perThousand is said once of all columns.
const perThousand = " per 1,000 answers"

func newHTMLAnswer(a answer, m Meta) (*htmlAnswer, error) {
	out := &htmlAnswer{}
	for _, s := range a.Says {
		out.Says = append(out.Says, finding{Text: s})
	}
	for _, g := range a.Groups {
		out.Groups = append(out.Groups, headlineGroup{Title: visible(g.Title), Columns: g.Columns})
	}
	g := gridOf(a.Table, m, false)
	t := htmlTable{Name: a.Table.Name, Title: visible(a.Table.Title), Synthetic: m.Synthetic(), Feet: g.feet, Notes: g.notes}
	for j, c := range g.cols {
		h := htmlColumn{Title: visible(a.Titles[j]), Unit: c.unit, Help: c.help, Numeric: c.numeric}
		if short, cut := strings.CutSuffix(c.unit, perThousand); cut {
			h.Unit, t.Caption = short, "Energy and money are per 1,000 answers."
		}
		n := map[string]bool{}
		for _, row := range g.rows {
			if row[j].value != dash {
				n[row[j].n] = true
			}
		}
		for of := range n { // one n of all stands above
			if len(n) == 1 && of != "" {
				h.N = of
			}
		}
		if c.help != "" {
			t.Help = append(t.Help, h)
		}
		t.Columns = append(t.Columns, h)
	}
	for i, row := range g.rows {
		line := htmlRow{Name: row[0].text}
		for j, c := range row[1:] {
			h := htmlCell{Value: c.value, Interval: c.interval, N: c.n, Foot: c.foot, Numeric: true, Doubt: c.doubt, Best: a.Table.Rows[i][j+1].Estimate != nil && a.Table.Rows[i][j+1].Estimate.Best}
			h.Broken = utf8.RuneCountInString(c.interval) > longInterval
			t.Columns[j+1].Long = t.Columns[j+1].Long || h.Broken
			if t.Columns[j+1].N != "" || c.value == dash {
				h.N = ""
			}
			line.Cells = append(line.Cells, h)
		}
		t.Rows = append(t.Rows, line)
	}
	out.Table = t
	for _, t := range a.Whole {
		out.Whole = append(out.Whole, newHTMLTable(t, m))
	}
	if a.Figure != nil {
		f, err := newHTMLFigure(*a.Figure, m)
		if err != nil {
			return nil, err
		}
		out.Figure = &f
	}
	return out, nil
}

// htmlFindings are the findings of one study. Also is what its later sections
// say: its first one sums it up.
type htmlFindings struct {
	Title      string
	List, Also []finding
}

func htmlFound(sections []results.Section) []htmlFindings {
	var out []htmlFindings
	for i, s := range sections {
		later := i > 0 && s.Study != "" && s.Study == sections[i-1].Study
		if !later {
			out = append(out, htmlFindings{Title: visible(s.Title)})
		}
		g := &out[len(out)-1]
		to := &g.List
		if later {
			to = &g.Also
		}
		*to = append(*to, findingsOf(sections[i:i+1])...)
	}
	return slices.DeleteFunc(out, func(g htmlFindings) bool { return len(g.List)+len(g.Also) == 0 })
}

// facts is a line on the run.
func facts(m Meta) string {
	man := m.Manifest
	var parts []string
	if !man.Created.IsZero() {
		parts = append(parts, man.Created.UTC().Format("2 January 2006"))
	}
	if n := len(man.Models); n > 0 {
		parts = append(parts, results.Count(n, "model", "models"))
	}
	for _, d := range man.Datasets {
		parts = append(parts, fmt.Sprintf("%s: %s", d.Name, results.Count(d.Items, "item", "items")))
	}
	if man.Version != "" {
		parts = append(parts, "assay "+man.Version)
	}
	return strings.Join(parts, " · ")
}

func newHTMLSection(s results.Section, m Meta) (htmlSection, error) {
	out := htmlSection{Name: visible(s.Name), Title: visible(s.Title)}
	if s.Intro != "" {
		for _, par := range strings.Split(s.Intro, "\n") {
			out.Paragraphs = append(out.Paragraphs, visible(par))
		}
	}
	for _, f := range s.Figures {
		h, err := newHTMLFigure(f, m)
		if err != nil {
			return out, err
		}
		out.Figures = append(out.Figures, h)
	}
	for _, t := range s.Tables {
		out.Tables = append(out.Tables, newHTMLTable(t, m))
	}
	return out, nil
}

// htmlFigure is a figure in both widths; Wide empty: there is nothing to draw.
type htmlFigure struct {
	Name, Title, Alt string
	Words            []string // caption, how to read it, what is not drawn
	Synthetic        bool
	Wide, Narrow     template.HTML
}

func newHTMLFigure(f results.Figure, m Meta) (htmlFigure, error) {
	f = visibleFigure(f)
	out := htmlFigure{Name: f.Name, Title: f.Title, Alt: f.Alt, Words: figureWords(f), Synthetic: m.Synthetic()}
	if empty(f) {
		return out, nil
	}
	for _, d := range []struct {
		width float64
		to    *template.HTML
	}{{pageWidth, &out.Wide}, {narrow, &out.Narrow}} {
		var b bytes.Buffer
		if err := svg(&b, f, figureLook{Width: d.width, Page: true}); err != nil {
			return out, fmt.Errorf("drawing figure %s: %w", f.Name, err)
		}
		*d.to = template.HTML(b.String()) // ours: its texts are escaped
	}
	return out, nil
}

// figureWords is what is said below a figure.
func figureWords(f results.Figure) []string {
	var out []string
	for _, s := range append([]string{f.Caption, describeFigure(f)}, f.Notes...) {
		if s != "" {
			out = append(out, s)
		}
	}
	if missing, all := missing(f); empty(f) {
		out = append(out, "Nothing to draw; the tables give the reasons.")
	} else if missing > 0 {
		out = append(out, fmt.Sprintf("%d of %d values are undefined and not drawn; the tables give the reasons.", missing, all))
	}
	return out
}

// visibleFigure is a figure whose texts all show.
func visibleFigure(f results.Figure) results.Figure {
	axis := func(a results.Axis) results.Axis {
		a.Title, a.Unit = visible(a.Title), visible(a.Unit)
		marks := make([]results.Mark, len(a.Marks))
		for i, m := range a.Marks {
			marks[i] = results.Mark{At: m.At, Text: visible(m.Text)}
		}
		a.Marks = marks
		return a
	}
	f.Title, f.Caption, f.Alt = visible(f.Title), visible(f.Caption), visible(f.Alt)
	f.X, f.Y, f.Z = axis(f.X), axis(f.Y), axis(f.Z)
	series := make([]results.Series, len(f.Series))
	for i, s := range f.Series {
		s.Name = visible(s.Name)
		points := make([]results.Point, len(s.Points))
		for k, p := range s.Points {
			p.Label = visible(p.Label)
			points[k] = p
		}
		s.Points = points
		series[i] = s
	}
	f.Series = series
	spans := make([]results.Span, len(f.Spans))
	for i, s := range f.Spans {
		s.Text = visible(s.Text)
		spans[i] = s
	}
	f.Spans = spans
	notes := make([]string, len(f.Notes))
	for i, n := range f.Notes {
		notes[i] = visible(n)
	}
	f.Notes = notes
	return f
}

type htmlTable struct {
	Name, Title, Caption string
	Sentence             string // "": there is more to show than what all rows have in common
	Synthetic, Long      bool   // Long: folded up until it is asked for
	Columns              []htmlColumn
	Rows                 []htmlRow
	Feet, Notes          []string
	Help                 []htmlColumn
}

// longTable is how many rows a table has before it is folded up.
const longTable = 12

type htmlColumn struct {
	Title, Unit, Help string
	N                 string // how many cases all values of the column rest on; "": it differs
	Numeric, Long     bool   // Long: a title, or of the answer a value, that needs room to break well
}

// longConstant is how many characters may move from every row to the caption.
const longConstant = 40

// longTitle is how many characters a title has before it needs room.
const longTitle = 16

// htmlRow is a row; the texts that name it stand together in one cell, which
// stays in sight when a wide table is scrolled.
type htmlRow struct {
	Name  string
	More  []string // of the name
	Cells []htmlCell
}

type htmlCell struct {
	Text, Value, Interval, N string
	Foot                     int
	Numeric, Best, Doubt     bool
	Broken                   bool // the interval may stand on two lines
}

// Class is the cell's class in the page's style.
func (c htmlCell) Class() string {
	switch {
	case c.Best:
		return "num best"
	case c.Doubt:
		return "num doubt"
	}
	return "num"
}

func newHTMLTable(t results.Table, m Meta) htmlTable {
	g := newGrid(t, m)
	out := htmlTable{Name: t.Name, Title: strings.TrimPrefix(g.title, mark), Caption: g.caption, Synthetic: m.Synthetic(), Long: len(t.Rows) > longTable, Feet: g.feet, Notes: g.notes}
	names := 0
	for names < len(g.cols) && g.cols[names].lead && !g.cols[names].numeric {
		names++
	}
	if names == len(g.cols) { // all text: the first column names the row
		names = min(1, names)
	}
	// There is no room for what is the same in every row: it is said once.
	skip := make([]bool, len(g.cols))
	var common []string
	for j := 1; j < len(g.cols) && len(g.rows) > 1; j++ {
		c, same := g.same(j)
		skip[j] = same && utf8.RuneCountInString(c.text) <= longConstant
		if skip[j] {
			common = append(common, g.cols[j].title+": "+g.inWords(j, c)+".")
		}
	}
	if len(g.rows) == 0 {
		out.Sentence = "There is none."
	}
	if len(common) > 0 {
		all := "In every row: " + strings.Join(common, " ")
		if !slices.Contains(skip[names:], false) && names < len(g.cols) {
			out.Sentence = fmt.Sprintf("The same for all %d: %s", len(g.rows), strings.Join(common, " "))
		} else {
			out.Caption += " " + all
		}
	}
	out.Caption = strings.TrimSpace(out.Caption)
	var head htmlColumn
	for j, c := range g.cols {
		h := htmlColumn{Title: c.title, Unit: c.unit, Help: c.help, Numeric: c.numeric, Long: c.numeric && utf8.RuneCountInString(c.title) > longTitle}
		if c.help != "" {
			out.Help = append(out.Help, h)
		}
		switch {
		case skip[j]:
		case j >= names:
			out.Columns = append(out.Columns, h)
		case j == 0:
			head.Title = h.Title
		default:
			head.Title += " · " + h.Title
		}
	}
	out.Columns = append([]htmlColumn{head}, out.Columns...)
	for _, row := range g.rows {
		var line htmlRow
		for j, c := range row {
			switch {
			case skip[j]:
			case j == 0 && names > 0:
				line.Name = c.text
			case j < names:
				if c.text != "" {
					line.More = append(line.More, c.text)
				}
			default:
				line.Cells = append(line.Cells, htmlCell{Text: c.text, Value: c.value, Interval: c.interval, N: c.n, Foot: c.foot, Numeric: g.cols[j].numeric, Doubt: c.doubt})
			}
		}
		out.Rows = append(out.Rows, line)
	}
	return out
}

// inWords is a cell of a column inside a sentence; a reason stands in place of its mark.
func (g *grid) inWords(j int, c cell) string {
	s := c.text + c.value
	if s == "" {
		return "none"
	}
	if c.value != "" && c.value != dash && g.cols[j].unit != "" {
		s += " " + g.cols[j].unit
	}
	s = c.after(s, " ")
	if c.foot > 0 {
		s += " (" + g.feet[c.foot-1] + ")"
	}
	return s
}

// changed is how a prompt differs from another; nil: not at all, or one is not known.
func changed(before, now string) []text.Part {
	if before == "" || now == "" || before == now {
		return nil
	}
	parts := text.Excerpt(text.Changes(before, now))
	for i := range parts {
		parts[i].Text = text.VisibleLines(parts[i].Text)
	}
	return parts
}

type htmlExample struct {
	Title, Question, Gold, Why string
	Synthetic                  bool
	From, To                   *outcome    // To nil: there is one view
	Prompt                     []text.Part // of the second view beside the first
	Views                      []htmlView
}

type htmlView struct {
	Title             string
	Pictures          []htmlPicture
	NoPicture         string
	Answer, Reasoning []Span
	Failure           string
	Verdicts          []htmlVerdict
}

type htmlPicture struct {
	URL           template.URL
	Alt, Sent     string
	Width, Height int
}

type htmlVerdict struct{ Rubric, Judge, Status, Says, Whole string }

func htmlExamples(m Meta) []htmlExample {
	var out []htmlExample
	for _, e := range m.Examples {
		h := htmlExample{Title: visible(e.Model + ", " + e.Item + " (" + e.Study + ")"), Question: text.VisibleLines(e.Question), Gold: visible(e.Gold), Why: visible(e.Why), Synthetic: m.Synthetic()}
		for k, v := range e.Views {
			title := "arm " + v.Key.Arm
			if v.Key.Condition != "" {
				title += ", condition " + v.Key.Condition
			}
			view := htmlView{Title: visible(title), NoPicture: visible(v.NoPicture)}
			if k > 0 && slices.EqualFunc(v.Pictures, e.Views[0].Pictures, func(a, b Picture) bool { return bytes.Equal(a.Bytes, b.Bytes) }) && len(v.Pictures) > 0 {
				view.NoPicture, v.Pictures = "The same image.", nil
			}
			for _, p := range v.Pictures {
				if p.MIME != "image/png" && p.MIME != "image/jpeg" {
					panic("report: internal error: a picture of type " + p.MIME)
				}
				view.Pictures = append(view.Pictures, htmlPicture{URL: template.URL("data:" + p.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.Bytes)),
					Alt: "The image of " + h.Title + " as the model was shown it: " + view.Title, Sent: visible(p.Sent), Width: p.Width, Height: p.Height})
			}
			if v.Failure != nil {
				view.Failure = visible(v.Failure.Kind + ": " + v.Failure.Message)
			}
			var list []Quoted
			for i, j := range v.Judgments {
				says, whole := j.summary()
				for _, q := range j.Reading.Quotes {
					list = append(list, Quoted{q, i})
				}
				if j.Detail != "" {
					says = j.Detail
				}
				view.Verdicts = append(view.Verdicts, htmlVerdict{visible(j.Rubric), visible(j.Judge), visible(string(j.Status)), visible(says), visible(whole)})
			}
			if v.Output != nil {
				view.Answer, view.Reasoning = Marked(v.Output.Answer, list), Marked(v.Output.Reasoning, list)
			}
			h.Views = append(h.Views, view)
			switch k {
			case 0:
				h.From = outcomeOf(v)
			case 1:
				h.To, h.Prompt = outcomeOf(v), changed(e.Views[0].Prompt, v.Prompt)
			}
		}
		out = append(out, h)
	}
	return out
}
