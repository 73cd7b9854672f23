package stores

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/cli/command"
	"assay/harness/cli/terminal"
	"assay/harness/experiment"
	"assay/harness/export"
	"assay/results/columns"
	"assay/results/sqlite"
)

// Export is the command export.
func Export(in command.Streams) *cli.Command {
	s := streams{in}
	return &cli.Command{
		Name:  "export",
		Usage: "write trials with all their scores, judgments, requests or device samples as CSV, JSON Lines or Parquet",
		Description: "One row for each trial, with every score, why it has none, times, tokens, energy and the answer; or, by --rows, one for each judgment, request or look at a device. " +
			"--columns says what each column is, and its unit. Nothing is asked of any model.",
		ArgsUsage:   "[STORE.sqlite]",
		Subcommands: []*cli.Command{s.reports()},
		Flags: []cli.Flag{command.ConfigFlag(), command.JSONFlag(),
			&cli.StringFlag{Name: "rows", Value: export.Kinds()[0], Usage: "one of " + strings.Join(export.Kinds(), ", ")},
			&cli.StringFlag{Name: "out", Value: "-", Usage: "the `FILE` to write, its format by its ending: " + strings.Join(columns.Formats(), ", ") + "; - is the standard output", TakesFile: true},
			&cli.StringFlag{Name: "format", Usage: "instead of by the ending (default for the standard output: csv)"},
			&cli.BoolFlag{Name: "columns", Usage: "say what the columns are instead"},
		},
		Action: func(c *cli.Context) error {
			format, err := columns.FormatOf(c.String("format"), c.String("out"))
			if err != nil {
				return command.Usage("export: %w", err)
			}
			path, err := command.StoreOf(c)
			if err != nil {
				return err
			}
			if !slices.Contains(export.Kinds(), c.String("rows")) {
				return command.Usage("export: --rows: expected one of %s, found %q", strings.Join(export.Kinds(), ", "), c.String("rows"))
			}
			st, err := sqlite.OpenReader(c.Context, path)
			if err != nil {
				return command.Environment(err)
			}
			defer st.Close()
			studies, err := experiment.Asked(c.Context, st)
			if err != nil {
				return command.Environment(err)
			}
			table, err := export.Of(c.Context, st, c.String("rows"), studies)
			switch {
			case err != nil:
				return command.Environment(err)
			case c.Bool("columns") && c.Bool("json"):
				return s.JSON(table.Columns)
			case c.Bool("columns"):
				return terminal.Columns(s.Out, table.Columns)
			case c.Bool("json"):
				return command.Usage("export: --json goes with --columns; rows as JSON are --format jsonl")
			}
			n, err := table.Write(c.Context, format, c.String("out"), s.Out, s.Err)
			if err == nil && c.String("out") != "-" {
				_, err = fmt.Fprintf(s.Out, "wrote %d rows of %d columns to %s; assay export --columns says what they are\n", n, len(table.Columns), c.String("out"))
			}
			return command.Environment(err)
		},
	}
}
