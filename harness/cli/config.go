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
