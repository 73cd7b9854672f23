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
			if c.Usage == "" {
				t.Errorf("assay %s%s has no usage line", prefix, c.Name)
			}
		}
	}
	walk("", newApp(streams{}).Commands)
}
