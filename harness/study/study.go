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
	"slices"
	"strings"
	"text/template"

	"assay/harness/dataset"
	"assay/harness/judge"
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

// Definition is what is known of a study before anything of it is chosen.
type Definition struct {
	Name    string
	Arms    []string // in the order of tables, as Rubrics
	Rubrics []string
	Prompts []string // templates that a file can replace
	// Unread is the rubric under which judges are asked that have reads: unread, beside Rubrics;
	// "": none.
	Unread string
	// Knowing are the rubrics that compare an answer with a knowledge base.
	Knowing []string
	// Needs are, by rubric, those on whose verdicts it rests, as the rubrics say it.
	Needs map[string][]string
	// Measured are the rubrics under which nobody is asked who is not named: they take
	// numbers that are made elsewhere.
	Measured []string
	// Conditions are what the study can change; none: it changes nothing.
	Conditions []perturb.Condition
	// Loads says that it can ask the same at several levels of requests in flight, and
	// FewShot that it can show examples before a question.
	Loads, FewShot bool
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

// Missing is a condition that an item cannot have.
type Missing struct {
	Condition, Why string
	Arms           []string // that would be asked under it; nil: all
}

// Choice is which of a study's conditions are planned.
type Choice struct {
	Conditions []string // without the baseline, which is always there
	Sweeps     []Sweep
	Grid       Grid   // the zero Grid: none
	InFlight   []int  // levels of a load sweep; none: there is no sweep
	Shots      []int  // numbers of examples before a question; none: there are no examples
	ShotsFrom  string // the data set of examples; "": that of the questions
	Image      int    // of items with several images the one that is changed, from 1; 0: every one
}

// Grid covers the picture cell by cell, one trial for each.
type Grid struct{ Columns, Rows int }

// MaxGrid is the most columns and rows of a grid: cells smaller than that show
// nothing, and each is a trial.
const MaxGrid = 32

// Sweep is a parameter of a condition at several levels.
type Sweep struct {
	Condition string
	Param     string // a parameter of one of its ops: "thickness_px"
	Levels    []float64
}

// Arm is a prompting strategy: one user turn per template.
type Arm struct {
	Name  string
	Turns []*template.Template // executed with Prompt
	Needs []string             // arms whose output (same model, item, repeat, at baseline) enters the prompt
	// Under says of an item and a condition whether the arm is asked, and which arms'
	// output enters the prompt then, beside Needs; nil: always, no others.
	Under func(it *dataset.Item, c *perturb.Condition) (needs []string, asked bool)
	// Show is what a prompt may hold of an item besides question and options, by name;
	// nil: nothing. outputs are those of the arms needed.
	Show func(it dataset.Item, c perturb.Condition, outputs map[string]string) map[string]string
	// Example is what a right answer to an item looks like here, or why it cannot be
	// shown: then the item is no example. nil: the arm has no examples.
	Example func(it dataset.Item) (string, error)
}

// Texts are what an item is asked with under a condition, one for each turn, where
// outputs are the answers of the arms that are needed.
func (a *Arm) Texts(it *dataset.Item, c *perturb.Condition, outputs map[string]string) ([]string, error) {
	p := Prompt{Question: it.Question, Type: it.Type, Options: it.Options, Outputs: outputs, Cue: c.Cue, Images: len(c.Shown(len(it.Images), 0))}
	if a.Show != nil {
		p.Shown = a.Show(*it, *c, outputs)
	}
	if it.Case != nil {
		p.History = it.Case.History
	}
	var texts []string
	for i, tmpl := range a.Turns {
		var text strings.Builder
		if err := tmpl.Execute(&text, p); err != nil {
			return nil, fmt.Errorf("prompt of arm %s, turn %d: %w", a.Name, i+1, err)
		}
		texts = append(texts, text.String())
	}
	return texts, nil
}

// Shown is an item as an example: how it is asked, and how it is answered.
func (a *Arm) Shown(it *dataset.Item) (question, answer string, err error) {
	if a.Example == nil || len(a.Turns) != 1 {
		return "", "", fmt.Errorf("arm %s has no examples", a.Name)
	}
	if answer, err = a.Example(*it); err != nil {
		return "", "", fmt.Errorf("example %s: %w", it.ID, err)
	}
	base := perturb.Baseline()
	texts, err := a.Texts(it, &base, map[string]string{})
	if err != nil {
		return "", "", fmt.Errorf("example %s: %w", it.ID, err)
	}
	return texts[0], answer, nil
}

// NeedsUnder are the arms whose output enters the prompt of an item under a
// condition, and whether the arm is asked there.
func (a *Arm) NeedsUnder(it *dataset.Item, c *perturb.Condition) (needs []string, asked bool) {
	if a.Under == nil {
		return a.Needs, true
	}
	more, asked := a.Under(it, c)
	if len(a.Needs) == 0 {
		return more, asked
	}
	return slices.Concat(a.Needs, more), asked
}

// Prompt is what an arm's template may use.
type Prompt struct {
	Question string
	Type     string            // of dataset.Item
	Options  []dataset.Option  // all of them, also those that stand inside Question
	Outputs  map[string]string // answers of the arms needed, by arm
	Cue      string            // what the condition says besides; "": nothing
	Shown    map[string]string // what Arm.Show gives
	History  string            // the clinical history of the case; "": none is known
	Images   int               // how many pictures are shown
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
