package perturb

import (
	"bytes"
	"flag"
	"image"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMain has garbage collected less often: what tests make is small and soon gone. Benchmarks collect as the
// program does.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(400)
	}
	m.Run()
}

// drawPixels draws a small picture, one pixel wide and high included.
func drawPixels(t *rapid.T) *Pixels {
	p := NewPixels(rapid.IntRange(1, 37).Draw(t, "w"), rapid.IntRange(1, 37).Draw(t, "h"), rapid.SampledFrom([]int{1, 3}).Draw(t, "channels"))
	r := rng{state: rapid.Uint64().Draw(t, "pixels")}
	for i := range p.Pix {
		p.Pix[i] = uint8(r.next())
	}
	return p
}

func drawRegion(t *rapid.T) Region {
	of := rapid.SampledFrom([]int{0, 8, 1000}).Draw(t, "of")
	n := Region{Of: of}.of()
	r := Region{Of: of, X0: rapid.IntRange(0, n-1).Draw(t, "x0"), Y0: rapid.IntRange(0, n-1).Draw(t, "y0")}
	r.X1, r.Y1 = rapid.IntRange(r.X0+1, n).Draw(t, "x1"), rapid.IntRange(r.Y0+1, n).Draw(t, "y1")
	return r
}

func drawOp(t *rapid.T, spec Spec) Op {
	op := Op{Name: spec.Name, Params: map[string]float64{}}
	if len(spec.Fills) > 0 {
		op.Fill = rapid.SampledFrom(append(spec.Fills, "")).Draw(t, "fill")
	}
	for _, p := range spec.Params {
		if fill := spec.needs[p.Name]; fill != "" && fill != op.Fill {
			continue
		}
		if rapid.Bool().Draw(t, p.Name+" given") {
			v := rapid.Float64Range(p.Min, p.Max).Draw(t, p.Name)
			if p.Integer {
				v = math.Floor(v)
			}
			op.Params[p.Name] = v
		}
	}
	if spec.Drawn {
		op.Regions = rapid.SliceOfN(rapid.Custom(drawRegion), 0, 3).Draw(t, "regions")
	}
	return op
}

func apply(t interface{ Fatal(...any) }, op Op, img image.Image, seed uint64) *Pixels {
	out, err := op.Apply(img, seed)
	if err != nil {
		t.Fatal(err)
	}
	return PixelsOf(out)
}

// Whatever the op: the source is left alone, the same seed gives the same pixels,
// the size stays (but for pad, downscale, crop and turns to the side), and what is inside the ranges is no error.
func TestOpsArePure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, seed := drawPixels(t), rapid.Uint64().Draw(t, "seed")
		for _, spec := range Ops() {
			pure(t, drawOp(t, spec), p, seed)
		}
	})
}

func pure(t *rapid.T, op Op, p *Pixels, seed uint64) {
	before := bytes.Clone(p.Pix)
	a := apply(t, op, p, seed)
	if !bytes.Equal(p.Pix, before) { // a second time could undo it
		t.Fatalf("%s changed the source", op.Name)
	}
	b := apply(t, op, p, seed)
	if a.Channels != b.Channels || !bytes.Equal(a.Pix, b.Pix) {
		t.Fatalf("%s: the same seed, other pixels", op.Name)
	}
	switch side := int(op.Params["max_side_px"]); {
	case op.Name == "downscale" && op.Params["max_side_px"] > 0 && max(p.W, p.H) > side:
		if max(a.W, a.H) != side || a.W > p.W || a.H > p.H {
			t.Fatalf("%dx%d scaled down to %d is %dx%d", p.W, p.H, side, a.W, a.H)
		}
	case op.Name == "pad":
		if a.W != max(p.W, p.H) || a.H != a.W {
			t.Fatalf("padded to %dx%d", a.W, a.H)
		}
	case op.Name == "crop":
		if a.W > p.W || a.H > p.H {
			t.Fatalf("%dx%d was cropped to %dx%d", p.W, p.H, a.W, a.H)
		}
	case op.Name == "rotate" && math.Abs(op.Params["degrees"]) == 90:
		if a.W != p.H || a.H != p.W {
			t.Fatalf("%dx%d was turned into %dx%d", p.W, p.H, a.W, a.H)
		}
	case a.W != p.W || a.H != p.H:
		t.Fatalf("%dx%d became %dx%d", p.W, p.H, a.W, a.H)
	}
	if len(a.Pix) != a.W*a.H*a.Channels {
		t.Fatalf("%d bytes", len(a.Pix))
	}
}

