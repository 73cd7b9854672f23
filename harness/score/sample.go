package score

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	// It reads as encoding/json does, in less than half of the time.
	jsonv1 "github.com/go-json-experiment/json/v1"

	"assay/results"
	"assay/results/store"
)

// Sample is a trial joined with what it is scored by.
type Sample struct {
	results.Row
	Facts any // what Rules.Facts made of the item
	// Output is what was answered, where the rules ask for it and there is an answer.
	Output results.Output
	// Condition is what Rules.Condition made of the description that the study stored
	// with the run; nil: there is none.
	Condition any

	// Released says that the scores are those of the authors' code, where it differs.
	Released bool

	id    int64
	room  []Value
	of    *reading
	said  []results.Judgment // in rubric and judge order
	group []Sample
	kept  *any
}

// reading is what all samples of a walk share.
type reading struct {
	*basis
	ctx    context.Context
	st     *store.Store
	unread error // why a reply could not be read
}

// Judges are those asked under a rubric.
func (s Sample) Judges(rubric string) []string { return s.of.judges[rubric] }

// Once is what a study reads out of the trial, kept for the others of its item that
// are compared with it.
func (s Sample) Once(read func() any) any {
	if *s.kept == nil {
		*s.kept = read()
	}
	return *s.kept
}

// Room is an empty list for the values that Rules.Score returns. It is used again for the
// next trial: of a million, new ones would be most of the memory asked for.
func (s Sample) Room() []Value { return s.room }

// Other is the trial of the same model, item and repeat in an arm under a
// condition; false: it is not stored.
func (s Sample) Other(arm, condition string) (Sample, bool) {
	for i := range s.group {
		if k := &s.group[i].Key; k.Arm == arm && k.Condition == condition && k.Repeat == s.Key.Repeat {
			return s.group[i], true
		}
	}
	return Sample{}, false
}

// Unjudged stands for a judgment that was not made.
const Unjudged results.Status = "not judged"

// Status is what became of a judgment.
func (s Sample) Status(rubric, judge string) results.Status {
	if j := s.judgment(rubric, judge); j != nil {
		return j.Status
	}
	return Unjudged
}

// Verdict reads a judge's verdict; false: there is no usable one.
func (s Sample) Verdict(rubric, judge string, into any) bool {
	j := s.judgment(rubric, judge)
	return !s.Failed && j != nil && j.Status.Usable() && jsonv1.Unmarshal(j.Verdict, into) == nil
}

// Score reads the number called score of a judge's verdict, and nothing else of it: nil
// where it is null or missing; false: there is no usable verdict.
func (s Sample) Score(rubric, judge string) (*int, bool) {
	j := s.judgment(rubric, judge)
	if s.Failed || j == nil || !j.Status.Usable() {
		return nil, false
	}
	var only struct{ Score *int }
	ok := jsonv1.Unmarshal(j.Verdict, &only) == nil
	return only.Score, ok
}

// Reply is what a judge wrote, whatever became of it; false: nothing.
func (s Sample) Reply(rubric, judge string) (string, bool) {
	said, ok, err := s.of.st.Reply(s.of.ctx, s.id, rubric, judge)
	s.of.unread = errors.Join(s.of.unread, err)
	return said, ok
}

func (s Sample) judgment(rubric, judge string) *results.Judgment {
	for i := len(s.said) - 1; i >= 0; i-- { // of several cases the last counts
		if s.said[i].Rubric == rubric && s.said[i].Judge == judge {
			return &s.said[i]
		}
	}
	return nil
}

// VerdictName is the name of the score that says what became of the judgments
// under a rubric.
func VerdictName(rubric string) string { return rubric + "_verdict" }

// VerdictNames documents these scores.
func VerdictNames(rubrics ...string) []Name {
	var out []Name
	for _, r := range rubrics {
		out = append(out, Name{Name: VerdictName(r), Better: None, Rubric: r, Source: "metrics.md section 2.4",
			Help: "what became of the judgment under " + r + ": clean and repaired ones are usable"})
	}
	return out
}

// Verdicts are these scores of a trial that a rubric is for; a failure has none.
func (s Sample) Verdicts(rubric string) []Value {
	judges := s.Judges(rubric)
	out := make([]Value, 0, len(judges))
	for _, j := range judges {
		if s.Failed {
			out = append(out, Invalid(VerdictName(rubric), j, Failure))
		} else {
			out = append(out, LabelOf(VerdictName(rubric), j, string(s.Status(rubric, j))))
		}
	}
	return out
}

