package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/config"
	"assay/harness/fleet"
	"assay/harness/machine"
	"assay/results/store"
	"assay/results/text"
)

// Submit is the command submit.
func (s fleetCommands) Submit() *cli.Command {
	return &cli.Command{
		Name: "submit",
		Flags: []cli.Flag{configFlag(), jsonFlag(), databaseFlag(),
			&cli.IntFlag{Name: "slice", Value: 100, Usage: "about `N` trials to a slice"},
			repeatedFlag("needs", "tags that a worker needs for a model, `MODEL=TAG,TAG`; again for others"),
			&cli.BoolFlag{Name: "retry-failed", Usage: "try stored failures again: give out slices with a failed trial"},
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if n := c.Int("slice"); n < 1 || n > 10_000 {
				return usage("submit: --slice: expected a number from 1 to 10000, found %d", n)
			}
			b, err := load(c)
			if err != nil {
				return err
			}
			needs, err := needsOf(c.StringSlice("needs"), b.Config)
			if err != nil {
				return err
			}
			f, err := open(c.Context, c, c.String("database"), false)
			if err != nil {
				return err
			}
			defer f.Close()
			if err := f.Migrate(c.Context); err != nil {
				return environment(err)
			}
			sub, err := fleet.Submit(c.Context, f, b, s.manifest(b, machine.ThisHost(s.Version)), c.Int("slice"), needs)
			if err != nil {
				return differs(b.Config, err)
			}
			if sub.There {
				e, err := f.Experiment(c.Context, sub.Experiment)
				if err != nil {
					return environment(err)
				}
				if sub.Again, err = f.Retry(c.Context, e.ID, c.Bool("retry-failed")); err != nil {
					return environment(err)
				}
			}
			for _, n := range sub.Notes {
				fmt.Fprintln(s.Err, "note:", n)
			}
			if c.Bool("json") {
				return s.JSON(sub)
			}
			said := fmt.Sprintf("%s: %s in %s; start assay fleet worker on each machine", sub.Experiment, plural(sub.Trials, "trial"), plural(sub.Slices, "slice"))
			if sub.There {
				said = fmt.Sprintf("%s was submitted before, unchanged; %s offered again", sub.Experiment, plural(sub.Again, "slice"))
			}
			_, err = fmt.Fprintln(s.Out, said)
			return environment(err)
		},
	}
}

// differs says that an experiment is not the one that was submitted, or what else err is.
func differs(cfg *config.Config, err error) error {
	var d *store.DiffersError
	if !errors.As(err, &d) {
		return environment(err)
	}
	return usage("%s is not the experiment that was submitted as %s (submitted, and here):\n  %s\nmake them equal, or give this one another name", cfg.File, cfg.Name, strings.Join(d.Differences, "\n  "))
}

// needsOf reads MODEL=TAG,TAG.
func needsOf(given []string, cfg *config.Config) (map[string][]string, error) {
	var models []string
	for _, m := range cfg.Models {
		models = append(models, m.Name)
	}
	out := map[string][]string{}
	for _, g := range given {
		model, tags, ok := strings.Cut(g, "=")
		if !ok || tags == "" {
			return nil, usage("submit: --needs: expected MODEL=TAG,TAG, found %q", g)
		}
		if !slices.Contains(models, model) {
			return nil, usage("submit: --needs: there is no model %s%s", model, text.DidYouMean(model, models))
		}
		out[model] = append(out[model], tagsOf(strings.Split(tags, ","))...)
	}
	return out, nil
}

// tagsOf are tags in lower case, in order.
func tagsOf(words []string) []string {
	out := []string{}
	for _, w := range words {
		if w = strings.ToLower(strings.TrimSpace(w)); w != "" && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return out
}
