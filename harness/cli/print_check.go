package cli

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"assay/harness/check"
	"assay/results/stats"
)

// printCheck prints what the check of the instrument found.
func printCheck(out io.Writer, rows []check.Row) error {
	w := table.NewWriter()
	w.SetStyle(table.StyleLight)
	w.AppendHeader(table.Row{"compared", "what", "score", "truth", "found", "95 % CI", ""})
	numbers := []table.ColumnConfig{{Number: 4, Align: text.AlignRight}, {Number: 5, Align: text.AlignRight}, {Number: 6, Align: text.AlignRight}}
	w.SetColumnConfigs(numbers)
	equal, exact, inside, sampled := 0, 0, 0, 0
	for i, r := range rows {
		if i > 0 && r.Kind != rows[i-1].Kind {
			w.AppendSeparator()
		}
		found, interval, verdict := "none", "", "OFF"
		if r.Found != nil {
			found = stats.Significant(*r.Found, 4)
		}
		if r.Low != nil {
			interval = stats.Significant(*r.Low, 4) + " to " + stats.Significant(*r.High, 4)
		}
		switch {
		case r.Kind == check.Exact && r.OK:
			verdict = "equal"
		case r.OK:
			verdict = "inside"
		case r.Kind != check.Exact:
			verdict = "outside"
		}
		switch r.Kind {
		case check.Exact:
			exact++
			if r.OK {
				equal++
			}
		case check.Sampled:
			sampled++
			if r.OK {
				inside++
			}
		}
		w.AppendRow(table.Row{r.Kind, r.What, r.Score, stats.Significant(r.Truth, 4), found, interval, verdict})
	}
	least, _ := check.Bounds(sampled)
	_, err := fmt.Fprintf(out, "%s\n%d of %d scores without sampling equal the truth.\n%d of %d intervals hold what readers and judges were built to give (fewer than %d would be a fault).\n",
		w.Render(), equal, exact, inside, sampled, least)
	return err
}
