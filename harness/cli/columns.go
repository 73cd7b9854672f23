package cli

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"assay/results"
)

// printColumns says what the columns of an export are.
func printColumns(w io.Writer, cols []results.FileColumn) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = 0
	t.AppendHeader(table.Row{"column", "kind", "unit", "what it is"})
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 4, WidthMax: 80, WidthMaxEnforcer: text.WrapSoft}})
	for _, c := range cols {
		t.AppendRow(table.Row{c.Name, c.Kind, c.Unit, c.Help})
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}