// Nothing outside the region changes.
func TestOpsStayInTheirRegion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, reg := drawPixels(t), drawRegion(t)
		op := Op{Name: rapid.SampledFrom([]string{"box", "occlude"}).Draw(t, "op"), Regions: []Region{reg}}
		if op.Name == "occlude" {
			op.Fill = rapid.SampledFrom(fillNames()).Draw(t, "fill")
		} else {
			op.Params = map[string]float64{"thickness_px": float64(rapid.IntRange(1, 40).Draw(t, "t")), "red": 255}
		}
		got, want, box := apply(t, op, p, 1), p.rgb(), reg.Pixels(p.W, p.H)
		for y := range p.H {
			for x := range p.W {
				if !image.Pt(x, y).In(box) && !slices.Equal(got.rgb().Pix[(y*p.W+x)*3:][:3], want.Pix[(y*p.W+x)*3:][:3]) {
					t.Fatalf("pixel %d,%d outside %v changed", x, y, box)
				}
			}
		}
	})
}

func TestNeutralLevelsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, reg := drawPixels(t), []Region{drawRegion(t)}
		for _, op := range []Op{
			{Name: "heatmap", Regions: reg, Params: map[string]float64{"opacity": 0}}, {Name: "heatmap"}, {Name: "box"}, {Name: "occlude"},
			{Name: "blur", Params: map[string]float64{"sigma_px": 0}}, {Name: "noise", Params: map[string]float64{"sigma": 0}},
			{Name: "contrast", Params: map[string]float64{"factor": 1}}, {Name: "resolution", Params: map[string]float64{"factor": 1}},
			{Name: "rotate", Params: map[string]float64{"degrees": 0}}, {Name: "crop", Params: map[string]float64{"share": 1}},
			{Name: "shift", Params: map[string]float64{"right": 0, "down": 0}},
			{Name: "gamma", Params: map[string]float64{"gamma": 1}}, {Name: "saturation", Params: map[string]float64{"factor": 1}},
			{Name: "occlude", Regions: reg, Params: map[string]float64{"opacity": 0}}, {Name: "keep"},
		} {
			out, err := op.Apply(p, 5)
			if err != nil || out != image.Image(p) {
				t.Fatalf("%s: %v, changed", op.Name, err)
			}
		}
		out, err := Condition{}.Apply(p, 5)
		if err != nil || out != image.Image(p) {
			t.Fatal("the zero condition changed something")
		}
	})
}

// More opacity, never less red: red less green and blue does not fall, at any pixel.
func TestHeatmapGrowsWithOpacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, regs := drawPixels(t), rapid.SliceOfN(rapid.Custom(drawRegion), 1, 3).Draw(t, "regions")
		a, b := rapid.Float64Range(0, 1).Draw(t, "a"), rapid.Float64Range(0, 1).Draw(t, "b")
		lo := apply(t, Op{Name: "heatmap", Regions: regs, Params: map[string]float64{"opacity": min(a, b)}}, p, 1).rgb()
		hi := apply(t, Op{Name: "heatmap", Regions: regs, Params: map[string]float64{"opacity": max(a, b)}}, p, 1).rgb()
		for i := 0; i < len(lo.Pix); i += 3 {
			if hi.Pix[i] < lo.Pix[i] || hi.Pix[i+1] > lo.Pix[i+1] || hi.Pix[i+2] > lo.Pix[i+2] {
				t.Fatalf("pixel %d: %v at %v, %v at %v", i/3, lo.Pix[i:i+3], min(a, b), hi.Pix[i:i+3], max(a, b))
			}
		}
	})
}

