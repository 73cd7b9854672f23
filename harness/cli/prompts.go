package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/experiment"
	"assay/harness/study"
)

func (s streams) promptsCommand() *cli.Command {
	return &cli.Command{
		Name: "prompts",
		Subcommands: []*cli.Command{
			{Name: "list", Flags: []cli.Flag{jsonFlag()}, Action: func(c *cli.Context) error {
				if err := noArguments(c); err != nil {
					return err
				}
				all, err := experiment.Prompts()
				if err != nil {
					return err
				}
				if c.Bool("json") {
					return s.JSON(all)
				}
				return printPrompts(s.Out, all)
			}},
			{Name: "show", ArgsUsage: "NAME or STUDY/NAME", Action: func(c *cli.Context) error {
				p, err := onePrompt(c.Command.Name, c.Args().Slice())
				if err == nil {
					_, err = fmt.Fprintln(s.Out, p.Text)
				}
				return err
			}},
			{Name: "check", ArgsUsage: "FILE",
				Flags: []cli.Flag{&cli.StringFlag{Name: "prompt", Usage: "check it as the prompt `NAME` or STUDY/NAME"}}, Action: func(c *cli.Context) error {
					if c.NArg() != 1 {
						return usage("prompts check: expected one file, found %d arguments", c.NArg())
					}
					return s.checkPrompt(c.Args().First(), c.String("prompt"))
				}},
		},
		Action: onlySubcommands("assay config prompts"),
	}
}

// onePrompt finds a prompt by NAME or STUDY/NAME.
func onePrompt(name string, args []string) (experiment.Prompt, error) {
	if len(args) != 1 {
		return experiment.Prompt{}, usage("prompts %s: expected the name of one prompt, found %d arguments; see assay config prompts list", name, len(args))
	}
	p, err := experiment.PromptOf(args[0])
	if err != nil {
		err = usage("prompts %s: %w; see assay config prompts list", name, err)
	}
	return p, err
}

func (s streams) checkPrompt(file, as string) error {
	p, err := onePrompt("check", []string{cmp.Or(as, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))})
	if err != nil {
		return err
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return environment(err)
	}
	if _, err := experiment.NewStudy(p.Study, map[string]string{p.Name: strings.TrimSuffix(string(src), "\n")}, study.Choice{}); err != nil {
		return usage("%s: %w", file, err)
	}
	_, err = io.WriteString(s.Out, fmt.Sprintf("%s can be prompt %s of study %s: prompts: {%s: %s}\n", file, p.Name, p.Study, p.Name, file))
	return err
}
