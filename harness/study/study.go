// Package study holds what all studies share. A study is data and functions: its arms and
// prompts, the rubrics its judges use, and how its tables are computed from a store.
//
//  1. study.go is what a study is; prompts.go and shots.go are what its arms say, and the
//     answered examples before it.
//  2. accuracy.go is the rubric of final answers, for every study that asks whether an
//     answer is right.
//  3. An Account is what became of one model's trials in one arm and what they took: time,
//     energy, GPU time, money (account.go, took.go). Its measures are the columns of tables.
//  4. Beside every study's tables stand those by host (hosts.go), which mark each row that
//     pools over hosts, and means over groups of models that bench.yaml names (model_groups.go).
package study

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"assay/harness/config"
	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/render"
	"assay/harness/score"
	"assay/perturb"
	"assay/results"
	"assay/results/store"
)

// Study is a protocol: as it is known before anything of it is chosen, and With what
// bench.yaml says, as it is asked.
type Study struct {
	Name    string
	Arms    []Arm // in the order of tables, as Rubrics
	Rubrics []judge.Rubric
	// Prompts are the templates of arms and rubrics.
	Prompts Prompts
	// Types are the question types that it asks; nil: any. Items of other types
	// are left out.
	Types []string
	// Own are types of questions that it asks as well where these are of a data set that is not
	// generated: generated ones have them for another study.
	Own []string
	// Changes are the conditions of its own that bench.yaml may name, and where Gold is nil all
	// that it may name.
	Changes []perturb.Condition
	// Gold is what is right of an item, from its facts: the study can be asked under the
	// conditions of any study (AnyConditions), whose trials are then scored and laid out beside
	// its own. with is these facts with another key. nil: it takes care of them itself. Changed are
	// the arms asked under them; nil: all. Lists says whether prompts list an item's options; nil: all.
	Gold    func(facts any) (key GoldKey, with func(GoldKey) any)
	Changed []string
	Lists   func(it dataset.Item) bool
	// Loads and FewShot say that it can ask at several levels of requests in flight, and show
	// examples before a question.
	Loads, FewShot bool
	// Knowing are the rubrics that compare an answer with a knowledge base.
	Knowing []string

	// Draft is what a drafted bench.yaml has for it.
	Draft Draft

	// Choose makes Conditions, Described and what else hangs on them of what bench.yaml
	// chooses, or says which condition does not exist; nil: the study has the baseline alone.
	Choose func(s *Study, c Choice, l Templates) error
	// Conditions are an item's conditions, the baseline first, and those that
	// were asked for and do not exist for it. The same seed and item give the same
	// conditions. nil: the baseline alone.
	Conditions func(seed uint64, it dataset.Item) ([]*perturb.Condition, []Missing)
	// Described is what scores need of the conditions, by name, stored with the run;
	// nil: nothing. It says nothing of items, so that conditions can be added.
	Described map[string]json.RawMessage

	// Facts is what scores need of an item, stored with the run. It does not depend
	// on the conditions chosen. nil: nothing.
	Facts func(seed uint64, it dataset.Item) (results.Item, error)
	// Cases makes the cases of a trial's output: one per rubric that applies.
	Cases func(Answer) []judge.Case
	// Unread is the case of an answer that rules do not read, for judges who are asked about
	// those under a rubric of that name; false: they read it, or there is nothing to read. nil:
	// no study's judge is.
	Unread func(Answer) (judge.Case, bool)
	// Scores are how a trial is scored. Those that all studies have of their judges are
	// added, and the study's name is filled in.
	Scores score.Rules
	// Rating is what people can rate of its answers beside its rubrics.
	Rating Rating
	// Design is what is added up of the scores, the tables of it, and how these are laid out;
	// nil: in one section. What of a design is the same in most studies may be left out
	// (Summarize).
	Design func(b *Basis) (score.Design, Lay, error)

	// Texts are those of all templates by name, as used; Usable says what each may use and has to.
	// Both are there once With made them.
	Texts, Usable map[string]string
}

// Answer is an item with what was answered in a trial.
type Answer struct {
	Item   dataset.Item
	Key    results.Key
	Output results.Output
}

// Lay makes sections of a study's tables.
type Lay func(*score.Run) []results.Section

