package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"
)

// configSchema is the command config schema.
func (s streams) configSchema() *cli.Command {
	return &cli.Command{
		Name:  "schema",
		Usage: "print the JSON Schema of bench.yaml, for editors that check and complete it",
		Description: "Begin the bench.yaml with a line # yaml-language-server: $schema=FILE, in editors with a YAML language server. " +
			"docs/bench.md has the same to read. What goes beyond one value (names that have to stand somewhere, files that have to be there) assay plan checks.",
		Flags: []cli.Flag{&cli.StringFlag{Name: "out", Usage: "write it to this `FILE`", TakesFile: true}},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			schema, err := schema()
			if err != nil {
				return err
			}
			if out := c.String("out"); out != "" {
				if err := os.WriteFile(out, schema, 0o644); err != nil {
					return environment(err)
				}
				_, err := fmt.Fprintf(s.Out, "%s: written; begin a bench.yaml beside it with # yaml-language-server: $schema=%s\n", out, filepath.Base(out))
				return err
			}
			_, err = s.Out.Write(schema)
			return err
		},
	}
}
