package study

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"assay/results"
)

// Trial is a stored trial with what was said of it: per rubric, one judgment
// per judge that was asked, in their order. A judgment without a status was not
// made.
type Trial struct {
	Row  results.Row
	Said map[string][]results.Judgment
}

// Verdict reads a judge's verdict; false: there is no usable one.
func (t Trial) Verdict(rubric string, judge int, into any) bool {
	said := t.Said[rubric]
	return !t.Row.Failed && judge < len(said) && said[judge].Status.Usable() && json.Unmarshal(said[judge].Verdict, into) == nil
}

// Walk reads a study's trials once, in Key order, and visits those of one model
// and one item together. Nothing is kept between visits, so that a store of any
// size can be read. visit must not keep the slice.
func Walk(ctx context.Context, st *results.Store, study string, judges map[string][]string, visit func([]Trial) error) error {
	next, stop := iter.Pull2(st.Judgments(ctx, study))
	defer stop()
	said, err, more := next()
	var group []Trial
	for row, rowErr := range st.Rows(ctx, study) {
		if rowErr != nil {
			return rowErr
		}
		if len(group) > 0 && (group[0].Row.Key.Model != row.Key.Model || group[0].Row.Key.Item != row.Key.Item) {
			if err := visit(group); err != nil {
				return err
			}
			group = group[:0]
		}
		t := Trial{Row: row, Said: map[string][]results.Judgment{}}
		for more && err == nil && compareKeys(said.Key, row.Key) <= 0 {
			if at := slices.Index(judges[said.Rubric], said.Judge); at >= 0 && said.Key == row.Key {
				if t.Said[said.Rubric] == nil {
					t.Said[said.Rubric] = make([]results.Judgment, len(judges[said.Rubric]))
				}
				t.Said[said.Rubric][at] = said.Judgment
			}
			said, err, more = next()
		}
		if err != nil {
			return err
		}
		group = append(group, t)
	}
	if err != nil {
		return err
	}
	if len(group) > 0 {
		return visit(group)
	}
	return nil
}

func compareKeys(a, b results.Key) int {
	return cmp.Or(cmp.Compare(a.Study, b.Study), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Item, b.Item),
		cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Condition, b.Condition), cmp.Compare(a.Repeat, b.Repeat))
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
