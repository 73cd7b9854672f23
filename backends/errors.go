package backends

import (
	"fmt"
	"html"
	"strings"
	"time"
	"unicode"
)

// Kind is a class of failure. Test with errors.Is(err, backends.ErrTruncated).
type Kind string

const (
	ErrUnreachable     Kind = "unreachable"      // no connection
	ErrLoading         Kind = "loading"          // the server is up but the model is not ready
	ErrBusy            Kind = "busy"             // HTTP 429, or a full queue: later there may be room
	ErrUnknownModel    Kind = "unknown_model"    // the server has no such model
	ErrNoVision        Kind = "no_vision"        // an image for a model that cannot see
	ErrContextExceeded Kind = "context_exceeded" // prompt longer than the context
	ErrPromptCut       Kind = "prompt_cut"       // the server answered what it left of a prompt
	ErrRefused         Kind = "refused"          // the server rejected the request
	ErrTruncated       Kind = "truncated"        // the stream ended before its end mark
	ErrOverlong        Kind = "overlong"         // the answer is far longer than the limit of tokens allows
	ErrStalled         Kind = "stalled"          // nothing came for too long
	ErrMalformed       Kind = "malformed"        // the reply is not what the protocol says
	ErrCancelled       Kind = "cancelled"        // our own context ended
	ErrServer          Kind = "server"           // the server reported an error of its own
	ErrDeclined        Kind = "declined"         // the model or its provider would not answer this
	ErrLimit           Kind = "limit"            // the limit of tokens cut the answer; the same request would be cut again
	ErrDropped         Kind = "dropped"          // a setting would not have reached the server, so nothing was sent
	ErrBudget          Kind = "budget"           // the money allowed is spent, so nothing was sent
)

func (k Kind) Error() string { return strings.ReplaceAll(string(k), "_", " ") }

// CanHeal says whether a new attempt may succeed where this kind failed.
func (k Kind) CanHeal() bool {
	switch k {
	case ErrUnreachable, ErrLoading, ErrBusy, ErrTruncated, ErrStalled, ErrMalformed, ErrServer:
		return true
	}
	return false
}

// Error is a failed attempt. Message, Hint and Partial may hold whatever a server
// sent; the text that Error gives can be printed on a terminal.
type Error struct {
	Kind    Kind
	Op      string // what was attempted: "POST http://127.0.0.1:11434/api/chat"
	Status  int    // HTTP status; 0: there was none
	Message string // the server's own words, or what was expected and found
	Hint    string // what to do next
	Partial string // text that had arrived before the failure
	Sent    []byte // the request body exactly as sent; nil: nothing was
	Usage   Usage  // what the failed attempt used, as received
	Raw     []byte // what else is to be stored of it, as Timings.Raw
	// After is how long the server asks to be left alone (Retry-After); nil: it does not say.
	After *time.Duration
	Err   error // cause
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op + ": ")
	}
	b.WriteString(e.Kind.Error())
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	} else if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return strings.Map(shown, b.String())
}

// Excerpt is a reply that is no answer, on one line of at most 500 bytes: of a web page
// its title or else its text, of compressed bytes what they are.
func Excerpt(body []byte) string {
	text := strings.TrimSpace(string(body[:min(len(body), 1<<20)]))
	low := strings.ToLower(text[:min(len(text), 1<<10)])
	switch {
	case strings.HasPrefix(text, "\x1f\x8b"):
		return "compressed bytes (gzip), which nobody asked for: something between changes what the server says"
	case strings.HasPrefix(low, "<!doctype html") || strings.HasPrefix(low, "<html") || strings.HasPrefix(low, "<?xml") && strings.Contains(low, "<html") || strings.HasPrefix(low, "<head"):
		for _, element := range []string{"title", "body", ""} {
			if found := between(text, "<"+element, "</"+element+">"); found != "" {
				text = found
				break
			}
		}
		text = "a web page, not a model server's reply: " + html.UnescapeString(text)
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 500 {
		text = strings.ToValidUTF8(text[:500], "")
	}
	return text
}

// between is the text inside the first element that opens so, without tags.
func between(page, opens, closes string) string {
	low := strings.ToLower(page) // as long as page: it holds ASCII where it matters
	if len(low) != len(page) {
		return ""
	}
	i := strings.Index(low, opens)
	if i < 0 {
		return ""
	}
	page, low = page[i:], low[i:]
	if j := strings.Index(low, closes); j >= 0 {
		page = page[:j]
	}
	var b strings.Builder
	in := false
	for _, r := range page {
		switch {
		case r == '<':
			in = true
			b.WriteByte(' ')
		case r == '>':
			in = false
		case !in:
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(b.String())
}

// shown is a rune of a server's words as it may stand on a terminal, in one line:
// control and direction characters become U+FFFD.
func shown(r rune) rune {
	switch {
	case r == ' ' || unicode.IsPrint(r):
		return r
	case unicode.IsSpace(r):
		return ' '
	}
	return unicode.ReplacementChar
}

// Is reports whether target is the error's Kind.
func (e *Error) Is(target error) bool { k, ok := target.(Kind); return ok && k == e.Kind }

func (e *Error) Unwrap() error { return e.Err }
