package cot

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"
)

// BenchmarkSummarize scores a store of ASSAY_BENCH_TRIALS trials (20,000 unless
// set; half of them cot with all four rubrics) and reports the peak heap.
func BenchmarkSummarize(b *testing.B) {
	trials := 20_000
	if s := os.Getenv("ASSAY_BENCH_TRIALS"); s != "" {
		var err error
		if trials, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	const models = 10
	items := trials / models / 2
	bench := newBench(b)
	tasks := make([]string, items)
	for i := range tasks {
		tasks[i] = []string{"Diagnosis", "Cause", "Grading"}[i%3]
	}
	bench.items(tasks, []int{3})
	work := make(chan made, 256)
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for m := range work {
				bench.put(m)
			}
		})
	}
	for m := range models {
		for i := range items {
			x := made{model: fmt.Sprint("model ", m), item: i, arm: "cot", seconds: 4 + float64(i%7), tokens: 100 + i%50}
			x.said = map[string]string{"accuracy a": acc([]string{"correct", "incorrect"}[(i*7+m)%2]),
				"precision a": prec("modality match", "feature wrong", "conclusion match", "other na"),
				"recall a":    rec(true, i%3 > 0, false), "order a": order(1, 2+i%2, 3-i%2, i%3)}
			work <- x
			x.arm, x.seconds, x.tokens = "direct", 1, 2
			x.said = map[string]string{"accuracy a": x.said["accuracy a"]}
			work <- x
		}
	}
	close(work)
	wg.Wait()
	judges := map[string][]string{rubAccuracy: {"a"}, rubricPrecision: {"a"}, recall: {"a"}, rubricOrder: {"a"}}
	runtime.GC()
	for b.Loop() {
		done := make(chan uint64)
		stop := make(chan struct{})
		go func() {
			var peak uint64
			for {
				var s runtime.MemStats
				runtime.ReadMemStats(&s)
				peak = max(peak, s.HeapInuse)
				select {
				case <-stop:
					done <- peak
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
		}()
		if _, err := bench.cot.Summarize(context.Background(), bench.store, judges, nil); err != nil {
			b.Fatal(err)
		}
		close(stop)
		b.ReportMetric(float64(<-done)/1e6, "peak-MB")
	}
}
