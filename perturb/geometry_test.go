package perturb

import (
	"bytes"
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
