package experiment

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"assay/harness/judge"
	"assay/results"
)

// versionsIn is what the judges of a manifest are, under each rubric of each study
// that asks them: judgments are made anew where that changes. A judge whose settings
// it does not have is left out.
func (b *Bench) versionsIn(man results.Manifest) []results.Version {
	var out []results.Version
	for _, study := range slices.Sorted(maps.Keys(man.Rubrics)) {
		st := b.Studies[study]
		if st == nil {
			continue
		}
		for _, r := range st.Rubrics {
			for _, name := range man.Rubrics[study][r.Name] {
				if v, ok := b.versionOf(man, study, r, name); ok {
					out = append(out, v)
				}
			}
		}
	}
	return out
}

// versionOf is a judge under a rubric; false: the manifest does not have its settings.
// Only a model reads the prompt and is held to the schema while it writes. What rests
// on another verdict is judged anew where that is.
func (b *Bench) versionOf(man results.Manifest, study string, r judge.Rubric, name string) (results.Version, bool) {
	about := judgeIn(man, name)
	if about == nil {
		return results.Version{}, false
	}
	if _, asks := about["model"]; asks {
		about["prompt"], about["schema"] = string(man.Prompts[study+"."+r.Name]), string(results.DigestOf(r.Schema))
	}
	for _, need := range r.Needs {
		from := cmp.Or(man.NeedsFrom(study, need), name)
		i := slices.IndexFunc(b.Studies[study].Rubrics, func(o judge.Rubric) bool { return o.Name == need })
		v, _ := b.versionOf(man, study, b.Studies[study].Rubrics[i], from)
		about["needs."+need] = from + " " + string(v.Digest)
	}
	return results.VersionOf(r.Name, name, about), true
}

// judgeIn is the settings of a judge in a manifest; nil: it has none.
func judgeIn(man results.Manifest, name string) map[string]string {
	var about map[string]string
	for path, v := range man.Settings {
		key, ok := strings.CutPrefix(path, "judges."+name+".")
		// A name may hold dots.
		longer := func(other string) bool { return len(other) > len(name) && strings.HasPrefix(path, "judges."+other+".") }
		if !ok || slices.ContainsFunc(slices.Collect(maps.Keys(man.Judges)), longer) {
			continue
		}
		if about == nil {
			about = map[string]string{}
		}
		about[key] = v
	}
	return about
}

// ofJudges says whether a difference between manifests is about judging alone: then
// judges judge anew, and trials stay as they are.
func (b *Bench) ofJudges(path string) bool {
	if strings.HasPrefix(path, "judges.") {
		return true
	}
	for name, st := range b.Studies {
		if strings.HasPrefix(path, "studies."+name+".needs_from.") {
			return true
		}
		for _, r := range st.Rubrics {
			if path == "prompts."+name+"."+r.Name+" (text)" {
				return true
			}
		}
	}
	return false
}
