package study

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

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
	sec, _ := MachineSection([]results.Session{ses, ses}, nil)
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

	costs := NewCosts("m", "cot", true)
	for range 3 {
		costs.Add(0, row(1, 10), nil, nil)
	}
	b := Basis{Study: "cot", Together: true, Blocks: []results.Block{
		{Study: "cot", Model: "m", Arrivals: &results.Arrivals{Kernel: 3, User: 1, Pieces: 10, Shared: 1, Median: 52 * time.Microsecond, P99: time.Millisecond, Longest: 2 * time.Millisecond}},
		{Study: "other", Arrivals: &results.Arrivals{User: 9}}}}
	got := strings.Join(b.Methods([]*Costs{costs}), " ")
	for _, s := range []string{"energy counter, aligned to its ticks for 3 answers", "divided equally", "kernel's receive stamps", "0.052 ms", "1 of 4 answers were stamped after the read"} {
		if !strings.Contains(got, s) {
			t.Errorf("%q lacks %q", got, s)
		}
	}
	table, ok := b.ArrivalTable()
	if !ok || len(table.Rows) != 1 || len(table.Rows[0]) != len(table.Columns) {
		t.Fatalf("%+v", table)
	}
	expected(t, table.Rows[0][5], 10, 10)
	expected(t, table.Rows[0][6], .052, 9)
	if got := (Basis{Study: "x"}).Methods(nil); len(got) > 0 {
		t.Errorf("of nothing: %q", got)
	}
	if got := (Basis{Study: "other", Blocks: b.Blocks}).Methods(nil); len(got) != 1 || !strings.Contains(got[0], "after each read") {
		t.Errorf("own stamps: %q", got)
	}
}

func expected(t *testing.T, c results.Cell, v float64, n int) {
	t.Helper()
	want(t, "cell", c.Estimate, v, n)
}
