package store

import (
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/results"
	"assay/timing"
)

// sized is a trial of usual size: 120 chunks, 600 code points of answer.
func sized(i int) results.Trial {
	answer := fmt.Sprintf("%600d", i)
	t := answered(results.Key{Study: "cot", Model: fmt.Sprintf("model-%02d", i%25), Item: fmt.Sprintf("item-%05d", i/50), Arm: []string{"cot", "direct"}[i/25%2], Condition: "baseline"}, answer, time.Second)
	rec := timing.NewRecorder(timing.NewClock())
	rec.MarkAt(timing.Start, time.Hour)
	var chunks []timing.Chunk
	for n := range 120 {
		chunks = append(chunks, timing.Chunk{At: time.Hour + time.Duration(n)*11*time.Millisecond, Lag: 40 * time.Microsecond, Runes: 5, Answer: true})
	}
	rec.Chunks(chunks, timing.StampsKernel)
	t.Attempts[0].Turns[0].Trace = rec.Trace()
	return t
}

func benchmarkPut(b *testing.B, writers int) {
	s := openStore(b)
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range writers {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if err := s.PutTrial(bg, sized(int(i))); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "trials/s")
}

// Each trial is synced to the disk before its PutTrial returns.
func BenchmarkPutOneWriter(b *testing.B)    { benchmarkPut(b, 1) }
func BenchmarkPutEightWriters(b *testing.B) { benchmarkPut(b, 8) }

// BenchmarkRead reads 100 000 trials as scores do.
func BenchmarkRead(b *testing.B) {
	const n = 100_000
	path := filepath.Join(b.TempDir(), "run.sqlite")
	s, err := Open(bg, path)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for i := next.Add(1); i <= n; i = next.Add(1) {
				t := sized(int(i))
				c := results.Case{Digest: results.DigestOf(fmt.Append(nil, i)), Rubric: "accuracy", Fields: json.RawMessage(`{"answer":"left","gold":"left"}`)}
				if err := s.PutTrial(bg, t); err != nil {
					b.Error(err)
				}
				if err := s.PutCase(bg, t.Key, c); err != nil {
					b.Error(err)
				}
				if err := s.PutJudgment(bg, results.Judgment{Case: c.Digest, Rubric: "accuracy", Judge: "lexical", Status: results.StatusClean, Verdict: json.RawMessage(`{"correct":true}`)}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if st, err := os.Stat(path); err == nil {
		b.Logf("%d trials take %d MB", n, st.Size()/1e6)
	}
	for _, c := range []struct {
		name string
		read func() int
	}{
		{"Outcomes", func() int { m, _ := s.Outcomes(bg); return len(m) }},
		{"Rows", func() int { return countSqlite(s.Rows(bg, "cot")) }},
		{"Judgments", func() int { return countSqlite(s.Judgments(bg, "cot")) }},
		{"Outputs", func() int { return countSqlite(s.Outputs(bg, "cot")) }},
		{"Trials", func() int { return countSqlite(s.Trials(bg, "cot")) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if got := c.read(); got != n {
					b.Fatalf("read %d", got)
				}
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "trials/s")
		})
	}
}

func countSqlite[T any](seq iter.Seq2[T, error]) int {
	n := 0
	for _, err := range seq {
		if err == nil {
			n++
		}
	}
	return n
}
