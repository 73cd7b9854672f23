package study

import (
	"maps"
	"testing"

	"assay/results"
)

// Over how many machines a load sweep went: what is not known of one differs from nothing.
func TestSpread(t *testing.T) {
	gpu := func(n int64, host, name string) results.Session {
		s := results.Session{ID: n, Places: map[string]results.Place{"m": results.PlaceLocal}}
		if host != "" {
			s.Host = &results.Host{Name: host}
		}
		if name != "" {
			s.Devices = []results.Watched{{Source: "nvml", ID: "A", Name: name, Kind: "gpu"}}
			s.Holds = map[string]results.Hold{"m": {Known: true, GPUs: []string{"A"}}}
		}
		return s
	}
	swept := []results.Load{{Arm: "direct", Condition: "c"}}
	block := func(session int64, loads []results.Load) results.Block {
		return results.Block{Session: session, Study: "qa", Model: "m", Part: results.PartGPU, Loads: loads}
	}
	for _, c := range []struct {
		what     string
		sessions []results.Session
		second   []results.Load
		want     map[string]string
	}{
		{"one host twice", []results.Session{gpu(1, "a", "H100"), gpu(2, "a", "H100")}, swept, nil},
		{"two hosts", []results.Session{gpu(1, "a", "H100"), gpu(2, "b", "H100")}, swept, map[string]string{"m": "2 hosts"}},
		{"two hosts, and one made no sweep", []results.Session{gpu(1, "a", "H100"), gpu(2, "b", "H100")}, nil, nil},
		{"two kinds", []results.Session{gpu(1, "a", "H100"), gpu(2, "a", "T4")}, swept, map[string]string{"m": "2 kinds of GPU"}},
		{"not known of one", []results.Session{gpu(1, "a", "H100"), gpu(2, "", "")}, swept, nil},
	} {
		if got := spread([]results.Block{block(1, swept), block(2, c.second)}, c.sessions, "qa"); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}
