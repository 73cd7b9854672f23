package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"assay/harness/cli/terminal"
	"assay/harness/experiment"
	"assay/harness/export"
	"assay/results/columns"
	"assay/results/sqlite"
)

func (s streams) exportCommand() *cli.Command {
	return &cli.Command{
		Name:  "export",
		Usage: "write trials with all their scores, judgments, requests or device samples as CSV, JSON Lines or Parquet",
		Description: "One row for each trial, with every score, why it has none, times, tokens, energy and the answer; or, by --rows, one for each judgment, request or look at a device. " +
			"--columns says what each column is, and its unit. Nothing is asked of any model.",
		ArgsUsage: "[STORE.sqlite]",
		Flags: []cli.Flag{configFlag(), jsonFlag(),
			&cli.StringFlag{Name: "rows", Value: export.Kinds()[0], Usage: "one of " + strings.Join(export.Kinds(), ", ")},
			&cli.StringFlag{Name: "out", Value: "-", Usage: "the `FILE` to write, its format by its ending: " + strings.Join(columns.Formats(), ", ") + "; - is the standard output", TakesFile: true},
			&cli.StringFlag{Name: "format", Usage: "instead of by the ending (default for the standard output: csv)"},
			&cli.BoolFlag{Name: "columns", Usage: "say what the columns are instead"},
		},
		Action: func(c *cli.Context) error {
			format, err := formatOf(c.String("format"), c.String("out"))
			if err != nil {
				return err
			}
			path, err := storeOf(c)
			if err != nil {
				return err
			}
			if !slices.Contains(export.Kinds(), c.String("rows")) {
				return usage("export: --rows: expected one of %s, found %q", strings.Join(export.Kinds(), ", "), c.String("rows"))
			}
			st, err := sqlite.OpenReader(c.Context, path)
			if err != nil {
				return environment(err)
			}
			defer st.Close()
			studies, err := experiment.Asked(c.Context, st)
			if err != nil {
				return environment(err)
			}
			table, err := export.Of(c.Context, st, c.String("rows"), studies)
			switch {
			case err != nil:
				return environment(err)
			case c.Bool("columns") && c.Bool("json"):
				return s.json(table.Columns)
			case c.Bool("columns"):
				return terminal.Columns(s.out, table.Columns)
			case c.Bool("json"):
				return usage("export: --json goes with --columns; rows as JSON are --format jsonl")
			}
			return environment(s.export(c.Context, table, format, c.String("out")))
		},
	}
}

// formatOf is the format that was asked for, or that of a file's ending.
func formatOf(format, out string) (string, error) {
	switch {
	case format != "":
	case out == "-":
		format = "csv"
	default:
		format = strings.TrimPrefix(strings.ToLower(filepath.Ext(out)), ".")
	}
	if !slices.Contains(columns.Formats(), format) {
		return "", usage("export: expected a file that ends in one of %s, or --format; found %q", strings.Join(columns.Formats(), ", "), format)
	}
	return format, nil
}

// export writes a table. A file comes into being whole or not at all.
func (s streams) export(ctx context.Context, t export.Table, format, out string) (err error) {
	if out == "-" {
		_, err := s.rows(ctx, s.out, t, format)
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(out), filepath.Base(out)+".part*")
	if err != nil {
		return err
	}
	n, err := s.rows(ctx, f, t, format)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), out)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	fmt.Fprintf(s.out, "wrote %d rows of %d columns to %s; assay export --columns says what they are\n", n, len(t.Columns), out)
	return nil
}

func (s streams) rows(ctx context.Context, w io.Writer, t export.Table, format string) (n int, err error) {
	const every = 5 * time.Second
	buf := bufio.NewWriterSize(w, 1<<16)
	file, err := columns.New(format, buf, t.Columns)
	if err != nil {
		return 0, err
	}
	last := time.Now()
	err = t.Rows(func(row []any) error {
		if n++; n%1000 == 0 && time.Since(last) >= every {
			fmt.Fprintf(s.err, "%d rows written\n", n)
			last = time.Now()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return file.Write(row)
	})
	if err == nil {
		err = file.Close()
	}
	return n, errors.Join(err, buf.Flush())
}
