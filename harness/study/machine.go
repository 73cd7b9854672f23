package study

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"assay/results"
	"assay/timing"
)

// MachineSection is what was watched during a run, how well, and what happened
// to its servers; false: nothing of either.
func MachineSection(sessions []results.Session, blocks []results.Block, events []results.Event) (results.Section, bool) {
	s := results.Section{Name: "machine", Title: "Devices and servers",
		Intro: "What was watched while trials ran. What could not be measured is unknown in every table, never 0.",
		Main:  []string{"machine-gpus", "machine-servers"}}
	t := results.Table{Name: "machine-devices", Title: "Devices under watch", Columns: []results.Column{
		TextColumn("device", "Device"), TextColumn("session", "Session"), TextColumn("kind", "Kind"),
		CountColumn("samples", "Samples", ""), CountColumn("hz", "Per second", "asked for"),
		CountColumn("gaps", "Gaps", "stretches without samples"), CountColumn("failed", "Failed reads", ""),
		SignificantColumn("reading", "Reading", "% of a core", "time spent in reads / time watched: at most what it took from a core"),
		SignificantColumn("longest", "Longest read", "ms", ""),
		SignificantColumn("rest", "At rest", "W", "median over ten seconds or more, with no model of the run in memory"),
	}}
	s.Methods = watched(sessions)
	number := func(v float64, n int) results.Cell { return Value(&results.Estimate{Value: &v, N: n}) }
	for _, ses := range sessions {
		for _, d := range ses.Devices {
			name := d.Name
			if d.Synthetic {
				name += " (synthetic)"
			}
			row := []results.Cell{Text(name), Text(fmt.Sprint(ses.ID)), Text(d.Kind)}
			if w := d.Stats; w == nil {
				none := Value(&results.Estimate{Why: "the run did not end in order"})
				row = append(row, none, Counted(ses.Hz, 1), none, none, none, none)
			} else {
				reading := Value(&results.Estimate{Why: "it was watched for no time"})
				if w.Span > 0 {
					reading = number(100*float64(w.Total)/float64(w.Span), w.Samples)
				}
				row = append(row, Counted(w.Samples, w.Samples), Counted(ses.Hz, 1), Counted(w.Gaps, w.Samples), Counted(w.Failed, w.Samples+w.Failed), reading, number(float64(w.Longest)/1e6, w.Samples))
				for _, f := range w.Failures {
					s.Warnings = append(s.Warnings, fmt.Sprintf("%s could not be read at times: %s.", d.Name, f))
				}
			}
			rest := atRest(d.Baseline, "it was not measured without a model in memory")
			for _, model := range slices.Sorted(maps.Keys(ses.Holds)) {
				if u := ses.Holds[model].Rest[d.ID].Unloaded; u != nil && d.Baseline == nil {
					rest = atRest(u, "")
					break
				}
			}
			t.Rows = append(t.Rows, append(row, rest))
		}
		for _, p := range ses.Problems {
			if note := "Not measured: " + p + "."; !slices.Contains(t.Notes, note) {
				t.Notes = append(t.Notes, note)
			}
		}
	}
	for _, ses := range sessions {
		note, warning := clockWords(ses)
		if warning != "" {
			s.Warnings = append(s.Warnings, warning)
		}
		if note != "" && len(ses.Devices) > 0 {
			t.Notes = append(t.Notes, note)
		}
	}
	if len(t.Rows)+len(t.Notes) > 0 {
		s.Tables = append(s.Tables, t)
	}
	if h, warnings := holdTable(sessions, blocks); len(h.Rows) > 0 {
		s.Tables, s.Warnings = append(s.Tables, h), append(s.Warnings, warnings...)
	}
	if o := outputTable(blocks); len(o.Rows) > 0 {
		s.Tables = append(s.Tables, o)
	}
	if len(events) > 0 {
		e, warnings := eventTable(events)
		s.Tables, s.Warnings = append(s.Tables, e), append(s.Warnings, warnings...)
	}
	return s, len(s.Tables) > 0
}

