package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/backends"
	"assay/results"
)

// agreed is the manifest of all sources, or a *DiffersError.
func agreed(sources []*source) (results.Manifest, error) {
	first := sources[0]
	for _, s := range sources[1:] {
		if d := differences(first.man, s.man); len(d) > 0 {
			return results.Manifest{}, &DiffersError{first.path, s.path, d}
		}
		if d := judgedDifferently(first.versions, s.versions); len(d) > 0 {
			return results.Manifest{}, &DiffersError{first.path, s.path, d}
		}
	}
	man := first.man
	for _, s := range sources[1:] {
		man = both(man, s.man)
	}
	return man, nil
}

// differences is where results would be mixed.
func differences(a, b results.Manifest) []string {
	var out []string
	say := func(what string, x, y any) { out = append(out, fmt.Sprintf("%s: %v and %v", what, x, y)) }
	if a.Name != b.Name {
		say("name", a.Name, b.Name)
	}
	if a.Seed != b.Seed {
		say("seed", a.Seed, b.Seed)
	}
	flat := func(m results.Manifest) map[string]string {
		all := maps.Clone(m.Settings)
		if all == nil {
			all = map[string]string{}
		}
		for _, d := range m.Datasets {
			all["datasets."+d.Name+" (content)"] = string(d.Digest)
		}
		for name, digest := range m.Prompts {
			all["prompts."+name+" (text)"] = string(digest)
		}
		return all
	}
	x, y := flat(a), flat(b)
	for _, k := range slices.Sorted(maps.Keys(union(x, y))) {
		v, in := x[k]
		w, also := y[k]
		switch {
		case in && !also:
			say(k, v, "nothing")
		case also && !in:
			say(k, "nothing", w)
		case v != w:
			say(k, v, w)
		}
	}
	models := func(what string, x, y map[string]backends.Identity) {
		for _, name := range slices.Sorted(maps.Keys(x)) {
			if is, also := y[name]; also {
				was := x[name]
				was.Path, is.Path = "", "" // each machine has its own
				for _, ch := range is.ChangesFrom(was) {
					out = append(out, what+" "+name+": "+ch)
				}
			}
		}
	}
	models("model", a.Models, b.Models)
	models("judge", a.JudgeModels, b.JudgeModels)
	return out
}

// judgedDifferently names the judges whose present version is not the same.
func judgedDifferently(a, b map[int64]mergeVersion) []string {
	current := func(all map[int64]mergeVersion) map[[2]string]string {
		out := map[[2]string]string{}
		for _, v := range all {
			if v.current {
				out[[2]string{v.rubric, v.judge}] = v.digest
			}
		}
		return out
	}
	var out []string
	y := current(b)
	for k, digest := range current(a) {
		if other, also := y[k]; also && other != digest {
			out = append(out, fmt.Sprintf("judge %s under %s: settings or prompt %.12s and %.12s; assay judge on one of them brings it up to date", k[1], k[0], digest, other))
		}
	}
	slices.Sort(out)
	return out
}

