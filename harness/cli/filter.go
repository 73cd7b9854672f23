package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/curate"
	"assay/harness/experiment"
	"assay/harness/machine"
	"assay/results"
	"assay/results/report"
	"assay/results/store"
)

// filter is the command dataset filter.
func (s streams) filter(version, revision string) *cli.Command {
	return &cli.Command{
		Name: "filter",
		Flags: []cli.Flag{configFlag(), jsonFlag(), figuresFlag(),
			datasetFlag(),
			&cli.StringFlag{Name: "out", Required: true, Usage: "the `FOLDER` to write the kept set into", TakesFile: true},
			&cli.StringFlag{Name: "duplicates", Usage: "remove near-duplicates of earlier items, by this `KIND`: " + strings.Join(curate.DuplicateKinds(), ", ")},
			&cli.StringFlag{Name: "leaks", Usage: "remove items whose text gives the answer away, up to this `LEVEL`: " + strings.Join(curate.LeakLevels(), ", ")},
			&cli.StringFlag{Name: "leak-judge", Usage: "also remove items that the LLM judge `NAME` of bench.yaml finds leaking"},
			&cli.StringFlag{Name: "leak-prompt", Usage: "the `FILE` with that judge's prompt, in place of the built-in one", TakesFile: true},
			&cli.BoolFlag{Name: "text-solvable", Usage: "remove items that every probe solves without images in every run"},
			repeatedFlag("probes", "the models to ask without images: `MODEL,...`"),
			&cli.IntFlag{Name: "repeats", Value: 3, Usage: "ask each probe `N` times"},
			&cli.IntFlag{Name: "options", Usage: "keep `N` options: the right one and those that probes confuse with it", DefaultText: "all"},
			&cli.Float64Flag{Name: "length-bias", Usage: "remove items by chance until the right option is the longest in at most this `SHARE`, such as 0.2"},
			&cli.Uint64Flag{Name: "seed", Usage: "seed `N` of what is drawn", DefaultText: "that of bench.yaml"},
			&cli.StringFlag{Name: "store", Usage: "compare accuracies in this `STORE` too", DefaultText: "that of bench.yaml, if it is there", TakesFile: true}},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			set := curate.Settings{Duplicates: c.String("duplicates"), Leaks: c.String("leaks"), Solvable: c.Bool("text-solvable"), Options: c.Int("options"), Length: c.Float64("length-bias"), Seed: c.Uint64("seed")}
			probes := listOf(c, "probes")
			whole := set
			if c.String("leak-judge") != "" {
				whole.Judged = &curate.Judged{} // to come
			}
			err := whole.Check()
			switch {
			case err != nil:
			case set.Solvable && len(probes) == 0:
				err = errors.New("--text-solvable needs --probes: models of bench.yaml to ask without images")
			case c.Int("repeats") < 1:
				err = fmt.Errorf("--repeats: expected 1 or more, found %d", c.Int("repeats"))
			}
			if err != nil {
				return usage("dataset filter: %w", err)
			}
			b, err := load(c)
			if err != nil {
				return err
			}
			if !c.IsSet("seed") {
				set.Seed = b.Config.Seed
			}
			name, err := onlyDataset(b, c.String("dataset"))
			if err != nil {
				return usage("dataset filter: %w", err)
			}
			note := func(m results.Manifest) results.Manifest {
				m.Version, m.Revision, m.Host = version, revision, machine.Facts(machine.ThisHost(version))
				return m
			}
			return s.filtered(c, b, name, set, probes, note)
		},
	}
}

