// Latex_table sets tables and paragraphs for a paper: booktabs rules, intervals under
// their values, as much on a line as fits the text's width.
//
//  1. A table that fits in one column of a page of two is a table, a wider one a table*.
//  2. One that is wider than the text is broken into panels under each other, which
//     repeat the columns that name a row.
//  3. One that is longer than a page is a longtable.
//
// Nothing is scaled: a table in another size than its paper is the first thing that a
// journal sends back.

package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// latexTable is a table that is to be set; no text in it is LaTeX yet.
type latexTable struct {
	Name    string // of its label: tab:NAME
	Marked  string // printed bold before the caption
	Caption string
	Columns []latexColumn
	Rows    [][]latexCell
	Feet    []string // the first is footnote 1
	Notes   []string
}

// latexColumn is one of a table.
type latexColumn struct {
	Title, Unit string
	Numeric     bool
	Lead        bool // names the row: repeated in each panel
}

// latexCell is a value with what stands under it.
type latexCell struct {
	Value, Under string
	Foot         int // footnote; 0: none
	Bold         bool
}

const (
	textWidth      = 345. // pt, of the article class at 10 pt
	columnWidth    = 0.45 * textWidth
	mostText       = 130. // pt of a column of words, which is broken
	latexLeastText = 45.
	latexMostLines = 44 // of a table on one page
)

// size is one that a table is set in, and how wide a digit of Computer Modern is in it,
// in pt, and in what stands under values, which is scriptsize.
type size struct {
	command           string
	gap               float64 // pt at each side of a column
	digit, underDigit float64
}

func sizes() []size {
	return []size{{"small", 3, 4.75, 4.1}, {"footnotesize", 2, 4.35, 4.1}}
}

// set is how wide a text is set whose digits have a width.
func set(text string, digit float64) float64 {
	w := 0.
	for _, r := range text {
		switch {
		case r == 'm' || r == 'M' || r == 'W' || r == '%' || r == '+' || r == '—':
			w += 1.7 * digit
		case r == '-' || r >= 'A' && r <= 'Z':
			w += 1.5 * digit
		case r == ' ' || r == ',' || r == '.' || r == '[' || r == ']':
			w += 0.7 * digit
		default:
			w += digit
		}
	}
	return w
}

