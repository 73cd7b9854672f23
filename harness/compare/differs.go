package compare

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/results"
)

// differences notes what was not the same in two runs; true: times and energies of one
// say nothing of those of the other.
func differences(a, b *Run, out *Comparison) bool {
	note := func(format string, args ...any) { out.Notes = append(out.Notes, fmt.Sprintf(format, args...)) }
	x, y := a.Manifest, b.Manifest
	if x.Seed != y.Seed {
		note("seeds differ (%d, %d): other items may have been drawn", x.Seed, y.Seed)
	}
	for _, name := range slices.Sorted(maps.Keys(x.Prompts)) {
		if d, ok := y.Prompts[name]; ok && d != x.Prompts[name] {
			note("prompt %s differs (%.12s, %.12s)", name, x.Prompts[name], d)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(x.Settings)) {
		if v, ok := y.Settings[k]; ok && v != x.Settings[k] {
			note("%s: %s in A, %s in B", k, x.Settings[k], v)
		}
	}
	alone := func(in, other map[string]string, run string) {
		for _, k := range slices.Sorted(maps.Keys(in)) {
			// A model that is in one run only has no pairs, or another name.
			if _, also := other[k]; !also && !strings.HasPrefix(k, "models.") {
				note("%s: only in %s (%s)", k, run, in[k])
			}
		}
	}
	alone(x.Settings, y.Settings, "A")
	alone(y.Settings, x.Settings, "B")
	for _, name := range slices.Sorted(maps.Keys(x.Models)) {
		if is, ok := y.Models[name]; ok {
			for _, ch := range is.ChangesFrom(x.Models[name]) {
				note("model %s: %s", name, ch)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(x.JudgeModels)) {
		if is, ok := y.JudgeModels[name]; ok {
			for _, ch := range is.ChangesFrom(x.JudgeModels[name]) {
				note("judge %s: %s", name, ch)
			}
		}
	}
	for _, j := range slices.Sorted(maps.Keys(x.Judges)) {
		if was, is := x.Judges[j], y.Judges[j]; is != "" && was != is {
			note("judge %s is %q in A and %q in B", j, was, is)
		}
	}
	return machines(a, b, out.other, note)
}

// machines notes what bears on times: devices, processor, concurrency, caches. other is
// what B calls a model of A.
func machines(a, b *Run, other func(model string) string, note func(string, ...any)) bool {
	x, y := a.Manifest, b.Manifest
	found := false
	differ := func(what, in, other string) {
		if in != other {
			note("%s: %s in A, %s in B", what, orNone(in), orNone(other))
			found = true
		}
	}
	differ("GPUs", strings.Join(a.GPUs, ", "), strings.Join(b.GPUs, ", "))
	if len(a.GPUs) == 0 && len(b.GPUs) == 0 {
		differ("processor", x.Host["cpu"], y.Host["cpu"])
	}
	if len(a.Cards) > 0 && len(b.Cards) > 0 && !slices.Equal(a.Cards, b.Cards) {
		note("energies are of other cards (%s in A, %s in B), each of whose sensors has a gain and an offset of its own: a difference of joules within the absolute uncertainties of both reports may be the sensors'", strings.Join(a.Cards, ", "), strings.Join(b.Cards, ", "))
	}
	if !found { // the same cards: as many of them, with the same driver?
		for _, model := range slices.Sorted(maps.Keys(a.On)) {
			if of := b.On[other(model)]; len(of) > 0 {
				differ("GPUs of model "+model, strings.Join(a.On[model], "; "), strings.Join(of, "; "))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(x.Rubrics)) {
		if _, also := y.Rubrics[name]; !also {
			continue
		}
		differ("study "+name+", timed one at a time", timed(x.Study(name)), timed(y.Study(name)))
		if in, other := x.Study(name).InFlight, y.Study(name).InFlight; in != nil && other != nil {
			differ("study "+name+", requests in flight", strconv.Itoa(*in), strconv.Itoa(*other))
		}
		differ("study "+name+", caches", strings.Join(a.Caches[name], ", "), strings.Join(b.Caches[name], ", "))
	}
	return found
}

func timed(s results.StudySetting) string {
	switch {
	case s.Timed == nil:
		return "not recorded"
	case *s.Timed:
		return "yes"
	}
	return "no"
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
