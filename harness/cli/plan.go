package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"assay/harness/experiment"
)

func (s streams) planCommand() *cli.Command {
	return &cli.Command{
		Name:        "plan",
		Usage:       "print what a run would do: trials, time, and what is left out",
		Description: "Nothing is sent. The time is estimated from answers that are already stored; without any it is unknown, not guessed.",
		Flags:       append([]cli.Flag{configFlag(), jsonFlag()}, filterFlags()...),
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			f, err := filterOf(c)
			if err != nil {
				return err
			}
			b, p, err := loadPlanned(c, f)
			if err != nil {
				return err
			}
			pre, err := b.Preview(c.Context, p)
			if err != nil {
				return environment(err)
			}
			if c.Bool("json") {
				return s.json(pre)
			}
			return printPreview(s.out, pre)
		},
	}
}

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
	for _, l := range p.LeftOut {
		n := "unknown number of"
		if l.Trials != nil {
			n = fmt.Sprint(*l.Trials)
		}
		fmt.Fprintf(w, "left out: %s: %s: %s (%s trials)\n", l.Study, l.What, l.Why, n)
	}
	return nil
}
