package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/harness/cli/terminal"
	"assay/harness/studies"
	"assay/harness/study"
	"assay/results/text"
)

func (s streams) promptsCommand() *cli.Command {
	return &cli.Command{
		Name:        "prompts",
		Usage:       "list, print and check the prompts, which files of yours can replace",
		Description: "A prompt is a template; bench.yaml replaces one by a file of yours: prompts: {cot: mine.tmpl}.",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "the built-in prompts and what each may use", Flags: []cli.Flag{jsonFlag()}, Action: func(c *cli.Context) error {
				if err := noArguments(c); err != nil {
					return err
				}
				all, err := builtIn()
				if err != nil {
					return err
				}
				if c.Bool("json") {
					return s.json(all)
				}
				return terminal.Prompts(s.out, all)
			}},
			{Name: "show", Usage: "print a built-in prompt, to begin with", ArgsUsage: "NAME or STUDY/NAME", Action: func(c *cli.Context) error {
				p, err := onePrompt(c.Command.Name, c.Args().Slice())
				if err == nil {
					_, err = fmt.Fprintln(s.out, p.Text)
				}
				return err
			}},
			{Name: "check", Usage: "say whether a file can stand in for a prompt", ArgsUsage: "FILE",
				Description: "The prompt is the one that the file is named for (cot.tmpl), or --as.",
				Flags:       []cli.Flag{&cli.StringFlag{Name: "as", Usage: "the prompt's `NAME` or STUDY/NAME"}}, Action: func(c *cli.Context) error {
					if c.NArg() != 1 {
						return usage("prompts check: expected one file, found %d arguments", c.NArg())
					}
					return s.checkPrompt(c.Args().First(), c.String("as"))
				}},
		},
		Action: func(c *cli.Context) error { return noSuchCommand(c, "assay prompts") },
	}
}

// builtIn are the prompts of all studies, in their order.
func builtIn() ([]terminal.Prompt, error) {
	var out []terminal.Prompt
	for _, d := range studies.All() {
		st, err := d.New(nil, study.Choice{})
		if err != nil {
			return nil, err
		}
		for _, name := range d.Prompts {
			out = append(out, terminal.Prompt{Study: d.Name, Name: name, Uses: st.Usable[name], Text: st.Prompts[name]})
		}
	}
	return out, nil
}

// onePrompt finds a prompt by NAME or STUDY/NAME.
func onePrompt(command string, args []string) (terminal.Prompt, error) {
	if len(args) != 1 {
		return terminal.Prompt{}, usage("prompts %s: expected the name of one prompt, found %d arguments; see assay prompts list", command, len(args))
	}
	all, err := builtIn()
	if err != nil {
		return terminal.Prompt{}, err
	}
	var found []terminal.Prompt
	var names []string
	for _, p := range all {
		full := p.Study + "/" + p.Name
		if args[0] == p.Name || args[0] == full {
			found = append(found, p)
		}
		names = append(names, p.Name, full)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		slices.Sort(names)
		return terminal.Prompt{}, usage("prompts %s: no prompt %q%s; see assay prompts list", command, args[0], text.DidYouMean(args[0], names))
	}
	var of []string
	for _, p := range found {
		of = append(of, p.Study+"/"+p.Name)
	}
	return terminal.Prompt{}, usage("prompts %s: expected one of %s, found %q, which is several", command, strings.Join(of, ", "), args[0])
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
	for _, d := range studies.All() {
		if d.Name != p.Study {
			continue
		}
		if _, err := d.New(map[string]string{p.Name: strings.TrimSuffix(string(src), "\n")}, study.Choice{}); err != nil {
			return usage("%s: %w", file, err)
		}
	}
	_, err = io.WriteString(s.out, fmt.Sprintf("%s can be prompt %s of study %s: prompts: {%s: %s}\n", file, p.Name, p.Study, p.Name, file))
	return err
}