// both is a manifest that holds what either says. It does not matter which is first.
func both(a, b results.Manifest) results.Manifest {
	m := a
	if b.Created.Before(a.Created) {
		m.Created = b.Created
	}
	if b.Digest < a.Digest {
		m.Digest, m.Config = b.Digest, b.Config
	}
	m.Version, m.Revision = words(a.Version, b.Version), words(a.Revision, b.Revision)
	m.Host = maps.Clone(a.Host)
	for k, v := range b.Host {
		if m.Host == nil {
			m.Host = map[string]string{}
		}
		m.Host[k] = words(m.Host[k], v)
	}
	m.Datasets = lower(a.Datasets, b.Datasets)
	m.Models, m.JudgeModels = union(a.Models, b.Models), union(a.JudgeModels, b.JudgeModels)
	m.ServedAs = maps.Clone(a.ServedAs)
	for model, names := range b.ServedAs {
		if m.ServedAs == nil {
			m.ServedAs = map[string][]string{}
		}
		m.ServedAs[model] = slices.Compact(slices.Sorted(slices.Values(slices.Concat(m.ServedAs[model], names))))
	}
	m.Judges, m.Prompts, m.Rubrics = union(a.Judges, b.Judges), union(a.Prompts, b.Prompts), union(a.Rubrics, b.Rubrics)
	m.StudySettings, m.ModelSettings, m.JudgeSettings = union(a.StudySettings, b.StudySettings), union(a.ModelSettings, b.ModelSettings), union(a.JudgeSettings, b.JudgeSettings)
	m.Conditions = maps.Clone(a.Conditions)
	for study, of := range b.Conditions {
		if m.Conditions == nil {
			m.Conditions = map[string]map[string]json.RawMessage{}
		}
		m.Conditions[study] = union(m.Conditions[study], of)
	}
	if !slices.Equal(a.Synthetic, b.Synthetic) {
		m.Synthetic = slices.Concat(a.Synthetic, b.Synthetic)
		slices.Sort(m.Synthetic)
		m.Synthetic = slices.Compact(m.Synthetic)
	}
	if !slices.Equal(a.Imported, b.Imported) {
		m.Imported = slices.Concat(a.Imported, b.Imported)
		slices.SortFunc(m.Imported, func(x, y results.Import) int {
			return cmp.Or(cmp.Compare(x.Model, y.Model), cmp.Compare(x.Study, y.Study), cmp.Compare(x.Digest, y.Digest), cmp.Compare(x.File, y.File),
				cmp.Compare(x.Format, y.Format), cmp.Compare(x.Answers, y.Answers), cmp.Compare(x.Failures, y.Failures))
		})
		m.Imported = slices.Compact(m.Imported)
	}
	m.Cost, m.Planned, m.People = lower(a.Cost, b.Cost), lower(a.Planned, b.Planned), people(a.People, b.People)
	return m
}

// people has the draws, splits and labels of both. The last draw of a study is the one that
// labels are of, so draws stay in the order in which they were made.
func people(a, b *results.People) *results.People {
	if a == nil || b == nil {
		return lower(a, b)
	}
	p := &results.People{Splits: union(a.Splits, b.Splits)}
	type draw struct {
		results.Draw
		json string
	}
	var draws []draw
	for _, d := range slices.Concat(a.Draws, b.Draws) {
		draws = append(draws, draw{d, asJSON(d)})
	}
	slices.SortFunc(draws, func(x, y draw) int { return cmp.Or(x.Made.Compare(y.Made), cmp.Compare(x.json, y.json)) })
	for _, d := range slices.CompactFunc(draws, func(x, y draw) bool { return x.json == y.json }) {
		p.Draws = append(p.Draws, d.Draw)
	}
	for study := range union(a.Labels, b.Labels) {
		type of struct{ drawn, axis string }
		all := map[of]results.Label{}
		for _, l := range slices.Concat(a.Labels[study], b.Labels[study]) {
			k := of{l.Case, l.Axis}
			if have, ok := all[k]; ok {
				// That of more raters was made later, or of more files.
				if c := cmp.Compare(have.Raters, l.Raters); c > 0 || c == 0 && asJSON(have) <= asJSON(l) {
					continue
				}
			}
			all[k] = l
		}
		if p.Labels == nil {
			p.Labels = map[string][]results.Label{}
		}
		p.Labels[study] = slices.SortedFunc(maps.Values(all), func(x, y results.Label) int { return cmp.Or(cmp.Compare(x.Case, y.Case), cmp.Compare(x.Axis, y.Axis)) })
	}
	return p
}

// asJSON is a part of a manifest as it is stored.
func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("store: internal error: part of a manifest is no JSON: " + err.Error())
	}
	return string(b)
}

// union has the entries of both; where they differ, the one whose JSON is lower.
func union[K cmp.Ordered, V any](a, b map[K]V) map[K]V {
	if a == nil {
		return b
	}
	out := maps.Clone(a)
	for k, v := range b {
		if have, ok := out[k]; ok {
			v = lower(have, v)
		}
		out[k] = v
	}
	return out
}

// lower is that whose JSON is lower; one that holds nothing is not taken.
func lower[V any](a, b V) V {
	x, y := asJSON(a), asJSON(b)
	empty := func(s string) bool { return s == "null" || s == "[]" || s == "{}" || s == `""` }
	if empty(y) || !empty(x) && x <= y {
		return a
	}
	return b
}

// between separates what several stores say of their machine or their assay.
const between = " | "

// words joins what stores say, each once, in order.
func words(a, b string) string {
	var all []string
	for _, s := range append(strings.Split(a, between), strings.Split(b, between)...) {
		if s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	slices.Sort(all)
	return strings.Join(all, between)
}
