// Package telemetry watches devices while requests are timed.
//
//  1. A probe package (nvml, amdgpu, rapl, host) finds devices. What is missing,
//     and what to do about it, is a Problem, said once.
//  2. A Sampler reads each Probe at a fixed rate on the run's one clock, and
//     notes its own duration, its gaps and its failures.
//  3. A Log keeps the Samples, about 20 bytes each, as Bundles that are also what
//     is stored.
//  4. Readings turns a device's samples into what timing.NewMeter computes
//     energies from.
//
// A value that a device does not have is absent from its samples, never 0.
package telemetry

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"time"

	"assay/timing"
)

// Measure is one thing that a device reports. The numbers are part of stored
// bundles: new ones go to the end, none is used again.
type Measure uint8

// What is measured. Counters grow from a start of their own; the rest is of the
// moment of the read.
const (
	PowerInstant  Measure = iota // mW, now
	PowerAverage                 // mW, the device's own mean over Device.PowerWindow
	Energy                       // µJ, counter; starts again at Device.EnergyWraps
	CoreBusy                     // percent of the device's last interval, 0..100
	MemoryBusy                   // percent of time the memory was read or written, 0..100
	MemoryUsed                   // bytes
	TempCore                     // thousandths of a degree Celsius, the usual sensor
	TempHotspot                  // thousandths of a degree Celsius, the hottest place
	TempMemory                   // thousandths of a degree Celsius
	ClockCore                    // MHz
	ClockMemory                  // MHz
	Throttle                     // bits: ThrottlePower, ThrottleThermal, ...; 0: not throttled
	ThrottleRaw                  // the device's own bits, as read
	Processes                    // number of processes that use the device
	ProcessMemory                // bytes that these processes hold on the device
	CPUBusy                      // ms, counter over all cores
	DiskRead                     // bytes, counter over all disks
	DiskWritten                  // bytes, counter over all disks
	DiskFree                     // bytes, where the store is
	numMeasures
)

var measureNames = [numMeasures]string{
	"power_instant_mw", "power_average_mw", "energy_uj", "core_busy_percent", "memory_busy_percent", "memory_used_bytes",
	"temp_core_mc", "temp_hotspot_mc", "temp_memory_mc", "clock_core_mhz", "clock_memory_mhz", "throttle", "throttle_raw",
	"processes", "process_memory_bytes", "cpu_busy_ms", "disk_read_bytes", "disk_written_bytes", "disk_free_bytes",
}

// String is the measure's name with its unit, as stored and printed.
func (m Measure) String() string {
	if m >= numMeasures {
		return fmt.Sprintf("measure(%d)", uint8(m))
	}
	return measureNames[m]
}

// Measures yields every measure in order.
func Measures() iter.Seq[Measure] {
	return func(yield func(Measure) bool) {
		for m := range numMeasures {
			if !yield(m) {
				return
			}
		}
	}
}

// Why a device runs slower than it could, as bits of the measure Throttle.
// Being idle, or held at clocks that somebody set, is not throttling.
const (
	ThrottlePower    = 1 << iota // a power limit
	ThrottleThermal              // a temperature limit
	ThrottleHardware             // a slowdown forced from outside: power brake, supply, current
	ThrottleOther                // the device says so but not why
)

// Sample is one look at one device. The zero Sample has no values.
type Sample struct {
	At   time.Duration // on the run's clock: the middle of the read
	Took time.Duration // duration of the read, >= 0
	has  uint32
	v    [numMeasures]int64
}

// Set gives m a value.
func (s *Sample) Set(m Measure, v int64) {
	s.v[m] = v
	s.has |= 1 << m
}

// Unset takes the value of m out.
func (s *Sample) Unset(m Measure) {
	s.v[m] = 0
	s.has &^= 1 << m
}

// Get is the value of m; false: the device did not report it.
func (s *Sample) Get(m Measure) (int64, bool) {
	if m >= numMeasures || s.has&(1<<m) == 0 {
		return 0, false
	}
	return s.v[m], true
}

// Len is the number of values in the sample.
func (s *Sample) Len() int { return bits.OnesCount32(s.has) }

// Fact is something about a device that does not change during a run.
type Fact struct {
	Name  string `json:"name"` // "driver", "uuid", "mig", "memory_total_bytes", "power_limit_mw", ...
	Value string `json:"value"`
}

// Device says what a probe looks at. A fact that is not known is not in Facts.
type Device struct {
	Source      string        `json:"source"` // the probe package: "nvml", "amdgpu", "rapl", "host", "exporter", "phantom"
	ID          string        `json:"id"`     // unique in the machine, the same in every run: UUID, PCI address, zone
	Name        string        `json:"name"`
	Kind        Kind          `json:"kind"`
	Measures    []Measure     `json:"-"`                         // what its samples can have, in order
	EnergyWraps uint64        `json:"energy_wraps_uj,omitempty"` // where the energy counter starts again; 0: it does not
	PowerWindow time.Duration `json:"power_window_ns,omitempty"` // of PowerAverage; 0: not known
	Synthetic   bool          `json:"synthetic,omitempty"`       // a phantom
	Remote      bool          `json:"remote,omitempty"`          // of another machine: its figures are seconds old
	Facts       []Fact        `json:"facts,omitempty"`
	// Scales are what a calibration found of its figures, by Instant, Average and Counter.
	Scales map[string]timing.Scale `json:"scales,omitempty"`
}

