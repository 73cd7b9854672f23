package dataset

import (
	"image"
	"reflect"
	"testing"

	"assay/perturb"
)

func TestParse(t *testing.T) {
	one := sides{"": {{N: [4]float64{1, 2, 3, 4}}}}
	sized := sides{"": {{N: [4]float64{1, 2, 3, 4}, Form: sized}}}
	for text, want := range map[string]sides{
		"[1, 2, 3, 4]": one, "[[1, 2, 3, 4]]": one, "1 2 3 4": one, "1,2,3,4": one, " 1, 2, 3, 4 ": one,
		"1 2 3 4; 5 6 7.5 8":               {"": {{N: [4]float64{1, 2, 3, 4}}, {N: [4]float64{5, 6, 7.5, 8}}}},
		`{"x": 1, "y": 2, "w": 3, "h": 4}`: sized, `[{"x": 1, "y": 2, "width": 3, "height": 4}]`: sized,
		`{"x_min": 1, "y_min": 2, "x_max": 3, "y_max": 4}`: {"": {{N: [4]float64{1, 2, 3, 4}, Form: corners}}},
		`{"left": [1, 2, 3, 4], "right": [[5, 6, 7, 8]]}`:  {"left": {{N: [4]float64{1, 2, 3, 4}}}, "right": {{N: [4]float64{5, 6, 7, 8}}}},
		"": nil, "[]": nil,
		"[[1, 2], [3, 2], [3, 4.5]]": {"": {{N: [4]float64{1, 2, 3, 4.5}, Form: corners, Polygon: [][2]float64{{1, 2}, {3, 2}, {3, 4.5}}}}},
		"[1, 2, 3, 2, 3, 4.5]":       {"": {{N: [4]float64{1, 2, 3, 4.5}, Form: corners, Polygon: [][2]float64{{1, 2}, {3, 2}, {3, 4.5}}}}},
		`{"implant": [[[1, 2], [3, 2], [3, 4.5]], [1, 2, 3, 4]], "right": "m.PNG"}`: {
			"implant": {{N: [4]float64{1, 2, 3, 4.5}, Form: corners, Polygon: [][2]float64{{1, 2}, {3, 2}, {3, 4.5}}}, {N: [4]float64{1, 2, 3, 4}}}, "right": {{File: "m.PNG"}}},
		"a.png; b/c.png": {"": {{File: "a.png"}, {File: "b/c.png"}}}, `"a.png"`: {"": {{File: "a.png"}}}, `["a.png"]`: {"": {{File: "a.png"}}},
		`{"size": [2, 3], "counts": [1, 5]}`:          {"": {{Mask: &perturb.Mask{Size: [2]int{2, 3}, Counts: []uint32{1, 5}}}}},
		`{"x": [{"size": [2, 3], "counts": [1, 5]}]}`: {"x": {{Mask: &perturb.Mask{Size: [2]int{2, 3}, Counts: []uint32{1, 5}}}}},
	} {
		if got, ok := parse(text); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %t, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"1 2 3", "[1, 2, 3]", "[[1, 2, 3, 4], 5]", `{"Left": [1, 2, 3, 4]}`, `{"a b": [1, 2, 3, 4]}`, `{"a:b": [1, 2, 3, 4]}`, "[[1, 2], [3, 4]]", "[1, 2, 3, 4, 5]", "a.jpg", `"here"`, `{"size": [2, 3], "counts": "0eJ"}`, `{"size": [2, 3], "counts": [-1, 7]}`, "{}", "here", "[-1, 0, 1, 1]", `[1, 2, 3, "4"]`, `{"x": 1, "y": 2, "w": 3, "h": 4, "z": 5}`, "[1, 2, 3, 1e999]", "NaN 0 1 1"} {
		if got, ok := parse(text); ok {
			t.Errorf("%s is read as %v", text, got)
		}
	}
	if got := ofColumns([]string{"id", "bbox_x", "bbox_y", "bbox_w", "bbox_h"}); !reflect.DeepEqual(got, []string{"bbox_x", "bbox_y", "bbox_w", "bbox_h"}) {
		t.Errorf("columns %q", got)
	}
	if got := ofColumns([]string{"x", "y", "w"}); got != nil {
		t.Errorf("three columns: %q", got)
	}
}