// Why says why a judge's verdict gives no score.
func (s Sample) Why(rubric, judge string) string {
	if s.Failed {
		return Failure
	}
	if st := s.Status(rubric, judge); !st.Usable() {
		return string(st)
	}
	return "its verdict cannot be read"
}

// noItem says that a trial's item is missing.
func noItem(k results.Key) error {
	return fmt.Errorf("%s: the store has a trial of item %s but not the item; it is damaged or was written by another version", k.Study, k.Item)
}

// basis is what scores are made of besides trials, and a digest of all of it.
type basis struct {
	rules      Rules
	judges     map[string][]string
	layout     *Layout
	conditions map[string]any
	revision   int64
	released   bool
	digest     results.Digest
}

func basisOf(ctx context.Context, st *store.Store, r Rules, judges map[string][]string) (*basis, error) {
	revision, err := st.Revision(ctx)
	if err != nil {
		return nil, err
	}
	man, _, err := st.Manifest(ctx)
	if err != nil {
		return nil, err
	}
	r.Answers = r.Answers || len(judges[r.AnswersOf]) > 0
	b := &basis{rules: r, judges: judges, layout: r.Layout(judges), conditions: map[string]any{}, revision: revision, released: man.Released()}
	if r.Condition != nil {
		for name, described := range man.Conditions[r.Study] {
			c, err := r.Condition(name, described)
			if err != nil {
				return nil, err
			}
			b.conditions[name] = c
			b.rules.Answers = b.rules.Answers || r.AnswersUnder != nil && r.AnswersUnder(c)
		}
	}
	of, err := json.Marshal(map[string]any{"code": build(), "format": format, "names": b.layout.names, "judges": judges, "conditions": man.Conditions[r.Study], "revision": revision, "released": b.released})
	if err != nil {
		return nil, fmt.Errorf("%s: what scores are made of: %w", r.Study, err)
	}
	b.digest = results.DigestOf(of)
	return b, nil
}

// itemsOf is what scores need of the study's items, by ID.
func (b *basis) itemsOf(ctx context.Context, st *store.Store) (map[string]any, error) {
	items := map[string]any{}
	for it, err := range st.Items(ctx, b.rules.Study) {
		if err != nil {
			return nil, err
		}
		items[it.ID] = nil
		if b.rules.Facts != nil {
			if items[it.ID], err = b.rules.Facts(it); err != nil {
				return nil, err
			}
		}
	}
	return items, nil
}

// joiner joins trials with what they are scored by.
type joiner struct {
	*basis
	of    *reading
	items map[string]any
	group []Sample
}

func (b *basis) joiner(ctx context.Context, st *store.Store, items map[string]any) *joiner {
	return &joiner{basis: b, of: &reading{basis: b, ctx: ctx, st: st}, items: items}
}

// add joins a trial of the same model and item as those before it.
func (j *joiner) add(row results.JudgedRow) error {
	facts, ok := j.items[row.Key.Item]
	if !ok {
		return noItem(row.Key)
	}
	s := Sample{Row: row.Row, Facts: facts, Condition: j.conditions[row.Key.Condition], Released: j.released, Output: row.Output, id: row.ID, of: j.of, kept: new(any)}
	s.said = slices.DeleteFunc(row.Judgments, func(said results.Judgment) bool { return !slices.Contains(j.judges[said.Rubric], said.Judge) })
	j.group = append(j.group, s)
	return nil
}

// flush has the trials that were joined visited, and begins anew.
func (j *joiner) flush(visit func([]Sample) error) error {
	if len(j.group) == 0 {
		return nil
	}
	for i := range j.group {
		j.group[i].group = j.group
	}
	err := errors.Join(visit(j.group), j.of.unread)
	j.group = j.group[:0]
	return err
}

// groups joins the trials of each model and item, in Key order. visit must not keep the
// slice.
func (b *basis) groups(ctx context.Context, st *store.Store, items map[string]any, visit func([]Sample) error) error {
	j := b.joiner(ctx, st, items)
	for row, err := range st.JudgedRows(ctx, b.rules.Study, b.rules.Answers) {
		if err != nil {
			return err
		}
		if len(j.group) > 0 && (j.group[0].Key.Model != row.Key.Model || j.group[0].Key.Item != row.Key.Item) {
			if err := j.flush(visit); err != nil {
				return err
			}
		}
		if err := j.add(row); err != nil {
			return err
		}
	}
	return j.flush(visit)
}
