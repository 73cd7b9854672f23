package viewer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"assay/results"
	"assay/results/store"
	"assay/timing/telemetry"
)

// arrival is when an attempt at a trial was begun, by wall time.
type arrival struct {
	Started time.Time
	Failed  bool
	// Of the trials, how many were begun up to this one.
	Trials int
}

// recent are the last attempts at trials, newest first; Trials is not set.
func recent(ctx context.Context, st *store.Store, most int) ([]arrival, error) {
	var out []arrival
	for a, err := range store.Query(ctx, st.File(), "reading the latest trials", "SELECT coalesce(started_ns, 0), outcome = 'failure' FROM attempt WHERE trial IS NOT NULL ORDER BY trial DESC, n DESC LIMIT ?",
		[]any{most}, func(row func(...any) error) (a arrival, err error) {
			var at int64
			err = row(&at, &a.Failed)
			a.Started = time.Unix(0, at).UTC()
			return a, err
		}) {
		if err != nil {
			return nil, err
		}
		if a.Started.UnixNano() != 0 {
			out = append(out, a)
		}
	}
	return out, nil
}

// ordered says whether arrivals, newest first or oldest first, come in the order in which they
// were begun, as far as requests beside each other let them. Those of a store that was merged
// come by Key.
func ordered(all []arrival) bool {
	if len(all) < 3 {
		return true
	}
	least, most, latest, back := all[0].Started, all[0].Started, time.Time{}, time.Duration(0)
	list := slices.Clone(all)
	if list[0].Started.After(list[len(list)-1].Started) {
		slices.Reverse(list)
	}
	for _, a := range list {
		if a.Started.Before(least) {
			least = a.Started
		}
		if a.Started.After(most) {
			most = a.Started
		}
		if a.Started.After(latest) {
			latest = a.Started
		}
		back = max(back, latest.Sub(a.Started))
	}
	return 2*back <= most.Sub(least)
}

// course is when trials were begun, at some points of the whole run, in the order in
// which they were first stored; none of a store in which that is another order than that of
// time.
func course(ctx context.Context, st *store.Store, points int) ([]arrival, error) {
	var top int
	if _, err := st.File().One(ctx, "reading the latest trials", "SELECT coalesce(max(trial), 0) FROM attempt WHERE trial IS NOT NULL", nil, &top); err != nil || top == 0 {
		return nil, err
	}
	var out []arrival
	for i := range points {
		want := 1 + (top-1)*i/max(1, points-1)
		var at int64
		var a arrival
		ok, err := st.File().One(ctx, "reading the trials' times", "SELECT trial, coalesce(started_ns, 0), outcome = 'failure' FROM attempt WHERE trial >= ? ORDER BY trial, n LIMIT 1", []any{want}, &a.Trials, &at, &a.Failed)
		if err != nil {
			return nil, err
		}
		if a.Started = time.Unix(0, at).UTC(); ok && at != 0 && (len(out) == 0 || out[len(out)-1].Trials != a.Trials) {
			out = append(out, a)
		}
	}
	if !ordered(out) {
		return nil, nil
	}
	// Requests beside each other are stored as they end.
	for i := 1; i < len(out); i++ {
		if out[i].Started.Before(out[i-1].Started) {
			out[i].Started = out[i-1].Started
		}
	}
	return out, nil
}

// graphSamples are those of a session's nth device from one time to another, on the
// session's clock, and at most that many of them, evenly.
func graphSamples(ctx context.Context, st *store.Store, session int64, device int, from, to time.Duration, most int) ([]telemetry.Sample, error) {
	var out []telemetry.Sample
	for c, err := range store.Query(ctx, st.File(), "reading samples", `SELECT from_ns, to_ns, samples, bytes FROM sample_bundle WHERE session = ?1 AND device = ?2
		AND from_ns >= coalesce((SELECT max(from_ns) FROM sample_bundle WHERE session = ?1 AND device = ?2 AND from_ns <= ?3), 0) AND from_ns <= ?4 ORDER BY from_ns`,
		[]any{session, device, int64(from), int64(to)}, func(row func(...any) error) (c results.SampleBundle, err error) {
			return c, row(&c.From, &c.To, &c.N, &c.Bytes)
		}) {
		if err != nil {
			return nil, err
		}
		samples, err := telemetry.Unpack(c.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%w: samples of device %d: %v", results.FaultDamaged, device, err)
		}
		for _, s := range samples {
			if s.At >= from && s.At <= to {
				out = append(out, s)
			}
		}
	}
	if len(out) > most {
		thin := out[:0]
		for i := range most {
			thin = append(thin, out[i*len(out)/most])
		}
		out = thin
	}
	return out, nil
}

// end is the last time at which a session's nth device was looked at; false: it was not.
func end(ctx context.Context, st *store.Store, session int64, device int) (time.Duration, bool, error) {
	var to *int64
	_, err := st.File().One(ctx, "reading samples", "SELECT to_ns FROM sample_bundle WHERE session = ? AND device = ? ORDER BY from_ns DESC LIMIT 1", []any{session, device}, &to)
	if err != nil || to == nil {
		return 0, false, err
	}
	return time.Duration(*to), true, nil
}

// hardware is what a model ran on in a session; nothing is known of session 0.
func hardware(ctx context.Context, st *store.Store, session int64, model string) (results.Hardware, error) {
	if session == 0 {
		return results.Hardware{}, nil
	}
	own, err := st.Sessions(ctx, session)
	if err != nil || len(own) == 0 {
		return results.Hardware{}, err
	}
	return own[0].Hardware(model), nil
}
