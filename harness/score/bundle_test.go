package score

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/results"
)

// filled is a value of a type with everything in it drawn, and lists of at least one.
func filled(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.StringN(0, 5, -1).Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "truth"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "whole"))
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

// TestBundle: what is put into a bundle comes out, every field of it, in the order of items.
func TestBundle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c bundle
		places := rapid.Permutation([]int{0, 1, 2, 3}).Draw(t, "places")
		of := make([][]Scored, len(places))
		for _, place := range rapid.SliceOfN(rapid.SampledFrom(places), 0, 6).Draw(t, "trials") {
			if len(of[place]) > 0 {
				continue // an item's trials come together
			}
			c.begin(place)
			var s Scored
			filled(t, reflect.ValueOf(&s.Row).Elem())
			s.Row.Key.Study, s.Row.Key.Model = "s", "m"
			s.values = slotsFor(rapid.Float64().Draw(t, "score"))[:rapid.IntRange(0, 9).Draw(t, "places")]
			for len(s.values) > 0 && s.values[len(s.values)-1].kind == absent {
				s.values = s.values[:len(s.values)-1]
			}
			for range rapid.IntRange(0, 2).Draw(t, "of an item") {
				of[place] = append(of[place], s)
				c.add(s)
			}
		}
		in := slices.Concat(of...)
		r := bundleReader{names: results.Names{}, places: 9}
		if err := r.begin(c.bytes()); err != nil {
			t.Fatal(err)
		}
		for i := range in {
			var s Scored
			s.Row.Key.Study, s.Row.Key.Model = "s", "m"
			if more, err := r.next(&s); !more || err != nil {
				t.Fatalf("trial %d: %v, %v", i, more, err)
			}
			if !reflect.DeepEqual(s.Row, in[i].Row) || !slices.Equal(s.values, in[i].values) {
				t.Errorf("trial %d: %+v, want %+v", i, s, in[i])
			}
		}
		if more, err := r.next(&Scored{}); more || err != nil {
			t.Errorf("one more: %v", err)
		}
	})
}

// FuzzBundle: what is damaged is refused, and never read past its end.
func FuzzBundle(f *testing.F) {
	second := time.Second
	var c bundle
	f.Add(c.bytes())
	c.begin(0)
	c.add(Scored{Row: results.Row{Key: results.Key{Item: "i", Arm: "a", Condition: "c", Repeat: 1}, Latency: &second, Flags: []results.Flag{"concurrent"},
		Invalid: [][]results.Flag{{"stopped"}}, GPU: &results.Use{Held: &second}}, values: slotsFor(0.5)})
	whole := c.bytes()
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add([]byte{1, 0xff, 0xff, 0x03, 'a'})
	// A list of more flags than there is room for, after what comes before them.
	f.Add(append([]byte{1, 1, 'a', 15: 0, 17: 0}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bundleReader{names: results.Names{}, places: 12}
		if r.begin(b) != nil {
			return
		}
		n := 0
		for {
			var s Scored
			more, err := r.next(&s)
			if !more || err != nil {
				break
			}
			if n++; n > len(b) {
				t.Fatalf("%d trials in %d bytes", n, len(b))
			}
		}
	})
}
