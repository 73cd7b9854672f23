package store

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"assay/results"
)

// rowCache is what a connection keeps of the file, in KiB.
const rowCache = 24 << 10

const readingTrials = "reading the trials"

// OutcomesOf iterates over the trials of a study and a model. It makes next to nothing
// anew for a row: of a million, that would be most of the memory.
func (s *Store) OutcomesOf(ctx context.Context, study, model string) iter.Seq2[results.KeyedOutcome, error] {
	return func(yield func(results.KeyedOutcome, error) bool) {
		// Few different flags are said of many trials; they are read once.
		type said struct {
			failed         bool
			flags, invalid string
		}
		const most = 1000
		read := map[said]results.Outcome{}
		names := results.Names{}
		err := s.each(ctx, "SELECT t.item, t.arm, t.condition, t.repeat, attempts, failure_kind, invalid, flags FROM trial t WHERE study = ? AND model = ?",
			[]any{study, model}, nil, func(r *sqliteStmt) (bool, error) {
				o := results.KeyedOutcome{Key: results.Key{Study: study, Model: model, Item: name(names, r.Bytes(0)), Arm: name(names, r.Bytes(1)),
					Condition: name(names, r.Bytes(2)), Repeat: int(r.Int(3))}}
				o.Attempts, o.Failed, o.Kind = int(r.Int(4)), !r.Null(5), name(names, r.Bytes(5))
				if !r.Null(6) {
					of := said{o.Failed, string(r.Bytes(7)), string(r.Bytes(6))}
					known, ok := read[of]
					if !ok {
						if err := readOutcome(&known, !o.Failed, r.Bytes(7), r.Bytes(6)); err != nil {
							return false, err
						}
						if len(read) < most {
							read[of] = known
						}
					}
					o.Invalids, o.Invalid, o.Cut = known.Invalids, known.Invalid, known.Cut
				}
				return yield(o, nil), nil
			})
		if err != nil {
			yield(results.KeyedOutcome{}, err)
		}
	}
}

// each goes through the rows of a query on a connection of its own until take says no
// more; begin prepares what take reads beside.
func (s *Store) each(ctx context.Context, query string, args []any, begin func(*sqliteConn) error, take func(*sqliteStmt) (bool, error)) error {
	return s.connected(func(conn *sqliteConn) error {
		if begin != nil {
			if err := begin(conn); err != nil {
				return err
			}
		}
		all, err := conn.Prepare(query)
		if err != nil {
			return err
		}
		all.Bind(args...)
		for all.Next() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if more, err := take(all); err != nil || !more {
				return err
			}
		}
		return all.Err()
	})
}

// connected does what reads the trials, on a connection of its own.
func (s *Store) connected(do func(*sqliteConn) error) error {
	conn, err := s.file.connect(readingTrials, rowCache)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := do(conn); err != nil {
		return s.file.Fail(readingTrials, err)
	}
	return nil
}

// Rows iterates over the trials of a study ("" = all) in Key order, without
// texts and traces.
func (s *Store) Rows(ctx context.Context, study string) iter.Seq2[results.Row, error] {
	return func(yield func(results.Row, error) bool) {
		for r, err := range s.rows(ctx, study, beside{}) {
			if !yield(r.Row, err) {
				return
			}
		}
	}
}

// JudgedRows iterates over the trials of a study ("" = all) in Key order, each
// with its judgments, and with what was answered if that is asked for.
func (s *Store) JudgedRows(ctx context.Context, study string, answers bool) iter.Seq2[results.JudgedRow, error] {
	return s.rows(ctx, study, beside{Judgments: true, Answers: answers})
}

// rows reads rows in Key order.
func (s *Store) rows(ctx context.Context, study string, more beside) iter.Seq2[results.JudgedRow, error] {
	return func(yield func(results.JudgedRow, error) bool) {
		if more.Judgments {
			// A case that was just put may still be on its way.
			if err := s.file.Flush(ctx); err != nil {
				yield(results.JudgedRow{}, err)
				return
			}
		}
		var r *reader
		where, args := ofStudy(study)
		err := s.each(ctx, "SELECT "+judgedColumns+" FROM trial t"+where+" ORDER BY "+keyColumns,
			args, func(conn *sqliteConn) (err error) {
				r, err = newReader(conn, more)
				return err
			}, func(row *sqliteStmt) (bool, error) {
				v, err := r.Read(row)
				return err == nil && yield(v, nil), err
			})
		if err != nil {
			yield(results.JudgedRow{}, err)
		}
	}
}

// place is where an item's trials lie in a study and model: how many there are, and the
// least of their numbers.
type place struct {
	Item   string
	Trials int
	First  int64
}

