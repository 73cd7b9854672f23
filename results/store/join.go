package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"assay/results"
)

// page is how many trials or cases are read of a store at once.
const page = 500

// join writes what sources hold into one file.
type join struct {
	sources  []*source
	merged   *Merged
	progress func(read int)
	read     int
	writer
}

func (j *join) into(ctx context.Context, path string) (err error) {
	j.writer = newWriter()
	if j.tables, err = readTables(ctx, j.sources[0]); err != nil {
		return err
	}
	return fill(ctx, path, func(t *Tx) error {
		j.t = t
		// What was set aside comes from many places and is to be in one order.
		for _, query := range []string{"CREATE TEMP TABLE told (session INTEGER, at_ns INTEGER, kind TEXT, subject TEXT, text TEXT)",
			"CREATE UNIQUE INDEX temp.told_once ON told (coalesce(session, 0), at_ns, kind, subject, text)"} {
			if err := t.Exec(query); err != nil {
				return err
			}
		}
		for _, step := range []func(context.Context) error{j.items, j.watched, j.known, j.trials, j.cases, j.events} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// known writes who served and what judges were.
func (j *join) known(ctx context.Context) error {
	identities := map[string]any{}
	versions := map[[3]string]mergeVersion{}
	for _, s := range j.sources {
		if err := s.each(ctx, "SELECT digest, identity FROM served", nil, func(r []any) error {
			identities[r[0].(string)] = r[1]
			return nil
		}); err != nil {
			return err
		}
		for _, v := range s.versions {
			have := versions[v.key()]
			v.current = v.current || have.current
			if v.about == nil {
				v.about = have.about
			}
			versions[v.key()] = v
		}
	}
	for _, digest := range slices.Sorted(maps.Keys(identities)) {
		if err := j.serve(digest, identities[digest]); err != nil {
			return err
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(versions), func(a, b [3]string) int { return slices.Compare(a[:], b[:]) }) {
		if err := j.judged(versions[k]); err != nil {
			return err
		}
	}
	return nil
}

// trials writes those of all sources in the order of their keys.
func (j *join) trials(ctx context.Context) error {
	at := make([]*mergeReading, len(j.sources))
	for i, s := range j.sources {
		at[i] = &mergeReading{source: s, query: "SELECT id, " + j.tables.trial.list() + ` FROM trial
			WHERE (study, model, item, arm, condition, repeat) > (?, ?, ?, ?, ?, ?) ORDER BY study, model, item, arm, condition, repeat LIMIT ?`,
			after: []any{"", "", "", "", "", int64(-1)}, key: func(r []any) []any { return r[1:7] }}
		if !slices.Equal(j.tables.trial[:6], columns{"study", "model", "item", "arm", "condition", "repeat"}) {
			panic("store: internal error: a trial's first columns are not its key")
		}
	}
	return inOrder(ctx, at, func(found []*mergeReading) error {
		var all []candidate
		for _, r := range found {
			r.source.trials++
			e := &entity{id: r.now()[0], row: r.now()[1:]}
			if err := r.source.whole(ctx, j.tables, "trial", e); err != nil {
				return err
			}
			rank, err := j.tables.rank(e)
			if err != nil {
				return err
			}
			all = append(all, candidate{r.source, e, rank, ""})
		}
		j.read += len(found)
		if before := j.read - len(found); j.progress != nil && (before == 0 || before/1000 != j.read/1000) {
			j.progress(j.read)
		}
		best := pick(all)
		j.merged.Trials++
		id := j.number("trial")
		if err := j.t.Exec(j.tables.trial.insert("trial", "id"), append([]any{id}, best.row...)...); err != nil {
			return err
		}
		if err := j.attempts("trial", id, best.entity); err != nil {
			return err
		}
		// Of equal trials one may have been judged where the other was not.
		for _, c := range all {
			if c.digest != best.digest {
				continue
			}
			cases, err := c.source.rows(ctx, "SELECT c.digest, c.rubric, c.fields FROM case_of o JOIN cases c ON c.id = o.case_id WHERE o.trial = ? ORDER BY c.digest", c.id)
			if err != nil {
				return err
			}
			for _, r := range cases {
				n, err := j.caseOf(r)
				if err != nil {
					return err
				}
				if err := j.t.Exec("INSERT OR IGNORE INTO case_of (trial, case_id) VALUES (?, ?)", id, n); err != nil {
					return err
				}
			}
		}
		return j.setAside("trial "+keyOf(best.row).Name(), best, all, j.tables.trial)
	})
}

func keyOf(row []any) results.Key {
	return results.Key{Study: row[0].(string), Model: row[1].(string), Item: row[2].(string), Arm: row[3].(string), Condition: row[4].(string), Repeat: int(row[5].(int64))}
}

// caseOf is the number of a case, which is written unless it is there.
func (j *join) caseOf(row []any) (n int64, err error) {
	if err := j.t.Exec("INSERT OR IGNORE INTO cases (digest, rubric, fields) VALUES (?, ?, ?)", row...); err != nil {
		return 0, err
	}
	_, err = j.t.Scan("SELECT id FROM cases WHERE digest = ?", row[:1], &n)
	return n, err
}

// rank is how good a trial is, for what it is: higher is taken.
func (t tables) rank(e *entity) (int, error) {
	value := func(name string) any { return e.row[t.trial.index(name)] }
	if value("outcome") != "answer" {
		return 0, nil
	}
	var flags []results.Flag
	if s, ok := value("flags").(string); ok {
		if err := json.Unmarshal([]byte(s), &flags); err != nil {
			return 0, fmt.Errorf("trial %s: flags %q: %w", keyOf(e.row).Name(), s, err)
		}
	}
	if value("latency_ns") == nil || slices.ContainsFunc(flags, results.Flag.Disqualifies) {
		return 1, nil
	}
	return 2, nil
}

// rankJudgment is how good a judgment is: higher is taken.
func (t tables) rankJudgment(e *entity) (int, error) {
	if e.row[t.judgment.index("verdict")] != nil {
		return 2, nil
	}
	return 0, nil
}

// judgmentName is what an event calls a judgment.
func judgmentName(version [3]string, digest any) string {
	return fmt.Sprintf("judgment of %s by %s, case %.12s", version[0], version[1], digest)
}

// why is what a rank says of those that were not taken.
var why = [3][3]string{
	{0: "two failures; the digest of its content is higher", 1: "it is a failure, and another store has an answer", 2: "it is a failure, and another store has an answer"},
	{1: "two answers without a time that counts; the digest of its content is higher", 2: "its time does not count, and that in another store does"},
	{2: "two answers whose times count; the digest of its content is higher"},
}

type candidate struct {
	source *source
	*entity
	rank   int
	digest string // "": alone
}

// pick is the one that is taken. It depends on what they hold alone.
func pick(all []candidate) candidate {
	if len(all) == 1 {
		return all[0]
	}
	for i := range all {
		all[i].digest = all[i].content()
	}
	return slices.MinFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.digest, b.digest))
	})
}

