package plan

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"

	"assay/results"
)

// Mark is what is known of a trial and what is to be done with it.
type Mark uint8

const (
	Stored  Mark = 1 << iota
	Failed       // its last attempt is a failure
	Undone       // it is to be done
	Again        // it has an answer, and its time is to be taken again
	Invalid      // it has an answer whose time does not count
)

// Has says whether the mark has all of another.
func (m Mark) Has(other Mark) bool { return m&other == other }

// Outcomes is what a store tells.
type Outcomes interface {
	// OutcomesOf iterates over the trials of a study and a model.
	OutcomesOf(ctx context.Context, study, model string) iter.Seq2[results.KeyedOutcome, error]
}

// Known is what is known of a plan's block.
type Known struct {
	Marks  []Mark               // of each trial
	Others map[results.Key]Mark // of trials that others need and the block does not plan before them
	Proven map[string]bool      // studies of which StoredRules.Proves something
}

// StoredRules decide over stored trials.
type StoredRules struct {
	// Mark is Undone, Again or Invalid of a stored trial.
	Mark func(results.KeyedOutcome) Mark
	// Proves says that a stored trial binds what is sent for others of its study.
	Proves func(results.KeyedOutcome) bool
}

// Compare compares blocks with a store, several beside each other. It is an error that a
// trial is planned twice, or needs one that is neither stored nor planned before it.
func Compare(ctx context.Context, st Outcomes, blocks []Block, r StoredRules) ([]Known, error) {
	out, errs := make([]Known, len(blocks)), make([]error, len(blocks))
	work := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(blocks)) {
		wg.Go(func() {
			place := map[results.Key]int32{} // again and again, of a block's trials
			for i := range work {
				clear(place)
				out[i], errs[i] = r.read(ctx, st, blocks[i], place)
			}
		})
	}
	models := map[string]bool{}
	var twice error
	for i, b := range blocks {
		if models[b.Model] {
			twice = fmt.Errorf("model %q has two blocks", b.Model)
			break
		}
		models[b.Model] = true
		work <- i
	}
	close(work)
	wg.Wait()
	for _, err := range append(errs, twice) {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r StoredRules) read(ctx context.Context, st Outcomes, b Block, place map[results.Key]int32) (Known, error) {
	out := Known{Marks: make([]Mark, len(b.Trials)), Others: map[results.Key]Mark{}, Proven: map[string]bool{}}
	type need struct {
		trial int
		of    results.Key
	}
	var open []need // not planned before
	wanted := map[results.Key]bool{}
	var studies []string
	for i, t := range b.Trials {
		for _, k := range t.Needs() {
			if _, before := place[k]; !before {
				open, wanted[k] = append(open, need{i, k}), true
			}
		}
		place[t.Key] = int32(i)
		if len(place) != i+1 {
			return out, fmt.Errorf("trial %s is planned twice", t.Key.Name())
		}
		if n := len(studies); n == 0 || studies[n-1] != t.Key.Study {
			studies = append(studies, t.Key.Study) // one may come again
		}
		out.Marks[i] = Undone
	}
	read := map[string]bool{}
	for _, study := range studies {
		if read[study] {
			continue
		}
		read[study] = true
		for o, err := range st.OutcomesOf(ctx, study, b.Model) {
			if err != nil {
				return out, fmt.Errorf("read what is stored: %w", err)
			}
			if !out.Proven[study] && r.Proves(o) {
				out.Proven[study] = true
			}
			m := Stored
			if o.Failed {
				m |= Failed
			}
			if i, planned := place[o.Key]; planned {
				out.Marks[i] = m | r.Mark(o)
			}
			if wanted[o.Key] {
				out.Others[o.Key] = m
			}
		}
	}
	for _, n := range open {
		if _, ok := out.Others[n.of]; !ok {
			return out, fmt.Errorf("trial %s needs %s, which is neither stored nor planned before it", b.Trials[n.trial].Key.Name(), n.of.Name())
		}
	}
	return out, nil
}

// CellOf is a trial's arm, condition and repeat, of every item.
func CellOf(k results.Key) results.Key {
	k.Item = ""
	return k
}

// Offered is a block of a model whose answers are made elsewhere, without the arms, conditions and repeats
// that nothing is stored of: nobody has them. A study of which nothing is stored at all stays whole.
func Offered(ctx context.Context, st Outcomes, b Block) (Block, error) {
	has := map[results.Key]bool{} // of cells
	begun := map[string]bool{}    // studies that were looked at; true: something is stored of them
	for _, t := range b.Trials {
		if _, looked := begun[t.Key.Study]; looked {
			continue
		}
		begun[t.Key.Study] = false
		for o, err := range st.OutcomesOf(ctx, t.Key.Study, b.Model) {
			if err != nil {
				return b, fmt.Errorf("read what is stored: %w", err)
			}
			has[CellOf(o.Key)], begun[t.Key.Study] = true, true
		}
	}
	b.Trials = slices.DeleteFunc(slices.Clone(b.Trials), func(t Trial) bool { return begun[t.Key.Study] && !has[CellOf(t.Key)] })
	return b, nil
}

// Imported counts the trials of models whose answers are made elsewhere, stored and
// not of those that were offered, with a warning for each model that lacks some.
func Imported(ctx context.Context, st Outcomes, blocks []Block) (stored, left int, warnings []string, err error) {
	blocks = slices.Clone(blocks)
	for i, b := range blocks {
		if blocks[i], err = Offered(ctx, st, b); err != nil {
			return 0, 0, nil, err
		}
	}
	found, err := Compare(ctx, st, blocks, StoredRules{Mark: func(results.KeyedOutcome) Mark { return 0 }, Proves: func(results.KeyedOutcome) bool { return false }})
	for i, b := range found {
		n := 0
		for _, m := range b.Marks {
			if m.Has(Undone) {
				n++
			}
		}
		stored, left = stored+len(b.Marks)-n, left+n
		if n > 0 {
			warnings = append(warnings, fmt.Sprintf("model %s: %d of %d planned trials have no answer; assay import predictions brings in what was made elsewhere", blocks[i].Model, n, len(b.Marks)))
		}
	}
	return stored, left, warnings, err
}
