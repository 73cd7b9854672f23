package study

import (
	"fmt"
	"slices"

	"assay/results"
	"assay/results/stats"
)

// Prices is what money and projections are computed from.
type Prices struct {
	Cost  *results.Cost // nil: no prices are given
	Items int           // of the full data set; 0: not known
}

// GPUMoney is the price of GPU-seconds; false: they or their price are not known.
func (p Prices) GPUMoney(gpuSeconds *float64) (float64, bool) {
	hour, ok := p.Cost.PerGPUHour()
	if !ok || gpuSeconds == nil {
		return 0, false
	}
	return *gpuSeconds / 3600 * hour, true
}

// Electricity is the price of joules; false: they or their price are not known.
func (p Prices) Electricity(joules *float64) (float64, bool) {
	if p.Cost == nil || p.Cost.KWh == nil || joules == nil && p.NeedsEnergy() {
		return 0, false
	}
	if joules == nil { // electricity is paid for elsewhere
		return 0, true
	}
	return *joules / 3.6e6 * p.Cost.PerKWh(), true
}

// Money is both together, and of GPU time alone where electricity has no price;
// false: a part that has a price is not known, or GPU time has none.
func (p Prices) Money(gpuSeconds, joules *float64) (float64, bool) {
	m, ok := p.GPUMoney(gpuSeconds)
	if !ok || !p.NeedsEnergy() {
		return m, ok
	}
	power, ok := p.Electricity(joules)
	return m + power, ok
}

// Building says what the building adds, as a note of a table with money, kWh or CO2; none:
// nothing is added.
func (p Prices) Building() []string {
	if p.Cost == nil || p.Cost.PUE == nil {
		return nil
	}
	return []string{fmt.Sprintf("Each kWh of devices counts as %s kWh of the building (PUE) in money, kWh and CO2; joules are those of the devices.", stats.Significant(*p.Cost.PUE, 3))}
}

// NeedsEnergy says whether electricity is a part of money.
func (p Prices) NeedsEnergy() bool { return p.Cost != nil && p.Cost.KWh != nil && *p.Cost.KWh > 0 }

// energyOf is the parts whose joules are added up: the same ones for every answer
// of a sum.
type energyOf string

// The parts that can be paid for.
const (
	ofNothing   energyOf = ""
	ofGPU       energyOf = "GPU"
	ofGPUAndCPU energyOf = "GPU + CPU"
	ofCPU       energyOf = "CPU"
)

// parts chooses them from how many answers know the energy of the GPUs, of the
// processors, and of both: both, unless most of those that know the GPUs' energy
// do not know the processors'.
func parts(gpu, cpu, both int) energyOf {
	switch {
	case both > 0 && 2*both >= gpu:
		return ofGPUAndCPU
	case gpu > 0:
		return ofGPU
	case cpu > 0:
		return ofCPU
	}
	return ofNothing
}

// Joules is an answer's energy; nil: that of one of the parts is not known.
func (of energyOf) Joules(gpu, cpu *float64) *float64 {
	switch {
	case of == ofGPU:
		return gpu
	case of == ofCPU:
		return cpu
	case of == ofGPUAndCPU && gpu != nil && cpu != nil:
		return new(*gpu + *cpu)
	}
	return nil
}

// joulesOf is the gross energy of a use; nil: not known.
func joulesOf(u *results.Use) *float64 {
	if u == nil || u.Unknown != "" {
		return nil
	}
	return new(float64(u.Gross) / 1000)
}

// heldBy is an answer's GPU-seconds: the time it held GPUs, times how many; nil:
// not known. assumed: one GPU is taken to be held, since none was seen. together
// says that answers ran beside each other, so that one's latency holds the time
// of others.
func heldBy(r *results.Row, together bool) (seconds *float64, assumed bool) {
	switch {
	case r.GPU != nil && r.GPU.Held != nil && r.GPU.Devices == nil:
		return new(r.GPU.Held.Seconds()), true
	case r.GPU != nil && r.GPU.Held != nil:
		return new(r.GPU.Held.Seconds() * float64(*r.GPU.Devices)), false
	case r.GPU != nil, together, r.Latency == nil, hidden(r):
		return nil, false
	}
	return new(r.Latency.Seconds()), true
}

// hidden says whether an answer's clock was disturbed.
func hidden(r *results.Row) bool { return slices.ContainsFunc(r.Flags, results.Flag.HidesTime) }
