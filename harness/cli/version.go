package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

// release is the version of this source tree, as in CHANGELOG.md.
const release = "0.1.0"

// build says which source a binary was made of. Revision is empty when the Go
// tool did not stamp it (go run, go test).
type build struct {
	Version  string `json:"version"`
	Revision string `json:"git_revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func thisBuild() build {
	b := build{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	return b
}

func (s streams) versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Flags: []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			b := thisBuild()
			if c.Bool("json") {
				return s.JSON(b)
			}
			rev := b.Revision
			if rev == "" {
				rev = "not stamped"
			}
			_, err := fmt.Fprintf(s.Out, "assay %s (revision %s, %s, %s)\n", b.Version, rev, b.Go, b.Platform)
			return err
		},
	}
}
