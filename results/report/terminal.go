package report

import (
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"assay/results"
)

// Terminal prints everything as plain text of at most width columns (40 or more; wide tables are
// broken up, their first columns repeated).
func Terminal(w io.Writer, sections []results.Section, m Meta, width int) error {
	check(sections)
	p := &printer{width: max(width, 40)}
	p.line(visible(m.Title))
	p.line(strings.Repeat("=", min(p.width, max(1, wide(visible(m.Title))))))
	if b := m.banner(); b != "" {
		p.line("")
		p.wrap("!! ", "!! ", b)
	}
	p.line("")
	if a := MainResults(sections); a != nil {
		p.list("> ", a.Says)
		p.line("")
		p.grid(newGrid(a.Table, m))
		p.line("")
		for _, t := range a.Whole {
			p.grid(newGrid(t, m))
			p.line("")
		}
		sections = below(sections)
	}
	p.wrap("", "", reading)
	for i, s := range append(sections[:len(sections):len(sections)], section(m.Run, false, sections...)) {
		if i < len(sections) && len(s.Tables)+len(s.Notes)+len(s.Warnings) == 0 {
			continue
		}
		p.line("")
		p.line(visible(s.Title))
		p.line(strings.Repeat("-", min(p.width, max(1, wide(visible(s.Title))))))
		if s.Intro != "" {
			for _, par := range strings.Split(s.Intro, "\n") {
				p.wrap("", "", visible(par))
			}
		}
		for _, t := range s.Tables {
			p.line("")
			if i < len(sections) {
				p.grid(newGrid(t, m))
			} else {
				p.grid(newGrid(t, Meta{}))
			}
		}
		if len(s.Notes)+len(s.Warnings) > 0 {
			p.line("")
		}
		p.list("* ", s.Notes)
		p.list("! ", s.Warnings)
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// TerminalTable prints one table alone.
func TerminalTable(w io.Writer, t results.Table, m Meta, width int) error {
	check([]results.Section{{Tables: []results.Table{t}}})
	p := &printer{width: max(width, 40)}
	p.line("")
	p.grid(newGrid(t, m))
	_, err := io.WriteString(w, p.b.String())
	return err
}

type printer struct {
	b     strings.Builder
	width int
	most  int // lines; 0: any number
}

func (p *printer) line(s string) { p.b.WriteString(strings.TrimRight(s, " ") + "\n") }

// wrap prints words on lines of at most the width; first and rest stand before
// the first and the other lines.
func (p *printer) wrap(first, rest, s string) {
	for _, l := range fold(s, p.width-wide(first)) {
		p.line(first + l)
		first = rest
	}
}

// list prints what is said, of several subjects at once where it is the same.
func (p *printer) list(mark string, texts []string) {
	var all []finding
	for _, t := range texts {
		all = append(all, finding{Text: visible(t)})
	}
	for _, f := range together(all) {
		p.wrap(mark, "  ", f.Text)
	}
}

func wide(s string) int { return text.StringWidthWithoutEscSequences(s) }

// fold breaks s at spaces into lines of at most width, and within words that are
// longer.
func fold(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		for {
			room := width - wide(line)
			if line != "" {
				room--
			}
			if wide(word) <= room {
				if line != "" {
					line += " "
				}
				line += word
				break
			}
			if line != "" {
				lines = append(lines, line)
				line = ""
				continue
			}
			cut, used := 0, 0
			for at, r := range word {
				if used += wide(string(r)); used > width && at > 0 {
					cut = at
					break
				}
			}
			if cut == 0 { // one rune that is wider than the line
				line = word
				break
			}
			lines, word = append(lines, word[:cut]), word[cut:]
		}
	}
	return append(lines, line)
}

// Widths of columns of words, in a terminal.
const (
	leastText = 8  // a column of text is not squeezed below this
	mostWord  = 14 // a word of a header is not broken up to this
	leastLead = 16 // nor the first one below this, while others can go
	mostLead  = 28 // nor does one that names rows grow above this, in a broken-up table
	gap       = 2  // between columns
)

func (p *printer) grid(g grid) {
	p.wrap("", "", g.title)
	if g.caption != "" {
		p.wrap("", "", g.caption)
	}
	lead, show := g.leads(), cell.lines
	if lead == len(g.cols) { // all text: the first column names the row
		lead, show = 1, cell.line
	}
	var all []int
	for j := range g.cols {
		all = append(all, j)
	}
	switch w, ok := p.fit(g, all, cell.line); {
	case len(g.rows) == 0:
		p.line("(no rows)")
	case ok:
		p.render(g, all, w, cell.line)
	default:
		for rest := all[lead:]; ; p.line("") {
			// As many columns as fit without squeezing the first one, one at least.
			take := len(rest)
			for take > 1 {
				if w, ok := p.fit(g, append(all[:lead:lead], rest[:take]...), show); ok && w[0] >= min(g.natural(0), leastLead) {
					break
				}
				take--
			}
			cols := append(all[:lead:lead], rest[:take]...)
			w, _ := p.fit(g, cols, show)
			p.render(g, cols, w, show)
			if rest = rest[take:]; len(rest) == 0 {
				break
			}
		}
	}
	for i, f := range g.feet {
		p.wrap(superscript(i+1)+" ", "  ", f)
	}
	for _, n := range g.notes {
		p.wrap("", "", n)
	}
}

// natural is how wide the texts of a column are.
func (g *grid) natural(j int) int {
	w := 0
	for _, row := range g.rows {
		w = max(w, text.LongestLineLen(row[j].line()))
	}
	return w
}

// fit is the width of each column so that all fit; false: they do not, and the
// widths are the narrowest.
func (p *printer) fit(g grid, cols []int, show func(cell) string) ([]int, bool) {
	widths := make([]int, len(cols))
	total := gap * (len(cols) - 1)
	for i, j := range cols {
		c := g.cols[j]
		for _, row := range g.rows {
			widths[i] = max(widths[i], text.LongestLineLen(show(row[j])))
		}
		if c.numeric {
			// A header breaks between words to the width of its numbers.
			for _, word := range strings.Fields(c.title + " " + c.unit) {
				widths[i] = max(widths[i], wide(word))
			}
		} else {
			for _, word := range strings.Fields(c.title) {
				widths[i] = max(widths[i], min(wide(word), mostWord))
			}
			if c.lead && len(cols) < len(g.cols) {
				widths[i] = min(widths[i], mostLead)
			}
		}
		total += widths[i]
	}
	for total > p.width {
		// The widest column of text gives way.
		widest := -1
		for i, j := range cols {
			if !g.cols[j].numeric && widths[i] > leastText && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return widths, false
		}
		widths[widest]--
		total--
	}
	return widths, true
}

func (p *printer) render(g grid, cols []int, widths []int, show func(cell) string) {
	t := table.NewWriter()
	style := table.StyleLight
	style.Format = table.FormatOptions{}
	style.Options = table.Options{SeparateHeader: true}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", strings.Repeat(" ", gap)
	head := table.Row{}
	var configs []table.ColumnConfig
	hasUnit := slices.ContainsFunc(cols, func(j int) bool { return g.cols[j].unit != "" })
	tall, total := false, gap*(len(cols)-1)
	for i, j := range cols {
		c := g.cols[j]
		total += widths[i]
		cfg := table.ColumnConfig{Number: i + 1, WidthMin: widths[i], WidthMax: widths[i], VAlignHeader: text.VAlignBottom}
		if c.numeric {
			cfg.Align, cfg.AlignHeader = text.AlignRight, text.AlignRight
		}
		configs = append(configs, cfg)
		title := strings.Join(fold(c.title, widths[i]), "\n")
		if hasUnit {
			title += "\n" + strings.Join(fold(c.unit, widths[i]), "\n")
		}
		head = append(head, title)
	}
	t.AppendHeader(head)
	for _, row := range g.rows {
		line := table.Row{}
		for i, j := range cols {
			s := show(row[j])
			if !g.cols[j].numeric {
				s = strings.Join(fold(s, widths[i]), "\n")
			}
			tall = tall || strings.Contains(s, "\n")
			line = append(line, s)
		}
		t.AppendRow(line)
	}
	style.Options.SeparateRows = tall && len(g.rows) > 1
	t.SetStyle(style)
	t.SetColumnConfigs(configs)
	for _, l := range strings.Split(t.Render(), "\n") {
		if strings.Trim(l, "─") == "" { // a rule reaches over the last gap
			l = strings.Repeat("─", total)
		}
		p.line(l)
	}
}
