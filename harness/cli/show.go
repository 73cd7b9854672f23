package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/experiment"
	"assay/harness/plan"
	"assay/harness/servers"
	"assay/results"
	"assay/results/store"
	"assay/results/text"
)

func (s streams) showCommand() *cli.Command {
	return &cli.Command{
		Name:      "show",
		ArgsUsage: "[STORE.sqlite]",
		Flags: []cli.Flag{configFlag(), jsonFlag(),
			studyFlag("the `STUDY`", "the first"),
			&cli.StringFlag{Name: "item", Usage: "the `ITEM`; without it, all are listed"},
			&cli.StringFlag{Name: "arm", Usage: "the `ARM`", DefaultText: "the study's last"},
			&cli.StringFlag{Name: "condition", Value: "baseline", Usage: conditionUsage},
			&cli.StringFlag{Name: "model", Usage: "the `MODEL`", DefaultText: "the first"},
			&cli.IntFlag{Name: "repeat", Usage: "repeat `N`, from 0", DefaultText: "0"},
			&cli.StringFlag{Name: "out", Usage: "also write images and request bodies into this `FOLDER`"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				path, err := storeOf(c)
				if err != nil {
					return err
				}
				return s.showStored(c, path)
			}
			b, p, err := loadPlanned(c, plan.Filter{})
			if err != nil {
				return err
			}
			if c.String("item") == "" {
				return s.listItems(p, c.Bool("json"))
			}
			t, err := experiment.PickTrial(p, keyOf(c))
			if err != nil {
				return usage("show: %w", err)
			}
			if b.Config.Imported(t.Key.Model) { // no prompt was sent
				return s.showKey(c, b.Config.Store, t.Key)
			}
			return s.show(c, b, t)
		},
	}
}

// keyOf is the trial that flags name.
func keyOf(c *cli.Context) results.Key {
	return results.Key{Study: c.String("study"), Model: c.String("model"), Item: c.String("item"), Arm: c.String("arm"), Condition: c.String("condition"), Repeat: c.Int("repeat")}
}

// showKey shows what a store has of a trial.
func (s streams) showKey(c *cli.Context, path string, k results.Key) error {
	if c.IsSet("out") {
		return usage("show: --out writes what is sent; %s has no prompts and no images. Leave it out", path)
	}
	st, err := store.OpenReader(c.Context, path)
	if err != nil {
		return environment(err)
	}
	defer st.Close()
	out, err := experiment.ShowStored(c.Context, st, k)
	if err != nil {
		return usage("show: %w", err)
	}
	return s.shown(c, out)
}

// showStored lists a store's items, or shows what it has of a trial.
func (s streams) showStored(c *cli.Context, path string) error {
	if c.IsSet("out") {
		return usage("show: --out writes what bench.yaml and its data set make; a store has no images and no prompts. Run it without the store, beside bench.yaml")
	}
	if c.String("item") != "" {
		return s.showKey(c, path, keyOf(c))
	}
	st, err := store.OpenReader(c.Context, path)
	if err != nil {
		return environment(err)
	}
	defer st.Close()
	studies, err := experiment.Asked(c.Context, st)
	if err != nil {
		return environment(err)
	}
	var rows []listed
	for _, study := range studies {
		for it, err := range st.Items(c.Context, study.Rules.Study) {
			if err != nil {
				return environment(err)
			}
			rows = append(rows, listed{Study: study.Rules.Study, Item: it.ID, Type: it.Type, Task: it.Task})
		}
	}
	return s.list(rows, c.Bool("json"))
}

// listed is an item; of a store without its question.
type listed struct {
	Study    string `json:"study"`
	Item     string `json:"item"`
	Type     string `json:"type"`
	Task     string `json:"task,omitempty"`
	Question string `json:"question,omitempty"`
}

func (s streams) listItems(p *plan.Plan, asJSON bool) error {
	var rows []listed
	for _, sel := range p.Studies {
		for _, it := range sel.Items {
			rows = append(rows, listed{sel.Study, it.ID, it.Type, it.Task, it.Question})
		}
	}
	return s.list(rows, asJSON)
}

func (s streams) list(rows []listed, asJSON bool) error {
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
	srv := servers.NewServers(experiment.Setup(b.Config))
	srv.Dial = experiment.HangUp
	defer srv.Close()
	end, err := experiment.Connect(b.Config, t.Key.Model, srv)
	var bad servers.SettingError
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
	return s.shown(c, out)
}

func (s streams) shown(c *cli.Context, out *experiment.Shown) error {
	if c.Bool("json") {
		return s.JSON(out)
	}
	return s.print("shown", out)
}
