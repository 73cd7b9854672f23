package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// flagsFirst is a command line with the flags of its command before the command's
// arguments: urfave/cli takes no flag after the first argument. What follows -- is left
// alone, and so is a line that asks for completion, whose last word is not finished.
func flagsFirst(app *cli.App, args []string) []string {
	if len(args) == 0 || slices.Contains(args, "--generate-bash-completion") {
		return args
	}
	at := 1
	known, cmds := app.Flags, app.Commands
	for at < len(args) {
		i := slices.IndexFunc(cmds, func(c *cli.Command) bool { return c.HasName(args[at]) })
		if i < 0 {
			break
		}
		known, cmds = cmds[i].Flags, cmds[i].Subcommands
		at++
	}
	var flags, rest []string
	for i := at; i < len(args); i++ {
		word := args[i]
		if word == "--" {
			rest = slices.Concat([]string{"--"}, rest, args[i+1:])
			break
		}
		if len(word) < 2 || word[0] != '-' {
			rest = append(rest, word)
			continue
		}
		if word == "--help" || word == "-h" { // of the command, whatever its arguments are
			return append(slices.Clone(args[:at]), word)
		}
		flags = append(flags, word)
		if !strings.Contains(word, "=") && takesValue(known, strings.TrimLeft(word, "-")) {
			if i++; i == len(args) { // no argument may stand in for the value that lacks
				return slices.Concat(args[:at], flags)
			}
			flags = append(flags, args[i])
		}
	}
	return slices.Concat(args[:at], flags, rest)
}

// takesValue says whether a flag of that name is followed by a value.
func takesValue(known []cli.Flag, name string) bool {
	for _, f := range known {
		if slices.Contains(f.Names(), name) {
			doc, ok := f.(cli.DocGenerationFlag)
			return ok && doc.TakesValue()
		}
	}
	return false
}
