package study

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"assay/results"
	"assay/timing"
)

// The methods section names devices, driver, rate, tick, baseline, the method of
// energies and who stamped arrivals, and claims nothing that is not known.
func TestMethodsSayHowItWasMeasured(t *testing.T) {
	about := json.RawMessage(`{"facts":[{"name":"driver","value":"550.54"},{"name":"uuid","value":"GPU-1"},{"name":"mig","value":"off"},{"name":"energy_tick_ns","value":"100000000"},{"name":"power_limit_mw","value":"700000"}]}`)
	level := timing.Level{Median: 75_400}
	ses := results.Session{ID: 1, Hz: 50, Devices: []results.Watched{
		{Source: "nvml", Name: "NVIDIA H200", Kind: "gpu", About: about, Baseline: &timing.Baseline{Counter: &level}},
		{Source: "host", Name: "host", Kind: "host"},
		{Source: "phantom", Name: "phantom GPU", Kind: "gpu", Synthetic: true, Baseline: &timing.Baseline{Power: &timing.Level{Median: 25_000}}},
		{Source: "rapl", Name: "package-0", Kind: "cpu", About: json.RawMessage("{")},
	}}
	sec, _ := MachineSection([]results.Session{ses, ses}, nil, nil)
	want := []string{"Devices were watched 50 times a second, on the clock that times the requests.",
		"NVIDIA H200 (source nvml, driver 550.54, UUID GPU-1, MIG off, power limit 700.0 W) has an energy counter that changes every 100 ms (measured before the run) and drew 75.4 W at rest, the median of whole seconds over ten seconds or more before the run.",
		"phantom GPU (synthetic) (source phantom) draws 25.0 W at rest by its profile.",
		"package-0 (source rapl) has no baseline at rest, so that net energies are unknown."}
	if !slices.Equal(sec.Methods, want) {
		t.Errorf("%q", sec.Methods)
	}
	if got := watched([]results.Session{{ID: 1}}); len(got) != 1 || !strings.Contains(got[0], "No device was watched") {
		t.Errorf("%q", got)
	}
}
