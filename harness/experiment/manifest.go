package experiment

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/harness/config"
	"assay/harness/judge"
	"assay/harness/run"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
)

// Synthetic says why results of this bench are synthetic; empty: they are not,
// as far as bench.yaml tells.
func (b *Bench) Synthetic() []string {
	var why []string
	for _, d := range b.Config.Datasets {
		if set := b.Sets[d.Name]; set != nil && set.Synthetic {
			why = append(why, fmt.Sprintf("dataset %s is made of phantom cases", d.Name))
		}
	}
	for _, m := range b.Config.Models {
		for _, be := range b.Config.Backends {
			if be.Name == m.Backend && be.Phantom() {
				why = append(why, fmt.Sprintf("model %s is a phantom reader", m.Name))
			}
		}
	}
	return why
}

// Judges is what each rubric of each study asks, by study and rubric.
func (b *Bench) Judges() map[string]map[string][]string {
	all := map[string]map[string][]string{}
	for _, s := range b.Config.Studies {
		all[s.Name] = map[string][]string{}
		for _, r := range s.Rubrics {
			all[s.Name][r.Name] = r.Judges
		}
	}
	return all
}

// Manifest describes the run as it would be created now, but for the program and
// the machine.
func (b *Bench) Manifest() results.Manifest {
	m := results.Manifest{
		Name: b.Config.Name, Created: time.Now().UTC().Truncate(time.Second), Seed: b.Config.Seed,
		Config: string(b.Config.Text), Digest: results.DigestOf(b.Config.Text), Settings: b.Config.Settings(),
		Judges: map[string]string{}, Prompts: map[string]results.Digest{}, Rubrics: b.Judges(), Cost: b.Config.Cost,
		Synthetic: b.Synthetic(), StudySettings: map[string]results.StudySetting{},
		ModelSettings: map[string]results.ModelSetting{}, JudgeSettings: map[string]results.ModelSetting{},
	}
	for _, d := range b.Config.Datasets {
		if set := b.Sets[d.Name]; set != nil {
			info := results.DatasetInfo{Name: d.Name, Kind: d.Kind, Items: len(set.Items), Digest: results.Digest(set.Digest)}
			if set.Synthetic {
				info.Cases = &d.Items
			} else {
				info.MaxSide = &d.MaxSide
			}
			info.MaxPixels = d.MaxPixels
			lost := map[string]bool{}
			for _, p := range set.Problems {
				if p.Row > 0 {
					lost[fmt.Sprint(p.File, ":", p.Row)] = true
				}
			}
			info.Lost = len(lost)
			m.Datasets = append(m.Datasets, info)
		}
	}
	for _, s := range b.Config.Studies {
		m.StudySettings[s.Name] = s.Setting()
	}
	for _, md := range b.Config.Models {
		m.ModelSettings[md.Name] = b.Config.Asked(md)
	}
	for _, j := range b.Config.Judges {
		m.Judges[j.Name] = j.Kind
		if kind, _ := judge.KindOf(j.Kind); kind.About != nil {
			m.Judges[j.Name] = kind.About(j.Values)
		}
		if asked, ok := b.Config.AskedJudge(j); ok {
			m.Judges[j.Name] = fmt.Sprintf("%s on %s", j.Model, j.Backend)
			if j.Hosted != nil {
				m.Judges[j.Name] = fmt.Sprintf("%s at %s", j.Model, asked.Server)
			}
			m.JudgeSettings[j.Name] = asked
		}
	}
	for _, st := range b.Studies {
		for name, text := range st.Texts {
			if name == study.Unread && len(m.Rubrics[st.Name][name]) == 0 {
				continue // stores of before know no such prompt
			}
			m.Prompts[st.Name+"."+name] = results.DigestOf([]byte(text))
		}
	}
	return m
}

