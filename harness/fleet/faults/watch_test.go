//go:build fleet

package faults

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Two hosts of a fleet are seen at work, compared by the doctor, and told apart in what
// is pulled.
func TestHostsAreSeenAndToldApart(t *testing.T) {
	binary := assay(t)
	address := postgres(t).database("seen")
	dir := t.TempDir()
	put(t, filepath.Join(dir, "bench.yaml"), scaled(slow(t, 100*time.Millisecond), 40))
	ok(t, binary, dir, address, "fleet", "submit", "--slice", "10")
	var all []*program
	for _, name := range []string{"box-1", "box-2"} {
		all = append(all, begin(t, binary, dir, address, "fleet", "worker", "--name", name, "--dir", name, "-c", "bench.yaml"))
	}
	until(t, "both work", func() bool {
		var said struct {
			Now struct {
				Hosts []struct{ Name, State string }
			}
		}
		if err := json.Unmarshal([]byte(ok(t, binary, dir, address, "fleet", "watch", "--json")), &said); err != nil {
			t.Fatal(err)
		}
		working := 0
		for _, h := range said.Now.Hosts {
			if h.State == "working" {
				working++
			}
		}
		return working == 2
	})
	found := ok(t, binary, dir, address, "doctor", "--fleet")
	for _, want := range []string{"assay: the same on all", "model honest: is the same one on all"} {
		if !strings.Contains(found, want) {
			t.Errorf("the doctor does not say %q:\n%s", want, found)
		}
	}
	if seen := ok(t, binary, dir, address, "fleet", "watch", "--every", "1s"); !strings.Contains(seen, "80 of 80 trials (100 %), 0 failed") || !strings.HasSuffix(strings.TrimSpace(seen), "all answered, and no worker judges") {
		t.Errorf("watched: %s", seen)
	}
	for _, p := range all {
		if code := p.code(); code != 0 {
			t.Fatalf("exit code %d: %s", code, p.errs.String())
		}
	}
	ok(t, binary, dir, address, "fleet", "pull", "all.sqlite")
	hosts := map[any]int{}
	for _, r := range rows(t, ok(t, binary, dir, address, "export", "--format", "jsonl", "all.sqlite")) {
		if r["clock_offset_s"] == nil {
			t.Errorf("nobody compared the clock of %v", r["host"])
		}
		hosts[r["host"]]++
	}
	if len(hosts) != 2 || hosts["box-1"] == 0 || hosts["box-2"] == 0 {
		t.Errorf("trials by host: %v", hosts)
	}
	report := ok(t, binary, dir, address, "report", "--json", "all.sqlite")
	for _, want := range []string{`"cot-hosts"`, `"machine-hosts"`, `"pooled_over"`, `"2 hosts"`} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %s", want)
		}
	}
}
