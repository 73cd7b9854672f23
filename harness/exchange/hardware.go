package exchange

import (
	"context"

	"assay/results"
	"assay/results/store"
)

func hardwareColumns() []results.FileColumn {
	return []results.FileColumn{
		text("host", "machine that asked, at the last attempt"),
		text("gpu", "the model's, equal ones counted; none: it had none; nothing: not known, as of a server on another machine"),
		text("driver", "of these GPUs"),
		number("clock_offset_s", "s", "how far that machine's clock was ahead of the fleet's; nothing: it was not compared"),
	}
}

// machines are what the trials of a store ran on.
type machines struct {
	hardware func(session int64, model string) results.Hardware
	clocks   map[int64]float64 // by session: seconds ahead of the fleet's
}

func machinesOf(ctx context.Context, st *store.Store) (machines, error) {
	all, err := st.Sessions(ctx)
	m := machines{results.HardwareOf(all), map[int64]float64{}}
	for _, s := range all {
		if s.Host != nil && s.Host.Clock != nil {
			m.clocks[s.ID] = s.Host.Clock.Offset.Seconds()
		}
	}
	return m, err
}

// row adds what a model's trial of a session ran on.
func (m machines) row(row []any, session int64, model string) []any {
	w := m.hardware(session, model)
	row = append(row, some(w.Host), some(w.GPU), some(w.Driver))
	if offset, ok := m.clocks[session]; ok {
		return append(row, offset)
	}
	return append(row, nil)
}
