package perturb

import "fmt"

// ParamInFlight is what a load sweep changes: how many requests are in flight.
const ParamInFlight = "in_flight"

// Loads are the levels of a load sweep, the first of them the baseline. Without levels
// there is the baseline alone.
func Loads(levels []int) []Condition {
	out := []Condition{Baseline()}
	for i, n := range levels {
		if i > 0 {
			out = append(out, Condition{Name: fmt.Sprintf("LOAD@%s=%d", ParamInFlight, n), Family: "LOAD", Kind: kindLoad, Does: fmt.Sprintf("%d requests in flight", n)})
		}
		out[i].Param, out[i].Level = ParamInFlight, float64(n)
	}
	return out
}

// InFlight is the level of a condition of a load sweep; 0: it is none.
func (c *Condition) InFlight() int {
	if c == nil || c.Param != ParamInFlight {
		return 0
	}
	return int(c.Level)
}
