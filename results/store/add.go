package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"assay/results"
)

// Adder adds stores to one where that is, by the rules of Stores. Each store that is
// added is whole in it or not there at all, so that a process that ends early can be
// followed by one that adds the rest. What it costs does not depend on how much is there.
// The order of rows, which no command rests on, is that of adding.
type Adder struct {
	path   string
	st     *Store
	have   *source                    // what is there
	told   map[[sha256.Size]byte]bool // events
	marks  map[string]bool
	agrees results.Manifest // the last one that was compared
	broken error            // a transaction failed: what is known of the store is not what it holds
	writer
}

// Extend opens the store at path for stores to be added. Nobody else writes to it until Close.
func Extend(ctx context.Context, path string) (a *Adder, err error) {
	st, err := Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			st.Close()
		}
	}()
	a = &Adder{path: path, st: st, have: &source{path: path, sessions: map[int64]string{}, served: map[int64]string{}, versions: map[int64]mergeVersion{}},
		writer: newWriter(), told: map[[sha256.Size]byte]bool{}, marks: map[string]bool{}}
	var ok bool
	if a.have.man, ok, err = a.st.Manifest(ctx); err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s: no run was begun in it; give a path where nothing is", path)
	}
	return a, a.st.File().Put(ctx, "reading what is there", true, func(t *Tx) error { return a.known(ctx, t) })
}

// known reads what is small.
func (a *Adder) known(ctx context.Context, t *Tx) error {
	a.have.rowsOf = t.Rows
	if err := a.have.known(ctx); err != nil {
		return err
	}
	var err error
	if a.tables, err = readTables(ctx, a.have); err != nil {
		return err
	}
	for id, name := range a.have.sessions {
		a.sessions[name] = id
	}
	for id, digest := range a.have.served {
		a.served[digest] = id
	}
	for id, v := range a.have.versions {
		a.versions[v.key()] = id
	}
	for _, table := range []string{"session", "served", "judge_version", "trial", "attempt", "cases", "judgment"} {
		rows, err := t.Rows("SELECT coalesce(max(id), 0) FROM " + table)
		if err != nil {
			return err
		}
		a.last[table] = rows[0][0].(int64)
	}
	marks, err := t.Rows("SELECT mark FROM added")
	if err != nil {
		return err
	}
	for _, r := range marks {
		a.marks[r[0].(string)] = true
	}
	events, err := t.Rows("SELECT session, at_ns, kind, subject, text FROM event")
	for _, r := range events {
		a.told[a.event(a.have, r)] = true
	}
	return err
}

// event tells one from all others.
func (a *Adder) event(s *source, r []any) [sha256.Size]byte {
	session := ""
	if id, ok := r[0].(int64); ok {
		session = s.sessions[id]
	}
	return sha256.Sum256(fmt.Appendf(nil, "%q %d %q %q %q", session, r[1], r[2], r[3], r[4]))
}

// Has says whether a store was added under a mark.
func (a *Adder) Has(mark string) bool { return a.marks[mark] }

// Note has a mark noted of what is there already.
func (a *Adder) Note(ctx context.Context, mark string) error {
	a.marks[mark] = true
	return a.st.File().Put(ctx, "noting what is there", true, func(t *Tx) error { return a.note(t, mark) })
}

func (a *Adder) note(t *Tx, mark string) error {
	return t.Exec("INSERT OR IGNORE INTO added (mark) VALUES (?)", mark)
}

// Close closes the store, and says what it holds now.
func (a *Adder) Close(ctx context.Context) (m Merged, err error) {
	defer func() { err = errors.Join(err, a.st.Close()) }()
	m.To = a.path
	err = a.st.File().Put(ctx, "counting", true, func(t *Tx) error {
		if _, err := t.Scan("SELECT (SELECT count(*) FROM trial), (SELECT count(*) FROM judgment), (SELECT count(*) FROM session), (SELECT count(*) FROM event WHERE kind = ?)", []any{string(SetAside)},
			&m.Trials, &m.Judgments, &m.Sessions, &m.Aside); err != nil {
			return err
		}
		rows, err := t.Rows("SELECT subject FROM event WHERE kind = ? ORDER BY subject LIMIT ?", string(SetAside), mostExamples)
		for _, r := range rows {
			m.Examples = append(m.Examples, r[0].(string))
		}
		return err
	})
	return m, err
}