// outputTable is what servers wrote in whole blocks, over all streams. Levels of a load
// sweep are never added up: they have a table of their own.
func outputTable(blocks []results.Block) results.Table {
	t := results.Table{Name: "machine-output", Title: "Output of whole blocks", Columns: []results.Column{
		TextColumn("model", "Model"), TextColumn("study", "Study"), TextColumn("session", "Session"), CountColumn("answers", "Answers", ""),
		SignificantColumn("tokens", "Tokens", "tokens", "of these answers, by the server's count"),
		SignificantColumn("seconds", "Time", "s", "from the first request's start to the last content, our pauses and requests that failed included"),
		SignificantColumn("tokens_per_s", "Tokens a second", "tokens/s", "over all streams: tokens / that time"),
	}}
	for _, b := range blocks {
		o := b.Output
		if o == nil || o.N == 0 || len(b.Loads) > 0 {
			continue
		}
		rate, why := o.TokenRate()
		number := func(v float64) results.Cell { return Value(&results.Estimate{Value: &v, N: o.N}) }
		row := []results.Cell{Text(b.Model), Text(b.Study), Text(fmt.Sprint(b.Session)), Counted(o.N, o.N)}
		none := Value(&results.Estimate{Undefined: o.N, Why: why})
		if why != "" {
			t.Rows = append(t.Rows, append(row, none, number(o.Window.Seconds()), none))
			continue
		}
		t.Rows = append(t.Rows, append(row, number(float64(*o.Tokens)), number(o.Window.Seconds()), number(rate)))
	}
	return t
}

func atRest(b *timing.Baseline, why string) results.Cell {
	if b == nil || b.Counter == nil && b.Power == nil {
		return Value(&results.Estimate{Why: why})
	}
	return Value(&results.Estimate{Value: new(float64(cmp.Or(b.Counter, b.Power).Median) / 1000), N: 1})
}

// holdTable says which GPUs worked for which model, what tells, how they are at rest
// and why they ran slower than they could.
func holdTable(sessions []results.Session, blocks []results.Block) (results.Table, []string) {
	t := results.Table{Name: "machine-gpus", Title: "GPUs of each model", Columns: []results.Column{
		TextColumn("model", "Model"), TextColumn("session", "Session"), TextColumn("gpus", "GPUs"), TextColumn("sure", "Sure"), TextColumn("how", "What tells"), TextColumn("foreign", "Processes of others"),
		SignificantColumn("unloaded", "At rest, unloaded", "W", "all its GPUs, before the model was loaded"), SignificantColumn("loaded", "At rest, loaded", "W", "all its GPUs, with the model in memory: what net energies are less of"),
		PercentColumn("power", "At a power limit", "of the time with a request on the wire: ordinary work, times count"),
		PercentColumn("thermal", "Too hot", "of the same time; times that met it do not count"),
		PercentColumn("hardware", "Slowed down from outside", "of the same time, power brake included; times that met it do not count"),
		PercentColumn("other", "Reason unknown", "of the same time"),
	}}
	var warnings []string
	for _, ses := range sessions {
		for _, model := range slices.Sorted(maps.Keys(ses.Holds)) {
			h := ses.Holds[model]
			sure := "yes"
			switch {
			case !h.Known:
				sure = "unknown"
				warnings = append(warnings, fmt.Sprintf("It is not known which GPUs worked for %s in session %d, so its energies there are unknown: %s.", model, ses.ID, h.How))
			case h.Assumed:
				sure = "assumed"
				warnings = append(warnings, fmt.Sprintf("Which GPUs worked for %s in session %d is assumed: %s. Name them in telemetry.gpus to be certain.", model, ses.ID, h.How))
			}
			if len(h.Foreign) > 0 {
				warnings = append(warnings, fmt.Sprintf("Processes of others used the GPUs of %s in session %d: %s.", model, ses.ID, strings.Join(h.Foreign, ", ")))
			}
			row := []results.Cell{Text(model), Text(fmt.Sprint(ses.ID)), Text(ses.GPUNames(h)), Text(sure), Text(h.How), Text(strings.Join(h.Foreign, ", ")),
				restOf(ses, h, func(r results.Rest) *timing.Baseline { return r.Unloaded }), restOf(ses, h, func(r results.Rest) *timing.Baseline { return r.Loaded })}
			t.Rows = append(t.Rows, append(row, throttleCells(ses.ID, model, blocks)...))
		}
	}
	return t, warnings
}

