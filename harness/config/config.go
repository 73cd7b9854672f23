// Package config reads bench.yaml strictly: every unknown key, duplicate, bad range,
// missing file and unknown name is reported with file:line:column, all of them at once,
// before anything is sent.
//
//  1. tree.go reads the part of YAML that cannot surprise into values that know where
//     they stand: one document without tags.
//  2. Parse resolves the tree against the names that exist, and fills in defaults
//     (parse.go, resolve.go); value.go says how single values may be written.
//  3. fields.go reads what the tags of structs say: keys, limits, words.
//  4. rules.go takes down what the parser asks of values, so that a reference made of
//     rules says what is checked.
//  5. Settings are the values that may not change within one store; Diff says which of
//     them did.
//
// Paths in a bench.yaml are relative to the folder it stands in.
package config

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"assay/backends"
	"assay/backends/hosted"
	"assay/harness/dataset"
	"assay/perturb"
	"assay/results"
	"assay/timing"
	"assay/timing/telemetry"
)

// Config is a resolved bench.yaml: defaults are filled in, names are checked,
// prompt files are read. Lists keep the order of the file.
type Config struct {
	File     string
	Text     []byte // as read
	Name     string
	Seed     uint64
	Store    string // path of the SQLite file
	Rules    string // of results.Rules
	Datasets []dataset.Source
	Backends []backends.Server
	Models   []backends.Model
	Judges   []Judge
	Own      []perturb.Condition `json:",omitempty"` // of the user's programs, under ops, and texts
	Texts    []Texts             `json:",omitempty"`
	Studies  []Study
	Prompts  map[string]string // template text by prompt name, read from the files named

	Telemetry telemetry.Settings
	Cost      *results.Cost // nil: no prices are given
}

// Texts are questions in other words, in a file (dataset.Word).
type Texts struct {
	Name, Path string
	Content    []byte `json:"-"`
}

// Shift moves the servers whose url has {port} up by n ports, so that parts of a run
// can start theirs on one machine.
func (c *Config) Shift(n int) error {
	for i := range c.Backends {
		b := &c.Backends[i]
		if b.Port == 0 || n == 0 {
			continue
		}
		u, err := url.Parse(b.URL)
		if err != nil {
			return err
		}
		b.Port += n
		if b.Port > 65535 {
			return fmt.Errorf("backend %s: expected a port of at most 65535, found %d: port in %s is %d and this part is number %d; give a lower port", b.Name, b.Port, c.File, b.Port-n, n+1)
		}
		u.Host = net.JoinHostPort(u.Hostname(), strconv.Itoa(b.Port))
		b.URL = u.String()
	}
	return nil
}

// Judge is a judge by name. The fields from Backend to Repeats are for judges that ask
// a model; a hosted one has no Backend.
type Judge struct {
	Name     string
	Kind     string     // of Known.Judges
	Keys     []JudgeKey `json:"-"` // of its kind
	Backend  string
	Model    string
	InFlight int               `yaml:"in_flight" range:"1..1024"`
	Sampling backends.Sampling `yaml:"sampling"`
	Timeouts backends.Timeouts `yaml:"timeouts"`
	Repeats  int               `json:",omitempty"` // how often it judges each case; 0: once
	// RepeatShare is the share of the cases that it judges twice, 0..1; 0 with Repeats.
	RepeatShare float64 `json:",omitempty"`

	// Unread says that it is asked about answers alone that rules do not read.
	Unread bool `json:",omitempty"`

	Hosted *hostedTerms `json:",omitempty"` // nil: it is of another kind

	Values  map[string]string `json:",omitempty"` // of other kinds: what stands under their keys, paths resolved
	Content []byte            `json:",omitempty"` // of the file that one of them names
}

// hostedTerms is a judge's hosted API.
type hostedTerms struct {
	hosted.Settings
	KeyEnv  string // environment variable that holds the API key
	KeyFile string // file that holds it
}

// Study is what of a study is run.
type Study struct {
	Name      string
	Dataset   string
	Models    []string          // resolved: all, unless listed; in the order of Config.Models
	Arms      []string          // resolved: all, unless listed
	PerType   int               // select.per_type; 0: all
	Repeats   int               `yaml:"repeats" range:"1..1000"`
	Sampling  backends.Sampling `yaml:"sampling"`
	Timed     bool              `yaml:"timed"`
	InFlight  int               // 1 when Timed
	Shots     []int             `json:",omitempty"`             // numbers of examples before a question, ascending; none: there are no examples
	ShotsFrom string            `json:",omitempty"`             // the data set of examples; "": Dataset
	Levels    []int             `json:",omitempty"`             // of requests in flight in a load sweep, from 1 up; none: there is no sweep
	Retries   int               `yaml:"retries" range:"0..100"` // further attempts after one that can heal
	Backoff   time.Duration     `yaml:"backoff"`                // before the first of them
	Timeouts  backends.Timeouts `yaml:"timeouts"`
	Rubrics   []Rubric
	// NeedsFrom is whose verdict counts where another rubric rests on it, by rubric; one
	// that is not there: each judge's own.
	NeedsFrom map[string]string `json:",omitempty"`
	Knowing   bool              `json:"-"` // one of Rubrics that compares with a knowledge base is judged

	Cache            string // "cold", "warm"; "" unless Timed
	RepeatsOfInvalid int    // further attempts at a trial whose time does not count; 0 unless Timed
	CoolDown         CoolDown
	SLO              timing.SLO `yaml:"slo" json:",omitzero"` // what answers are to keep; no setting of a store

	// Conditions are the conditions planned beside the baseline, in the study's
	// order, and Sweeps the parameters of conditions planned at several levels.
	Conditions []string
	Sweeps     []perturb.Sweep
	Own        []perturb.Condition `json:"-"` // those of Config.Own that Conditions and Sweeps may name
	Grid       perturb.Grid        // an occlusion grid; the zero Grid: none
	Shuffles   int                 `yaml:"shuffles" range:"1..100"` // drawn orders of options that OPT-SHUFFLE asks for
	Image      int                 // of items with several images the one that conditions change, from 1; 0: every one
}

// CoolDown is a pause before each timed trial.
type CoolDown struct {
	For     time.Duration `yaml:"seconds,needed" range:"0..3600" unit:"s"` // 0: none
	Celsius *float64      `yaml:"celsius" range:"0..150"`                  // ends the pause once no GPU is hotter; nil: it lasts For
}

// Rubric names the judges of a rubric, in order.
type Rubric struct {
	Name   string
	Judges []string
}