// Figures of a device that a calibration can be of.
const (
	Instant = "instant"
	Average = "average"
	Counter = "counter"
)

// Kind of device.
type Kind string

const (
	GPU    Kind = "gpu"
	CPU    Kind = "cpu"    // a processor package, for its energy
	Memory Kind = "memory" // a package's main memory, for its energy
	Host   Kind = "host"   // the machine as a whole
	Meter  Kind = "meter"  // a power meter in front of the machine
)

// RealGPU says whether it is a GPU of this machine.
func (d Device) RealGPU() bool { return d.Kind == GPU && !d.Synthetic && !d.Remote }

// Fact is the value of the named fact; false: not known.
func (d Device) Fact(name string) (string, bool) {
	i := slices.IndexFunc(d.Facts, func(f Fact) bool { return f.Name == name })
	if i < 0 {
		return "", false
	}
	return d.Facts[i].Value, true
}

// Probe looks at one device.
type Probe interface {
	// Describe says what is looked at. It is called before the first Read.
	Describe() Device
	// Read sets in s, which is empty, what the device reports now. It is called
	// from one goroutine at a time. A value that cannot be had is left out; an
	// error means that there are none at all.
	Read(s *Sample) error
}

// Process is one that uses a device.
type Process struct {
	PID    int     // as the driver numbers it: maybe in another namespace than ours
	Memory *uint64 // bytes that it holds on the device; nil: not known
	Draws  bool    // it is there to draw, as a desktop is, and computes nothing
}

// Lister is a Probe that tells who uses its device.
type Lister interface {
	// Processes are those that use the device now, each once, by PID. Unlike Read it
	// may be called from any goroutine at any time.
	Processes() ([]Process, error)
}

// Problem is something that will not be measured, why, and what to do about it.
type Problem struct {
	Source string `json:"source"`           // the probe package
	Device string `json:"device,omitempty"` // its ID, where one device has the problem
	What   string `json:"what"`
	Do     string `json:"do,omitempty"`
}

// String is the problem in one line.
func (p Problem) String() string {
	s := p.Source
	if p.Device != "" {
		s += " " + p.Device
	}
	s += ": " + p.What
	if p.Do != "" {
		s += "; " + p.Do
	}
	return s
}

// Readings is what the energy of d is computed from: its counter and its power, by both
// fields where d has two whose sensors are known, else instant power or, where there is
// none, mean power.
func Readings(d Device, samples iter.Seq[Sample]) timing.Readings {
	r := timing.Readings{WrapsAt: d.EnergyWraps}
	var average []timing.PowerReading
	for s := range samples {
		if v, ok := s.Get(Energy); ok && v >= 0 {
			r.Counter = append(r.Counter, timing.CounterReading{At: s.At, Microjoules: uint64(v)})
		}
		if v, ok := s.Get(PowerInstant); ok && v >= 0 {
			r.Power = append(r.Power, timing.PowerReading{At: s.At, Power: timing.Milliwatts(v)})
		}
		if v, ok := s.Get(PowerAverage); ok && v >= 0 {
			average = append(average, timing.PowerReading{At: s.At, Power: timing.Milliwatts(v)})
		}
	}
	instant, mean := d.sensors()
	if c, ok := d.Scales[Instant]; ok {
		instant.Scale = c
	}
	if c, ok := d.Scales[Average]; ok {
		mean.Scale = c
	}
	if c, ok := d.Scales[Counter]; ok {
		r.Counted = &c
	}
	r.Sensor = instant
	switch {
	case len(r.Power) == 0:
		r.Power, r.Average, r.Sensor = average, d.PowerWindow, mean
		if len(average) > 0 && d.PowerWindow == 0 {
			r.Average = -1 // a mean, nobody says of how long
		}
	case mean.Window > 0:
		r.Other, r.OtherSensor = average, mean
	}
	return r
}

// sensors are those of instant and of mean power.
func (d Device) sensors() (instant, mean timing.Sensor) {
	switch {
	case d.Synthetic:
		exact := timing.Sensor{Name: "phantom", Scale: timing.Scale{Spread: &timing.Spread{}}}
		return exact, exact
	case d.Kind == CPU || d.Kind == Memory || d.Kind == Meter: // no recording has one
		return timing.Sensor{Name: d.Source}, timing.Sensor{Name: d.Source}
	case d.Source != "nvml":
		return timing.Sensor{}, timing.Sensor{}
	}
	c := timing.Card{Name: d.Name}
	c.Driver, _ = d.Fact("driver")
	if v, ok := d.Fact("compute_capability"); ok {
		fmt.Sscanf(v, "%d.%d", &c.Major, &c.Minor) // what cannot be read is no known kind
	}
	return c.Sensor(timing.FieldInstant), c.Sensor(timing.FieldAverage)
}
