package report

import (
	"fmt"
	"io"
	"strings"

	"assay/results"
)

// markdown prints the report in GitHub's Markdown. Its figures are those that
// Write puts beside it.
func markdown(w io.Writer, sections []results.Section, m Meta) error {
	check(sections)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", escape(visible(m.Title)))
	if s := m.banner(); s != "" {
		fmt.Fprintf(&b, "> **%s**\n\n", escape(s))
	}
	list := func(title string, found []finding) {
		if len(found) == 0 {
			return
		}
		fmt.Fprintf(&b, "## %s\n\n", title)
		for _, f := range found {
			fmt.Fprintf(&b, "- %s\n", begin(escape(f.Text)))
		}
		b.WriteString("\n")
	}
	if a := MainResults(sections); a != nil {
		fmt.Fprintf(&b, "## %s\n\n", escape(visible(a.Table.Title)))
		for _, s := range a.Says {
			fmt.Fprintf(&b, "- %s\n", begin(escape(s)))
		}
		for _, t := range append([]results.Table{a.Table}, a.Whole...) {
			markdownGrid(&b, newGrid(t, m))
		}
		if a.Figure != nil {
			fmt.Fprintf(&b, "\n![%s](figures/%s.svg)\n", escape(visible(a.Figure.Alt)), a.Figure.Name)
		}
		b.WriteString("\n")
		sections = below(sections)
	}
	list("Findings", findingsOf(sections))
	first, rest := Distrust(sections, m.Run)
	list("Caveats", first)
	list("More caveats", rest)
	fmt.Fprintf(&b, "%s\n", escape(reading))
	for i, s := range sections {
		heading := "##"
		if i > 0 && s.Study != "" && s.Study == sections[i-1].Study {
			heading = "###"
		}
		markdownSection(&b, heading, s, m)
	}
	markdownExamples(&b, m)
	markdownSection(&b, "##", section(m.Run, true, sections...), Meta{}) // what was run is no result
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownSection(b *strings.Builder, heading string, s results.Section, m Meta) {
	fmt.Fprintf(b, "\n%s %s\n", heading, escape(visible(s.Title)))
	if s.Intro != "" {
		for _, par := range strings.Split(s.Intro, "\n") {
			fmt.Fprintf(b, "\n%s\n", begin(escape(visible(par))))
		}
	}
	for _, f := range s.Figures {
		f = visibleFigure(f)
		fmt.Fprintf(b, "\n**%s**\n", escape(m.caption(f.Title)))
		if !empty(f) {
			fmt.Fprintf(b, "\n![%s](figures/%s.svg)\n", escape(f.Alt), f.Name)
		}
		if words := figureWords(f); len(words) > 0 {
			fmt.Fprintf(b, "\n%s\n", begin(escape(strings.Join(words, " "))))
		}
	}
	for _, t := range s.Tables {
		markdownGrid(b, newGrid(t, m))
	}
}

func markdownExamples(b *strings.Builder, m Meta) {
	if len(m.Examples) == 0 {
		return
	}
	b.WriteString("\n## Examples\n\nSingle trials, whole, as an illustration: they are no sample.\n")
	text := func(title, s string) {
		if s != "" {
			fmt.Fprintf(b, "\n*%s:* %s\n", title, escape(visible(s)))
		}
	}
	for _, e := range m.Examples {
		fmt.Fprintf(b, "\n### %s\n", escape(m.caption(visible(e.Model+", "+e.Item+" ("+e.Study+")"))))
		text("Chosen", e.Why)
		text("Question", e.Question)
		text("Gold answer", e.Gold)
		for _, v := range e.Views {
			fmt.Fprintf(b, "\n#### %s\n", escape(visible(strings.TrimSuffix("arm "+v.Key.Arm+", condition "+v.Key.Condition, ", condition "))))
			if v.Failure != nil {
				text("Failure", v.Failure.Kind+": "+v.Failure.Message)
			}
			if v.Output != nil {
				text("Reasoning channel", v.Output.Reasoning)
				text("Answer", v.Output.Answer)
			}
			for _, j := range v.Judgments {
				fmt.Fprintf(b, "\n- %s\n", escape(visible(fmt.Sprintf("%s by %s: %s %s %s", j.Rubric, j.Judge, j.Status, j.Verdict, j.Detail))))
			}
		}
	}
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
