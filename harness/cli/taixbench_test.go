package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"assay/harness/dataset/datasettest"
	"assay/harness/plan"
)

// BenchmarkTAIXLoadAndPlan reads a test split of the published size, 6,592 rows
// about 206 images of 210 kB, with a knowledge base, and plans all conditions for
// one model. heap-peak-MB is the most that lived on the heap meanwhile.
func BenchmarkTAIXLoadAndPlan(b *testing.B) {
	dir := b.TempDir()
	if err := datasettest.WriteTAIX(filepath.Join(dir, "taix"), "test", 206, 400); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "knowledge.json"), datasettest.TAIXKnowledge(false), 0o644); err != nil {
		b.Fatal(err)
	}
	text := fmt.Sprintf(`
name: taix
datasets:
  taix: {kind: taix-vqa, path: %q, knowledge: %q}
backends:
  p: {kind: phantom, protocol: ollama}
models:
  honest: {backend: p}
judges:
  lexical: {kind: lexical}
studies:
  faithfulness: {dataset: taix, arms: [structured], conditions: all}
`, filepath.Join(dir, "taix"), filepath.Join(dir, "knowledge.json"))
	for b.Loop() {
		var p *plan.Plan
		peak := heapPeak(func() {
			var err error
			if p, err = benchOf(b, text).Plan(plan.Filter{}); err != nil {
				b.Fatal(err)
			}
		})
		b.ReportMetric(float64(peak)/1e6, "heap-peak-MB")
		b.ReportMetric(float64(len(p.Blocks[0].Trials)), "trials")
	}
}

// heapPeak is the most bytes that live on the heap while f runs, looked at every
// millisecond.
func heapPeak(f func()) uint64 {
	runtime.GC()
	done, most := make(chan bool), make(chan uint64)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		var peak uint64
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			metrics.Read(sample)
			peak = max(peak, sample[0].Value.Uint64())
			select {
			case <-tick.C:
			case <-done:
				most <- peak
				return
			}
		}
	}()
	f()
	done <- true
	return <-most
}
