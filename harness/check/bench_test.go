package check

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/backends/kinds"
	"assay/backends/phantom"
	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/study"
	"assay/harness/study/cot"
	"assay/results"
	"assay/results/report"
	"assay/results/store"
	"assay/timing"
)

// BenchmarkPipeline takes ASSAY_BENCH_TRIALS trials (10,000 unless set) of four
// readers that answer at once, 512 pixels a side, from plan to report: 8 in
// flight, all rubrics by the lexical judge. It reports the time of each arrow of
// the pipeline and the most memory that the process ever held.
func BenchmarkPipeline(b *testing.B) {
	trials := 10_000
	if s := os.Getenv("ASSAY_BENCH_TRIALS"); s != "" {
		var err error
		if trials, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	ctx := b.Context()
	for b.Loop() {
		began := time.Now()
		in := &instrument{args: Args{Seed: 7}, dir: b.TempDir()}
		var err error
		if in.study, err = cot.Study().With(nil, study.Choice{}); err != nil {
			b.Fatal(err)
		}
		if in.set, err = dataset.Phantom("bench", 7, trials/8, 512); err != nil {
			b.Fatal(err)
		}
		in.keep()
		models, err := quickModels("honest", "silent-sycophant", "disclosing-sycophant", "blind")
		if err != nil {
			b.Fatal(err)
		}
		st, err := store.Open(ctx, filepath.Join(in.dir, "bench.sqlite"))
		if err != nil {
			b.Fatal(err)
		}
		asked := map[string][]string{}
		for _, r := range cot.RubricNames() {
			asked[r] = []string{"lexical"}
		}
		man := results.Manifest{Name: "bench", Seed: 7, Rubrics: map[string]map[string][]string{cot.Name: asked}}
		if err := st.PutManifest(ctx, man); err != nil {
			b.Fatal(err)
		}
		planned := time.Now()
		if err := in.run(ctx, st, models, study.Choice{Sampling: sampling(), InFlight: 8}, timing.NewClock(), nil, 0); err != nil {
			b.Fatal(err)
		}
		ran := time.Now()
		tally, err := judge.Run(ctx, judge.RunArgs{Store: st, Tasks: in.tasks(ctx, st, func(results.Key) []string { return []string{"lexical"} }),
			Judges: map[string]judge.Slot{"lexical": {Judge: &judge.Lexical{Name: "lexical"}, InFlight: 16}}})
		if err != nil {
			b.Fatal(err)
		}
		judged := time.Now()
		secs, err := in.study.Summarize(ctx, st, asked, kinds.NoDecode)
		if err != nil {
			b.Fatal(err)
		}
		if err := report.HTML(io.Discard, secs, report.Meta{Title: "bench", Run: results.Run{Manifest: man}}); err != nil {
			b.Fatal(err)
		}
		in.close()
		if err := st.Close(); err != nil {
			b.Fatal(err)
		}
		n := 2 * len(models) * len(in.set.Items)
		if got := tally.Asked + tally.Reused; n != trials || got != n/2*5 {
			b.Fatalf("%d trials and %d judgments of %d trials", n, got, trials)
		}
		for what, d := range map[string]time.Duration{"plan-s": planned.Sub(began), "run-s": ran.Sub(planned), "judge-s": judged.Sub(ran), "report-s": time.Since(judged), "s": time.Since(began)} {
			b.ReportMetric(d.Seconds(), what)
		}
		b.ReportMetric(float64(n), "trials")
		if mb, ok := peak(); ok {
			b.ReportMetric(mb, "peak-MB")
		}
		if s, ok := cpu(); ok {
			b.ReportMetric(s, "cpu-s")
		}
	}
}

// cpu is the time that processors worked for this process, in seconds, where the
// system says: on a busy machine the wall clock measures the others too.
func cpu() (float64, bool) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may hold spaces
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, false
	}
	user, err1 := strconv.ParseFloat(f[11], 64)
	system, err2 := strconv.ParseFloat(f[12], 64)
	return (user + system) / 100, err1 == nil && err2 == nil
}