// setAside keeps what was not taken.
func (j *join) setAside(what string, best candidate, all []candidate, row columns) error {
	for _, c := range all {
		if c.digest == best.digest {
			continue
		}
		at, subject, text := j.tables.aside(what, best, c, row)
		if err := j.t.Exec("INSERT OR IGNORE INTO temp.told VALUES (NULL, ?, ?, ?, ?)", at, string(SetAside), subject, text); err != nil {
			return err
		}
	}
	return nil
}

// aside is the event of what was not taken.
func (t tables) aside(what string, best, c candidate, row columns) (at int64, subject, text string) {
	if i := t.attempt.index("started_ns"); len(c.attempts) > 0 {
		at, _ = c.attempts[len(c.attempts)-1].row[i].(int64)
	}
	return at, what + ": " + why[c.rank][best.rank], c.told(row, t)
}

// cases writes all of them, and what judges said.
func (j *join) cases(ctx context.Context) error {
	at := make([]*mergeReading, len(j.sources))
	for i, s := range j.sources {
		at[i] = &mergeReading{source: s, query: "SELECT id, digest, rubric, fields FROM cases WHERE (digest) > (?) ORDER BY digest LIMIT ?",
			after: []any{""}, key: func(r []any) []any { return r[1:2] }}
	}
	type which struct {
		version [3]string
		repeat  int64
	}
	repeat := j.tables.judgment.index("repeat")
	return inOrder(ctx, at, func(found []*mergeReading) error {
		id, err := j.caseOf(found[0].now()[1:])
		if err != nil {
			return err
		}
		all := map[which][]candidate{}
		for _, r := range found {
			rows, err := r.source.rows(ctx, "SELECT id, version, "+j.tables.judgment.list()+" FROM judgment WHERE case_id = ? ORDER BY version, repeat", r.now()[0])
			if err != nil {
				return err
			}
			for _, row := range rows {
				r.source.judgments++
				v := r.source.versions[row[1].(int64)]
				e := &entity{id: row[0], row: row[2:]}
				if err := r.source.whole(ctx, j.tables, "judgment", e); err != nil {
					return err
				}
				w := which{v.key(), e.row[repeat].(int64)}
				rank, err := j.tables.rankJudgment(e)
				if err != nil {
					return err
				}
				all[w] = append(all[w], candidate{r.source, e, rank, ""})
			}
		}
		for _, w := range slices.SortedFunc(maps.Keys(all), func(a, b which) int {
			return cmp.Or(slices.Compare(a.version[:], b.version[:]), cmp.Compare(a.repeat, b.repeat))
		}) {
			best := pick(all[w])
			n := j.number("judgment")
			if err := j.t.Exec(j.tables.judgment.insert("judgment", "id", "case_id", "version"), append([]any{n, id, j.versions[w.version]}, best.row...)...); err != nil {
				return err
			}
			j.merged.Judgments++
			if err := j.attempts("judgment", n, best.entity); err != nil {
				return err
			}
			if err := j.setAside(judgmentName(w.version, found[0].now()[1]), best, all[w], j.tables.judgment); err != nil {
				return err
			}
		}
		return nil
	})
}