// Places are those of all items of a study and model, in Key order.
func (s *Store) Places(ctx context.Context, study, model string) ([]place, error) {
	var out []place
	err := s.each(ctx, "SELECT t.item, count(*), min(t.id) FROM trial t WHERE study = ? AND model = ? GROUP BY t.item ORDER BY t.item", []any{study, model}, nil,
		func(r *sqliteStmt) (bool, error) {
			out = append(out, place{string(r.Bytes(0)), int(r.Int(1)), r.Int(2)})
			return true, nil
		})
	return out, err
}

// JudgedItems iterates over the trials of items of a study and model, those of an item
// together and in Key order, with what was answered if that is asked for. The slice is
// used again. Items come as they are asked for: in the order of Place.First, the file is
// read from its beginning to its end.
func (s *Store) JudgedItems(ctx context.Context, study, model string, answers bool, items iter.Seq[string]) iter.Seq2[[]results.JudgedRow, error] {
	return func(yield func([]results.JudgedRow, error) bool) {
		err := s.file.Flush(ctx)
		if err == nil {
			err = s.connected(func(conn *sqliteConn) error { return judgedItems(ctx, conn, study, model, answers, items, yield) })
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func judgedItems(ctx context.Context, conn *sqliteConn, study, model string, answers bool, items iter.Seq[string], yield func([]results.JudgedRow, error) bool) error {
	r, err := newReader(conn, beside{Judgments: true, Answers: answers})
	if err != nil {
		return err
	}
	of, err := conn.Prepare("SELECT " + judgedColumns + " FROM trial t WHERE t.study = ?1 AND t.model = ?2 AND t.item = ?3 ORDER BY " + keyColumns)
	if err != nil {
		return err
	}
	var group []results.JudgedRow
	var order []*results.JudgedRow
	for item := range items {
		if err := ctx.Err(); err != nil {
			return err
		}
		group, order = group[:0], order[:0]
		for of.Bind(study, model, item); of.Next(); {
			v, err := r.Row(of)
			if err != nil {
				return err
			}
			group = append(group, v)
		}
		if err := of.Err(); err != nil {
			return err
		}
		for i := range group {
			order = append(order, &group[i])
		}
		slices.SortFunc(order, func(a, b *results.JudgedRow) int { return cmp.Compare(a.ID, b.ID) })
		for _, v := range order {
			if err := r.Beside(v); err != nil {
				return err
			}
		}
		if !yield(group, nil) {
			return nil
		}
	}
	return nil
}

// Ended iterates over the trials of a study ("" = all) in Key order, each with what its
// last attempt answered, without traces.
func (s *Store) Ended(ctx context.Context, study string) iter.Seq2[results.Ended, error] {
	return func(yield func(results.Ended, error) bool) {
		const together = 4096
		if err := s.connected(func(conn *sqliteConn) error { return ended(ctx, conn, study, together, yield) }); err != nil {
			yield(results.Ended{}, err)
		}
	}
}

// ended reads so many trials together, and what was said in them in the order of the
// file: in Key order alone it would be sought for each.
func ended(ctx context.Context, conn *sqliteConn, study string, together int, yield func(results.Ended, error) bool) error {
	names := results.Names{}
	said, err := newSaid(conn, names)
	if err != nil {
		return err
	}
	where, args := ofStudy(study)
	all, err := conn.Prepare("SELECT " + keyColumns + ", t.id, t.attempts, t.outcome <> 'answer' FROM trial t" + where + " ORDER BY " + keyColumns)
	if err != nil {
		return err
	}
	type place struct {
		id           int64
		attempts, at int
	}
	list, places := make([]results.Ended, 0, together), make([]place, 0, together)
	all.Bind(args...)
	for more := true; more; {
		list, places = list[:0], places[:0]
		for len(list) < together {
			if err := ctx.Err(); err != nil {
				return err
			}
			if more = all.Next(); !more {
				break
			}
			var e results.Ended
			for i, to := range []*string{&e.Key.Study, &e.Key.Model, &e.Key.Item, &e.Key.Arm, &e.Key.Condition} {
				*to = name(names, all.Bytes(i))
			}
			e.Key.Repeat, e.Failed = int(all.Int(5)), all.Int(8) != 0
			places = append(places, place{all.Int(6), int(all.Int(7)), len(list)})
			list = append(list, e)
		}
		if err := all.Err(); err != nil {
			return err
		}
		slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.id, b.id) })
		for _, p := range places {
			e := &list[p.at]
			if e.Output, e.Session, err = said.Of(p.id, p.attempts, e.Failed); err != nil {
				return err
			}
		}
		for _, e := range list {
			if !yield(e, nil) {
				return nil
			}
		}
	}
	return nil
}
