package perturb

import (
	"encoding/json"
	"image"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Stores hold conditions in these words, those of older versions too: a word that
// changes here is a condition that scores no longer know there.
func TestConditionsAreStoredInTheseWords(t *testing.T) {
	usual := 4.
	for _, c := range []struct {
		c    Condition
		want string
	}{
		{Baseline(), `{"name":"baseline","family":"","kind":"baseline"}`},
		{Condition{Name: "VB-BB-@thickness_px=8", Family: "VB-BB", Kind: KindImage, Sign: -1, Suggests: true, Param: "thickness_px", Level: 8, Usual: &usual},
			`{"name":"VB-BB-@thickness_px=8","family":"VB-BB","kind":"image","sign":-1,"suggests":true,"param":"thickness_px","level":8,"usual":4}`},
		{Condition{Name: "VO-GRID@3x2:r1c2", Family: "VO-GRID", Kind: KindGrid, Cell: &Cell{Columns: 3, Rows: 2, Row: 1, Column: 2}},
			`{"name":"VO-GRID@3x2:r1c2","family":"VO-GRID","kind":"grid","cell":{"columns":3,"rows":2,"row":1,"column":2}}`},
		{LeaveOut(2), `{"name":"LOO@2","family":"LOO","kind":"choice","without":2}`},
		{Reorder(7), `{"name":"ORDER@7","family":"ORDER","kind":"choice","order":7}`},
	} {
		made := c.c
		made.Ops, made.Image, made.Target, made.Cue = []Op{{Name: "window"}}, 2, "left", "It is left."
		b, err := json.Marshal(made)
		if err != nil || string(b) != c.want {
			t.Errorf("%s is stored as %s (%v), want %s", c.c.Name, b, err, c.want)
		}
		var back Condition
		if err := json.Unmarshal([]byte(c.want), &back); err != nil || !reflect.DeepEqual(back, c.c) {
			t.Errorf("%s is read as %+v, %v", c.want, back, err)
		}
	}
}

// What a condition shows of n images is what it says, each once; an order that is
// drawn is another than the item's, the same for the same seed, and not the same for
// all items.
func TestConditionsChooseImages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, seed := rapid.IntRange(1, 49).Draw(t, "n"), rapid.Uint64().Draw(t, "seed")
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		if got := Baseline().Shown(n, seed); !slices.Equal(got, all) {
			t.Fatalf("the baseline shows %v of %d", got, n)
		}
		k := rapid.IntRange(1, n).Draw(t, "k")
		if got := LeaveOut(k).Shown(n, seed); !slices.Equal(got, slices.Delete(slices.Clone(all), k-1, k)) {
			t.Fatalf("without %d of %d: %v", k, n, got)
		}
		c := Reorder(rapid.Uint64Range(1, 1<<40).Draw(t, "order"))
		got := c.Shown(n, seed)
		if n > 1 && slices.IsSorted(got) || !slices.Equal(got, c.Shown(n, seed)) || !slices.Equal(slices.Sorted(slices.Values(got)), all) {
			t.Fatalf("another order of %d: %v", n, got)
		}
	})
	first := map[int]int{}
	for seed := range uint64(300) {
		first[Reorder(1).Shown(3, seed)[0]]++
	}
	for i := range 3 { // of the five other orders one begins with the first image, two with each of the others
		if want := []int{60, 120, 120}[i]; first[i] < want-40 || first[i] > want+40 {
			t.Errorf("image %d comes first for %d of 300 items, want about %d", i+1, first[i], want)
		}
	}
}

func TestDownscaled(t *testing.T) {
	for _, c := range []struct{ w, h, side, wantW, wantH int }{{640, 480, 320, 320, 240}, {480, 640, 320, 240, 320}, {100, 50, 320, 100, 50}, {320, 10, 320, 320, 10}, {321, 1, 16, 16, 1}} {
		out, err := Downscaled(c.side).Apply(image.NewGray(image.Rect(0, 0, c.w, c.h)), 1)
		if err != nil || out.Bounds().Size() != image.Pt(c.wantW, c.wantH) {
			t.Errorf("%dx%d at %d: %v, %v", c.w, c.h, c.side, out, err)
		}
	}
	if p := Downscaled(320).Params(); len(p) != 1 || p[0].Name != Downscaled(320).Param {
		t.Errorf("it sweeps %v", p)
	}
}

// A parameter that can be swept changes the picture: of a region that is blurred sigma
// does, of one that is covered otherwise it does not, and is refused.
func TestParametersChangeSomething(t *testing.T) {
	p := NewPixels(32, 32, 3)
	for i := range p.Pix {
		p.Pix[i] = uint8(i * i)
	}
	at := []Region{{X0: 0, Y0: 0, X1: 100, Y1: 100}}
	for _, spec := range Ops() {
		for _, fill := range append([]string{""}, spec.Fills...) {
			known := Condition{Ops: []Op{{Name: spec.Name, Fill: fill}}}.Params()
			for _, param := range spec.Params {
				low, high := Op{Name: spec.Name, Fill: fill, Params: map[string]float64{param.Name: param.Min}}, Op{Name: spec.Name, Fill: fill, Params: map[string]float64{param.Name: param.Max}}
				if spec.Name == "rotate" { // half a turn to the left is half a turn to the right
					high.Params[param.Name] = param.Default
				}
				if !slices.Contains(known, param) {
					if err := low.Check(); err == nil {
						t.Errorf("%s, fill %q: %s is no parameter and may be given", spec.Name, fill, param.Name)
					}
					continue
				}
				if spec.Drawn {
					low.Regions, high.Regions = at, at
				}
				if spec.Name == "pad" || spec.Name == "downscale" {
					continue // of pictures that are not square, or larger
				}
				if slices.Equal(apply(t, low, p, 1).Pix, apply(t, high, p, 1).Pix) {
					t.Errorf("%s, fill %q: %s changes nothing from %v to %v", spec.Name, fill, param.Name, param.Min, param.Max)
				}
			}
		}
	}
}
