// Package phantoms has the commands that serve and draw phantoms, and that put the instrument to the test with them.
package phantoms

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/backends/phantom"
	"assay/harness/cli/command"
	"assay/harness/dataset/phantom/scene"
	"assay/harness/dataset/phantom/skill"
	"assay/perturb"
)

// streams are those of the command line.
type streams struct{ command.Streams }

// Command is the command phantom.
func Command(in command.Streams) *cli.Command {
	s := streams{in}
	return &cli.Command{
		Name:  "phantom",
		Usage: "synthetic readers of known behaviour, and the pictures they read",
		Action: func(c *cli.Context) error {
			return command.OnlySubcommands("assay phantom")(c)
		},
		Subcommands: []*cli.Command{
			s.checkCommand(),
			{
				Name:        "serve",
				Usage:       "serve phantom readers on loopback until Ctrl-C",
				Description: "Models are named after profiles: " + strings.Join(phantom.ProfileNames(), ", ") + ".",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "protocol", Value: phantom.Protocols()[0], Usage: "`P`: " + strings.Join(phantom.Protocols(), ", ")},
					&cli.StringFlag{Name: "addr", Value: "127.0.0.1:0", Usage: "listen on this `ADDRESS`; port 0 takes a free one"},
					&cli.Uint64Flag{Name: "seed", Value: 7, Usage: "of the readers"},
					&cli.StringFlag{Name: "ledger", Usage: "add the truth behind every reply to `FILE`; read it with: assay phantom ledger FILE"},
					&cli.BoolFlag{Name: "caches", Usage: "remember prompts and pictures, as real servers do"},
				},
				Action: func(c *cli.Context) error {
					if err := command.NoArguments(c); err != nil {
						return err
					}
					o := phantom.Options{Skill: new(skill.Films), Protocol: c.String("protocol"), Seed: c.Uint64("seed")}
					if c.Bool("caches") {
						o.Caches = &phantom.Caches{}
					}
					if name := c.String("ledger"); name != "" {
						f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
						if err != nil {
							return command.Environment(err)
						}
						defer f.Close()
						o.Ledger = f
					}
					p, err := phantom.Listen(c.String("addr"), o)
					if err != nil {
						return command.Usage("phantom serve: %w", err)
					}
					fmt.Fprintf(s.Out, "phantom %s server at %s, models %s\n", c.String("protocol"), p.URL, strings.Join(phantom.ProfileNames(), ", "))
					<-c.Context.Done()
					return command.Environment(p.Close())
				},
			},
			{
				Name:      "ledger",
				Usage:     "sum up what phantom readers saw, what moved them and what they said of it",
				ArgsUsage: "FILE",
				Flags:     []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "the entries as JSON"}},
				Action:    s.ledger,
			},
			{
				Name:      "sheet",
				Usage:     "write a contact sheet of phantom cases as PNG",
				ArgsUsage: "FILE.png",
				Flags: []cli.Flag{
					&cli.Uint64Flag{Name: "seed", Value: 7},
					&cli.IntFlag{Name: "first", Value: 0, Usage: "begin with the `N`th case, from 0"},
					&cli.IntFlag{Name: "cases", Value: 12, Usage: "1 to 100"},
					&cli.IntFlag{Name: "size", Value: 256, Usage: "pixels per side of each, 64 to 2048"},
				},
				Action: phantomSheet,
			},
			{
				Name:      "picture",
				Usage:     "write the radiograph of one phantom case as PNG",
				ArgsUsage: "FILE.png",
				Flags: []cli.Flag{
					&cli.Uint64Flag{Name: "seed", Value: 7},
					&cli.IntFlag{Name: "case", Value: 0, Usage: "the `N`th case, from 0"},
					&cli.IntFlag{Name: "size", Value: 512, Usage: "pixels per side, 64 to 4096"},
					&cli.IntFlag{Name: "bits", Value: 8, Usage: "8, or 16 for levels 0 to 4095 as detectors give them"},
				},
				Action: func(c *cli.Context) error {
					if c.NArg() != 1 {
						return command.Usage("phantom picture: expected one file name, found %d arguments", c.NArg())
					}
					size := c.Int("size")
					if size < 64 || size > 4096 {
						return command.Usage("phantom picture: --size: expected 64 to 4096, found %d", size)
					}
					one := scene.New(c.Uint64("seed"), c.Int("case"))
					switch bits := c.Int("bits"); bits {
					case 8:
						file, err := perturb.EncodePNG(one.Render(size))
						if err != nil {
							return err
						}
						return command.Environment(os.WriteFile(c.Args().First(), file, 0o644))
					case 16:
						var file bytes.Buffer
						if err := png.Encode(&file, one.Render16(size)); err != nil {
							return err
						}
						return command.Environment(os.WriteFile(c.Args().First(), file.Bytes(), 0o644))
					default:
						return command.Usage("phantom picture: --bits: expected 8 or 16, found %d", bits)
					}
				},
			},
		},
	}
}
