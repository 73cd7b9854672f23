package cli

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"

	"assay/harness/experiment"
)

// printPreview prints what a run would do.
func printPreview(w io.Writer, p *experiment.Preview) {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"study", "model", "arm", "condition", "trials"})
	for _, c := range p.Counts {
		t.AppendRow(table.Row{c.Study, c.Model, c.Arm, c.Condition, c.Trials})
	}
	t.AppendFooter(table.Row{"", "", "", "in all", p.Trials})
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header, t.Style().Format.Footer = 0, 0
	fmt.Fprintln(w, t.Render())
	fmt.Fprint(w, printed("preview", p))
}
