package page

import (
	"testing"
	"time"

	"assay/timing"
)

// A trace shows no request without its shade.
func TestTraceEndsBeforeTheNextRequest(t *testing.T) {
	shown := []timing.Window{{From: 0, To: time.Second}, {From: 2 * time.Second, To: 3 * time.Second}}
	for _, c := range []struct {
		next *timing.Window
		want time.Duration
	}{
		{nil, 3*time.Second + traceRoom},
		{&timing.Window{From: 3100 * time.Millisecond}, 3100 * time.Millisecond},
		{&timing.Window{From: time.Hour}, 3*time.Second + traceRoom},
		{&timing.Window{From: 2500 * time.Millisecond}, 3 * time.Second}, // beside the last one
	} {
		if got := traceEnd(shown, c.next); got != c.want {
			t.Errorf("next %+v: %v, want %v", c.next, got, c.want)
		}
	}
}
