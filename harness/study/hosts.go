// Hosts keeps times and energies of several machines apart.
//
//  1. severalHosts says from a store's sessions alone whether a model was timed on more than
//     one machine, kind of GPU or driver. Of most stores that is all that is asked.
//  2. Else Arms have an account of each place beside that of an arm, and besideByHost puts a
//     table of them beside the study's, and marks every row that pools over hosts.
//  3. MachineTable is the table of the hosts themselves.

package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/harness/score"
	"assay/results"
)

// severalHosts says whether a model was timed on more than one machine, kind of GPU or driver, as
// far as that is known.
func severalHosts(sessions []results.Session) bool {
	by := map[string]map[results.Hardware]bool{}
	for _, s := range sessions {
		for model := range s.Places {
			if by[model] == nil {
				by[model] = map[results.Hardware]bool{}
			}
			by[model][s.Hardware(model)] = true
		}
	}
	for _, seen := range by {
		if differ(slices.Collect(maps.Keys(seen))).any() {
			return true
		}
	}
	return false
}

// difference is what is known to differ: each list has two entries or more, or none.
type difference struct{ hosts, gpus, drivers []string }

func (d difference) any() bool { return len(d.hosts)+len(d.gpus)+len(d.drivers) > 0 }

// hardware says whether times may differ for what the machines are.
func (d difference) hardware() bool { return len(d.gpus)+len(d.drivers) > 0 }

