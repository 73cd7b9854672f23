// Package qa is the study of anybody's questions: how often is a model right, how long
// does it take, and at what cost?
//
//  1. Arm answer asks for the answer alone, arm reason for reasoning first. Questions
//     of every type are asked; kind and choices say how an answer is to look.
//  2. Judges compare the final answer with the gold one (package study).
//  3. Each trial is scored (samples.go), and tables.go declares what tables hold.
//  4. capacity.go says what a load sweep found: how much a server answers, how long an
//     answer takes, and what it costs, by the number of requests in flight.
package qa

import (
	"encoding/json"
	"slices"
	"strconv"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
	"assay/results/text"
)

// name of the study in bench.yaml and in keys.
const name = "qa"

const (
	armAnswer = "answer"
	armReason = "reason"
)

// Study is the study.
func Study() study.Study {
	s := study.Study{Name: name, Rubrics: []judge.Rubric{study.Rubric()}, Prompts: prompts(), Loads: true, FewShot: true,
		Draft: study.Draft{Any: true, First: []string{armAnswer}, Usual: []string{
			"# conditions: [sham, VX-NONE, OPT-ROTATE]   # asked again with one thing changed: docs/perturbations.md",
			"sampling: {temperature: 0, max_tokens: 1024, seed: 1}",
			"timed: true                # one request in flight, warm-up, disturbed times taken again",
			"cache: cold                # every request is new to the server, and proven to be",
		}},
		Rating: study.Rating{Asks: map[string]study.Ask{study.RubricAccuracy: study.RightOrWrong()}},
		Choose: choose, Facts: facts, Cases: cases, Unread: unread, Scores: scoring(), Design: design,
		Gold: func(facts any) (study.GoldKey, func(study.GoldKey) any) {
			f, _ := facts.(itemFacts)
			return f.Key, func(k study.GoldKey) any { f.Key = k; return f }
		},
		Lists: func(it dataset.Item) bool { return len(choices(it.Question, it.Type, it.Options)) > 0 },
	}
	for _, name := range armNames() {
		s.Arms = append(s.Arms, study.Arm{Name: name, Example: func(it dataset.Item) (string, error) { return example(name, it) }})
	}
	return s
}

// armNames are the arms, in the order of tables; the first is what others are
// compared with.
func armNames() []string { return []string{armAnswer, armReason} }

// choose makes the levels of a load sweep, or of examples before a question.
func choose(s *study.Study, c study.Choice, _ study.Templates) error {
	conditions := perturb.Loads(c.Levels)
	s.Described = describedLoads(c.Levels)
	if len(c.Shots) > 0 {
		conditions, s.Described = study.Conditions(c.Shots, c.ShotsFrom), study.ShotDescribed(c.Shots, c.ShotsFrom)
	}
	list := study.Shared(conditions)
	s.Conditions = func(uint64, dataset.Item) ([]*perturb.Condition, []study.Missing) { return list, nil }
	return nil
}

// Kinds of answers beside those of package text.
const yesNo = "yes or no"

// kind is how an answer to a question of a type is to look: one option, several, true or
// false, yes or no, or a few words.
func kind(typ string, options []dataset.Option) string {
	switch {
	case typ == text.Single, typ == text.Multiple, typ == text.Bool, typ == text.Short:
		return typ
	case len(options) == 2 && said(options, "yes") && said(options, "no"):
		return yesNo
	}
	return text.Single
}

func said(options []dataset.Option, word string) bool {
	return slices.ContainsFunc(options, func(o dataset.Option) bool { return text.Fold(o.Text) == word })
}

// lettered gives options without labels the letters A, B, C, ...; those that are too
// many for letters get numbers.
func lettered(options []dataset.Option) []dataset.Option {
	out := make([]dataset.Option, len(options))
	for i, o := range options {
		if out[i] = o; o.Label == "" {
			out[i].Label = strconv.Itoa(i + 1)
			if len(options) <= 'Z'-'A'+1 {
				out[i].Label = string(rune('A' + i))
			}
		}
	}
	return out
}

// choices are the options that a prompt has to list: none where the question lists them
// itself, or where two words say it all.
func choices(question, typ string, options []dataset.Option) []dataset.Option {
	switch kind(typ, options) {
	case yesNo, text.Bool:
		return nil
	}
	return lettered(study.Unlisted(question, options))
}

// itemFacts is what scores and tables need of an item.
type itemFacts struct {
	Picture string        `json:"picture,omitempty"` // what items share that show the same pictures
	Made    []string      `json:"made,omitempty"`    // how each picture was made of a DICOM file; none: none was
	Key     study.GoldKey `json:"key,omitzero"`
}

func facts(_ uint64, it dataset.Item) (results.Item, error) {
	return study.StoredItem(name, it, itemFacts{Picture: it.Picture, Made: it.Made(), Key: accuracyCase(it, "").GoldKey()})
}

// cases shows judges what a reader would see: the text outside <think>.
func cases(a study.Answer) []judge.Case {
	return []judge.Case{{Rubric: study.RubricAccuracy, Fields: accuracyCase(a.Item, text.Outside(a.Output.Answer))}}
}

func unread(a study.Answer) (judge.Case, bool) {
	return accuracyCase(a.Item, text.Outside(a.Output.Answer)).Unread()
}

// accuracyCase is an item and an answer as judges of answers know them.
func accuracyCase(it dataset.Item, answer string) study.AccuracyCase {
	typ := kind(it.Type, it.Options)
	if typ == yesNo {
		typ = text.Bool
	}
	return study.NewAccuracyCase(it, typ, lettered(it.Options), answer)
}

// describedLoads is what a store keeps of a load sweep's conditions.
func describedLoads(levels []int) map[string]json.RawMessage {
	var names []string
	for _, c := range perturb.Loads(levels) {
		names = append(names, c.Name)
	}
	return results.DescribeLoads(names, levels)
}
