package cli

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"assay/harness/experiment"
)

// printPrompts prints the table of prompts, without their texts.
func printPrompts(w io.Writer, all []experiment.Prompt) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = 0
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 3, WidthMax: 90, WidthMaxEnforcer: text.WrapSoft}})
	t.AppendHeader(table.Row{"study", "prompt", "its template may use"})
	for _, p := range all {
		t.AppendRow(table.Row{p.Study, p.Name, p.Uses})
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}
