package cot

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"

	"assay/harness/study"
	"assay/results/text"
)

// This file is the rules of the lexical judge of steps. They are plain, blind to
// meaning and the same every time; docs/judges.md says what they miss.

// reasoning is the sentences of an answer without the line of the final answer.
func reasoning(s string) []string {
	return slices.DeleteFunc(text.Sentences(s), study.Names)
}

//go:embed lexicon.txt
var lexiconFile string

var (
	lexicon = text.MustLexicon(lexiconFile)
	types   = []string{modality, feature, conclusion, other}
	labels  = labelsOf(lexicon)
	cues    = cuesOf(lexicon)
	aside   = regexp.MustCompile(`^` + lexicon.Any("aside"))
	leadIn  = regexp.MustCompile(`^` + lexicon.Any("leadIn"))
)

// labelsOf finds the label of a step of each type: "Findings: ...".
func labelsOf(l text.Lexicon) map[string]*regexp.Regexp {
	out := map[string]*regexp.Regexp{}
	for _, typ := range types {
		out[typ] = regexp.MustCompile(`(?i)^` + l.Any(typ+"Label") + `\s*:\s*\S`)
	}
	return out
}

// cuesOf is the type that a word hints at; most words hint at none.
func cuesOf(l text.Lexicon) map[string]string {
	out := map[string]string{}
	for _, typ := range types {
		for _, w := range l[typ] {
			out[w] = typ
		}
	}
	return out
}

// typeOf guesses the type of a step from its words alone.
func typeOf(s string) string {
	for _, typ := range types {
		if labels[typ].MatchString(s) {
			return typ
		}
	}
	if aside.MatchString(strings.ToLower(s)) {
		return other
	}
	hints := map[string]bool{}
	for _, w := range text.Words(s) {
		hints[cues[w]] = true
	}
	for _, typ := range []string{conclusion, other, feature, modality} { // "the radiograph shows an opacity"
		if hints[typ] {
			return typ
		}
	}
	return other
}

// leadsIn says of a sentence that it speaks of the question or of what is to be
// done, and is no step.
func leadsIn(s string) bool {
	l := strings.ToLower(s)
	return leadIn.MatchString(l) || strings.HasSuffix(l, "?")
}

// repeats says whether a sentence says nothing that the question does not.
func repeats(s string, p, question text.Phrase) bool {
	return leadsIn(s) || text.Share(p.Contents(), question.Contents()) >= 0.8
}

// judgeSteps splits an answer into steps and compares each with the gold steps:
// wrong when something it states is against a gold statement and like none, else
// matched when something it states is like a gold statement.
func judgeSteps(question, given string, gold [][]string) []step {
	q := text.PhraseOf(question)
	want := slices.Concat(statements(slices.Concat(gold...))...)
	out := []step{}
	for _, s := range reasoning(given) {
		verdict := na
		for _, p := range text.Statements(s) {
			switch closest([]text.Phrase{p}, want) {
			case text.Against:
				verdict = wrong
			case text.Same:
				if verdict == na {
					verdict = matched
				}
			}
		}
		typ := typeOf(s)
		if verdict == na && repeats(s, text.PhraseOf(s), q) {
			typ = restatement
		}
		out = append(out, step{Text: s, Type: typ, Judgment: verdict})
	}
	return out
}

// statements takes sentences apart, one list for each.
func statements(sentences []string) [][]text.Phrase {
	var out [][]text.Phrase
	for _, s := range sentences {
		out = append(out, text.Statements(s))
	}
	return out
}

// closest is the best likeness between any of have and any of want.
func closest(have, want []text.Phrase) text.Likeness {
	best := text.Unrelated
	for _, h := range have {
		for _, w := range want {
			best = max(best, h.Compare(w))
		}
	}
	return best
}

// findSteps says, by gold path and step, whether all that the step states is
// stated somewhere in the answer.
func findSteps(given string, gold [][]string) [][]bool {
	have := slices.Concat(statements(reasoning(given))...)
	out := make([][]bool, len(gold))
	for i, p := range gold {
		for _, want := range statements(p) {
			missing := func(w text.Phrase) bool { return closest(have, []text.Phrase{w}) != text.Same }
			out[i] = append(out[i], len(want) > 0 && !slices.ContainsFunc(want, missing))
		}
	}
	return out
}

// orderOf ranks the step types of an answer by their first occurrence, from 1;
// 0: the type does not occur. The array is in the order modality, feature, conclusion, other.
func orderOf(given string) [4]int {
	var order [4]int
	next := 1
	for _, s := range reasoning(given) {
		if leadsIn(s) {
			continue
		}
		at := slices.Index(types, typeOf(s))
		if order[at] == 0 {
			order[at] = next
			next++
		}
	}
	return order
}
