package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"assay/harness/fleet"
	"assay/harness/run"
	"assay/results/text"
)

// Watch is the command watch.
func (s fleetCommands) Watch() *cli.Command {
	return &cli.Command{
		Name: "watch",
		Flags: []cli.Flag{databaseFlag(), experimentFlag(), jsonFlag(),
			&cli.BoolFlag{Name: "once", Usage: "look once, and print the table"},
			&cli.DurationFlag{Name: "every", Usage: "look every `TIME`", Value: 30 * time.Second},
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			every := c.Duration("every")
			if every < time.Second || every > time.Hour {
				return usage("watch: --every: expected a time from 1s to 1h, found %s", every)
			}
			f, e, err := chosen(c)
			if err != nil {
				return err
			}
			defer f.Close()
			w := &fleet.Watch{From: f, Experiment: e.ID}
			if !c.Bool("json") && !c.Bool("once") {
				_, terminal := interactive(s.Out)
				return s.follow(c.Context, w, e.Name, every, terminal)
			}
			now, err := w.Look(c.Context)
			if err != nil {
				return environment(err)
			}
			if !c.Bool("json") {
				fmt.Fprintln(s.Out, looked(e.Name, now))
			} else if err := s.JSON(map[string]any{"experiment": e.Name, "now": now}); err != nil {
				return err
			}
			return given(now)
		},
	}
}

// given is what a look means for the exit code.
func given(now fleet.Snapshot) error {
	if n := now.FailedSlices(); n > 0 {
		return failures("%s failed on every worker that tried; assay fleet submit offers them again", plural(n, "slice"))
	}
	return nil
}

// follow looks until nothing is left. A database that does not answer for a while ends
// nothing but the first look.
func (s fleetCommands) follow(ctx context.Context, w *fleet.Watch, name string, every time.Duration, terminal bool) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	seen := false
	for {
		now, err := w.Look(ctx)
		switch {
		case ctx.Err() != nil:
			return interrupted("watching ended; the workers go on")
		case err != nil && !seen:
			return environment(err)
		case err != nil:
			fmt.Fprintln(s.Err, "the database does not answer; asking again:", err)
		default:
			seen = true
			if terminal {
				fmt.Fprintf(s.Out, "%s %s\n\n", now.At.Format(time.TimeOnly), looked(name, now))
			} else {
				fmt.Fprintf(s.Out, "%s %s: %s\n", now.At.Format(time.TimeOnly), text.Visible(name), now.Headline(run.Rough))
			}
			if now.Over() || now.Unjudged() {
				return given(now)
			}
		}
		select {
		case <-ctx.Done():
			return interrupted("watching ended; the workers go on")
		case <-tick.C:
		}
	}
}

// looked is a snapshot as lines.
func looked(name string, now fleet.Snapshot) string {
	hosts := newTable("host", "state", "slice", "heard", "clock ahead")
	list, more := now.Foremost(mostHosts)
	for _, h := range list {
		what := string(h.State)
		if h.Judge {
			what += ", judges"
		}
		heard := run.Rough(h.Silent) + " ago"
		clock := "unknown"
		if h.Ahead != nil && h.Bound != nil {
			clock = fmt.Sprintf("%.1f ± %.1f ms", *h.Ahead*1000, *h.Bound*1000)
		}
		hosts.AppendRow(table.Row{text.Visible(h.Name), what, text.Visible(h.Slice), heard, clock})
	}
	models := newTable("model", "work", "slices", "open", "run", "done", "given up", "trials", "failed", "again", "late", "trials/s")
	for _, m := range now.Models {
		rate := "unknown"
		switch {
		case m.Open+m.Running == 0:
			rate = "" // nothing is done any more
		case m.Rate != nil:
			rate = strconv.FormatFloat(*m.Rate, 'g', 3, 64)
		}
		models.AppendRow(table.Row{text.Visible(m.Name), m.Kind, m.Slices, m.Open, m.Running, m.Done, m.Failed, fmt.Sprintf("%d of %d", m.Stored, m.Trials), m.Failures, m.Again, m.Refused, rate})
	}
	lines := []string{text.Visible(name) + ": " + now.Headline(run.Rough), ""}
	lines = append(lines, hosts.Render())
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more; --json has them all", more))
	}
	lines = append(lines, "", models.Render())
	for _, m := range now.Models {
		if m.Why != "" {
			lines = append(lines, text.Visible(m.Name+": "+m.Why))
		}
	}
	return strings.Join(lines, "\n")
}

// mostHosts are shown: they fit on a screen.
const mostHosts = 30

func newTable(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = 0
	t.AppendHeader(header)
	return t
}
