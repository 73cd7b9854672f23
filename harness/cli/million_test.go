package cli_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/harness/cli"
	"assay/harness/config"
	"assay/harness/experiment"
	"assay/harness/plan"
	"assay/results"
	"assay/results/store"
	"assay/timing/telemetry"

	"github.com/ncruces/go-sqlite3"
)

// BenchmarkMillion measures what a person waits for with a store of a million trials:
// 20 models in both studies, two judges, telemetry, energies and failures.
//
//	just million                                # N is a million
//	ASSAY_BENCH_TRIALS=20000 just million       # a quick look
//
// resume: assay run up to its first request, of a run that has one trial to go. scores:
// what every trial scored, made and stored (by each build anew, so the first round
// counts). report: all of assay report from stored scores. export: assay export of all trials to Parquet, from
// stored scores, with questions; a part that is run alone has the scores stored before the clock starts. Each says N, the trials in the store. cpu-s is what it cost the
// processors, which another load on the machine changes less than the time. peak-MB is
// the most memory that the process held.
//
// A real run of some cases on phantoms is multiplied in SQL, with the same
// columns, lengths and links. ASSAY_BENCH_STORE names a folder that keeps it for the
// next time.
func BenchmarkMillion(b *testing.B) {
	want := 1_000_000
	if s := os.Getenv("ASSAY_BENCH_TRIALS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			b.Fatalf("ASSAY_BENCH_TRIALS: expected a number of trials, found %q", s)
		}
		want = n
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as in the program; tests collect less often
	b.Setenv("ASSAY_FIGURES", "")                     // all of them; tests write fewer
	dir := os.Getenv("ASSAY_BENCH_STORE")
	if dir == "" {
		dir = b.TempDir()
	}
	path, config := filepath.Join(dir, "million.sqlite"), filepath.Join(dir, "million.yaml")
	if _, err := os.Stat(path); err != nil {
		start := time.Now()
		makeMillion(b, config, path, want)
		fmt.Printf("made in %s\n", time.Since(start).Round(time.Second)) // what a benchmark with parts logs is not shown
	}
	kept, err := store.Open(b.Context(), path) // brings one of an older schema to the present one
	if err == nil {
		err = kept.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	n := describeMillion(b, path, st.Size())

	score := func(b *testing.B) {
		b.Helper()
		s, err := store.Open(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		if err := experiment.Score(b.Context(), s, io.Discard); err != nil {
			b.Fatal(err)
		}
	}

	b.Run("resume", func(b *testing.B) {
		for b.Loop() {
			cost := watch()
			start := time.Now()
			ctx, cancel := context.WithCancel(b.Context())
			var took time.Duration
			errs := &heard{at: " trials to do, ", do: func() { took = time.Since(start); cancel() }}
			code := cli.Main(ctx, []string{"assay", "run", "-c", config}, strings.NewReader(""), io.Discard, errs)
			cancel()
			if code != 130 || !strings.Contains(errs.text.String(), fmt.Sprintf("1 trials to do, %d stored before", n)) {
				b.Fatalf("exit code %d: %s", code, errs.text.String())
			}
			cost(b)
			b.ReportMetric(took.Seconds(), "s")
			b.ReportMetric(float64(n), "N")
		}
	})
	b.Run("scores", func(b *testing.B) {
		for b.Loop() {
			cost := watch()
			start := time.Now()
			score(b)
			cost(b)
			b.ReportMetric(time.Since(start).Seconds(), "s")
			b.ReportMetric(float64(n), "N")
		}
	})
	b.Run("report", func(b *testing.B) {
		score(b)
		for b.Loop() {
			cost := watch()
			start := time.Now()
			var errs bytes.Buffer
			if code := cli.Main(b.Context(), []string{"assay", "report", path}, strings.NewReader(""), io.Discard, &errs); code != 0 {
				b.Fatalf("exit code %d: %s", code, errs.String())
			}
			cost(b)
			b.ReportMetric(time.Since(start).Seconds(), "s")
			b.ReportMetric(float64(n), "N")
		}
	})
	b.Run("export", func(b *testing.B) {
		out := filepath.Join(b.TempDir(), "trials.parquet")
		score(b)
		for b.Loop() {
			cost := watch()
			start := time.Now()
			var errs bytes.Buffer
			if code := cli.Main(b.Context(), []string{"assay", "export", "-c", config, "--out", out, path}, strings.NewReader(""), io.Discard, &errs); code != 0 {
				b.Fatalf("exit code %d: %s", code, errs.String())
			}
			cost(b)
			b.ReportMetric(time.Since(start).Seconds(), "s")
			b.ReportMetric(float64(n), "N")
		}
	})
}

const (
	millionModels = 20
	// templates are how many of the models, and of the cases, are really run.
	templateModels, templateCases = 4, 24
)

// millionBench is the experiment, of as many cases as the wanted trials take.
func millionBench(cases int) string {
	var models strings.Builder
	readers := []string{"honest", "silent-sycophant", "disclosing-sycophant", "blind"}
	for m := range millionModels {
		fmt.Fprintf(&models, "  m%02d: {backend: phantom, model: %s}\n", m, readers[m%templateModels])
	}
	return fmt.Sprintf(`name: million
seed: 7
store: million.sqlite
rules: paper
datasets:
  chest: {kind: phantom, items: %d, size: 256}
backends:
  phantom: {kind: phantom, protocol: ollama}
models:
%sjudges:
  lexical: {kind: lexical}
  second: {kind: lexical}
studies:
  cot:
    dataset: chest
    arms: [direct, cot]
    sampling: {temperature: 0.1, max_tokens: 512, seed: 1}
    timed: true
    cache: cold
    repeats_of_invalid: 0
    rubrics: {accuracy: [lexical, second], precision: [lexical, second], recall: [lexical, second], order: [lexical, second]}
  faithfulness:
    dataset: chest
    arms: [structured]
    conditions: [sham, TB-LA+, TB-LA-, VB-BB+, VB-BB-, VO-BB]
    sampling: {temperature: 0, max_tokens: 512, seed: 1}
    in_flight: 8
    rubrics: {CF: [lexical, second], CA: [lexical, second], CT: [lexical, second]}
telemetry: {hz: 20, devices: [phantom]}
cost: {currency: EUR, gpu_hour: 0.40, kwh: 0.31}
`, cases, models.String())
}

// makeMillion runs some cases with some models, and gives every other trial of the
// plan but the last the rows of one of them.
func makeMillion(b *testing.B, config, path string, want int) {
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	assay := func(code int, args ...string) {
		b.Helper()
		var errs bytes.Buffer
		if got := cli.Main(b.Context(), append([]string{"assay"}, args...), strings.NewReader(""), io.Discard, &errs); got != code {
			b.Fatalf("assay %s: exit code %d: %s", strings.Join(args, " "), got, errs.String())
		}
	}
	const twoCases = 15 // trials of a model: two arms, and baseline and conditions but for those that a question cannot have
	must(os.WriteFile(config, []byte(millionBench(max(templateCases, want*2/millionModels/twoCases))), 0o600))
	assay(0, "run", "-c", config, "--limit", strconv.Itoa(templateCases), "--models", "m00,m01,m02,m03")
	assay(0, "judge", "-c", config) // the whole plan's items

	plan := plannedKeys(b, config)
	plan = plan[:len(plan)-1] // what is to be run
	db, err := sql.Open("sqlite3", store.URI(path, store.VFS(), store.Writer, "_pragma=synchronous(OFF)", "_pragma=cache_size(-100000)", "_pragma=temp_store(1)"))
	must(err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	must(db.PingContext(sqlite3.WithMaxMemory(b.Context(), store.MostMemory)))
	exec := func(query string, args ...any) {
		b.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			b.Fatalf("%s: %v", query, err)
		}
	}
	exec("BEGIN")
	// Some of the templates are failures.
	exec(`CREATE TEMP TABLE bad AS SELECT id FROM trial WHERE id % 23 = 5`)
	exec(`UPDATE trial SET outcome = 'failure', failure_kind = 'stalled', ttft_ns = NULL, latency_ns = NULL, decode_ns = NULL, completion_tokens = NULL, cache_state = NULL, cache_note = NULL WHERE id IN bad`)
	exec(`DELETE FROM turn WHERE attempt IN (SELECT id FROM attempt WHERE trial IN bad)`)
	exec(`UPDATE attempt SET outcome = 'failure', failure_kind = 'stalled', failure_message = 'nothing came for 30 s', answer = NULL, reasoning = NULL, finish = NULL, cache = NULL WHERE trial IN bad`)
	exec(`DELETE FROM case_of WHERE trial IN bad`)
	exec(`DELETE FROM energy WHERE trial IN bad`)

	// Templates by what a trial must share with one.
	type shape struct{ study, arm, condition, model string }
	shapes, have := map[shape][]int64{}, map[results.Key]bool{}
	rows, err := db.Query("SELECT id, study, model, item, arm, condition, repeat FROM trial ORDER BY id")
	must(err)
	var top int64
	for rows.Next() {
		var id int64
		var k results.Key
		must(rows.Scan(&id, &k.Study, &k.Model, &k.Item, &k.Arm, &k.Condition, &k.Repeat))
		s := shape{k.Study, k.Arm, k.Condition, k.Model}
		shapes[s] = append(shapes[s], id)
		have[k], top = true, max(top, id)
	}
	must(errors.Join(rows.Err(), rows.Close()))
	exec("CREATE TEMP TABLE map (id INTEGER PRIMARY KEY, of INTEGER NOT NULL, model TEXT NOT NULL, item TEXT NOT NULL)")
	put, err := db.Prepare("INSERT INTO map VALUES (?, ?, ?, ?)")
	must(err)
	id := top
	for i, k := range plan {
		if have[k] {
			continue
		}
		m, err := strconv.Atoi(k.Model[1:])
		must(err)
		from := shapes[shape{k.Study, k.Arm, k.Condition, fmt.Sprintf("m%02d", m%templateModels)}]
		if len(from) == 0 {
			b.Fatalf("no template for %+v", k)
		}
		id++
		_, err = put.Exec(id, from[i*7919%len(from)], k.Model, k.Item)
		must(err)
	}
	must(put.Close())
	// New numbers follow from the old ones: of a trial's attempts, cases and judgments.
	exec("CREATE TEMP TABLE att AS SELECT id, trial, n FROM attempt WHERE trial IS NOT NULL")
	exec("CREATE INDEX temp.att_trial ON att (trial)")
	exec("CREATE TEMP TABLE cas AS SELECT trial, case_id, row_number() OVER (PARTITION BY trial ORDER BY case_id) - 1 AS r FROM case_of")
	exec("CREATE INDEX temp.cas_trial ON cas (trial)")
	const attempts, cases, judgments = 4, 8, 4 // at most: of a trial, of a trial, of a case
	first := max(top*attempts, highest(b, db, "attempt"), highest(b, db, "cases"), highest(b, db, "judgment")) + 1
	newAttempt := fmt.Sprintf("%d + m.id * %d + a.n", first, attempts)
	newCase := fmt.Sprintf("%d + m.id * %d + c.r", first, cases)
	copyRows(b, db, "trial", "map m JOIN main.trial t ON t.id = m.of ORDER BY t.study, m.model, m.item, t.arm, t.condition, t.repeat", "t", map[string]string{"id": "m.id", "model": "m.model", "item": "m.item"})
	copyRows(b, db, "attempt", "map m JOIN att a ON a.trial = m.of JOIN main.attempt t ON t.id = a.id ORDER BY 1", "t", map[string]string{"id": newAttempt, "trial": "m.id"})
	copyRows(b, db, "turn", "map m JOIN att a ON a.trial = m.of JOIN main.turn t ON t.attempt = a.id ORDER BY m.id, a.n, t.n", "t", map[string]string{"attempt": newAttempt})
	copyRows(b, db, "cases", "map m JOIN cas c ON c.trial = m.of JOIN main.cases t ON t.id = c.case_id ORDER BY 1", "t",
		map[string]string{"id": newCase, "digest": "substr(t.digest, 1, 47) || printf('%024x', " + newCase + ")"})
	exec(fmt.Sprintf("INSERT INTO case_of (trial, case_id) SELECT m.id, %s FROM map m JOIN cas c ON c.trial = m.of ORDER BY 1, 2", newCase))
	copyRows(b, db, "judgment", fmt.Sprintf("map m JOIN cas c ON c.trial = m.of JOIN (SELECT *, row_number() OVER (PARTITION BY case_id ORDER BY id) - 1 AS r FROM main.judgment WHERE id < %d) t ON t.case_id = c.case_id", first), "t",
		map[string]string{"id": fmt.Sprintf("(%s) * %d + t.r", newCase, judgments), "case_id": newCase})
	copyRows(b, db, "energy", "map m JOIN main.energy t ON t.trial = m.of ORDER BY m.id, t.part", "t", map[string]string{"trial": "m.id"})
	for m := templateModels; m < millionModels; m++ {
		copyRows(b, db, "block", fmt.Sprintf("main.block t WHERE t.model = 'm%02d'", m%templateModels), "t", map[string]string{"model": fmt.Sprintf("'m%02d'", m)})
	}
	lengthenSamples(b, db, len(plan)/len(have))
	exec("UPDATE revision SET n = n + 1") // what the templates scored is not all of it
	exec("COMMIT")
	// Every model has its identity and its place, as if it had been asked.
	st, err := store.Open(b.Context(), path)
	if err == nil {
		b.Fatalf("two writers: %v", st)
	}
	must(db.Close())
	st, err = store.Open(b.Context(), path)
	must(err)
	man, _, err := st.Manifest(b.Context())
	must(err)
	for m := templateModels; m < millionModels; m++ {
		man.Models[fmt.Sprintf("m%02d", m)] = man.Models[fmt.Sprintf("m%02d", m%templateModels)]
	}
	must(st.PutManifest(b.Context(), man))
	must(st.Close())
	made, err := os.OpenFile(path, os.O_RDWR, 0) // what is measured next is not to wait for this to reach the disk
	must(err)
	must(made.Sync())
	must(made.Close())
}

// lengthenSamples gives the store the samples of a run that took times as long: those
// that are there, again and again, one stretch after the other.
func lengthenSamples(b *testing.B, db *sql.DB, times int) {
	b.Helper()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	type bundle struct {
		session, device int64
		samples         []telemetry.Sample
	}
	var bundles []bundle
	least, most := time.Duration(math.MaxInt64), time.Duration(0)
	rows, err := db.Query("SELECT session, device, bytes FROM sample_bundle ORDER BY session, device, from_ns")
	must(err)
	for rows.Next() {
		var c bundle
		var packed []byte
		must(rows.Scan(&c.session, &c.device, &packed))
		c.samples, err = telemetry.Unpack(packed)
		must(err)
		least, most = min(least, c.samples[0].At), max(most, c.samples[len(c.samples)-1].At)
		bundles = append(bundles, c)
	}
	must(errors.Join(rows.Err(), rows.Close()))
	const tick = 50 * time.Millisecond
	put, err := db.Prepare("INSERT INTO sample_bundle (session, device, from_ns, to_ns, samples, bytes) VALUES (?, ?, ?, ?, ?, ?)")
	must(err)
	defer put.Close()
	for n := 1; n < times; n++ {
		for _, c := range bundles {
			for i := range c.samples {
				c.samples[i].At += most - least + tick
			}
			packed := telemetry.Pack(c.samples)
			_, err := put.Exec(c.session, c.device, int64(packed.From), int64(packed.To), packed.N, packed.Bytes)
			must(err)
		}
	}
}

func highest(b *testing.B, db *sql.DB, table string) (id int64) {
	b.Helper()
	if err := db.QueryRow("SELECT coalesce(max(id), 0) FROM " + table).Scan(&id); err != nil {
		b.Fatal(err)
	}
	return id
}

// copyRows adds rows to a table from rows of it called as, with some columns anew.
func copyRows(b *testing.B, db *sql.DB, table, from, as string, anew map[string]string) {
	b.Helper()
	rows, err := db.Query("SELECT name FROM pragma_table_info('" + table + "') ORDER BY cid")
	if err != nil {
		b.Fatal(err)
	}
	var columns, values []string
	for rows.Next() {
		var c string
		if err := rows.Scan(&c); err != nil {
			b.Fatal(err)
		}
		columns = append(columns, c)
		if v, ok := anew[c]; ok {
			values = append(values, v)
		} else {
			values = append(values, as+"."+c)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		b.Fatal(err)
	}
	query := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") SELECT " + strings.Join(values, ", ") + " FROM " + from
	if _, err := db.Exec(query); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
}

// describeMillion prints what is in the store, and how many trials.
func describeMillion(b *testing.B, path string, size int64) int {
	b.Helper()
	db, err := sql.Open("sqlite3", store.URI(path, store.VFS(), "mode=ro"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	count := func(query string) (n int) {
		b.Helper()
		if err := db.QueryRow(query).Scan(&n); err != nil {
			b.Fatalf("%s: %v", query, err)
		}
		return n
	}
	n := count("SELECT count(*) FROM trial")
	fmt.Printf("N = %d trials (%d cot, %d faithfulness; %d failed), %d judgments by %d judges, %d energies, %d samples of devices: the store takes %d MB\n", n,
		count("SELECT count(*) FROM trial WHERE study = 'cot'"), count("SELECT count(*) FROM trial WHERE study = 'faithfulness'"),
		count("SELECT count(*) FROM trial WHERE outcome = 'failure'"), count("SELECT count(*) FROM judgment"),
		count("SELECT count(DISTINCT judge) FROM judge_version"), count("SELECT count(*) FROM energy"), count("SELECT coalesce(sum(samples), 0) FROM sample_bundle"), size/1e6)
	return n
}

// plannedKeys are the trials of an experiment in the order of its plan.
func plannedKeys(b *testing.B, file string) []results.Key {
	b.Helper()
	cfg, err := config.Read(file, experiment.Known())
	if err != nil {
		b.Fatal(err)
	}
	exp, err := experiment.Assemble(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	p, err := exp.Plan(plan.Filter{})
	if err != nil {
		b.Fatal(err)
	}
	var keys []results.Key
	for _, block := range p.Blocks {
		for _, t := range block.Trials {
			keys = append(keys, t.Key)
		}
	}
	return keys
}

// watch begins to watch the process; what it returns reports the most memory that
// was held since, and the processor's time. Where the system does not tell, the
// memory is what Go took from it.
func watch() func(*testing.B) {
	debug.FreeOSMemory() // what an earlier part held is not of this one
	reset := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200) == nil
	before, timed := cpuSeconds()
	return func(b *testing.B) {
		if now, ok := cpuSeconds(); ok && timed {
			b.ReportMetric(now-before, "cpu-s")
		}
		if status, err := os.ReadFile("/proc/self/status"); err == nil && reset {
			for line := range strings.Lines(string(status)) {
				if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
					var kb float64
					fmt.Sscan(rest, &kb)
					b.ReportMetric(kb*1024/1e6, "peak-MB")
					return
				}
			}
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.Sys)/1e6, "peak-MB")
	}
}

// cpuSeconds is the processor's time of this process so far; false: the system
// does not tell.
func cpuSeconds() (float64, bool) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0, false
	}
	const perSecond = 100 // Linux counts in hundredths for every user
	user, err1 := strconv.ParseFloat(fields[11], 64)
	system, err2 := strconv.ParseFloat(fields[12], 64)
	return (user + system) / perSecond, err1 == nil && err2 == nil
}
