package exchange

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/backends"
	"assay/harness/dataset"
	"assay/harness/dataset/table"
	"assay/harness/plan"
	"assay/perturb"
	"assay/results"
	"assay/results/store"
)

// Target is what answers are imported as.
type Target struct {
	Study, Model string
	Arm          string // of rows that name none; "": the study's only one
	Condition    string // of rows that name none; "": the baseline
	// ByPlace says that ids are places in the data set, from 0.
	ByPlace bool
	// AnyGold takes answers to questions whose gold answer the file has otherwise.
	AnyGold bool
}

// Joined are rows as trials.
type Joined struct {
	Trials    []results.Trial
	Answers   int
	Failures  int
	Unplanned int // rows of items, arms or conditions that bench.yaml does not plan
	Missing   int // planned trials of the arms, conditions and repeats of the rows that no row is of
}

// JoinAnswers finds the planned trial of each row. A row of no item, a second row of a trial,
// and a gold answer that is not the item's, are problems.
func JoinAnswers(file string, rows []AnswerRow, t Target, p *plan.Plan, set *dataset.Dataset) (Joined, []table.Problem) {
	var out Joined
	var bad []table.Problem
	say := func(line int, want, got string) {
		bad = append(bad, table.Problem{File: file, Row: line, Want: want, Got: got})
	}
	arms := map[string]bool{}
	planned := map[results.Key]bool{}
	for _, b := range p.Blocks {
		for _, tr := range b.Trials {
			if tr.Key.Study == t.Study {
				arms[tr.Key.Arm] = true
				if b.Model == t.Model {
					planned[tr.Key] = true
				}
			}
		}
	}
	items := map[string]*dataset.Item{}
	for i := range set.Items {
		items[set.Items[i].ID] = &set.Items[i]
	}
	if t.ByPlace && len(set.Problems) > 0 {
		say(0, "a data set of which every row could be used: places count all rows", fmt.Sprintf("%d that were left out", len(set.Problems)))
		return out, bad
	}
	first := map[results.Key]int{}
	for _, r := range rows {
		it := items[r.ID]
		if t.ByPlace {
			it = nil
			if n, err := strconv.Atoi(r.ID); err == nil && n >= 0 && n < len(set.Items) {
				it = &set.Items[n]
			}
		}
		if it == nil {
			say(r.Line, fmt.Sprintf("an item of data set %s (as %s)", set.Name, example(set, t.ByPlace)), table.Quote(r.ID))
			continue
		}
		if r.Gold != nil && !t.AnyGold && !meant(it, *r.Gold) {
			say(r.Line, fmt.Sprintf("the gold answer of item %s, %s (--any-gold where only its wording differs: a file of other questions must not be judged by these)", it.ID, table.Quote(it.Answer)), table.Quote(*r.Gold))
			continue
		}
		k := results.Key{Study: t.Study, Model: t.Model, Item: it.ID, Arm: cmp.Or(r.Arm, t.Arm), Condition: cmp.Or(r.Condition, t.Condition, perturb.Baseline().Name)}
		if r.Repeat != nil {
			k.Repeat = *r.Repeat
		}
		if k.Arm == "" {
			if len(arms) != 1 {
				say(0, "--arm "+strings.Join(slices.Sorted(maps.Keys(arms)), ", or ")+": study "+t.Study+" has several, and neither the file nor --arm names one", "none")
				return out, bad
			}
			for k.Arm = range arms {
			}
		}
		if !planned[k] {
			out.Unplanned++
			continue
		}
		if at := first[k]; at > 0 {
			say(r.Line, fmt.Sprintf("each trial once (arm %s, condition %s, repeat %d)", k.Arm, k.Condition, k.Repeat), fmt.Sprintf("item %s again (first on line %d)", k.Item, at))
			continue
		}
		first[k] = r.Line
		a := results.Attempt{}
		if r.Failure != "" {
			a.Failure = &results.Failure{Kind: scoreFailure, Message: r.Failure}
			out.Failures++
		} else {
			a.Output = &results.Output{Answer: r.Answer, Reasoning: r.Reasoning}
			out.Answers++
		}
		out.Trials = append(out.Trials, results.Trial{Key: k, Attempts: []results.Attempt{a}})
	}
	answered := map[results.Key]bool{}
	for k := range first {
		answered[plan.CellOf(k)] = true
	}
	for k := range planned {
		if answered[plan.CellOf(k)] {
			out.Missing++
		}
	}
	out.Missing -= len(first)
	return out, bad
}

