package perturb

import (
	"bytes"
	"image"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func equalPixels(a, b *Pixels) bool {
	return a.W == b.W && a.H == b.H && a.Channels == b.Channels && bytes.Equal(a.Pix, b.Pix)
}

func TestTurningBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, seed := drawPixels(t), rapid.Uint64().Draw(t, "seed")
		for _, c := range []struct {
			op    Op
			times int
		}{
			{Op{Name: "flip"}, 2}, {Op{Name: "flip", Fill: flipUpDown}, 2}, {Op{Name: "rotate", Params: map[string]float64{"degrees": 180}}, 2},
			{Op{Name: "rotate", Params: map[string]float64{"degrees": 90}}, 4}, {Op{Name: "rotate", Params: map[string]float64{"degrees": -90}}, 4},
			{Op{Name: "invert"}, 2}, {Op{Name: "channels"}, 2},
		} {
			back := p
			for range c.times {
				back = apply(t, c.op, back, seed)
			}
			if !equalPixels(back, p) {
				t.Fatalf("%s %s %v, %d times: not the picture itself", c.op.Name, c.op.Fill, c.op.Params, c.times)
			}
		}
	})
}

// What is drawn after a picture was moved lies where it lay before: where pixels are moved
// whole, covering first and moving then gives the same picture, but for what came in.
func TestRegionsMoveWithThePicture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, seed := drawPixels(t), rapid.Uint64().Draw(t, "seed")
		regs := rapid.SliceOfN(rapid.Custom(drawRegion), 1, 3).Draw(t, "regions")
		cover := Op{Name: rapid.SampledFrom([]string{"occlude", "box"}).Draw(t, "drawn"), Regions: regs}
		if cover.Name == "box" && rapid.Bool().Draw(t, "filled") {
			cover.Params = map[string]float64{"thickness_px": 512, "red": 200, "green": 200, "blue": 200}
		} else {
			cover.Name = "occlude"
		}
		var moves []Op
		for range rapid.IntRange(1, 3).Draw(t, "moves") {
			moves = append(moves, rapid.SampledFrom([]Op{
				{Name: "flip"}, {Name: "flip", Fill: flipUpDown}, {Name: "crop"}, {Name: "crop", Params: map[string]float64{"share": .5}},
				{Name: "rotate", Params: map[string]float64{"degrees": 90}}, {Name: "rotate", Params: map[string]float64{"degrees": -90}},
				{Name: "rotate", Params: map[string]float64{"degrees": 180}}, {Name: "shift"},
				{Name: "shift", Params: map[string]float64{"right": -.4, "down": .3}},
			}).Draw(t, "move"))
		}
		run := func(ops ...Op) *Pixels {
			out, err := Condition{Ops: ops}.Apply(p, seed)
			if err != nil {
				t.Fatal(err)
			}
			return PixelsOf(out)
		}
		before := run(append([]Op{cover}, moves...)...)
		after := run(append(append([]Op{}, moves...), cover)...)
		if !equalPixels(before, after) {
			t.Fatalf("%v then %s of %v differs from the other way round", moves, cover.Name, regs)
		}
	})
}

