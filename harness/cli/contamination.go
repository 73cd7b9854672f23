package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/curate"
	"assay/results"
	"assay/results/report"
)

// contaminationCommand is the command contamination; version and revision are assay's.
func contaminationCommand(s streams, version, revision string) *cli.Command {
	return &cli.Command{
		Name: "contamination",
		Flags: []cli.Flag{configFlag(), jsonFlag(), figuresFlag(),
			datasetFlag(), modelsFlag(),
			&cli.StringFlag{Name: "text", Value: curate.TextKinds()[0], Usage: "the `TEXT` of an item: " + strings.Join(curate.TextKinds(), ", ") + "; the question of a case is its history"},
			&cli.IntFlag{Name: "limit", Usage: "only the first `N` texts", DefaultText: "all"},
			&cli.BoolFlag{Name: "chat", Usage: "ask in a chat, even where the server can go without a template"},
			&cli.Float64Flag{Name: "threshold", Value: 0.5, Usage: "a text counts as known from this `RHO`"},
			&cli.Float64Flag{Name: "reach", Value: 2, Usage: "compare up to `X` times the length of the second half"}},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			w := curate.Wanted{Dataset: c.String("dataset"), Limit: c.Int("limit"), Models: listOf(c, "models"), ContaminationSettings: curate.ContaminationSettings{
				Of: c.String("text"), Reach: c.Float64("reach"), Threshold: c.Float64("threshold"), Chat: c.Bool("chat")}}
			if err := w.Check(); err != nil {
				return usage("contamination: %w", err)
			}
			if c.IsSet("limit") && w.Limit < 2 {
				return usage("contamination: --limit: expected 2 or more, found %d", w.Limit)
			}
			b, err := load(c)
			if err != nil {
				return err
			}
			w.Seed = b.Config.Seed
			r, lost := curate.LookForContamination(c.Context, b, w, s.Err)
			var refused *curate.RefusedError
			switch {
			case errors.As(lost, &refused):
				return usage("contamination: %w", lost)
			case r == nil && c.Context.Err() != nil:
				return interrupted("interrupted: the continuations so far are stored in %s; the same command continues from there", curate.StoreOf(b.Config.Store))
			case r == nil:
				return environment(lost)
			}
			r.Run.Version, r.Run.Revision = version, revision
			if err := s.contamination(c, b.Config.Store, r, w); err != nil {
				return err
			}
			if err := r.Unanswered(); lost == nil && err != nil {
				return failures("%w", err)
			}
			return environment(lost)
		},
	}
}

// contamination writes the report and prints it.
func (s streams) contamination(c *cli.Context, store string, r *curate.Report, w curate.Wanted) error {
	sections := []results.Section{curate.Section(r.About, r.Results, w.ContaminationSettings)}
	meta := report.Meta{Title: r.Run.Name, Figures: figures(c), Run: results.Run{Manifest: r.Run}}
	dir := strings.TrimSuffix(curate.StoreOf(store), ".sqlite")
	if err := report.Write(dir, sections, meta); err != nil {
		return environment(err)
	}
	if err := writeFile(filepath.Join(dir, "texts.csv"), func(out io.Writer) error { return curate.WriteTexts(out, r.Results) }); err != nil {
		return environment(err)
	}
	return s.Tables(c.Bool("json"), sections, meta, fmt.Sprintf("\ncontamination: %s; every text: %s\n", filepath.Join(dir, report.Page), filepath.Join(dir, "texts.csv")))
}
