//go:build fleet && linux

package faults

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/jedib0t/go-pretty/v6/table"

	"assay/harness/fleet"
	"assay/results/file"
	"assay/results/pagesum"
	"assay/results/sqlite"
)

// scaled is an experiment of one model, of two trials an item.
func scaled(server string, items int) string {
	return fmt.Sprintf(`name: scaled
seed: 3
store: one.sqlite
datasets: {chest: {kind: phantom, items: %d, size: 256}}
backends: {p: {kind: ollama, url: %q, place: remote}}
models: {honest: {backend: p, model: honest}}
judges: {lexical: {kind: lexical}}
studies: {cot: {dataset: chest, timed: false, in_flight: 1, rubrics: {accuracy: [lexical]}}}
telemetry: {devices: [host], hz: 20}
`, items, server)
}

// TestScaling prints how the time of an experiment falls with workers, on a server that
// takes 100 ms for an answer, and what the fleet costs beside run. The bar of 5 % is the
// lead's to read on a quiet machine: here nothing is asserted of time.
// ASSAY_FLEET_TRIALS (200) trials in slices of 100, or of as many as leave each of 8
// workers one; a worker alone has slices of 100, the default, as it is compared with run:
//
//	ASSAY_FLEET_TRIALS=1600 .ci/fleet TestScaling
func TestScaling(t *testing.T) {
	binary := assay(t)
	pg := postgres(t)
	trials := setting(t, "ASSAY_FLEET_TRIALS", 200)
	size := min(100, trials/8)
	dir := t.TempDir()
	put(t, filepath.Join(dir, "bench.yaml"), scaled(slow(t, 100*time.Millisecond), trials/2))
	// The judging and the report after the answers are no work of workers.
	began := time.Now()
	p := begin(t, binary, dir, "", "run")
	var run time.Duration
	for ; run == 0; time.Sleep(5 * time.Millisecond) {
		if !p.lives() || strings.Contains(p.errs.String(), "judged:") {
			run = time.Since(began)
		}
	}
	if code := p.code(); code != 0 {
		t.Fatalf("exit code %d: %s", code, p.errs.String())
	}
	out := table.NewWriter()
	out.SetStyle(table.StyleLight)
	out.AppendHeader(table.Row{"workers", "wall s", "of ideal", "ms a trial", "beside run"})
	each := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(trials) }
	out.AppendRow(table.Row{"run", fmt.Sprintf("%.2f", run.Seconds()), "", fmt.Sprintf("%.1f", each(run)), ""})
	one := time.Duration(0)
	for _, n := range []int{1, 2, 4, 8} {
		name := fmt.Sprint("scale", n)
		address := pg.database(name)
		of := size
		if n == 1 {
			of = 100
		}
		ok(t, binary, dir, address, "submit", "--slice", fmt.Sprint(of))
		began := time.Now()
		var all []*program
		for i := range n {
			all = append(all, begin(t, binary, dir, address, "worker", "--name", fmt.Sprint("w", i), "--dir", fmt.Sprint(name, "-", i), "-c", "bench.yaml"))
		}
		for _, p := range all {
			if code := p.code(); code != 0 {
				t.Fatalf("exit code %d: %s", code, p.errs.String())
			}
		}
		took := time.Since(began)
		if n == 1 {
			one = took
		}
		if got := pg.number(name, "SELECT count(*) FROM assay.trial"); got != trials {
			t.Errorf("%d trials, want %d", got, trials)
		}
		beside := ""
		if n == 1 {
			beside = fmt.Sprintf("%+.1f %%", 100*(took.Seconds()/run.Seconds()-1))
		}
		out.AppendRow(table.Row{n, fmt.Sprintf("%.2f", took.Seconds()), fmt.Sprintf("%.0f %%", 100*one.Seconds()/float64(n)/took.Seconds()), fmt.Sprintf("%.1f", each(took)), beside})
		pg.do("postgres", "DROP DATABASE "+name+" WITH (FORCE)")
	}
	fmt.Printf("\n%d trials of 100 ms, one at a time on each worker, in slices of %d (of 100 for one worker); from the start of the processes to their end\n%s\n", trials, size, out.Render())
}

