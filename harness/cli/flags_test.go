package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// everyCommand visits all commands that stand in no noun's place, with their path.
func everyCommand(prefix string, cmds []*cli.Command, visit func(path string, c *cli.Command)) {
	for _, c := range cmds {
		if len(c.Subcommands) == 0 || len(c.Flags) > 0 {
			visit(prefix+c.Name, c)
		}
		everyCommand(prefix+c.Name+" ", c.Subcommands, visit)
	}
}

// TestAFlagMeansOneThing: a flag of one name takes the same everywhere, and its help names
// what that is.
func TestAFlagMeansOneThing(t *testing.T) {
	takes := regexp.MustCompile("`([^`]+)`")
	either := map[string]string{"out": "FILE or FOLDER"} // one meaning: where to write
	means, at, flags := map[string]string{}, map[string]string{}, 0
	everyCommand("", newApp(streams{}).Commands, func(path string, c *cli.Command) {
		for _, f := range c.Flags {
			flags++
			name, doc := f.Names()[0], f.(cli.DocGenerationFlag)
			is := "nothing"
			if doc.TakesValue() {
				m := takes.FindStringSubmatch(doc.GetUsage())
				if m == nil || m[1] != strings.ToUpper(m[1]) && m[1] != "CxR" {
					t.Errorf("assay %s --%s does not say in capitals what it takes: %s", path, name, doc.GetUsage())
					continue
				}
				is = strings.Replace(fmt.Sprintf("%T of %s", f, m[1]), "cli.repeated", "*cli.StringFlag", 1)
				if all := either[name]; strings.Contains(all, m[1]) {
					is = all
				}
			}
			if doc.GetUsage() == "" {
				t.Errorf("assay %s --%s has no help", path, name)
			}
			if was, ok := means[name]; ok && was != is {
				t.Errorf("--%s takes %s in assay %s, and %s in assay %s", name, was, at[name], is, path)
			}
			means[name], at[name] = is, path
		}
	})
	t.Logf("%d flags of %d names", flags, len(means))
	if flags < 200 {
		t.Errorf("only %d flags were looked at", flags)
	}
}

// TestTablesCanBeJSON: all commands have --json but those that print no table.
func TestTablesCanBeJSON(t *testing.T) {
	without := strings.Split("init,view,export reports,dataset example,people serve,people export,fleet worker,fleet slurm,config schema,config prompts show,config prompts check,phantom serve,completion", ",")
	everyCommand("", newApp(streams{}).Commands, func(path string, c *cli.Command) {
		has := slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return f.Names()[0] == "json" })
		if has == slices.Contains(without, path) {
			t.Errorf("assay %s: --json is there: %v", path, has)
		}
	})
}
