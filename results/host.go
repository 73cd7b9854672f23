package results

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Host is the machine that a session ran on. What is not known is left out.
type Host struct {
	Name     string       `json:"name"` // as it calls itself, or a pseudonym
	OS       string       `json:"os,omitempty"`
	Platform string       `json:"platform,omitempty"` // distribution and version
	Kernel   string       `json:"kernel,omitempty"`
	Arch     string       `json:"arch,omitempty"`
	CPU      string       `json:"cpu,omitempty"`
	Cores    int          `json:"cores,omitempty"`
	Memory   uint64       `json:"memory_bytes,omitempty"`
	GPUs     []HostGPU    `json:"gpus,omitempty"` // real ones that were found; none: there are none, or nobody looked
	Version  string       `json:"assay_version,omitempty"`
	Clock    *ClockOffset `json:"clock,omitempty"` // nil: nobody compared it with another
}

// HostGPU is one GPU of a host.
type HostGPU struct {
	ID     string `json:"id"` // UUID, or PCI address
	Name   string `json:"name"`
	Memory uint64 `json:"memory_bytes,omitempty"`
	Driver string `json:"driver,omitempty"`
}

// ClockOffset is how far a host's wall clock is ahead of the clock that all hosts of a
// run are compared with, and by how much that may be wrong.
type ClockOffset struct {
	Offset time.Duration `json:"offset_ns"` // below 0: behind
	Bound  time.Duration `json:"bound_ns"`  // >= 0
}

// Hardware is what a model was timed on in a session; "": not known.
type Hardware struct {
	Host   string // its name
	GPU    string // the model's, equal ones counted; "none": it has none
	Driver string // of these
}

// Hardware is what a model was timed on. Of a server on another machine only the host that
// asked it is known.
func (s Session) Hardware(model string) Hardware {
	var w Hardware
	if s.Host != nil {
		w.Host = s.Host.Name
	}
	h, held := s.Holds[model]
	if !held || !h.Known || s.Places[model] == PlaceRemote {
		return w
	}
	w.GPU = s.GPUNames(h)
	var drivers []string
	for _, d := range s.Devices {
		if v := d.Fact("driver"); v != "" && slices.Contains(h.GPUs, d.ID) && !slices.Contains(drivers, v) {
			drivers = append(drivers, v)
		}
	}
	w.Driver = strings.Join(drivers, ", ")
	return w
}

// HardwareOf says what a model was timed on in one of these sessions, by its number; of
// another nothing is known. It remembers, because every trial of a store asks.
func HardwareOf(sessions []Session) func(session int64, model string) Hardware {
	type held struct {
		session int64
		model   string
	}
	by, known := map[int64]Session{}, map[held]Hardware{}
	for _, s := range sessions {
		by[s.ID] = s
	}
	return func(session int64, model string) Hardware {
		of := held{session, model}
		w, ok := known[of]
		if !ok {
			w = by[session].Hardware(model)
			known[of] = w
		}
		return w
	}
}

// GPUNames are the GPUs of a hold, equal ones counted.
func (s Session) GPUNames(h Hold) string {
	if h.Known && len(h.GPUs) == 0 {
		return "none"
	}
	count := map[string]int{}
	var order []string
	for _, d := range s.Devices {
		if slices.Contains(h.GPUs, d.ID) {
			name := d.Name
			if d.Synthetic {
				name += " (synthetic)"
			}
			if count[name]++; count[name] == 1 {
				order = append(order, name)
			}
		}
	}
	for i, name := range order {
		if count[name] > 1 {
			order[i] = fmt.Sprintf("%d x %s", count[name], name)
		}
	}
	return strings.Join(order, ", ")
}

// Fact is a fact of its description; "": not known.
func (d Watched) Fact(name string) string {
	var about struct {
		Facts []struct{ Name, Value string }
	}
	_ = json.Unmarshal(d.About, &about) // a description that cannot be read tells nothing
	for _, f := range about.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// PooledOver is the column of a table that says over which machines a row is pooled.
const PooledOver = "pooled_over"

// TrialSession says in which session a trial's last attempt was made; 0: not known.
type TrialSession struct {
	Key     Key
	Session int64
}
