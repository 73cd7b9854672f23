package exchange

import (
	"slices"
	"testing"
	"time"

	"assay/results"
	"assay/timing"
)

// TestABufferedStreamHasNoTTFT: of a stream that was held back nothing says when its first chunk
// came. Rows of requests had the time of the whole there, where trials have nothing.
func TestABufferedStreamHasNoTTFT(t *testing.T) {
	at := func(name string) int {
		i := slices.IndexFunc(attempts(t.Context(), nil).Columns, func(c results.FileColumn) bool { return c.Name == name })
		if i < 0 {
			t.Fatalf("no column %s", name)
		}
		return i
	}
	for _, c := range []struct {
		gap  time.Duration // between chunks
		ttft any
	}{{10 * time.Millisecond, 0.5}, {0, nil}} {
		rec := timing.NewRecorder(timing.NewClock())
		rec.MarkAt(timing.Start, time.Second)
		var chunks []timing.Chunk
		for n := range 9 {
			chunks = append(chunks, timing.Chunk{At: 1500*time.Millisecond + time.Duration(n)*c.gap, Runes: 4, Answer: true})
		}
		rec.Chunks(chunks, timing.StampsKernel)
		rec.MarkAt(timing.End, 2*time.Second)
		u := results.Turn{Trace: rec.Trace()}
		row := attemptRow(make([]any, len(keyColumns())+2), results.Attempt{Turns: []results.Turn{u}}, u)
		if row[at("ttft_s")] != c.ttft || row[at("first_answer_s")] != c.ttft || row[at("latency_s")] != 0.5+8*c.gap.Seconds() {
			t.Errorf("gaps of %v: ttft %v, first answer %v, latency %v", c.gap, row[at("ttft_s")], row[at("first_answer_s")], row[at("latency_s")])
		}
	}
}
