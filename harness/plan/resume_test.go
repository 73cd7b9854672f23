package plan

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset"
	"assay/harness/render"
	"assay/perturb"
	"assay/results"
)

// shelf is a store in memory.
type shelf struct {
	stored []results.KeyedOutcome
	err    error
}

func (s shelf) OutcomesOf(_ context.Context, study, model string) iter.Seq2[results.KeyedOutcome, error] {
	return func(yield func(results.KeyedOutcome, error) bool) {
		if s.err != nil {
			yield(results.KeyedOutcome{}, s.err)
			return
		}
		for _, o := range s.stored {
			if o.Key.Study == study && o.Key.Model == model && !yield(o, nil) {
				return
			}
		}
	}
}

func key(model, study, item, arm string) results.Key {
	return results.Key{Study: study, Model: model, Item: item, Arm: arm, Condition: perturb.Baseline().Name}
}

// block plans trials; the arm "fixed" needs the output of "direct".
func block(model string, keys ...results.Key) Block {
	b := Block{Model: model}
	base := perturb.Baseline()
	for _, k := range keys {
		arm := &render.Arm{Name: k.Arm}
		if k.Arm == "fixed" {
			arm.Needs = []string{"direct"}
		}
		b.Trials = append(b.Trials, Trial{Key: k, Item: &dataset.Item{ID: k.Item}, Arm: arm, Condition: &base})
	}
	return b
}

func rules() StoredRules {
	return StoredRules{
		Mark: func(o results.KeyedOutcome) Mark {
			switch {
			case o.Failed && o.Kind == "again":
				return Undone
			case o.Invalid:
				return Invalid | Again
			}
			return 0
		},
		Proves: func(o results.KeyedOutcome) bool { return !o.Failed },
	}
}

func stored(k results.Key, o results.Outcome) results.KeyedOutcome {
	return results.KeyedOutcome{Key: k, Outcome: o}
}

// TestRead: every trial of every block has its mark, whatever else the store holds.
func TestRead(t *testing.T) {
	a, b, c, d := key("m", "cot", "1", "direct"), key("m", "cot", "2", "direct"), key("m", "cot", "3", "direct"), key("m", "cot", "4", "direct")
	other, foreign := key("m", "faithfulness", "1", "direct"), key("n", "cot", "1", "direct")
	st := shelf{stored: []results.KeyedOutcome{
		stored(b, results.Outcome{}), stored(c, results.Outcome{Failed: true, Kind: "again"}), stored(d, results.Outcome{Invalid: true}),
		stored(key("m", "cot", "5", "direct"), results.Outcome{}), // not planned
		stored(other, results.Outcome{Failed: true, Kind: "stalled"}),
	}}
	got, err := Compare(t.Context(), st, []Block{block("m", a, b, other, c, d), block("n", foreign), block("o")}, rules())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]Mark{{Undone, Stored, Stored | Failed, Stored | Failed | Undone, Stored | Invalid | Again}, {Undone}, {}} {
		if !slices.Equal(got[i].Marks, want) || len(got[i].Others) != 0 {
			t.Errorf("block %d: %v, others %v; want %v", i, got[i].Marks, got[i].Others, want)
		}
	}
	if !maps.Equal(got[0].Proven, map[string]bool{"cot": true}) || len(got[1].Proven) != 0 {
		t.Errorf("proven %v, %v", got[0].Proven, got[1].Proven)
	}
}

// TestNeeds: what a trial needs is planned before it or stored.
func TestNeeds(t *testing.T) {
	need, then := key("m", "cot", "1", "direct"), key("m", "cot", "1", "fixed")
	answer := shelf{stored: []results.KeyedOutcome{stored(need, results.Outcome{})}}
	failure := shelf{stored: []results.KeyedOutcome{stored(need, results.Outcome{Failed: true})}}
	for name, c := range map[string]struct {
		st     shelf
		keys   []results.Key
		others map[results.Key]Mark
		err    string
	}{
		"planned before":             {shelf{}, []results.Key{need, then}, nil, ""},
		"stored":                     {answer, []results.Key{then}, map[results.Key]Mark{need: Stored}, ""},
		"a failure":                  {failure, []results.Key{then}, map[results.Key]Mark{need: Stored | Failed}, ""},
		"stored, and planned behind": {answer, []results.Key{then, need}, map[results.Key]Mark{need: Stored}, ""},
		"planned behind":             {shelf{}, []results.Key{then, need}, nil, "neither stored nor planned before it"},
		"nowhere":                    {shelf{}, []results.Key{then}, nil, "neither stored nor planned before it"},
		"planned twice":              {shelf{}, []results.Key{need, then, need}, nil, "is planned twice"},
		"not to be read":             {shelf{err: errors.New("no disk")}, []results.Key{need}, nil, "read what is stored: no disk"},
	} {
		got, err := Compare(t.Context(), c.st, []Block{block("m", c.keys...)}, rules())
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || !maps.Equal(got[0].Others, c.others):
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := Compare(t.Context(), shelf{}, []Block{block("m", need), block("m", then)}, rules()); err == nil {
		t.Error("a model with two blocks passes")
	}
}
