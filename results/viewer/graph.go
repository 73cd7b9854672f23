// Graph makes what pages draw of a store: a request on an axis of time, curves of
// what devices drew, how trials came in.
//
// lookup.go answers what pages ask for that in milliseconds, whatever the store's size: each
// question is a few steps along an index.

package viewer

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"assay/results"
	"assay/results/store"
	"assay/timing"
	"assay/timing/telemetry"
)

// timeline is one request, from its first byte on, and what the GPUs drew meanwhile.
type timeline struct {
	Turn   int
	Phases []phase
	Power  []*curve
	Total  string
	Server []serverTime
	Stamps string
	Chunks int
	Alt    string
}

// phase is a stretch of the request on an axis of 1000.
type phase struct {
	Name, Class string
	X, Width    float64
	Took, Note  string
}

// serverTime is a time that the server itself tells.
type serverTime struct{ Name, Took string }

func ms(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

// timelines are the requests of an attempt.
func timelines(ctx context.Context, st *store.Store, a results.Attempt) ([]*timeline, error) {
	var out []*timeline
	for i, t := range a.Turns {
		line := &timeline{Turn: i + 1, Stamps: string(t.Trace.Stamps), Chunks: len(t.Trace.Chunks)}
		from, to, ok := line.phases(t)
		for _, s := range []struct {
			name string
			d    *time.Duration
		}{{"in all", t.Server.Total}, {"waiting", t.Server.Queue}, {"loading the model", t.Server.Load}, {"reading the prompt", t.Server.Prompt}, {"writing the answer", t.Server.Decode}} {
			if s.d != nil {
				line.Server = append(line.Server, serverTime{s.name, ms(*s.d)})
			}
		}
		if ok && a.Session != 0 {
			var err error
			if line.Power, err = drew(ctx, st, a.Session, from, to); err != nil {
				return nil, err
			}
		}
		if ok || len(line.Server) > 0 {
			out = append(out, line)
		}
	}
	return out, nil
}

// phases cuts a request at its events; false: there is no telling when it was.
func (l *timeline) phases(t results.Turn) (from, to time.Duration, ok bool) {
	from, ok = t.Trace.At(timing.Start)
	if !ok {
		return 0, 0, false
	}
	events := []struct {
		until             timing.Event
		name, class, note string
	}{
		{timing.Sent, "upload", "p-upload", "the request's bytes were handed to the system"},
		{timing.FirstContent, "queue and prefill", "p-wait", "the server waited, read pictures and prompt, and wrote its first words"},
		{timing.FirstAnswer, "reasoning", "p-think", "of the server's reasoning channel"},
		{timing.LastContent, "answer", "p-answer", "from its first chunk to its last"},
		{timing.End, "end", "p-end", "until the stream was over"},
	}
	to = from
	for _, e := range events {
		if at, there := t.Trace.At(e.until); there {
			to = max(to, at)
		}
	}
	if to == from {
		return 0, 0, false
	}
	l.Total = ms(to - from)
	at := from
	var words []string
	for _, e := range events {
		until, there := t.Trace.At(e.until)
		if !there || until < at {
			continue
		}
		if e.until == timing.FirstAnswer && until == at { // nothing came before the answer
			continue
		}
		p := phase{Name: e.name, Class: e.class, Note: e.note, Took: ms(until - at), X: 1000 * float64(at-from) / float64(to-from), Width: 1000 * float64(until-at) / float64(to-from)}
		l.Phases = append(l.Phases, p)
		words = append(words, p.Name+" "+p.Took)
		at = until
	}
	l.Alt = "Request of " + l.Total + ": " + strings.Join(words, ", ")
	return from, to, true
}

// drew is the power of the session's GPUs while a request was on the wire.
func drew(ctx context.Context, st *store.Store, session int64, from, to time.Duration) ([]*curve, error) {
	own, err := st.Sessions(ctx, session)
	if err != nil || len(own) == 0 {
		return nil, err
	}
	ses := own[0]
	var out []*curve
	for n, d := range ses.Devices {
		if d.Kind != string(telemetry.GPU) {
			continue
		}
		// A little more on both sides: a sample holds until the next one.
		const beside = 200 * time.Millisecond
		samples, err := graphSamples(ctx, st, ses.ID, n, from-beside, to+beside, 400)
		if err != nil {
			return nil, err
		}
		var xs, ys []float64
		for _, s := range samples {
			if mw, ok := power(s); ok {
				xs, ys = append(xs, s.At.Seconds()), append(ys, mw/1000)
			}
		}
		c := within(xs, ys, from.Seconds(), to.Seconds())
		if c == nil {
			continue
		}
		name := d.Name
		if d.Synthetic {
			name += " (synthetic)"
		}
		c.First = name
		c.Alt = fmt.Sprintf("Power of %s during the request, from 0 to %s W", name, c.High)
		out = append(out, c)
	}
	return out, nil
}

// within is a curve on the axis of a request: what lies outside is cut off by the SVG.
func within(xs, ys []float64, from, to float64) *curve {
	c := line(xs, ys, 0)
	if c == nil || to <= from {
		return nil
	}
	high := 0.0
	for _, y := range ys {
		high = max(high, y)
	}
	var b strings.Builder
	for i := range xs {
		fmt.Fprintf(&b, "%.1f,%.1f ", 1000*(xs[i]-from)/(to-from), 198-196*ys[i]/high)
	}
	c.Points = strings.TrimSpace(b.String())
	return c
}

// curve is a line of an SVG of 1000 x 200.
type curve struct {
	Points, Alt        string
	High, First, Until string
}

// line scales points to a curve; nil: there are too few.
func line(xs, ys []float64, low float64) *curve {
	if len(xs) < 2 {
		return nil
	}
	high := low
	for _, y := range ys {
		high = math.Max(high, y)
	}
	from, to := xs[0], xs[len(xs)-1]
	if to <= from || high <= low {
		return nil
	}
	var b strings.Builder
	for i := range xs {
		fmt.Fprintf(&b, "%.1f,%.1f ", 1000*(xs[i]-from)/(to-from), 198-196*(ys[i]-low)/(high-low))
	}
	return &curve{Points: strings.TrimSpace(b.String()), High: graphNumber(math.Round(high*100) / 100)}
}

// power is what a sample says of it, in mW; false: nothing.
func power(s telemetry.Sample) (float64, bool) {
	mw, ok := s.Get(telemetry.PowerInstant)
	if !ok {
		mw, ok = s.Get(telemetry.PowerAverage)
	}
	return float64(mw), ok
}

// readings are the measures of a sample that a person looks for.
func readings(s telemetry.Sample) []string {
	var out []string
	if mw, ok := power(s); ok {
		out = append(out, fmt.Sprintf("%.0f W", mw/1000))
	}
	for _, m := range []struct {
		of     telemetry.Measure
		per    float64
		format string
	}{{telemetry.CoreBusy, 1, "%.0f %% busy"}, {telemetry.MemoryUsed, 1 << 30, "%.1f GiB in use"}, {telemetry.TempCore, 1000, "%.0f °C"}, {telemetry.ClockCore, 1, "%.0f MHz"}, {telemetry.DiskFree, 1 << 30, "%.0f GiB of disk free"}} {
		if x, ok := s.Get(m.of); ok {
			out = append(out, fmt.Sprintf(m.format, float64(x)/m.per))
		}
	}
	if x, ok := s.Get(telemetry.Throttle); ok && x != 0 {
		out = append(out, "throttled")
	}
	return out
}

// graphNumber is a number for a person.
func graphNumber(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// meanOver is that of n numbers, with four significant digits.
func meanOver(sum float64, n int) string {
	v := sum / float64(n)
	if short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64); err == nil {
		v = short
	}
	return graphNumber(v)
}
