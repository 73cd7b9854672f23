package perturb

import (
	"bytes"
	"image"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What occlude leaves keep replaces, and the other way round; in black the two add up to
// the picture.
func TestKeepIsTheOtherPartOfOcclude(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, regs := drawPixels(t), rapid.SliceOfN(rapid.Custom(drawRegion), 1, 3).Draw(t, "regions")
		fill, seed := rapid.SampledFrom(fillNames()).Draw(t, "fill"), rapid.Uint64().Draw(t, "seed")
		covered := apply(t, Op{Name: "occlude", Fill: fill, Regions: regs}, p, seed)
		kept := apply(t, Op{Name: "keep", Fill: fill, Regions: regs}, p, seed)
		whole := p.clone()
		occlude(whole, area{Rectangle: p.Bounds()}, fill, .25, &rng{state: seed})
		for i, v := range p.Pix {
			at := image.Pt(i/p.Channels%p.W, i/p.Channels/p.W)
			in := slices.ContainsFunc(regs, func(r Region) bool { return at.In(r.Pixels(p.W, p.H)) })
			switch {
			case in && kept.Pix[i] != v:
				t.Fatalf("keep changed %v, which is in a region", at)
			case !in && covered.Pix[i] != v:
				t.Fatalf("occlude changed %v, which is in no region", at)
			case !in && kept.Pix[i] != whole.Pix[i]:
				t.Fatalf("%v is %d, and %d where the whole picture is filled with %s", at, kept.Pix[i], whole.Pix[i], fill)
			case fill == "black" && kept.Pix[i]+covered.Pix[i] != v:
				t.Fatalf("%v: %d and %d are not %d", at, kept.Pix[i], covered.Pix[i], v)
			}
		}
	})
}

// A margin is a share of the region's shorter side, on each side; at another place the
// region has the same size.
func TestMargins(t *testing.T) {
	p := NewPixels(100, 60, 1)
	for i := range p.Pix {
		p.Pix[i] = 255
	}
	for _, c := range []struct {
		margin float64
		at     Region
		want   image.Rectangle
	}{
		{0, Region{X0: 40, Y0: 20, X1: 60, Y1: 70}, image.Rect(40, 12, 60, 42)},
		{.25, Region{X0: 40, Y0: 20, X1: 60, Y1: 70}, image.Rect(35, 7, 65, 47)},
		{-.45, Region{X0: 40, Y0: 20, X1: 60, Y1: 70}, image.Rect(49, 21, 51, 33)},
		{-.45, Region{X0: 40, Y0: 20, X1: 42, Y1: 70}, image.Rect(40, 12, 42, 42)}, // two pixels: none is left in the middle
		{.5, Region{X0: 0, Y0: 0, X1: 20, Y1: 50}, image.Rect(0, 0, 30, 40)},
		{2, Region{X0: 40, Y0: 20, X1: 60, Y1: 70}, image.Rect(0, 0, 100, 60)},
	} {
		op := Op{Name: "occlude", Regions: []Region{c.at}, Params: map[string]float64{"margin": c.margin}}
		got := apply(t, op, p, 1)
		box := image.Rectangle{}
		for i, v := range got.Pix {
			if x, y := i%p.W, i/p.W; v == 0 {
				box = box.Union(image.Rect(x, y, x+1, y+1))
			}
		}
		area := box.Dx() * box.Dy()
		if box != c.want || bytes.Count(got.Pix, []byte{0}) != area {
			t.Errorf("margin %v of %v covers %v, want %v", c.margin, c.at, box, c.want)
		}
		if op.Elsewhere = true; area < len(p.Pix) {
			if other := apply(t, op, p, 1); bytes.Count(other.Pix, []byte{0}) != area || bytes.Equal(other.Pix, got.Pix) {
				t.Errorf("margin %v of %v covers %d pixels and elsewhere %d", c.margin, c.at, area, bytes.Count(other.Pix, []byte{0}))
			}
		}
	}
}
