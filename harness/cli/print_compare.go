package cli

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"

	"assay/harness/compare"
	"assay/results/stats"
	"assay/results/text"
)

// printCompared prints comparisons, one below the other.
func printCompared(out io.Writer, all []*compare.Comparison) error {
	for i, c := range all {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := printLines(out, comparisonHead(c)); err != nil {
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
			if _, err := fmt.Fprintln(out, t.Render()); err != nil {
				return err
			}
		}
		if err := printLines(out, movedLines(c)); err != nil {
			return err
		}
	}
	return nil
}

func comparisonHead(c *compare.Comparison) []string {
	lines := []string{fmt.Sprintf("A %s, B %s: %d trials in both, %d only in A, %d only in B", c.A, c.B, c.Pairs, c.OnlyA, c.OnlyB)}
	for _, why := range c.Synthetic {
		lines = append(lines, "!! Synthetic results: "+why)
	}
	for _, n := range c.Notes {
		if n == compare.LeftOut {
			n += "; --times compares them all the same"
		}
		lines = append(lines, "note: "+n)
	}
	switch {
	case c.Changed == 0:
		lines = append(lines, fmt.Sprintf("nothing changed beyond noise in %d rows", c.Within+len(c.Rows)))
	case c.Within > 0:
		lines = append(lines, fmt.Sprintf("%d of %d rows changed beyond noise; --all prints the others", c.Changed, c.Changed+c.Within))
	}
	return lines
}

func movedLines(c *compare.Comparison) []string {
	var lines []string
	for _, r := range c.Rows {
		if !r.Changed || len(r.Moved) == 0 {
			continue
		}
		line := fmt.Sprintf("%s %s, %s, %s, %s:", r.Study, r.Score, r.Model, r.Arm, r.Condition)
		for _, m := range r.Moved {
			line += fmt.Sprintf(" %s %s -> %s;", m.Item, stats.Significant(m.A, 3), stats.Significant(m.B, 3))
		}
		lines = append(lines, line[:len(line)-1])
	}
	if len(lines) > 0 {
		lines = append([]string{"items that changed most:"}, lines...)
	}
	return lines
}
