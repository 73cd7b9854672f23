package store

import (
	"cmp"
	"context"
	"slices"
)

// writer writes rows into the file that others are joined into, where sessions, servers,
// judges and rows have numbers of their own.
type writer struct {
	t        *Tx
	tables   tables
	sessions map[string]int64 // by what tells one from all others
	served   map[string]int64 // by digest
	versions map[[3]string]int64
	last     map[string]int64 // numbers of rows, by table
}

func newWriter() writer {
	return writer{sessions: map[string]int64{}, served: map[string]int64{}, versions: map[[3]string]int64{}, last: map[string]int64{}}
}

// number is that of a new row.
func (w *writer) number(table string) int64 {
	w.last[table]++
	return w.last[table]
}

// serve writes who served.
func (w *writer) serve(digest string, identity any) error {
	w.served[digest] = w.number("served")
	return w.t.Exec("INSERT INTO served (id, digest, identity) VALUES (?, ?, ?)", w.served[digest], digest, identity)
}

// judged writes what a judge was, anew where that is there.
func (w *writer) judged(v mergeVersion) error {
	if _, ok := w.versions[v.key()]; !ok {
		w.versions[v.key()] = w.number("judge_version")
	}
	return w.t.Exec(`INSERT INTO judge_version (id, rubric, judge, digest, about, current) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET about = excluded.about, current = excluded.current`, w.versions[v.key()], v.rubric, v.judge, v.digest, v.about, v.current)
}

// attempts writes those of a trial or a judgment.
func (w *writer) attempts(owner string, id int64, e *entity) error {
	for _, a := range e.attempts {
		n := w.number("attempt")
		row := append([]any{n, id}, a.row...)
		for i, name := range w.tables.attempt {
			s, ok := a.row[i].(string)
			switch {
			case !ok:
			case name == "session":
				row[i+2] = w.sessions[s]
			case name == "served":
				row[i+2] = w.served[s]
			}
		}
		if err := w.t.Exec(w.tables.attempt.insert("attempt", "id", owner), row...); err != nil {
			return err
		}
		for _, u := range a.turns {
			if err := w.t.Exec(w.tables.turn.insert("turn", "attempt"), append([]any{n}, u...)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// copied is a session as one store has it.
type copied struct {
	source  *source
	id      int64
	row     []any
	devices [][]any
	samples int64
	digest  string // of row and devices
}

// session reads one.
func (s *source) session(ctx context.Context, t tables, id int64) (copied, error) {
	c := copied{source: s, id: id}
	rows, err := s.rows(ctx, "SELECT "+t.session.list()+" FROM session WHERE id = ?", id)
	if err != nil {
		return c, err
	}
	c.row = rows[0]
	if c.devices, err = s.rows(ctx, "SELECT "+t.device.list()+" FROM device WHERE session = ? ORDER BY n", id); err != nil {
		return c, err
	}
	counted, err := s.rows(ctx, "SELECT coalesce(sum(samples), 0) FROM sample_bundle WHERE session = ?", id)
	if err != nil {
		return c, err
	}
	c.samples, c.digest = counted[0][0].(int64), digest(append(slices.Clone(c.devices), c.row))
	return c, nil
}

// over says whether a copy is taken where there is another one: a store may be a copy of
// when the session had not ended.
func (c copied) over(o copied) bool {
	return cmp.Or(cmp.Compare(c.samples, o.samples), cmp.Compare(o.digest, c.digest)) > 0
}

// begun writes a session that is not there, with what was watched in it. Energies are made
// anew, of samples and trials.
func (w *writer) begun(ctx context.Context, name string, c copied) error {
	w.sessions[name] = w.number("session")
	if err := w.t.Exec(w.tables.session.insert("session", "id", "measured"), append([]any{w.sessions[name], 0}, c.row...)...); err != nil {
		return err
	}
	return w.seen(ctx, w.sessions[name], c)
}

// seen writes what was watched in a session.
func (w *writer) seen(ctx context.Context, id int64, c copied) error {
	for _, d := range c.devices {
		if err := w.t.Exec(w.tables.device.insert("device", "session"), append([]any{id}, d...)...); err != nil {
			return err
		}
	}
	return c.source.each(ctx, "SELECT "+w.tables.samples.list()+" FROM sample_bundle WHERE session = ? ORDER BY device, from_ns", []any{c.id}, func(r []any) error {
		return w.t.Exec(w.tables.samples.insert("sample_bundle", "session"), append([]any{id}, r...)...)
	})
}
