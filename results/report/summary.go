package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/results"
)

// SummaryLines is how many lines Summary prints at most.
const SummaryLines = 40

// How many lines parts of a summary have at most; the table has what they leave.
const (
	bannerLines = 4
	answerLines = 10
	caveatLines = 9
	saidLines   = 3 // of a sentence or a caveat
	moreLines   = 5
)

// Summary prints what a reader looks for first, on at most SummaryLines lines of at most width
// columns (40 or more): what models are ranked by, with prices, which is best, the first caveats,
// and more, the last lines.
func Summary(w io.Writer, sections []results.Section, m Meta, width int, more ...string) error {
	check(sections)
	part := func(most int) *printer { return &printer{width: max(width, 40), most: most} }
	top := part(1 + bannerLines)
	top.line(visible(m.Title))
	if s := m.Unfinished(); s != "" {
		top.wrap("!! ", "!! ", unfinishedRun+s+" ("+visible(m.Lacking())+").")
	}
	if m.Synthetic() {
		top.wrap("!! ", "!! ", syntheticResults+". "+instrumentOnly)
	}
	says, caveats, last := part(answerLines), part(caveatLines+1), part(moreLines)
	for _, s := range more {
		last.wrap("", "  ", s)
	}
	first, rest := Distrust(sections, m.Run)
	if all := slices.Concat(first, rest); len(all) > 0 {
		n := min(mostWorst, len(all))
		caveats.line(fmt.Sprintf("First caveats (%d of %d):", n, len(all)))
		for _, f := range all[:n] {
			one := part(saidLines)
			one.wrap("! ", "  ", f.Text)
			caveats.add(one)
		}
	}
	parts := []*printer{top, says, caveats, last}
	if a := MainResults(sections); a != nil {
		for _, s := range a.Short {
			one := part(saidLines)
			one.wrap("> ", "  ", visible(s))
			says.add(one)
		}
		left := SummaryLines - len(parts) // a line between each two, and around the table
		for _, p := range parts {
			left -= len(p.lines())
		}
		table := part(0)
		table.brief(*a, m, left)
		for _, t := range a.Whole { // as much of them as there is room
			one := part(0)
			one.grid(newGrid(t, m))
			if room := left - len(table.lines()) - 1; len(one.lines()) <= room {
				table.line("")
				table.add(one)
			}
		}
		parts = slices.Insert(parts, 1, table)
	}
	var all []string
	for _, p := range parts {
		if lines := p.lines(); len(lines) > 0 {
			all = append(all, strings.Join(lines, "\n"))
		}
	}
	_, err := io.WriteString(w, strings.Join(all, "\n\n")+"\n")
	return err
}

// lines are the lines so far, no more than the printer's most; where some are left out the last
// one says so.
func (p *printer) lines() []string {
	if p.b.Len() == 0 {
		return nil
	}
	all := strings.Split(strings.TrimSuffix(p.b.String(), "\n"), "\n")
	if p.most > 0 && len(all) > p.most {
		all = all[:p.most]
		cut := &all[p.most-1]
		for wide(*cut) > p.width-1 {
			r := []rune(*cut)
			*cut = string(r[:len(r)-1])
		}
		*cut += "…"
	}
	return all
}

// add prints the lines of another printer.
func (p *printer) add(o *printer) {
	for _, l := range o.lines() {
		p.line(l)
	}
}

// brief prints the columns of an answer by which models are ranked, and the prices that the width
// has room for, on at most so many lines.
func (p *printer) brief(a answer, m Meta, most int) {
	var main, prices []int
	for j, h := range a.of {
		switch {
		case h.Main:
			main = append(main, j+1)
		case h.Price != "":
			prices = append(prices, j+1)
		}
	}
	// All prices, the last one of each column, or none; then fewer columns.
	var last []int
	for i, j := range prices {
		if i == len(prices)-1 || a.of[j-1].Table != a.of[prices[i+1]-1].Table {
			last = append(last, j)
		}
	}
	try := [][]int{slices.Concat(main, prices), slices.Concat(main, last)}
	for n := len(main); n > 0; n-- {
		try = append(try, main[:n])
	}
	var g grid
	columns := 0 // that are left out of those that rank
	for _, with := range try {
		g, columns = a.only(with, m), max(0, len(main)-len(with))
		if _, ok := p.fit(g, numbered(g.cols), cell.line); ok {
			break
		}
	}
	all := g.rows
	for n := len(all); n > 0; n-- {
		one := &printer{width: p.width}
		g.rows = all[:n]
		one.grid(g)
		var left []string
		if n < len(all) {
			left = append(left, results.Count(len(all)-n, "more model", "more models"))
		}
		if columns > 0 {
			left = append(left, results.Count(columns, "more column", "more columns"))
		}
		if len(left) > 0 {
			one.wrap("", "", "and "+listed(left)+": assay report --table "+headline)
		}
		if n == 1 || len(one.lines()) <= most {
			one.most = most
			p.add(one)
			return
		}
	}
}

func numbered(cols []col) (out []int) {
	for j := range cols {
		out = append(out, j)
	}
	return out
}

// only is the answer's table with these columns, prices without intervals, and without what it
// rests on: the sentences and the whole table say that.
func (a answer) only(columns []int, m Meta) grid {
	t := results.Table{Name: a.Table.Name, Title: a.Table.Title, Columns: a.Table.Columns[:1:1]}
	for _, j := range columns {
		t.Columns = append(t.Columns, a.Table.Columns[j])
	}
	for _, row := range a.Table.Rows {
		line := row[:1:1]
		for _, j := range columns {
			line = append(line, row[j])
		}
		t.Rows = append(t.Rows, line)
	}
	g := gridOf(t, m, false)
	per := false
	for j := range g.cols {
		short, cut := strings.CutSuffix(g.cols[j].unit, perThousand)
		g.cols[j].unit, per = short, per || cut
	}
	if per {
		g.caption = "Energy and money are per 1,000 answers."
	}
	for _, row := range g.rows {
		for j := range row {
			row[j].n, row[j].foot = "", 0
			if j > 0 && a.of[columns[j-1]-1].Price != "" {
				row[j].interval = ""
			}
		}
	}
	g.feet, g.notes = nil, nil
	return g
}
