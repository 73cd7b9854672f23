package export

import (
	"context"

	"assay/results"
	"assay/results/columns"
	"assay/results/sqlite"
)

func hardwareColumns() []columns.Column {
	return []columns.Column{
		text("host", "machine that asked, at the last attempt"),
		text("gpu", "the model's, equal ones counted; none: it had none; nothing: not known, as of a server on another machine"),
		text("driver", "of these GPUs"),
		number("clock_offset_s", "s", "how far that machine's clock was ahead of the fleet's; nothing: it was not compared"),
	}
}

// seats are the sessions of a store, by number, with what models were timed on in each.
type seats struct {
	sessions map[int64]results.Session
	known    map[seat]results.Hardware
}

type seat struct {
	session int64
	model   string
}

func hardware(ctx context.Context, st *sqlite.Store) (seats, error) {
	all, err := st.Sessions(ctx)
	out := seats{map[int64]results.Session{}, map[seat]results.Hardware{}}
	for _, s := range all {
		out.sessions[s.ID] = s
	}
	return out, err
}

// row adds what a model's trial of a session ran on.
func (s seats) row(row []any, session int64, model string) []any {
	ses := s.sessions[session] // none: nothing is known
	w, ok := s.known[seat{session, model}]
	if !ok {
		w = ses.Hardware(model)
		s.known[seat{session, model}] = w
	}
	row = append(row, some(w.Host), some(w.GPU), some(w.Driver))
	if ses.Host == nil || ses.Host.Clock == nil {
		return append(row, nil)
	}
	return append(row, ses.Host.Clock.Offset.Seconds())
}
