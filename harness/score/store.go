package score

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"assay/results"
	"assay/results/sqlite"
)

// Refresh stores a study's scores, unless those in the store are of the same code,
// rules, judges, judgments and measures; done is told now and then how many trials
// are scored. The store must be open for writing. It says whether anything was to
// be done.
func Refresh(ctx context.Context, st *sqlite.Store, r Rules, judges map[string][]string, done func(trials int)) (bool, error) {
	b, err := basisOf(ctx, st, r, judges)
	if err != nil {
		return false, err
	}
	if set, ok, err := st.ScoreSet(ctx, r.Study); err != nil || ok && set.Digest == b.digest {
		return false, err
	}
	words := &wordList{}
	scores := func(yield func(results.StoredScore, error) bool) {
		const often = 10_000
		n := 0
		for chunk, err := range b.packed(ctx, st) {
			for _, s := range chunk.scores {
				if s.Bytes, err = renamed(s.Bytes, chunk.words, words); err != nil {
					break
				}
				if !yield(s, nil) {
					return
				}
				if n++; n%often == 0 {
					done(n)
				}
			}
			if err != nil {
				yield(results.StoredScore{}, err)
				return
			}
		}
	}
	return true, st.PutScores(ctx, r.Study, scores, func() results.ScoreSet {
		return results.ScoreSet{Study: r.Study, Digest: b.digest, About: b.layout.about(words.list)}
	})
}

// packed makes the scores of all trials in Key order. Models are scored beside each
// other: their chunks wait until it is their turn.
func (b *basis) packed(ctx context.Context, st *sqlite.Store) iter.Seq2[chunk, error] {
	return func(yield func(chunk, error) bool) {
		items, err := b.itemsOf(ctx, st)
		if err != nil {
			yield(chunk{}, err)
			return
		}
		models, err := st.Models(ctx, b.rules.Study)
		if err != nil {
			yield(chunk{}, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		const waiting = 16 // chunks of a model, at most
		type done struct {
			chunk
			err error
		}
		out := make([]chan done, len(models))
		for i := range out {
			out[i] = make(chan done, waiting)
		}
		turn := make(chan struct{}, runtime.GOMAXPROCS(0))
		wg.Go(func() {
			for i, model := range models {
				select {
				case turn <- struct{}{}:
				case <-ctx.Done():
					return
				}
				wg.Go(func() {
					defer func() { <-turn }()
					defer close(out[i])
					send := func(c chunk, err error) error {
						select {
						case out[i] <- done{c, err}:
							return nil
						case <-ctx.Done():
							return ctx.Err()
						}
					}
					if err := b.chunks(ctx, st, items, model, func(c chunk) error { return send(c, nil) }); err != nil {
						send(chunk{}, err)
					}
				})
			}
		})
		for i := range models {
			for {
				select {
				case c, more := <-out[i]:
					if more {
						if !yield(c.chunk, c.err) || c.err != nil {
							return
						}
						continue
					}
				case <-ctx.Done():
					yield(chunk{}, ctx.Err())
					return
				}
				break
			}
		}
	}
}

// chunk is scores of trials that follow each other, packed with words of their own.
type chunk struct {
	scores []results.StoredScore
	words  []string
}

// chunks makes the scores of one model.
func (b *basis) chunks(ctx context.Context, st *sqlite.Store, items map[string]item, model string, put func(chunk) error) error {
	const together = 1024
	var c chunk
	words := &wordList{}
	flush := func() error {
		full := chunk{c.scores, words.list}
		c, words = chunk{}, &wordList{}
		return put(full)
	}
	err := b.scored(ctx, st, items, model, func(group []Scored, ids []int64) error {
		for i, s := range group {
			c.scores = append(c.scores, results.StoredScore{Trial: ids[i], Bytes: pack(s.values, words)})
		}
		if len(c.scores) < together {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// Fresh says whether a study's stored scores are those that Refresh would store.
func Fresh(ctx context.Context, st *sqlite.Store, r Rules, judges map[string][]string) (bool, error) {
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
func Walk(ctx context.Context, st *sqlite.Store, r Rules, judges map[string][]string, visit func([]Scored) error) error {
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
	return b.scored(ctx, st, items, "", func(group []Scored, _ []int64) error { return visit(group) })
}

// stored reads scores from the store; false: there are none, or something was
// written meanwhile.
func (b *basis) stored(ctx context.Context, st *sqlite.Store, set results.ScoreSet, visit func([]Scored) error) (any bool, err error) {
	words, err := wordsOf(set)
	if err != nil {
		return false, err
	}
	var group []Scored
	for row, err := range st.ScoredRows(ctx, set, b.revision) {
		if err != nil {
			return any, err
		}
		any = true
		if len(group) > 0 && (group[0].Row.Key.Model != row.Key.Model || group[0].Row.Key.Item != row.Key.Item) {
			if err := visit(group); err != nil {
				return any, err
			}
			group = group[:0]
		}
		if len(group) < cap(group) {
			group = group[:len(group)+1] // with the slots of an earlier one
		} else {
			group = append(group, Scored{})
		}
		s := &group[len(group)-1]
		s.Row = row.Row
		if s.values, err = unpack(row.Bytes, words, s.values, len(b.layout.columns)); err != nil {
			return any, fmt.Errorf("%s: trial %+v: %w: %w", b.rules.Study, row.Key, results.FaultDamaged, err)
		}
	}
	if len(group) > 0 {
		return any, visit(group)
	}
	return any, nil
}

// scored makes scores of what is in the store of a model ("" = of all).
func (b *basis) scored(ctx context.Context, st *sqlite.Store, items map[string]item, model string, visit func([]Scored, []int64) error) error {
	var group []Scored
	var ids []int64
	return b.groups(ctx, st, items, model, func(samples []Sample) error {
		ids = ids[:0]
		for len(group) < len(samples) {
			group = append(group, Scored{})
		}
		for i, s := range samples {
			group[i].Row = s.Row
			group[i].values = b.layout.fill(group[i].values, append(common(s.Row), b.rules.Score(s)...))
			ids = append(ids, s.id)
		}
		return visit(group[:len(samples)], ids)
	})
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
