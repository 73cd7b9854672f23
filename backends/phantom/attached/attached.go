// Package attached takes the pictures out of a request's JSON before it is
// parsed. They are nearly all of a request, and a parser that looks at every
// letter, several times, takes longer than all else that a phantom does.
package attached

import (
	"bytes"
	"encoding/base64"
	"strconv"
)

// What stands before a picture in the requests that Lift knows.
const (
	InList = `"images":["`               // Ollama's, and then one after the other
	InURL  = `"image_url":{"url":"data:` // with the media type, as a data URL
)

// stem begins what is put in a picture's place. Its length is a multiple of
// three, so that its base64 does not depend on what follows.
const stem = "\x00a lifted picture "

// shortest is the length of base64 from which lifting pays.
const shortest = 1 << 10

// Files are the pictures of a request, in order.
type Files [][]byte

// Lift gives a request's body with its pictures replaced by short base64, and
// the pictures. Whatever is not written as expected stays where it is, for the
// parser to judge; a body that is not JSON is none after Lift, either, and for
// the same reason. The body itself is not changed.
func Lift(body []byte, opening string) ([]byte, Files) {
	if bytes.Contains(body, encoded(stem)) { // somebody imitates us
		return body, nil
	}
	var files Files
	short := make([]byte, 0, 4096)
	rest := body
	for {
		i := bytes.Index(rest, []byte(opening))
		if i < 0 {
			return append(short, rest...), files
		}
		i += len(opening)
		short, rest = append(short, rest[:i]...), rest[i:]
		if opening == InURL {
			head, _, ok := bytes.Cut(rest[:min(len(rest), 64)], []byte(";base64,"))
			if !ok || bytes.IndexByte(head, '"') >= 0 {
				continue
			}
			n := len(head) + len(";base64,")
			short, rest = append(short, rest[:n]...), rest[n:]
		}
		for {
			n := bytes.IndexByte(rest, '"')
			file, ok := decode(rest[:max(n, 0)])
			if !ok {
				break
			}
			short = append(short, encoded(stem+strconv.Itoa(len(files)))...)
			files, rest = append(files, file), rest[n:]
			const next = `","`
			if opening != InList || !bytes.HasPrefix(rest, []byte(next)) {
				break
			}
			short, rest = append(short, next...), rest[len(next):]
		}
	}
}

func encoded(s string) []byte { return base64.StdEncoding.AppendEncode(nil, []byte(s)) }

// decode decodes base64 that is worth it. The decoder overlooks line ends, which
// JSON forbids.
func decode(text []byte) ([]byte, bool) {
	if len(text) < shortest || bytes.IndexByte(text, '\r') >= 0 || bytes.IndexByte(text, '\n') >= 0 {
		return nil, false
	}
	file := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(file, text)
	return file[:n], err == nil
}

// File is the picture that stood where a parser of the lifted body found b,
// decoded; b itself where that was not lifted.
func (f Files) File(b []byte) []byte {
	name, ok := bytes.CutPrefix(b, []byte(stem))
	if !ok {
		return b
	}
	i, err := strconv.Atoi(string(name))
	if err != nil || i < 0 || i >= len(f) { // not our writing
		return b
	}
	return f[i]
}
