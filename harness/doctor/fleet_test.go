package doctor

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/results"
)

func station(name string) Station {
	return Station{From: name + ".json", Host: results.Host{Name: name, CPU: "EPYC", Version: "v1", GPUs: []results.HostGPU{{ID: name + "-0", Name: "H100", Driver: "550"}}},
		Models: map[string]backends.Identity{"m": {Server: "llama.cpp", Model: "m", Weights: "w1", Path: "/" + name}}}
}

func TestCompareMachines(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Station)
		want   string // the one finding beside fine ones; "": none
	}{
		{"equal ones", func(*Station) {}, ""},
		{"assay", func(s *Station) { s.Host.Version = "v2" }, "warning assay: v1 (a, b); v2 (c)"},
		{"kinds of GPU", func(s *Station) { s.Host.GPUs[0].Name = "T4" }, "warning GPUs: H100 (a, b); T4 (c)"},
		{"number of GPUs", func(s *Station) {
			s.Host.GPUs = append(s.Host.GPUs, results.HostGPU{ID: "x", Name: "H100", Driver: "550"})
		}, ""},
		{"drivers", func(s *Station) { s.Host.GPUs[0].Driver = "560" }, "warning drivers: 550 (a, b); 560 (c)"},
		{"a driver that is not known", func(s *Station) { s.Host.GPUs[0].Driver = "" }, "warning drivers: not known (c); 550 (a, b)"},
		{"processors", func(s *Station) { s.Host.CPU = "Xeon" }, "note processor: EPYC (a, b); Xeon (c)"},
		{"weights", func(s *Station) { s.Models["m"] = backends.Identity{Server: "llama.cpp", Model: "m", Weights: "w2"} }, "problem model m: is not the same one everywhere"},
		{"a model that one lacks", func(s *Station) { delete(s.Models, "m") }, "note model m: is not served on c"},
		{"one name twice", func(s *Station) { s.Host.Name = "a" }, "warning host a: two machines have this name"},
		{"problems of its own", func(s *Station) { s.Problems = 2 }, "problem host c: 2 problems of its own stand in c.json"},
		{"its clock", func(s *Station) { s.Host.Clock = &results.ClockOffset{Offset: -3 * time.Second, Bound: time.Second} }, "warning host c: its clock is behind by 3.0 s"},
		{"its clock, as far as that is known", func(s *Station) {
			s.Host.Clock = &results.ClockOffset{Offset: -3 * time.Second, Bound: 2500 * time.Millisecond}
		}, ""},
	} {
		last := station("c")
		c.change(&last)
		var off []string
		for _, f := range Compare([]Station{station("a"), station("b"), last}) {
			if f.Level != fine {
				off = append(off, string(f.Level)+" "+f.About+": "+f.Text)
			}
		}
		if c.want == "" && len(off) > 0 || c.want != "" && (len(off) != 1 || !strings.HasPrefix(off[0], c.want)) {
			t.Errorf("%s: %q, want %q", c.name, off, c.want)
		}
	}
}

// What a doctor prints is what is compared.
func TestReadStation(t *testing.T) {
	d := Diagnosis{Servers: []serverFound{{Name: "s", Models: []modelFound{{Name: "m", Identity: backends.Identity{Server: "vllm", Model: "x", Weights: "w"}}, {Name: "lost"}}}},
		Machine: machineFound{Facts: results.Host{Name: "a", Version: "v1"}}, Findings: []Finding{{Level: problem}, {Level: warning}}}
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadStation("a.json", b)
	if err != nil || s.Host.Name != "a" || s.Problems != 1 || len(s.Models) != 1 || s.Models["m"].Weights != "w" {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"", "[]", "{}", `{"machine":{"host":{"cpu":"x"}}}`, `{"machine":{"facts":{"cpu":"x"}}}`} {
		if _, err := ReadStation("b.json", []byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "b.json: expected what assay doctor --json") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
