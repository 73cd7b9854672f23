package study

import "assay/results"

// Prices is what money and projections are computed from.
type Prices struct {
	Cost  *results.Cost // nil: no prices are given
	Items int           // of the full data set; 0: not known
}

// Money is the price of GPU-seconds and joules; false: a price or an energy that
// it needs is not known.
func (p Prices) Money(gpuSeconds float64, joules *float64) (float64, bool) {
	hour, ok := p.Cost.PerGPUHour()
	if !ok {
		return 0, false
	}
	m := gpuSeconds / 3600 * hour
	if kwh := p.Cost.KWh; kwh != nil && *kwh > 0 {
		if joules == nil {
			return 0, false
		}
		m += *joules / 3.6e6 * *kwh
	}
	return m, true
}

// NeedsEnergy says whether money cannot be told without joules.
func (p Prices) NeedsEnergy() bool { return p.Cost != nil && p.Cost.KWh != nil && *p.Cost.KWh > 0 }
