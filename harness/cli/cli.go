// Package cli is assay's command line: it wires the other packages together
// and holds one file per command.
//
//  1. load.go reads bench.yaml, its data sets and its studies.
//  2. plan.go, run.go, judge.go and report.go are the pipeline's arrows.
//  3. Commands about people, phantoms, stores and data have packages of their own, over
//     what all share: package command.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/backends/kinds"
	"assay/harness/cli/command"
	"assay/harness/cli/data"
	"assay/harness/cli/fleet"
	"assay/harness/cli/people"
	"assay/harness/cli/phantoms"
	"assay/harness/cli/stores"
	"assay/harness/config"
	"assay/results"
)

// streams are those of the command line.
type streams struct{ command.Streams }

// Main runs one command line and returns the exit code. args[0] is the program.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	_, terminal := command.Interactive(stdout)
	out := &command.Sink{W: stdout, Visible: terminal} // elsewhere it may be a file, as it is
	stderr = &command.Sink{W: stderr, Visible: true}
	s := streams{command.Streams{In: stdin, Out: out, Err: stderr}}
	app := newApp(s)
	err := app.RunContext(ctx, flagsFirst(app, args))
	if lost := out.Failed(); lost != nil && (err == nil || errors.Is(err, lost)) {
		err = command.Environment(fmt.Errorf("what was to be printed is incomplete: %w", lost))
	}
	var store *results.Trouble
	var already command.Told
	if errors.As(err, &store) && !errors.As(err, &already) && (errors.Is(err, results.FaultDamaged) || errors.Is(err, results.FaultNewer)) {
		err = s.whatIsLeft(ctx, store.Path, err)
	}
	return exitCode(ctx, err, stderr)
}

// exitCode prints an error and says which exit code it means.
func exitCode(ctx context.Context, err error, stderr io.Writer) int {
	if err == nil {
		return command.ExitOK
	}
	var c *command.Error
	var bad config.Errors
	switch {
	case errors.As(err, &bad):
		for _, e := range bad {
			fmt.Fprintln(stderr, e)
		}
		return command.ExitUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "assay:", strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted"))
		return command.ExitInterrupted
	case errors.As(err, &c):
		if msg := c.Error(); msg != "" {
			fmt.Fprintln(stderr, "assay:", msg)
		}
		return c.Code
	case isUsage(err):
		fmt.Fprintln(stderr, "assay:", err)
		return command.ExitUsage
	}
	fmt.Fprintln(stderr, "assay:", err)
	return command.ExitEnvironment
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
	several := fleet.Commands{Streams: s.Streams, Version: thisBuild().Version, Revision: thisBuild().Revision}
	app := &cli.App{
		Name:                      "assay",
		Usage:                     "measure vision-language models on your own workstation",
		Description:               "assay drives models behind model servers (" + strings.Join(kinds.Names(false), ", ") + "), times every request, judges the answers and prints the tables of a study. Without a bench.yaml of your own, the one in this folder runs phantom cases on phantom readers.",
		Reader:                    s.In,
		Writer:                    s.Out,
		ErrWriter:                 s.Err,
		ExitErrHandler:            func(*cli.Context, error) {},
		DisableSliceFlagSeparator: true,
		EnableBashCompletion:      true,
		HideHelpCommand:           true,
		Suggest:                   true,
		Commands: []*cli.Command{
			s.runCommand(), s.planCommand(), s.judgeCommand(), s.reportCommand(), people.Agree(s.Streams), people.Rate(s.Streams), s.costCommand(), s.doctorCommand(), s.calibrateCommand(), s.showCommand(),
			stores.View(s.Streams), stores.Export(s.Streams), stores.Import(s.Streams, thisBuild().Version, thisBuild().Revision),
			stores.Merge(s.Streams), stores.Slurm(s.Streams), several.Submit(), several.Worker(), several.Watch(), several.Pull(), stores.Compare(s.Streams), s.promptsCommand(), data.Perturb(s.Streams), data.Command(s.Streams, thisBuild().Version, thisBuild().Revision), data.Contamination(s.Streams, thisBuild().Version, thisBuild().Revision), stores.Command(s.Streams), s.initCommand(), data.Config(s.Streams), phantoms.Command(s.Streams), s.completionCommand(), s.versionCommand(),
		},
		Action: command.OnlySubcommands("assay"),
	}
	for _, cmd := range app.Commands {
		quiet("assay", cmd)
	}
	withExamples("", app.Commands, examplesOf())
	return app
}

// quiet keeps usage errors to one line. A command stands under what is typed before it.
func quiet(under string, cmd *cli.Command) {
	typed := under + " " + cmd.Name
	cmd.OnUsageError = func(_ *cli.Context, err error, _ bool) error {
		return command.Usage("%s: %w; see %s --help", cmd.Name, err, typed)
	}
	cmd.HideHelpCommand = true
	for _, sub := range cmd.Subcommands {
		quiet(typed, sub)
	}
}
