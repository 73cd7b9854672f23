package terminal

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"assay/harness/dataset/phantom/check"
	"assay/results/stats"
)

// Check prints what the check of the instrument found.
func Check(out io.Writer, rows []check.Row, covered []check.Covered) error {
	w := table.NewWriter()
	w.SetStyle(table.StyleLight)
	w.AppendHeader(table.Row{"compared", "what", "score", "truth", "found", "95 % interval", ""})
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
	if _, err := fmt.Fprintf(out, "%s\n%d of %d scores without sampling equal the truth.\n%d of %d intervals hold what readers and judges were built to give (fewer than %d would be a fault).\n",
		w.Render(), equal, exact, inside, sampled, least); err != nil {
		return err
	}
	if covered == nil {
		return nil
	}
	w = table.NewWriter()
	w.SetStyle(table.StyleLight)
	w.AppendHeader(table.Row{"score", "truth", "mean of estimates", "intervals that hold it", "%", ""})
	w.SetColumnConfigs([]table.ColumnConfig{{Number: 2, Align: text.AlignRight}, {Number: 3, Align: text.AlignRight}, {Number: 4, Align: text.AlignRight}, {Number: 5, Align: text.AlignRight}})
	within := 0
	for _, v := range covered {
		verdict := "OFF"
		if v.OK {
			verdict = "ok"
			within++
		}
		w.AppendRow(table.Row{v.Score, stats.Significant(v.Truth, 4), stats.Significant(v.Mean, 4), fmt.Sprintf("%d of %d", v.Inside, v.Stores),
			stats.Fixed(100*float64(v.Inside)/float64(max(1, v.Stores)), 1), verdict})
	}
	least, most := check.Bounds(covered[0].Stores)
	_, err := fmt.Fprintf(out, "\n%s\n%d of %d scores have %d to %d intervals that hold the truth.\n", w.Render(), within, len(covered), least, most)
	return err
}