// restOf is what all GPUs of a model draw at rest.
func restOf(ses results.Session, h results.Hold, of func(results.Rest) *timing.Baseline) results.Cell {
	sum, n := 0., 0
	for _, d := range ses.Devices {
		if !slices.Contains(h.GPUs, d.ID) {
			continue
		}
		b := of(h.Rest[d.ID])
		if b == nil && d.Synthetic {
			b = d.Baseline
		}
		c := atRest(b, "it was not measured")
		if c.Estimate.Value == nil {
			return c
		}
		sum, n = sum+*c.Estimate.Value, n+1
	}
	if n == 0 {
		return Value(&results.Estimate{Why: "it has no GPU that is known"})
	}
	return Value(&results.Estimate{Value: &sum, N: n})
}

// throttleCells are the shares of a model's time in all studies of a session.
func throttleCells(session int64, model string, blocks []results.Block) []results.Cell {
	var of float64
	var by [4]float64
	for _, b := range blocks {
		if th := b.Throttled; b.Session == session && b.Model == model && b.Part == results.PartGPU && th != nil {
			of += th.Of.Seconds()
			for i, share := range []float64{th.Power, th.Thermal, th.Hardware, th.Other} {
				by[i] += share * th.Of.Seconds()
			}
		}
	}
	var out []results.Cell
	for i := range by {
		if of == 0 {
			out = append(out, Value(&results.Estimate{Why: "its GPUs did not say whether they were slowed down"}))
			continue
		}
		out = append(out, Value(&results.Estimate{Value: new(100 * by[i] / of), N: int(of + .5)}))
	}
	return out
}

// ordinarySlew, in parts per million, is what ntpd and systemd steer a clock by at most.
const ordinarySlew = 500

// clockWords say what the machine's other clocks did beside a session's; "": nothing
// is known, or nothing is to be distrusted.
func clockWords(ses results.Session) (note, warning string) {
	c := ses.Clocks
	if c == nil {
		return "", ""
	}
	var what []string
	if c.Slew != nil {
		note = fmt.Sprintf("Session %d: its clock ran %+.1f ppm against the hardware's.", ses.ID, *c.Slew)
		if math.Abs(*c.Slew) > ordinarySlew {
			what = append(what, fmt.Sprintf("its clock was steered by %+.0f ppm against the hardware's: times are off by as much", *c.Slew))
		}
	}
	if c.Slept > 0 {
		what = append(what, fmt.Sprintf("the machine slept for %v; what was on the wire then is flagged as stopped", c.Slept.Round(time.Millisecond)))
	}
	if len(what) > 0 {
		warning = fmt.Sprintf("Session %d: %s.", ses.ID, strings.Join(what, "; "))
	}
	return note, warning
}

func eventTable(events []results.Event) (results.Table, []string) {
	t := results.Table{Name: "machine-servers", Title: "What happened to servers", Columns: []results.Column{
		TextColumn("at", "At (UTC)"), TextColumn("server", "Backend or model"), TextColumn("event", "Event"), TextColumn("text", "Details"),
	}}
	died := map[string]int{}
	var order, warnings []string
	for _, e := range events {
		if e.Kind == results.EventDied {
			if died[e.Subject]++; died[e.Subject] == 1 {
				order = append(order, e.Subject)
			}
		}
		if e.Kind == results.EventStayed {
			warnings = append(warnings, e.Subject+": "+e.Text+".")
		}
		text := strings.Join(strings.FieldsFunc(e.Text, func(r rune) bool { return r == '\n' || r == '\r' }), " | ")
		t.Rows = append(t.Rows, []results.Cell{Text(e.At.UTC().Format(time.DateTime)), Text(e.Subject), Text(string(e.Kind)), Text(text)})
	}
	for _, name := range order {
		times := "times"
		if died[name] == 1 {
			times = "time"
		}
		warnings = append(warnings, fmt.Sprintf("The server of backend %s died %d %s; the table of servers has the end of its log. Trials that it cut off were tried again.", name, died[name], times))
	}
	return t, warnings
}
