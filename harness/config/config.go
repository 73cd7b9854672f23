// Package config reads bench.yaml strictly: every unknown key, duplicate, bad range,
// missing file and unknown name is reported with file:line:column, all of them at once,
// before anything is sent.
//
//  1. tree.go reads the part of YAML that cannot surprise into values that know where
//     they stand: one document, no anchors, aliases, merge keys or tags.
//  2. Parse resolves the tree against the names that exist, and fills in defaults
//     (parse.go, resolve.go); value.go says how single values may be written.
//  3. rules.go takes down what the parser asks of values, so that a reference made of
//     rules says what is checked.
//  4. Settings are the values that may not change within one store; Diff says which of
//     them did.
//
// Paths in a bench.yaml are relative to the folder it stands in.
package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/backends"
	"assay/backends/hosted"
	"assay/harness/dataset"
	"assay/perturb"
	"assay/results"
	"assay/timing"
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
	Backends []Backend
	Models   []Model
	Judges   []Judge
	Studies  []Study
	Prompts  map[string]string // template text by prompt name, read from the files named

	Telemetry Telemetry
	Cost      *results.Cost // nil: no prices are given
}

// Backend is a server.
type Backend struct {
	Name     string
	Kind     string // of Known.Kinds
	Protocol string // phantom only: the kind that it speaks as, of Known.Protocols
	Caches   bool   // phantom only: it remembers prompts and pictures
	Slots    int    `json:",omitempty"` // phantom only: replies that are worked on together; 0: no limit
	URL      string // http or https, without credentials or a trailing slash; not for phantom
	KeyEnv   string // environment variable that holds the API key
	KeyFile  string // file that holds it
	Place    string // "local" or "remote": where it is, whatever its address says; "": its address says
	CAFile   string // PEM file with the certificates of authorities to believe beside the system's
	Options  map[string]any
	Omit     []string `json:",omitempty"` // fields of requests that are left out, of its kind's Omits

	Command      []string      // starts the server; empty: somebody else does; {port} stands for Port
	Port         int           `json:",omitempty"` // what {port} in url was filled with; 0: it was not there
	StartTimeout time.Duration // until it is healthy
	Restarts     int           // after its death, per block, >= 0
	// SharesGPU says that judging on it would disturb timed trials.
	SharesGPU bool
}

// Start is Command with its port filled in.
func (b Backend) Start() []string {
	out := slices.Clone(b.Command)
	for i, word := range out {
		if b.Port > 0 {
			out[i] = strings.ReplaceAll(word, "{port}", strconv.Itoa(b.Port))
		}
	}
	return out
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

// Phantom says that the backend is started inside the run.
func (b Backend) Phantom() bool { return b.Kind == KindPhantom }

// Imported says that its answers are made elsewhere.
func (b Backend) Imported() bool { return b.Kind == KindImported }

// Model is a model on a backend; Name is results.Key.Model.
type Model struct {
	Name    string
	Backend string
	Model   string // the server's name for it
	Think   *bool  // nil: the model's own default
	Vision  *bool  `json:",omitempty"` // whether it sees pictures, whatever its server says; nil: that is asked and tried

	Groups     []string `json:",omitempty"` // for means over groups of models
	Parameters *float64 `json:",omitempty"` // nil: as its server says
}

// Judge is a judge by name. The fields from Backend to Repeats are for judges that ask
// a model; a hosted one has no Backend.
type Judge struct {
	Name     string
	Kind     string     // of Known.Judges
	Keys     []JudgeKey `json:"-"` // of its kind
	Backend  string
	Model    string
	InFlight int
	Sampling backends.Sampling
	Timeouts backends.Timeouts
	Repeats  int `json:",omitempty"` // how often it judges each case; 0: once
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
	Models    []string // resolved: all, unless listed; in the order of Config.Models
	Arms      []string // resolved: all, unless listed
	PerType   int      // select.per_type; 0: all
	Repeats   int      // >= 1
	Sampling  backends.Sampling
	Timed     bool
	InFlight  int           // 1 when Timed
	Shots     []int         `json:",omitempty"` // numbers of examples before a question, ascending; none: there are no examples
	ShotsFrom string        `json:",omitempty"` // the data set of examples; "": Dataset
	Levels    []int         `json:",omitempty"` // of requests in flight in a load sweep, from 1 up; none: there is no sweep
	Retries   int           // further attempts after one that can heal
	Backoff   time.Duration // before the first of them
	Timeouts  backends.Timeouts
	Rubrics   []Rubric
	// NeedsFrom is whose verdict counts where another rubric rests on it, by rubric; one
	// that is not there: each judge's own.
	NeedsFrom map[string]string `json:",omitempty"`
	Knowing   bool              `json:"-"` // one of Rubrics that compares with a knowledge base is judged

	Cache            string // "cold", "warm"; "" unless Timed
	RepeatsOfInvalid int    // further attempts at a trial whose time does not count; 0 unless Timed
	CoolDown         CoolDown
	SLO              timing.SLO `json:",omitzero"` // what answers are to keep; no setting of a store

	// Conditions are the conditions planned beside the baseline, in the study's
	// order, and Sweeps the parameters of conditions planned at several levels.
	Conditions []string
	Sweeps     []perturb.Sweep
	Grid       perturb.Grid // an occlusion grid; the zero Grid: none
	Image      int          // of items with several images the one that conditions change, from 1; 0: every one
}

// CoolDown is a pause before each timed trial.
type CoolDown struct {
	For     time.Duration // 0: none
	Celsius *float64      // ends the pause once no GPU is hotter; nil: it lasts For
}

// Rubric names the judges of a rubric, in order.
type Rubric struct {
	Name   string
	Judges []string
}

// Telemetry says what is watched during a run.
type Telemetry struct {
	Hz      int      // samples per second, 1 to 100
	Auto    bool     // whatever is found
	Devices []string // of Devices(); nothing is watched if there are none and Auto is false
	// GPUs are those that the models' servers use, each by the driver's index, UUID
	// or PCI address; none: a run finds out.
	GPUs []string
	// Remote are exporters of the metrics of servers' GPUs elsewhere.
	Remote []Remote `json:",omitempty"`
	// Meters are power meters in front of this machine.
	Meters []meter `json:",omitempty"`
	// Calibration is the path of a file that assay calibrate wrote; "": none.
	Calibration string `json:",omitempty"`
}

// meter is a plug that serves its power as JSON.
type meter struct {
	URL   string
	Field string `json:",omitempty"` // path of the watts; "": as a Shelly or Tasmota has it
}

// Remote is an exporter that knows the GPUs of a backend on another machine.
type Remote struct {
	URL     string
	Backend string
	GPUs    []string `json:",omitempty"` // index or UUID; none: all that it knows
	KeyEnv  string   `json:",omitempty"` // environment variable that holds its key; "": none
	KeyFile string   `json:",omitempty"`
}

// devices are the kinds of device that can be watched.
func devices() []string { return []string{"nvidia", "amd", "rapl", "host", "phantom"} }

// Watches says whether devices of a kind are to be looked for.
func (t Telemetry) Watches(kind string) bool { return t.Auto || slices.Contains(t.Devices, kind) }
