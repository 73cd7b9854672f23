package dataset

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"assay/harness/dataset/datasettest"
)

// BenchmarkTAIX opens a test split of the published size, 6,592 rows about 206
// images of 210 kB, and loads pictures from it. heap-peak-MB is the most that the
// heap held while it was opened.
func BenchmarkTAIX(b *testing.B) {
	dir := b.TempDir()
	if err := datasettest.WriteTAIX(dir, "test", 206, 400); err != nil {
		b.Fatal(err)
	}
	kb := knowledgeFile(b, false)
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			peak := heapPeak(func() {
				if d := openTAIX(b, dir, func(s *Source) { s.Knowledge = kb }); len(d.Items) != 6592 || len(d.Gaps) > 0 {
					b.Fatalf("%d items, gaps %v", len(d.Items), d.Gaps)
				}
			})
			b.ReportMetric(float64(peak)/1e6, "heap-peak-MB")
		}
	})
	d := openTAIX(b, dir, nil)
	b.Run("load a picture", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i = (i + 1171) % len(d.Items)
			if _, err := d.Items[i].Images[0].Load(); err != nil {
				b.Fatal(err)
			}
		}
	})
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
