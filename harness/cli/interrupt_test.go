package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/harness/cli"
	"assay/results"
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
	t.Parallel()
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
	if !strings.Contains(errs.String(), "the same command goes on") {
		t.Errorf("nothing says how to go on:\n%s", errs.String())
	}
	count := func() int {
		st, err := results.OpenReader(t.Context(), filepath.Join(dir, "kill.sqlite"))
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
}
