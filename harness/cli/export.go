package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/exchange"
	"assay/harness/experiment"
	"assay/results/store"
)

// What --columns takes.
const (
	columnsUsed = "used"
	columnsAll  = "all"
)

// exportCommand is the command export.
func exportCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:        "export",
		ArgsUsage:   "[STORE.sqlite]",
		Subcommands: []*cli.Command{s.reports()},
		Flags: []cli.Flag{configFlag(), jsonFlag(),
			&cli.StringFlag{Name: "rows", Value: exchange.Kinds()[0], Usage: "one row for each of these `ROWS`: " + strings.Join(exchange.Kinds(), ", ")},
			&cli.StringFlag{Name: "out", Value: "-", Usage: "the `FILE` to write, its format by its ending: " + strings.Join(exchange.Formats(), ", ") + "; - is the standard output", TakesFile: true},
			&cli.StringFlag{Name: "format", Usage: "write this `FORMAT`, whatever the ending", DefaultText: "by the ending; csv on the standard output"},
			&cli.StringFlag{Name: "images", Usage: "also write the images as sent into this `FOLDER`, and their names into the column images", TakesFile: true},
			&cli.StringFlag{Name: "columns", Value: columnsUsed, Usage: "these columns in this order, `COLUMN,...`; " + columnsUsed + ": all with a value that repeat no other; " + columnsAll},
			&cli.BoolFlag{Name: "describe", Usage: "print what all columns are instead"},
		},
		Action: func(c *cli.Context) error {
			format, err := exchange.FormatOf(c.String("format"), c.String("out"))
			if err != nil {
				return usage("export: %w", err)
			}
			path, err := storeOf(c)
			if err != nil {
				return err
			}
			if !slices.Contains(exchange.Kinds(), c.String("rows")) {
				return usage("export: --rows: expected one of %s, found %q", strings.Join(exchange.Kinds(), ", "), c.String("rows"))
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
			beside, err := s.beside(c, st)
			if err != nil {
				return err
			}
			table, err := exchange.TableOf(c.Context, st, c.String("rows"), studies, beside)
			switch {
			case err != nil:
				return environment(err)
			case c.Bool("describe") && c.Bool("json"):
				return s.JSON(table.Columns)
			case c.Bool("describe"):
				return printColumns(s.Out, table.Columns)
			case c.Bool("json"):
				return usage("export: --json goes with --describe; rows as JSON are --format jsonl")
			}
			all := len(table.Columns)
			switch of := c.String("columns"); of {
			case columnsAll:
			case columnsUsed:
				if table, err = table.Used(c.Context); err != nil {
					return environment(err)
				}
			default:
				if table, err = table.Only(commaList(of)); err != nil {
					return usage("export: --columns: %w; or %s or %s; --describe says what the columns are", err, columnsUsed, columnsAll)
				}
			}
			n, err := table.Write(c.Context, format, c.String("out"), s.Out, s.Err)
			if err == nil && c.String("out") != "-" {
				left := ""
				if n := all - len(table.Columns); n > 0 && c.String("columns") == columnsUsed {
					left = fmt.Sprintf(" (%d that are empty or repeat another are left out; --columns all keeps them)", n)
				}
				_, err = fmt.Fprintf(s.Out, "wrote %d rows of %d columns to %s%s; assay export --describe says what they are\n", n, len(table.Columns), c.String("out"), left)
			}
			return environment(err)
		},
	}
}

// beside finds questions and pictures where bench.yaml and its data are at hand.
func (s streams) beside(c *cli.Context, st *store.Store) (exchange.Beside, error) {
	var b exchange.Beside
	dir := c.String("images")
	if c.String("rows") != "trials" {
		if dir != "" {
			return b, usage("export: --images goes with --rows trials")
		}
		return b, nil
	}
	man, _, err := st.Manifest(c.Context)
	if err != nil {
		return b, environment(err)
	}
	if dir != "" && !c.Bool("describe") {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return b, environment(err)
		}
	}
	if dir != "" {
		b.Images = &exchange.Images{Dir: dir, Of: pictures(st, man, []string{c.String("config")})}
	}
	if c.Bool("describe") {
		return b, nil
	}
	var why error
	if exp, err := load(c); err != nil {
		why = err
	} else {
		b.Questions, why = exchange.QuestionsOf(exp.Config, exp.Sets, man)
	}
	if why != nil {
		fmt.Fprintf(s.Err, "note: questions and gold answers are left empty, because they are read from the data of bench.yaml (-c): %v\n", why)
	}
	return b, nil
}
