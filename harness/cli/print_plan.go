package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"assay/harness/experiment"
	"assay/harness/study"
	"assay/results"
	"assay/results/stats"
)

// printPreview prints what a run would do.
func printPreview(w io.Writer, p *experiment.Preview) error {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"study", "model", "arm", "condition", "trials"})
	for _, c := range p.Counts {
		t.AppendRow(table.Row{c.Study, c.Model, c.Arm, c.Condition, c.Trials})
	}
	t.AppendFooter(table.Row{"", "", "", "in all", p.Trials})
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header, t.Style().Format.Footer = 0, 0
	fmt.Fprintln(w, t.Render())
	fmt.Fprintf(w, "stored already: %d in %s\n", p.Stored, p.Store)
	if p.Seconds != nil {
		fmt.Fprintf(w, "time to go: about %s (%s)\n", (time.Duration(*p.Seconds * float64(time.Second))).Round(time.Second), p.Why)
	} else {
		fmt.Fprintf(w, "time to go: %s\n", p.Why)
	}
	if p.Projection != nil && p.Projection.Seen > 0 {
		printProjection(w, p.Projection)
	}
	for _, r := range p.Sends {
		where := "stays on this machine"
		if !r.Loopback {
			where = "leaves for " + r.Address
		}
		fmt.Fprintf(w, "sent to %s (%s; %s): %s\n", r.Backend, strings.Join(append(slices.Clone(r.Models), r.Judges...), ", "), where, strings.Join(r.What, "; "))
	}
	for _, r := range p.Read {
		printReading(w, "dataset "+r.Dataset+": ", r.Guesses, r.Unused)
	}
	for _, l := range p.LeftOut {
		if l.Unlisted {
			fmt.Fprintf(w, "not asked: %s: %s: %s\n", l.Study, l.What, l.Why)
			continue
		}
		n := "unknown number of trials"
		if l.Trials != nil {
			n = results.Count(*l.Trials, "trial", "trials")
		}
		fmt.Fprintf(w, "left out: %s: %s: %s (%s)\n", l.Study, l.What, l.Why, n)
	}
	return nil
}

// printProjection says it in one line per quantity; what is not known says why.
func printProjection(w io.Writer, p *study.Projection) {
	if p == nil {
		return
	}
	line := func(what, unit string, e *results.Estimate) {
		if e.Value == nil {
			fmt.Fprintf(w, "  %s: unknown: %s\n", what, e.Why)
			return
		}
		s := stats.Significant(*e.Value, 3) + " " + unit
		if e.Low != nil {
			s += fmt.Sprintf(" [%s, %s]", stats.Significant(*e.Low, 3), stats.Significant(*e.High, 3))
		}
		if e.Invalid > 0 {
			s += fmt.Sprintf(" (from %d answers; of %d it is not known)", e.N, e.Invalid)
		}
		fmt.Fprintf(w, "  %s: %s\n", what, s)
	}
	fmt.Fprintf(w, "the whole plan, projected from %d stored answers (95 %% intervals over items; loading, warm-up and judging come on top):\n", p.Seen)
	line("time", "h", p.Hours)
	line("GPU time", "h", p.GPUHours)
	line("energy", "kWh", p.KWh)
	if p.KWh.Value != nil {
		fmt.Fprintf(w, "    of %s\n", p.EnergyOf)
	}
	if p.Building != "" {
		fmt.Fprintf(w, "    %s\n", p.Building)
	}
	if p.KgCO2 != nil {
		line("CO2", "kg", p.KgCO2)
	}
	line("money", p.Currency, p.Money)
	if p.GPUMoney.Value == nil || p.Electricity.Value == nil && p.Money.Value != nil {
		return // money is GPU time's alone, or nothing is known
	}
	line("  of GPU time", p.Currency, p.GPUMoney)
	line("  of electricity", p.Currency, p.Electricity)
}
