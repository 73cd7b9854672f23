package terminal

import (
	"cmp"
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"

	"assay/harness/preview"
	"assay/perturb"
	"assay/results/text"
)

// Sheet prints what was drawn.
func Sheet(w io.Writer, p *preview.Sheet) error {
	if len(p.Conditions) > 0 {
		t := table.NewWriter()
		t.SetStyle(table.StyleLight)
		t.Style().Format.Header = 0
		t.AppendHeader(table.Row{"condition", "target", "pixels changed", "mean", "max", "bytes"})
		for _, d := range p.Conditions {
			t.AppendRow(table.Row{d.Condition, cmp.Or(d.Target, "-"), fmt.Sprintf("%.1f %%", 100*d.Changed), fmt.Sprintf("%.2f", d.Mean), d.Max, d.Bytes})
		}
		fmt.Fprintln(w, t.Render())
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

// Ops prints the table of changes of pixels.
func Ops(w io.Writer, ops []perturb.Spec) error {
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
