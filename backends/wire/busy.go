package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestWait is more than any server means by Retry-After.
const longestWait = 30 * 24 * time.Hour

// RetryAfter is how long a refusal asks to be left alone: Retry-After in seconds or as a
// date (RFC 9110, 10.2.3), at most 30 days; a date that is past asks for nothing.
// nil: it does not say, or in words of its own.
func RetryAfter(status int, h http.Header, now time.Time) *time.Duration {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return nil
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	var d time.Duration
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 { // some send 0.5
		d = longestWait
		if n < longestWait.Seconds() {
			d = time.Duration(n * float64(time.Second))
		}
	} else if at, err := http.ParseTime(text); err == nil {
		d = min(max(at.Sub(now), 0), longestWait)
	} else {
		return nil
	}
	return &d
}
