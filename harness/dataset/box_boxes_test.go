package dataset

import (
	"image"
	"reflect"
	"testing"

	"assay/perturb"
)

func TestParse(t *testing.T) {
	one := Sides{"": {{N: [4]float64{1, 2, 3, 4}}}}
	sized := Sides{"": {{N: [4]float64{1, 2, 3, 4}, Form: Sized}}}
	for text, want := range map[string]Sides{
		"[1, 2, 3, 4]": one, "[[1, 2, 3, 4]]": one, "1 2 3 4": one, "1,2,3,4": one, " 1, 2, 3, 4 ": one,
		"1 2 3 4; 5 6 7.5 8":               {"": {{N: [4]float64{1, 2, 3, 4}}, {N: [4]float64{5, 6, 7.5, 8}}}},
		`{"x": 1, "y": 2, "w": 3, "h": 4}`: sized, `[{"x": 1, "y": 2, "width": 3, "height": 4}]`: sized,
		`{"x_min": 1, "y_min": 2, "x_max": 3, "y_max": 4}`: {"": {{N: [4]float64{1, 2, 3, 4}, Form: Corners}}},
		`{"left": [1, 2, 3, 4], "right": [[5, 6, 7, 8]]}`:  {"left": {{N: [4]float64{1, 2, 3, 4}}}, "right": {{N: [4]float64{5, 6, 7, 8}}}},
		"": nil, "[]": nil,
	} {
		if got, ok := Parse(text); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %t, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"1 2 3", "[1, 2, 3]", "[[1, 2, 3, 4], 5]", `{"up": [1, 2, 3, 4]}`, "{}", "here", "[-1, 0, 1, 1]", `[1, 2, 3, "4"]`, `{"x": 1, "y": 2, "w": 3, "h": 4, "z": 5}`, "[1, 2, 3, 1e999]", "NaN 0 1 1"} {
		if got, ok := Parse(text); ok {
			t.Errorf("%s is read as %v", text, got)
		}
	}
	if got := OfColumns([]string{"id", "bbox_x", "bbox_y", "bbox_w", "bbox_h"}); !reflect.DeepEqual(got, []string{"bbox_x", "bbox_y", "bbox_w", "bbox_h"}) {
		t.Errorf("columns %q", got)
	}
	if got := OfColumns([]string{"x", "y", "w"}); got != nil {
		t.Errorf("three columns: %q", got)
	}
}

// TestOnePlace: one place of a picture of 200x400, said in every unit and form, is told from the
// numbers, and is the same pixels.
func TestOnePlace(t *testing.T) {
	want := image.Rect(50, 100, 150, 300)
	for _, c := range []struct {
		n [4]float64
		m Meaning
	}{
		{[4]float64{50, 100, 150, 300}, Meaning{Pixels, Corners}}, {[4]float64{50, 100, 100, 200}, Meaning{Pixels, Sized}},
		{[4]float64{25, 25, 75, 75}, Meaning{PerCents, Corners}}, {[4]float64{25, 25, 50, 50}, Meaning{PerCents, Sized}},
		{[4]float64{.25, .25, .75, .75}, Meaning{Fractions, Corners}}, {[4]float64{.25, .25, .5, .5}, Meaning{Fractions, Sized}},
	} {
		all := []Placed{{Sides{"": {{N: c.n}}}, 200, 400}}
		if unit := UnitOf(all); unit != c.m.Unit {
			t.Errorf("%v is told to be in %s", c.n, unit)
		}
		r, bad := c.m.Region(Box{N: c.n}, 200, 400)
		if got := r.Pixels(200, 400); bad != "" || got != want {
			t.Errorf("%v as %v: %v, %s", c.n, c.m, got, bad)
		}
		// What is in the middle fits both ways or one: the one that fits more is taken.
		others := append(all, Placed{Sides{"": {{N: map[string][4]float64{Pixels: {160, 350, 20, 40}, PerCents: {80, 80, 15, 15}, Fractions: {.8, .8, .15, .15}}[c.m.Unit]}}}, 200, 400})
		if m, _ := Tell(c.m.Unit, "", others); m.Form != Sized {
			t.Errorf("%v beside one that has no corners: %v", c.n, m)
		}
	}
	// No number is rounded but outwards to whole pixels.
	r, bad := Meaning{Pixels, Corners}.Region(Box{N: [4]float64{10.6, 20, 30.2, 41}}, 333, 777)
	if got := r.Pixels(333, 777); bad != "" || got != image.Rect(10, 20, 31, 41) {
		t.Errorf("%v, %s", got, bad)
	}
	if r, _ := (Meaning{PerCents, Corners}).Region(Box{N: [4]float64{0, 10, 50, 100}}, 0, 0); r != (perturb.Region{Y0: 10, X1: 50, Y1: 100}) {
		t.Errorf("whole per cents are %+v", r)
	}
	if r, _ := (Meaning{PerCents, Corners}).Region(Box{N: [4]float64{12.5, 0, 50, 100}}, 0, 0); r.Pixels(1000, 1000).Min.X != 125 {
		t.Errorf("12.5 per cent: %+v", r)
	}
	for _, n := range [][4]float64{{50, 100, 40, 300}, {50, 100, 201, 300}, {50, 100, 150, 401}, {10, 10, 10, 20}} {
		if _, bad := (Meaning{Pixels, Corners}).Region(Box{N: n}, 200, 400); bad == "" {
			t.Errorf("%v is a box", n)
		}
	}
}

// FuzzParse: what is read as boxes makes regions that can be drawn, or says what is wrong.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"1 2 3 4", "[[0, 0.1, 0.5, 1]]", `{"left": [1, 2, 3, 4]}`, `[{"x": 1, "y": 2, "w": 3, "h": 4}]`, "1,2;3", `{"x1": 1e300, "y1": 0, "x2": 1e308, "y2": 1}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		sides, ok := Parse(s)
		if !ok && sides != nil {
			t.Fatalf("%q is none, and is %v", s, sides)
		}
		for _, list := range sides {
			for _, b := range list {
				for _, unit := range Units() {
					for _, form := range Forms() {
						r, bad := Meaning{unit, form}.Region(b, 640, 480)
						if bad == "" && (r.Check() != nil || r.Pixels(640, 480).Empty()) {
							t.Fatalf("%q as %s %s: %+v", s, unit, form, r)
						}
					}
				}
			}
		}
	})
}