// Draft is what a drafted bench.yaml has for a study.
type Draft struct {
	// Any says that it asks any data set of questions: who drafts a bench.yaml for data of
	// their own gets it unless they name another.
	Any   bool
	Of    string   // the kind of data that the study was made for; "": none
	First []string // arms; none: all
	Usual []string // lines, beside those of all studies
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

// Kind is what bench.yaml may ask of the study.
func (s *Study) Kind() config.StudyKind {
	k := config.StudyKind{Name: s.Name, Knowing: s.Knowing, Conditions: s.Changes, Loads: s.Loads, FewShot: s.FewShot, Needs: map[string][]string{}}
	if s.Gold != nil {
		k.Any = AnyConditions()
	}
	for _, w := range s.Prompts.List {
		k.Prompts = append(k.Prompts, w.Names...)
	}
	for _, a := range s.Arms {
		k.Arms = append(k.Arms, a.Name)
	}
	for _, r := range s.Rubrics {
		k.Rubrics = append(k.Rubrics, r.Name)
		if len(r.Needs) > 0 {
			k.Needs[r.Name] = r.Needs
		}
		if r.Template == nil && !slices.Contains(k.Prompts, r.Name) {
			k.Measured = append(k.Measured, r.Name)
		}
	}
	if s.Unread != nil {
		k.Unread, k.Prompts = Unread, append(k.Prompts, Unread)
	}
	return k
}

// With is the study as it is asked: with the conditions that c chooses. prompts replaces
// built-in templates by name; names that are not its own are left alone. The error lists
// every template that cannot be used, with its name and line, or says which condition does
// not exist.
func (s Study) With(prompts map[string]string, c Choice) (Study, error) {
	load := s.Prompts.Load
	if s.Unread != nil {
		load = s.Prompts.loadBeside
	}
	l, err := load(prompts)
	if err != nil {
		return Study{}, err
	}
	s.Texts, s.Usable = l.Texts, l.Usable
	s.Arms, s.Rubrics = slices.Clone(s.Arms), slices.Clone(s.Rubrics)
	for i := range s.Arms {
		a := &s.Arms[i]
		if a.Prompts == nil {
			a.Prompts = []string{a.Name}
		}
		for _, name := range a.Prompts {
			a.Turns = append(a.Turns, l.ByName[name])
		}
	}
	for i := range s.Rubrics {
		r := &s.Rubrics[i]
		if t := l.ByName[r.Name]; t != nil {
			r.Template = t
		}
		s.Scores.Names = append(slices.Clip(s.Scores.Names), score.VerdictNames(r.Name)...)
	}
	s.Scores.Study = s.Name
	if s.Unread != nil {
		s.Rubrics, s.Scores.AnswersOf = append(s.Rubrics, UnreadRubric(l)), Unread
		s.Scores.Names = append(s.Scores.Names, UnreadNames(s.Scores.Names[0].Source)...) // of one section of metrics.md, as its others
	}
	if s.Facts == nil {
		s.Facts = func(_ uint64, it dataset.Item) (results.Item, error) {
			return results.Item{Study: s.Name, ID: it.ID, Type: it.Type, Task: it.Task, Modality: it.Modality}, nil
		}
	}
	if s.Choose != nil {
		if err := s.Choose(&s, c, l); err != nil {
			return s, err
		}
	}
	if s.Gold != nil {
		s.compare()
		err = s.changing(c)
	}
	return s, err
}

// Summarize computes the study's sections from the store alone. judges is, per rubric, the
// names of the judges that were asked, in order. Cells are arms, and answers are counted
// and their times taken, unless the design says otherwise.
func (s *Study) Summarize(ctx context.Context, st *store.Store, judges map[string][]string, why NoDecode) ([]results.Section, error) {
	b, err := BasisOf(ctx, st, s.Name, why)
	if err != nil {
		return nil, err
	}
	b.Judges, b.Layout = judges, s.Scores.Layout(judges)
	if s.Gold != nil {
		if b.Changes, err = changesOf(b.Manifest, s.Name); err != nil {
			return nil, err
		}
	}
	d, lay, err := s.Design(&b)
	if err != nil {
		return nil, err
	}
	d.Rules = s.Scores
	if d.Cell == nil {
		d.Cells, d.Cell = []string{"arm"}, func(t *score.Scored) (score.Keys, error) { return score.Keys{b.Arm(t.Row.Key)}, nil }
	}
	if d.Item == nil {
		d.Item = func(results.Item) (score.Item, error) { return score.Item{}, nil }
	}
	if d.Extra == nil {
		d.Extra = func(model string) score.Extra {
			return NewArms(model, &b, b.Names(s.Kind().Arms), nil, "", "")
		}
	}
	if len(b.Changes) > 0 {
		d = b.changedCells(d)
	}
	if severalHosts(b.sessions) {
		next, stop := iter.Pull2(st.TrialSessions(ctx, s.Name))
		defer stop()
		b.where = &whereabouts{next: next, hardware: results.HardwareOf(b.sessions)}
	}
	r, err := score.Compute(ctx, st, d, judges, b.Manifest.Seed)
	if err == nil && b.where != nil {
		err = b.where.err
	}
	if err != nil {
		return nil, err
	}
	accounts := ArmsOf(r)
	if lay == nil {
		lay = func(r *score.Run) []results.Section {
			one := results.Section{Name: s.Name, Title: s.Name}
			for _, t := range d.Tables {
				one.Tables = append(one.Tables, r.Table(t.Name))
			}
			one.Warn(b.Warnings(r, accounts, s.Kind().Rubrics)...)
			return []results.Section{one}
		}
	}
	secs := lay(r)
	secs = slices.Insert(secs, min(1, len(secs)), b.changesSections(r)...)
	secs, err = b.WithUnread(ctx, st, accounts, secs)
	return b.besideByHost(r, secs), err
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

// PairSections is the section that compares every two models; none where there is nothing to
// compare.
func PairSections(r *score.Run) []results.Section {
	t := r.Pairs()
	if len(t.Rows) == 0 {
		return nil
	}
	return []results.Section{{Name: t.Name, Title: "Pairs of models", Tables: []results.Table{t}, Main: []string{t.Name}, Intro: "Which of two is better, on the items that both answered?"}}
}