// mixing is how the present experiment differs from the stored one where that
// would mix results; empty: it does not.
func (b *Bench) mixing(old, now results.Manifest) []config.Change {
	flat := func(m results.Manifest) map[string]string {
		out := map[string]string{}
		for k, v := range m.Settings {
			out[k] = v
		}
		for _, d := range m.Datasets {
			out["datasets."+d.Name+" (content)"] = string(d.Digest)
		}
		for name, digest := range m.Prompts {
			out["prompts."+name+" (text)"] = string(digest)
		}
		return out
	}
	return slices.DeleteFunc(config.Diff(flat(old), flat(now)), func(ch config.Change) bool { return b.ofJudges(ch.Path) })
}

// mayGoOn says whether a store that was made by old may be gone on with: the changes
// since of settings that nobody answered under, or a *MixesError.
func (b *Bench) mayGoOn(old, now results.Manifest, stored func() (map[results.Key]results.Outcome, error)) ([]config.Change, error) {
	changes := b.mixing(old, now)
	if len(changes) == 0 {
		return nil, nil
	}
	outcomes, err := stored()
	if err != nil {
		return nil, err
	}
	free, rest := b.allowed(changes, outcomes)
	if len(rest) == 0 {
		return free, nil
	}
	diff := ""
	for _, ch := range rest {
		diff += "  " + ch.String() + "\n"
	}
	return nil, &MixesError{b.Config.File, b.Config.Store, diff}
}

// allowed splits changes into those of settings that no stored answer was given
// under, and the rest. Only what goes into requests can be of the first kind.
func (b *Bench) allowed(changes []config.Change, stored map[results.Key]results.Outcome) (free, rest []config.Change) {
	used := map[string]bool{} // "models.NAME.", "studies.NAME.", "ops.NAME." and "texts.NAME." that have an answer
	for k, o := range stored {
		if !o.Failed || o.Invalids > 0 || o.Kind == run.KindSwapped {
			used["models."+k.Model+"."], used["studies."+k.Study+"."] = true, true
			if own, ok := strings.CutPrefix(k.Condition, perturb.FamilyOwn); ok {
				name, _, _ := strings.Cut(own, "@")
				used["ops."+name+"."] = true
			}
			if texts, ok := strings.CutPrefix(k.Condition, perturb.FamilyTexts); ok {
				name, _, _ := strings.Cut(texts, "@")
				used["texts."+name+"."] = true
			}
		}
	}
	for _, ch := range changes {
		scope := ""
		for _, m := range b.Config.Models {
			if p := "models." + m.Name + "."; strings.HasPrefix(ch.Path, p) && len(p) > len(scope) {
				scope = p
			}
		}
		for _, st := range b.Config.Studies {
			p := "studies." + st.Name + "."
			if strings.HasPrefix(ch.Path, p+"sampling.") || ch.Path == p+"timed" || ch.Path == p+"cache" || strings.HasPrefix(ch.Path, "prompts."+st.Name+".") {
				scope = p
			}
		}
		for _, own := range b.Config.Own {
			p := "texts." + own.Words + "."
			if _, texts := own.Texts(); !texts {
				p = "ops." + own.Ops[0].Name + "."
			}
			if strings.HasPrefix(ch.Path, p) {
				scope = p
			}
		}
		if scope == "" || used[scope] {
			rest = append(rest, ch)
		} else {
			free = append(free, ch)
		}
	}
	return free, rest
}

// conditions are the conditions of all studies as scores need them.
// Those that a store holds and bench.yaml no longer names stay: their trials do.
func (b *Bench) conditions(old results.Manifest) map[string]map[string]json.RawMessage {
	all := map[string]map[string]json.RawMessage{}
	for name, known := range old.Conditions {
		all[name] = maps.Clone(known)
	}
	for name, st := range b.Studies {
		if len(st.Described) > 0 && all[name] == nil {
			all[name] = map[string]json.RawMessage{}
		}
		maps.Copy(all[name], st.Described)
	}
	return all
}
