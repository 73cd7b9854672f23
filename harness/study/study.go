// Package study holds what all studies share. A study is data and functions: its arms and
// prompts, the rubrics its judges use, and how its tables are computed from a store.
//
//  1. study.go is what a study is; prompts.go and shots.go are what its arms say, and the
//     answered examples before it.
//  2. accuracy.go is the rubric of final answers, for every study that asks whether an
//     answer is right.
//  3. Costs collect what one model's answers in one arm took: time, energy, GPU time,
//     money (cost.go, prices.go, pace.go). EnergySection and CostSection print it.
//  4. Beside every study's tables stand those by host (hosts.go), which mark each row that
//     pools over hosts, and means over groups of models that bench.yaml names (model_groups.go).
package study

import (
	"context"
	"encoding/json"
	"fmt"

	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/render"
	"assay/harness/score"
	"assay/perturb"
	"assay/results"
	"assay/results/store"
)

// Study is a protocol.
type Study struct {
	Name    string
	Arms    []Arm
	Rubrics []judge.Rubric
	// Types are the question types that it asks; nil: any. Items of other types
	// are left out.
	Types []string
	// Own are types of questions that it asks as well where these are of a data set that is not
	// generated: generated ones have them for another study.
	Own []string
	// Conditions are an item's conditions, the baseline first, and those that
	// were asked for and do not exist for it. The same seed and item give the same
	// conditions. nil: the baseline alone.
	Conditions func(seed uint64, it dataset.Item) ([]perturb.Condition, []Missing)
	// Described is what scores need of the conditions, by name, stored with the run;
	// nil: nothing. It says nothing of items, so that conditions can be added.
	Described map[string]json.RawMessage
	// Facts is what scores need of an item, stored with the run. It does not depend
	// on the conditions chosen.
	Facts func(seed uint64, it dataset.Item) (results.Item, error)
	// Cases makes the cases of a trial's output: one per rubric that applies.
	Cases func(it dataset.Item, k results.Key, out results.Output) []judge.Case
	// Unread is the case of an answer that rules do not read, for judges who are asked about
	// those; false: they read it, or there is nothing to read. nil: no study's judge is.
	Unread func(it dataset.Item, k results.Key, out results.Output) (judge.Case, bool)
	// Scores are how a trial is scored.
	Scores score.Rules
	// Rating is what people can rate of its answers beside its rubrics.
	Rating Rating
	// Summarize computes the study's tables from the store alone. judges is, per
	// rubric, the names of the judges that were asked, in order.
	Summarize func(ctx context.Context, st *store.Store, judges map[string][]string, why NoDecode) ([]results.Section, error)
	// Prompts are the texts of all templates by name, as used (arms and rubrics);
	// Usable says what each may use and has to.
	Prompts, Usable map[string]string
}

// What a study asks with, and what bench.yaml says of it.
type (
	Arm     = render.Arm
	Prompt  = render.Prompt
	Missing = render.Missing
	Choice  = config.Study
)

// Protocol is what the study asks.
func (s *Study) Protocol() render.Protocol {
	return render.Protocol{Name: s.Name, Arms: s.Arms, Types: s.Types, Own: s.Own, Conditions: s.Conditions}
}

// NoDecode is why the own figure of decoding of a server, as a run's manifest calls it
// ("phantom ollama"), is not shown; "": it is. nil: every server's is.
type NoDecode func(server string) string

// Of is it for the server that a model was asked on.
func (f NoDecode) Of(man results.Manifest, model string) string {
	if f == nil {
		return ""
	}
	asked, _ := man.Asked(model)
	return f(asked.Server)
}

// Kind is what bench.yaml may ask of a study.
type Kind = config.StudyKind

// Definition is what is known of a study before anything of it is chosen.
type Definition struct {
	Kind
	// Own says that it asks any data set of questions: who drafts a bench.yaml for data of
	// their own gets it unless they name another.
	Own bool
	// First are the arms of a drafted bench.yaml; none: all.
	First []string
	// Usual are the lines that a drafted bench.yaml has for it, beside those of all.
	Usual []string
	// New makes the study with the conditions chosen. prompts replaces built-in
	// templates by name; names that are not its own are left alone. The error lists
	// every template that cannot be used, with its name and line, or says which
	// condition does not exist.
	New func(prompts map[string]string, c Choice) (Study, error)
}

// StoredItem is an item as the store has it, with what a study's scores need of it.
func StoredItem(study string, it dataset.Item, facts any) (results.Item, error) {
	b, err := json.Marshal(facts)
	return results.Item{Study: study, ID: it.ID, Type: it.Type, Task: it.Task, Modality: it.Modality, Facts: b}, err
}

// FactsOf decodes an item's facts; those of an item without any are zero.
func FactsOf[T any](it results.Item) (facts T, err error) {
	if len(it.Facts) == 0 {
		return facts, nil
	}
	if err := json.Unmarshal(it.Facts, &facts); err != nil {
		return facts, fmt.Errorf("%s: the facts of item %s cannot be read: %w; the store is damaged or was written by another version", it.Study, it.ID, err)
	}
	return facts, nil
}

// Described is conditions as Study.Described has them.
func Described(list []perturb.Condition) (map[string]json.RawMessage, error) {
	out := make(map[string]json.RawMessage, len(list))
	var err error
	for _, c := range list {
		if out[c.Name], err = json.Marshal(c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ConditionOf reads what Described made of a condition.
func ConditionOf(study, name string, described json.RawMessage) (c perturb.Condition, err error) {
	if err := json.Unmarshal(described, &c); err != nil {
		return c, fmt.Errorf("%s: the store's description of condition %s cannot be read: %w; it is damaged or was written by another version", study, name, err)
	}
	return c, nil
}

// PairSections is the section that compares every two models; none where there is nothing to
// compare.
func PairSections(r *score.Run) []results.Section {
	t := r.Pairs()
	if len(t.Rows) == 0 {
		return nil
	}
	return []results.Section{{Name: t.Name, Title: "Pairs of models", Tables: []results.Table{t}, Intro: "Which of two is better, on the items that both answered?"}}
}
