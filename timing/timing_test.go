package timing

import (
	"encoding/json"
	"flag"
	"math"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestMain has garbage collected less often: what tests make is small and soon gone. Benchmarks collect as the
// program does.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(400)
	}
	m.Run()
}

func TestClockIsMonotonicFromItsOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClock()
		if c.Now() != 0 {
			t.Errorf("a new clock shows %v", c.Now())
		}
		<-time.After(3 * time.Second)
		if c.Now() != 3*time.Second || c.At(time.Now()) != 3*time.Second || time.Since(c.Origin()) != 3*time.Second {
			t.Errorf("after 3 s: %v, %v, %v", c.Now(), c.At(time.Now()), c.Origin())
		}
	})
}

func TestTheFirstMarkWins(t *testing.T) {
	r := NewRecorder(NewClock())
	var wg sync.WaitGroup
	first := make(chan time.Duration, 100)
	for i := range 100 {
		wg.Go(func() {
			at := time.Duration(i) // 0 too is a time
			r.MarkAt(Sent, at)
			if got, ok := r.Trace().At(Sent); ok {
				first <- got
			}
		})
	}
	wg.Wait()
	close(first)
	want, ok := r.Trace().At(Sent)
	if !ok {
		t.Fatal("no mark")
	}
	for got := range first {
		if got != want {
			t.Fatalf("seen %v first and %v at last", got, want)
		}
	}
	r.MarkAt(End, 0)
	r.MarkAt(End, 5)
	if at, ok := r.Trace().At(End); !ok || at != 0 {
		t.Errorf("end %v %t, want 0 true", at, ok)
	}
}

func TestWhatDidNotHappenIsAbsent(t *testing.T) {
	var tr Trace
	for e := Start; e < numEvents; e++ {
		if _, ok := tr.At(e); ok {
			t.Errorf("%s happened in the empty trace", e)
		}
	}
	if _, ok := tr.At(numEvents); ok {
		t.Error("an unknown event happened")
	}
	for name, f := range map[string]func() (time.Duration, bool){
		"upload": tr.Upload, "TTFT": tr.TTFT, "latency": tr.Latency, "decode": tr.Decode,
		"time to first answer": tr.TimeToFirstAnswer,
	} {
		if d, ok := f(); ok || d != 0 {
			t.Errorf("%s of the empty trace: %v", name, d)
		}
	}
	r := NewRecorder(NewClock())
	r.MarkAt(Start, 10)
	r.Chunks(nil, StampsUser) // an empty answer
	if _, ok := r.Trace().TTFT(); ok {
		t.Error("an answer without content has a TTFT")
	}
	if _, ok := r.Trace().Latency(); ok {
		t.Error("an answer without content has a latency")
	}
}

func TestDerivedTimes(t *testing.T) {
	r := NewRecorder(NewClock())
	r.MarkAt(Start, 1000)
	r.MarkAt(Sent, 1400)
	r.MarkAt(FirstByte, 1300) // the server answered before it had read everything
	r.Chunks([]Chunk{{At: 1500, Runes: 3}, {At: 1800, Runes: 1, Answer: true}, {At: 2500, Runes: 2, Answer: true}}, StampsKernel)
	r.MarkAt(End, 2600)
	tr := r.Trace()
	for name, c := range map[string]struct {
		f    func() (time.Duration, bool)
		want time.Duration
	}{
		"upload": {tr.Upload, 400}, "TTFT": {tr.TTFT, 500}, "latency": {tr.Latency, 1500}, "decode": {tr.Decode, 1000},
		"time to first answer": {tr.TimeToFirstAnswer, 800},
	} {
		if got, ok := c.f(); !ok || got != c.want {
			t.Errorf("%s: %v %t, want %v", name, got, ok, c.want)
		}
	}
	one := 1
	for _, n := range []int{-1, 0, 1} {
		if _, why := tr.TPOT(Tokens{&n, &one}); why == "" {
			t.Errorf("TPOT of %d tokens is defined", n)
		}
	}
	eleven := 11
	if got, why := tr.TPOT(Tokens{&eleven, &one}); got != 100 || why != "" {
		t.Errorf("TPOT %v %s, want 100", got, why)
	}
	if at, _ := tr.At(FirstAnswer); at != 1800 {
		t.Errorf("first answer at %v", at)
	}
}

func TestUnknownEventIsOurBug(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	NewRecorder(NewClock()).MarkAt(numEvents, 1)
}

// TestChunksMarkTheEvents checks the marks against their definition.
func TestChunksMarkTheEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chunks := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Chunk {
			return Chunk{At: time.Duration(rapid.Int64Range(0, 1000).Draw(t, "gap")), Runes: 1, Answer: rapid.Bool().Draw(t, "answer")}
		})).Draw(t, "chunks")
		for i := 1; i < len(chunks); i++ {
			chunks[i].At += chunks[i-1].At
		}
		r := NewRecorder(NewClock())
		r.Chunks(chunks, StampsUser)
		tr := r.Trace()
		want := map[Event]time.Duration{}
		for i := len(chunks) - 1; i >= 0; i-- {
			want[FirstContent] = chunks[i].At
			if chunks[i].Answer {
				want[FirstAnswer] = chunks[i].At
			}
		}
		if len(chunks) > 0 {
			want[LastContent] = chunks[len(chunks)-1].At
		}
		for _, e := range []Event{FirstContent, FirstAnswer, LastContent} {
			at, ok := tr.At(e)
			if w, has := want[e]; ok != has || at != w {
				t.Fatalf("%s at %v %t, want %v %t", e, at, ok, w, has)
			}
		}
	})
}

func TestTraceComesBackFromJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := NewRecorder(NewClock())
		for e := Start; e < numEvents; e++ {
			if rapid.Bool().Draw(t, e.String()) {
				r.MarkAt(e, time.Duration(rapid.Int64Range(0, math.MaxInt64-1).Draw(t, "at")))
			}
		}
		if rapid.Bool().Draw(t, "has chunks") {
			r.Chunks([]Chunk{{At: 1, Lag: 2, Runes: 3, Shared: true}, {At: 4, Answer: true}}, StampsKernel)
		}
		b, err := json.Marshal(r.Trace())
		if err != nil {
			t.Fatal(err)
		}
		var back Trace
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, r.Trace()) {
			t.Fatalf("%s comes back as %+v", b, back)
		}
	})
	var tr Trace
	if err := json.Unmarshal([]byte(`{"at_ns":{"lunch":5}}`), &tr); err == nil {
		t.Error("an unknown event was read")
	}
	if err := json.Unmarshal([]byte(`{"at_ns":{"end":null}}`), &tr); err == nil {
		t.Error("an event without a time was read")
	}
}

func FuzzTrace(f *testing.F) {
	files, err := filepath.Glob("testdata/fuzz/FuzzTrace/*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds (%v)", err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var tr Trace
		if json.Unmarshal(b, &tr) != nil {
			return
		}
		again, err := json.Marshal(tr)
		if err != nil {
			t.Fatal(err)
		}
		var back Trace
		if err := json.Unmarshal(again, &back); err != nil {
			t.Fatalf("%s was read and written as %s: %v", b, again, err)
		}
		for e := Start; e < numEvents; e++ {
			a, ok := tr.At(e)
			if a2, ok2 := back.At(e); a != a2 || ok != ok2 {
				t.Fatalf("%s: %v %t and %v %t", e, a, ok, a2, ok2)
			}
		}
	})
}
