package eye

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// file is what this model needs of a GGUF file (version 3, all tensors in 32-bit floats).
type file struct {
	values  map[string]any // uint32, int32, float32, bool, string, or a []any of them
	tensors map[string]matrix
}

// reader reads a GGUF file; after the first error it reads nothing more.
type reader struct {
	data []byte
	at   int
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("byte %d: "+format, append([]any{r.at}, args...)...)
	}
}

func (r *reader) bytes(n uint64) []byte {
	if r.err == nil && n > uint64(len(r.data)-r.at) {
		r.fail("expected %d bytes more, found the end of the file after %d", n, len(r.data)-r.at)
	}
	if r.err != nil {
		return nil
	}
	r.at += int(n)
	return r.data[r.at-int(n) : r.at]
}

func (r *reader) u32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) text() string { return string(r.bytes(r.u64())) }

// value reads a value of a type as GGUF numbers them.
func (r *reader) value(kind uint32) any {
	switch kind {
	case 4:
		return r.u32()
	case 5:
		return int32(r.u32())
	case 6:
		return math.Float32frombits(r.u32())
	case 7:
		return bytes.Equal(r.bytes(1), []byte{1})
	case 8:
		return r.text()
	case 9:
		of, n := r.u32(), r.u64()
		var list []any
		for i := uint64(0); i < n && r.err == nil; i++ {
			list = append(list, r.value(of))
		}
		return list
	}
	r.fail("expected a value of type 4 to 9, found type %d", kind)
	return nil
}

// parse reads a file.
func parse(data []byte) (*file, error) {
	r := &reader{data: data}
	if magic := string(r.bytes(4)); magic != "GGUF" {
		r.fail("expected GGUF, found %q", magic)
	}
	if v := r.u32(); v != 3 {
		r.fail("expected version 3, found %d", v)
	}
	tensors, values := r.u64(), r.u64()
	f := &file{map[string]any{}, map[string]matrix{}}
	for i := uint64(0); i < values && r.err == nil; i++ {
		key := r.text()
		f.values[key] = r.value(r.u32())
	}
	type place struct {
		name    string
		rows, n uint64
		at      uint64
	}
	var places []place
	for i := uint64(0); i < tensors && r.err == nil; i++ {
		p := place{name: r.text(), n: 1, rows: 1}
		dims := r.u32()
		if dims < 1 || dims > 4 {
			r.fail("tensor %s: expected 1 to 4 dimensions, found %d", p.name, dims)
		}
		for d := uint32(0); d < dims && r.err == nil; d++ {
			long := r.u64()
			if long == 0 || long > 1<<20 || p.n*long > 1<<24 {
				r.fail("tensor %s: expected at most 2^24 numbers, found a side of %d", p.name, long)
				break
			}
			if p.n *= long; dims > 1 && d == dims-1 {
				p.rows = long // of the slowest dimension
			}
		}
		if kind := r.u32(); kind != 0 {
			r.fail("tensor %s: expected 32-bit floats (type 0), found type %d", p.name, kind)
		}
		p.at = r.u64()
		places = append(places, p)
	}
	r.bytes(uint64(-r.at & 31))
	start := r.at
	for _, p := range places {
		if p.at > uint64(len(data)) {
			r.fail("tensor %s: expected a place in the file, found %d", p.name, p.at)
			break
		}
		r.at = min(start+int(p.at), len(data))
		b := r.bytes(4 * p.n)
		m := matrix{int(p.n / p.rows), make([]float64, 0, p.n)}
		for ; len(b) > 0; b = b[4:] {
			m.v = append(m.v, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		}
		f.tensors[p.name] = m
	}
	if r.err != nil {
		return nil, r.err
	}
	return f, nil
}