// mergeReading is where a source is in a table that is read in order.
type mergeReading struct {
	source *source
	query  string // after a key; the last parameter is how many
	after  []any
	key    func(row []any) []any
	rows   [][]any
	ended  bool
}

func (r *mergeReading) now() []any { return r.rows[0] }

// next moves on; ended is set when there is no row.
func (r *mergeReading) next(ctx context.Context) error {
	if len(r.rows) > 0 {
		r.rows = r.rows[1:]
	}
	if len(r.rows) > 0 || r.ended {
		return nil
	}
	var err error
	if r.rows, err = r.source.rows(ctx, r.query, append(slices.Clone(r.after), page)...); err != nil {
		return fmt.Errorf("reading the store %s: %w", r.source.path, err)
	}
	if r.ended = len(r.rows) == 0; !r.ended {
		r.after = slices.Clone(r.key(r.rows[len(r.rows)-1]))
	}
	return nil
}

// inOrder calls do for every key, with those that are at it.
func inOrder(ctx context.Context, at []*mergeReading, do func([]*mergeReading) error) error {
	for _, r := range at {
		if err := r.next(ctx); err != nil {
			return err
		}
	}
	for {
		var found []*mergeReading
		for _, r := range at {
			if r.ended {
				continue
			}
			c := -1
			if len(found) > 0 {
				c = compare(r.key(r.now()), found[0].key(found[0].now()))
			}
			switch {
			case c < 0:
				found = []*mergeReading{r}
			case c == 0:
				found = append(found, r)
			}
		}
		if len(found) == 0 {
			return ctx.Err()
		}
		if err := errors.Join(do(found), ctx.Err()); err != nil {
			return err
		}
		for _, r := range found {
			if err := r.next(ctx); err != nil {
				return err
			}
		}
	}
}

// compare orders keys as SQLite does.
func compare(a, b []any) int {
	for i := range a {
		switch x := a[i].(type) {
		case string:
			if c := cmp.Compare(x, b[i].(string)); c != 0 {
				return c
			}
		case int64:
			if c := cmp.Compare(x, b[i].(int64)); c != 0 {
				return c
			}
		}
	}
	return 0
}
