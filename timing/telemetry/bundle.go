package telemetry

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// Bundle is a stretch of one device's samples, packed by column: times as
// differences of differences, values as differences, equal neighbours as one
// count. Bytes is what is stored.
type Bundle struct {
	From, To time.Duration // of the first and the last sample
	N        int           // samples
	Bytes    []byte
}

const (
	bundleVersion = 1
	bundleSamples = 1024 // a bundle is full
	maxSamples    = 1 << 16
)

// Pack makes a bundle of samples, which must be in order of time and not empty.
func Pack(samples []Sample) Bundle {
	if len(samples) == 0 || len(samples) > maxSamples {
		panic(fmt.Sprintf("telemetry: internal error: a bundle of %d samples", len(samples)))
	}
	b := binary.AppendUvarint([]byte{bundleVersion}, uint64(len(samples)))
	var at, step, took int64
	for i := range samples {
		now := int64(samples[i].At)
		b = binary.AppendVarint(b, now-at-step)
		if i > 0 {
			step = now - at
		}
		at = now
	}
	for i := range samples {
		b = binary.AppendVarint(b, int64(samples[i].Took)-took)
		took = int64(samples[i].Took)
	}
	for m := range Measures() {
		present := 0
		for i := range samples {
			if _, ok := samples[i].Get(m); ok {
				present++
			}
		}
		if present > 0 {
			b = packColumn(b, samples, m, present == len(samples))
		}
	}
	return Bundle{From: samples[0].At, To: samples[len(samples)-1].At, N: len(samples), Bytes: b}
}

// packColumn appends the measure's number with a mark for "in every sample", or
// else a bit per sample, then the values. A difference of 0 is followed by how
// many more of them come.
func packColumn(b []byte, samples []Sample, m Measure, everywhere bool) []byte {
	if everywhere {
		b = append(b, byte(m)<<1|1)
	} else {
		b = append(b, byte(m)<<1)
		mask := make([]byte, (len(samples)+7)/8)
		for i := range samples {
			if _, ok := samples[i].Get(m); ok {
				mask[i/8] |= 1 << (i % 8)
			}
		}
		b = append(b, mask...)
	}
	var last int64
	zeros := -1
	flush := func() {
		if zeros >= 0 {
			b = binary.AppendUvarint(append(b, 0), uint64(zeros))
			zeros = -1
		}
	}
	for i := range samples {
		v, ok := samples[i].Get(m)
		switch {
		case !ok:
		case v == last:
			zeros++
		default:
			flush()
			b = binary.AppendVarint(b, v-last)
			last = v
		}
	}
	flush()
	return b
}

var errDamaged = errors.New("telemetry: the bundle is damaged")

// reader walks over a bundle; after a fault all reads are 0 and bad is set.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uvarint() uint64 { return take(r, binary.Uvarint) }
func (r *reader) varint() int64   { return take(r, binary.Varint) }

func take[T int64 | uint64](r *reader, read func([]byte) (T, int)) T {
	v, n := read(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) bytes(n int) []byte {
	if len(r.b) < n {
		r.bad, r.b = true, nil
		return make([]byte, n)
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

// Unpack is the samples that Pack put into the bytes of a bundle. What is
// damaged, or was written by a newer assay, is an error.
func Unpack(b []byte) ([]Sample, error) {
	if len(b) == 0 {
		return nil, errDamaged
	}
	if b[0] != bundleVersion {
		return nil, fmt.Errorf("telemetry: a bundle of format %d: this assay reads format %d; use the one that wrote it", b[0], bundleVersion)
	}
	r := &reader{b: b[1:]}
	n := r.uvarint()
	if n == 0 || n > maxSamples || n > uint64(len(r.b)) {
		return nil, errDamaged
	}
	samples := make([]Sample, n)
	var at, step, took int64
	for i := range samples {
		next := at + step + r.varint()
		if i > 0 {
			step = next - at
		}
		at = next
		samples[i].At = time.Duration(at)
		if i > 0 && samples[i].At <= samples[i-1].At {
			return nil, errDamaged
		}
	}
	for i := range samples {
		took += r.varint()
		if took < 0 {
			return nil, errDamaged
		}
		samples[i].Took = time.Duration(took)
	}
	last := -1
	for len(r.b) > 0 && !r.bad {
		head := r.bytes(1)[0]
		m := Measure(head >> 1)
		if int(m) <= last || m >= numMeasures {
			return nil, errDamaged
		}
		last = int(m)
		unpackColumn(r, samples, m, head&1 == 1)
	}
	if r.bad {
		return nil, errDamaged
	}
	return samples, nil
}

func unpackColumn(r *reader, samples []Sample, m Measure, everywhere bool) {
	var mask []byte
	if !everywhere {
		mask = r.bytes((len(samples) + 7) / 8)
	}
	var v int64
	zeros := uint64(0) // still to come
	for i := range samples {
		if !everywhere && mask[i/8]&(1<<(i%8)) == 0 {
			continue
		}
		if zeros > 0 {
			zeros--
		} else if d := r.varint(); d != 0 {
			v += d
		} else {
			zeros = r.uvarint()
		}
		samples[i].Set(m, v)
	}
	r.bad = r.bad || zeros > 0
}
