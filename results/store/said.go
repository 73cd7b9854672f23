package store

import (
	"cmp"

	"assay/backends"
	"assay/results"
)

// A turn is not joined to its attempt by SQLite, which would seek it from the top of its
// table for each: it mostly follows the one before.
const (
	attemptsFrom = `SELECT trial, n, id, session, answer IS NOT NULL, answer, reasoning, finish FROM attempt WHERE trial >= ?1 ORDER BY trial, n`
	turnsFrom    = `SELECT attempt, n, answer, reasoning, finish FROM turn WHERE attempt >= ?1 ORDER BY attempt, n`
)

// said reads what trials ended with.
type said struct {
	names           results.Names
	attempts, turns *follower
}

// newSaid begins to read on a connection.
func newSaid(conn *sqliteConn, names results.Names) (*said, error) {
	attempts, err := conn.Prepare(attemptsFrom)
	if err != nil {
		return nil, err
	}
	turns, err := conn.Prepare(turnsFrom)
	if err != nil {
		return nil, err
	}
	return &said{names, &follower{sqliteStmt: attempts}, &follower{sqliteStmt: turns}}, nil
}

// Of is what the last attempt of a trial answered, nothing where it failed, and its
// session, 0 where that is not known: fastest where trials come in the order of their
// numbers.
func (s *said) Of(trial int64, attempts int, failed bool) (out results.Output, session int64, err error) {
	a := s.attempts
	for there := a.seek(trial); there; there = a.next() {
		if a.Int(1) != int64(attempts-1) {
			continue
		}
		session = a.Int(3)
		switch {
		case failed:
		case a.Int(4) != 0:
			out = s.output(a, 5)
		default: // the text of the last turn is not stored twice
			for there := s.turns.seek(a.Int(2)); there; there = s.turns.next() {
				out = s.output(s.turns, 2)
			}
		}
		break
	}
	return out, session, cmp.Or(a.Err(), s.turns.Err())
}

func (s *said) output(f *follower, from int) results.Output {
	return results.Output{Answer: string(f.Bytes(from)), Reasoning: string(f.Bytes(from + 1)), Finish: backends.Finish(name(s.names, f.Bytes(from+2)))}
}