// writeLaTeX writes a table.
func writeLaTeX(w io.Writer, t latexTable) error {
	var b strings.Builder
	lead := 0
	for lead < len(t.Columns) && t.Columns[lead].Lead {
		lead++
	}
	if lead == len(t.Columns) {
		lead = min(1, lead)
	}
	s, panels := t.layout(lead)
	caption := escapeLaTeX(t.Caption)
	if t.Marked != "" {
		caption = "\\textbf{" + escapeLaTeX(t.Marked) + "} " + caption
	}
	var feet []string
	for i, f := range t.Feet {
		feet = append(feet, fmt.Sprintf("\\textsuperscript{%d} %s", i+1, escapeLaTeX(f)))
	}
	for _, n := range t.Notes {
		feet = append(feet, lineStart(escapeLaTeX(n)))
	}
	below := ""
	if len(feet) > 0 {
		below = "{\\footnotesize\\raggedright " + strings.Join(feet, "\\\\ ") + "\\par}\n"
	}
	if t.lines()*len(panels) > latexMostLines {
		b.WriteString("% needs \\usepackage{booktabs,longtable}, and a page of one column; other scripts than Latin need LuaLaTeX or XeLaTeX\n")
		fmt.Fprintf(&b, "{\\%s\\setlength{\\tabcolsep}{%.0fpt}\n", s.command, s.gap)
		for i, cols := range panels {
			above := ""
			if i == 0 {
				above = fmt.Sprintf("\\caption{%s}\\label{tab:%s} \\\\\n", caption, t.Name)
			}
			t.panel(&b, "longtable", above, cols, s)
		}
		b.WriteString(below + "}\n")
	} else {
		env := "table*"
		if len(panels) == 1 && t.width(panels[0], s) <= columnWidth {
			env = "table"
		}
		b.WriteString("% needs \\usepackage{booktabs}; other scripts than Latin need LuaLaTeX or XeLaTeX\n")
		fmt.Fprintf(&b, "\\begin{%s}\n\\centering\n\\caption{%s}\n\\label{tab:%s}\n\\%s\\setlength{\\tabcolsep}{%.0fpt}\n", env, caption, t.Name, s.command, s.gap)
		for i, cols := range panels {
			if i > 0 {
				b.WriteString("\\par\\medskip\n")
			}
			t.panel(&b, "tabular", "", cols, s)
		}
		if below != "" {
			b.WriteString("\\par\\medskip\n" + below)
		}
		fmt.Fprintf(&b, "\\end{%s}\n", env)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// layout is the largest size in which the table fits, and its columns; where it fits in
// none, panels of the smallest.
func (t *latexTable) layout(lead int) (size, [][]int) {
	var all []int
	for j := range t.Columns {
		all = append(all, j)
	}
	for _, s := range sizes() {
		if t.width(all, s) <= textWidth {
			return s, [][]int{all}
		}
	}
	s := sizes()[len(sizes())-1]
	for lead > 1 && t.width(all[:lead], s) > textWidth/2 {
		lead-- // what names the row leaves room for what it says
	}
	var panels [][]int
	for rest := all[lead:]; len(rest) > 0; {
		take := len(rest)
		for take > 1 && t.width(append(all[:lead:lead], rest[:take]...), s) > textWidth {
			take--
		}
		panels = append(panels, append(all[:lead:lead], rest[:take]...))
		rest = rest[take:]
	}
	return s, panels
}

func (t *latexTable) width(cols []int, s size) float64 {
	sum := 0.
	for _, j := range cols {
		sum += t.natural(j, s) + 2*s.gap
	}
	return sum
}

// natural is how wide a column is, in pt.
func (t *latexTable) natural(j int, s size) float64 {
	w := 0.
	for _, line := range t.head(j) {
		w = max(w, set(line, s.digit))
	}
	for _, row := range t.Rows {
		v := set(row[j].Value, s.digit)
		if row[j].Foot > 0 {
			v += s.underDigit
		}
		w = max(w, v, set(row[j].Under, s.underDigit))
	}
	if !t.Columns[j].Numeric {
		w = max(latexLeastText, min(w, mostText))
	}
	return w
}

// head is the lines above a column: the words of its title, as long as others make it
// anyway, and its unit.
func (t *latexTable) head(j int) []string {
	c := t.Columns[j]
	most := 8
	if !c.Numeric {
		most = 24
	}
	for _, row := range t.Rows {
		most = min(16, max(most, utf8.RuneCountInString(row[j].Value)))
	}
	lines := latexFold(c.Title, most)
	if c.Unit != "" {
		lines = append(lines, latexFold(c.Unit, most)...)
	}
	return lines
}

func latexFold(s string, most int) []string {
	var lines []string
	for _, word := range strings.Fields(s) {
		n := len(lines)
		if n > 0 && utf8.RuneCountInString(lines[n-1])+1+utf8.RuneCountInString(word) <= most {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// lines is how many the rows take.
func (t *latexTable) lines() int {
	n := 0
	for i, row := range t.Rows {
		each := 1
		for j, c := range row {
			if !t.Columns[j].Numeric {
				each = max(each, 1+int(set(c.Value, sizes()[0].digit)/mostText))
			}
		}
		if t.under(i) {
			each = max(each, 2)
		}
		n += each
	}
	return n
}

// under says whether anything stands under a value of a row.
func (t *latexTable) under(i int) bool {
	for _, c := range t.Rows[i] {
		if c.Under != "" {
			return true
		}
	}
	return false
}

// panel writes some columns of all rows.
func (t *latexTable) panel(b *strings.Builder, env, above string, cols []int, s size) {
	spec, tall := "", 0
	heads, broken := make([][]string, len(cols)), make([]bool, len(cols)) // once: both look at all rows
	for k, j := range cols {
		heads[k] = t.head(j)
		tall = max(tall, len(heads[k]))
		broken[k] = !t.Columns[j].Numeric && t.natural(j, s) >= mostText
		switch {
		case t.Columns[j].Numeric:
			spec += "r"
		case broken[k]:
			spec += fmt.Sprintf("p{%.0fpt}", mostText)
		default:
			spec += "l"
		}
	}
	var head strings.Builder
	for line := range tall {
		var cells []string
		for _, lines := range heads {
			cell := ""
			if k := line - (tall - len(lines)); k >= 0 {
				cell = escapeLaTeX(lines[k])
			}
			cells = append(cells, cell)
		}
		head.WriteString(lineStart(strings.Join(cells, " & ")) + " \\\\\n")
	}
	rules := "\\toprule\n" + head.String() + "\\midrule\n"
	fmt.Fprintf(b, "\\begin{%s}{%s}\n%s%s", env, spec, above, rules)
	if env == "longtable" {
		b.WriteString("\\endhead\n\\bottomrule\n\\endfoot\n")
	}
	for i, row := range t.Rows {
		var values, under []string
		for k, j := range cols {
			c := row[j]
			v := escapeLaTeX(c.Value)
			if broken[k] {
				v = breakable(c.Value)
			}
			if c.Bold {
				v = "\\textbf{" + v + "}"
			}
			if c.Foot > 0 {
				v += fmt.Sprintf("\\textsuperscript{%d}", c.Foot)
			}
			values = append(values, v)
			u := ""
			if c.Under != "" {
				u = "{\\scriptsize " + escapeLaTeX(c.Under) + "}"
			}
			under = append(under, u)
		}
		b.WriteString(lineStart(strings.Join(values, " & ")) + " \\\\\n")
		if strings.Join(under, "") != "" {
			b.WriteString(lineStart(strings.Join(under, " & ")) + " \\\\\n")
			if i < len(t.Rows)-1 {
				b.WriteString("\\addlinespace\n")
			}
		}
	}
	if env == "tabular" {
		b.WriteString("\\bottomrule\n")
	}
	fmt.Fprintf(b, "\\end{%s}\n", env)
}

// breakable is a text whose long words may be broken, as paths and digests are.
func breakable(s string) string {
	const most = 14 // runes
	var words []string
	for _, word := range strings.Split(s, " ") {
		var parts []string
		for utf8.RuneCountInString(word) > most+4 {
			r := []rune(word)
			parts, word = append(parts, escapeLaTeX(string(r[:most]))), string(r[most:])
		}
		words = append(words, strings.Join(append(parts, escapeLaTeX(word)), "\\allowbreak{}"))
	}
	return strings.Join(words, " ")
}

// lineStart keeps what follows a line's end from being its argument.
func lineStart(s string) string {
	if rest := strings.TrimLeft(s, " "); strings.HasPrefix(rest, "[") || strings.HasPrefix(rest, "*") {
		return "{}" + rest
	}
	return s
}

// escapeLaTeX makes text plain in LaTeX.
func escapeLaTeX(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch r {
		case '{', '}', '$', '&', '#', '%', '_':
			b.WriteString("\\" + string(r))
		case '-':
			switch {
			case i > 0 && s[i-1] == '-': // two would be a dash
				b.WriteString("{}-")
			case (i == 0 || strings.IndexByte(" [(", s[i-1]) >= 0) && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9':
				b.WriteString("$-$")
			default:
				b.WriteByte('-')
			}
		default:
			b.WriteString(cmp.Or(special(r), string(r)))
		}
	}
	return b.String()
}

// special is how a character is written that has a command of its own; "": as it is.
func special(r rune) string {
	switch r {
	case '\\':
		return "\\textbackslash{}"
	case '~':
		return "\\textasciitilde{}"
	case '^':
		return "\\textasciicircum{}"
	case '<':
		return "\\textless{}"
	case '>':
		return "\\textgreater{}"
	case '|':
		return "\\textbar{}"
	case '`':
		return "\\textasciigrave{}"
	case '\'':
		return "\\textquotesingle{}"
	case '—':
		return "---"
	case '…':
		return "\\ldots{}"
	case '·':
		return "\\textperiodcentered{}"
	case '≥':
		return "$\\geq$"
	case '≤':
		return "$\\leq$"
	case '×':
		return "$\\times$"
	case '±':
		return "$\\pm$"
	case 'µ', 'μ':
		return "$\\mu$"
	case '→':
		return "$\\rightarrow$"
	case 'κ':
		return "$\\kappa$"
	}
	return ""
}
