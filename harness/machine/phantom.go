package machine

import (
	"assay/backends/phantom"
	"assay/timing/telemetry"
)

// PhantomGPU is a phantom GPU as a telemetry.Probe.
type PhantomGPU struct{ *phantom.GPU }

// Describe implements telemetry.Probe.
func (g PhantomGPU) Describe() telemetry.Device {
	c := g.Card()
	return telemetry.Device{Source: "phantom", ID: "phantom-0", Name: c.Name, Kind: telemetry.GPU, Synthetic: true, EnergyWraps: c.WrapsAt,
		Measures: []telemetry.Measure{telemetry.PowerInstant, telemetry.Energy, telemetry.CoreBusy, telemetry.MemoryUsed, telemetry.Throttle}}
}

// Read implements telemetry.Probe.
func (g PhantomGPU) Read(s *telemetry.Sample) error {
	now := g.Look()
	throttle := int64(0)
	if now.Throttled {
		throttle = telemetry.ThrottlePower
	}
	s.Set(telemetry.Energy, int64(now.Energy))
	s.Set(telemetry.PowerInstant, int64(now.Power))
	s.Set(telemetry.CoreBusy, now.Busy)
	s.Set(telemetry.MemoryUsed, now.Memory)
	s.Set(telemetry.Throttle, throttle)
	return nil
}
