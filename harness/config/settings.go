package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/backends"
	"assay/harness/dataset"
	"assay/perturb"
	"assay/results"
)

// Settings are the resolved settings by path whose change would mix results of
// different kinds in one store. What only decides how long to wait or how often
// to try is not among them, nor is where a server stands, nor a prompt (the
// manifest has its digest). Every path of a named thing is present, so that a
// setting that was left out and one that is given are compared.
func (c *Config) Settings() map[string]string {
	m := map[string]string{
		"seed":  strconv.FormatUint(c.Seed, 10),
		"rules": c.Rules,
	}
	for _, d := range c.Datasets {
		p := JoinPath("datasets", d.Name)
		m[p+".kind"] = d.Kind
		if d.Kind == dataset.KindPhantom {
			m[p+".items"], m[p+".size"] = strconv.Itoa(d.Items), strconv.Itoa(d.Size)
			if d.Images > 0 { // stores of before know no such setting
				m[p+".images"] = strconv.Itoa(d.Images)
			}
		} else {
			m[p+".path"], m[p+".max_side"] = d.Written["path"], strconv.Itoa(d.MaxSide)
			if d.Metadata { // stores of before know no such setting
				m[p+".metadata"] = "keep"
			}
		}
		if d.Cluster != "" {
			m[p+".cluster"] = d.Cluster
		}
		if d.MaxImages > 0 {
			m[p+".max_images"] = strconv.Itoa(d.MaxImages)
		}
		if d.MaxPixels > 0 {
			m[p+".max_pixels"] = strconv.Itoa(d.MaxPixels)
		}
		if d.Has("split") {
			m[p+".split"] = d.Split
		}
		if len(d.DICOM) > 0 {
			m[p+".dicom"] = strings.Join(d.DICOM, " ")
		}
		if len(d.Columns) > 0 {
			if b, err := json.Marshal(d.Columns); err == nil { // keys are sorted
				m[p+".columns"] = string(b)
			}
		}
		for _, key := range []string{"knowledge", "regions"} {
			if d.Has(key) {
				m[p+"."+key] = cmp.Or(d.Written[key], "none")
			}
		}
	}
	for _, md := range c.Models {
		p, asked := JoinPath("models", md.Name), c.Asked(md)
		serverSettings(m, p, asked)
		m[p+".think"] = "the model's own"
		if asked.Think != nil {
			m[p+".think"] = strconv.FormatBool(*asked.Think)
		}
	}
	for _, j := range c.Judges {
		p := JoinPath("judges", j.Name)
		m[p+".kind"] = j.Kind
		if asked, ok := c.AskedJudge(j); ok {
			serverSettings(m, p, asked)
			samplingSettings(m, p, *asked.Sampling)
		}
		for _, k := range j.Keys {
			if k.File { // where it lies makes no difference
				m[p+".content"] = string(results.DigestOf(j.Content))
			} else {
				m[p+"."+k.Name] = j.Values[k.Name]
			}
		}
	}
	for _, own := range c.Own {
		name, texts := own.Texts()
		if texts && own.Reword == nil {
			m[JoinPath("texts", name)+".content"] = own.Program
			continue
		}
		p, program := JoinPath("texts", name), own.Reword
		if !texts {
			p, program = JoinPath("ops", own.Ops[0].Name), own.Ops[0].Program
		}
		m[p+".program"], m[p+".params"] = program.Digest, "none"
		var usual []string
		for _, param := range program.Params {
			usual = append(usual, param.Name+" "+short(param.Default))
		}
		if usual != nil {
			m[p+".params"] = strings.Join(usual, ", ")
		}
	}
	for _, s := range c.Studies {
		p := JoinPath("studies", s.Name)
		m[p+".dataset"] = s.Dataset
		m[p+".timed"] = strconv.FormatBool(s.Timed)
		if s.Timed {
			m[p+".cache"], m[p+".in_flight"] = s.Cache, "1"
		}
		if len(s.Levels) > 0 { // more levels may come
			m[p+".in_flight"] = "a load sweep"
		}
		m[p+".select.per_type"] = "all"
		if s.PerType > 0 {
			m[p+".select.per_type"] = strconv.Itoa(s.PerType)
		}
		samplingSettings(m, p, s.Sampling)
		for rubric, name := range s.NeedsFrom {
			m[p+".needs_from."+rubric] = name
		}
		if len(s.Conditions)+len(s.Sweeps) > 0 || s.Grid != (perturb.Grid{}) {
			m[p+".image"] = "every one"
			if s.Image > 0 {
				m[p+".image"] = strconv.Itoa(s.Image)
			}
		}
	}
	return m
}

