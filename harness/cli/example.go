package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	wrap "github.com/jedib0t/go-pretty/v6/text"
	"github.com/urfave/cli/v2"

	"assay/harness/dataset"
	"assay/results/text"
)

// example is the command dataset example.
func (s streams) example() *cli.Command {
	return &cli.Command{
		Name:      "example",
		ArgsUsage: "KIND [FOLDER]",
		Action: func(c *cli.Context) error {
			kind, dir := c.Args().First(), c.Args().Get(1)
			switch {
			case c.NArg() < 1 || c.NArg() > 2:
				return usage("dataset example: expected a kind and perhaps a folder, found %d arguments", c.NArg())
			case !slices.Contains(dataset.ExampleKinds(), kind):
				return usage("dataset example: expected one of %s, found %q%s", strings.Join(dataset.ExampleKinds(), ", "), kind, text.DidYouMean(kind, dataset.ExampleKinds()))
			case dir == "":
				dir = "example-" + kind
			}
			path, err := dataset.WriteExample(kind, dir)
			if err != nil {
				return environment(fmt.Errorf("dataset example: %w", err))
			}
			_, err = fmt.Fprintf(s.Out, "%s; assay dataset check %s says what is in it\n", path, path)
			return err
		},
	}
}

// schema is the command dataset schema.
func (s streams) schema() *cli.Command {
	return &cli.Command{
		Name:      "schema",
		ArgsUsage: "KIND",
		Flags:     []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			kind := c.Args().First()
			if c.NArg() != 1 || !slices.Contains(dataset.Kinds(), kind) {
				return usage("dataset schema: expected one of %s, found %q%s", strings.Join(dataset.Kinds(), ", "), kind, text.DidYouMean(kind, dataset.Kinds()))
			}
			sc, err := dataset.SchemaOf(kind)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return s.JSON(sc)
			}
			fmt.Fprintln(s.Out, sc.Is)
			t := table.NewWriter()
			t.SetStyle(table.StyleLight)
			t.Style().Format.Header = 0
			header := table.Row{"field", "needed", "is"}
			guessed := slices.Contains(dataset.TableKinds(), kind) && kind != dataset.KindVLMEvalKit
			if guessed {
				header = append(header, "taken from the column")
			}
			t.AppendHeader(header)
			t.SetColumnConfigs([]table.ColumnConfig{{Number: 3, WidthMax: 60, WidthMaxEnforcer: wrap.WrapSoft}, {Number: 4, WidthMax: 30, WidthMaxEnforcer: wrap.WrapSoft}})
			for _, f := range sc.Fields {
				row := table.Row{f.Name, map[bool]string{true: "yes"}[f.Needed], f.Is}
				if guessed {
					row = append(row, strings.Join(f.Names, ", "))
				}
				t.AppendRow(row)
			}
			_, err = fmt.Fprintln(s.Out, t.Render())
			return err
		},
	}
}