// profile against the definition: a mirrored, cut Gaussian summed term by term.
func TestProfileIsTheFilteredBox(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		lo := rapid.IntRange(0, n-1).Draw(t, "lo")
		hi := rapid.IntRange(lo+1, n).Draw(t, "hi")
		sigma := rapid.Float64Range(.01, 2).Draw(t, "sigma")
		got := profile(n, lo, hi, sigma)
		sd := sigma * float64(hi-lo)
		radius := int(4*sd + .5)
		for x := range n {
			var in, all float64
			for k := -radius; k <= radius; k++ {
				w := math.Exp(-.5 * float64(k*k) / (sd * sd))
				all += w
				if at := mirror(x+k, n); at >= lo && at < hi {
					in += w
				}
			}
			if math.Abs(got[x]-in/all) > 1e-12 {
				t.Fatalf("profile(%d, %d, %d, %v)[%d] = %v, want %v", n, lo, hi, sigma, x, got[x], in/all)
			}
		}
	})
}

// Tables and fixed points stay within one grey level of the formula.
func TestHeatmapIsTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, reg := drawPixels(t), drawRegion(t)
		opacity, sigma := rapid.Float64Range(.01, 1).Draw(t, "opacity"), rapid.Float64Range(.01, 2).Draw(t, "sigma")
		colour := [3]uint8{uint8(rapid.IntRange(0, 255).Draw(t, "red")), uint8(rapid.IntRange(0, 255).Draw(t, "green")), 9}
		box := reg.Pixels(p.W, p.H)
		got, src := heatmap(p, []area{{Rectangle: box}}, opacity, sigma, colour), p.rgb()
		x, y := profile(p.W, box.Min.X, box.Max.X, sigma), profile(p.H, box.Min.Y, box.Max.Y, sigma)
		for i, v := range src.Pix {
			a := opacity * x[i/3%p.W] * y[i/3/p.W] / (slices.Max(x)*slices.Max(y) + 1e-6)
			if want := uint8((1-a)*float64(v) + a*float64(colour[i%3])); max(want, got.Pix[i])-min(want, got.Pix[i]) > 1 {
				t.Fatalf("sample %d is %d, want %d (%d under %v)", i, got.Pix[i], want, v, a)
			}
		}
	})
}

func TestSeveralBoxesTakeTheHighestMask(t *testing.T) {
	p := NewPixels(60, 40, 1)
	a, b := Region{X0: 10, Y0: 10, X1: 40, Y1: 60}, Region{X0: 50, Y0: 30, X1: 90, Y1: 90}
	both := apply(t, Op{Name: "heatmap", Regions: []Region{a, b}}, p, 0)
	one, two := apply(t, Op{Name: "heatmap", Regions: []Region{a}}, p, 0), apply(t, Op{Name: "heatmap", Regions: []Region{b}}, p, 0)
	for i := 0; i < len(both.Pix); i += 3 {
		if both.Pix[i] != max(one.Pix[i], two.Pix[i]) {
			t.Fatalf("pixel %d: %d, of %d and %d", i/3, both.Pix[i], one.Pix[i], two.Pix[i])
		}
	}
}

func TestBlurIsAGaussian(t *testing.T) {
	// An impulse spreads with the variance that was asked for, and nothing is lost.
	for _, sigma := range []float64{.4, 1, 2.5, 7} {
		p := NewPixels(101, 101, 1)
		for y := 48; y <= 52; y++ { // 25 pixels, so that levels are not all 0
			for x := 48; x <= 52; x++ {
				p.Pix[y*101+x] = 255
			}
		}
		out := blur(p, sigma)
		var sum, m2 float64
		for i, v := range out.Pix {
			d := float64(i%101 - 50)
			sum += float64(v)
			m2 += float64(v) * d * d
		}
		if math.Abs(sum/255-25) > 2.5 {
			t.Errorf("sigma %v: %v of 25 pixels are left", sigma, sum/255)
		}
		if sigma < 3 { // beyond, rounding to whole levels cuts the tails
			if got, want := m2/sum, 2+sigma*sigma; math.Abs(got-want) > .1*want+.1 {
				t.Errorf("sigma %v: variance %v, want %v", sigma, got, want)
			}
		}
	}
	// Mirrored borders: a constant image stays, however wide the blur.
	for _, sigma := range []float64{.3, 5, 256} {
		p := NewPixels(9, 5, 3)
		for i := range p.Pix {
			p.Pix[i] = 77
		}
		if out := blur(p, sigma); !bytes.Equal(out.Pix, p.Pix) {
			t.Errorf("sigma %v changed a constant image", sigma)
		}
	}
}

