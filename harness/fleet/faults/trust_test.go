//go:build fleet && linux

package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWorkersTrustNoCommands: a worker runs no program that the database names, unless it is
// told to, or its own bench.yaml names it.
func TestWorkersTrustNoCommands(t *testing.T) {
	address, binary := postgres(t).database("trust"), assay(t)
	from, here, trusting := t.TempDir(), t.TempDir(), t.TempDir()
	text := strings.Replace(bench("http://127.0.0.1:1", 4), "place: remote", "command: [touch, owned], restarts: 0, start_timeout: 1s", 1)
	put(t, filepath.Join(from, "bench.yaml"), text)
	ok(t, binary, from, address, "fleet", "submit")
	p := begin(t, binary, here, address, "fleet", "worker")
	code := p.code()
	t.Logf("exit code %d, expected 2: %s", code, p.errs.String())
	for _, want := range []string{"backends.", ".command: touch owned", "-c fleet.yaml", "--trust-commands"} {
		if !strings.Contains(p.errs.String(), want) {
			t.Errorf("expected %q", want)
		}
	}
	if _, err := os.Stat(filepath.Join(here, "owned")); code != 2 || err == nil {
		t.Errorf("exit code %d, expected 2; the command ran: %v", code, err == nil)
	}
	for dir, args := range map[string][]string{trusting: {"fleet", "worker", "--trust-commands"}, here: {"fleet", "worker", "-c", "fleet.yaml"}} {
		p := begin(t, binary, dir, address, args...)
		defer p.cmd.Process.Kill()
		until(t, strings.Join(args, " ")+" to start the server", func() bool {
			_, err := os.Stat(filepath.Join(dir, "owned"))
			return err == nil || !p.lives()
		})
		if !p.lives() {
			t.Errorf("%v: exit code %d\n%s", args, p.code(), p.errs.String())
		}
	}
}
