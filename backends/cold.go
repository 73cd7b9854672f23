package backends

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Nonce makes a request unlike any that a server has seen, so that none of its
// caches has an answer ready: nonceLen decimal digits, "" for none.
//
// Every nonce has the same length, in bytes and nearly always in tokens:
// tokenisers split numbers into single digits or groups of three, whatever the
// digits are. So it costs every request the same.
type Nonce string

// nonceLen is the length of a nonce in digits.
const nonceLen = 24

// NonceOf derives a nonce from words; the same words give the same nonce.
func NonceOf(words ...string) Nonce {
	h := sha256.New()
	for _, w := range words {
		fmt.Fprintf(h, "%q", w)
	}
	digits := h.Sum(nil)[:nonceLen]
	for i, b := range digits {
		digits[i] = '0' + b%10
	}
	return Nonce(digits)
}

// System is the text that carries the nonce in a prompt. It belongs at the very
// start of the system message: a cache of prompts reuses what comes before the
// first difference.
func (n Nonce) System() string {
	return string(n) + " (number of this request)"
}

// Talk is a conversation with the nonce at the start of its system message,
// which is made where there is none.
func (n Nonce) Talk(talk []Message) []Message {
	first := Message{Role: System, Text: n.System()}
	if len(talk) > 0 && talk[0].Role == System {
		first.Text += "\n" + talk[0].Text
		first.Images = talk[0].Images
		talk = talk[1:]
	}
	return append([]Message{first}, talk...)
}

// ImageID names the ith picture of a request, from 0; its length is constant.
func (n Nonce) ImageID(i int) string { return fmt.Sprintf("%s-%04d", n, i) }

// Mark writes the nonce into the file of a request's ith picture: other bytes,
// same pixels. A PNG gets a tEXt chunk behind its header (PNG, 11.3.4.3), a JPEG
// a comment segment behind its application segments (ITU T.81, B.2.4.5).
func (n Nonce) Mark(img Image, i int) (Image, error) {
	at, mark := 0, []byte(nil)
	switch img.MIME {
	case "image/png":
		const header = len("\x89PNG\r\n\x1a\n") + 4 + len("IHDR") + 13 + 4
		if len(img.Bytes) < header || !bytes.HasPrefix(img.Bytes, []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")) {
			return Image{}, fmt.Errorf("a picture sent as PNG does not begin like one; expected its header, found % x", img.Bytes[:min(16, len(img.Bytes))])
		}
		chunk := []byte("tEXtComment\x00" + n.ImageID(i))
		mark = binary.BigEndian.AppendUint32(mark, uint32(len(chunk)-len("tEXt")))
		mark = binary.BigEndian.AppendUint32(append(mark, chunk...), crc32.ChecksumIEEE(chunk))
		at = header
	case "image/jpeg":
		var ok bool
		if at, ok = behindApplication(img.Bytes); !ok {
			return Image{}, fmt.Errorf("a picture sent as JPEG does not begin like one; expected its first segments, found % x", img.Bytes[:min(16, len(img.Bytes))])
		}
		mark = append(binary.BigEndian.AppendUint16([]byte{0xff, 0xfe}, uint16(2+len(n.ImageID(i)))), n.ImageID(i)...)
	default:
		return Image{}, fmt.Errorf("a nonce cannot be written into %s; expected image/png or image/jpeg", img.MIME)
	}
	out := make([]byte, 0, len(img.Bytes)+len(mark))
	out = append(append(append(out, img.Bytes[:at]...), mark...), img.Bytes[at:]...)
	return Image{Bytes: out, MIME: img.MIME}, nil
}

// behindApplication is where a JPEG file's leading APP0 to APP15 segments end:
// readers of JFIF and Exif want those first.
func behindApplication(b []byte) (at int, ok bool) {
	if !bytes.HasPrefix(b, []byte{0xff, 0xd8, 0xff}) {
		return 0, false
	}
	for at = 2; at+4 <= len(b) && b[at] == 0xff && b[at+1]&0xf0 == 0xe0; {
		at += 2 + int(binary.BigEndian.Uint16(b[at+2:]))
	}
	return at, at+2 <= len(b) && b[at] == 0xff
}

// TemplateTokens is more than any chat template puts before the system message, where no
// nonce stands: so many reused tokens are no hit.
const TemplateTokens = 32

// CacheState says whether a server's caches took part in an answer.
type CacheState string

const (
	CacheCold       CacheState = "cold"       // proven: they had no part
	CacheHit        CacheState = "hit"        // something was reused
	CacheUnverified CacheState = "unverified" // it is not known
	// CacheTimed is a server that says nothing: what it reused shows only in
	// TTFT - Timings.Load, against requests known to be fresh. No state of an
	// attempt: whoever calibrates turns it into one of the others.
	CacheTimed CacheState = "timed"
)

// Cache is a state and what it rests on.
type Cache struct {
	State  CacheState `json:"state,omitempty"`
	Field  string     `json:"field,omitempty"`  // what proves it: "timings.cache_n"; empty: nothing does
	Value  string     `json:"value,omitempty"`  // of that field
	Reason string     `json:"reason,omitempty"` // why it is unverified
}

// Doubted is a cache state where its count is odd: nothing is proven then.
func (o Odds) Doubted(c Cache, fields ...string) Cache {
	for _, f := range fields {
		if odd, ok := o.Of(f); ok {
			return Cache{State: CacheUnverified, Field: f, Value: odd.Value, Reason: "the count of reused tokens " + odd.Why}
		}
	}
	return c
}

// CacheOf is the state that a count of reused tokens proves; nil: the server did
// not count.
func CacheOf(field string, cached *int) Cache {
	switch {
	case cached == nil:
		return Cache{State: CacheUnverified, Reason: "the reply has no " + field}
	case *cached < 0:
		return Cache{State: CacheUnverified, Field: field, Value: fmt.Sprint(*cached), Reason: "a count below nothing proves nothing"}
	case *cached == 0:
		return Cache{State: CacheCold, Field: field, Value: "0"}
	}
	return Cache{State: CacheHit, Field: field, Value: fmt.Sprint(*cached)}
}
