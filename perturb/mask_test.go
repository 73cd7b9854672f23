package perturb

import (
	"bytes"
	"image"
	"image/color"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// maskOf makes the region of a picture drawn in letters: x is inside.
func maskOf(t testing.TB, rows ...string) Region {
	t.Helper()
	r, err := regionWhere(len(rows[0]), len(rows), func(x, y int) bool { return rows[y][x] == 'x' })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// drawn is where an op makes a white picture of w x h black, in letters.
func drawn(t testing.TB, c Condition, w, h int) []string {
	t.Helper()
	p := NewPixels(w, h, 1)
	for i := range p.Pix {
		p.Pix[i] = 255
	}
	img, err := c.Apply(p, 7)
	if err != nil {
		t.Fatal(err)
	}
	got := PixelsOf(img)
	var rows []string
	for y := range got.H {
		row := ""
		for x := range got.W {
			row += map[bool]string{true: "x", false: "."}[got.Pix[y*got.W+x] == 0]
		}
		rows = append(rows, row)
	}
	return rows
}

// COCO counts column by column, from what is outside.
func TestMaskIsCOCOs(t *testing.T) {
	r := maskOf(t,
		".x..",
		".xx.",
		"....")
	if want := []uint32{3, 2, 2, 1, 4}; !slices.Equal(r.Mask.Counts, want) || r.Mask.Size != [2]int{3, 4} {
		t.Errorf("size %v counts %v, want [3 4] %v", r.Mask.Size, r.Mask.Counts, want)
	}
	if at := r.Pixels(4, 3); at != image.Rect(1, 0, 3, 2) {
		t.Errorf("the box is %v", at)
	}
	for _, bad := range []*Mask{{Size: [2]int{3, 4}, Counts: []uint32{3, 2}}, {Size: [2]int{0, 4}}, {Size: [2]int{3, 4}, Counts: []uint32{12}}, {Size: [2]int{1 << 30, 1 << 30}}} {
		if _, err := RegionOfMask(bad); err == nil {
			t.Errorf("%v is no error", bad)
		}
	}
}

// What each op does in a mask, letter by letter.
func TestOpsInMasks(t *testing.T) {
	ell := maskOf(t,
		"........",
		".xxx....",
		".xxx....",
		".xxxxxx.",
		".xxxxxx.",
		".xxxxxx.",
		"........")
	occlude := func(params map[string]float64) []Op {
		return []Op{{Name: "occlude", Regions: []Region{ell}, Params: params}}
	}
	for name, c := range map[string]struct {
		ops  []Op
		w, h int
		want []string
	}{
		"covered":     {occlude(nil), 8, 7, []string{"........", ".xxx....", ".xxx....", ".xxxxxx.", ".xxxxxx.", ".xxxxxx.", "........"}},
		"with margin": {occlude(map[string]float64{"margin": .2}), 8, 7, []string{"xxxxx...", "xxxxx...", "xxxxxxxx", "xxxxxxxx", "xxxxxxxx", "xxxxxxxx", "xxxxxxxx"}},
		"smaller":     {occlude(map[string]float64{"margin": -.2}), 8, 7, []string{"........", "........", "..x.....", "..x.....", "..xxxx..", "........", "........"}},
		"as small as leaves a pixel": {occlude(map[string]float64{"margin": -.45}), 8, 7,
			[]string{"........", "........", "..x.....", "..x.....", "..xxxx..", "........", "........"}},
		"kept": {[]Op{{Name: "keep", Regions: []Region{ell}}}, 8, 7, []string{"xxxxxxxx", "x...xxxx", "x...xxxx", "x......x", "x......x", "x......x", "xxxxxxxx"}},
		"half the size: what it touches": {occlude(nil), 4, 4,
			[]string{"xx..", "xxxx", "xxxx", "xxxx"}},
		"twice the size": {[]Op{{Name: "occlude", Regions: []Region{maskOf(t, "x.", "xx")}}}, 4, 4, []string{"xx..", "xx..", "xxxx", "xxxx"}},
		"moved with the picture": {append([]Op{{Name: "flip"}}, occlude(nil)...), 8, 7,
			[]string{"........", "....xxx.", "....xxx.", ".xxxxxx.", ".xxxxxx.", ".xxxxxx.", "........"}},
		"turned with it": {append([]Op{{Name: "rotate", Params: map[string]float64{"degrees": 90}}}, occlude(nil)...), 8, 7,
			[]string{".......", "...xxx.", "...xxx.", "...xxx.", ".xxxxx.", ".xxxxx.", ".xxxxx.", "......."}},
		"cut off with it": {append([]Op{{Name: "crop", Params: map[string]float64{"share": .5}}}, []Op{{Name: "occlude", Regions: []Region{maskOf(t, "x.......", "........", "........", "........", "........", "........", "........")}}}...), 8, 7,
			[]string{"....", "....", "....", "...."}},
	} {
		if got := drawn(t, Condition{Name: name, Ops: c.ops}, c.w, c.h); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q, want\n%q", name, got, c.want)
		}
	}
	other := slices.Concat(drawn(t, Condition{Ops: []Op{{Name: "occlude", Regions: []Region{maskOf(t, "xx....", ".x....", "......")}, Elsewhere: true}}}, 6, 3))
	if all := bytes.Join([][]byte{[]byte(other[0]), []byte(other[1]), []byte(other[2])}, nil); bytes.Count(all, []byte("x")) != 3 || bytes.HasPrefix(all, []byte("xx")) {
		t.Errorf("elsewhere it is not of the same form: %q", other)
	}
}

// A mask that is a box is treated as the box, by every op, fill and margin.
func TestMaskOfABoxIsTheBox(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPixels(t)
		at := drawRegion(t).Pixels(p.W, p.H)
		box := regionOf(at, p.W, p.H)
		mask, err := regionWhere(p.W, p.H, func(x, y int) bool { return image.Pt(x, y).In(at) })
		if err != nil {
			t.Fatal(err)
		}
		op := Op{Name: rapid.SampledFrom([]string{"occlude", "keep", "box", "heatmap"}).Draw(t, "op")}
		if op.Name == "occlude" || op.Name == "keep" {
			op.Fill = rapid.SampledFrom(fillNames()).Draw(t, "fill")
		}
		if op.Name == "occlude" {
			op.Params = map[string]float64{"margin": rapid.Float64Range(-.45, 1).Draw(t, "margin")}
		}
		op.Elsewhere = at.Dx()*2 < p.W && rapid.Bool().Draw(t, "elsewhere") && op.Name != "occlude"
		seed := rapid.Uint64().Draw(t, "seed")
		op.Regions = []Region{box}
		want := apply(t, op, p, seed)
		op.Regions = []Region{mask}
		if got := apply(t, op, p, seed); !bytes.Equal(got.Pix, want.Pix) {
			t.Fatalf("%s %s of a mask differs from that of the box", op.Name, op.Fill)
		}
	})
}

