package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/backends"
	"assay/harness/cli"
	"assay/harness/study/cot"
	"assay/results"
	"assay/timing"
)

// BenchmarkMillion makes a store of many trials, 20 models in two arms, all judged
// under the rubrics that apply, and measures what a person waits for:
//
//	ASSAY_BENCH_TRIALS=1000000 go test -run '^$' -bench Million -benchtime 1x -timeout 3h ./harness/cli
//
// resume: open the store and know of every planned trial whether it is there.
// scores: all tables and figures of the study. report: all of assay report, the
// scores among it. cpu-s is what it cost the processors, which another load on the machine
// changes less than the time. peak-MB is the most memory that the process held.
//
// Without ASSAY_BENCH_TRIALS there are 20,000, so that all benchmarks together end
// soon. ASSAY_BENCH_STORE names a file that keeps the store for the next time.
func BenchmarkMillion(b *testing.B) {
	trials := 20_000
	if s := os.Getenv("ASSAY_BENCH_TRIALS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			b.Fatal(err)
		}
		trials = max(n/(4*millionModels), 1) * 4 * millionModels // the same of each
	}
	path := os.Getenv("ASSAY_BENCH_STORE")
	if path == "" {
		path = filepath.Join(b.TempDir(), "million.sqlite")
	}
	if _, err := os.Stat(path); err != nil {
		start := time.Now()
		makeMillion(b, path, trials)
		b.Logf("made in %s", time.Since(start).Round(time.Second))
	}
	st, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d trials take %d MB", trials, st.Size()/1e6)

	b.Run("resume", func(b *testing.B) {
		for b.Loop() {
			cost := watch()
			s, err := results.OpenReader(b.Context(), path)
			if err != nil {
				b.Fatal(err)
			}
			done, err := s.Outcomes(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			undone := 0
			for k := range millionKeys(trials) {
				if _, ok := done[k]; !ok {
					undone++
				}
			}
			if undone != 0 || len(done) != trials {
				b.Fatalf("%d to do, %d stored", undone, len(done))
			}
			s.Close()
			cost(b)
		}
	})
	b.Run("scores", func(b *testing.B) {
		for b.Loop() {
			cost := watch()
			s, err := results.OpenReader(b.Context(), path)
			if err != nil {
				b.Fatal(err)
			}
			study, err := cot.New(nil)
			if err != nil {
				b.Fatal(err)
			}
			secs, err := study.Summarize(b.Context(), s, millionRubrics())
			if err != nil || len(secs) == 0 {
				b.Fatalf("%d sections, %v", len(secs), err)
			}
			s.Close()
			cost(b)
		}
	})
	b.Run("report", func(b *testing.B) {
		for b.Loop() {
			cost := watch()
			var errs bytes.Buffer
			if code := cli.Main(b.Context(), []string{"assay", "report", path}, strings.NewReader(""), io.Discard, &errs); code != 0 {
				b.Fatalf("exit code %d: %s", code, errs.String())
			}
			cost(b)
		}
	})
}

func millionRubrics() map[string][]string {
	return map[string][]string{"accuracy": {"lexical"}, "precision": {"lexical"}, "recall": {"lexical"}, "order": {"lexical"}}
}

const millionModels = 20

// millionKey is the ith trial to be made: models one after another, as runs have
// them, items in an order that is not that of the key, two arms each.
func millionKey(i, trials int) (k results.Key, item int) {
	of := trials / millionModels
	items := of / 2
	item = i % of / 2 * 7919 % items
	return results.Key{Study: cot.Name, Model: fmt.Sprintf("model-%02d", i/of), Arm: []string{"direct", "cot"}[i%2],
		Item: fmt.Sprintf("item-%06d", item), Condition: "baseline"}, item
}

// millionKeys are all keys; of a plan, their names are there already.
func millionKeys(trials int) func(func(results.Key) bool) {
	return func(yield func(results.Key) bool) {
		of := trials / millionModels
		items := make([]string, of/2)
		for i := range items {
			items[i] = fmt.Sprintf("item-%06d", i)
		}
		var models [millionModels]string
		for m := range models {
			k, _ := millionKey(m*of, trials)
			models[m] = k.Model
		}
		arms := [2]string{"direct", "cot"}
		for i := range trials {
			if !yield(results.Key{Study: cot.Name, Model: models[i/of], Arm: arms[i%2], Item: items[i%of/2], Condition: "baseline"}) {
				return
			}
		}
	}
}