func (s streams) filtered(c *cli.Context, b *experiment.Bench, name string, set curate.Settings, probes []string, note func(results.Manifest) results.Manifest) error {
	ctx := c.Context
	var scored []curate.Scored
	where := c.String("store")
	if _, err := os.Stat(b.Config.Store); where == "" && err == nil {
		where = b.Config.Store
	}
	if where != "" {
		one, err := scoredIn(ctx, "pictures", where)
		if err != nil {
			return environment(err)
		}
		scored = append(scored, one)
	}
	var answers *curate.Answers
	if len(probes) > 0 {
		width, terminal := interactive(s.Err)
		var err error
		answers, err = curate.Ask(ctx, b, curate.Asking{Dataset: name, Probes: probes, Repeats: c.Int("repeats"), Notes: s.Err, Width: width, Terminal: terminal, Note: note})
		var mixes *experiment.MixesError
		switch {
		case ctx.Err() != nil && err != nil:
			return interrupted("interrupted: the probes' answers so far are stored in %s; the same command continues from there", curate.ProbesStore(b.Config.Store))
		case errors.As(err, &mixes):
			return usage("%w", err)
		case err != nil:
			return environment(err)
		}
		one, err := scoredIn(ctx, "text alone", curate.ProbesStore(b.Config.Store))
		if err != nil {
			return environment(err)
		}
		scored = append(scored, one)
	}
	if judgedBy := c.String("leak-judge"); judgedBy != "" {
		var err error
		if set.Judged, err = s.leakJudge(ctx, b, judgedBy, c.String("leak-prompt"), name); err != nil {
			return err
		}
	}
	r, err := curate.Filter(b.Sets[name], set, answers)
	if err != nil {
		return usage("dataset filter: %w", err)
	}
	if len(r.Kept) == 0 {
		return failures("dataset filter: all %d items were removed; nothing was written", len(r.Before.Items))
	}
	split := ""
	for _, d := range b.Config.Datasets {
		if d.Name == name {
			split = d.Split
		}
	}
	files, err := r.Write(c.String("out"), split)
	if err != nil {
		return environment(err)
	}
	sections := []results.Section{curate.CurationSection(r, scored)}
	man := note(results.Manifest{Name: b.Config.Name, Seed: b.Config.Seed, Synthetic: b.Synthetic()})
	meta := report.Meta{Title: man.Name + ": " + name, Figures: figures(c), Run: results.Run{Manifest: man}}
	if err := report.Write(filepath.Join(c.String("out"), "report"), sections, meta); err != nil {
		return environment(err)
	}
	return s.Tables(c.Bool("json"), sections, meta, fmt.Sprintf("\nkept: %d items; in bench.yaml: {kind: %s, path: %s}\nremoved: %d items; why: %s\n", len(r.Kept), files.Kind, files.Path, len(r.Removed), files.Removed))
}

// leakJudge has a judge look for leaks.
func (s streams) leakJudge(ctx context.Context, b *experiment.Bench, judge, prompt, data string) (*curate.Judged, error) {
	asking, end, err := curate.ConnectJudge(ctx, b, judge)
	switch {
	case errors.As(err, new(*results.Trouble)):
		return nil, environment(err)
	case err != nil:
		return nil, usage("--leak-judge: %w", err)
	}
	defer end()
	asking.Notes, asking.Data = s.Err, data
	if prompt != "" {
		text, err := os.ReadFile(prompt)
		if err != nil {
			return nil, usage("--leak-prompt: %w", err)
		}
		asking.Prompt = string(text)
	}
	judged, err := curate.AskJudge(ctx, b.Sets[data].Items, asking)
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, interrupted("interrupted: the judge's answers so far are stored in %s; the same command continues from there", asking.Path)
	case err != nil:
		return nil, environment(err)
	}
	return judged, nil
}

// scoredIn are the accuracies in a store.
func scoredIn(ctx context.Context, where, path string) (s curate.Scored, err error) {
	st, err := store.OpenReader(ctx, path)
	if err != nil {
		return s, err
	}
	defer st.Close()
	man, _, err := st.Manifest(ctx)
	if err != nil {
		return s, err
	}
	s.Where, s.OneByOne = where, man.Released()
	s.Rights, err = curate.Rights(ctx, st)
	return s, err
}

// onlyDataset is the data set of a name, or the only one that studies ask about.
func onlyDataset(b *experiment.Bench, name string) (string, error) {
	var names []string
	for _, d := range b.Config.Datasets {
		if b.Sets[d.Name] == nil {
			continue
		}
		if d.Name == name {
			return name, nil
		}
		names = append(names, d.Name)
	}
	switch {
	case name != "":
		return "", fmt.Errorf("%s has no study of a data set %q; there are %s", b.Config.File, name, strings.Join(names, ", "))
	case len(names) != 1:
		return "", fmt.Errorf("%s has the data sets %s: say which with --dataset", b.Config.File, strings.Join(names, ", "))
	}
	return names[0], nil
}
