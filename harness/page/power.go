package page

import (
	"context"
	"fmt"
	"slices"
	"time"

	"assay/results"
	"assay/results/stats"
	"assay/results/store"
	"assay/timing"
	"assay/timing/telemetry"
)

// A power trace shows this many requests and this much time at most, and as
// much before and after them.
const (
	traceRequests = 40
	traceSpan     = 2 * time.Minute
	traceRoom     = time.Second
)

// powerTrace is what the GPUs drew while the first requests of the latest session
// were on the wire; false: no GPU reported its power.
func powerTrace(ctx context.Context, st *store.Store, sessions []results.Session) (results.Figure, bool, error) {
	for _, ses := range slices.Backward(sessions) {
		if !slices.ContainsFunc(ses.Devices, func(d results.Watched) bool { return d.Kind == string(telemetry.GPU) }) {
			continue
		}
		key, windows, next, err := firstRequests(ctx, st, ses)
		if err != nil {
			return results.Figure{}, false, err
		}
		if len(windows) == 0 {
			continue
		}
		zero := windows[0].From
		from, to := zero-traceRoom, traceEnd(windows, next)
		f := results.Figure{Name: "machine-power", Kind: results.FigureTime, Title: "Power of the GPUs during a block",
			Caption: fmt.Sprintf("The first %d requests to %s (study %s); each is shaded from its first byte to its last content.", len(windows), key.Model, key.Study),
			X:       results.Axis{Title: "Time since the first request", Unit: "s"}, Y: results.Axis{Title: "Power", Unit: "W", Low: new(float64)}}
		for _, w := range windows {
			f.Spans = append(f.Spans, results.Span{From: (w.From - zero).Seconds(), To: (w.To - zero).Seconds()})
		}
		words := ""
		for n, d := range ses.Devices {
			if d.Kind != string(telemetry.GPU) {
				continue
			}
			s := results.Series{Name: d.Name}
			if d.Synthetic {
				s.Name += " (synthetic)"
			}
			var watts []float64
			for c, err := range st.SampleBundles(ctx, ses.ID, n) {
				if err != nil {
					return results.Figure{}, false, err
				}
				if c.To < from || c.From > to {
					continue
				}
				samples, err := telemetry.Unpack(c.Bytes)
				if err != nil {
					return results.Figure{}, false, fmt.Errorf("%w: samples of %s: %v", results.FaultDamaged, d.Name, err)
				}
				for _, x := range samples {
					mw, ok := x.Get(telemetry.PowerInstant)
					if !ok {
						mw, ok = x.Get(telemetry.PowerAverage)
					}
					if ok && x.At >= from && x.At <= to {
						s.Samples = append(s.Samples, [2]float64{(x.At - zero).Seconds(), float64(mw) / 1000})
						watts = append(watts, float64(mw)/1000)
					}
				}
			}
			if len(watts) < 2 {
				continue
			}
			slices.Sort(watts)
			median, _ := stats.SortedQuantile(watts, 0.5)
			words += fmt.Sprintf(" %s: from %.0f to %.0f W, median %.0f W.", s.Name, watts[0], watts[len(watts)-1], median)
			f.Series = append(f.Series, s)
		}
		if len(f.Series) == 0 {
			continue
		}
		f.Alt = fmt.Sprintf("Power over %.1f seconds, with %d requests shaded.", (to-from).Seconds(), len(windows)) + words
		return f, true, nil
	}
	return results.Figure{}, false, nil
}

// traceEnd is where a trace ends: some time after its last request, but before the
// next one, whose power would stand there without its shade.
func traceEnd(shown []timing.Window, next *timing.Window) time.Duration {
	end := shown[len(shown)-1].To + traceRoom
	if next != nil {
		end = max(shown[len(shown)-1].To, min(end, next.From))
	}
	return end
}

// firstRequests are when the first requests of a session were on the wire, in
// order: those of one model and study. next is the one after them; nil: none.
func firstRequests(ctx context.Context, st *store.Store, ses results.Session) (key results.Key, out []timing.Window, next *timing.Window, err error) {
	for f, err := range st.Flights(ctx, ses) {
		if err != nil {
			return key, nil, nil, err
		}
		if f.Failed || !f.Whole || len(f.Turns) == 0 {
			continue
		}
		if len(out) == 0 {
			key = f.Key
		}
		last := f.Turns[len(f.Turns)-1]
		if f.Key.Model != key.Model || f.Key.Study != key.Study || len(out) >= traceRequests || len(out) > 0 && last.To-out[0].From > traceSpan {
			next = &f.Turns[0]
			break
		}
		out = append(out, f.Turns...)
	}
	slices.SortFunc(out, func(a, b timing.Window) int { return int(a.From - b.From) })
	return key, out, next, nil
}
