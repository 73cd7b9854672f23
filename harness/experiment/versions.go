package experiment

import (
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
				if about := judgeIn(man, name); about != nil {
					out = append(out, versionOf(man, study, r, name, about))
				}
			}
		}
	}
	return out
}

// versionOf is a judge under a rubric. Only a model reads the prompt and is held to
// the schema while it writes.
func versionOf(man results.Manifest, study string, r judge.Rubric, name string, about map[string]string) results.Version {
	if _, asks := about["model"]; asks {
		about["prompt"], about["schema"] = string(man.Prompts[study+"."+r.Name]), string(results.DigestOf(r.Schema))
	}
	return results.VersionOf(r.Name, name, about)
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
		for _, r := range st.Rubrics {
			if path == "prompts."+name+"."+r.Name+" (text)" {
				return true
			}
		}
	}
	return false
}
