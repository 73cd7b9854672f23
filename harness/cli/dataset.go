// Data has the commands that look at data sets and at what conditions do to their pictures.

package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/curate"
	"assay/harness/dataset"
	"assay/results"
	"assay/results/report"
)

// datasetFields says what --column takes for questions.
const datasetFields = "options=a,b,c,d takes several; assay dataset schema csv lists the fields"

// regionsUsage is of the flags that name a table of regions.
func regionsUsage() string {
	return "the `TABLE` of regions: " + strings.Join(dataset.RegionNames(), ", ") + " or a file"
}

// datasetCheck is the command dataset check.
func (s streams) datasetCheck() *cli.Command {
	return &cli.Command{
		Name:      "check",
		ArgsUsage: "PATH",
		Flags: []cli.Flag{jsonFlag(),
			&cli.StringFlag{Name: "kind", Usage: "read it as this `KIND`: " + strings.Join(dataset.Kinds(), ", "), DefaultText: "its content decides"},
			&cli.StringFlag{Name: "split", Usage: "only this `SPLIT`; of TAIX-VQA and MedThinkVQA one of " + strings.Join(dataset.Splits(), ", ")},
			columnFlag(datasetFields),
			&cli.StringFlag{Name: "dicom", Usage: "`COMMAND` that makes images of DICOM files, such as \"dcm2pnm +on2 +Wm {in} {out}\""},
			&cli.StringFlag{Name: "experts", Usage: "the `FILE` with what experts said of steps, for MedThinkVQA", TakesFile: true},
			&cli.StringFlag{Name: "knowledge", Usage: "a `FILE` with a knowledge base: print what it does not know", TakesFile: true},
			&cli.StringFlag{Name: "regions", Usage: regionsUsage(), TakesFile: true},
			&cli.BoolFlag{Name: "stats", Usage: "add statistics, as papers describe their data sets"},
			&cli.BoolFlag{Name: "allow-outside", Usage: "images may lie outside of the data set's folder"}},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usage("dataset check: expected one path, found %d arguments", c.NArg())
			}
			path, kind := c.Args().First(), c.String("kind")
			columns, err := dataset.ParseMapping(c.StringSlice("column"))
			if err != nil {
				return usage("dataset check: --column: %w", err)
			}
			if kind == "" {
				if kind, err = dataset.SniffMapped(path, columns); err != nil {
					return usage("%w", err)
				}
			}
			if split := c.String("split"); split != "" && !slices.Contains(dataset.Splits(), split) && !slices.Contains(dataset.TableKinds(), kind) {
				return usage("dataset check: expected --split to be one of %s, found %q", strings.Join(dataset.Splits(), ", "), split)
			}
			set, err := dataset.Open(dataset.Source{Kind: kind, Name: "data", Path: path, Columns: columns, DICOM: strings.Fields(c.String("dicom")),
				Split: c.String("split"), Knowledge: c.String("knowledge"), Regions: c.String("regions"), Experts: c.String("experts"), Outside: c.Bool("allow-outside")})
			if err != nil {
				return usage("%w", err)
			}
			set.Problems = append(set.Problems, dataset.Damaged(set)...)
			sum := dataset.Summarize(set)
			if err := s.checked(path, set, sum, c.Bool("json"), c.Bool("stats")); err != nil {
				return err
			}
			if n, gaps := len(set.Problems), len(set.Gaps); n > 0 || gaps > 0 {
				return failures("%s: %d problems, %d gaps of the knowledge base", path, n, gaps)
			}
			return nil
		},
	}
}

// checked prints what a check found.
func (s streams) checked(path string, set *dataset.Dataset, sum dataset.Summary, asJSON, stats bool) error {
	switch {
	case asJSON && stats:
		return s.JSON(struct {
			dataset.Summary
			Statistics results.Table `json:"statistics"`
		}{sum, curate.Statistics(set)})
	case asJSON:
		return s.JSON(sum)
	}
	if err := printSummary(s.Out, path, sum); err != nil || !stats {
		return err
	}
	return report.TerminalTable(s.Out, curate.Statistics(set), report.Meta{}, s.Width())
}
