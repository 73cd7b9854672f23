//go:build fleet && linux

package faults

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver"

	"github.com/jedib0t/go-pretty/v6/table"

	"assay/harness/fleet"
	"assay/results/store"
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
		ok(t, binary, dir, address, "fleet", "submit", "--slice", fmt.Sprint(of))
		began := time.Now()
		var all []*program
		for i := range n {
			all = append(all, begin(t, binary, dir, address, "fleet", "worker", "--name", fmt.Sprint("w", i), "--dir", fmt.Sprint(name, "-", i), "-c", "bench.yaml"))
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
// items' names, again and again; upload, trials' rows and joining are the real ones. The
// first pull is killed when a quarter is there, and the times of both are added.
//
//	ASSAY_BENCH_TRIALS=1000000 .ci/fleet TestManyTrials
func TestManyTrials(t *testing.T) {
	want := setting(t, "ASSAY_BENCH_TRIALS", 4000)
	const size = 200
	binary := assay(t)
	pg := postgres(t)
	address := pg.database("many")
	n := (want + size - 1) / size
	f, uploading, whole := fill(t, address, size/2, n)
	mb := float64(pg.number("many", "SELECT pg_database_size(current_database())")) / 1e6
	tables := float64(pg.number("many", "SELECT pg_total_relation_size('assay.bundle')")) / 1e6
	rows := float64(pg.number("many", "SELECT pg_total_relation_size('assay.trial')")) / 1e6
	dir := t.TempDir()
	out := filepath.Join(dir, "out.sqlite")
	all := n * len(f.keys)
	at := time.Now()
	killed := begin(t, binary, dir, address, "fleet", "pull", "out.sqlite")
	for there := 0; there < all/4 && killed.lives(); time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(out); err == nil {
			there = count(t, out)
		}
	}
	killed.cmd.Process.Kill()
	<-killed.waited
	first := time.Since(at)
	there := count(t, out)
	at = time.Now()
	p := begin(t, binary, dir, address, "fleet", "pull", "out.sqlite", "--json")
	if code := p.code(); code != 0 {
		t.Fatalf("exit code %d: %s", code, p.errs.String())
	}
	second := time.Since(at)
	var pulled struct{ Trials, Slices, New int }
	if err := json.Unmarshal(p.out.Bytes(), &pulled); err != nil || pulled.Trials != all || pulled.Slices != n || pulled.New != n-there/len(f.keys) {
		t.Errorf("%d of %d trials were there: %s, %v", there, all, p.out.String(), err)
	}
	st, err := os.Stat(out)
	if err != nil {
		t.Fatal(err)
	}
	used := p.cmd.ProcessState
	fmt.Printf("\nN = %d trials in %d slices: %.0f MB in PostgreSQL (%.0f stores, %.0f rows of trials); one worker claims and uploads in %.1f s (%.0f trials/s; %.1f s with making them up)\n",
		all, n, mb, tables, rows, uploading.Seconds(), float64(all)/uploading.Seconds(), whole.Seconds())
	fmt.Printf("pull %.1f s, killed after %.1f s with %d trials and gone on with for %.1f s (%.1f s of CPU, %d MB at most), store %.0f MB\n",
		(first + second).Seconds(), first.Seconds(), there, second.Seconds(), (used.UserTime() + used.SystemTime()).Seconds(), used.SysUsage().(*syscall.Rusage).Maxrss/1024, float64(st.Size())/1e6)
}

// count is how many trials a store holds.
func count(t testing.TB, path string) (n int) {
	t.Helper()
	db := open(t, path, "mode=ro")
	defer db.Close()
	if err := db.QueryRow("SELECT count(*) FROM trial").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func open(t testing.TB, path, mode string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", store.URI(path, store.VFS(), mode))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

// keysOf are the trials of a store.
func keysOf(t testing.TB, path string) (keys []string) {
	t.Helper()
	st, err := store.OpenReader(t.Context(), path)
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
	unjudged = "DELETE FROM attempt WHERE judgment IS NOT NULL; DELETE FROM judgment; DELETE FROM case_of; DELETE FROM cases; DELETE FROM score_bundle; DELETE FROM score_set; DELETE FROM energy; DELETE FROM block; VACUUM"
	empty    = "DELETE FROM turn; DELETE FROM attempt; DELETE FROM trial; DELETE FROM event; DELETE FROM sample_bundle; DELETE FROM device; DELETE FROM session; " +
		"CREATE TEMP TABLE one AS SELECT * FROM item; DELETE FROM item; WITH RECURSIVE part (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM part WHERE n < %d) " +
		"INSERT INTO item (study, id, type, task, modality, facts) SELECT study, id || '/' || n, type, task, modality, facts FROM one, part; VACUUM"
	others = "UPDATE trial SET item = item || '/%[1]d'; UPDATE item SET id = id || '/%[1]d'; UPDATE session SET origin_ns = origin_ns + %[1]d"
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
	db := open(t, path, store.Writer)
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
