package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
)

// watched writes sessions with what was watched in them. A session that several stores
// hold is taken of that with the most samples of it: a store may be a copy of when the
// session had not ended.
func (j *join) watched(ctx context.Context) error {
	taken := map[string]copied{}
	for _, s := range j.sources {
		for id, name := range s.sessions {
			c, err := s.session(ctx, j.tables, id)
			if err != nil {
				return err
			}
			if have, ok := taken[name]; !ok || c.over(have) {
				taken[name] = c
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(taken)) {
		if err := j.begun(ctx, name, taken[name]); err != nil {
			return err
		}
	}
	j.merged.Sessions = len(taken)
	return nil
}

// events writes what happened, each once, in the order of time.
func (j *join) events(ctx context.Context) error {
	for _, s := range j.sources {
		err := s.each(ctx, "SELECT session, at_ns, kind, subject, text FROM event", nil, func(r []any) error {
			if id, ok := r[0].(int64); ok {
				r[0] = j.sessions[s.sessions[id]]
			}
			return j.t.Exec("INSERT OR IGNORE INTO temp.told VALUES (?, ?, ?, ?, ?)", r...)
		})
		if err != nil {
			return err
		}
	}
	if err := j.t.Exec("INSERT INTO event (session, at_ns, kind, subject, text) SELECT session, at_ns, kind, subject, text FROM temp.told ORDER BY at_ns, coalesce(session, 0), kind, subject, text"); err != nil {
		return err
	}
	rows, err := j.t.Rows("SELECT subject, count(*) OVER () FROM temp.told WHERE kind = ? ORDER BY subject LIMIT ?", string(SetAside), mostExamples)
	for _, r := range rows {
		j.merged.Examples, j.merged.Aside = append(j.merged.Examples, r[0].(string)), int(r[1].(int64))
	}
	return err
}

// items writes those of all sources: in the order that the stores have them in, and
// where that leaves it open, of their names. Of an item that several stores hold, the
// facts must be equal.
func (j *join) items(ctx context.Context) error {
	type place struct{ study, id string }
	facts := map[place][]any{}
	after := map[place]map[place]bool{} // items that come later somewhere
	before := map[place]int{}           // how many come earlier
	id := j.tables.item.index("id")
	study := j.tables.item.index("study")
	for _, s := range j.sources {
		last := map[string]place{}
		err := s.each(ctx, "SELECT "+j.tables.item.list()+" FROM item ORDER BY seq", nil, func(r []any) error {
			p := place{r[study].(string), r[id].(string)}
			if have, ok := facts[p]; !ok {
				facts[p] = r
			} else if digest([][]any{have}) != digest([][]any{r}) {
				return otherFacts(s.path, p.study, p.id)
			}
			if l, ok := last[p.study]; ok && !after[l][p] {
				if after[l] == nil {
					after[l] = map[place]bool{}
				}
				after[l][p] = true
				before[p]++
			}
			last[p.study] = p
			return nil
		})
		if err != nil {
			return err
		}
	}
	order := func(a, b place) int { return cmp.Or(cmp.Compare(a.study, b.study), cmp.Compare(a.id, b.id)) }
	left := slices.SortedFunc(maps.Keys(facts), order)
	var ready []place // in order
	for _, p := range left {
		if before[p] == 0 {
			ready = append(ready, p)
		}
	}
	done := map[place]bool{}
	for len(done) < len(facts) {
		if len(ready) == 0 { // stores that contradict each other: by name
			for _, p := range left {
				if !done[p] {
					ready = append(ready, p)
					break
				}
			}
		}
		p := ready[0]
		ready = ready[1:]
		if done[p] {
			continue
		}
		done[p] = true
		if err := j.t.Exec(j.tables.item.insert("item"), facts[p]...); err != nil {
			return err
		}
		for next := range after[p] {
			if before[next]--; before[next] == 0 && !done[next] {
				i, _ := slices.BinarySearchFunc(ready, next, order)
				ready = slices.Insert(ready, i, next)
			}
		}
	}
	return nil
}

func otherFacts(path string, study, id any) error {
	return fmt.Errorf("%s: item %s of study %s has other facts than in another store: the data set differs, or an older assay made it (assay run with this one brings a store up to date)", path, id, study)
}