// Setting is what scores and reports need of how a study is run.
func (s Study) Setting() results.StudySetting {
	out := results.StudySetting{Dataset: s.Dataset, Timed: &s.Timed, PerType: &s.PerType, Sampling: &s.Sampling, SLO: s.SLO}
	if len(s.Levels) == 0 {
		out.InFlight = &s.InFlight
	}
	return out
}

// Asked is how a model is asked.
func (c *Config) Asked(m backends.Model) results.ModelSetting {
	asked := c.asked(m.Backend, m.Model)
	asked.Think, asked.Groups, asked.Parameters = m.Think, m.Groups, m.Parameters
	return asked
}

// AskedJudge is how a judge is asked; false: it is no model.
func (c *Config) AskedJudge(j Judge) (results.ModelSetting, bool) {
	if j.Hosted != nil {
		return results.ModelSetting{Model: j.Model, Server: "hosted " + j.Hosted.Provider, Options: j.Hosted.options(), Sampling: &j.Sampling}, true
	}
	if j.Kind != "model" {
		return results.ModelSetting{}, false
	}
	asked := c.asked(j.Backend, j.Model)
	asked.Sampling = &j.Sampling
	return asked, true
}

func (c *Config) asked(backend, model string) results.ModelSetting {
	b, _ := c.Backend(backend)
	asked := results.ModelSetting{Model: model, Server: b.Kind}
	if b.Protocol != "" {
		asked.Server += " " + b.Protocol
	}
	if b.Caches {
		asked.Server += " with caches"
	}
	asked.Omit = b.Omit
	if len(b.Options) > 0 {
		text, err := json.Marshal(b.Options)
		if err != nil { // Parse lets in nothing that JSON has not
			panic(fmt.Sprintf("config: internal error: options of %s: %v", b.Name, err))
		}
		asked.Options = text
	}
	return asked
}

// options are what else of a hosted API may change what it says; nil: nothing. What may
// be dropped is not among them: the same settings are sent in the same way.
func (h *hostedTerms) options() json.RawMessage {
	o := struct {
		URL  string   `json:"url,omitempty"`
		TopP *float64 `json:"top_p,omitempty"`
	}{h.URL, h.TopP}
	text, err := json.Marshal(o)
	if err != nil {
		panic("config: internal error: options of a hosted judge: " + err.Error())
	}
	if string(text) == "{}" {
		return nil
	}
	return text
}

func serverSettings(m map[string]string, p string, asked results.ModelSetting) {
	m[p+".model"], m[p+".backend.kind"], m[p+".backend.options"] = asked.Model, asked.Server, "{}"
	if len(asked.Omit) > 0 { // stores of before know no such setting
		m[p+".backend.kind"] += " without " + strings.Join(asked.Omit, ", ")
	}
	if asked.Options != nil {
		m[p+".backend.options"] = string(asked.Options)
	}
}

func samplingSettings(m map[string]string, p string, s backends.Sampling) {
	m[p+".sampling.temperature"] = strconv.FormatFloat(s.Temperature, 'g', -1, 64)
	m[p+".sampling.max_tokens"] = strconv.Itoa(s.MaxTokens)
	m[p+".sampling.seed"] = "none"
	if s.Seed != nil {
		m[p+".sampling.seed"] = strconv.FormatInt(*s.Seed, 10)
	}
}

// Backend is the one of a name; false: there is none.
func (c *Config) Backend(name string) (backends.Server, bool) {
	i := slices.IndexFunc(c.Backends, func(b backends.Server) bool { return b.Name == name })
	if i < 0 {
		return backends.Server{}, false
	}
	return c.Backends[i], true
}

// Change is a setting that differs between a store and a bench.yaml.
type Change struct {
	Path string `json:"path"`
	Old  string `json:"old"` // in the store
	New  string `json:"new"` // in bench.yaml
}

func (c Change) String() string {
	return fmt.Sprintf("%s: the store has %s, bench.yaml has %s", c.Path, c.Old, c.New)
}

// Diff is the settings that would mix results, by path. A path on one side
// only, as of a new model, mixes nothing.
func Diff(old, new map[string]string) []Change {
	var out []Change
	for _, path := range slices.Sorted(maps.Keys(old)) {
		if now, both := new[path]; both && now != old[path] {
			out = append(out, Change{path, old[path], now})
		}
	}
	return out
}
