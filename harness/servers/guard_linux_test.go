//go:build linux

package servers

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/harness/machine"
)

// begin starts an assay with that server, waits until it is up, and says the token of it.
func begin(t *testing.T, record string, before ...string) (assay *exec.Cmd, log *written, token string) {
	t.Helper()
	log = &written{}
	args := append(before, os.Args[0], "serve", free(t), "manage", record, "brood")
	assay = exec.Command(args[0], args[1:]...)
	assay.Stdout, assay.Stderr = log, log
	if err := assay.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(log.String(), "up 0\n"); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not come up: %s", log.String())
		}
	}
	b, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Token, Cgroup string }
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	t.Logf("control group: %q", r.Cgroup)
	for _, what := range []string{"server", "plain", "setsid", "daemonised", "bare"} {
		pid := running(t, log, what)
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	}
	return assay, log, r.Token
}

// TestAServerDiesWithItsAssay: kill -9 of assay ends its server and all that the server
// started, though nobody comes after it; what cleared its environment, where there is a
// control group.
func TestAServerDiesWithItsAssay(t *testing.T) {
	t.Run("as it is here", func(t *testing.T) { diesWith(t) })
	t.Run("without control groups", func(t *testing.T) {
		hide := []string{"unshare", "-m", "sh", "-c", `mount -t tmpfs none /sys/fs/cgroup && exec "$@"`, "sh"}
		if err := exec.Command(hide[0], append(hide[1:], "true")...).Run(); err != nil {
			t.Skip("they cannot be hidden: ", err)
		}
		diesWith(t, hide...)
	})
}

func diesWith(t *testing.T, before ...string) {
	record := filepath.Join(t.TempDir(), "server")
	assay, log, token := begin(t, record, before...)
	if n := len(guards(token)); n != 1 {
		t.Errorf("%d guards", n)
	}
	if err := assay.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = assay.Wait()
	b, _ := os.ReadFile(record)
	for _, what := range []string{"server", "plain", "setsid", "daemonised", "bare"} {
		pid := running(t, log, what)
		if what == "bare" && !bytes.Contains(b, []byte(`"cgroup":"/`)) {
			continue // nothing tells whose it is
		}
		end := time.Now().Add(15 * time.Second)
		for alive(pid) && time.Now().Before(end) {
			<-time.After(20 * time.Millisecond)
		}
		if alive(pid) {
			t.Errorf("%s (%d) lives on", what, pid)
		}
	}
	for end := time.Now().Add(10 * time.Second); len(guards(token)) > 0; <-time.After(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the guard lives on")
		}
	}
	left, _ := filepath.Glob("/sys/fs/cgroup/**/assay-" + token)
	more, _ := filepath.Glob("/sys/fs/cgroup/assay-" + token)
	if len(left)+len(more) > 0 {
		t.Errorf("its control group is left: %v %v", left, more)
	}
}

// TestReap: what a killed run left is found by its store and ended; a record of another
// boot, another store or another command says nothing about a process.
func TestReap(t *testing.T) {
	dir := t.TempDir()
	store, record := filepath.Join(dir, "run.sqlite"), filepath.Join(dir, "run-mine.log.server")
	assay, log, token := begin(t, record)
	if left := Left(store); left != nil {
		t.Errorf("beside a live assay: %q", left)
	}
	for _, pid := range guards(token) { // it would do this test's work
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err := assay.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = assay.Wait()
	if left := Left(store); len(left) != 1 || !strings.HasPrefix(left[0], "the server of backend mine (") {
		t.Errorf("left: %q", left)
	}
	b, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	var r map[string]any
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	stranger := exec.Command("sleep", "604")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Process.Kill() }()
	it, err := machine.Processes().Process(stranger.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]map[string]any{
		"another store":        {"store": filepath.Join(dir, "other.sqlite")},
		"another boot":         {"boot": "none"},
		"another command":      {"token": "none", "cgroup": "", "server": it, "command": "sleep\x00605\x00"},
		"no command":           {"token": "none", "cgroup": "", "server": it, "command": ""},
		"another start":        {"token": "none", "cgroup": "", "server": machine.Process{PID: it.PID, Started: it.Started + 1}, "command": "sleep\x00604\x00"},
		"another group":        {"token": "none", "cgroup": "/sys/fs/cgroup", "command": ""},
		"a name for the group": {"token": "none", "cgroup": filepath.Join(dir, "assay-none"), "command": ""},
	} {
		changed := maps.Clone(r)
		maps.Copy(changed, change)
		b, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(record, b, 0o600); err != nil {
			t.Fatal(err)
		}
		Reap(store, io.Discard)
		if left, plain := Left(store), alive(running(t, log, "plain")); left != nil || !alive(it.PID) || !plain {
			t.Errorf("%s: left %q, the stranger lives: %v, what another record is about: %v", what, left, alive(it.PID), plain)
		}
	}
	maps.Copy(r, map[string]any{"server": it, "command": "sleep\x00604\x00"})
	if b, err = json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(record, b, 0o600); err != nil {
		t.Fatal(err)
	}
	var notes strings.Builder
	go func() { _ = stranger.Wait() }()
	Reap(store, &notes)
	if !strings.Contains(notes.String(), "processes of the server of backend mine, which a run that was killed had left") {
		t.Errorf("said %q", notes.String())
	}
	for _, what := range []string{"plain", "setsid", "daemonised"} {
		gone(t, what, running(t, log, what))
	}
	gone(t, "what is recorded with start and command", it.PID)
	if _, err := os.Stat(record); err == nil || Left(store) != nil {
		t.Error("the record is left")
	}
}
