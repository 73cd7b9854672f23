package study

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"assay/results"
	"assay/results/sqlite"
)

// Trial is a stored trial with what was said of it: per rubric, one judgment
// per judge that was asked, in their order. A judgment without a status was not
// made.
type Trial struct {
	Row      results.Row
	Reported map[string][]results.Judgment
}

// Verdict reads a judge's verdict; false: there is no usable one.
func (t Trial) Verdict(rubric string, judge int, into any) bool {
	said := t.Reported[rubric]
	return !t.Row.Failed && judge < len(said) && said[judge].Status.Usable() && json.Unmarshal(said[judge].Verdict, into) == nil
}

// Statuses are what became of its judgments, by rubric and judge.
func (t Trial) Statuses(judges map[string][]string) map[string][]results.Status {
	out := map[string][]results.Status{}
	for rubric, names := range judges {
		by := make([]results.Status, len(names))
		for j := range by {
			by[j] = Unjudged
			if said := t.Reported[rubric]; said != nil && said[j].Status != "" {
				by[j] = said[j].Status
			}
		}
		out[rubric] = by
	}
	return out
}

// Walk reads a study's trials once, in Key order, and visits those of one model
// and one item together. Nothing is kept between visits, so that a store of any
// size can be read. visit must not keep the slice.
func Walk(ctx context.Context, st *sqlite.Store, study string, judges map[string][]string, visit func([]Trial) error) error {
	var group []Trial
	for row, err := range st.JudgedRows(ctx, study) {
		if err != nil {
			return err
		}
		if len(group) > 0 && (group[0].Row.Key.Model != row.Key.Model || group[0].Row.Key.Item != row.Key.Item) {
			if err := visit(group); err != nil {
				return err
			}
			group = group[:0]
		}
		t := Trial{Row: row.Row, Reported: map[string][]results.Judgment{}}
		for _, j := range row.Judgments {
			at := slices.Index(judges[j.Rubric], j.Judge)
			if at < 0 {
				continue
			}
			if t.Reported[j.Rubric] == nil {
				t.Reported[j.Rubric] = make([]results.Judgment, len(judges[j.Rubric]))
			}
			t.Reported[j.Rubric][at] = j
		}
		group = append(group, t)
	}
	if len(group) > 0 {
		return visit(group)
	}
	return nil
}

// ReadFacts decodes an item's facts; an item without facts leaves into as it is.
func ReadFacts(it results.Item, into any) error {
	if len(it.Facts) == 0 {
		return nil
	}
	if err := json.Unmarshal(it.Facts, into); err != nil {
		return fmt.Errorf("%s: the facts of item %s cannot be read: %w; the store is damaged or was written by another version", it.Study, it.ID, err)
	}
	return nil
}
