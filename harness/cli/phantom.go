// Phantoms has the commands that serve phantoms, and that put the instrument to the test with them.

package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/backends/phantom"
	films "assay/harness/dataset/phantom"
)

// phantomServe is the command phantom serve.
func (s streams) phantomServe() *cli.Command {
	return &cli.Command{
		Name: "serve",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "protocol", Value: phantom.Protocols()[0], Usage: "speak as this `SERVER`: " + strings.Join(phantom.Protocols(), ", ")},
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:0", Usage: "serve at this `ADDRESS`, host:port; port 0 takes a free one"},
			seedFlag(7, "the readers"),
			&cli.StringFlag{Name: "ledger", Usage: "add the truth behind every reply to this `FILE`; read it with: assay phantom ledger FILE"},
			&cli.BoolFlag{Name: "caches", Usage: "remember prompts and images, as real servers do"},
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			o := phantom.Options{Skill: new(films.Films), Protocol: c.String("protocol"), Seed: c.Uint64("seed")}
			if c.Bool("caches") {
				o.Caches = &phantom.Caches{}
			}
			if name := c.String("ledger"); name != "" {
				f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
				if err != nil {
					return environment(err)
				}
				defer f.Close()
				o.Ledger = f
			}
			p, err := phantom.Listen(c.String("listen"), o)
			if err != nil {
				return usage("phantom serve: %w", err)
			}
			fmt.Fprintf(s.Out, "phantom %s server at %s, models %s\n", c.String("protocol"), p.URL, strings.Join(phantom.ProfileNames(), ", "))
			<-c.Context.Done()
			return environment(p.Close())
		},
	}
}

// phantomLedger is the command phantom ledger.
func (s streams) phantomLedger() *cli.Command {
	return &cli.Command{
		Name:      "ledger",
		ArgsUsage: "FILE",
		Flags:     []cli.Flag{jsonFlag()},
		Action:    s.ledger,
	}
}
