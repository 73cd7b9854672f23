// Package config reads bench.yaml strictly: every unknown key, duplicate, bad
// range, missing file and unknown name is reported with file:line:column, all
// of them at once, before anything is sent.
package config

import (
	"time"

	"assay/backends"
)

// Config is a resolved bench.yaml: defaults are filled in, names are checked,
// prompt files are read. Lists keep the order of the file.
type Config struct {
	File     string
	Text     []byte // as read
	Name     string
	Seed     uint64
	Store    string // path of the SQLite file
	Rules    string // "paper"
	Datasets []Dataset
	Backends []Backend
	Models   []Model
	Judges   []Judge
	Studies  []Study
	Prompts  map[string]string // template text by prompt name, read from the files named
}

// Dataset says where items come from.
type Dataset struct {
	Name    string
	Kind    string // "m3cotbench", "jsonl", "phantom"
	Path    string // folder or file; "" for phantom
	Items   int    // phantom: how many cases
	Size    int    // phantom: pixels per side
	MaxSide int    // scale images down to this longest side; 0: send them as they are
}

// Backend is a server.
type Backend struct {
	Name     string
	Kind     string // "ollama", "llamacpp", "vllm", "openai", "phantom"
	Protocol string // phantom only: "ollama", "llamacpp", "vllm"
	URL      string // not for phantom
	KeyEnv   string // environment variable that holds the API key
	KeyFile  string // file that holds it
	Options  map[string]any
}

// Model is a model on a backend; Name is results.Key.Model.
type Model struct {
	Name    string
	Backend string
	Model   string // the server's name for it
	Think   *bool
}

// Judge is a judge by name.
type Judge struct {
	Name     string
	Kind     string // "lexical", "model"
	Backend  string // model judges
	Model    string
	InFlight int
	Sampling backends.Sampling
	Timeouts backends.Timeouts
}

// Study is what of a study is run.
type Study struct {
	Name     string
	Dataset  string
	Models   []string // resolved: all, unless listed
	Arms     []string
	PerType  int // select.per_type; 0: all
	Repeats  int // >= 1
	Sampling backends.Sampling
	Timed    bool
	InFlight int // 1 when Timed
	Retries  int // further attempts after one that can heal
	Backoff  time.Duration
	Timeouts backends.Timeouts
	Rubrics  []Rubric
}

// Rubric names the judges of a rubric, in order.
type Rubric struct {
	Name   string
	Judges []string
}
