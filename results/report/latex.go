package report

import (
	"fmt"
	"io"
	"strings"

	"assay/results"
	"assay/results/report/methods"
)

// latexNeeds stands at the head of every table's file.
const latexNeeds = "% needs \\usepackage{booktabs,graphicx}; other scripts than Latin need LuaLaTeX or XeLaTeX\n"

// wideTable is how many columns a table has before it is shrunk to the text's
// width.
const wideTable = 6

// LaTeX writes a table as a float with booktabs rules, a caption and the label
// tab:NAME. Intervals stand behind their values, in brackets.
func LaTeX(w io.Writer, t results.Table, m Meta) error {
	check([]results.Section{{Tables: []results.Table{t}}})
	g := newGrid(t, m)
	var b strings.Builder
	b.WriteString(latexNeeds + "\\begin{table}\n\\centering\n")
	caption := latex(strings.TrimPrefix(g.title, mark))
	if m.Synthetic() {
		caption = "\\textbf{SYNTHETIC} " + caption
	}
	if g.caption != "" {
		caption += ". " + latex(g.caption)
	}
	fmt.Fprintf(&b, "\\caption{%s}\n\\label{tab:%s}\n", caption, t.Name)
	shrink := len(g.cols) > wideTable
	if shrink {
		b.WriteString("\\resizebox{\\textwidth}{!}{%\n")
	}
	spec := ""
	var heads []string
	for _, c := range g.cols {
		head := latex(c.title)
		if c.unit != "" {
			head += " (" + latex(c.unit) + ")"
		}
		if c.numeric {
			spec += "r"
		} else {
			spec += "l"
		}
		heads = append(heads, head)
	}
	fmt.Fprintf(&b, "\\begin{tabular}{%s}\n\\toprule\n%s \\\\\n\\midrule\n", spec, lineStart(strings.Join(heads, " & ")))
	for _, row := range g.rows {
		var cells []string
		for _, c := range row {
			s := latex(c.text + c.value)
			if c.foot > 0 {
				s += fmt.Sprintf("\\textsuperscript{%d}", c.foot)
			}
			for _, part := range []string{c.interval, c.n} {
				if part != "" {
					s += " {\\footnotesize " + latex(part) + "}"
				}
			}
			cells = append(cells, s)
		}
		b.WriteString(lineStart(strings.Join(cells, " & ")) + " \\\\\n")
	}
	b.WriteString("\\bottomrule\n\\end{tabular}")
	if shrink {
		b.WriteString("}")
	}
	b.WriteString("\n")
	var feet []string
	for i, f := range g.feet {
		feet = append(feet, fmt.Sprintf("\\textsuperscript{%d} %s", i+1, latex(f)))
	}
	for _, n := range g.notes {
		feet = append(feet, lineStart(latex(n)))
	}
	if len(feet) > 0 {
		b.WriteString("\\par\\medskip\\parbox{\\textwidth}{\\footnotesize " + strings.Join(feet, "\\\\ ") + "}\n")
	}
	b.WriteString("\\end{table}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// lineStart keeps what follows a line's end from being its argument.
func lineStart(s string) string {
	if rest := strings.TrimLeft(s, " "); strings.HasPrefix(rest, "[") || strings.HasPrefix(rest, "*") {
		return "{}" + rest
	}
	return s
}

// LaTeXMethods writes the methods as paragraphs.
func LaTeXMethods(w io.Writer, m Meta, sections ...results.Section) error {
	var b strings.Builder
	for i, par := range methods.Paragraphs(m.Run, sections...) {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(latex(par) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// latex makes text plain in LaTeX.
func latex(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch r {
		case '\\':
			b.WriteString("\\textbackslash{}")
		case '{', '}', '$', '&', '#', '%', '_':
			b.WriteString("\\" + string(r))
		case '~':
			b.WriteString("\\textasciitilde{}")
		case '^':
			b.WriteString("\\textasciicircum{}")
		case '<':
			b.WriteString("\\textless{}")
		case '>':
			b.WriteString("\\textgreater{}")
		case '|':
			b.WriteString("\\textbar{}")
		case '`':
			b.WriteString("\\textasciigrave{}")
		case '\'':
			b.WriteString("\\textquotesingle{}")
		case '-':
			switch {
			case i > 0 && s[i-1] == '-': // two would be a dash
				b.WriteString("{}-")
			case (i == 0 || strings.IndexByte(" [(", s[i-1]) >= 0) && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9':
				b.WriteString("$-$")
			default:
				b.WriteByte('-')
			}
		case '—':
			b.WriteString("---")
		case '…':
			b.WriteString("\\ldots{}")
		case '·':
			b.WriteString("\\textperiodcentered{}")
		case '≥':
			b.WriteString("$\\geq$")
		case '≤':
			b.WriteString("$\\leq$")
		case '×':
			b.WriteString("$\\times$")
		case '±':
			b.WriteString("$\\pm$")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
