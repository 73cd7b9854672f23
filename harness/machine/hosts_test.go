package machine

import (
	"os"
	"reflect"
	"testing"

	"assay/results"
	"assay/timing/telemetry"
)

func TestHere(t *testing.T) {
	t.Setenv(Pseudonym, "")
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	h := ThisHost("v1")
	if h.Name != name || h.Version != "v1" || h.Cores < 1 || h.Arch == "" || h.GPUs != nil || h.Clock != nil {
		t.Errorf("%+v", h)
	}
	t.Setenv(Pseudonym, " gpu-box-3 ")
	if h := ThisHost(""); h.Name != "gpu-box-3" {
		t.Errorf("the name is %q", h.Name)
	}
	for name, v := range Facts(ThisHost("")) {
		if v == "" || v == "gpu-box-3" {
			t.Errorf("the fact %s is %q", name, v)
		}
	}
}

// Phantoms are no GPUs of a host, and what a driver does not tell is left out.
func TestGPUsOfAHost(t *testing.T) {
	devices := []telemetry.Device{
		{ID: "cpu", Kind: telemetry.CPU},
		{ID: "phantom", Kind: telemetry.GPU, Synthetic: true},
		{ID: "GPU-1", Name: "H100", Kind: telemetry.GPU, Facts: []telemetry.Fact{{Name: "driver", Value: "550.1"}, {Name: "memory_total_bytes", Value: "85899345920"}}},
		{ID: "GPU-2", Name: "T4", Kind: telemetry.GPU},
	}
	want := []results.HostGPU{{ID: "GPU-1", Name: "H100", Memory: 80 << 30, Driver: "550.1"}, {ID: "GPU-2", Name: "T4"}}
	if got := GPUs(devices); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
