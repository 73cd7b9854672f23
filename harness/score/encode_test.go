package score

import (
	"math"
	"slices"
	"testing"
)

func slotsFor(f float64) []slot {
	return []slot{{}, {kind: number}, {kind: number, number: 1}, {kind: number, number: -3}, {kind: number, number: f}, {kind: label, text: "MFC"},
		{kind: invalid, text: "parse"}, {kind: undefined, text: "no gold"}, {kind: label, text: "parse"}}
}

// TestPack: what is packed comes out as it was, to the last bit.
func TestPack(t *testing.T) {
	for _, f := range []float64{0.1, 1.0 / 3, math.Copysign(0, -1), 1e300, -0.5, 1 << 60, 5e-324, 123456} {
		var w wordList
		in := append(slotsFor(f), slot{}, slot{})
		b := pack(in, &w)
		out, err := unpack(b, w.list, nil, len(in))
		if err != nil || !slices.EqualFunc(out, in[:len(in)-2], func(a, b slot) bool {
			return a.kind == b.kind && a.text == b.text && math.Float64bits(a.number) == math.Float64bits(b.number)
		}) {
			t.Errorf("%v: %v, %v", f, out, err)
		}
		if len(w.list) != 3 {
			t.Errorf("words %q", w.list)
		}
		if out, err := unpack(b, w.list, nil, 3); err == nil {
			t.Errorf("more values than places: %v", out)
		}
		if out, err := unpack(b, w.list[:1], nil, len(in)); err == nil {
			t.Errorf("a word that is not there: %v", out)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	var w wordList
	f.Add(pack(slotsFor(0.1), &w))
	f.Add([]byte{packWhole, 0x80})
	f.Add([]byte{packNumber, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f})
	f.Add([]byte{packLabel, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := unpack(b, w.list, nil, 12)
		if err != nil {
			return
		}
		again, err := unpack(pack(out, &w), w.list, nil, 12)
		for len(out) > 0 && out[len(out)-1].kind == absent {
			out = out[:len(out)-1]
		}
		if err != nil || !slices.Equal(out, again) {
			t.Errorf("%v became %v, %v", out, again, err)
		}
	})
}
