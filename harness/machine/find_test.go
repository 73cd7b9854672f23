package machine_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assay/harness/machine"
	"assay/results"
	"assay/timing/telemetry"
	"assay/timing/telemetry/exporter"
)

// The GPUs of a server elsewhere are looked for with the key that bench.yaml names, and
// are never taken for those of this machine.
func TestExportersOfABench(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		fmt.Fprintln(w, `DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a"} 60.5`)
	}))
	defer s.Close()
	remote := func(env string) machine.Setup {
		return machine.Setup{Telemetry: telemetry.Settings{Hz: 20, Remote: []telemetry.Remote{{URL: s.URL, Backend: "box", KeyEnv: env}}}}
	}
	places := map[string]results.Place{"m": results.PlaceRemote}
	t.Setenv("EXPORTER_KEY", "s3cret")
	probes, bad := machine.FindProbes(remote("EXPORTER_KEY"), places, nil)
	if len(probes) != 1 || len(bad) != 0 || !exporter.Serves(probes[0].Describe(), "box") || exporter.Serves(probes[0].Describe(), "m") {
		t.Fatalf("%d probes, %v", len(probes), bad)
	}
	if own := machine.GPUsOf(probes); len(own) != 0 {
		t.Errorf("taken for GPUs of this machine: %+v", own)
	}
	for env, want := range map[string]string{"": "401", "NO_SUCH_KEY_OF_AN_EXPORTER": "is not set or empty"} {
		probes, bad := machine.FindProbes(remote(env), places, nil)
		if len(probes) != 0 || len(bad) != 1 || !strings.Contains(bad[0].String(), want) || strings.Contains(bad[0].String(), "s3cret") {
			t.Errorf("%q: %d probes, %v; want %q", env, len(probes), bad, want)
		}
	}
}
