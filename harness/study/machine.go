package study

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/results"
)

// MachineSection is what was watched during a run, how well, and what happened
// to its servers; false: nothing of either.
func MachineSection(sessions []results.Session, events []results.Event) (results.Section, bool) {
	s := results.Section{Name: "machine", Title: "Devices and servers",
		Intro: "What was watched while trials ran. What could not be measured is unknown in every table, never 0."}
	t := results.Table{Name: "machine-devices", Title: "Devices under watch", Columns: []results.Column{
		TextColumn("device", "Device"), TextColumn("session", "Session"), TextColumn("kind", "Kind"),
		CountColumn("samples", "Samples", ""), CountColumn("hz", "Per second", "asked for"),
		CountColumn("gaps", "Gaps", "stretches without samples"), CountColumn("failed", "Failed reads", ""),
		SignificantColumn("reading", "Reading", "% of a core", "time spent in reads / time watched: at most what it took from a core"),
		SignificantColumn("longest", "Longest read", "ms", ""),
		SignificantColumn("rest", "At rest", "W", "median over ten seconds or more before the run"),
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
			rest := Value(&results.Estimate{Why: "it was not measured"})
			if b := d.Baseline; b != nil && b.Counter != nil {
				rest = number(float64(b.Counter.Median)/1000, 1)
			} else if b != nil && b.Power != nil {
				rest = number(float64(b.Power.Median)/1000, 1)
			}
			t.Rows = append(t.Rows, append(row, rest))
		}
		for _, p := range ses.Problems {
			if note := "Not measured: " + p + "."; !slices.Contains(t.Notes, note) {
				t.Notes = append(t.Notes, note)
			}
		}
	}
	if len(t.Rows)+len(t.Notes) > 0 {
		s.Tables = append(s.Tables, t)
	}
	if len(events) > 0 {
		e, warnings := eventTable(events)
		s.Tables, s.Warnings = append(s.Tables, e), append(s.Warnings, warnings...)
	}
	return s, len(s.Tables) > 0
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
