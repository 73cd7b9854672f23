package sqlite

import (
	"context"
	"iter"

	"assay/results"
	"assay/results/cursor"
	"assay/results/rows"
)

// What a connection keeps of the file, in KiB: who writes scores reads a model's
// judgments in the order of keys, where they lie in that of the answers.
const (
	rowCache   = 24 << 10
	scoreCache = 64 << 10
)

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
			[]any{study, model}, rowCache, nil, func(r *cursor.Stmt) (bool, error) {
				o := results.KeyedOutcome{Key: results.Key{Study: study, Model: model, Item: rows.Name(names, r.Bytes(0)), Arm: rows.Name(names, r.Bytes(1)),
					Condition: rows.Name(names, r.Bytes(2)), Repeat: int(r.Int(3))}}
				o.Attempts, o.Failed, o.Kind = int(r.Int(4)), !r.Null(5), rows.Name(names, r.Bytes(5))
				if !r.Null(6) {
					of := said{o.Failed, string(r.Bytes(7)), string(r.Bytes(6))}
					known, ok := read[of]
					if !ok {
						if err := rows.Outcome(&known, !o.Failed, r.Bytes(7), r.Bytes(6)); err != nil {
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
func (s *Store) each(ctx context.Context, query string, args []any, cache int, begin func(*cursor.Conn) error, take func(*cursor.Stmt) (bool, error)) error {
	conn, err := s.file.Connect(readingTrials, cache)
	if err != nil {
		return err
	}
	defer conn.Close()
	if begin != nil {
		err = begin(conn)
	}
	var all *cursor.Stmt
	if err == nil {
		all, err = conn.Prepare(query)
	}
	if err != nil {
		return s.file.Fail(readingTrials, err)
	}
	all.Bind(args...)
	for all.Next() {
		if err = ctx.Err(); err != nil {
			break
		}
		more, err := take(all)
		if err != nil {
			return s.file.Fail(readingTrials, err)
		}
		if !more {
			return nil
		}
	}
	if err == nil {
		err = all.Err()
	}
	if err != nil {
		return s.file.Fail(readingTrials, err)
	}
	return nil
}

// Rows iterates over the trials of a study ("" = all) in Key order, without
// texts and traces.
func (s *Store) Rows(ctx context.Context, study string) iter.Seq2[results.Row, error] {
	return func(yield func(results.Row, error) bool) {
		for r, err := range s.rows(ctx, study, "", rows.Beside{}) {
			if !yield(r.Row, err) {
				return
			}
		}
	}
}

// JudgedRows iterates over the trials of a study ("" = all) in Key order, each
// with its judgments.
func (s *Store) JudgedRows(ctx context.Context, study string) iter.Seq2[results.JudgedRow, error] {
	return s.JudgedRowsOf(ctx, study, "", false)
}

// JudgedRowsOf is JudgedRows of one model ("" = all), with what was answered if that is
// asked for.
func (s *Store) JudgedRowsOf(ctx context.Context, study, model string, answers bool) iter.Seq2[results.JudgedRow, error] {
	return s.rows(ctx, study, model, rows.Beside{Judgments: true, Answers: answers})
}

// rows reads rows in Key order.
func (s *Store) rows(ctx context.Context, study, model string, more rows.Beside) iter.Seq2[results.JudgedRow, error] {
	return func(yield func(results.JudgedRow, error) bool) {
		cache := rowCache
		if more.Judgments {
			// A case that was just put may still be on its way.
			if err := s.file.Flush(ctx); err != nil {
				yield(results.JudgedRow{}, err)
				return
			}
			if s.file.Writing() {
				cache = scoreCache
			}
		}
		var r *rows.Reader
		where, args := of(study, model)
		err := s.each(ctx, "SELECT "+rows.Columns+" FROM trial t"+where+" ORDER BY "+keyColumns,
			args, cache, func(conn *cursor.Conn) (err error) {
				r, err = rows.New(conn, more)
				return err
			}, func(row *cursor.Stmt) (bool, error) {
				v, err := r.Read(row)
				return err == nil && yield(v, nil), err
			})
		if err != nil {
			yield(results.JudgedRow{}, err)
		}
	}
}