// Add adds the store at path, and notes that under a mark. What differs from what is
// there so that they are not of one run is a *DiffersError. Once begun it is not interrupted.
func (a *Adder) Add(ctx context.Context, mark, path string) error {
	if err := cmp.Or(a.broken, ctx.Err()); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	s, err := openSource(ctx, path)
	if err != nil {
		return err
	}
	defer s.close()
	if err := a.agree(ctx, s); err != nil {
		return err
	}
	err = a.st.File().Put(ctx, "adding "+path, true, func(t *Tx) error {
		a.have.rowsOf, a.t = t.Rows, t
		p := &adding{Adder: a, ctx: ctx, s: s, cases: map[int64]int64{}, trials: map[int64]int64{}}
		for _, step := range []func() error{p.known, p.items, p.watched, p.putCases, p.putTrials, p.link, p.judgments, p.events} {
			if err := step(); err != nil {
				return err
			}
		}
		if err := a.note(t, mark); err != nil {
			return err
		}
		return t.Exec("UPDATE revision SET n = n + 1")
	})
	if err != nil {
		a.broken = err
		return err
	}
	a.marks[mark] = true
	return nil
}

// agree has the manifest hold what that of a store says, too.
func (a *Adder) agree(ctx context.Context, s *source) error {
	if d := judgedDifferently(a.have.versions, s.versions); len(d) > 0 {
		return &DiffersError{a.path, s.path, d}
	}
	if reflect.DeepEqual(s.man, a.agrees) {
		return nil
	}
	if d := differences(a.have.man, s.man); len(d) > 0 {
		return &DiffersError{a.path, s.path, d}
	}
	if man := both(a.have.man, s.man); !reflect.DeepEqual(man, a.have.man) {
		if err := a.st.PutManifest(ctx, man); err != nil {
			return err
		}
		a.have.man = man
	}
	a.agrees = s.man
	return nil
}

// adding is one store that is added, within a transaction.
type adding struct {
	*Adder
	ctx    context.Context
	s      *source
	cases  map[int64]int64 // numbers here, by those there
	trials map[int64]int64 // of those that were taken
}

// known adds who served and what judges were.
func (p *adding) known() error {
	for _, old := range slices.Sorted(maps.Keys(p.s.served)) {
		digest := p.s.served[old]
		if _, ok := p.served[digest]; ok {
			continue
		}
		rows, err := p.s.rows(p.ctx, "SELECT identity FROM served WHERE id = ?", old)
		if err != nil {
			return err
		}
		if err := p.serve(digest, rows[0][0]); err != nil {
			return err
		}
		p.have.served[p.served[digest]] = digest
	}
	for _, old := range slices.Sorted(maps.Keys(p.s.versions)) {
		v := p.s.versions[old]
		id, ok := p.versions[v.key()]
		if have := p.have.versions[id]; ok {
			if v.current = v.current || have.current; have.about != nil {
				v.about = have.about
			}
			if reflect.DeepEqual(v, have) {
				continue
			}
		}
		if err := p.judged(v); err != nil {
			return err
		}
		p.have.versions[p.versions[v.key()]] = v
	}
	return nil
}

// items adds those that are not there; of others the facts must be equal.
func (p *adding) items() error {
	study, id := p.tables.item.index("study"), p.tables.item.index("id")
	query := "SELECT " + p.tables.item.list() + " FROM item WHERE study = ? AND id = ?"
	return p.s.each(p.ctx, "SELECT "+p.tables.item.list()+" FROM item ORDER BY seq", nil, func(r []any) error {
		have, err := p.t.Rows(query, r[study], r[id])
		switch {
		case err != nil:
			return err
		case len(have) == 0:
			return p.t.Exec(p.tables.item.insert("item"), r...)
		case !reflect.DeepEqual(have[0], r):
			return otherFacts(p.s.path, r[study], r[id])
		}
		return nil
	})
}