func TestNoiseHasItsSigma(t *testing.T) {
	p := NewPixels(200, 200, 3)
	for i := range p.Pix {
		p.Pix[i] = 128
	}
	out := apply(t, Op{Name: "noise", Params: map[string]float64{"sigma": 12}}, p, 9)
	var s, s2 float64
	for i := 0; i < len(out.Pix); i += 3 {
		if out.Pix[i] != out.Pix[i+1] || out.Pix[i] != out.Pix[i+2] {
			t.Fatal("grey became coloured")
		}
		d := float64(out.Pix[i]) - 128
		s, s2 = s+d, s2+d*d
	}
	n := float64(200 * 200)
	if mean, sd := s/n, math.Sqrt(s2/n); math.Abs(mean) > .3 || math.Abs(sd-12) > .3 {
		t.Errorf("mean %v, standard deviation %v", mean, sd)
	}
	if bytes.Equal(out.Pix, apply(t, Op{Name: "noise"}, p, 10).Pix) {
		t.Error("another seed, the same noise")
	}
}

func TestOccludeFills(t *testing.T) {
	p := NewPixels(40, 20, 1)
	for i := range p.Pix {
		p.Pix[i] = uint8(100 + i%40)
	}
	reg := Region{X0: 25, Y0: 25, X1: 75, Y1: 75} // columns 10 to 29: mean 119.5
	cell := func(fill string, seed uint64) []uint8 {
		out := apply(t, Op{Name: "occlude", Fill: fill, Regions: []Region{reg}}, p, seed)
		return out.Pix[10*40+10 : 10*40+30]
	}
	for _, v := range cell("black", 1) {
		if v != 0 {
			t.Fatalf("black is %d", v)
		}
	}
	for _, v := range cell("mean", 1) {
		if v != 120 {
			t.Fatalf("the mean of 110..129 is %d", v)
		}
	}
	if b := cell("blur", 1); b[0] <= 110 || b[19] >= 129 || !slices.IsSorted(b) {
		t.Errorf("blurred: %v", b)
	}
	if a, b := cell("noise", 1), cell("noise", 2); slices.Equal(a, b) || !slices.Equal(a, cell("noise", 1)) {
		t.Error("noise does not follow the seed")
	}
}

// TestOcclusionNoiseHasTheSpreadOfTheRegion: the noise that covers a region has
// its mean and its standard deviation, not its variance.
func TestOcclusionNoiseHasTheSpreadOfTheRegion(t *testing.T) {
	for _, spread := range []float64{2, 10, 30} {
		p := NewPixels(200, 200, 1)
		for i := range p.Pix { // two levels, the region half of each
			p.Pix[i] = uint8(128 - spread)
			if i%2 == 0 {
				p.Pix[i] = uint8(128 + spread)
			}
		}
		out := apply(t, Op{Name: "occlude", Fill: "noise", Regions: []Region{{X0: 0, Y0: 0, X1: 100, Y1: 100}}}, p, 3)
		var sum, squares, n float64
		for y := range 198 { // the edge may lie outside
			for x := range 198 {
				v := float64(out.Pix[y*200+x])
				sum, squares, n = sum+v, squares+v*v, n+1
			}
		}
		mean := sum / n
		sd := math.Sqrt(squares/n - mean*mean)
		if math.Abs(mean-128) > spread/20 || math.Abs(sd-spread) > spread/20+.1 {
			t.Errorf("noise of mean %.2f and SD %.2f, want 128 and %g", mean, sd, spread)
		}
	}
}