// Mean and noise go by the pixels of the mask alone.
func TestMaskHasItsOwnMean(t *testing.T) {
	p := NewPixels(4, 1, 1)
	copy(p.Pix, []byte{10, 200, 30, 90})
	got := apply(t, Op{Name: "occlude", Fill: "mean", Regions: []Region{maskOf(t, "x.x.")}}, p, 1)
	if want := []byte{20, 200, 20, 90}; !bytes.Equal(got.Pix, want) {
		t.Errorf("%v, want %v", got.Pix, want)
	}
}

func TestRegionOfImage(t *testing.T) {
	img := image.NewNRGBA(image.Rect(5, 5, 8, 7))
	img.SetNRGBA(6, 5, color.NRGBA{B: 1, A: 255}) // a label map's first class
	img.SetNRGBA(7, 6, color.NRGBA{R: 255})       // transparent
	r, err := RegionOfImage(img)
	if err != nil {
		t.Fatal(err)
	}
	if at := r.Pixels(3, 2); at != image.Rect(1, 0, 2, 1) {
		t.Errorf("the region is %v", at)
	}
	if _, err := RegionOfImage(image.NewGray(image.Rect(0, 0, 9, 9))); err == nil {
		t.Error("a black mask is no error")
	}
}

// A pixel is in a polygon whose middle is inside by the even-odd rule, counted here from the
// other side and by another way of crossing.
func TestPolygons(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 30).Draw(t, "w"), rapid.IntRange(1, 30).Draw(t, "h")
		var points [][2]float64
		for i := range rapid.IntRange(3, 7).Draw(t, "corners") {
			// Off the grid of quarters, each corner by another irrational: no middle lies on a side, where
			// rounding would decide.
			off := .1 + float64(i)*math.Sqrt2/128
			points = append(points, [2]float64{float64(rapid.IntRange(-8, 4*w+8).Draw(t, "x"))/4 + off, float64(rapid.IntRange(-8, 4*h+8).Draw(t, "y"))/4 + .1})
		}
		inside := func(x, y float64) bool {
			in := false
			for i, a := range points {
				b := points[(i+1)%len(points)]
				if (a[1] > y) != (b[1] > y) && x < a[0]+(y-a[1])*(b[0]-a[0])/(b[1]-a[1]) {
					in = !in
				}
			}
			return in
		}
		want := 0
		for y := range h {
			for x := range w {
				if inside(float64(x)+.5, float64(y)+.5) {
					want++
				}
			}
		}
		r, err := RegionOfPolygon(points, w, h)
		if (err != nil) != (want == 0) {
			t.Fatalf("%v, and %d pixels are inside", err, want)
		}
		if err != nil {
			return
		}
		a := r.area(w, h)
		for i := range a.in {
			x, y := a.Min.X+i%a.Dx(), a.Min.Y+i/a.Dx()
			if a.in[i] != inside(float64(x)+.5, float64(y)+.5) {
				t.Fatalf("pixel %d %d: inside is %v", x, y, a.in[i])
			}
		}
		if a.pixels() != want {
			t.Fatalf("%d pixels, want %d", a.pixels(), want)
		}
	})
	// Of a box with whole corners exactly its pixels.
	r, err := RegionOfPolygon([][2]float64{{2, 1}, {5, 1}, {5, 3}, {2, 3}}, 9, 9)
	if a := r.area(9, 9); err != nil || a.Rectangle != image.Rect(2, 1, 5, 3) || a.pixels() != 6 {
		t.Errorf("%v %v", a, err)
	}
}

// A cell's middle is looked for in the mask, not in its box.
func TestCellsInMasks(t *testing.T) {
	r := maskOf(t, "x.", "xx")
	for _, c := range []struct {
		row, column int
		want        bool
	}{{1, 1, true}, {1, 2, false}, {2, 2, true}} {
		if got := (Cell{Columns: 2, Rows: 2, Row: c.row, Column: c.column}).Within([]Region{r}); got != c.want {
			t.Errorf("row %d column %d: %v", c.row, c.column, got)
		}
	}
}
