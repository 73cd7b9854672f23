package cli

import (
	"fmt"
	"slices"
	"strings"
)

// moved are the names that commands and flags had before, and those of today. They go on
// until the next version. A flag's new name that ends in = goes before its value.
func moved() map[string]string {
	return map[string]string{
		"agree": "people agree", "calibrate": "store calibrate", "contamination": "dataset contamination", "merge": "store merge", "prompts": "config prompts", "pull": "fleet pull",
		"rate": "people", "slurm": "fleet slurm", "submit": "fleet submit", "watch": "fleet watch", "worker": "fleet worker",

		"config prompts check --as":       "--prompt",
		"dataset contamination --of":      "--text",
		"doctor --from":                   "--database",
		"fleet pull --from":               "--database",
		"fleet submit --to":               "--database",
		"fleet watch --from":              "--database",
		"fleet worker --from":             "--database",
		"import predictions --answer":     "--column answer=",
		"import predictions --as":         "--format",
		"import predictions --id":         "--column item=",
		"import predictions --ids":        "--match",
		"import scores --column":          "--column score=",
		"import scores --id":              "--column case=",
		"import scores --of":              "--verdict-metrics",
		"init --dataset":                  "--kind",
		"init --path":                     "--data",
		"people sample --cases":           "--answers",
		"people serve --without-pictures": "--without-images",
		"phantom serve --addr":            "--listen",
		"plan --r":                        "--correlation",
	}
}

// renamed is a command line in today's names, and a note on each old one.
func renamed(args []string) (today, notes []string) {
	if len(args) < 2 {
		return args, nil
	}
	names := moved()
	was := func(old, now string) {
		notes = append(notes, fmt.Sprintf("%s is now %s; the old name goes away with the next version", old, now))
	}
	if now, ok := names[args[1]]; ok {
		was("assay "+args[1], "assay "+now)
		args = slices.Concat(args[:1], strings.Fields(now), args[2:])
	}
	today = slices.Clone(args)
	words := slices.IndexFunc(args, func(w string) bool { return strings.HasPrefix(w, "-") })
	if words < 0 {
		return today, notes
	}
	for i := words; i < len(args) && args[i] != "--"; i++ {
		flag, value, given := strings.Cut(args[i], "=")
		flag = "--" + strings.TrimLeft(flag, "-")
		for n := words; n > 1; n-- {
			now, ok := names[strings.Join(args[1:n], " ")+" "+flag]
			if !ok {
				continue
			}
			now, before, _ := strings.Cut(now, " ")
			at := i // of the value
			if !given && i+1 < len(args) {
				at, value = i+1, args[i+1]
			}
			if before != "" && strings.Contains(value, "=") { // it is as today's
				continue
			}
			was(flag, strings.TrimSpace(now+" "+before))
			today[i] = now
			if given {
				today[i] += "=" + before + value
			} else if at > i {
				today[at] = before + value
			}
		}
	}
	return today, notes
}