func differ(all []results.Hardware) difference {
	several := func(of func(results.Hardware) string) []string {
		var out []string
		for _, w := range all {
			if v := of(w); v != "" && !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
		if len(out) < 2 {
			return nil
		}
		slices.Sort(out)
		return out
	}
	return difference{several(func(w results.Hardware) string { return w.Host }), several(func(w results.Hardware) string { return w.GPU }), several(func(w results.Hardware) string { return w.Driver })}
}

// over is what a row is pooled over, in a few words.
func (d difference) over() string {
	switch {
	case d.hosts != nil:
		return fmt.Sprintf("%d hosts", len(d.hosts))
	case d.gpus != nil:
		return fmt.Sprintf("%d kinds of GPU", len(d.gpus))
	}
	return fmt.Sprintf("%d drivers", len(d.drivers))
}

// place is what a model's trials of an arm were timed on.
type place struct {
	arm string
	on  results.Hardware
}

// whereabouts tell where trials were timed, which come in Key order.
type whereabouts struct {
	next     func() (results.TrialSession, error, bool)
	hardware func(session int64, model string) results.Hardware
	err      error // the first one
}

func (w *whereabouts) of(k results.Key) (on results.Hardware) {
	for w.err == nil {
		t, err, more := w.next()
		switch {
		case err != nil:
			w.err = err
		case !more || k.Compare(t.Key) < 0:
			w.err = fmt.Errorf("trial %+v changed while it was read", k)
		case t.Key == k:
			return w.hardware(t.Session, k.Model)
		}
	}
	return on
}

// besideByHost puts a table by host among a study's sections, and says of every row of a time, a
// rate, an energy or money that pools over hosts what it pools over. Sections of a study
// whose models each were timed on one machine alone stay as they are.
func (b *Basis) besideByHost(r *score.Run, secs []results.Section) []results.Section {
	var all []*Arms
	for _, m := range r.Models {
		if a := Collected(m.Extra); a.differ.any() {
			all = append(all, a)
		}
	}
	if len(all) == 0 || len(secs) == 0 {
		return secs
	}
	table := b.Study + "-hosts"
	at := 0 // the section of times
	for i := range secs {
		for j := range secs[i].Tables {
			t := &secs[i].Tables[j]
			if slices.ContainsFunc(t.Columns, func(c results.Column) bool { return c.Name == "latency_median" }) {
				at = i
			}
			mark(t, all, b.Manifest, table)
		}
	}
	secs[at].Tables = append(secs[at].Tables, b.byHost(all, table))
	for _, a := range all {
		if a.differ.hardware() {
			secs[0].Warnings = append(secs[0].Warnings, fmt.Sprintf("%s was timed on different hardware (%s): its times, rates, energies and prices in study %s are of all of it together. The table %s has each apart.", a.model, strings.Join(a.kinds(), "; "), b.Study, table))
		}
	}
	return secs
}

// kinds are what a model was timed on, in words.
func (a *Arms) kinds() []string {
	var out []string
	for p := range a.places {
		what := orUnknown(p.on.GPU, "GPU")
		if p.on.Driver != "" {
			what += ", driver " + p.on.Driver
		}
		if line := orUnknown(p.on.Host, "host") + ": " + what; !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

func orUnknown(s, what string) string {
	if s == "" {
		return "unknown " + what
	}
	return s
}

// placesOf are those of an arm, by host.
func (a *Arms) placesOf(arm string) []place {
	out := slices.DeleteFunc(slices.Collect(maps.Keys(a.places)), func(p place) bool { return p.arm != arm })
	slices.SortFunc(out, func(a, b place) int {
		return slices.Compare([]string{a.on.Host, a.on.GPU, a.on.Driver}, []string{b.on.Host, b.on.GPU, b.on.Driver})
	})
	return out
}

func (b *Basis) byHost(all []*Arms, name string) results.Table {
	t := results.Table{Name: name, Title: "Times and energies by host", Columns: []results.Column{
		TextColumn("model", "Model"), TextColumn("arm", "Arm"), TextColumn("host", "Host"), TextColumn("gpu", "GPUs"), TextColumn("driver", "Driver"),
		CountColumn("answers", "Answers", "")}}
	by := b.measures()
	shown := []string{"ttft_median", "latency_median", "latency_p95", "decode", "stream", "mean", "power"}
	for _, column := range shown {
		i := slices.IndexFunc(by, func(m measure) bool { return m.Name == column })
		t.Columns = append(t.Columns, by[i].Column)
	}
	for _, m := range all {
		for _, arm := range m.List {
			for _, p := range m.placesOf(arm.Arm) {
				a := m.places[p]
				row := []results.Cell{Text(a.Model), Text(a.Arm), Text(orUnknown(p.on.Host, "host")), Text(orUnknown(p.on.GPU, "GPU")), Text(p.on.Driver), Counted(a.Trials-a.Failed, a.Trials)}
				for _, column := range shown {
					row = append(row, Value(a.Estimate(column)))
				}
				t.Rows = append(t.Rows, row)
			}
		}
	}
	return t
}

// mark gives a table of times, rates, energies or money a column that says what a row pools
// over, or a note where a row is not of one model.
func mark(t *results.Table, all []*Arms, man results.Manifest, apart string) {
	has := func(name string) bool {
		return slices.ContainsFunc(t.Columns, func(c results.Column) bool { return c.Name == name })
	}
	if len(t.Columns) == 0 || has("session") || has("host") || !slices.ContainsFunc(t.Columns, func(c results.Column) bool { return mixes(c.Unit, man) }) {
		return
	}
	if t.Columns[0].Name != "model" { // its rows are of several models
		var parts []string
		for _, m := range all {
			parts = append(parts, fmt.Sprintf("%s (%s)", m.model, m.differ.over()))
		}
		t.Notes = append(slices.Clone(t.Notes), fmt.Sprintf("Times, rates, energies and prices are pooled over machines for %s; the table %s has each apart.", strings.Join(parts, ", "), apart))
		return
	}
	over := map[string]string{}
	for _, m := range all {
		over[m.model] = m.differ.over()
	}
	if !slices.ContainsFunc(t.Rows, func(row []results.Cell) bool { return over[row[0].Text] != "" }) {
		return
	}
	t.Columns = append(t.Columns, results.Column{Name: results.PooledOver, Title: "Pooled over", Help: "machines that the row's times, rates, energies and prices are of; the table " + apart + " has each apart"})
	for i, row := range t.Rows {
		t.Rows[i] = append(slices.Clone(row), Text(over[row[0].Text]))
	}
}

// mixes says whether a unit is of what depends on the machine.
func mixes(unit string, man results.Manifest) bool {
	switch unit {
	case "s", "ms", "h", "J", "W", "kWh":
		return true
	case "":
		return false
	}
	return strings.HasSuffix(unit, "/s") || strings.HasSuffix(unit, "/J") || man.Cost != nil && unit == man.Cost.Currency
}

// MachineTable is the table of a store's hosts, its caveats, and a sentence for
// a methods section; false: it has one, or does not know them.
func MachineTable(sessions []results.Session) (t results.Table, warnings, methods []string, several bool) {
	t = results.Table{Name: "machine-hosts", Title: "Hosts", Columns: []results.Column{
		TextColumn("host", "Host"), CountColumn("sessions", "Sessions", "calls of run"), TextColumn("platform", "System"), TextColumn("cpu", "Processor"),
		CountColumn("cores", "Cores", ""), SignificantColumn("memory", "Memory", "GiB", ""), TextColumn("gpus", "GPUs"), TextColumn("drivers", "Drivers"),
		TextColumn("assay", "assay"), SignificantColumn("clock", "Clock ahead", "ms", "of the clock that all hosts were compared with; of the last session that was compared"), SignificantColumn("clock_bound", "±", "ms", ""),
	}}
	by := map[string][]results.Host{}
	for _, s := range sessions {
		if s.Host != nil {
			by[s.Host.Name] = append(by[s.Host.Name], *s.Host)
		}
	}
	if len(by) < 2 {
		return t, nil, nil, false
	}
	versions := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		hosts := by[name]
		var platforms, cpus, gpus, drivers, version []string
		clock, bound := &results.Estimate{Why: "nobody compared it"}, &results.Estimate{Why: "nobody compared it"}
		for _, h := range hosts {
			once(&platforms, h.Platform)
			once(&cpus, h.CPU)
			once(&gpus, names(h.GPUs))
			once(&version, h.Version)
			for _, g := range h.GPUs {
				once(&drivers, g.Driver)
			}
			if c := h.Clock; c != nil {
				ms, b := c.Offset.Seconds()*1000, c.Bound.Seconds()*1000
				clock, bound = &results.Estimate{Value: &ms, N: 1}, &results.Estimate{Value: &b, N: 1}
			}
		}
		for _, v := range version {
			versions[v] = append(versions[v], name)
		}
		last := hosts[len(hosts)-1]
		cores, memory := &results.Estimate{Why: "it is not known"}, &results.Estimate{Why: "it is not known"}
		if last.Cores > 0 {
			cores = &results.Estimate{Value: new(float64(last.Cores)), N: 1}
		}
		if last.Memory > 0 {
			memory = &results.Estimate{Value: new(float64(last.Memory) / (1 << 30)), N: 1}
		}
		list := func(l []string) results.Cell { return Text(strings.Join(l, "; ")) }
		t.Rows = append(t.Rows, []results.Cell{Text(name), Counted(len(hosts), len(sessions)), list(platforms), list(cpus), Value(cores), Value(memory),
			list(gpus), list(drivers), list(version), Value(clock), Value(bound)})
	}
	if len(versions) > 1 {
		var parts []string
		for _, v := range slices.Sorted(maps.Keys(versions)) {
			parts = append(parts, v+" on "+strings.Join(versions[v], ", "))
		}
		warnings = append(warnings, "Hosts ran different versions of assay: "+strings.Join(parts, "; ")+".")
	}
	methods = append(methods, fmt.Sprintf("Trials were asked from %d hosts; the table of hosts says what each is.", len(by)))
	return t, warnings, methods, true
}

// once adds what is known and not there yet.
func once(to *[]string, s string) {
	if s != "" && !slices.Contains(*to, s) {
		*to = append(*to, s)
	}
}

// names are GPUs, equal ones counted.
func names(gpus []results.HostGPU) string {
	var ses results.Session
	var h results.Hold
	for _, g := range gpus {
		ses.Devices = append(ses.Devices, results.Watched{ID: g.ID, Name: g.Name})
		h.GPUs = append(h.GPUs, g.ID)
	}
	return ses.GPUNames(h)
}