// watched adds sessions with what was watched in them. Of one that is there the copy with
// more samples is taken: a store may be a copy of when it had not ended.
func (p *adding) watched() error {
	for _, old := range slices.Sorted(maps.Keys(p.s.sessions)) {
		name := p.s.sessions[old]
		c, err := p.s.session(p.ctx, p.tables, old)
		if err != nil {
			return err
		}
		id, there := p.sessions[name]
		if !there {
			if err := p.begun(p.ctx, name, c); err != nil {
				return err
			}
			p.have.sessions[p.sessions[name]] = name
			continue
		}
		have, err := p.have.session(p.ctx, p.tables, id)
		if err != nil {
			return err
		}
		if !c.over(have) {
			continue
		}
		// What was watched goes with its devices.
		if err := p.t.Exec("DELETE FROM device WHERE session = ?", id); err != nil {
			return err
		}
		set := strings.Join(p.tables.session, " = ?, ") + " = ?"
		if err := p.t.Exec("UPDATE session SET measured = 0, "+set+" WHERE id = ?", append(c.row, id)...); err != nil {
			return err
		}
		if err := p.seen(p.ctx, id, c); err != nil {
			return err
		}
	}
	return nil
}

func (p *adding) putCases() error {
	return p.s.each(p.ctx, "SELECT id, digest, rubric, fields FROM cases ORDER BY id", nil, func(r []any) error {
		have, err := p.t.Rows("SELECT id FROM cases WHERE digest = ?", r[1])
		if err != nil {
			return err
		}
		if len(have) > 0 {
			p.cases[r[0].(int64)] = have[0][0].(int64)
			return nil
		}
		id := p.number("cases")
		p.cases[r[0].(int64)] = id
		return p.t.Exec("INSERT INTO cases (id, digest, rubric, fields) VALUES (?, ?, ?, ?)", append([]any{id}, r[1:]...)...)
	})
}

func (p *adding) putTrials() error {
	key := "SELECT id, " + p.tables.trial.list() + " FROM trial WHERE study = ? AND model = ? AND item = ? AND arm = ? AND condition = ? AND repeat = ?"
	return p.entities("trial", "SELECT id, "+p.tables.trial.list()+" FROM trial WHERE id > ? ORDER BY id LIMIT ?", 1, func(e *entity, _ []any) error {
		there, err := p.t.Rows(key, e.row[:6]...)
		if err != nil {
			return err
		}
		if len(there) > 0 {
			have := &entity{id: there[0][0], row: there[0][1:]}
			take, same, err := p.choose("trial", "trial "+keyOf(e.row).Name(), p.tables.trial, have, e, p.tables.rank)
			if same {
				p.trials[e.id.(int64)] = have.id.(int64)
			}
			if err != nil || !take {
				return err
			}
		}
		id := p.number("trial")
		p.trials[e.id.(int64)] = id
		if err := p.t.Exec(p.tables.trial.insert("trial", "id"), append([]any{id}, e.row...)...); err != nil {
			return err
		}
		return p.attempts("trial", id, e)
	})
}

// choose says whether a trial or a judgment is taken in place of one that is there, which
// then is gone; or else whether both are the same.
func (p *adding) choose(table, what string, row columns, have, e *entity, rank func(*entity) (int, error)) (take, same bool, err error) {
	if err := p.have.whole(p.ctx, p.tables, table, have); err != nil {
		return false, false, err
	}
	both := []candidate{{p.have, have, 0, ""}, {p.s, e, 0, ""}}
	for i := range both {
		if both[i].rank, err = rank(both[i].entity); err != nil {
			return false, false, err
		}
	}
	best := pick(both)
	if both[0].digest == both[1].digest {
		return false, true, nil
	}
	take = best.entity == e
	other := both[0]
	if !take {
		other = both[1]
	}
	at, subject, text := p.tables.aside(what, best, other, row)
	if err := p.tell([]any{nil, at, string(SetAside), subject, text}, p.s); err != nil || !take {
		return false, false, err
	}
	return true, false, p.t.Exec("DELETE FROM "+table+" WHERE id = ?", have.id)
}

