package wire

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 22, 4, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"0": 0, "7": 7 * time.Second, " 120 ": 2 * time.Minute, "0.25": 250 * time.Millisecond, "99999999999999999999": longestWait, "+Inf": longestWait,
		"Sun, 22 Nov 2026 04:00:30 GMT": 30 * time.Second, "Sunday, 22-Nov-26 04:01:00 GMT": time.Minute, "Sun Nov 22 04:00:05 2026": 5 * time.Second,
		"Sun, 22 Nov 2026 03:59:00 GMT": 0, "Sun, 22 Nov 2099 03:59:00 GMT": longestWait,
		"": -1, "-1": -1, "soon": -1, "NaN": -1, "2026-11-22T04:00:30Z": -1,
	} {
		for _, status := range []int{429, 503, 200, 500} {
			got := RetryAfter(status, http.Header{"Retry-After": {text}}, now)
			if known := want >= 0 && (status == 429 || status == 503); (got != nil) != known || known && *got != want {
				t.Errorf("%d, %q: %v, want %v", status, text, got, want)
			}
		}
	}
}

// FuzzRetryAfter: whatever a server writes, the wait is none or between 0 and 30 days.
func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"0", "7", "-1", "1e400", "NaN", "Inf", "0x10", "Sun, 22 Nov 2026 04:00:30 GMT", "Sun Nov 22 04:00:05 2026", "", "1_0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d := RetryAfter(429, http.Header{"Retry-After": {text}}, time.Unix(1e9, 0)); d != nil && (*d < 0 || *d > longestWait) {
			t.Fatalf("%q asks for %v", text, *d)
		}
	})
}
