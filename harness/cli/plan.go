package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"assay/harness/bench"
	"assay/harness/plan"
	"assay/harness/study"
	"assay/results"
	"assay/results/stats"
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
			b, err := load(c)
			if err != nil {
				return err
			}
			p, err := planned(b, f)
			if err != nil {
				return err
			}
			pre, err := previewOf(c.Context, b, p)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return s.json(pre)
			}
			return pre.print(s.out, b.Config.Store)
		},
	}
}

// preview is what assay plan prints.
type preview struct {
	Store   string         `json:"store"`
	Counts  []plan.Count   `json:"counts"`
	Stored  int            `json:"stored"` // trials that a run would skip
	Trials  int            `json:"trials"` // in all
	LeftOut []plan.LeftOut `json:"left_out"`
	// Seconds is the estimated time of the trials to come; nil: unknown.
	Seconds *float64 `json:"estimated_seconds"`
	Why     string   `json:"estimate_note"`
	// Projection is what all trials take, stored ones included; nil: there is no store.
	Projection *study.Projection `json:"projection,omitempty"`
}

func previewOf(ctx context.Context, b *bench.Bench, p *plan.Plan) (*preview, error) {
	pre := &preview{Store: b.Config.Store, Counts: plan.Counts(p), LeftOut: p.LeftOut}
	done := map[results.Key]results.Outcome{}
	type cell struct{ model, study, arm string }
	seen := map[cell][]float64{}
	if _, err := os.Stat(b.Config.Store); err == nil {
		st, err := results.OpenReader(ctx, b.Config.Store)
		if err != nil {
			return nil, environment(err)
		}
		defer st.Close()
		if done, err = st.Outcomes(ctx); err != nil {
			return nil, environment(err)
		}
		for _, s := range b.Config.Studies {
			for row, err := range st.Rows(ctx, s.Name) {
				if err != nil {
					return nil, environment(err)
				}
				if row.Latency != nil {
					k := cell{row.Key.Model, row.Key.Study, row.Key.Arm}
					seen[k] = append(seen[k], row.Latency.Seconds())
				}
			}
		}
	}
	var err error
	if pre.Projection, err = project(ctx, b, p); err != nil {
		return nil, err
	}
	flight := map[string]int{}
	for _, sc := range b.Config.Studies {
		flight[sc.Name] = max(1, sc.InFlight)
	}
	total, unknown := plan.Estimate(p, func(k results.Key) (time.Duration, bool) {
		pre.Trials++
		if _, ok := done[k]; ok {
			pre.Stored++
			return 0, true
		}
		mid, ok := stats.Median(seen[cell{k.Model, k.Study, k.Arm}])
		return time.Duration(mid / float64(flight[k.Study]) * float64(time.Second)), ok
	})
	switch {
	case unknown == 0:
		seconds := total.Seconds()
		pre.Seconds, pre.Why = &seconds, "from the median latency of stored answers per model and arm; preparing pictures, warm-up and judging come on top"
	default:
		pre.Why = fmt.Sprintf("unknown: no stored answer of the same model and arm for %d trials; a short run (assay run --limit 3) gives one", unknown)
	}
	return pre, nil
}

func (p *preview) print(w io.Writer, store string) error {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"study", "model", "arm", "condition", "trials"})
	for _, c := range p.Counts {
		t.AppendRow(table.Row{c.Study, c.Model, c.Arm, c.Condition, c.Trials})
	}
	t.AppendFooter(table.Row{"", "", "", "in all", p.Trials})
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header, t.Style().Format.Footer = 0, 0
	fmt.Fprintln(w, t.Render())
	fmt.Fprintf(w, "stored already: %d in %s\n", p.Stored, store)
	if p.Seconds != nil {
		fmt.Fprintf(w, "time to go: about %s (%s)\n", (time.Duration(*p.Seconds * float64(time.Second))).Round(time.Second), p.Why)
	} else {
		fmt.Fprintf(w, "time to go: %s\n", p.Why)
	}
	if p.Projection != nil && p.Projection.Seen > 0 {
		printProjection(w, p.Projection)
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
