// Package cli is assay's command line: it wires the other packages together
// and holds one file per command.
//
//  1. load.go reads bench.yaml, its data sets and its studies.
//  2. plan.go, run.go, judge.go and report.go are the pipeline's arrows.
//  3. show.go, dataset.go and phantom.go look at single things.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"assay/backends/kinds"
	"assay/harness/config"
	"assay/results"
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

// coded is an error with an exit code.
type coded struct {
	code int
	err  error
}

func (e *coded) Error() string { return e.err.Error() }
func (e *coded) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &coded{exitUsage, fmt.Errorf(format, args...)}
}

func environment(err error) error {
	if err == nil {
		return nil
	}
	return &coded{exitEnvironment, err}
}

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// Main runs one command line and returns the exit code. args[0] is the program.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &sink{w: stdout}
	s := streams{stdin, out, stderr}
	err := newApp(s).RunContext(ctx, args)
	if lost := out.failed(); lost != nil && (err == nil || errors.Is(err, lost)) {
		err = environment(fmt.Errorf("what was to be printed is incomplete: %w", lost))
	}
	var store *results.Trouble
	var already told
	if errors.As(err, &store) && !errors.As(err, &already) && (errors.Is(err, results.FaultDamaged) || errors.Is(err, results.FaultNewer)) {
		err = s.whatIsLeft(ctx, store.Path, err)
	}
	return exitCode(ctx, err, stderr)
}

// sink is the standard output. It remembers that something could not be written, as
// on a full disk: who reads less than there was must be told.
type sink struct {
	w io.Writer

	mu  sync.Mutex
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	return n, err
}

func (s *sink) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// exitCode prints an error and says which exit code it means.
func exitCode(ctx context.Context, err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	var c *coded
	var bad config.Errors
	switch {
	case errors.As(err, &bad):
		for _, e := range bad {
			fmt.Fprintln(stderr, e)
		}
		return exitUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "assay:", err)
		return exitInterrupted
	case errors.As(err, &c):
		if msg := c.Error(); msg != "" {
			fmt.Fprintln(stderr, "assay:", msg)
		}
		return c.code
	case isUsage(err):
		fmt.Fprintln(stderr, "assay:", err)
		return exitUsage
	}
	fmt.Fprintln(stderr, "assay:", err)
	return exitEnvironment
}

// isUsage recognises urfave/cli's own complaints, which have no type.
func isUsage(err error) bool {
	msg := err.Error()
	for _, s := range []string{"flag provided but not defined", "flag needs an argument", "invalid value", "Required flag", "invalid boolean"} {
		if strings.Contains(msg, s) {
			return true
		}
	}
	return false
}

func newApp(s streams) *cli.App {
	app := &cli.App{
		Name:                      "assay",
		Usage:                     "measure vision-language models on your own workstation",
		Description:               "assay drives models behind model servers (" + strings.Join(kinds.Names(false), ", ") + "), times every request, judges the answers and prints the tables of a study. Without a bench.yaml of your own, the one in this folder runs phantom cases on phantom readers.",
		Reader:                    s.in,
		Writer:                    s.out,
		ErrWriter:                 s.err,
		ExitErrHandler:            func(*cli.Context, error) {},
		DisableSliceFlagSeparator: true,
		EnableBashCompletion:      true,
		HideHelpCommand:           true,
		Suggest:                   true,
		Commands: []*cli.Command{
			s.runCommand(), s.planCommand(), s.judgeCommand(), s.reportCommand(), s.agreeCommand(), s.rateCommand(), s.costCommand(), s.doctorCommand(), s.showCommand(),
			s.exportCommand(), s.promptsCommand(), s.perturbCommand(), s.datasetCommand(), s.storeCommand(), s.initCommand(), s.phantomCommand(), s.completionCommand(), s.versionCommand(),
		},
		Action: func(c *cli.Context) error { return noSuchCommand(c, "assay") },
	}
	for _, cmd := range app.Commands {
		quiet(cmd)
	}
	withExamples("", app.Commands, examplesOf())
	return app
}

// quiet keeps usage errors to one line and lets none of a command's arguments
// be a flag that came too late.
func quiet(cmd *cli.Command) {
	cmd.OnUsageError = func(_ *cli.Context, err error, _ bool) error {
		return usage("%s: %w; see assay %s --help", cmd.Name, err, cmd.Name)
	}
	cmd.HideHelpCommand = true
	if action := cmd.Action; action != nil {
		cmd.Action = func(c *cli.Context) error {
			for _, a := range c.Args().Slice() {
				if len(a) > 1 && a[0] == '-' {
					return usage("%s: flags go before arguments: found %s after %s", cmd.Name, a, c.Args().First())
				}
			}
			return action(c)
		}
	}
	for _, sub := range cmd.Subcommands {
		quiet(sub)
	}
}

// noSuchCommand is the action of a command that only has subcommands.
func noSuchCommand(c *cli.Context, parent string) error {
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

// noArguments refuses leftovers.
func noArguments(c *cli.Context) error {
	if c.Args().Present() {
		return usage("%s: takes no arguments, found %q", c.Command.Name, c.Args().First())
	}
	return nil
}

func configFlag() cli.Flag {
	return &cli.StringFlag{Name: "config", Aliases: []string{"c"}, Value: "bench.yaml", Usage: "the experiment", TakesFile: true}
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON instead of a table"}
}

// interactive says whether w is a terminal.
func interactive(w io.Writer) (width int, ok bool) {
	if s, ok := w.(*sink); ok {
		w = s.w
	}
	f, isFile := w.(*os.File)
	if !isFile {
		return 0, false
	}
	return terminalWidth(f)
}
