package score

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"assay/results"
	"assay/results/store"
)

// Refresh stores a study's scores, unless those in the store are of the same code,
// rules, judges, judgments and measures; done is told now and then how many trials
// are scored. The store must be open for writing. It says whether anything was to
// be done.
func Refresh(ctx context.Context, st *store.Store, r Rules, judges map[string][]string, done func(trials int)) (bool, error) {
	b, err := basisOf(ctx, st, r, judges)
	if err != nil {
		return false, err
	}
	if set, ok, err := st.ScoreSet(ctx, r.Study); err != nil || ok && set.Digest == b.digest {
		return false, err
	}
	return true, st.PutScores(ctx, r.Study, b.packed(ctx, st, done), func() results.ScoreSet {
		return results.ScoreSet{Study: r.Study, Digest: b.digest, About: b.layout.about()}
	})
}

// packed makes the scores of all trials. Models are scored beside each other.
func (b *basis) packed(ctx context.Context, st *store.Store, scored func(trials int)) iter.Seq2[results.ScoreBundle, error] {
	return func(yield func(results.ScoreBundle, error) bool) {
		items, err := b.itemsOf(ctx, st)
		var models []string
		if err == nil {
			models, err = st.Models(ctx, b.rules.Study)
		}
		if err != nil {
			yield(results.ScoreBundle{}, err)
			return
		}
		type done struct {
			results.ScoreBundle
			trials int
			err    error
		}
		const ready = 16 // frames that wait for the disk, so that no worker does
		out, next := make(chan done, ready), make(chan string)
		ctx, cancel := context.WithCancel(ctx)
		var workers sync.WaitGroup
		defer workers.Wait()
		defer cancel()
		send := func(d done) error {
			select {
			case out <- d:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		// One more than processors: reading from the disk takes none.
		for range min(runtime.GOMAXPROCS(0)+1, len(models)) {
			workers.Go(func() {
				for model := range next {
					err := b.frames(ctx, st, items, model, func(n int, f *framing) error {
						bytes, err := f.bytes()
						return send(done{ScoreBundle: results.ScoreBundle{Model: model, N: n, Bytes: bytes}, trials: f.Trials, err: err})
					})
					if err != nil {
						_ = send(done{err: err})
						return
					}
				}
			})
		}
		workers.Go(func() {
			defer close(next)
			for _, m := range models {
				select {
				case next <- m:
				case <-ctx.Done():
					return
				}
			}
		})
		go func() {
			workers.Wait()
			close(out)
		}()
		n := 0
		for d := range out {
			if !yield(d.ScoreBundle, d.err) || d.err != nil {
				return
			}
			n += d.trials
			scored(n)
		}
		if ctx.Err() != nil {
			yield(results.ScoreBundle{}, ctx.Err())
		}
	}
}

// frames makes the scores of one model. Items are read in the order in which they were
// answered, in which the file has them, and put into the frames of their keys.
func (b *basis) frames(ctx context.Context, st *store.Store, items map[string]any, model string, put func(n int, f *framing) error) error {
	places, err := st.Places(ctx, b.rules.Study, model)
	if err != nil {
		return err
	}
	const together = 1024 // trials
	of, trials := make([]int, len(places)), 0
	var left []int // items of each frame
	for i, p := range places {
		if len(left) == 0 || trials >= together {
			left, trials = append(left, 0), 0
		}
		of[i] = len(left) - 1
		left[of[i]]++
		trials += p.Trials
	}
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(places[x].First, places[y].First) })
	parts := make([]framing, len(left))
	j, scores := b.joiner(ctx, st, items), b.scorer()
	next := 0
	for rows, err := range st.JudgedItems(ctx, b.rules.Study, model, b.rules.Answers, func(yield func(string) bool) {
		for _, i := range order {
			if !yield(places[i].Item) {
				return
			}
		}
	}) {
		if err != nil {
			return err
		}
		at := order[next]
		next++
		for _, row := range rows {
			if err := j.add(row); err != nil {
				return err
			}
		}
		n := of[at]
		c := &parts[n]
		c.begin(at)
		err := j.flush(func(group []Sample) error {
			for _, s := range scores(group) {
				c.add(s)
			}
			return nil
		})
		if left[n]--; err == nil && left[n] == 0 {
			err = put(n, c)
			*c = framing{}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Fresh says whether a study's stored scores are those that Refresh would store.
func Fresh(ctx context.Context, st *store.Store, r Rules, judges map[string][]string) (bool, error) {
	b, err := basisOf(ctx, st, r, judges)
	if err != nil {
		return false, err
	}
	set, ok, err := st.ScoreSet(ctx, r.Study)
	return ok && set.Digest == b.digest, err
}

// Walk visits what each trial of a study scored, the trials of one model and item
// together, in Key order. Nothing is kept between visits, so that a store of any
// size can be read; visit must not keep the slice. Scores come from the store where
// they are of what is there now; otherwise they are made on the way.
func Walk(ctx context.Context, st *store.Store, r Rules, judges map[string][]string, visit func([]Scored) error) error {
	b, err := basisOf(ctx, st, r, judges)
	if err != nil {
		return err
	}
	set, ok, err := st.ScoreSet(ctx, r.Study)
	if err != nil && !errors.Is(err, results.FaultDamaged) {
		return err // what is damaged can be made anew
	}
	if ok && set.Digest == b.digest {
		if any, err := b.stored(ctx, st, set, visit); any || err != nil {
			return err
		}
	}
	items, err := b.itemsOf(ctx, st)
	if err != nil {
		return err
	}
	return b.scored(ctx, st, items, visit)
}

// stored reads scores from the store; false: there are none, or something was
// written meanwhile.
func (b *basis) stored(ctx context.Context, st *store.Store, set results.ScoreSet, visit func([]Scored) error) (any bool, err error) {
	r := frameReader{names: results.Names{}, places: len(b.layout.columns)}
	damaged := func(c results.ScoreBundle, err error) error {
		return fmt.Errorf("%s: scores of model %s, frame %d: %w: %w", b.rules.Study, c.Model, c.N, results.FaultDamaged, err)
	}
	var group []Scored
	for c, err := range st.ScoreBundles(ctx, set, b.revision) {
		if err != nil {
			return any, err
		}
		any = true
		if err := r.begin(c.Bytes); err != nil {
			return any, damaged(c, err)
		}
		model := r.names.Of(c.Model)
		for {
			if len(group) == cap(group) {
				group = append(group, Scored{})[:len(group)]
			}
			s := &group[:len(group)+1][len(group)] // with the slots of an earlier one
			s.Row.Key.Study, s.Row.Key.Model = b.rules.Study, model
			more, err := r.next(s)
			if err != nil {
				return any, damaged(c, err)
			}
			if !more {
				break
			}
			if len(group) > 0 && (group[0].Row.Key.Model != model || group[0].Row.Key.Item != s.Row.Key.Item) {
				if err := visit(group); err != nil {
					return any, err
				}
				group[0], *s = *s, group[0]
				group = group[:0]
			}
			group = group[:len(group)+1]
		}
	}
	if len(group) > 0 {
		return any, visit(group)
	}
	return any, nil
}

// scored makes scores of what is in the store.
func (b *basis) scored(ctx context.Context, st *store.Store, items map[string]any, visit func([]Scored) error) error {
	scores := b.scorer()
	return b.groups(ctx, st, items, func(samples []Sample) error { return visit(scores(samples)) })
}

// scorer scores the trials of an item; the slice is used again.
func (b *basis) scorer() func([]Sample) []Scored {
	var group []Scored
	var shared, room []Value
	return func(samples []Sample) []Scored {
		for len(group) < len(samples) {
			group = append(group, Scored{})
		}
		for i, s := range samples {
			group[i].Row = s.Row
			shared = common(shared[:0], s.Row)
			s.room = room[:0]
			own := b.rules.Score(s)
			group[i].values = b.layout.fill(group[i].values, shared, own)
			if cap(own) > cap(room) {
				room = own
			}
		}
		return group[:len(samples)]
	}
}

// build tells this program from others: scores are made again by another one. A
// build from changed sources has no name of its own, so its file is looked at.
func build() string {
	var parts []string
	changed := true
	if info, ok := debug.ReadBuildInfo(); ok {
		parts = append(parts, info.Main.Version)
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				parts = append(parts, s.Value)
			case "vcs.modified":
				changed = s.Value != "false"
			}
		}
	}
	if exe, err := os.Executable(); changed && err == nil {
		if st, err := os.Stat(exe); err == nil {
			parts = append(parts, fmt.Sprint(st.Size()), st.ModTime().UTC().String())
		}
	}
	return strings.Join(parts, " ")
}
