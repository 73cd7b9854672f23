package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"assay/harness/experiment"
	"assay/harness/managed"
	"assay/harness/plan"
	"assay/results"
	"assay/results/text"
)

func (s streams) showCommand() *cli.Command {
	return &cli.Command{
		Name:        "show",
		Usage:       "print the exact prompt, picture and curl of one trial, and what is stored of it",
		Description: "Nothing is sent. Without --item, lists the items of the plan.",
		Flags: []cli.Flag{configFlag(), jsonFlag(),
			&cli.StringFlag{Name: "study", Usage: "default: the first"},
			&cli.StringFlag{Name: "item"},
			&cli.StringFlag{Name: "arm", Usage: "default: the study's last"},
			&cli.StringFlag{Name: "condition", Value: "baseline"},
			&cli.StringFlag{Name: "model", Usage: "default: the first"},
			&cli.IntFlag{Name: "repeat", Usage: "from 0", DefaultText: "0"},
			&cli.StringFlag{Name: "out", Usage: "write pictures and request bodies to this `FOLDER`"},
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			b, p, err := loadPlanned(c, plan.Filter{})
			if err != nil {
				return err
			}
			if c.String("item") == "" {
				return s.listItems(p, c.Bool("json"))
			}
			t, err := experiment.Pick(p, results.Key{Study: c.String("study"), Model: c.String("model"), Item: c.String("item"), Arm: c.String("arm"),
				Condition: c.String("condition"), Repeat: c.Int("repeat")})
			if err != nil {
				return usage("show: %w", err)
			}
			return s.show(c, b, t)
		},
	}
}

func (s streams) listItems(p *plan.Plan, asJSON bool) error {
	type row struct {
		Study    string `json:"study"`
		Item     string `json:"item"`
		Type     string `json:"type"`
		Task     string `json:"task,omitempty"`
		Question string `json:"question"`
	}
	var rows []row
	for _, sel := range p.Studies {
		for _, it := range sel.Items {
			rows = append(rows, row{sel.Study, it.ID, it.Type, it.Task, it.Question})
		}
	}
	if asJSON {
		return s.json(rows)
	}
	for _, r := range rows {
		first, _, _ := strings.Cut(r.Question, "\n")
		fmt.Fprintf(s.out, "%s\t%s\t%s\t%s\t%s\n", text.Visible(r.Study), text.Visible(r.Item), text.Visible(r.Type), text.Visible(r.Task), text.Visible(first))
	}
	return nil
}

func (s streams) show(c *cli.Context, b *experiment.Bench, t plan.Trial) error {
	srv := managed.NewServers(b.Config)
	srv.Dial = experiment.HangUp
	defer srv.Close()
	end, err := experiment.Connect(b.Config, t.Key.Model, srv)
	var bad managed.SettingError
	if errors.As(err, &bad) {
		return usage("%w", err)
	}
	if err != nil {
		return environment(err)
	}
	out, err := b.Show(c.Context, t, end.Backend, c.String("out"))
	if err != nil {
		return environment(err)
	}
	if c.Bool("json") {
		return s.json(out)
	}
	var lines strings.Builder
	printShown(&lines, out)
	// Models and data sets are not trusted: a terminal obeys some characters.
	_, err = io.WriteString(s.out, text.VisibleLines(lines.String()))
	return err
}

// proof is what a cache state rests on, in words.
func proof(c results.Cache) string {
	s := ""
	if c.Field != "" {
		s = fmt.Sprintf(" (%s: %s)", c.Field, c.Value)
	}
	if c.Reason != "" {
		s += ": " + c.Reason
	}
	return s
}

func printShown(w io.Writer, o *experiment.Shown) {
	k := o.Key
	fmt.Fprintf(w, "study %s, model %s, item %s, arm %s, condition %s\n", k.Study, k.Model, k.Item, k.Arm, k.Condition)
	for i, t := range o.Turns {
		fmt.Fprintf(w, "\n--- turn %d: prompt\n%s\n", i+1, t.Prompt)
		for _, img := range t.Images {
			fmt.Fprintf(w, "--- image: %s\n", img)
		}
		if t.Nonce != "" {
			fmt.Fprintf(w, "--- nonce of the first attempt, to keep the server's caches cold: %s\n", t.Nonce)
		}
		if t.Written {
			fmt.Fprintf(w, "--- request\n%s\n", t.Curl)
		} else {
			fmt.Fprintf(w, "--- request (--out FOLDER writes its body and pictures)\n%s\n", t.Curl)
		}
	}
	if o.Stored == nil {
		fmt.Fprintln(w, "\nnot in the store yet")
		return
	}
	for i, a := range o.Stored.Attempts {
		fmt.Fprintf(w, "\n--- attempt %d, %s", i+1, a.Started.Format(time.RFC3339))
		for _, f := range a.Flags {
			fmt.Fprintf(w, ", %s", f)
		}
		fmt.Fprintln(w)
		if c := a.Cache; c != nil && c.State != "" {
			fmt.Fprintf(w, "server caches: %s%s\n", c.State, proof(*c))
		}
		if a.Failure != nil {
			fmt.Fprintf(w, "failed: %s: %s\n", a.Failure.Kind, a.Failure.Message)
			continue
		}
		for _, turn := range a.Turns {
			if d, ok := turn.Trace.TTFT(); ok {
				fmt.Fprintf(w, "first content after %s", d)
			}
			if d, ok := turn.Trace.Latency(); ok {
				fmt.Fprintf(w, ", last after %s (%s stamps)", d, turn.Trace.Stamps)
			}
			fmt.Fprintln(w)
		}
		if a.Output.Reasoning != "" {
			fmt.Fprintf(w, "reasoning channel:\n%s\n", a.Output.Reasoning)
		}
		fmt.Fprintln(w, a.Output.Answer)
	}
	for _, j := range o.Verdicts {
		judged(w, "judgment: "+j.Rubric+" by "+j.Judge, j)
	}
	for _, j := range o.Former {
		version := "unknown"
		if j.By != "" {
			version = j.By.Short()
		}
		judged(w, fmt.Sprintf("former judgment: %s by %s as of version %s", j.Rubric, j.Judge, version), j)
	}
}

func judged(w io.Writer, what string, j results.Judgment) {
	fmt.Fprintf(w, "%s: %s", what, j.Status)
	if j.Repeat > 0 {
		fmt.Fprintf(w, " when judged again (%d)", j.Repeat)
	}
	if j.Verdict != nil {
		fmt.Fprintf(w, " %s", j.Verdict)
	}
	if j.Detail != "" {
		fmt.Fprintf(w, " (%s)", j.Detail)
	}
	fmt.Fprintln(w)
}