func makeMillion(b *testing.B, path string, trials int) {
	ctx := context.Background()
	s, err := results.Open(ctx, path)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	models := map[string]backends.Identity{}
	for m := range millionModels {
		k, _ := millionKey(m*(trials/millionModels), trials)
		models[k.Model] = backends.Identity{Server: "ollama", Version: "0.9.6", Model: "m"}
	}
	if err := s.PutManifest(ctx, results.Manifest{Name: "million", Created: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Seed: 1, Version: "bench", Synthetic: []string{"made up"},
		Models: models, Judges: map[string]string{"lexical": "lexical"}, Rubrics: map[string]map[string][]string{cot.Name: millionRubrics()}}); err != nil {
		b.Fatal(err)
	}
	var items []results.Item
	tasks := []string{"Diagnosis", "Cause", "Grading", "Counting", "Function", "Action"}
	for i := range trials / millionModels / 2 {
		items = append(items, results.Item{Study: cot.Name, ID: fmt.Sprintf("item-%06d", i), Type: "single", Task: tasks[i%len(tasks)], Facts: json.RawMessage(`{"gold_steps":[3]}`)})
	}
	if err := s.PutItems(ctx, items); err != nil {
		b.Fatal(err)
	}
	work := make(chan int, 256)
	var wg sync.WaitGroup
	for range 128 {
		wg.Go(func() {
			for i := range work {
				if err := putOfMillion(ctx, s, i, trials); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range trials {
		work <- i
	}
	close(work)
	wg.Wait()
}

// putOfMillion stores a trial of usual shape with its cases and judgments.
func putOfMillion(ctx context.Context, s *results.Store, i, trials int) error {
	k, item := millionKey(i, trials)
	rec := timing.NewRecorder(timing.NewClock())
	rec.MarkAt(timing.Start, time.Hour)
	pieces := 4
	if k.Arm == "cot" {
		pieces = 60
	}
	var list []timing.Piece
	for n := range pieces {
		list = append(list, timing.Piece{At: time.Hour + time.Duration(n+1)*time.Duration(9+i%7)*time.Millisecond, Runes: 5, Answer: true})
	}
	rec.Pieces(list, timing.StampsKernel)
	answer := fmt.Sprintf("%0*d", 5*pieces, i)
	tokens := pieces
	u := results.Turn{Trace: rec.Trace(), Usage: backends.Usage{CompletionTokens: &tokens}, Answer: answer, Finish: backends.FinishStop}
	t := results.Trial{Key: k, Inputs: results.DigestOf(strconv.AppendInt(nil, int64(i), 10)), Attempts: []results.Attempt{{
		Started: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Turns: []results.Turn{u}, Output: &results.Output{Answer: answer, Finish: backends.FinishStop}}}}
	if err := s.PutTrial(ctx, t); err != nil {
		return err
	}
	verdicts := map[string]string{"accuracy": fmt.Sprintf(`{"quote":"x","verdict":"%s","why":"compared by rule"}`, []string{"correct", "incorrect"}[(i*7+item)/3%2])}
	if k.Arm == "cot" {
		verdicts["precision"] = `{"steps":[{"text":"a step","type":"modality","judgment":"match"},{"text":"a step","type":"feature","judgment":"wrong"},{"text":"a step","type":"conclusion","judgment":"match"}]}`
		verdicts["recall"] = fmt.Sprintf(`{"paths":[{"path":1,"steps":[{"step":1,"matched":true},{"step":2,"matched":%t},{"step":3,"matched":false}]}]}`, item%3 > 0)
		verdicts["order"] = fmt.Sprintf(`{"modality":1,"feature":%d,"conclusion":%d,"other":%d}`, 2+item%2, 3-item%2, item%3)
	}
	for rubric, verdict := range verdicts {
		fields := fmt.Appendf(nil, `{"question":"q %d","gold":"A","answer":"%d"}`, item, i)
		c := results.Case{Digest: results.DigestOf([]byte(rubric), fields), Rubric: rubric, Fields: fields}
		if err := s.PutCase(ctx, k, c); err != nil {
			return err
		}
		if err := s.PutJudgment(ctx, results.Judgment{Case: c.Digest, Rubric: rubric, Judge: "lexical", Status: results.StatusClean, Verdict: json.RawMessage(verdict)}); err != nil {
			return err
		}
	}
	return nil
}

// watch begins to watch the process; what it returns reports the most memory that
// was held since, and the processor's time. Where the system does not tell, the
// memory is what Go took from it.
func watch() func(*testing.B) {
	runtime.GC()
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
