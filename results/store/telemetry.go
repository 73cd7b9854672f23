package store

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"time"

	"assay/results"
	"assay/timing"
)

// PutClocks stores them.
func (s *Store) PutClocks(ctx context.Context, session int64, c results.Clocks) error {
	return s.file.Put(ctx, "storing a session's clocks", true, func(t *Tx) error {
		return t.Exec("UPDATE session SET clocks = ? WHERE id = ?", marshal(c), session)
	})
}

// PutSession stores a session with its devices and gives it its ID. New attempts
// at trials belong to it from now on.
func (s *Store) PutSession(ctx context.Context, ses *results.Session) error {
	must(len(ses.Places) == 0 || !ses.Origin.IsZero(), "a session without an origin")
	err := s.file.Put(ctx, "storing a session", true, func(t *Tx) error {
		var hz any
		if ses.Hz > 0 {
			hz = ses.Hz
		}
		if _, err := t.Scan("INSERT INTO session (origin_ns, hz, problems, places, holds, host, linked) VALUES (?, ?, ?, ?, ?, ?, 1) RETURNING id",
			[]any{ses.Origin.UnixNano(), hz, list(ses.Problems), marshal(ses.Places), holds(ses.Holds), host(ses.Host)}, &ses.ID); err != nil {
			return err
		}
		for n, d := range ses.Devices {
			if err := t.Exec("INSERT INTO device VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", append([]any{ses.ID, n}, deviceRow(d)...)...); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		ses.Linked = true
		s.session.Store(ses.ID)
	}
	return err
}

// PutHolds replaces what is stored of which GPUs work for which model.
func (s *Store) PutHolds(ctx context.Context, session int64, by map[string]results.Hold) error {
	return s.file.Put(ctx, "storing whose GPUs they are", true, func(t *Tx) error {
		return t.Exec("UPDATE session SET holds = ? WHERE id = ?", holds(by), session)
	})
}

// PutHost replaces what is stored of the machine that a session runs on.
func (s *Store) PutHost(ctx context.Context, session int64, h results.Host) error {
	return s.file.Put(ctx, "storing the host", true, func(t *Tx) error {
		return t.Exec("UPDATE session SET host = ? WHERE id = ?", marshal(h), session)
	})
}

func host(h *results.Host) any {
	if h == nil {
		return nil
	}
	return marshal(h)
}

func holds(by map[string]results.Hold) any {
	if len(by) == 0 {
		return nil
	}
	return marshal(by)
}

func list(l []string) any {
	if len(l) == 0 {
		return nil
	}
	return marshal(l)
}

func deviceRow(d results.Watched) []any {
	about := string(d.About)
	if about == "" {
		about = "{}"
	}
	row := []any{d.Source, d.ID, d.Name, d.Kind, d.Synthetic, about, nil, nil}
	if d.Baseline != nil {
		row[6] = marshal(d.Baseline)
	}
	if d.Stats != nil {
		row[7] = marshal(d.Stats)
	}
	return row
}

// PutDevice replaces what is stored of a session's nth device.
func (s *Store) PutDevice(ctx context.Context, session int64, n int, d results.Watched) error {
	return s.file.Put(ctx, "storing a device", true, func(t *Tx) error {
		return t.Exec(`UPDATE device SET source = ?, device = ?, name = ?, kind = ?, synthetic = ?, about = ?, baseline = ?, stats = ?
			WHERE session = ? AND n = ?`, append(deviceRow(d), session, n)...)
	})
}

// PutSampleBundles stores samples of a session's nth device, in order of time, in place
// of what is stored from the first one's begin on: a bundle that has grown takes
// the place of its beginning. They are durable with the next change that is.
func (s *Store) PutSampleBundles(ctx context.Context, session int64, device int, bundles []results.SampleBundle) error {
	if len(bundles) == 0 {
		return nil
	}
	return s.file.Put(ctx, "storing samples", false, func(t *Tx) error {
		if err := t.Exec("DELETE FROM sample_bundle WHERE session = ? AND device = ? AND from_ns >= ?", session, device, int64(bundles[0].From)); err != nil {
			return err
		}
		for _, c := range bundles {
			if err := t.Exec("INSERT INTO sample_bundle (session, device, from_ns, to_ns, samples, bytes) VALUES (?, ?, ?, ?, ?, ?)",
				session, device, int64(c.From), int64(c.To), c.N, c.Bytes); err != nil {
				return err
			}
		}
		return nil
	})
}

// Sessions are all sessions in the order they began, or those from the first number of only to the last.
func (s *Store) Sessions(ctx context.Context, only ...int64) ([]results.Session, error) {
	from, to := int64(0), int64(1)<<62
	if len(only) > 0 {
		from, to = only[0], only[len(only)-1]
	}
	if err := s.file.Flush(ctx); err != nil {
		return nil, err
	}
	var out []results.Session
	for ses, err := range Query(ctx, s.file, "reading the sessions", "SELECT id, origin_ns, coalesce(hz, 0), problems, places, holds, measured, linked, clocks, host FROM session WHERE id BETWEEN ? AND ? ORDER BY id", []any{from, to},
		func(row func(...any) error) (results.Session, error) {
			var ses results.Session
			var origin int64
			var problems, holds, clocks, host *string
			var places string
			err := row(&ses.ID, &origin, &ses.Hz, &problems, &places, &holds, &ses.Measured, &ses.Linked, &clocks, &host)
			ses.Origin = time.Unix(0, origin).UTC()
			into := []any{&ses.Problems, &ses.Places, &ses.Holds, &ses.Clocks, &ses.Host}
			for i, text := range []*string{problems, &places, holds, clocks, host} {
				if err == nil && text != nil {
					err = json.Unmarshal([]byte(*text), into[i])
				}
			}
			return ses, err
		}) {
		if err != nil {
			return nil, err
		}
		out = append(out, ses)
	}
	for i := range out {
		for d, err := range Query(ctx, s.file, "reading the devices", "SELECT source, device, name, kind, synthetic, about, baseline, stats FROM device WHERE session = ? ORDER BY n",
			[]any{out[i].ID}, func(row func(...any) error) (results.Watched, error) {
				var d results.Watched
				var about string
				var baseline, stats *string
				err := row(&d.Source, &d.ID, &d.Name, &d.Kind, &d.Synthetic, &about, &baseline, &stats)
				d.About = json.RawMessage(about)
				if err == nil && baseline != nil {
					err = json.Unmarshal([]byte(*baseline), &d.Baseline)
				}
				if err == nil && stats != nil {
					err = json.Unmarshal([]byte(*stats), &d.Stats)
				}
				return d, err
			}) {
			if err != nil {
				return nil, err
			}
			out[i].Devices = append(out[i].Devices, d)
		}
	}
	return out, nil
}

// TrialSessions iterates over the trials of a study ("" = all) in Key order, each with the
// session of its last attempt.
func (s *Store) TrialSessions(ctx context.Context, study string) iter.Seq2[results.TrialSession, error] {
	where, args := ofStudy(study)
	return Query(ctx, s.file, "reading the trials' sessions", "SELECT "+keyColumns+`, coalesce(a.session, 0) FROM trial t
		LEFT JOIN attempt a ON a.trial = t.id AND a.n = t.attempts - 1`+where+` ORDER BY `+keyColumns, args,
		func(row func(...any) error) (results.TrialSession, error) {
			var v results.TrialSession
			err := row(append(keyDest(&v.Key), &v.Session)...)
			return v, err
		})
}

// SampleBundles iterates over the packed samples of a session's nth device in order.
func (s *Store) SampleBundles(ctx context.Context, session int64, device int) iter.Seq2[results.SampleBundle, error] {
	return Query(ctx, s.file, "reading samples", "SELECT from_ns, to_ns, samples, bytes FROM sample_bundle WHERE session = ? AND device = ? ORDER BY from_ns",
		[]any{session, device}, func(row func(...any) error) (results.SampleBundle, error) {
			var c results.SampleBundle
			err := row(&c.From, &c.To, &c.N, &c.Bytes)
			return c, err
		})
}

// wallSlack is how far the wall clock may be from a session's clock before an
// attempt of a session that is not linked is taken for another session's.
const wallSlack = 5 * time.Second

// Flights iterates over the attempts at trials of a session, in the order they
// were stored. Of a session that is not linked, those are the ones that were
// started between its origin and the next one's, by wall time; where that is
// further than five seconds from the session's clock, times are not known.
func (s *Store) Flights(ctx context.Context, ses results.Session) iter.Seq2[results.Flight, error] {
	if ses.Linked {
		return s.flights(ctx, ses, "a.session = ?", ses.ID)
	}
	return func(yield func(results.Flight, error) bool) {
		first, err := s.firstSince(ctx, ses.Origin)
		var until int64
		if err == nil {
			_, err = s.file.One(ctx, "reading the sessions", "SELECT coalesce(min(origin_ns), ?) FROM session WHERE origin_ns > ?",
				[]any{int64(math.MaxInt64), ses.Origin.UnixNano()}, &until)
		}
		if err != nil {
			yield(results.Flight{}, err)
			return
		}
		s.flights(ctx, ses, "a.id >= ? AND a.session IS NULL AND a.started_ns >= ? AND a.started_ns < ?", first, ses.Origin.UnixNano(), until)(yield)
	}
}

func (s *Store) flights(ctx context.Context, ses results.Session, where string, args ...any) iter.Seq2[results.Flight, error] {
	type row struct {
		results.Flight
		id    int64
		trace []byte
	}
	return func(yield func(results.Flight, error) bool) {
		var cur row
		send := func() bool {
			if len(cur.Turns) > 0 && !ses.Linked && (cur.Started.Sub(ses.Origin)-cur.Turns[0].From).Abs() > wallSlack {
				cur.Turns, cur.Whole = nil, false
			}
			return cur.id == 0 || yield(cur.Flight, nil)
		}
		for r, err := range Query(ctx, s.file, "reading the trials' times", `SELECT a.id, t.id, `+keyColumns+`, t.attempts, a.n = t.attempts - 1, a.outcome = 'failure', coalesce(a.started_ns, 0), a.flags, t.completion_tokens, u.trace
			FROM attempt a CROSS JOIN trial t ON t.id = a.trial LEFT JOIN turn u ON u.attempt = a.id WHERE `+where+` AND a.trial IS NOT NULL ORDER BY a.id, u.n`,
			args, func(scan func(...any) error) (row, error) {
				var r row
				var started int64
				var flags *string
				err := scan(append(append([]any{&r.id, &r.Trial}, keyDest(&r.Key)...), &r.Attempts, &r.Last, &r.Failed, &started, &flags, &r.Tokens, &r.trace)...)
				r.Started = time.Unix(0, started).UTC()
				if err == nil {
					r.Flags, err = readFlags(raw(flags))
				}
				return r, err
			}) {
			if err != nil {
				yield(results.Flight{}, err)
				return
			}
			if r.id != cur.id {
				if !send() {
					return
				}
				cur = r
				cur.Whole = r.trace != nil
			}
			if r.trace == nil {
				continue
			}
			t, err := readTrace(r.trace)
			if err != nil {
				yield(results.Flight{}, s.file.Fail(fmt.Sprintf("reading trial %+v", cur.Key), err))
				return
			}
			if len(t.Chunks) > 0 {
				if cur.Chunks = append(cur.Chunks, t.Chunks...); cur.Stamps == "" || t.Stamps != timing.StampsKernel {
					cur.Stamps = t.Stamps
				}
			}
			from, ok1 := t.At(timing.Start)
			to, ok2 := t.At(timing.LastContent)
			if ok1 && ok2 && from < to {
				cur.Turns = append(cur.Turns, timing.Window{From: from, To: to})
			} else {
				cur.Whole = false
			}
		}
		send()
	}
}

// firstSince is a number of an attempt before which none was started at since or
// later: attempts are numbered in the order they are stored. It looks from the
// end, so that a session at the end of a large store is found at once.
func (s *Store) firstSince(ctx context.Context, since time.Time) (int64, error) {
	const step = 4096
	var top int64
	if _, err := s.file.One(ctx, "reading the trials' times", "SELECT coalesce(max(id), 0) FROM attempt", nil, &top); err != nil {
		return 0, err
	}
	for ; top > 0; top -= step {
		var last int64
		if _, err := s.file.One(ctx, "reading the trials' times", "SELECT coalesce(max(started_ns), 0) FROM attempt WHERE id > ? AND id <= ?", []any{top - step, top}, &last); err != nil {
			return 0, err
		}
		if last < since.UnixNano() {
			return top, nil
		}
	}
	return 0, nil
}

// PutUses stores what the trials and blocks of a session took, and that the
// session is measured.
func (s *Store) PutUses(ctx context.Context, session int64, uses []results.TrialUse, blocks []results.Block) error {
	return s.file.Put(ctx, "storing energies", true, changing(func(t *Tx) error {
		for _, u := range uses {
			row := []any{u.Trial, string(u.Part), u.Attempts, ns(u.Held), u.Devices, nil, nil, nil, nil, nil, nil, nil, nil, text(u.Unknown), nil, nil}
			if u.Unknown == "" {
				row[5], row[6], row[9], row[10], row[11] = float64(u.Gross), float64(u.Uncertainty), string(u.Method), u.Ticks, u.LowConfidence
				if u.Net != nil {
					row[7], row[8] = float64(*u.Net), float64(*u.NetUncertainty)
				}
				for i, v := range []*timing.Millijoules{u.Absolute, u.NetAbsolute} {
					if v != nil {
						row[14+i] = float64(*v)
					}
				}
			}
			if len(u.Flags) > 0 {
				row[12] = marshal(u.Flags)
			}
			if err := t.Exec("INSERT OR REPLACE INTO energy VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row...); err != nil {
				return err
			}
		}
		for _, b := range blocks {
			if err := t.Exec("INSERT OR REPLACE INTO block VALUES (?, ?, ?, ?, ?, ?)", session, b.Study, b.Model, string(b.Part), b.Devices, marshal(b)); err != nil {
				return err
			}
		}
		return t.Exec("UPDATE session SET measured = 1 WHERE id = ?", session)
	}))
}

// Blocks are all blocks by session, study and model.
func (s *Store) Blocks(ctx context.Context) ([]results.Block, error) {
	var out []results.Block
	for b, err := range Query(ctx, s.file, "reading the blocks", "SELECT session, study, model, part, devices, about FROM block ORDER BY session, study, model, part", nil,
		func(row func(...any) error) (results.Block, error) {
			var b results.Block
			var about string
			err := row(&b.Session, &b.Study, &b.Model, &b.Part, &b.Devices, &about)
			if err == nil {
				err = json.Unmarshal([]byte(about), &b)
			}
			return b, err
		}) {
		if err != nil {
			return nil, err
		}
		if !s.Shows(b.Model) {
			continue
		}
		out = append(out, b)
	}
	return out, nil
}

// PutEvent stores an event of a session.
func (s *Store) PutEvent(ctx context.Context, e results.Event) error {
	must(e.Kind != "" && e.Subject != "" && !e.At.IsZero(), "an event without a kind, a subject or a time")
	var session any
	if e.Session != 0 {
		session = e.Session
	}
	return s.file.Put(ctx, "storing an event", false, func(t *Tx) error {
		return t.Exec("INSERT INTO event (session, at_ns, kind, subject, text) VALUES (?, ?, ?, ?, ?)", session, e.At.UnixNano(), string(e.Kind), e.Subject, e.Text)
	})
}

// Events are all events in order of time.
func (s *Store) Events(ctx context.Context) ([]results.Event, error) {
	if err := s.file.Flush(ctx); err != nil {
		return nil, err
	}
	var out []results.Event
	for e, err := range Query(ctx, s.file, "reading the events", "SELECT coalesce(session, 0), at_ns, kind, subject, text FROM event ORDER BY at_ns, id", nil,
		func(row func(...any) error) (results.Event, error) {
			var e results.Event
			var at int64
			err := row(&e.Session, &at, &e.Kind, &e.Subject, &e.Text)
			e.At = time.Unix(0, at).UTC()
			return e, err
		}) {
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}
