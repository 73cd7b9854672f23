package cli

import (
	"io"
	"slices"
	"strings"
	"testing"
)

func TestFlagsMayFollowArguments(t *testing.T) {
	t.Parallel()
	app := newApp(streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	for _, c := range []struct{ line, want string }{
		{"assay", "assay"},
		{"assay --help", "assay --help"},
		{"assay report s.sqlite --json", "assay report --json s.sqlite"},
		{"assay export s.sqlite --json --out x", "assay export --json --out x s.sqlite"},
		{"assay perturb A.png --seed 3 B.png --max-side=64 -", "assay perturb --seed 3 --max-side=64 A.png B.png -"},
		{"assay dataset check P --json", "assay dataset check --json P"},
		{"assay plan extra -c m.yaml", "assay plan -c m.yaml extra"},
		{"assay perturb --seed 3 -- -A.png --json", "assay perturb --seed 3 -- -A.png --json"},
		{"assay perturb A.png --opacity .3", "assay perturb --opacity A.png .3"},
		{"assay perturb A.png --seed", "assay perturb --seed"},
		{"assay perturb A.png -- --json", "assay perturb -- A.png --json"},
		{"assay report s.sqlite --generate-bash-completion", "assay report s.sqlite --generate-bash-completion"},
		{"assay dataset check P --help", "assay dataset check --help"},
		{"assay --version report", "assay --version report"},
	} {
		if got := flagsFirst(app, strings.Fields(c.line)); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s becomes %q, want %s", c.line, got, c.want)
		}
	}
}
