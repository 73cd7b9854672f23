package deflate

import (
	"bytes"
	"compress/flate"
	"hash/adler32"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// inflate reads a stream back with the standard library.
func inflate(t interface{ Fatal(...any) }, d *Encoder) []byte {
	d.Finish()
	b, err := io.ReadAll(flate.NewReader(bytes.NewReader(d.Out)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// drawBytes draws what filtered images are made of: noise, zeros, runs, copies.
func drawBytes(t *rapid.T) []byte {
	var p []byte
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	for range rapid.IntRange(0, 12).Draw(t, "parts") {
		n := rapid.SampledFrom([]int{0, 1, 2, 3, 7, 8, 9, 23, 24, 25, 257, 258, 259, 260, 261, 300, 5000}).Draw(t, "n")
		switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
		case kind == 0:
			for range n {
				p = append(p, uint8(r.Uint64()))
			}
		case kind == 1:
			p = append(p, make([]byte, n)...)
		case kind == 2:
			p = append(p, bytes.Repeat([]byte{uint8(r.Uint64())}, n)...)
		case kind == 3 && len(p) > 0: // from anywhere before
			at := r.IntN(len(p))
			for k := range n {
				p = append(p, p[at+k])
			}
		default: // few values, one of them rare: long codes
			for range n {
				v := r.Uint64()
				p = append(p, uint8(v&3)*uint8(v>>2&1)*uint8(v>>3&1)+uint8(v>>60)/15*uint8(v>>8))
			}
		}
	}
	return p
}

func TestDeflate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawBytes(t)
		var d Encoder
		at := 0
		for at < len(p) { // both ways in turn, at any place
			n := rapid.IntRange(1, len(p)-at).Draw(t, "n")
			if rapid.Bool().Draw(t, "literals") {
				d.Literals(p[at : at+n])
			} else {
				d.Matches(p[:at+n], at, rapid.IntRange(1, 3000).Draw(t, "above"), rapid.IntRange(1, 8).Draw(t, "pixel"), rapid.IntRange(bit, 8*bit).Draw(t, "literal"))
			}
			at += n
		}
		if got := inflate(t, &d); !bytes.Equal(got, p) {
			t.Fatalf("%d bytes came back as %d", len(p), len(got))
		}
	})
}

func TestAdler(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawBytes(t), bytes.Repeat([]byte{255}, rapid.IntRange(0, 200000).Draw(t, "n"))
		whole := adler32.Checksum(append(slices.Clone(a), b...))
		if got := Adler(Adler(1, a), b); got != whole {
			t.Fatalf("%d and %d bytes: %08x, want %08x", len(a), len(b), got, whole)
		}
	})
}

// Codes keep their limit and fill it, whatever the frequencies.
func TestCodesAreComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{7, codeLimit}).Draw(t, "limit")
		n := rapid.SampledFrom([]int{1, 2, 3, 19, 30}).Draw(t, "n")
		freq := make([]uint32, n)
		for i := range freq {
			freq[i] = 1 << rapid.IntRange(0, 24).Draw(t, "log") >> 1 // Fibonacci-like: the deepest trees
		}
		c := newCode(freq, limit)
		kraft, used := 0, 0
		for s, l := range c.length {
			if (l > 0) != (freq[s] > 0) || int(l) > limit {
				t.Fatalf("symbol %d of frequency %d has length %d", s, freq[s], l)
			}
			if l > 0 {
				used++
				kraft += 1 << (limit - int(l))
			}
		}
		if used > 1 && kraft != 1<<limit || used == 1 && kraft != 1<<(limit-1) {
			t.Fatalf("lengths %v fill %d of %d", c.length, kraft, 1<<limit)
		}
	})
}

func TestLengthAndDistanceCodes(t *testing.T) {
	// RFC 1951, 3.2.5: the bases of the symbols, from their extra bits.
	base := 3
	for s := 257; s < 285; s++ {
		extra := max(0, (s-257)/4-1)
		for v := range 1 << extra {
			if base+v == maxMatch {
				continue // 258 has a symbol of its own
			}
			if gs, ge, gv := lengthCode(base + v); gs != s || ge != uint(extra) || gv != uint64(v) {
				t.Fatalf("length %d: %d+%d:%d, want %d+%d:%d", base+v, gs, ge, gv, s, extra, v)
			}
		}
		base += 1 << extra
	}
	if s, e, _ := lengthCode(maxMatch); s != 285 || e != 0 {
		t.Errorf("length 258: %d+%d", s, e)
	}
	base = 1
	for s := range 30 {
		extra := max(0, s/2-1)
		for _, v := range []int{0, 1<<extra - 1} {
			if gs, ge, gv := distanceCode(base + v); gs != s || ge != uint(extra) || gv != uint64(v) {
				t.Fatalf("distance %d: %d+%d:%d, want %d+%d:%d", base+v, gs, ge, gv, s, extra, v)
			}
		}
		base += 1 << extra
	}
}

// More than a block, a window and a code's worth of each way.
func TestDeflateLongInputs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	p := make([]byte, 3*BlockBytes+5)
	for i := range p {
		switch i / 70000 % 3 {
		case 0:
			p[i] = uint8(r.Uint64())
		case 1:
			p[i] = uint8(i / 7 * 31)
		}
	}
	for _, matches := range []bool{false, true} {
		var d Encoder
		if matches {
			d.Matches(p, 0, 777, 3, 3*bit)
		} else {
			d.Literals(p)
		}
		if got := inflate(t, &d); !bytes.Equal(got, p) {
			t.Fatalf("matches %v: %d bytes came back as %d", matches, len(p), len(got))
		}
	}
}
