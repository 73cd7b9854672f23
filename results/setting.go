package results

import (
	"encoding/json"
	"strconv"

	"assay/backends"
	"assay/timing"
)

// StudySetting is how a study is run, as bench.yaml has it.
type StudySetting struct {
	Dataset  string             `json:"dataset"`
	Timed    *bool              `json:"timed"`               // false: requests may run beside each other; nil: not recorded
	InFlight *int               `json:"in_flight,omitempty"` // requests beside each other, as it was last set; nil: not recorded, or a load sweep
	PerType  *int               `json:"per_type"`            // items drawn of each question type; 0: all; nil: not recorded
	Sampling *backends.Sampling `json:"sampling,omitempty"`  // nil: not recorded
	SLO      timing.SLO         `json:"slo,omitzero"`
}

// ModelSetting is how a model is asked, or a judge that is a model, as bench.yaml
// has it.
type ModelSetting struct {
	Model    string             `json:"model"`              // its server's name for it
	Server   string             `json:"server"`             // what kind its server is of: "ollama", "phantom vllm with caches"
	Options  json.RawMessage    `json:"options,omitempty"`  // of the server; nil: none
	Omit     []string           `json:"omit,omitempty"`     // fields of requests that were left out
	Think    *bool              `json:"think,omitempty"`    // nil: the model's own default
	Sampling *backends.Sampling `json:"sampling,omitempty"` // of a judge; nil: its study's

	Groups     []string `json:"groups,omitempty"`     // of models, for means over them
	Parameters *float64 `json:"parameters,omitempty"` // nil: as its server says
}

// The methods below read the setting of a thing by name; false: the store does
// not know it. Stores of an older assay hold them as texts by path, in Settings; nobody
// else goes by a path.

// Study is the setting of a study.
func (m Manifest) Study(name string) StudySetting {
	if s, ok := m.StudySettings[name]; ok {
		return s
	}
	at := "studies." + name
	s := StudySetting{Dataset: m.Settings[at+".dataset"], Timed: flag(m.Settings[at+".timed"]), InFlight: whole(m.Settings[at+".in_flight"]), Sampling: m.sampling(at)}
	switch per := m.Settings[at+".select.per_type"]; per {
	case "all":
		s.PerType = new(int)
	default:
		s.PerType = whole(per)
	}
	return s
}

// LoadSweep says whether a study goes through levels of requests in flight.
func (m Manifest) LoadSweep(study string) bool {
	return m.Settings["studies."+study+".in_flight"] == "a load sweep"
}

// NeedsFrom is the judge whose verdict under a rubric the study's other rubrics rest on;
// "": each judge's own.
func (m Manifest) NeedsFrom(study, rubric string) string {
	return m.Settings["studies."+study+".needs_from."+rubric]
}

// Asked is the setting of a model.
func (m Manifest) Asked(model string) (ModelSetting, bool) {
	s, ok := m.ModelSettings[model]
	if !ok {
		return m.asked("models." + model)
	}
	return s, true
}

// AskedJudge is the setting of a judge that is a model.
func (m Manifest) AskedJudge(judge string) (ModelSetting, bool) {
	s, ok := m.JudgeSettings[judge]
	if !ok {
		return m.asked("judges." + judge)
	}
	return s, true
}

func (m Manifest) asked(at string) (s ModelSetting, ok bool) {
	think, known := m.Settings[at+".think"]
	s = ModelSetting{Model: m.Settings[at+".model"], Server: m.Settings[at+".backend.kind"], Think: flag(think), Sampling: m.sampling(at)}
	if o := m.Settings[at+".backend.options"]; o != "" && o != "{}" {
		s.Options = json.RawMessage(o)
	}
	return s, known || s.Model != ""
}

// Sizes is the data set with how many cases it was made of and to which side its
// pictures were scaled down.
func (m Manifest) Sizes(d DatasetInfo) DatasetInfo {
	at := "datasets." + d.Name
	if d.Cases == nil && d.Kind == "phantom" {
		d.Cases = whole(m.Settings[at+".items"])
	}
	if d.MaxSide == nil {
		d.MaxSide = whole(m.Settings[at+".max_side"])
	}
	return d
}

func (m Manifest) sampling(at string) *backends.Sampling {
	temperature, err := strconv.ParseFloat(m.Settings[at+".sampling.temperature"], 64)
	most := whole(m.Settings[at+".sampling.max_tokens"])
	if err != nil || most == nil {
		return nil
	}
	s := &backends.Sampling{Temperature: temperature, MaxTokens: *most}
	if seed, err := strconv.ParseInt(m.Settings[at+".sampling.seed"], 10, 64); err == nil {
		s.Seed = &seed
	}
	return s
}

// flag is nil for any other text than true and false.
func flag(text string) *bool {
	v := text == "true"
	if !v && text != "false" {
		return nil
	}
	return &v
}

// whole is nil for a text that is no whole number.
func whole(text string) *int {
	v, err := strconv.Atoi(text)
	if err != nil {
		return nil
	}
	return &v
}
