package cli

import (
	"fmt"
	"io"
	"strings"

	"assay/results"
	"assay/results/store"
	"assay/results/text"
)

// checked is what was found of a store, by line.
func checked(c store.Checked) []string {
	sums := "every page has a checksum"
	if !c.Checksums {
		sums = "its pages have no checksums (it is of an older assay, or no store): a changed value is not told from a true one; assay store salvage makes a store that has them"
	}
	lines := []string{fmt.Sprintf("%s: schema %d, %d pages; %s", c.Store, c.Schema, c.Pages, sums),
		fmt.Sprintf("%d trials and %d judgments can be read", c.Trials, c.Judgments)}
	if c.Foreign > 0 {
		lines = append(lines, fmt.Sprintf("%d pages were written by another program, after a run that did not end; the next assay run gives them checksums", c.Foreign))
	}
	if n := len(c.BadPages); n > 0 {
		list := fmt.Sprint(c.BadPages[:min(n, 20)])
		if n > 20 {
			list += " and more"
		}
		lines = append(lines, "damaged pages: "+list)
	}
	for _, p := range c.Problems {
		lines = append(lines, "! "+p)
	}
	if c.Whole {
		lines = append(lines, "whole")
	}
	return lines
}

// savedLines is what was saved of a damaged store, by line.
func savedLines(saved store.Saved) []string {
	lines := []string{fmt.Sprintf("%-14s %9s %11s %8s", "table", "saved", "unreadable", "dropped")}
	for _, t := range saved.Tables {
		lines = append(lines, fmt.Sprintf("%-14s %9d %11d %8d", t.Name, t.Rows, t.Unreadable, t.Dropped))
	}
	if !saved.Checksums {
		lines = append(lines, saved.From+" has no checksums: what was saved may hold changed values")
	}
	return append(lines, "saved in "+saved.To)
}

// printLines writes lines that hold names and texts of others.
func printLines(out io.Writer, lines []string) error {
	_, err := io.WriteString(out, text.VisibleLines(strings.Join(lines, "\n")+"\n"))
	return err
}

// mergedLines is what a merge says.
func mergedLines(m store.Merged) []string {
	lines := []string{fmt.Sprintf("%9s %9s  %s", "trials", "judgments", "store")}
	for _, s := range m.From {
		lines = append(lines, fmt.Sprintf("%9d %9d  %s", s.Trials, s.Judgments, s.Path))
	}
	lines = append(lines, fmt.Sprintf("%9d %9d  %s, with %s", m.Trials, m.Judgments, m.To, results.Count(m.Sessions, "call of run", "calls of run")))
	if m.Aside > 0 {
		lines = append(lines, fmt.Sprintf("%d were not taken, and are kept as events of kind %s:", m.Aside, store.SetAside))
		for _, e := range m.Examples {
			lines = append(lines, "  "+e)
		}
		if more := m.Aside - len(m.Examples); more > 0 {
			lines = append(lines, fmt.Sprintf("  and %d more", more))
		}
	}
	return append(lines, "energies and scores were made anew; next: assay report "+m.To)
}