// TestOnePlace: one place of a picture of 200x400, said in every unit and form, is told from the
// numbers, and is the same pixels.
func TestOnePlace(t *testing.T) {
	want := image.Rect(50, 100, 150, 300)
	for _, c := range []struct {
		n [4]float64
		m meaning
	}{
		{[4]float64{50, 100, 150, 300}, meaning{pixels, corners}}, {[4]float64{50, 100, 100, 200}, meaning{pixels, sized}},
		{[4]float64{25, 25, 75, 75}, meaning{perCents, corners}}, {[4]float64{25, 25, 50, 50}, meaning{perCents, sized}},
		{[4]float64{.25, .25, .75, .75}, meaning{fractionUnit, corners}}, {[4]float64{.25, .25, .5, .5}, meaning{fractionUnit, sized}},
	} {
		all := []placed{{sides{"": {{N: c.n}}}, 200, 400}}
		if unit := unitOf(all); unit != c.m.Unit {
			t.Errorf("%v is told to be in %s", c.n, unit)
		}
		r, bad := c.m.Region(box{N: c.n}, 200, 400)
		if got := r.Pixels(200, 400); bad != "" || got != want {
			t.Errorf("%v as %v: %v, %s", c.n, c.m, got, bad)
		}
		// What is in the middle fits both ways or one: the one that fits more is taken.
		others := append(all, placed{sides{"": {{N: map[string][4]float64{pixels: {160, 350, 20, 40}, perCents: {80, 80, 15, 15}, fractionUnit: {.8, .8, .15, .15}}[c.m.Unit]}}}, 200, 400})
		if m, _ := tell(c.m.Unit, "", others); m.Form != sized {
			t.Errorf("%v beside one that has no corners: %v", c.n, m)
		}
	}
	// No number is rounded but outwards to whole pixels.
	r, bad := meaning{pixels, corners}.Region(box{N: [4]float64{10.6, 20, 30.2, 41}}, 333, 777)
	if got := r.Pixels(333, 777); bad != "" || got != image.Rect(10, 20, 31, 41) {
		t.Errorf("%v, %s", got, bad)
	}
	if r, _ := (meaning{perCents, corners}).Region(box{N: [4]float64{0, 10, 50, 100}}, 0, 0); r != (perturb.Region{Y0: 10, X1: 50, Y1: 100}) {
		t.Errorf("whole per cents are %+v", r)
	}
	if r, _ := (meaning{perCents, corners}).Region(box{N: [4]float64{12.5, 0, 50, 100}}, 0, 0); r.Pixels(1000, 1000).Min.X != 125 {
		t.Errorf("12.5 per cent: %+v", r)
	}
	for _, n := range [][4]float64{{50, 100, 40, 300}, {50, 100, 201, 300}, {50, 100, 150, 401}, {10, 10, 10, 20}} {
		if _, bad := (meaning{pixels, corners}).Region(box{N: n}, 200, 400); bad == "" {
			t.Errorf("%v is a box", n)
		}
	}
}

// FuzzParse: what is read as boxes makes regions that can be drawn, or says what is wrong.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"1 2 3 4", "[[0, 0.1, 0.5, 1]]", `{"left": [1, 2, 3, 4]}`, `[{"x": 1, "y": 2, "w": 3, "h": 4}]`, "1,2;3", "[[1, 2], [3, 2], [3, 4.5]]", `{"m": [{"size": [480, 640], "counts": [1, 307199]}]}`, "a.png;b.png", `{"x1": 1e300, "y1": 0, "x2": 1e308, "y2": 1}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		sides, ok := parse(s)
		if !ok && sides != nil {
			t.Fatalf("%q is none, and is %v", s, sides)
		}
		for _, list := range sides {
			for _, b := range list {
				if b.File != "" {
					continue
				}
				for _, unit := range units() {
					for _, form := range forms() {
						r, bad := meaning{unit, form}.Region(b, 640, 480)
						if bad == "" && (r.Check() != nil || r.Pixels(640, 480).Empty()) {
							t.Fatalf("%q as %s %s: %+v", s, unit, form, r)
						}
					}
				}
			}
		}
	})
}
