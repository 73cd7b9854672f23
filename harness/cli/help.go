package cli

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// examplesOf are commands to copy, by command. Words in capitals and what begins
// with /data stand for the reader's own. A test runs every one of them.
func examplesOf() map[string][]string {
	return map[string][]string{
		"run":                   {"assay run --limit 3 --models honest", "assay run -c mine.yaml"},
		"plan":                  {"assay plan", "assay plan -c mine.yaml --limit 2"},
		"judge":                 {"assay judge"},
		"report":                {"assay report .assay/phantom-tour.sqlite", "assay report --json"},
		"people agree":          {"assay people agree --ratings anna.csv --ratings ben.csv .assay/phantom-tour.sqlite"},
		"cost":                  {"assay cost", "assay cost -c bench.yaml"},
		"view":                  {"assay view", "assay view .assay/phantom-tour.sqlite"},
		"export":                {"assay export --out trials.csv", "assay export --describe"},
		"doctor":                {"assay doctor -c mine.yaml"},
		"show":                  {"assay show", "assay show --item ITEM --out look"},
		"config prompts list":   {"assay config prompts list"},
		"config prompts show":   {"assay config prompts show cot"},
		"perturb":               {"assay perturb --region 30,35,70,65 IMAGE", "assay perturb --sweep thickness_px=1,4,16 IMAGE", "assay perturb --list"},
		"config schema":         {"assay config schema --out bench.schema.json"},
		"dataset contamination": {"assay dataset contamination --dataset cases --limit 8"},
		"dataset filter":        {"assay dataset filter --dataset cases --duplicates both --leaks L3 --out kept"},
		"dataset check":         {"assay dataset check PATH"},
		"dataset example":       {"assay dataset example csv my-questions"},
		"dataset schema":        {"assay dataset schema csv"},
		"store check":           {"assay store check .assay/phantom-tour.sqlite", "assay store check --json"},
		"init":                  {"assay init --backend ollama --data /data/M3CoTBench --out cot.yaml", "assay init --study faithfulness --data /data/TAIX-VQA --out taix.yaml"},
		"phantom serve":         {"assay phantom serve --protocol ollama"},
		"completion":            {"assay completion bash"},
	}
}

// withExamples ends the descriptions of commands with their examples.
func withExamples(prefix string, cmds []*cli.Command, examples map[string][]string) {
	for _, c := range cmds {
		withExamples(prefix+c.Name+" ", c.Subcommands, examples)
		if list := examples[prefix+c.Name]; len(list) > 0 {
			c.Description = strings.TrimPrefix(c.Description+"\n\nExamples:\n  "+strings.Join(list, "\n  "), "\n\n")
		}
	}
}
