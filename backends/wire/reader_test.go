package wire

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/timing"
)

// TestCarry holds the stamp arithmetic against the age that the stamp was given.
func TestCarry(t *testing.T) {
	clock := timing.NewClock()
	ms := func(d int64) time.Duration { return time.Duration(d) * time.Millisecond }
	rapid.Check(t, func(t *rapid.T) {
		start := time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "start"))
		prev := start + time.Duration(rapid.Int64Range(0, 1e11).Draw(t, "since start"))
		read := prev + time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "since previous"))
		age := time.Duration(rapid.Int64Range(-1e10, 1e12).Draw(t, "age"))
		now := clock.Origin().Add(read) // has both clocks, like time.Now
		a := carry(clock, now, now.UnixNano()-int64(age), start, prev)
		switch {
		case age < 0 || read-age < start:
			if a.kernel || a.at != read || a.lag != 0 {
				t.Fatalf("implausible age %v believed: %+v, read at %v", age, a, read)
			}
		case read-age < prev:
			if !a.kernel || a.at != prev || a.lag != read-prev {
				t.Fatalf("%+v runs backwards: read at %v, age %v, previous %v", a, read, age, prev)
			}
		default:
			if !a.kernel || a.at != read-age || a.lag != age {
				t.Fatalf("%+v, read at %v, age %v", a, read, age)
			}
		}
		if a := carry(clock, now, 0, start, prev); a.kernel || a.at != read || a.lag != 0 {
			t.Fatalf("no stamp: %+v", a)
		}
	})
	// The wall clock is set back by an hour between arrival and read.
	now := clock.Origin().Add(ms(100))
	if a := carry(clock, now, now.Add(time.Hour).UnixNano(), ms(0), ms(50)); a.kernel || a.at != ms(100) {
		t.Errorf("after a step back: %+v", a)
	}
	// And forward.
	if a := carry(clock, now, now.Add(-time.Hour).UnixNano(), ms(0), ms(50)); a.kernel || a.at != ms(100) {
		t.Errorf("after a step forward: %+v", a)
	}
}
