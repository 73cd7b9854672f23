package store

import (
	"os"
	"reflect"
	"testing"
	"time"

	"assay/timing"
)

// FuzzTrace: whatever is in the file, decoding ends, and what it accepts is a
// trace that encodes to something that decodes to the same.
func FuzzTrace(f *testing.F) {
	seeds, err := os.ReadDir("testdata/fuzz/FuzzTrace")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("the seed corpus is empty: %v", err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := readTrace(b)
		if err != nil {
			return
		}
		for _, p := range tr.Chunks {
			if p.Runes < 0 {
				t.Fatalf("a chunk of %d code points", p.Runes)
			}
		}
		again, err := readTrace(trace(tr))
		if err != nil || !reflect.DeepEqual(tr, again) {
			t.Fatalf("%+v became %+v, %v", tr, again, err)
		}
	})
}

// TestTraceIsSmall: an answer of 200 chunks takes a page or less.
func TestTraceIsSmall(t *testing.T) {
	rec := timing.NewRecorder(timing.NewClock())
	rec.MarkAt(timing.Start, time.Hour)
	var chunks []timing.Chunk
	for i := range 200 {
		chunks = append(chunks, timing.Chunk{At: time.Hour + time.Duration(i)*10*time.Millisecond, Lag: 30 * time.Microsecond, Runes: 4, Answer: true})
	}
	rec.Chunks(chunks, timing.StampsKernel)
	b := trace(rec.Trace())
	if len(b) > 2000 {
		t.Errorf("%d bytes", len(b))
	}
	for cut := range b {
		if _, err := readTrace(b[:cut]); err == nil {
			t.Fatalf("the first %d of %d bytes were accepted", cut, len(b))
		}
	}
}

// TestTraceOfTheVersionBefore: a store of the version before has traces that do
// not say how many tokens the first chunk holds.
func TestTraceOfTheVersionBefore(t *testing.T) {
	rec := timing.NewRecorder(timing.NewClock())
	rec.MarkAt(timing.Start, time.Hour)
	rec.Chunks([]timing.Chunk{{At: time.Hour + 5, Runes: 4, Shared: true}, {At: time.Hour + 9, Runes: 1}}, timing.StampsKernel)
	want := rec.Trace()
	b := trace(want)
	b[0] = 1
	if got, err := readTrace(b[:len(b)-1]); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	b[0] = traceVersion + 1
	if _, err := readTrace(b); err == nil {
		t.Error("a trace of a version to come was read")
	}
}
