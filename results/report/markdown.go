package report

import (
	"fmt"
	"io"
	"strings"

	"assay/results"
)

// Markdown prints the sections in GitHub's Markdown.
func Markdown(w io.Writer, sections []results.Section, m Meta) error {
	check(sections)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", escape(visible(m.Title)))
	if s := m.banner(); s != "" {
		fmt.Fprintf(&b, "> **%s**\n\n", escape(s))
	}
	fmt.Fprintf(&b, "%s\n", escape(reading))
	for i, s := range append(sections[:len(sections):len(sections)], methods(m, true)) {
		fmt.Fprintf(&b, "\n## %s\n", escape(visible(s.Title)))
		if s.Intro != "" {
			for _, par := range strings.Split(s.Intro, "\n") {
				fmt.Fprintf(&b, "\n%s\n", begin(escape(visible(par))))
			}
		}
		if len(s.Notes) > 0 {
			b.WriteString("\n")
		}
		for _, n := range s.Notes {
			fmt.Fprintf(&b, "- %s\n", begin(escape(visible(n))))
		}
		meta := m
		if i == len(sections) {
			meta = Meta{} // what was run is no result
		}
		for _, t := range s.Tables {
			markdownGrid(&b, newGrid(t, meta))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownGrid(b *strings.Builder, g grid) {
	fmt.Fprintf(b, "\n**%s**\n\n", escape(g.title))
	if g.caption != "" {
		fmt.Fprintf(b, "%s\n\n", begin(escape(g.caption)))
	}
	rule := ""
	for _, c := range g.cols {
		title := escape(c.title)
		if c.unit != "" {
			title += " (" + escape(c.unit) + ")"
		}
		fmt.Fprintf(b, "| %s ", title)
		if c.numeric {
			rule += "| ---: "
		} else {
			rule += "| :--- "
		}
	}
	fmt.Fprintf(b, "|\n%s|\n", rule)
	for _, row := range g.rows {
		for _, c := range row {
			c.text = escape(c.text) // the rest is ours
			fmt.Fprintf(b, "| %s ", c.line())
		}
		b.WriteString("|\n")
	}
	if len(g.feet)+len(g.notes) > 0 {
		b.WriteString("\n")
	}
	for i, f := range g.feet {
		fmt.Fprintf(b, "%s %s  \n", superscript(i+1), escape(f))
	}
	for _, n := range g.notes {
		fmt.Fprintf(b, "%s  \n", begin(escape(n)))
	}
	var help []string
	for _, c := range g.cols {
		if c.help != "" {
			help = append(help, "*"+escape(c.title)+"*: "+escape(c.help))
		}
	}
	if len(help) > 0 {
		fmt.Fprintf(b, "\nColumns: %s.\n", strings.Join(help, "; "))
	}
}

// escape makes text plain in Markdown: no markup, no HTML, no links, neither
// written out nor recognised.
func escape(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case strings.ContainsRune("\\`*_{}[]<>()#|~$@", r), r == '&', r == '!':
			b.WriteByte('\\')
		case r == ':' && strings.HasPrefix(s[i:], "://"), r == '.' && strings.HasSuffix(strings.ToLower(s[:i]), "www"):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// begin keeps the beginning of a line from being a list or a heading.
func begin(s string) string {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits < len(s) && strings.IndexByte("+-=.)", s[digits]) >= 0 {
		return s[:digits] + "\\" + s[digits:]
	}
	return s
}