// The other place: as large, within the image, not the region itself, and clear of
// it wherever there is room.
func TestElsewhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 60).Draw(t, "w"), rapid.IntRange(1, 60).Draw(t, "h")
		box := drawRegion(t).Pixels(w, h)
		got, err := elsewhere(box, []area{{Rectangle: box}}, w, h, &rng{state: rapid.Uint64().Draw(t, "seed")})
		if box.Dx() == w && box.Dy() == h {
			if err == nil {
				t.Fatal("a box as large as the image went elsewhere")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if got.Size() != box.Size() || !got.In(image.Rect(0, 0, w, h)) || got == box {
			t.Fatalf("%v went to %v in %dx%d", box, got, w, h)
		}
	})
	box := Region{X0: 10, Y0: 10, X1: 40, Y1: 40}.Pixels(100, 100)
	seen := map[image.Rectangle]bool{}
	for seed := range uint64(50) {
		got, err := elsewhere(box, []area{{Rectangle: box}}, 100, 100, &rng{state: seed})
		if err != nil || got.Overlaps(box) {
			t.Fatalf("%v, %v", got, err)
		}
		seen[got] = true
	}
	if len(seen) < 40 {
		t.Errorf("50 seeds, %d places", len(seen))
	}
}

func TestRegionsOfGrids(t *testing.T) {
	// The cells of a grid cover the image; only the last pixel belongs to none.
	for _, size := range []int{8, 50, 101} {
		for i := range 8 {
			r := Region{X0: i, Y0: 0, X1: i + 1, Y1: 8, Of: 8}.Pixels(size, size)
			if lo := i * size / 8; r.Min.X != lo || r.Max.X != max(lo+1, min(((i+1)*size+7)/8, size-1)) {
				t.Errorf("cell %d of %d: %v", i, size, r)
			}
		}
	}
	for _, r := range []Region{{}, {X1: 101, Y1: 1}, {X0: 5, X1: 5, Y1: 9}, {X0: -1, X1: 5, Y1: 9}, {X1: 9, Y1: 9, Of: 8}, {X1: 1, Y1: 1, Of: -1}} {
		if r.Check() == nil {
			t.Errorf("%+v passes", r)
		}
	}
}

func TestCheckNamesEverything(t *testing.T) {
	op := Op{Name: "box", Params: map[string]float64{"thickness_px": 0, "opacity": 1, "red": 1.5, "blue": math.NaN()}, Fill: "mean", Regions: []Region{{X1: 200, Y1: 1}}}
	err := op.Check()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"thickness_px = 0", `"opacity"`, "red = 1.5", "blue = NaN", `fill "mean"`, "region 0 0 200 1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	for _, op := range []Op{{Name: "sharpen"}, {}, {Name: "blur", Regions: []Region{{X1: 1, Y1: 1}}}, {Name: "noise", Elsewhere: true}, {Name: "occlude", Fill: "white"}} {
		if op.Check() == nil {
			t.Errorf("%+v passes", op)
		}
		if _, err := op.Apply(NewPixels(3, 3, 1), 0); err == nil {
			t.Errorf("%+v was applied", op)
		}
	}
	for _, s := range Ops() {
		if err := (Op{Name: s.Name}).Check(); err != nil {
			t.Errorf("%s with its defaults: %v", s.Name, err)
		}
		for _, p := range s.Params {
			if p.Default < p.Min || p.Default > p.Max {
				t.Errorf("%s: default of %s out of range", s.Name, p.Name)
			}
		}
	}
}

func TestConditionsCompose(t *testing.T) {
	src := gradient16(64, 48)
	reg := []Region{{X0: 30, Y0: 35, X1: 70, Y1: 65}}
	c := Condition{Name: "x", Ops: []Op{{Name: "window"}, {Name: "box", Regions: reg}, {Name: "noise"}}}
	img, err := c.Apply(src, 4)
	if err != nil {
		t.Fatal(err)
	}
	want := noise(drawBox(PixelsOf(window(src)).clone(), reg[0].Pixels(64, 48), 4, [3]uint8{}), 12, &rng{state: stream(4, 2)})
	if !bytes.Equal(PixelsOf(img).Pix, want.Pix) {
		t.Error("the ops did not run in order, each with its own stream")
	}
	if _, err := (Condition{Name: "bad", Ops: []Op{{Name: "window"}, {Name: "nope"}}}).Apply(src, 0); err == nil || !strings.Contains(err.Error(), `condition "bad", op 2`) {
		t.Errorf("got %v", err)
	}
}

