// Command is what the commands of the command line share: where they read and
// write, the flags that several have, and what errors mean for the exit code.

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"assay/harness/config"
	"assay/harness/experiment"
	"assay/harness/servers"
	"assay/results"
	"assay/results/report"
	"assay/results/text"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailures    = 1 // the run finished with failures worth a look
	exitUsage       = 2 // usage or config
	exitEnvironment = 3 // no server, no disk
	exitInterrupted = 130
)

// exitError is an error with an exit code.
type exitError struct {
	Code int
	Err  error
}

func (e *exitError) Error() string { return e.Err.Error() }
func (e *exitError) Unwrap() error { return e.Err }

// usage is an error of what was asked for.
func usage(format string, args ...any) error {
	return &exitError{Code: exitUsage, Err: fmt.Errorf(format, args...)}
}

// failures is the end of work that was done, with something worth a look.
func failures(format string, args ...any) error {
	return &exitError{Code: exitFailures, Err: fmt.Errorf(format, args...)}
}

// interrupted is the end of work that somebody stopped.
func interrupted(format string, args ...any) error {
	return &exitError{Code: exitInterrupted, Err: fmt.Errorf(format, args...)}
}

// environment is an error of what a command works with; nil of nil.
func environment(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{Code: exitEnvironment, Err: err}
}

// told is an error of a store about which is said what is left of it.
type told struct{ Err error }

func (t told) Error() string { return t.Err.Error() }
func (t told) Unwrap() error { return t.Err }

// streams are where a command reads and writes.
type streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// JSON prints a value.
func (s streams) JSON(v any) error {
	enc := json.NewEncoder(s.Out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// sink is the standard output or error. It remembers that something could not be
// written, as on a full disk: who reads less than there was must be told. With Visible it
// is for people: what steers a terminal is written as its code point, because servers,
// exporters and files say what they like. Who draws takes Raw.
type sink struct {
	W       io.Writer
	Visible bool

	mu  sync.Mutex
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	var n int
	var err error
	if s.Visible {
		cells := strings.Split(string(p), "\t")
		for i := range cells {
			cells[i] = text.VisibleLines(cells[i])
		}
		if _, err = s.W.Write([]byte(strings.Join(cells, "\t"))); err == nil {
			n = len(p)
		}
	} else {
		n, err = s.W.Write(p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	return n, err
}

// Raw is where it writes, for who draws.
func (s *sink) Raw() io.Writer { return s.W }

// Failed is why something could not be written; nil: all was.
func (s *sink) Failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// interactive says whether w is a terminal, and how many characters wide.
func interactive(w io.Writer) (width int, ok bool) {
	if s, ok := w.(*sink); ok {
		w = s.Raw()
	}
	f, isFile := w.(*os.File)
	if !isFile {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	return width, err == nil
}

// Width is how many characters wide a table may be: 120 where there is no terminal.
func (s streams) Width() int {
	if width, ok := interactive(s.Out); ok {
		return width
	}
	return 120
}

// Tables prints sections, as JSON if asked for, and behind tables what more there is to say.
func (s streams) Tables(asJSON bool, sections []results.Section, meta report.Meta, more string) error {
	if asJSON {
		return report.JSON(s.Out, sections, meta)
	}
	err := report.Terminal(s.Out, sections, meta, s.Width())
	if err == nil {
		_, err = io.WriteString(s.Out, more)
	}
	return err
}

// configFlag names the experiment.
func configFlag() cli.Flag {
	return &cli.StringFlag{Name: "config", Aliases: []string{"c"}, Value: "bench.yaml", Usage: "the experiment `FILE`", TakesFile: true}
}

// jsonFlag is that of every command that prints a table.
func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON instead of a table"}
}

// figuresFlag is that of every command that writes a report.
func figuresFlag() cli.Flag {
	return &cli.StringFlag{Name: "figures", EnvVars: []string{"ASSAY_FIGURES"}, Usage: "write figures as these file types, `TYPE,...`; svg is always written, for report.md", Value: strings.Join(report.FigureTypes(), ","),
		Action: func(c *cli.Context, _ string) error {
			for _, t := range figures(c) {
				if !slices.Contains(report.FigureTypes(), t) {
					return usage("%s: --figures: expected some of %s, found %q%s", c.Command.Name, strings.Join(report.FigureTypes(), ", "), t, text.DidYouMean(t, report.FigureTypes()))
				}
			}
			return nil
		}}
}

// Figures are the file types that figuresFlag asks for; nil: all.
func figures(c *cli.Context) []string {
	if c.String("figures") == "" {
		return nil
	}
	return strings.FieldsFunc(strings.ToLower(c.String("figures")), func(r rune) bool { return r == ',' || r == ' ' })
}

// noArguments refuses leftovers.
func noArguments(c *cli.Context) error {
	if c.Args().Present() {
		return usage("%s: takes no arguments, found %q", c.Command.Name, c.Args().First())
	}
	return nil
}

// onlySubcommands is the action of a command that has subcommands alone.
func onlySubcommands(parent string) cli.ActionFunc {
	return func(c *cli.Context) error {
		name := c.Args().First()
		cmds := c.App.Commands
		if c.Command != nil && len(c.Command.Subcommands) > 0 {
			cmds = c.Command.Subcommands
		}
		if name == "" {
			if parent == "assay" {
				return cli.ShowAppHelp(c)
			}
			return cli.ShowSubcommandHelp(c)
		}
		var names []string
		for _, cmd := range cmds {
			names = append(names, cmd.Name)
		}
		return usage("%s: no command %q%s; see %s --help", parent, name, text.DidYouMean(name, names), parent)
	}
}

// storeOf is the store that the argument names, or else bench.yaml.
func storeOf(c *cli.Context) (string, error) {
	if c.NArg() > 1 {
		return "", usage("%s: expected one store, found %d arguments", c.Command.Name, c.NArg())
	}
	store := c.Args().First()
	if c.NArg() == 0 {
		var err error
		if store, err = storeIn(c.String("config")); err != nil {
			return "", err
		}
	}
	warnLeft(c, store)
	return store, nil
}

// storeIn is the store of an experiment's file.
func storeIn(file string) (string, error) {
	cfg, err := config.Read(file, experiment.Known())
	if err != nil {
		return "", err
	}
	return cfg.Store, nil
}

// writeFile makes a file of what write writes, for its owner alone: questions and answers
// stand in it. It replaces no store.
func writeFile(path string, write func(io.Writer) error) error {
	if _, _, err := results.Target(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() { // it may have been there
		if err := f.Chmod(0o600); err != nil && runtime.GOOS != "windows" {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(write(f), f.Close())
}

// load reads the experiment named by --config, its studies and its data sets.
func load(c *cli.Context) (*experiment.Bench, error) {
	cfg, err := config.Read(c.String("config"), experiment.Known())
	if err != nil {
		return nil, err
	}
	if c.Command.Name != "run" { // which ends them
		warnLeft(c, cfg.Store)
	}
	b, err := experiment.Assemble(c.Context, cfg)
	if err != nil {
		return nil, usage("%w", err)
	}
	return b, nil
}

// warnLeft says which servers live that a run of a store left when it was killed.
func warnLeft(c *cli.Context, store string) {
	for _, left := range servers.Left(store) {
		fmt.Fprintf(c.App.ErrWriter, "warning: %s still runs: a run of %s was killed; assay run or assay doctor ends it\n", left, store)
	}
}