// TestManyTrials puts ASSAY_BENCH_TRIALS (4,000) trials into PostgreSQL as a worker
// does, and pulls them: MB, and seconds. The answers of one slice of 200 are given other
// items' names, again and again; upload, trials' rows and joining are the real ones.
//
//	ASSAY_BENCH_TRIALS=1000000 .ci/fleet TestManyTrials
func TestManyTrials(t *testing.T) {
	want := setting(t, "ASSAY_BENCH_TRIALS", 4000)
	const size = 200
	binary := assay(t)
	pg := postgres(t)
	address := pg.database("many")
	f := connect(t, address)
	dir := t.TempDir()
	put(t, filepath.Join(dir, "bench.yaml"), scaled(slow(t, 0), size/2))
	ok(t, binary, dir, "", "run")
	template := filepath.Join(dir, "template.sqlite")
	put(t, template, string(edited(t, filepath.Join(dir, "one.sqlite"), unjudged)))
	keys := keysOf(t, template)
	n := (want + size - 1) / size
	var parts []fleet.Part
	for i := range n {
		parts = append(parts, fleet.Part{Model: "honest", Part: i + 1, Parts: n, Trials: len(keys)})
	}
	id, _, err := f.Submit(t.Context(), fleet.Experiment{Name: "many"}, changed(t, template, empty), parts)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Register(t.Context(), fleet.Host{ID: "a", Name: "a", Facts: []byte("{}"), Tags: []string{}, Lease: time.Hour}); err != nil {
		t.Fatal(err)
	}
	var uploading time.Duration
	began := time.Now()
	jobs(t, f, fleet.Queue(id, fleet.Answer, "honest"), n, func(ctx context.Context, job *fleet.Job) {
		at := time.Now()
		s, err := f.Claim(ctx, job.Args, "a")
		if err != nil {
			t.Error(err)
			return
		}
		uploading += time.Since(at)
		packed := changed(t, template, fmt.Sprintf(others, s.Part))
		var trials []fleet.Trial
		for _, k := range keys {
			trials = append(trials, fleet.Trial{Key: fmt.Sprint(k, "/", s.Part)})
		}
		at = time.Now()
		if err := f.Store(ctx, job, s, "a", trials, packed); err != nil {
			t.Error(err)
		}
		uploading += time.Since(at)
	})
	whole := time.Since(began)
	mb := float64(pg.number("many", "SELECT pg_database_size(current_database())")) / 1e6
	tables := float64(pg.number("many", "SELECT pg_total_relation_size('assay.chunk')")) / 1e6
	rows := float64(pg.number("many", "SELECT pg_total_relation_size('assay.trial')")) / 1e6
	at := time.Now()
	p := begin(t, binary, dir, address, "pull", "out.sqlite", "--experiment", "many")
	if code := p.code(); code != 0 {
		t.Fatalf("exit code %d: %s", code, p.errs.String())
	}
	pulled, pull := p.out.String(), time.Since(at)
	cpu := p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	all := n * len(keys)
	if !strings.Contains(pulled, fmt.Sprintf("%d trials of %d slices", all, n)) {
		t.Error(pulled)
	}
	st, err := os.Stat(filepath.Join(dir, "out.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\nN = %d trials in %d slices: %.0f MB in PostgreSQL (%.0f stores, %.0f rows of trials); one worker claims and uploads in %.1f s (%.0f trials/s; %.1f s with making them up); pull %.1f s (%.1f s of CPU), store %.0f MB\n",
		all, n, mb, tables, rows, uploading.Seconds(), float64(all)/uploading.Seconds(), whole.Seconds(), pull.Seconds(), cpu.Seconds(), float64(st.Size())/1e6)
}

func open(t testing.TB, path, mode string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", file.URI(path, pagesum.VFS(), mode))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

// keysOf are the trials of a store.
func keysOf(t testing.TB, path string) (keys []string) {
	t.Helper()
	st, err := sqlite.OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	all, err := st.Outcomes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for k := range all {
		keys = append(keys, k.Name())
	}
	return keys
}

const (
	unjudged = "DELETE FROM attempt WHERE judgment IS NOT NULL; DELETE FROM judgment; DELETE FROM case_of; DELETE FROM cases; DELETE FROM score_chunk; DELETE FROM score_set; DELETE FROM energy; DELETE FROM block; VACUUM"
	empty    = "DELETE FROM turn; DELETE FROM attempt; DELETE FROM trial; DELETE FROM item; VACUUM"
	others   = "UPDATE trial SET item = item || '/%[1]d'; UPDATE item SET id = id || '/%[1]d'; UPDATE session SET origin_ns = origin_ns + %[1]d"
)

// changed is a store after some statements, packed.
func changed(t testing.TB, template, query string) []byte {
	t.Helper()
	packed, err := fleet.Pack(bytes.NewReader(edited(t, template, query)))
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

func edited(t testing.TB, template, query string) []byte {
	t.Helper()
	text, err := os.ReadFile(template)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "slice.sqlite")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	db := open(t, path, pagesum.Writer)
	if _, err := db.Exec(query + "; PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	os.Remove(path)
	return text
}