// A region turned by another angle has a box round its corners; what is cut off completely
// is not drawn.
func TestRegionsOfTurnedAndCroppedPictures(t *testing.T) {
	p := NewPixels(100, 60, 1)
	for i := range p.Pix {
		p.Pix[i] = 255
	}
	for _, c := range []struct {
		move Op
		at   Region
		want image.Rectangle // of the covered pixels
	}{
		// The box is 40,19 to 60,40 about 50,30: its corners come to lie 21, 20 and 1 times sqrt(1/2) beside, above and below the centre.
		{Op{Name: "rotate", Params: map[string]float64{"degrees": 45}},
			Region{X0: 400, Y0: 333, X1: 600, Y1: 666, Of: 1000}, image.Rect(35, 15, 65, 45)},
		{Op{Name: "crop", Params: map[string]float64{"share": .5}}, Region{X0: 0, Y0: 0, X1: 25, Y1: 25}, image.Rectangle{}},
		{Op{Name: "crop", Params: map[string]float64{"share": .5}}, Region{X0: 0, Y0: 0, X1: 50, Y1: 50}, image.Rect(0, 0, 25, 15)},
		{Op{Name: "shift", Params: map[string]float64{"right": .5}}, Region{X0: 50, Y0: 0, X1: 75, Y1: 50}, image.Rectangle{}},
	} {
		cover := Op{Name: "occlude", Regions: []Region{c.at}}
		out, err := Condition{Ops: []Op{c.move, cover}}.Apply(p, 1)
		if err != nil {
			t.Fatal(err)
		}
		moved, got := apply(t, c.move, p, 1), PixelsOf(out)
		covered := image.Rectangle{}
		for i, v := range got.Pix {
			if v != moved.Pix[i] {
				x, y := i%got.W, i/got.W
				covered = covered.Union(image.Rect(x, y, x+1, y+1))
			}
		}
		if covered != c.want {
			t.Errorf("%s %v: %v is covered, want %v", c.move.Name, c.move.Params, covered, c.want)
		}
		if len(cover.Regions) != 1 || cover.Regions[0] != c.at {
			t.Errorf("%s changed the regions of the condition", c.move.Name)
		}
	}
}

// Patches change places and nothing else: a permutation of whole patches that is not the
// order they had, with what does not divide where it was.
func TestPatchesAreShuffled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := NewPixels(rapid.IntRange(1, 37).Draw(t, "w"), rapid.IntRange(1, 37).Draw(t, "h"), 3)
		for i := range p.W * p.H { // every pixel another one
			p.Pix[3*i], p.Pix[3*i+1] = uint8(i), uint8(i>>8)
		}
		n := rapid.IntRange(2, 32).Draw(t, "n")
		op := Op{Name: "patches", Params: map[string]float64{"n": float64(n)}}
		got := apply(t, op, p, rapid.Uint64().Draw(t, "seed"))
		if equalPixels(got, p) != (len(p.Pix) == 3) {
			t.Fatal("it is the picture itself, or one pixel is another")
		}
		w, h := p.W/min(n, p.W), p.H/min(n, p.H)
		seen := make([]bool, p.W*p.H)
		for i := range seen {
			from := int(got.Pix[3*i]) | int(got.Pix[3*i+1])<<8
			if seen[from] {
				t.Fatalf("pixel %d is there twice", from)
			}
			seen[from] = true
			x, y, fx, fy := i%p.W, i/p.W, from%p.W, from/p.W
			rest := x >= w*min(n, p.W) || y >= h*min(n, p.H)
			if rest && from != i || !rest && (fx%w != x%w || fy%h != y%h) {
				t.Fatalf("pixel %d,%d came from %d,%d with patches of %dx%d", x, y, fx, fy, w, h)
			}
		}
	})
}

// Noise in place of a picture has its mean and its spread, not its picture.
func TestStaticHasTheSpreadOfThePicture(t *testing.T) {
	p := NewPixels(200, 150, 3)
	for i := range p.Pix { // halves of each channel about 100, 120 and 140
		c := i % 3
		p.Pix[i] = uint8(100 + 20*c - (20 + 5*c))
		if i/3%200 < 100 {
			p.Pix[i] += uint8(40 + 10*c)
		}
	}
	out := apply(t, Op{Name: "static"}, p, 5)
	for c := range 3 {
		for _, left := range []bool{true, false} {
			var sum, squares, n float64
			for i := c; i < len(out.Pix); i += 3 {
				if (i/3%200 < 100) == left {
					v := float64(out.Pix[i])
					sum, squares, n = sum+v, squares+v*v, n+1
				}
			}
			mean, sd := sum/n, math.Sqrt(squares/n-sum/n*sum/n)
			if math.Abs(mean-float64(100+20*c)) > 1.5 || math.Abs(sd-float64(20+5*c)) > 1 {
				t.Errorf("channel %d, left %v: mean %.2f, SD %.2f", c, left, mean, sd)
			}
		}
	}
}
