package backendtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"assay/backends"
	"assay/timing"
)

// Typed fails the test unless err is a *backends.Error of the given kind, alone.
func Typed(t testing.TB, resp *backends.Response, err error, kind backends.Kind) *backends.Error {
	t.Helper()
	if resp != nil {
		t.Fatalf("a response (%.60q) beside error %v", resp.Answer, err)
	}
	var e *backends.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want a *backends.Error of kind %s", err, err, kind)
	}
	if !errors.Is(err, kind) {
		t.Fatalf("error of kind %s, want %s: %v", e.Kind, kind, err)
	}
	if e.Op == "" {
		t.Errorf("%v does not say what was attempted", err)
	}
	return e
}

// CheckOrder says which events or chunks of a trace stand in the wrong order.
// Events that did not happen are left out.
func CheckOrder(tr timing.Trace) error {
	var last time.Duration
	name := ""
	for _, e := range []timing.Event{timing.Start, timing.FirstByte, timing.FirstContent, timing.LastContent, timing.End} {
		at, ok := tr.At(e)
		if !ok {
			continue
		}
		if name != "" && at < last {
			return fmt.Errorf("%s at %v comes before %s at %v", e, at, name, last)
		}
		last, name = at, e.String()
	}
	first, hasFirst := tr.At(timing.FirstContent)
	answer, hasAnswer := tr.At(timing.FirstAnswer)
	if hasAnswer && (!hasFirst || answer < first) {
		return fmt.Errorf("the answer begins at %v, the content at %v", answer, first)
	}
	for i, p := range tr.Chunks {
		if p.Runes < 1 {
			return fmt.Errorf("chunk %d is empty", i)
		}
		if i > 0 && p.At < tr.Chunks[i-1].At {
			return fmt.Errorf("chunk %d at %v comes before the one ahead of it at %v", i, p.At, tr.Chunks[i-1].At)
		}
	}
	return nil
}
