package doctor

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"assay/backends"
	"assay/results"
)

// Station is what is known of one machine of several that are to work on a run.
type Station struct {
	From     string                       `json:"from"` // who says so: a file, a database
	Host     results.Host                 `json:"host"`
	Models   map[string]backends.Identity `json:"models"` // that its servers answer as, by name in bench.yaml
	Problems int                          `json:"problems"`
}

// ReadStation reads what assay doctor --json wrote on a machine.
func ReadStation(from string, b []byte) (Station, error) {
	var d struct {
		Servers []struct {
			Models []struct {
				Name     string
				Identity backends.Identity
			}
		}
		Machine  *struct{ Facts *results.Host }
		Findings []Finding
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return Station{}, fmt.Errorf("%s: expected what assay doctor --json prints, found what is no such JSON: %w", from, err)
	}
	if d.Machine == nil || d.Machine.Facts == nil || d.Machine.Facts.Name == "" {
		return Station{}, fmt.Errorf("%s: expected what assay doctor --json of this version prints, found no machine.facts with a name; make it again there", from)
	}
	s := Station{From: from, Host: *d.Machine.Facts, Models: map[string]backends.Identity{}}
	for _, server := range d.Servers {
		for _, m := range server.Models {
			if m.Identity.Server != "" { // else it did not answer
				s.Models[m.Name] = m.Identity
			}
		}
	}
	for _, f := range d.Findings {
		if f.Level == problem {
			s.Problems++
		}
	}
	return s, nil
}

// sure is the offset of a clock from which on times of day mislead people.
const sure = 1e9 // ns

// Compare says in what machines differ that are to work on one run: what keeps their results
// from being joined is a problem, what their times and energies depend on a warning.
func Compare(all []Station) []Finding {
	var out []Finding
	say := func(l level, about, text, do string) { out = append(out, Finding{l, about, text, do}) }
	count := map[string]int{}
	for _, s := range all {
		if count[s.Host.Name]++; count[s.Host.Name] == 2 {
			say(warning, "host "+s.Host.Name, "two machines have this name, so that tables cannot tell them apart", "set ASSAY_HOST to another name on one of them")
		}
		if s.Problems > 0 {
			say(problem, "host "+s.Host.Name, fmt.Sprintf("%d problems of its own stand in %s", s.Problems, s.From), "run assay doctor there")
		}
		if c := s.Host.Clock; c != nil && math.Abs(float64(c.Offset))-float64(c.Bound) > sure {
			way := "ahead"
			if c.Offset < 0 {
				way = "behind"
			}
			say(warning, "host "+s.Host.Name, fmt.Sprintf("its clock is %s by %.1f s (± %.1f s): no time is measured by it, but times of day are off", way, math.Abs(c.Offset.Seconds()), c.Bound.Seconds()), "start its time service, as chrony or systemd-timesyncd")
		}
	}
	same := func(l level, about, do string, of func(results.Host) string) {
		by := map[string][]string{}
		for _, s := range all {
			v := of(s.Host)
			by[v] = append(by[v], s.Host.Name)
		}
		var parts []string
		for _, v := range slices.Sorted(maps.Keys(by)) {
			what := v
			if what == "" {
				what = "not known"
			}
			parts = append(parts, what+" ("+strings.Join(by[v], ", ")+")")
		}
		if len(parts) > 1 {
			say(l, about, strings.Join(parts, "; "), do)
			return
		}
		say(fine, about, "the same on all: "+parts[0], "")
	}
	const apart = "tables will have times and energies by host; to pool them, use equal machines"
	same(warning, "assay", "install one version everywhere", func(h results.Host) string { return h.Version })
	same(warning, "GPUs", apart, func(h results.Host) string { return of(h.GPUs, func(g results.HostGPU) string { return g.Name }) })
	same(warning, "drivers", "install one driver everywhere: "+apart, func(h results.Host) string { return of(h.GPUs, func(g results.HostGPU) string { return g.Driver }) })
	same(note, "processor", "", func(h results.Host) string { return h.CPU })
	same(note, "system", "", func(h results.Host) string { return strings.TrimSpace(h.Platform + " " + h.Arch) })
	return append(out, models(all)...)
}

// of are the different values of GPUs; "none" without any.
func of(gpus []results.HostGPU, value func(results.HostGPU) string) string {
	var out []string
	for _, g := range gpus {
		if v := value(g); v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	if len(gpus) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// models says where a model is not the same one everywhere, or not everywhere.
func models(all []Station) (out []Finding) {
	seen := map[string]bool{}
	for _, s := range all {
		for m := range s.Models {
			seen[m] = true
		}
	}
	for _, m := range slices.Sorted(maps.Keys(seen)) {
		var first *Station
		var lack, differ []string
		for i, s := range all {
			is, ok := s.Models[m]
			switch {
			case !ok:
				lack = append(lack, s.Host.Name)
				continue
			case first == nil:
				first = &all[i]
				continue
			}
			was := first.Models[m]
			was.Path, is.Path = "", "" // each machine has its own
			for _, ch := range is.ChangesFrom(was) {
				differ = append(differ, fmt.Sprintf("%s, from %s to %s", ch, first.Host.Name, s.Host.Name))
			}
		}
		switch {
		case len(differ) > 0:
			out = append(out, Finding{problem, "model " + m, "is not the same one everywhere, so that what was answered could not be joined: " + strings.Join(differ, "; "), "serve the same weights with the same server and settings"})
		case len(lack) == 0:
			out = append(out, Finding{fine, "model " + m, "is the same one on all", ""})
		}
		if len(lack) > 0 {
			out = append(out, Finding{note, "model " + m, "is not served on " + strings.Join(lack, ", "), ""})
		}
	}
	return out
}
