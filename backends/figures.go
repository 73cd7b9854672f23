package backends

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// Limits of what a server may say of one request. What lies beyond is no figure:
// no context is as long, and no request lasts as long.
const (
	MaxCount = 1_000_000_000
	maxSpan  = 24 * time.Hour
)

// Odd is a figure that a server sent and that cannot be true. It counts as unknown.
type Odd struct {
	Field string // where it stood: "usage.prompt_tokens"
	Value string // as received, cut after 60 bytes
	Why   string // "is negative"
}

func (o Odd) String() string { return fmt.Sprintf("%s is %s, which %s", o.Field, o.Value, o.Why) }

// Odds are the odd figures of one reply. Each field has one at most, its last.
type Odds []Odd

// Count reads a number of tokens: a whole number from 0 to MaxCount. nil: there is
// none, or it is odd.
func (o *Odds) Count(field string, raw json.RawMessage) *int {
	v, ok := o.number(field, raw, MaxCount, fmt.Sprintf("is more than %d", MaxCount))
	if !ok {
		return nil
	}
	if v != math.Trunc(v) {
		o.Add(field, raw, "is no whole number")
		return nil
	}
	n := int(v)
	return &n
}

// Span reads a duration in units of unit, from 0 to maxSpan. nil: there is none,
// or it is odd.
func (o *Odds) Span(field string, raw json.RawMessage, unit time.Duration) *time.Duration {
	v, ok := o.number(field, raw, float64(maxSpan/unit), "is longer than a day")
	if !ok {
		return nil
	}
	d := time.Duration(math.Round(v * float64(unit)))
	return &d
}

// Positive is a size that a server says of itself or of a model, such as its
// context, from 1 to MaxCount; nil: it says none, or one that cannot be.
func Positive(raw json.RawMessage) *int {
	var o Odds
	n := o.Count("", raw)
	if n != nil && *n == 0 {
		return nil
	}
	return n
}

// number reads a figure between 0 and most. JSON's null is none.
func (o *Odds) number(field string, raw json.RawMessage, most float64, much string) (float64, bool) {
	*o = slices.DeleteFunc(*o, func(old Odd) bool { return old.Field == field })
	raw = bytes.Trim(raw, " \t\r\n")
	if len(raw) == 0 || string(raw) == "null" {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case !json.Valid(raw) || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9'):
		o.Add(field, raw, "is no number")
	case math.Signbit(v) && v != 0:
		o.Add(field, raw, "is negative")
	case err != nil || v > most:
		o.Add(field, raw, much)
	default:
		return math.Abs(v), true // of "-0"
	}
	return 0, false
}

// Add notes a figure that was read and cannot be true beside others.
func (o *Odds) Add(field string, value []byte, why string) {
	*o = slices.DeleteFunc(*o, func(old Odd) bool { return old.Field == field })
	if len(value) > 60 {
		value = append(value[:57:57], "..."...)
	}
	*o = append(*o, Odd{field, string(value), why})
}

// Of is the odd figure of a field; false: it has none.
func (o Odds) Of(field string) (Odd, bool) {
	i := slices.IndexFunc(o, func(odd Odd) bool { return odd.Field == field })
	if i < 0 {
		return Odd{}, false
	}
	return o[i], true
}

// AtMost makes a figure unknown that is more than whole, of which it is a part.
func (o *Odds) AtMost(field string, part **int, whole *int, what string) {
	if *part == nil || whole == nil || **part <= *whole {
		return
	}
	o.Add(field, []byte(strconv.Itoa(**part)), fmt.Sprintf("is more than %s, %d", what, *whole))
	*part = nil
}

// slack is what a server's clock may say beyond the client's: clocks run up to
// one part in a hundred apart at the very worst, and a server may count what went on
// just before the request.
const slack = time.Second

// Within makes those of a server's times unknown that are longer than the whole
// request was for the client, from its first byte out to its last byte in.
func (r *Response) Within(whole time.Duration) {
	for _, t := range []struct {
		name string
		at   **time.Duration
	}{{"total", &r.Server.Total}, {"load", &r.Server.Load}, {"prompt", &r.Server.Prompt}, {"decode", &r.Server.Decode}, {"queue", &r.Server.Queue}} {
		if d := *t.at; d != nil && *d > whole+whole/100+slack {
			r.Odd.Add("the server's "+t.name+" time", []byte(d.String()), fmt.Sprintf("is longer than the whole request, %v", whole.Round(time.Millisecond)))
			*t.at = nil
		}
	}
}
