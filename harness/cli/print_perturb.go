package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"assay/perturb"
	"assay/results/text"
)

// printSheet prints what was drawn.
func printSheet(w io.Writer, p *sheet) error {
	if len(p.Conditions) > 0 {
		t := table.NewWriter()
		t.SetStyle(table.StyleLight)
		t.Style().Format.Header = 0
		t.AppendHeader(table.Row{"condition", "points to", "pixels changed", "mean change", "largest", "bytes", "what is done"})
		for _, d := range p.Conditions {
			t.AppendRow(table.Row{d.Condition, cmp.Or(d.Target, "-"), fmt.Sprintf("%.1f %%", 100*d.Changed), fmt.Sprintf("%.2f", d.Mean), d.Max, d.Bytes, d.Does})
		}
		fmt.Fprintln(w, t.Render())
		fmt.Fprintln(w, changes)
	}
	for _, d := range p.Conditions {
		if d.Cue != "" {
			fmt.Fprintf(w, "%s says: %s\n", d.Condition, text.Visible(d.Cue))
		}
	}
	for _, l := range p.LeftOut {
		fmt.Fprintf(w, "left out: %s: %s\n", l.Condition, l.Why)
	}
	if len(p.Grid) > 0 {
		inside := 0
		for _, c := range p.Grid {
			if c.Inside {
				inside++
			}
		}
		fmt.Fprintf(w, "grid: %d cells of about %dx%d pixels, %d with their middle in a region\n", len(p.Grid), p.Grid[0].Box[2]-p.Grid[0].Box[0], p.Grid[0].Box[3]-p.Grid[0].Box[1], inside)
	}
	_, err := fmt.Fprintf(w, "%s, %dx%d pixels: written to %s\n", text.Visible(p.Name), p.Width, p.Height, p.Out)
	return err
}

// changes says what the columns of differences are.
const changes = "changes are those of grey or colour levels (0 to 255) against the baseline; the mean is over all pixels"

// printLevels prints what was drawn of a sweep, a picture after the other. note is said
// below where something was drawn in a region.
func printLevels(w io.Writer, sheets []*sheet, note string) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = 0
	drawn, does, name, out := false, "", "", ""
	for i, p := range sheets {
		out = p.Out
		if i > 0 {
			t.AppendSeparator()
		}
		for _, d := range p.Conditions {
			if i == 0 && name == "" {
				t.AppendHeader(table.Row{"image", d.Param, "pixels changed", "mean change", "largest", "bytes"})
				name, _, _ = strings.Cut(d.Condition, "@")
				does = d.Does
			}
			t.AppendRow(table.Row{text.Visible(p.Name), d.Level, fmt.Sprintf("%.1f %%", 100*d.Changed), fmt.Sprintf("%.2f", d.Mean), d.Max, d.Bytes})
			drawn = drawn || len(d.Boxes) > 0
		}
	}
	lines := []string{t.Render(), changes, name + ": " + does}
	if drawn && note != "" {
		lines = append(lines, note)
	}
	return printLines(w, append(lines, "written to "+out))
}

// printPerturbations prints all conditions, and the table of changes of pixels.
func printPerturbations(w io.Writer, all perturbations) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = 0
	t.AppendHeader(table.Row{"study", "condition", "what it does", "with all", "op", "can be swept"})
	study := ""
	for _, c := range all.Conditions {
		if study != "" && study != c.Study {
			t.AppendSeparator()
		}
		study = c.Study
		asked := "yes"
		if c.Control {
			asked = "by name"
		}
		t.AppendRow(table.Row{c.Study, c.Condition, c.Does, asked, cmp.Or(c.Op, "-"), strings.Join(c.Params, ", ")})
	}
	fmt.Fprintln(w, t.Render())
	fmt.Fprintln(w, "+ points to the gold answer, - to a wrong one; conditions: all in bench.yaml leaves out those that are asked for by name")
	return ops(w, all.Ops)
}

func ops(w io.Writer, ops []perturb.Spec) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = 0
	t.AppendHeader(table.Row{"op", "what it does", "parameter", "range", "default"})
	for _, op := range ops {
		t.AppendSeparator()
		name, does := op.Name, op.Does
		for _, p := range op.Params {
			t.AppendRow(table.Row{name, does, p.Name, p.Range(), p.Default})
			name, does = "", ""
		}
		if name != "" {
			t.AppendRow(table.Row{name, does})
		}
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}