// scoreFailure is the kind of failures that were made elsewhere.
const scoreFailure = "imported"

func example(set *dataset.Dataset, byPlace bool) string {
	switch {
	case len(set.Items) == 0:
		return "none: it is empty"
	case byPlace:
		return "0 to " + strconv.Itoa(len(set.Items)-1)
	}
	return table.Quote(set.Items[0].ID)
}

// meant says whether a gold answer of a file is the item's: the same text, or the label
// or the text of the same option. Options without labels are A, B and so on.
func meant(it *dataset.Item, gold string) bool {
	fold := func(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), "")) }
	if fold(gold) == fold(it.Gold()) || slices.ContainsFunc(it.Golds(), func(g string) bool { return fold(g) == fold(gold) }) {
		return true
	}
	for i, o := range it.Options {
		label := cmp.Or(o.Label, letter(i))
		if is := fold(it.Answer); is == fold(o.Text) || o.Label != "" && is == fold(o.Label) {
			if g := fold(gold); g == fold(o.Text) || g == fold(label) || g == fold(label+". "+o.Text) {
				return true
			}
		}
	}
	return false
}

// letter is the label of an option that has none.
func letter(i int) string {
	if i >= 26 {
		return ""
	}
	return string(rune('A' + i))
}

// Put stores trials without times, after note has said where they are from. One that is stored with the same outcome stays as it
// is; an answer where a failure is stored becomes a further attempt; another answer is an error, and
// then nothing is stored.
func Put(ctx context.Context, st *store.Store, trials []results.Trial, by backends.Identity, note func() error) (stored int, err error) {
	var fresh []results.Trial
	for _, t := range trials {
		old, ok, err := st.Trial(ctx, t.Key)
		if err != nil {
			return 0, err
		}
		now := t.Attempts[0]
		if last, any := old.Last(); ok && any {
			switch {
			case last.Output != nil && now.Failure != nil || last.Failure != nil && now.Failure != nil,
				last.Output != nil && now.Output != nil && *last.Output == *now.Output:
				continue
			case last.Output != nil:
				return 0, fmt.Errorf("trial %s is stored with another answer; give the new ones a store of their own (store: in bench.yaml), or another model", t.Key.Name())
			}
			t.Attempts = append(old.Attempts, now)
		}
		t.Attempts[len(t.Attempts)-1].Served = results.ServedBy(by)
		fresh = append(fresh, t)
	}
	if err := note(); err != nil {
		return 0, err
	}
	if err := st.PutServed(ctx, by); err != nil {
		return 0, err
	}
	for i, t := range fresh {
		if err := st.PutTrial(ctx, t); err != nil {
			return i, err
		}
	}
	return len(fresh), nil
}

// Elsewhere is who a model is whose answers are imported.
func Elsewhere(model string) backends.Identity {
	return backends.Identity{Server: "made elsewhere", Model: model}
}

// NoteImport adds an import to those of a manifest; the same file for the same model and study
// is there once.
func NoteImport(list []results.Import, file, format string, content []byte, t Target, j Joined) []results.Import {
	i := results.Import{Model: t.Model, Study: t.Study, File: filepath.Base(file), Format: format, Digest: results.Digest(fmt.Sprintf("sha256:%x", sha256.Sum256(content))), Answers: j.Answers, Failures: j.Failures}
	list = slices.DeleteFunc(slices.Clone(list), func(o results.Import) bool {
		return o.Model == i.Model && o.Study == i.Study && o.Digest == i.Digest && o.File == i.File
	})
	return append(list, i)
}
