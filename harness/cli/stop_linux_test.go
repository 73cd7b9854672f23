package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/results"
	"assay/results/sqlite"
)

// halter stops a process after its second, fifth and eighth line of progress, and
// lets it go on a while later.
type halter struct {
	seen  string
	stop  func()
	stops int
}

func (h *halter) Write(p []byte) (int, error) {
	h.seen += string(p)
	if h.stops < 3 && strings.Count(h.seen, "run: ") >= 3*h.stops+2 {
		h.stops++
		h.stop()
	}
	return len(p), nil
}

// A run that is stopped and goes on (Ctrl-Z, a suspended container) takes the
// times of the trials that were under way again.
//
// It runs alone: where this program plays the server of another test's run, a child
// of it that is stopped is a part of that server.
func TestAStopIsNoLatency(t *testing.T) {
	// All three stops of a run may fall between trials; of three runs, hardly all nine.
	for range 3 {
		if flagged := stoppedRun(t); flagged > 0 || t.Failed() {
			return
		}
	}
	t.Error("no attempt is flagged, of nine stops")
}

// stoppedRun stops a run three times, and counts the attempts that are flagged for it.
func stoppedRun(t *testing.T) int {
	t.Helper()
	dir := t.TempDir()
	bench := filepath.Join(dir, "kill.yaml")
	yaml := strings.Replace(killBench, "repeats_of_invalid: 0", "repeats_of_invalid: 4", 1)
	if err := os.WriteFile(bench, []byte(yaml), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "assay", "run", "-c", bench)
	// A stop may fall between two trials, but hardly each of three, at three distances
	// from the end of one.
	h := &halter{}
	const stood = 1500 * time.Millisecond
	h.stop = func() {
		time.Sleep(time.Duration(25*h.stops) * time.Millisecond)
		if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
		time.Sleep(stood) // it is the stop
		if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}
	cmd.Stderr = h
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, h.seen)
	}
	if h.stops != 3 {
		t.Fatalf("stopped %d times\n%s", h.stops, h.seen)
	}
	st, err := sqlite.OpenReader(t.Context(), filepath.Join(dir, "kill.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	flagged := 0
	for tr, err := range st.Trials(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range tr.Attempts {
			if slices.Contains(a.Flags, results.FlagStopped) {
				if flagged++; i == len(tr.Attempts)-1 {
					t.Errorf("%v was stopped and not taken again: %v", tr.Key, a.Flags)
				}
				continue
			}
			if d, ok := a.Turns[0].Trace.Latency(); ok && d >= stood {
				t.Errorf("%v: a stop is in its latency of %v", tr.Key, d)
			}
		}
	}
	if flagged > 3 {
		t.Errorf("%d attempts are flagged, of three stops", flagged)
	}
	return flagged
}
