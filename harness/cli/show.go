package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/cli/command"
	"assay/harness/cli/terminal"
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
		Flags: []cli.Flag{command.ConfigFlag(), command.JSONFlag(),
			&cli.StringFlag{Name: "study", Usage: "default: the first"},
			&cli.StringFlag{Name: "item"},
			&cli.StringFlag{Name: "arm", Usage: "default: the study's last"},
			&cli.StringFlag{Name: "condition", Value: "baseline"},
			&cli.StringFlag{Name: "model", Usage: "default: the first"},
			&cli.IntFlag{Name: "repeat", Usage: "from 0", DefaultText: "0"},
			&cli.StringFlag{Name: "out", Usage: "write pictures and request bodies to this `FOLDER`"},
		},
		Action: func(c *cli.Context) error {
			if err := command.NoArguments(c); err != nil {
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
				return command.Usage("show: %w", err)
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
		return s.JSON(rows)
	}
	for _, r := range rows {
		first, _, _ := strings.Cut(r.Question, "\n")
		fmt.Fprintf(s.Out, "%s\t%s\t%s\t%s\t%s\n", text.Visible(r.Study), text.Visible(r.Item), text.Visible(r.Type), text.Visible(r.Task), text.Visible(first))
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
		return command.Usage("%w", err)
	}
	if err != nil {
		return command.Environment(err)
	}
	out, err := b.Show(c.Context, t, end.Backend, c.String("out"))
	if err != nil {
		return command.Environment(err)
	}
	if c.Bool("json") {
		return s.JSON(out)
	}
	var lines strings.Builder
	terminal.Shown(&lines, out)
	// Models and data sets are not trusted: a terminal obeys some characters.
	_, err = io.WriteString(s.Out, text.VisibleLines(lines.String()))
	return err
}
