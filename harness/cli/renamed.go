package cli

import (
	"fmt"
	"slices"
	"strings"
)

// moved are the names that commands had before. They go on until the next version.
func moved() map[string]string {
	return map[string]string{
		"agree": "people agree", "calibrate": "store calibrate", "contamination": "dataset contamination", "merge": "store merge", "prompts": "config prompts", "pull": "fleet pull",
		"rate": "people", "slurm": "fleet slurm", "submit": "fleet submit", "watch": "fleet watch", "worker": "fleet worker",
	}
}

// renamed is a command line in today's names, and a note on each old one.
func renamed(args []string) (today, notes []string) {
	if len(args) < 2 {
		return args, nil
	}
	now, ok := moved()[args[1]]
	if !ok {
		return args, nil
	}
	return slices.Concat(args[:1], strings.Fields(now), args[2:]), []string{fmt.Sprintf("assay %s is now assay %s; the old name goes away with the next version", args[1], now)}
}
