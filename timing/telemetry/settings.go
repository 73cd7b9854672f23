package telemetry

import "slices"

// Settings say what is watched during a run.
type Settings struct {
	Hz      int      `yaml:"hz" range:"1..100"` // samples per second
	Auto    bool     // whatever is found
	Devices []string // of Sources(); nothing is watched if there are none and Auto is false
	// GPUs are those that the models' servers use, each by the driver's index, UUID
	// or PCI address; none: a run finds out.
	GPUs []string
	// Remote are exporters of the metrics of servers' GPUs elsewhere.
	Remote []Remote `json:",omitempty"`
	// Meters are power meters in front of this machine.
	Meters []Plug `json:",omitempty"`
	// Calibration is the path of a file that assay store calibrate wrote; "": none.
	Calibration string `json:",omitempty"`
}

// Plug is a power meter that serves its power as JSON.
type Plug struct {
	URL   string
	Field string `yaml:"field" json:",omitempty"` // path of the watts, with dots between, as meters.0.power; "": that of a Shelly or of Tasmota
}

// Remote is an exporter that knows the GPUs of a backend on another machine.
type Remote struct {
	URL     string
	Backend string
	GPUs    []string `json:",omitempty"` // index or UUID; none: all that it knows
	KeyEnv  string   `json:",omitempty"` // environment variable that holds its key; "": none
	KeyFile string   `json:",omitempty"`
}

// Sources are the kinds of device that can be watched.
func Sources() []string { return []string{"nvidia", "amd", "rapl", "host", "phantom"} }

// Watches says whether devices of a kind are to be looked for.
func (t Settings) Watches(kind string) bool { return t.Auto || slices.Contains(t.Devices, kind) }
