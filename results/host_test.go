package results

import (
	"fmt"
	"testing"
)

// What a model was timed on is its own GPUs, and nothing where that is not known.
func TestHardwareOfAModel(t *testing.T) {
	gpu := func(id, name, driver string) Watched {
		return Watched{ID: id, Name: name, Kind: "gpu", About: fmt.Appendf(nil, `{"facts":[{"name":"index","value":"0"},{"name":"driver","value":%q}]}`, driver)}
	}
	s := Session{Host: &Host{Name: "box1"}, Devices: []Watched{gpu("A", "H100", "550.1"), gpu("B", "H100", "550.1"), gpu("C", "T4", ""), {ID: "D", Name: "odd", About: []byte("{")}},
		Places: map[string]Place{"far": PlaceRemote},
		Holds: map[string]Hold{"both": {Known: true, GPUs: []string{"A", "B"}}, "old": {Known: true, GPUs: []string{"C", "D"}}, "mixed": {Known: true, GPUs: []string{"A", "C"}},
			"main memory": {Known: true}, "unknown": {GPUs: []string{"A"}}, "far": {Known: true, How: "it is elsewhere"}}}
	for model, want := range map[string]Hardware{
		"both":        {"box1", "2 x H100", "550.1"},
		"old":         {"box1", "T4, odd", ""},
		"mixed":       {"box1", "H100, T4", "550.1"},
		"main memory": {"box1", "none", ""},
		"unknown":     {Host: "box1"},
		"far":         {Host: "box1"},
		"never begun": {Host: "box1"},
	} {
		if got := s.Hardware(model); got != want {
			t.Errorf("%s: %+v, want %+v", model, got, want)
		}
	}
	if got := (Session{}).Hardware("m"); got != (Hardware{}) {
		t.Errorf("a session of an older assay: %+v", got)
	}
}
