package wire

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
)

type mode uint8

const (
	untilClose mode = iota // the body ends with the connection
	counted                // Content-Length
	chunked
)

// state is where in the chunked encoding the next byte stands.
type state uint8

const (
	sizeLine state = iota
	data
	dataEnd // CRLF behind a chunk
	trailer
	finished
)

// framing takes the transfer encoding off a body as it arrives. The zero
// framing is a body that ends with the connection.
type framing struct {
	mode  mode
	state state
	left  int64  // bytes to come of the body, or of the chunk
	line  []byte // a size or trailer line under way
}

// newFraming reads from a parsed head how its body is delimited.
func newFraming(r *http.Response) framing {
	switch {
	case len(r.TransferEncoding) > 0 && r.TransferEncoding[0] == "chunked":
		return framing{mode: chunked, line: make([]byte, 0, 64)}
	case r.ContentLength >= 0:
		return framing{mode: counted, left: r.ContentLength}
	}
	return framing{}
}

// feed takes the next bytes of the reply, moves those of the body to the front
// of p and says how many they are and whether the reply is complete. Bytes behind
// its end are ignored, as every HTTP client does.
func (f *framing) feed(p []byte) (n int, done bool, err error) {
	switch f.mode {
	case untilClose:
		return len(p), false, nil
	case counted:
		n = int(min(int64(len(p)), f.left))
		f.left -= int64(n)
		return n, f.left == 0, nil
	}
	for i := 0; i < len(p) && f.state != finished; {
		switch f.state {
		case data:
			m := len(p) - i
			if int64(m) > f.left {
				m = int(f.left)
			}
			copy(p[n:], p[i:i+m])
			n, i, f.left = n+m, i+m, f.left-int64(m)
			if f.left == 0 {
				f.state = dataEnd
			}
		default:
			j := bytes.IndexByte(p[i:], '\n')
			part := p[i:]
			if j >= 0 {
				part = p[i : i+j+1]
			}
			i += len(part)
			if len(f.line)+len(part) > 4<<10 {
				return n, false, errors.New("a line of the chunked encoding is longer than 4096 bytes")
			}
			if j < 0 || len(f.line) > 0 {
				f.line = append(f.line, part...)
				part = f.line
			}
			if j < 0 {
				continue
			}
			if err := f.endLine(part); err != nil {
				return n, false, err
			}
			f.line = f.line[:0]
		}
	}
	return n, f.state == finished, nil
}

// endLine acts on a complete line between chunks.
func (f *framing) endLine(line []byte) error {
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	switch f.state {
	case dataEnd:
		if len(line) > 0 {
			return errors.New("a chunk does not end where its size says")
		}
		f.state = sizeLine
	case sizeLine:
		n, ok := chunkSize(line)
		if !ok {
			return fmt.Errorf("bad chunk size %.20q", line)
		}
		f.left, f.state = n, data
		if n == 0 {
			f.state = trailer
		}
	case trailer:
		if len(line) == 0 {
			f.state = finished
		}
	}
	return nil
}

// chunkSize reads a hexadecimal size, up to white space or an extension.
func chunkSize(line []byte) (n int64, ok bool) {
	for i, c := range line {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			rest, _, _ := bytes.Cut(line[i:], []byte(";"))
			return n, i > 0 && len(bytes.TrimSpace(rest)) == 0
		}
		if n > 1<<58 {
			return 0, false
		}
		n = n<<4 | int64(c)
	}
	return n, len(line) > 0
}
