package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/harness/cli"
	"assay/harness/machine"
	"assay/results"
	"assay/results/store"
)

// stopper cancels a context when a text goes by.
type stopper struct {
	bytes.Buffer
	at   string
	stop context.CancelFunc
}

func (s *stopper) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	if strings.Contains(s.Buffer.String(), s.at) {
		s.stop()
	}
	return n, err
}

func TestInterruptKeepsWhatIsFinishedAndSaysHowToGoOn(t *testing.T) {
	dir := t.TempDir()
	bench := filepath.Join(dir, "kill.yaml")
	if err := os.WriteFile(bench, []byte(killBench), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	errs := stopper{at: "run: 8 of 32", stop: cancel}
	if code := cli.Main(ctx, []string{"assay", "run", "-c", bench}, strings.NewReader(""), &out, &errs); code != 130 {
		t.Fatalf("exit code %d, want 130\n%s", code, errs.String())
	}
	if !strings.Contains(errs.String(), "the same command continues") {
		t.Errorf("nothing says how to go on:\n%s", errs.String())
	}
	count := func() int {
		st, err := store.OpenReader(t.Context(), filepath.Join(dir, "kill.sqlite"))
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		done, err := st.Outcomes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for k, o := range done {
			if o.Failed || o.Attempts != 1 {
				t.Errorf("%v: %+v; an interrupted trial was stored or one was run twice", k, o)
			}
		}
		return len(done)
	}
	first := count()
	if first < 8 || first >= 32 {
		t.Fatalf("%d trials stored at the interrupt, want 8 to 31", first)
	}
	var second bytes.Buffer
	if code := cli.Main(t.Context(), []string{"assay", "run", "-c", bench}, strings.NewReader(""), &out, &second); code != 0 {
		t.Fatalf("exit code %d\n%s", code, second.String())
	}
	if n := count(); n != 32 {
		t.Errorf("%d trials at the end, want 32", n)
	}
	// A call of run that was killed left no energies; one with nothing to do measures it.
	pending := func(add bool) bool {
		st, err := store.Open(t.Context(), filepath.Join(dir, "kill.sqlite"))
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		if add {
			if err := st.PutSession(t.Context(), &results.Session{Origin: time.Now(), Places: map[string]results.Place{}}); err != nil {
				t.Fatal(err)
			}
		}
		waits, err := machine.Pending(t.Context(), st)
		if err != nil {
			t.Fatal(err)
		}
		return waits
	}
	if !pending(true) {
		t.Fatal("a session without energies does not wait for them")
	}
	if code := cli.Main(t.Context(), []string{"assay", "run", "-c", bench}, strings.NewReader(""), &out, &second); code != 0 || pending(false) {
		t.Errorf("exit code %d; energies are still to be measured", code)
	}
	// Whatever an interrupted command was about: its exit code is the interrupt's.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"report", "--json", filepath.Join(dir, "kill.sqlite")}, {"cost", "-c", bench}, {"judge", "-c", bench}} {
		var errs bytes.Buffer
		if code := cli.Main(gone, append([]string{"assay"}, args...), strings.NewReader(""), io.Discard, &errs); code != 130 || !strings.Contains(errs.String(), "interrupted") || strings.Contains(errs.String(), "canceled") {
			t.Errorf("assay %s, interrupted: exit code %d: %s", args[0], code, errs.String())
		}
	}
}

// heard calls a function once, when a text goes by.
type heard struct {
	mu   sync.Mutex
	text strings.Builder
	at   string
	once sync.Once
	do   func()
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.Write(p)
	if strings.Contains(h.text.String(), h.at) {
		h.once.Do(h.do)
	}
	return len(p), nil
}

// TestASecondRunWaitsForOneThatStops and says so; beside one that does not stop it is
// refused, and while it waits it can be interrupted.
func TestASecondRunWaitsForOneThatStops(t *testing.T) {
	dir := t.TempDir()
	bench := filepath.Join(dir, "kill.yaml")
	if err := os.WriteFile(bench, []byte(strings.Replace(killBench, "items: 8", "items: 1", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	first, err := store.Open(t.Context(), filepath.Join(dir, "kill.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	const says = "is stopping; waiting for it"
	run := func(ctx context.Context, do func()) (int, string) {
		errs := &heard{at: says, do: do}
		code := cli.Main(ctx, []string{"assay", "run", "-c", bench}, strings.NewReader(""), io.Discard, errs)
		return code, errs.text.String()
	}
	if code, errs := run(t.Context(), func() {}); code != 3 || !strings.Contains(errs, "the store is in use") || strings.Contains(errs, says) {
		t.Errorf("beside one that does not stop: %d\n%s", code, errs)
	}
	first.MarkStopping()
	ctx, cancel := context.WithCancel(t.Context())
	if code, errs := run(ctx, cancel); code != 130 || !strings.Contains(errs, says) {
		t.Errorf("interrupted as it waits: %d\n%s", code, errs)
	}
	var closed error
	if code, errs := run(t.Context(), func() { closed = first.Close() }); code != 0 || strings.Count(errs, says) != 1 || closed != nil {
		t.Errorf("after one that stops: %d, %v\n%s", code, closed, errs)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.stopping")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestATerminalThatGoesAwayInterrupts: SIGHUP ends a run as Ctrl-C does, unless it is
// ignored, as nohup has it.
func TestATerminalThatGoesAwayInterrupts(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("these tests were started with SIGHUP ignored, as nohup does, and so is every run")
	}
	t.Parallel()
	for command, want := range map[string]int{"exec assay run": 130, "trap '' HUP; exec assay run": 0} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "bench.yaml"), []byte(killBench), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = dir
		errs := &heard{at: "run: 8 of 32", do: func() { _ = cmd.Process.Signal(syscall.SIGHUP) }}
		cmd.Stderr = errs
		err := cmd.Run()
		if cmd.ProcessState.ExitCode() != want {
			t.Errorf("%s: %v\n%s", command, err, errs.text.String())
		}
		if want == 130 && !strings.Contains(errs.text.String(), "the same command continues") {
			t.Errorf("%s: nothing says how to go on:\n%s", command, errs.text.String())
		}
	}
}
