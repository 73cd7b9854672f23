package cli_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/harness/cli"
	"assay/harness/compare"
	"assay/harness/experiment"
	"assay/results/store"
)

// TestNullPairsOfSampledReaders: runs of the same readers on the same cases, each with
// draws of its own, differ by chance alone. At most 18 of 200 pairs may have a row beyond
// noise (5 %, and its 99.9 % quantile); the one that is always run has none, by its seeds.
// The figure for 200 pairs:
//
//	ASSAY_SLOW=1 go test -v -timeout 2h -run TestNullPairsOfSampledReaders ./harness/cli
//
// Energies and times are left out: what else the machine does moves those of a whole run.
func TestNullPairsOfSampledReaders(t *testing.T) {
	t.Parallel()
	pairs, most := 1, 0
	if os.Getenv("ASSAY_SLOW") != "" {
		pairs, most = 200, 18
	}
	dir := t.TempDir()
	run := func(seed int) *compare.Run {
		db, file := filepath.Join(dir, "r.sqlite"), filepath.Join(dir, "bench.yaml")
		text := fmt.Sprintf(`name: r
seed: 5
store: r.sqlite
telemetry: {devices: none}
datasets: {chest: {kind: phantom, items: 24, size: 256}}
backends: {p: {kind: phantom, protocol: ollama}}
models: {honest: {backend: p, model: honest}, silent: {backend: p, model: silent-sycophant}}
judges: {lexical: {kind: lexical}}
studies:
  cot: {dataset: chest, arms: [direct, cot], timed: false, in_flight: 8, sampling: {temperature: 1, seed: %d}, rubrics: {accuracy: [lexical]}}
`, seed)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var errs strings.Builder
		if code := cli.Main(t.Context(), []string{"assay", "run", "-c", file}, strings.NewReader(""), io.Discard, &errs); code != 0 {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
		st, err := store.OpenReader(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		asked, err := experiment.Asked(t.Context(), st)
		if err != nil {
			t.Fatal(err)
		}
		r, err := compare.ReadRun(t.Context(), st, db, asked)
		if err != nil {
			t.Fatal(err)
		}
		st.Close()
		for _, name := range []string{"r.sqlite", "r.sqlite-wal", "r.sqlite-shm", "r.sqlite.lock"} {
			os.Remove(filepath.Join(dir, name))
		}
		return r
	}
	found, rows, moved := 0, 0, 0
	for n := range pairs {
		c, err := compare.Runs(t.Context(), run(2*n+1), run(2*n+2), compare.Choice{})
		if err != nil {
			t.Fatal(err)
		}
		rows += len(c.Rows)
		for _, r := range c.Rows {
			moved += r.Up + r.Down
		}
		if c.Changed > 0 {
			found++
		}
	}
	t.Logf("%d of %d null pairs have a row beyond noise; %d rows, in which %d items changed by chance", found, pairs, rows, moved)
	if found > most {
		t.Errorf("%d of %d null pairs have a row beyond noise, want at most %d", found, pairs, most)
	}
	if moved < 4*pairs {
		t.Errorf("%d items changed in %d pairs: the readers are not sampled", moved, pairs)
	}
}
