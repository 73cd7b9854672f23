package cli

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	"assay/harness/compare"
	"assay/results/stats"
	"assay/results/text"
)

// printCompared prints comparisons, one below the other.
func (s streams) printCompared(all []*compare.Comparison) error {
	for i, c := range all {
		if i > 0 {
			fmt.Fprintln(s.Out)
		}
		if err := s.print("compared", c); err != nil {
			return err
		}
		if len(c.Rows) > 0 {
			t := table.NewWriter()
			t.SetStyle(table.StyleLight)
			t.AppendHeader(table.Row{"study", "model", "arm", "condition", "score", "A", "B", "B - A [95 %]", "n", "p (Holm)", ""})
			for _, r := range c.Rows {
				name := r.Score
				if r.Judge != "" {
					name += " by " + r.Judge
				}
				t.AppendRow(table.Row{text.Visible(r.Study), text.Visible(r.Model), text.Visible(r.Arm), text.Visible(r.Condition), text.Visible(name),
					stats.Significant(r.A, 4), stats.Significant(r.B, 4), r.Difference(), r.Items, r.Chance(), r.Direction()})
			}
			if _, err := fmt.Fprintln(s.Out, t.Render()); err != nil {
				return err
			}
		}
		if err := s.print("moved", c); err != nil {
			return err
		}
	}
	return nil
}
