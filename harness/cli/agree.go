// People has the commands that have people rate answers and compare judges with them.

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/agree"
	"assay/harness/page"
	"assay/results"
	"assay/results/report"
	"assay/results/store"
)

// agreeCommand is the command agree.
func agreeCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "agree",
		ArgsUsage: "[STORE.sqlite]",
		Flags: []cli.Flag{configFlag(), jsonFlag(), figuresFlag(),
			repeated{&cli.StringSliceFlag{Name: "ratings", Required: true, Usage: "a `FILE` of ratings; again for each rater", TakesFile: true}},
			&cli.StringFlag{Name: "interval", Value: "percentile", Usage: "confidence intervals of this `KIND`: percentile or bca"},
			drawsFlag()},
		Action: func(c *cli.Context) error {
			o := agree.Options{Draws: c.Int("draws"), BCa: c.String("interval") == "bca"}
			if !o.BCa && c.String("interval") != "percentile" {
				return usage("agree: --interval: expected percentile or bca, found %q", c.String("interval"))
			}
			if o.Draws < 100 {
				return usage("agree: --draws: expected 100 or more, found %d", o.Draws)
			}
			path, err := storeOf(c)
			if err != nil {
				return err
			}
			var files []agree.File
			for _, name := range c.StringSlice("ratings") {
				b, err := os.ReadFile(name)
				if err != nil {
					return usage("agree: --ratings: %w", err)
				}
				files = append(files, agree.File{Path: name, Content: b})
			}
			return s.agree(c, path, files, o)
		},
	}
}

func (s streams) agree(c *cli.Context, path string, files []agree.File, o agree.Options) error {
	ctx := c.Context
	st, err := store.OpenReader(ctx, path)
	if err != nil {
		return environment(err)
	}
	defer st.Close()
	secs, man, err := agree.Sections(ctx, st, files, o, func(man results.Manifest) error {
		w, err := store.Open(ctx, path)
		if err == nil {
			err = errors.Join(w.PutManifest(ctx, man), w.Close())
		}
		if err != nil {
			fmt.Fprintf(s.Err, "the store could not keep which answers choose a judge: %v\n", err)
		}
		return ctx.Err()
	})
	if err != nil {
		return refused("agree", err)
	}
	meta, err := page.Meta(ctx, st, man)
	if err != nil {
		return environment(err)
	}
	meta.Figures = figures(c)
	dir := strings.TrimSuffix(path, filepath.Ext(path)) + "-agree"
	if err := report.Write(dir, secs, meta); err != nil {
		return environment(err)
	}
	return s.Tables(c.Bool("json"), secs, meta, fmt.Sprintf("\nagreement: %s\n", filepath.Join(dir, report.Page)))
}

// refused tells what was asked for wrongly from what could not be done.
func refused(name string, err error) error {
	var no *agree.RefusedError
	if errors.As(err, &no) {
		return usage("%s: %w", name, err)
	}
	return environment(err)
}

// rateSample is the command people sample.
func (s streams) rateSample() *cli.Command {
	return &cli.Command{
		Name:      "sample",
		ArgsUsage: "[STORE.sqlite]",
		Flags: []cli.Flag{configFlag(), jsonFlag(),
			studyFlag("the `STUDY`", "the only one of the store"),
			&cli.IntFlag{Name: "items", Value: 30, Usage: "draw `N` items"},
			&cli.IntFlag{Name: "answers", Value: 60, Usage: "draw at most `N` answers to these items; 0: all"},
			&cli.StringFlag{Name: "by", Value: "type", Usage: "draw within strata of this `FIELD`: " + strings.Join(agree.Bys(), ", ")},
			&cli.IntFlag{Name: "calibration", Usage: "`N` answers to other items, which raters see first to learn the scales", DefaultText: "up to 3"},
			seedFlag(1, "the draw"),
			modelsFlag(), repeatedFlag("arms", "only these arms: `ARM,...`"), repeatedFlag("conditions", "only these conditions: `CONDITION,...`"),
			&cli.StringFlag{Name: "out", Required: true, Usage: "the `FILE` to write, JSON lines"}},
		Action: s.sample,
	}
}

func (s streams) sample(c *cli.Context) error {
	w := agree.Drawing{Study: c.String("study"), By: c.String("by"), Items: c.Int("items"), Cases: c.Int("answers"), Seed: c.Uint64("seed"),
		Models: listOf(c, "models"), Arms: listOf(c, "arms"), Conditions: listOf(c, "conditions"), Calibration: -3}
	if c.IsSet("calibration") {
		w.Calibration = c.Int("calibration")
		if w.Calibration < 0 {
			return usage("people sample: --calibration: expected 0 or more, found %d", w.Calibration)
		}
	}
	if !slices.Contains(agree.Bys(), w.By) {
		return usage("people sample: --by: expected one of %s, found %q", strings.Join(agree.Bys(), ", "), w.By)
	}
	if w.Items < 2 {
		return usage("people sample: --items: expected 2 or more, found %d", w.Items)
	}
	if w.Cases < 0 || w.Cases == 1 {
		return usage("people sample: --answers: expected 2 or more, or 0 for all answers, found %d", w.Cases)
	}
	path, err := storeOf(c)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return environment(fmt.Errorf("people sample: %w; assay run makes a store", err))
	}
	st, err := store.Open(c.Context, path)
	if err != nil {
		return environment(err)
	}
	defer st.Close()
	var draw results.Draw
	var asked error
	var shown bytes.Buffer
	to := c.String("out")
	err = writeFile(to, func(out io.Writer) (err error) {
		draw, asked = agree.Draw(c.Context, st, w, io.MultiWriter(out, &shown))
		return asked
	})
	if err != nil {
		return errors.Join(refused("people sample", err), os.Remove(to))
	}
	minutes, err := agree.Minutes(&shown)
	if err != nil {
		return environment(err)
	}
	if c.Bool("json") {
		return s.JSON(struct {
			File    string       `json:"file"`
			Draw    results.Draw `json:"draw"`
			Minutes int          `json:"minutes"` // of a rater
		}{to, draw, minutes})
	}
	for _, x := range draw.Strata {
		if _, err := fmt.Fprintf(s.Out, "%s %q: %d of %d items\n", draw.By, x.Name, x.Drawn, x.Items); err != nil {
			return environment(err)
		}
	}
	whole := ""
	if draw.Within > 0 {
		whole = fmt.Sprintf(" of %d to these items (--answers 0 for all)", int(math.Round(float64(len(draw.Cases))/draw.Within)))
	}
	_, err = fmt.Fprintf(s.Out, "%s: %d answers to rate%s, one a line\nabout %s of a rater, at %d words a minute and %d seconds a grade\n", to, len(draw.Cases), whole, results.Count(minutes, "minute", "minutes"), agree.WordsAMinute, agree.SecondsAGrade)
	return environment(err)
}