// peak is the most memory that this process held at once, in MB, where the
// system says.
func peak() (float64, bool) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kb, err := strconv.ParseFloat(f[1], 64)
			return kb / 1000, err == nil
		}
	}
	return 0, false
}

// BenchmarkFiveHundred takes 500 questions to a reader that answers after 20 ms and its answers to a
// judge that is a model of such a server, 100 requests in flight each, and every attempt into the store:
//
//	go test -run '^$' -bench FiveHundred -benchtime 10x ./harness/check
//
// s is both together, after the pictures were drawn: at 20 ms and 100 in flight the requests
// alone take 0.2 s. The phantoms work on the same processors, and read every picture that they are sent.
func BenchmarkFiveHundred(b *testing.B) {
	const items, wait = 500, 20 * time.Millisecond
	ctx := b.Context()
	in := &instrument{args: Args{Seed: 7}, dir: b.TempDir(), arms: []string{"direct"}}
	defer in.close()
	var err error
	if in.study, err = cot.Study().With(nil, study.Choice{}); err != nil {
		b.Fatal(err)
	}
	if in.set, err = dataset.Phantom("bench", 7, items, 256); err != nil {
		b.Fatal(err)
	}
	in.keep()
	reader, err := quick("honest")
	if err != nil {
		b.Fatal(err)
	}
	reader.Base = wait
	var one phantom.Judge
	for _, j := range phantom.Judges() {
		if j.Name == "judge-perfect" || one.Name == "" {
			one = j
		}
	}
	one.PerChunk = wait / 10
	for _, it := range in.set.Items { // draws them, once
		for _, im := range it.Images {
			if _, err := im.Load(); err != nil {
				b.Fatal(err)
			}
		}
	}
	var ran, judged time.Duration
	worked, known := cpu()
	for i := 0; b.Loop(); i++ {
		st, err := store.Open(ctx, filepath.Join(in.dir, strconv.Itoa(i)+".sqlite"))
		if err != nil {
			b.Fatal(err)
		}
		if err := st.PutManifest(ctx, results.Manifest{Name: "bench", Seed: 7}); err != nil {
			b.Fatal(err)
		}
		be, err := in.backend(phantom.Options{Protocol: "vllm", Judges: []phantom.Judge{one}})
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if err := in.run(ctx, st, []model{{"honest", "vllm", reader}}, study.Choice{Sampling: sampling(), InFlight: 100}, timing.NewClock(), nil, 0); err != nil {
			b.Fatal(err)
		}
		ran += time.Since(start)
		start = time.Now()
		slot := judge.Slot{InFlight: 100, Judge: &judge.Model{Name: one.Name, Backend: be, Model: one.Name, Sampling: backends.Sampling{MaxTokens: 2000}, Clock: timing.NewClock()}}
		tally, err := judge.Run(ctx, judge.RunArgs{Store: st, Judges: map[string]judge.Slot{one.Name: slot}, Tasks: in.tasks(ctx, st, func(results.Key) []string { return []string{one.Name} })})
		if err != nil {
			b.Fatal(err)
		}
		judged += time.Since(start)
		if n := tally.Asked + tally.Reused; n != items || len(in.set.Items) != items {
			b.Fatalf("%d judgments of %d items", n, len(in.set.Items))
		}
		if err := st.Close(); err != nil {
			b.Fatal(err)
		}
	}
	for what, d := range map[string]time.Duration{"answers-s": ran, "judgments-s": judged, "s": ran + judged} {
		b.ReportMetric(d.Seconds()/float64(b.N), what)
	}
	b.ReportMetric(items, "items")
	if now, ok := cpu(); ok && known {
		b.ReportMetric((now-worked)/float64(b.N), "cpu-s")
	}
}
