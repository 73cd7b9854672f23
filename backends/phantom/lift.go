package phantom

import (
	"bytes"
	"encoding/base64"
	"strconv"
)

// lifted are the pictures that were taken out of a request's JSON before it was parsed. They
// are nearly all of it, and a parser that looks at every letter, several times, takes longer
// than all else that a phantom does.
type lifted [][]byte

// stem begins what is put in a picture's place. Its length is a multiple of three, so that
// its base64 does not depend on what follows.
const stem = "\x00a lifted picture "

// lift gives a body with the base64 of its pictures, elements of a list or data URLs of a
// kilobyte or more, replaced by short base64, and the pictures. The body itself is not
// changed; one that is not JSON is none afterwards, either, for the same reason.
func lift(body []byte) (short []byte, files lifted) {
	encoded := func(s string) []byte { return base64.StdEncoding.AppendEncode(nil, []byte(s)) }
	if bytes.Contains(body, encoded(stem)) { // somebody imitates us
		return body, nil
	}
	parts := bytes.Split(body, []byte{'"'})
	for i := 1; i+1 < len(parts); i++ {
		text, before := parts[i], parts[i-1]
		head, _, url := bytes.Cut(text[:min(len(text), 64)], []byte(";base64,"))
		data := text
		if url {
			data = text[len(head)+len(";base64,"):]
		}
		listed := bytes.HasSuffix(before, []byte("[")) || string(before) == ","
		if len(data) < 1<<10 || !url && !listed || bytes.HasSuffix(before, []byte{'\\'}) || bytes.IndexByte(data, '\r') >= 0 || bytes.IndexByte(data, '\n') >= 0 {
			continue // the decoder overlooks line ends, which JSON forbids
		}
		file := make([]byte, base64.StdEncoding.DecodedLen(len(data)))
		n, err := base64.StdEncoding.Decode(file, data)
		if err != nil {
			continue
		}
		parts[i] = append(bytes.Clone(text[:len(text)-len(data)]), encoded(stem+strconv.Itoa(len(files)))...)
		files = append(files, file[:n])
	}
	return bytes.Join(parts, []byte{'"'}), files
}

// file is the picture that stood where a parser of the lifted body found b, decoded; b itself
// where that was not lifted.
func (f lifted) file(b []byte) []byte {
	name, ok := bytes.CutPrefix(b, []byte(stem))
	if i, err := strconv.Atoi(string(name)); ok && err == nil && i >= 0 && i < len(f) {
		return f[i]
	}
	return b
}
