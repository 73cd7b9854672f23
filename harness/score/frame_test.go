package score

import (
	"bytes"
	"encoding/gob"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/results"
)

func slotsFor(f float64) []slot {
	return []slot{{}, {kind: number}, {kind: number, number: 1}, {kind: number, number: -3}, {kind: number, number: f}, {kind: label, text: "MFC"},
		{kind: invalid, text: "parse"}, {kind: undefined, text: "no gold"}, {kind: label, text: "parse"}}
}

// same compares to the last bit.
func same(a, b slot) bool {
	return a.kind == b.kind && a.text == b.text && math.Float64bits(a.number) == math.Float64bits(b.number)
}

// filled is a value of a type with everything in it drawn, and lists of at least one.
func filled(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.StringN(0, 5, -1).Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "truth"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Range(-1<<53, 1<<53).Draw(t, "whole"))
	case reflect.Float64:
		v.SetFloat(rapid.Float64().Draw(t, "number"))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			filled(t, v.Elem())
		}
	case reflect.Slice:
		if n := rapid.IntRange(0, 3).Draw(t, "n"); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := range v.Len() {
			filled(t, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() { // what is not exported is not stored
				filled(t, f)
			}
		}
	default:
		t.Fatalf("a row has a %s", v.Type())
	}
}

// TestFrame: what is put into a frame comes out to the last bit, every field of it, in the
// order of items.
func TestFrame(t *testing.T) {
	const places = 12
	rapid.Check(t, func(t *rapid.T) {
		score := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0.1, math.Copysign(0, -1), 1e300, 1 << 60, 5e-324}))
		var f framing
		order := rapid.Permutation([]int{0, 1, 2, 3}).Draw(t, "places")
		of := make([][]Scored, len(order))
		for _, place := range order[:rapid.IntRange(0, len(order)).Draw(t, "items")] {
			f.begin(place)
			for range rapid.IntRange(0, 2).Draw(t, "of an item") {
				var s Scored
				filled(t, reflect.ValueOf(&s.Row).Elem())
				s.Row.Key.Study, s.Row.Key.Model, s.Row.Attempts = "s", "m", max(1, s.Row.Attempts)
				for range places {
					s.values = append(s.values, rapid.SampledFrom(slotsFor(score.Draw(t, "score"))).Draw(t, "slot"))
				}
				of[place] = append(of[place], s)
				f.add(s)
			}
		}
		b, err := f.bytes()
		if err != nil {
			t.Fatal(err)
		}
		r := frameReader{names: results.Names{}, places: places}
		for range 2 { // one after the other
			if err := r.begin(b); err != nil {
				t.Fatal(err)
			}
			s := Scored{Row: results.Row{Key: results.Key{Study: "s", Model: "m"}}}
			for i, want := range slices.Concat(of...) {
				if more, err := r.next(&s); !more || err != nil {
					t.Fatalf("trial %d: %v, %v", i, more, err)
				}
				if !reflect.DeepEqual(s.Row, want.Row) || !slices.EqualFunc(s.values, want.values, same) {
					t.Fatalf("trial %d: %+v, want %+v", i, s, want)
				}
			}
			if more, err := r.next(&s); more || err != nil {
				t.Errorf("one more: %v", err)
			}
		}
	})
}

// FuzzFrame: what is damaged is refused, or can be read to its end.
func FuzzFrame(f *testing.F) {
	var fields rowFields
	fields.row(new(results.Row))
	of := func(first, score frameColumn) frame { // of one trial
		out := frame{Trials: 1, Words: []string{"a"}, Columns: make([]frameColumn, len(fields.slots)+1)}
		for i := range out.Columns {
			out.Columns[i].Kinds = []byte{0}
		}
		out.Columns[0], out.Columns[len(fields.slots)] = first, score
		return out
	}
	item, one := frameColumn{[]byte{2}, []float64{0}}, frameColumn{[]byte{1}, []float64{0.5}}
	for _, c := range []struct {
		what  string
		of    frame
		whole bool
	}{
		{"nothing", frame{}, true},
		{"a trial", of(item, one), true},
		{"no fields", frame{Trials: 1}, false},
		{"more trials than kinds", frame{Trials: 1 << 10, Words: []string{"a"}, Columns: []frameColumn{item}}, false},
		{"fewer trials than none", frame{Trials: -1}, false},
		{"more kinds than trials", of(item, frameColumn{[]byte{1, 1}, []float64{0.5, 1}}), false},
		{"a value is missing", of(item, frameColumn{Kinds: []byte{1}}), false},
		{"a value too many", of(item, frameColumn{[]byte{0}, []float64{1}}), false},
		{"no such word", of(item, frameColumn{[]byte{2}, []float64{1}}), false},
		{"half a word", of(item, frameColumn{[]byte{2}, []float64{0.5}}), false},
		{"a word before the first", of(item, frameColumn{[]byte{3}, []float64{-1}}), false},
		{"no such kind", of(item, frameColumn{[]byte{9}, []float64{0}}), false},
		{"no number", of(item, frameColumn{[]byte{1}, []float64{math.NaN()}}), false},
		{"an item that is a number", of(one, one), false},
		{"more columns than places", frame{Columns: make([]frameColumn, len(fields.slots)+13)}, false},
	} {
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(c.of); err != nil {
			f.Fatal(err)
		}
		r := frameReader{names: results.Names{}, places: 12}
		err := r.begin(b.Bytes())
		for more := true; more && err == nil; {
			more, err = r.next(new(Scored))
		}
		if (err == nil) != c.whole {
			f.Errorf("%s: %v", c.what, err)
		}
		f.Add(b.Bytes())
		f.Add(b.Bytes()[:b.Len()-1])
	}
	second := time.Second
	var c framing
	c.begin(0)
	c.add(Scored{Row: results.Row{Key: results.Key{Item: "i", Arm: "a", Condition: "c", Repeat: 1}, Latency: &second, Flags: []results.Flag{"concurrent"},
		Invalid: [][]results.Flag{{"stopped"}}, GPU: &results.Use{Held: &second}}, values: slotsFor(0.5)})
	b, err := c.bytes()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := frameReader{names: results.Names{}, places: 12}
		if r.begin(b) != nil {
			return
		}
		for more, err := true, error(nil); more && err == nil; {
			more, err = r.next(new(Scored))
		}
	})
}
