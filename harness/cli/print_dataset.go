package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"assay/harness/dataset"
	"assay/harness/experiment"
	"assay/results"
)

// printSummary prints what there is in a data set, and what is wrong with it.
func printSummary(w io.Writer, path string, sum dataset.Summary) error {
	for _, p := range sum.Problems {
		fmt.Fprintln(w, p.Error())
	}
	for _, m := range sum.Made {
		fmt.Fprintf(w, "%s: %s\n", results.Count(m.Items, "image", "images"), m.Name)
	}
	printReading(w, "", sum.Guesses, sum.Unused)
	for _, g := range sum.Gaps {
		fmt.Fprintf(w, "knowledge base: %q with the answer %q, %d items: %s\n", g.Question, g.Answer, g.Items, g.Why)
	}
	fmt.Fprintf(w, "%s: %s, %d items, %d images, digest %s\n", path, sum.Kind, sum.Items, sum.Images, sum.Digest)
	for _, group := range []struct {
		name   string
		counts []dataset.Count
	}{{"type", sum.Types}, {"task", sum.Tasks}, {"modality", sum.Modalities}} {
		if len(group.counts) == 0 {
			continue
		}
		t := table.NewWriter()
		t.SetStyle(table.StyleLight)
		t.Style().Format.Header = 0
		t.AppendHeader(table.Row{group.name, "items"})
		for _, n := range group.counts {
			t.AppendRow(table.Row{n.Name, n.Items})
		}
		fmt.Fprintln(w, t.Render())
	}
	return nil
}

// printReading says how a data set is read: what nobody said of its columns, and which are not used.
func printReading(w io.Writer, of string, guesses, unused []string) {
	for _, g := range guesses {
		fmt.Fprintln(w, of+"guessed:", g)
	}
	if len(unused) > 0 {
		fmt.Fprintf(w, "%snot used: %s\n", of, strings.Join(unused, ", "))
	}
}

// printProblems says which rows of the data sets were left out.
func printProblems(w io.Writer, b *experiment.Bench) {
	for _, d := range b.Config.Datasets {
		set := b.Sets[d.Name]
		if set == nil || len(set.Problems) == 0 {
			continue
		}
		fmt.Fprintf(w, "dataset %s: %d problems, the rows are left out; assay dataset check %s lists all:\n", d.Name, len(set.Problems), d.Path)
		for i, p := range set.Problems {
			if i == 5 {
				fmt.Fprintf(w, "  and %d more\n", len(set.Problems)-i)
				break
			}
			fmt.Fprintln(w, " ", p.Error())
		}
	}
}
