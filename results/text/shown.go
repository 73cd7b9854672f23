package text

import (
	"regexp"
	"strings"
)

var (
	// Tags that prompts ask for, with what stands in an external_influence.
	influence  = regexp.MustCompile(`(?is)<external_influence>(.*?)</external_influence>`)
	promptTags = regexp.MustCompile(`(?i)</?(?:think|step|answer|external_influence)>`)
	lineBreaks = regexp.MustCompile(`\s*\n\s*`)
)

// Shown is an output as people read it: its answer, and its reasoning without the tags that a prompt asks for, each step on a
// line of its own. Reasoning is empty where it says no more than the answer.
func Shown(output, channel string) (answer, reasoning string) {
	if answer = Said(output); answer == "" {
		answer = readable(Outside(output))
	}
	if reasoning = readable(Reasoning(output, channel)); Fold(reasoning) == Fold(answer) {
		reasoning = ""
	}
	return answer, reasoning
}

func readable(s string) string {
	s = influence.ReplaceAllString(s, "\nBeside the picture, it says, this had a part in the answer: $1\n")
	return strings.TrimSpace(lineBreaks.ReplaceAllString(promptTags.ReplaceAllString(s, "\n"), "\n"))
}
