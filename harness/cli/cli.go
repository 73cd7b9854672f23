// Package cli is assay's command line: it wires the other packages together. One flat
// folder, one file a command.
//
//  1. command.go is what commands share: where they read and write, the flags that several
//     have, and what errors mean for the exit code. load.go reads bench.yaml, its data sets
//     and its studies.
//  2. plan.go, run.go, judge.go and report.go are the pipeline's arrows.
//  3. terminal.go and terminal_*.go print for people what commands found.
//  4. draft.go writes a bench.yaml for a server and a data set, slurm_script.go the script
//     of an array job, preview.go what conditions do to a picture, view_pages.go gives a
//     viewer what only the harness knows of a store.
//  5. bench.go, schema.go and perturbations.go make the pages of docs that say what there
//     is, from the tables and the parser that the program itself uses.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"assay/backends/kinds"
	"assay/harness/config"
	"assay/results"
)

// Main runs one command line and returns the exit code. args[0] is the program.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	_, terminal := interactive(stdout)
	out := &sink{W: stdout, Visible: terminal} // elsewhere it may be a file, as it is
	stderr = &sink{W: stderr, Visible: true}
	s := streams{In: stdin, Out: out, Err: stderr}
	app := newApp(s)
	args, notes := renamed(args)
	for _, n := range notes {
		fmt.Fprintln(stderr, n)
	}
	err := app.RunContext(ctx, flagsFirst(app, args))
	if lost := out.Failed(); lost != nil && (err == nil || errors.Is(err, lost)) {
		err = environment(fmt.Errorf("the output is incomplete: %w", lost))
	}
	var store *results.Trouble
	var already told
	if errors.As(err, &store) && !errors.As(err, &already) && (errors.Is(err, results.FaultDamaged) || errors.Is(err, results.FaultNewer)) {
		err = s.whatIsLeft(ctx, store.Path, err)
	}
	return exitCode(ctx, err, stderr)
}

// exitCode prints an error and says which exit code it means.
func exitCode(ctx context.Context, err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	var c *exitError
	var bad config.Errors
	switch {
	case errors.As(err, &bad):
		for _, e := range bad {
			fmt.Fprintln(stderr, e)
		}
		return exitUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "assay:", strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted"))
		return exitInterrupted
	case errors.As(err, &c):
		if msg := c.Error(); msg != "" {
			fmt.Fprintln(stderr, "assay:", msg)
		}
		return c.Code
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
	version, revision := thisBuild().Version, thisBuild().Revision
	fleet := fleetCommands{streams: s, Version: version, Revision: revision}
	app := &cli.App{
		Name:                      "assay",
		Usage:                     "measure vision-language models on your own workstation",
		Description:               "Asks models behind model servers (" + strings.Join(kinds.Names(false), ", ") + "), times every request, judges the answers and writes the report of a study.",
		Reader:                    s.In,
		Writer:                    s.Out,
		ErrWriter:                 s.Err,
		ExitErrHandler:            func(*cli.Context, error) {},
		DisableSliceFlagSeparator: true,
		EnableBashCompletion:      true,
		HideHelpCommand:           true,
		Suggest:                   true,
		Commands: []*cli.Command{
			s.initCommand(), s.doctorCommand(), s.planCommand(), s.runCommand(), s.judgeCommand(), s.reportCommand(), viewCommand(s), compareCommand(s), s.costCommand(), s.showCommand(), perturbCommand(s),
			exportCommand(s), importCommand(s, version, revision),
			noun("dataset", "data sets", s.datasetCheck(), s.example(), s.schema(), s.filter(version, revision), contaminationCommand(s, version, revision)),
			noun("people", "people who rate answers", s.rateSample(), s.rateServe(), s.rateExport(), agreeCommand(s)),
			noun("fleet", "one run on several machines", fleet.Submit(), fleet.Worker(), fleet.Watch(), fleet.Pull(), slurmCommand(s)),
			noun("store", "the files that hold results", s.storeCheck(), s.storeSalvage(), mergeCommand(s), s.calibrateCommand()),
			noun("config", "what bench.yaml may say", s.configSchema(), s.promptsCommand()),
			noun("phantom", "synthetic readers of known behaviour", s.phantomServe(), s.checkCommand(), s.phantomLedger()),
			s.completionCommand(), s.versionCommand(),
		},
		Action: onlySubcommands("assay"),
	}
	for _, cmd := range app.Commands {
		quiet("assay", cmd)
	}
	explain("", app.Commands, explanations())
	return app
}

// noun is a command that only has others.
func noun(name, about string, cmds ...*cli.Command) *cli.Command {
	var names []string
	for _, c := range cmds {
		names = append(names, c.Name)
	}
	return &cli.Command{Name: name, Usage: about + ": " + strings.Join(names, ", "), Subcommands: cmds, Action: onlySubcommands("assay " + name)}
}

// quiet keeps usage errors to one line. A command stands under what is typed before it.
func quiet(under string, cmd *cli.Command) {
	typed := under + " " + cmd.Name
	cmd.OnUsageError = func(_ *cli.Context, err error, _ bool) error {
		return usage("%s: %w; see %s --help", cmd.Name, err, typed)
	}
	cmd.HideHelpCommand = true
	for _, f := range cmd.Flags {
		if b, ok := f.(*cli.BoolFlag); ok { // that it is false without being given says nothing
			b.DisableDefaultText = true
		}
	}
	for _, sub := range cmd.Subcommands {
		quiet(typed, sub)
	}
}
