package backends

import (
	"encoding/json"
	"testing"
	"time"
)

// TestFiguresThatCannotBeTrueAreUnknown: each with its raw value and why.
func TestFiguresThatCannotBeTrueAreUnknown(t *testing.T) {
	for raw, want := range map[string]struct {
		n   int // -1: unknown
		why string
	}{
		`0`: {0, ""}, `-0`: {0, ""}, `17`: {17, ""}, `12.0`: {12, ""}, `1e3`: {1000, ""}, ` 7 `: {7, ""}, `1000000000`: {1e9, ""},
		`null`: {-1, ""}, ``: {-1, ""},
		`-1`: {-1, "is negative"}, `-10`: {-1, "is negative"}, `-0.5`: {-1, "is negative"}, `-9223372036854775809`: {-1, "is negative"},
		`1000000001`: {-1, "is more than 1000000000"}, `9223372036854775807`: {-1, "is more than 1000000000"}, `9223372036854775808`: {-1, "is more than 1000000000"},
		`1e400`: {-1, "is more than 1000000000"}, `0.5`: {-1, "is no whole number"}, `12.01`: {-1, "is no whole number"},
		`"12"`: {-1, "is no number"}, `true`: {-1, "is no number"}, `[]`: {-1, "is no number"}, `{"a":1}`: {-1, "is no number"}, `NaN`: {-1, "is no number"}, `+1`: {-1, "is no number"}, `0x10`: {-1, "is no number"},
	} {
		var o Odds
		got := o.Count("f", json.RawMessage(raw))
		if (got == nil) != (want.n < 0) || got != nil && *got != want.n {
			t.Errorf("%s is read as %v, want %d", raw, got, want.n)
		}
		odd, ok := o.Of("f")
		if ok != (want.why != "") || odd.Why != want.why || ok && odd.Value != raw {
			t.Errorf("%s: %+v, want %q", raw, o, want.why)
		}
	}
	for _, c := range []struct {
		raw  string
		unit time.Duration
		want time.Duration // -1: unknown
	}{
		{`0.127`, time.Millisecond, 127 * time.Microsecond}, {`900`, time.Nanosecond, 900}, {`86400000`, time.Millisecond, 24 * time.Hour},
		{`86400001`, time.Millisecond, -1}, {`-100000000000`, time.Nanosecond, -1}, {`9223372036854775808`, time.Nanosecond, -1}, {`1e300`, time.Millisecond, -1}, {`"1"`, time.Millisecond, -1},
	} {
		var o Odds
		got := o.Span("f", json.RawMessage(c.raw), c.unit)
		if (got == nil) != (c.want < 0) || got != nil && *got != c.want || (len(o) == 0) != (c.want >= 0) {
			t.Errorf("%s of %v: %v, %+v; want %v", c.raw, c.unit, got, o, c.want)
		}
	}
}

// TestOddFiguresAreOnePerField: servers that repeat their figures with every event
// correct them.
func TestOddFiguresAreOnePerField(t *testing.T) {
	var o Odds
	o.Count("a", json.RawMessage("-1"))
	o.Count("b", json.RawMessage("-2"))
	o.Count("a", json.RawMessage("-3"))
	if len(o) != 2 || o[1].Value != "-3" {
		t.Errorf("%+v", o)
	}
	if n := o.Count("a", json.RawMessage("4")); n == nil || len(o) != 1 {
		t.Errorf("%v, %+v", n, o)
	}
}

// TestServerTimesLieWithinTheRequest: a second and a hundredth are forgiven.
func TestServerTimesLieWithinTheRequest(t *testing.T) {
	span := func(d time.Duration) *time.Duration { return &d }
	r := Response{Server: Timings{Total: span(11100 * time.Millisecond), Load: span(11101 * time.Millisecond), Prompt: span(9 * time.Second), Queue: span(time.Hour)}}
	r.Within(10 * time.Second)
	if r.Server.Total == nil || r.Server.Load != nil || r.Server.Prompt == nil || r.Server.Queue != nil || len(r.Odd) != 2 || r.Odd[0].Value != "11.101s" {
		t.Errorf("%+v, %+v", r.Server, r.Odd)
	}
}

// FuzzFigures: whatever stands there, it is a figure within bounds, or odd, or none.
func FuzzFigures(f *testing.F) {
	for _, seed := range []string{"0", "-1", "9223372036854775808", "1e400", `"3"`, "null", "", "1.5", "-0", "[1]", "1e-400", "0.0000001", " 4\n", "0\f"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var o Odds
		n := o.Count("f", raw)
		if n != nil && (*n < 0 || *n > MaxCount) || (n != nil) && len(o) > 0 || len(o) > 1 {
			t.Fatalf("%q: %v, %+v", raw, n, o)
		}
		d := o.Span("f", raw, time.Millisecond)
		if d != nil && (*d < 0 || *d > maxSpan || len(o) > 0) || len(o) > 1 {
			t.Fatalf("%q: %v, %+v", raw, d, o)
		}
		// Only what is a number is one.
		var v float64
		if (n != nil || d != nil) && json.Unmarshal(raw, &v) != nil {
			t.Fatalf("%q is no JSON number, yet %v, %v", raw, n, d)
		}
	})
}