func TestRender(t *testing.T) {
	src, err := EncodePNG(gradient16(64, 48))
	if err != nil {
		t.Fatal(err)
	}
	render := func(c Condition, p Picture, seed uint64) []byte {
		t.Helper()
		b, mime, err := c.Render(src, p, seed)
		if err != nil || mime != "image/png" {
			t.Fatal(mime, err)
		}
		return b
	}
	if !bytes.Equal(render(Baseline(), Picture{}, 1), src) {
		t.Error("the baseline does not send the file's own bytes")
	}
	sham := render(Condition{Name: "sham", Kind: KindSham}, Picture{}, 1)
	a, errA := Decode(src)
	b, errB := Decode(sham)
	if errA != nil || errB != nil || bytes.Equal(sham, src) {
		t.Fatal("the sham sends the same bytes", errA, errB)
	}
	samePixels(t, b, a)
	// Scaled first, drawn then: one pixel of outline is one pixel of what is sent.
	c := Condition{Ops: []Op{{Name: "box", Regions: []Region{{X1: 100, Y1: 100}}, Params: map[string]float64{"thickness_px": 1, "red": 255, "green": 255, "blue": 255}}}}
	out, err := Decode(render(c, Picture{MaxSide: 32}, 1))
	if err != nil {
		t.Fatal(err)
	}
	if p := PixelsOf(out); p.W != 32 || p.H != 24 || p.Pix[0] != 255 || p.Pix[32+1] == 255 {
		t.Errorf("%dx%d, corner %d, next to it %d", p.W, p.H, p.Pix[0], p.Pix[33])
	}
	// The window comes before scaling, the order of metrics.md 2.2.
	win, err := Decode(render(Condition{Ops: []Op{{Name: "window"}}}, Picture{MaxSide: 32}, 1))
	if err != nil {
		t.Fatal(err)
	}
	samePixels(t, win, Shrink(window(a), 32))
	n := Condition{Ops: []Op{{Name: "noise"}}}
	if !bytes.Equal(render(n, Picture{}, 1), render(n, Picture{}, 1)) || bytes.Equal(render(n, Picture{}, 1), render(n, Picture{}, 2)) {
		t.Error("noise does not follow the seed alone")
	}
}

func TestJPEGAndContrast(t *testing.T) {
	p := PixelsOf(testGrey("waves", 64, 4))
	loss := func(q float64) (sum int) {
		for i, v := range apply(t, Op{Name: "jpeg", Params: map[string]float64{"quality": q}}, p, 0).Pix {
			sum += max(int(v)-int(p.Pix[i]), int(p.Pix[i])-int(v))
		}
		return sum
	}
	if a, b := loss(10), loss(95); a <= b || b == 0 {
		t.Errorf("quality 10 loses %d, quality 95 loses %d", a, b)
	}
	for _, c := range []struct {
		factor   float64
		in, want uint8
	}{{0, 10, 128}, {.5, 0, 64}, {.5, 255, 191}, {2, 64, 1}, {2, 20, 0}, {4, 200, 255}} {
		q := NewPixels(1, 1, 1)
		q.Pix[0] = c.in
		if got := apply(t, Op{Name: "contrast", Params: map[string]float64{"factor": c.factor}}, q, 0).Pix[0]; got != c.want {
			t.Errorf("%d at factor %v: %d, want %d", c.in, c.factor, got, c.want)
		}
	}
	flat := apply(t, Op{Name: "resolution", Params: map[string]float64{"factor": 64}}, p, 0)
	if slices.Min(flat.Pix) != slices.Max(flat.Pix) {
		t.Error("64 pixels at factor 64 should leave one value")
	}
}
