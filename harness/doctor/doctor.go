// Package doctor looks at servers, devices and the machine before a run, and says
// what to change.
//
//  1. doctor.go says how much a finding matters, and examines everything in turn.
//  2. server.go asks servers who they are, and models three short requests.
//  3. hosted.go looks at judges behind hosted APIs.
//  4. longest.go finds the longest planned prompts; fit.go compares them with what
//     servers take.
//  5. pictures.go finds out what becomes of several pictures in one request.
//  6. device.go looks at devices and the machine.
//  7. fleet.go compares several machines.
package doctor

import (
	"context"
	"io/fs"

	"assay/backends"
	"assay/backends/phantom"
	"assay/harness/config"
	"assay/harness/machine"
	"assay/harness/run"
	"assay/results"
	"assay/timing"
	"assay/timing/telemetry"
)

// level is how much a finding matters.
type level = backends.Level

const (
	fine    = backends.Fine
	note    = backends.Note
	warning = backends.Warning
	problem = backends.Problem
)

// Finding is one thing that the doctor says.
type Finding struct {
	Level level  `json:"level"`
	About string `json:"about"`
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"`
}

// Diagnosis is what the doctor found.
type Diagnosis struct {
	Servers  []serverFound `json:"servers"`
	Devices  []deviceFound `json:"devices"`
	Machine  machineFound  `json:"machine"`
	Findings []Finding     `json:"findings"`
}

// deviceFound is what was found of a device.
type deviceFound struct {
	telemetry.Device
	Reports      []string `json:"reports"`                  // its measures
	ReadMicros   *float64 `json:"read_us,omitempty"`        // median duration of a read
	EnergyTickMS *float64 `json:"energy_tick_ms,omitempty"` // time between changes of the counter
	PowerMS      *float64 `json:"power_update_ms,omitempty"`
}

// machineFound is what was found of the machine.
type machineFound struct {
	Host        map[string]string `json:"host"`
	Facts       results.Host      `json:"facts"` // with its name, for a comparison of machines
	ClockSource string            `json:"clock_source,omitempty"`
	ClockNanos  float64           `json:"clock_read_ns"`
	Governors   []string          `json:"cpu_governors,omitempty"`
	FreeBytes   *uint64           `json:"free_bytes,omitempty"` // where the store is
	Stamps      timing.Stamps     `json:"arrival_stamps"`
}

// Patient is what is examined.
type Patient struct {
	Config   *config.Config
	Activity *phantom.Activity                           // of phantom backends
	Backend  func(name string) (backends.Backend, error) // of bench.yaml
	Endpoint func(model string) (run.Endpoint, error)    // of a model of bench.yaml
	Prompts  map[string][]Prompt                         // by model: those planned of which one is the longest
	Unread   error                                       // why there are no Prompts; nil: there are
	System   fs.FS                                       // the root of the file system
	Version  string                                      // assay's
	Quick    bool                                        // ask models nothing, and do not measure the devices' rates
}

type examination struct {
	Patient
	site machine.Site
	vram map[string]*int64 // by backend: bytes that its server says it has on GPUs
	out  Diagnosis
}

func (d *examination) say(l level, about, text, do string) {
	d.out.Findings = append(d.out.Findings, Finding{l, about, text, do})
}

// Count says how many findings stand in the way, and how many are worth a look.
func (o *Diagnosis) Count() (problems, warnings int) {
	for _, f := range o.Findings {
		switch f.Level {
		case problem:
			problems++
		case warning:
			warnings++
		}
	}
	return problems, warnings
}

// Examine looks at every server, device and the machine. What it cannot finish
// because ctx ends is missing.
func Examine(ctx context.Context, p Patient) Diagnosis {
	d := &examination{Patient: p, site: machine.ThisMachine(), vram: map[string]*int64{}}
	for _, b := range d.Config.Backends {
		d.out.Servers = append(d.out.Servers, d.server(ctx, b))
	}
	for _, j := range d.Config.Judges {
		if j.Hosted != nil && ctx.Err() == nil {
			d.hosted(ctx, j)
		}
	}
	if d.Unread != nil {
		d.say(problem, "plan", d.Unread.Error(), "")
	}
	d.devices(ctx)
	d.machine()
	return d.out
}