// link says of which trials cases are.
func (p *adding) link() error {
	return p.s.each(p.ctx, "SELECT trial, case_id FROM case_of", nil, func(r []any) error {
		id, ok := p.trials[r[0].(int64)]
		if !ok {
			return nil
		}
		return p.t.Exec("INSERT OR IGNORE INTO case_of (trial, case_id) VALUES (?, ?)", id, p.cases[r[1].(int64)])
	})
}

func (p *adding) judgments() error {
	repeat := p.tables.judgment.index("repeat")
	there := "SELECT id, " + p.tables.judgment.list() + " FROM judgment WHERE case_id = ? AND version = ? AND repeat = ?"
	list := "SELECT id, case_id, version, " + p.tables.judgment.list() + " FROM judgment WHERE id > ? ORDER BY id LIMIT ?"
	return p.entities("judgment", list, 3, func(e *entity, with []any) error {
		v := p.s.versions[with[1].(int64)]
		of, version := p.cases[with[0].(int64)], p.versions[v.key()]
		have, err := p.t.Rows(there, of, version, e.row[repeat])
		if err != nil {
			return err
		}
		if len(have) > 0 {
			digest, err := p.t.Rows("SELECT digest FROM cases WHERE id = ?", of)
			if err != nil {
				return err
			}
			name := judgmentName(v.key(), digest[0][0])
			if take, _, err := p.choose("judgment", name, p.tables.judgment, &entity{id: have[0][0], row: have[0][1:]}, e, p.tables.rankJudgment); err != nil || !take {
				return err
			}
		}
		id := p.number("judgment")
		if err := p.t.Exec(p.tables.judgment.insert("judgment", "id", "case_id", "version"), append([]any{id, of, version}, e.row...)...); err != nil {
			return err
		}
		return p.attempts("judgment", id, e)
	})
}

// entities calls do for each trial or judgment with all that belongs to it, and with the
// columns before its own. query asks for some after a number.
func (p *adding) entities(owner, query string, before int, do func(e *entity, with []any) error) error {
	attempts := "SELECT " + owner + ", id, " + p.tables.attempt.list() + " FROM attempt WHERE " + owner + " BETWEEN ? AND ? ORDER BY " + owner + ", n"
	turns := "SELECT attempt, " + p.tables.turn.list() + " FROM turn WHERE attempt IN (SELECT id FROM attempt WHERE " + owner + " BETWEEN ? AND ?) ORDER BY attempt, n"
	for last := int64(0); ; {
		rows, err := p.s.rows(p.ctx, query, last, page)
		if err != nil || len(rows) == 0 {
			return err
		}
		first := rows[0][0]
		last = rows[len(rows)-1][0].(int64)
		said := map[int64][][]any{}
		if err := p.s.each(p.ctx, turns, []any{first, last}, func(r []any) error {
			said[r[0].(int64)] = append(said[r[0].(int64)], r[1:])
			return nil
		}); err != nil {
			return err
		}
		made := map[int64][]attempt{}
		if err := p.s.each(p.ctx, attempts, []any{first, last}, func(r []any) error {
			made[r[0].(int64)] = append(made[r[0].(int64)], attempt{p.s.meant(p.tables, r[2:]), said[r[1].(int64)]})
			return nil
		}); err != nil {
			return err
		}
		for _, r := range rows {
			if err := do(&entity{id: r[0], row: r[before:], attempts: made[r[0].(int64)]}, r[1:before]); err != nil {
				return err
			}
		}
	}
}

func (p *adding) events() error {
	return p.s.each(p.ctx, "SELECT session, at_ns, kind, subject, text FROM event ORDER BY id", nil, func(r []any) error { return p.tell(r, p.s) })
}

// tell adds an event of a store, unless it is there.
func (p *adding) tell(r []any, s *source) error {
	name := p.event(s, r)
	if p.told[name] {
		return nil
	}
	p.told[name] = true
	if id, ok := r[0].(int64); ok {
		r[0] = p.sessions[s.sessions[id]]
	}
	return p.t.Exec("INSERT INTO event (session, at_ns, kind, subject, text) VALUES (?, ?, ?, ?, ?)", r...)
}
