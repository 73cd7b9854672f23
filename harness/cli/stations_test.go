package cli

import (
	"encoding/json"
	"testing"
	"time"

	"assay/backends"
	"assay/harness/fleet"
	"assay/results"
)

// What workers told of themselves is what the doctor compares; who is gone, or only judges,
// is left out.
func TestStationsOfWorkers(t *testing.T) {
	offset, bound := .25, .01
	models, err := json.Marshal(map[string]backends.Identity{"m": {Server: "vllm", Weights: "w"}})
	if err != nil {
		t.Fatal(err)
	}
	host := func(name string) fleet.Host {
		facts := results.Host{Name: "as the machine calls itself", GPUs: []results.HostGPU{{ID: "A", Name: "H100", Driver: "550"}}, Version: "v1"}
		return fleet.Host{Name: name, Facts: fleet.Facts(facts), Models: models, Version: "v1", Revision: "abc", Lease: time.Minute}
	}
	a, judges, ended, silent := host("a"), host("judges"), host("ended"), host("silent")
	a.Offset, a.Error = &offset, &bound
	judges.Judge, ended.Ended, silent.Silent = true, true, time.Minute+1
	all, err := stations([]fleet.Host{a, judges, ended, silent})
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	s := all[0]
	if s.Host.Name != "a" || s.Host.Version != "v1 (abc)" || s.Host.GPUs[0].Driver != "550" || s.Models["m"].Weights != "w" || *s.Host.Clock != (results.ClockOffset{Offset: -250 * time.Millisecond, Bound: 10 * time.Millisecond}) {
		t.Errorf("%+v", s)
	}
	a.Facts = []byte("[]")
	if _, err := stations([]fleet.Host{a}); err == nil {
		t.Error("facts that cannot be read")
	}
}
