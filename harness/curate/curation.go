// Package curate makes a smaller data set of one, and asks whether models have seen one
// before (metrics.md section 3).
//
//  1. Filters judge items: near-duplicates (duplicates.go), leaks (leaks.go), also
//     as a judge sees them (judged.go, asked by judge.Run), text-solvable ones (probe.go asks models without
//     pictures, by an ordinary run), the length of options (options.go).
//  2. Filter applies them one after another and says of each item that goes which one took
//     it, and why. Chance has a seed: the same settings give the same set.
//  3. Write writes what is kept, in a form that can be loaded again (write.go).
//  4. LookForContamination has every model go on with the first half of each text of a data
//     set (texts.go, run.go), in a run with a store of its own.
//  5. measureContamination compares it with the second half, by MELD, and with the second
//     half of another text: what a model reaches that knows nothing (measure.go).
package curate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/harness/dataset"
)

// The filters, in the order in which they are applied.
const (
	byDuplicate = "duplicate"
	byLeak      = "leak"
	bySolvable  = "text-solvable"
	byLength    = "length-bias"
)

// removed is an item that is not kept.
type removed struct {
	Item   string `json:"item"`
	Filter string `json:"filter"`
	Why    string `json:"why"`
	Level  string `json:"level,omitempty"` // of a leak
	Spans  []span `json:"spans,omitempty"` // where it leaks
	Twin   string `json:"twin,omitempty"`  // the item that stays, of near-duplicates
}

// span is a stretch of a text, in code points.
type span struct {
	Text string `json:"text"` // "history" or "question"
	From int    `json:"from"`
	To   int    `json:"to"`
	Says string `json:"says"`
}

// pruned is an item that has fewer options than it had.
type pruned struct {
	Item string   `json:"item"`
	Gone []string `json:"gone"` // texts of options
}

// Settings are what is filtered, and how. The zero Settings filters nothing.
type Settings struct {
	Duplicates string  // "": no; one of DuplicateKinds
	Leaks      string  // "": no; one of LeakLevels: that level and those before it
	Judged     *Judged // also what it says leaks; nil: no judge was asked
	Solvable   bool    // probes were right in every run
	Options    int     // prune to so many; 0: no
	Length     float64 // most that the right option may be the longest in, as a share of items; 0: any
	Seed       uint64
}

// Check says what is wrong with settings.
func (s Settings) Check() error {
	switch {
	case s.Duplicates != "" && !slices.Contains(DuplicateKinds(), s.Duplicates):
		return fmt.Errorf("--duplicates: expected one of %s, found %q", strings.Join(DuplicateKinds(), ", "), s.Duplicates)
	case s.Leaks != "" && !slices.Contains(LeakLevels(), s.Leaks):
		return fmt.Errorf("--leaks: expected one of %s, found %q", strings.Join(LeakLevels(), ", "), s.Leaks)
	case s.Options != 0 && (s.Options < 2 || s.Options > 26):
		return fmt.Errorf("--options: expected 2 to 26, found %d", s.Options)
	case s.Length < 0 || s.Length > 1:
		return fmt.Errorf("--length-bias: expected a share from 0 to 1, found %v", s.Length)
	case s == (Settings{Seed: s.Seed}):
		return fmt.Errorf("expected a filter: --duplicates, --leaks, --leak-judge, --text-solvable, --options or --length-bias")
	}
	return nil
}

// result is a filtered data set.
type result struct {
	Settings Settings
	Before   *dataset.Dataset
	Kept     []dataset.Item
	Removed  []removed // in the order of the filters, then of the data set
	Pruned   []pruned
	Steps    []step
	// Twins that are near and stay, and images that no hash could be made of, are problems.
	Problems []string
}

// step is a filter that was applied.
type step struct {
	Filter        string
	Before, After int // items
	Note          string
}

// Filter applies the filters that are set. answers are those of probes; nil where none
// of the filters needs them.
func Filter(d *dataset.Dataset, set Settings, answers *Answers) (*result, error) {
	r := &result{Settings: set, Before: d, Kept: slices.Clone(d.Items)}
	apply := func(filter, note string, gone []removed) {
		before := len(r.Kept)
		away := map[string]bool{}
		for i := range gone {
			gone[i].Filter = filter
			away[gone[i].Item] = true
		}
		r.Kept = slices.DeleteFunc(r.Kept, func(it dataset.Item) bool { return away[it.ID] })
		order := map[string]int{}
		for i, it := range d.Items {
			order[it.ID] = i
		}
		slices.SortStableFunc(gone, func(a, b removed) int { return cmp.Compare(order[a.Item], order[b.Item]) })
		r.Removed = append(r.Removed, gone...)
		r.Steps = append(r.Steps, step{Filter: filter, Before: before, After: len(r.Kept), Note: note})
	}
	if set.Duplicates != "" {
		gone, problems := duplicates(r.Kept, set.Duplicates)
		r.Problems = append(r.Problems, problems...)
		apply(byDuplicate, "by "+set.Duplicates, gone)
	}
	if set.Leaks != "" {
		apply(byLeak, "up to level "+set.Leaks, leaking(r.Kept, set.Leaks))
	}
	if set.Judged != nil {
		gone, note := set.Judged.leaking(r.Kept)
		apply(byLeak, note, gone)
	}
	if set.Solvable {
		if answers == nil {
			return nil, errNoProbes
		}
		gone, note := solvable(r.Kept, answers)
		apply(bySolvable, note, gone)
	}
	if set.Options > 0 {
		r.Pruned = prune(r.Kept, set.Options, answers, set.Seed)
		note := "by chance: there are no probes"
		if answers != nil {
			note = "to those that probes confuse"
		}
		r.Steps = append(r.Steps, step{Filter: "options", Before: len(r.Kept), After: len(r.Kept), Note: fmt.Sprintf("%d items have %d options now, %s", len(r.Pruned), set.Options, note)})
	}
	if set.Length > 0 {
		gone, note := unbiased(r.Kept, set.Length, set.Seed)
		apply(byLength, note, gone)
	}
	return r, nil
}
