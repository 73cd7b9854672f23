package study

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"assay/harness/dataset"
	"assay/results/text"
)

// This file is the rules of the lexical judge of answers. They are plain, blind to
// meaning and the same every time; docs/judges.md says what they miss.

var finalAnswer = regexp.MustCompile(`(?i)\banswer\b[\s*_]*(?:is\b|:|=)`)

// Names says whether a sentence names a final answer.
func Names(sentence string) bool { return finalAnswer.MatchString(sentence) }

// choices are options as they are read.
func choices(options []dataset.Option) []text.Choice {
	out := make([]text.Choice, len(options))
	for i, o := range options {
		out[i] = text.Choice(o)
	}
	return out
}

// meant is what the options at some places say: their texts, sorted. A question may offer a
// text twice, and whoever says it names both.
func meant(options []dataset.Option, places []int) []string {
	var out []string
	for _, i := range places {
		said := strings.ToLower(strings.TrimSpace(options[i].Text)) // signs tell some options apart
		if said == "" {
			said = options[i].Label
		}
		out = append(out, said)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Option is what the one option says that an answer names, so that options that say the same
// are one; false: it names none, or several.
func Option(options []dataset.Option, given string) (string, bool) {
	a := text.ReadAnswer(text.Single, choices(options), given)
	if len(a.Chosen) == 0 {
		return "", false
	}
	return meant(options, a.Chosen)[0], true
}

// Right says whether the answer of a case is the gold one; nil: the gold one cannot be read.
func (c AccuracyCase) Right() *bool {
	v, _, err := Compare(c.Type, c.Options, c.Gold, c.Answer)
	if err != nil {
		return nil
	}
	return new(v == Correct)
}

// Compare compares an answer with the gold one. The error says why the gold
// answer cannot be compared with.
func Compare(kind string, options []dataset.Option, gold, given string) (verdict, quote string, err error) {
	g := text.Commitment{Quote: strings.TrimSpace(gold)}
	if kind == text.Single || kind == text.Multiple || kind == text.Bool {
		g = text.ReadAnswer(kind, choices(options), gold)
	}
	if !g.IsRead() || g.Other {
		return "", "", fmt.Errorf("the gold answer %q cannot be read as an answer of type %s", gold, kind)
	}
	a := text.ReadAnswer(kind, choices(options), given)
	if !a.IsRead() {
		return NoAnswer, "", nil
	}
	var right bool
	switch {
	case a.Other:
	case g.Chosen != nil:
		right = slices.Equal(meant(options, g.Chosen), meant(options, a.Chosen))
	case g.Truth != nil:
		right = *g.Truth == *a.Truth
	default:
		right = text.Means(gold, a.Quote)
	}
	if right {
		return Correct, a.Quote, nil
	}
	return Incorrect, a.Quote, nil
}
