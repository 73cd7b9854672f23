package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestEveryCommandHasAScript(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	var walk func(prefix string, cmds []*cli.Command)
	walk = func(prefix string, cmds []*cli.Command) {
		for _, c := range cmds {
			if len(c.Subcommands) > 0 {
				walk(prefix+c.Name+" ", c.Subcommands)
				continue
			}
			if !strings.Contains(all.String(), "exec assay "+prefix+c.Name) {
				t.Errorf("no script runs assay %s%s", prefix, c.Name)
			}
		}
	}
	walk("", newApp(streams{}).Commands)
}

// TestEveryCommandIsExplained: one short sentence and two or three examples each.
func TestEveryCommandIsExplained(t *testing.T) {
	all := explanations()
	everyCommand("", newApp(streams{}).Commands, func(path string, c *cli.Command) {
		e := all[path]
		delete(all, path)
		if e.Short == "" || len(e.Short) > 90 || strings.HasSuffix(e.Short, ".") {
			t.Errorf("assay %s: %q is no short sentence", path, e.Short)
		}
		if len(e.More) > 560 {
			t.Errorf("assay %s: %d characters are too many: what is seldom needed stands in docs", path, len(e.More))
		}
		if n := len(e.Examples); n < 2 || n > 3 {
			t.Errorf("assay %s has %d examples", path, n)
		}
		for _, x := range e.Examples {
			if !strings.HasPrefix(x+" ", "assay "+path+" ") {
				t.Errorf("assay %s shows %s", path, x)
			}
		}
	})
	for path, e := range all {
		if len(e.Examples) > 0 {
			t.Errorf("there is no command %s", path)
		}
	}
}
