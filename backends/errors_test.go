package backends

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestErrorSaysWhatWasAttemptedFoundAndToDo(t *testing.T) {
	for want, e := range map[string]*Error{
		"POST http://h/p: context exceeded (HTTP 400): 6043 tokens; send less": {Kind: ErrContextExceeded, Op: "POST http://h/p", Status: 400, Message: "6043 tokens", Hint: "send less"},
		"GET http://h/p: unreachable: EOF":                                     {Kind: ErrUnreachable, Op: "GET http://h/p", Err: io.EOF},
		"GET http://h/p: stalled: own words":                                   {Kind: ErrStalled, Op: "GET http://h/p", Message: "own words", Err: io.EOF},
		"malformed":                                                            {Kind: ErrMalformed},
		"refused: own\ufffd[31m words\ufffd  é 漢; try\ufffd":                   {Kind: ErrRefused, Message: "own\x1b[31m words\u202e\r\né 漢", Hint: "try\u009b"},
		"loading; wait":                                                        {Kind: ErrLoading, Hint: "wait"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestErrorIsItsKindAndItsCause(t *testing.T) {
	var err error = fmt.Errorf("trial 7: %w", &Error{Kind: ErrTruncated, Err: io.ErrUnexpectedEOF})
	if !errors.Is(err, ErrTruncated) || !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrStalled) || errors.Is(err, io.EOF) {
		t.Errorf("%v is not what it should be", err)
	}
}

// TestWhatCanHeal: a retry must never hide an answer that is wrong every time.
func TestWhatCanHeal(t *testing.T) {
	heals := map[Kind]bool{
		ErrUnreachable: true, ErrLoading: true, ErrBusy: true, ErrTruncated: true, ErrStalled: true, ErrMalformed: true, ErrServer: true,
		ErrUnknownModel: false, ErrNoVision: false, ErrContextExceeded: false, ErrRefused: false, ErrCancelled: false, Kind("new"): false,
	}
	for k, want := range heals {
		if k.CanHeal() != want {
			t.Errorf("%s can heal: %t", k, k.CanHeal())
		}
	}
}

// FuzzExcerpt: one line of at most 500 bytes, whatever a proxy sends.
func FuzzExcerpt(f *testing.F) {
	for _, seed := range []string{"", "plain", "<html><title>a\nb</title>", "<!doctype HTML><body x='<'>y</body>", "\x1f\x8b\x08", "<html", "<html><title", "<?xml ?><html>İ</html>", "{\"error\":1}", "<html>&lt;\n&#10;</html>", strings.Repeat("é", 400)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got := Excerpt(body)
		if len(got) > 500 || strings.ContainsAny(got, "\n\r\t") || strings.TrimSpace(got) != got {
			t.Fatalf("%q became %q", body, got)
		}
	})
}
