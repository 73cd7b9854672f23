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
	"assay/results/store"
)

// halter stops a process after its second, fifth and eighth line of progress, and
// lets it go on a while later.
type halter struct {
	seen  string
	stop  func(between time.Duration)
	stops int
	lines int
	last  time.Time

	between time.Duration // the first lines, each of two trials, before anything was stopped
}

func (h *halter) Write(p []byte) (int, error) {
	h.seen += string(p)
	if n := strings.Count(h.seen, "run: "); n > h.lines {
		if h.lines > 0 && h.stops == 0 {
			h.between = time.Since(h.last)
		}
		h.lines, h.last = n, time.Now()
	}
	if h.stops < 3 && h.lines >= 3*h.stops+2 {
		h.stops++
		h.stop(h.between)
	}
	return len(p), nil
}

// A run that is stopped and goes on (Ctrl-Z, a suspended container) takes the
// times of the trials that were under way again.
//
// It runs alone: where this program plays the server of another test's run, a child
// of it that is stopped is a part of that server.
func TestAStopIsNoLatency(t *testing.T) {
	if underRace { // requests are a twentieth of so slow a run, and a stop hardly falls into one
		return
	}
	// All three stops of a run may fall between trials; of three runs, hardly all nine.
	for n := range 3 {
		if flagged := stoppedRun(t, n); flagged > 0 || t.Failed() {
			return
		}
	}
	t.Error("no attempt is flagged, of nine stops")
}

// stoppedRun stops the nth of three runs three times, and counts the attempts that are
// flagged for it.
func stoppedRun(t *testing.T, nth int) int {
	t.Helper()
	dir := t.TempDir()
	bench := filepath.Join(dir, "kill.yaml")
	yaml := strings.Replace(killBench, "repeats_of_invalid: 0", "repeats_of_invalid: 4", 1)
	if err := os.WriteFile(bench, []byte(yaml), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "assay", "run", "-c", bench)
	// A stop may fall between two trials, but hardly each of nine, at nine distances from
	// the end of one, however long this machine takes for one.
	h := &halter{}
	const stood = 1500 * time.Millisecond
	h.stop = func(between time.Duration) {
		time.Sleep(time.Duration(2*(3*(h.stops-1)+nth)+1) * between / 18)
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
	st, err := store.OpenReader(t.Context(), filepath.Join(dir, "kill.sqlite"))
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
