package fleet

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	pretty "github.com/jedib0t/go-pretty/v6/text"
	"github.com/urfave/cli/v2"

	"assay/harness/cli/command"
	"assay/harness/fleet/watch"
	"assay/harness/progress"
	"assay/results/text"
)

// How often the database is asked: on a terminal, and for lines.
const (
	everyTable = 2 * time.Second
	everyLine  = 30 * time.Second
)

// Watch is the command watch.
func (s Commands) Watch() *cli.Command {
	return &cli.Command{
		Name:  "watch",
		Usage: "show hosts, slices, rates, failures and the time left of an experiment that several machines work on",
		Description: "On a terminal a table that is drawn anew, else a line every half minute, until nothing is left to be done, or only judging\n" +
			"that no worker does. Ctrl-C ends the watching alone. With --json or --once it looks once. Exit code 1: slices failed on every worker that tried.",
		Flags: []cli.Flag{database("from"), experimentFlag(), command.JSONFlag(),
			&cli.BoolFlag{Name: "once", Usage: "look once, and print the table"},
			&cli.DurationFlag{Name: "every", Usage: "look every `TIME`", DefaultText: "2s on a terminal, else 30s"},
		},
		Action: func(c *cli.Context) error {
			if err := command.NoArguments(c); err != nil {
				return err
			}
			every := c.Duration("every")
			if c.IsSet("every") && (every < time.Second || every > time.Hour) {
				return command.Usage("watch: --every: expected a time from 1s to 1h, found %s", every)
			}
			f, e, err := chosen(c)
			if err != nil {
				return err
			}
			defer f.Close()
			w := &watch.Watch{From: f, Experiment: e.ID}
			if !c.Bool("json") && !c.Bool("once") {
				width, terminal := command.Interactive(s.Out)
				if every == 0 {
					every = everyLine
					if terminal {
						every = everyTable
					}
				}
				return s.follow(c.Context, w, e.Name, every, width, terminal)
			}
			now, err := w.Look(c.Context)
			if err != nil {
				return command.Environment(err)
			}
			if !c.Bool("json") {
				fmt.Fprintln(s.Out, strings.Join(screen(e.Name, now, 0), "\n"))
			} else if err := s.JSON(map[string]any{"experiment": e.Name, "now": now}); err != nil {
				return err
			}
			return given(now)
		},
	}
}

// given is what a look means for the exit code.
func given(now watch.Snapshot) error {
	if n := now.FailedSlices(); n > 0 {
		return command.Failures("%s failed on every worker that tried; assay submit again gives them out again", plural(n, "slice"))
	}
	return nil
}

// follow looks until nothing is left. A database that does not answer for a while ends
// nothing but the first look.
func (s Commands) follow(ctx context.Context, w *watch.Watch, name string, every time.Duration, width int, terminal bool) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	drawn, seen := false, false
	for {
		now, err := w.Look(ctx)
		switch {
		case ctx.Err() != nil:
			return command.Interrupted("watching ended; the workers go on")
		case err != nil && !seen:
			return command.Environment(err)
		case err != nil:
			fmt.Fprintln(s.Err, "the database does not answer; asking again:", err)
			drawn = false
		default:
			seen = true
			if terminal {
				w := s.Out
				if sink, ok := w.(*command.Sink); ok {
					w = sink.Raw()
				}
				draw(w, screen(name, now, width), !drawn)
				drawn = true
			} else {
				fmt.Fprintf(s.Out, "%s %s: %s\n", now.At.Format(time.TimeOnly), text.Visible(name), now.Headline(progress.Rough))
			}
			if now.Over() || now.Unjudged() {
				return given(now)
			}
		}
		select {
		case <-ctx.Done():
			return command.Interrupted("watching ended; the workers go on")
		case <-tick.C:
		}
	}
}

// draw writes lines from the top of the terminal, over what was drawn before.
func draw(w io.Writer, lines []string, clear bool) {
	begin := "\x1b[H"
	if clear {
		begin = "\x1b[2J\x1b[H"
	}
	fmt.Fprint(w, begin+strings.Join(lines, "\x1b[K\n")+"\x1b[K\n\x1b[J")
}

// screen is a snapshot as lines of at most width characters; 0: of any width.
func screen(name string, now watch.Snapshot, width int) []string {
	hosts := newTable("host", "state", "slice", "heard", "clock ahead")
	list, more := now.Foremost(mostHosts)
	for _, h := range list {
		what := string(h.State)
		if h.Judge {
			what += ", judges"
		}
		heard := progress.Rough(h.Silent) + " ago"
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
	lines := []string{text.Visible(name) + ": " + now.Headline(progress.Rough), ""}
	lines = append(lines, strings.Split(hosts.Render(), "\n")...)
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more; --json has them all", more))
	}
	lines = append(lines, "")
	lines = append(lines, strings.Split(models.Render(), "\n")...)
	for _, m := range now.Models {
		if m.Why != "" {
			lines = append(lines, text.Visible(m.Name+": "+m.Why))
		}
	}
	if width > 0 {
		for i := range lines { // a line that wraps would be two, and not drawn over
			lines[i] = pretty.Trim(lines[i], width)
		}
	}
	return lines
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
