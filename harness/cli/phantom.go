package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/backends/phantom"
	"assay/backends/phantom/scene"
	"assay/perturb"
)

func (s streams) phantomCommand() *cli.Command {
	return &cli.Command{
		Name:  "phantom",
		Usage: "synthetic readers of known behaviour, and the pictures they read",
		Action: func(c *cli.Context) error {
			return noSuchCommand(c, "assay phantom")
		},
		Subcommands: []*cli.Command{
			s.checkCommand(),
			{
				Name:        "serve",
				Usage:       "serve phantom readers on loopback until Ctrl-C",
				Description: "Models are named after profiles: " + strings.Join(phantom.ProfileNames(), ", ") + ".",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "protocol", Value: "ollama", Usage: "`P`: ollama, llamacpp or vllm"},
					&cli.StringFlag{Name: "addr", Value: "127.0.0.1:0", Usage: "listen on this `ADDRESS`; port 0 takes a free one"},
					&cli.Uint64Flag{Name: "seed", Value: 7, Usage: "of the readers"},
					&cli.BoolFlag{Name: "caches", Usage: "remember prompts and pictures, as real servers do"},
				},
				Action: func(c *cli.Context) error {
					if err := noArguments(c); err != nil {
						return err
					}
					o := phantom.Options{Protocol: c.String("protocol"), Seed: c.Uint64("seed")}
					if c.Bool("caches") {
						o.Caches = &phantom.Caches{}
					}
					p, err := phantom.Listen(c.String("addr"), o)
					if err != nil {
						return usage("phantom serve: %w", err)
					}
					defer p.Close()
					fmt.Fprintf(s.out, "phantom %s server at %s, models %s\n", c.String("protocol"), p.URL, strings.Join(phantom.ProfileNames(), ", "))
					<-c.Context.Done()
					return nil
				},
			},
			{
				Name:      "picture",
				Usage:     "write the radiograph of one phantom case as PNG",
				ArgsUsage: "FILE.png",
				Flags: []cli.Flag{
					&cli.Uint64Flag{Name: "seed", Value: 7},
					&cli.IntFlag{Name: "case", Value: 0, Usage: "the `N`th case, from 0"},
					&cli.IntFlag{Name: "size", Value: 512, Usage: "pixels per side, 64 to 4096"},
				},
				Action: func(c *cli.Context) error {
					if c.NArg() != 1 {
						return usage("phantom picture: expected one file name, found %d arguments", c.NArg())
					}
					size := c.Int("size")
					if size < 64 || size > 4096 {
						return usage("phantom picture: --size: expected 64 to 4096, found %d", size)
					}
					png, err := perturb.EncodePNG(scene.New(c.Uint64("seed"), c.Int("case")).Render(size))
					if err != nil {
						return err
					}
					return environment(os.WriteFile(c.Args().First(), png, 0o644))
				},
			},
		},
	}
}
