package machine

import (
	"slices"

	"assay/timing/telemetry"
)

// HasTemperature says whether a GPU reports its temperature.
func (m *Monitor) HasTemperature() bool {
	return m != nil && m.sampler != nil && slices.ContainsFunc(m.sampler.Log().Devices(), func(d telemetry.Device) bool {
		return d.Kind == telemetry.GPU && (slices.Contains(d.Measures, telemetry.TempCore) || slices.Contains(d.Measures, telemetry.TempHotspot))
	})
}
