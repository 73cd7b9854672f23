package perturb

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawImage draws an image of any kind the encoder knows, some of them as a part
// of a larger one (rows with padding, bounds that do not start at 0,0).
func drawImage(t *rapid.T) image.Image {
	w, h := rapid.IntRange(1, 40).Draw(t, "w"), rapid.IntRange(1, 40).Draw(t, "h")
	full := image.Rect(0, 0, w+rapid.IntRange(0, 3).Draw(t, "right"), h+2)
	part := image.Rect(full.Dx()-w, 1, full.Dx(), 1+h)
	smooth := rapid.Bool().Draw(t, "smooth")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	bytesOf := func(pix []uint8) {
		for i := range pix {
			if pix[i] = uint8(r.Uint32()); smooth {
				pix[i] = uint8(i / 7)
			}
		}
	}
	opaque := func(pix []uint8, size int) {
		for i := range pix {
			if i%(4*size) >= 3*size {
				pix[i] = 255
			}
		}
	}
	switch kind := rapid.SampledFrom([]string{"grey", "grey16", "rgb", "nrgba", "nrgba-opaque", "rgba", "rgba-opaque",
		"palette", "palette-broken", "nrgba64", "nrgba64-opaque", "rgba64", "ycbcr", "pixels1", "pixels3", "cmyk"}).Draw(t, "kind"); kind {
	case "grey":
		m := image.NewGray(full)
		bytesOf(m.Pix)
		return m.SubImage(part)
	case "grey16":
		m := image.NewGray16(full)
		bytesOf(m.Pix)
		return m.SubImage(part)
	case "nrgba", "nrgba-opaque", "rgb":
		m := image.NewNRGBA(full)
		bytesOf(m.Pix)
		if kind != "nrgba" {
			opaque(m.Pix, 1)
		}
		return m.SubImage(part)
	case "rgba", "rgba-opaque":
		m := image.NewRGBA(full)
		for i := range m.Pix { // premultiplied: no sample above its alpha
			m.Pix[i] = uint8(r.IntN(2) * 255)
		}
		for i := 0; i < len(m.Pix); i += 4 {
			if m.Pix[i+3] == 0 {
				clear(m.Pix[i : i+4])
			}
		}
		if kind == "rgba-opaque" {
			bytesOf(m.Pix)
			opaque(m.Pix, 1)
		}
		return m.SubImage(part)
	case "palette", "palette-broken":
		n := rapid.IntRange(1, 256).Draw(t, "colours")
		pal := make(color.Palette, n)
		for i := range pal {
			pal[i] = color.NRGBA{uint8(r.Uint32()), uint8(r.Uint32()), uint8(i), uint8(255 - r.IntN(2)*r.IntN(256))}
		}
		m := image.NewPaletted(full, pal)
		for i := range m.Pix {
			m.Pix[i] = uint8(r.IntN(n))
		}
		return m.SubImage(part)
	case "nrgba64", "nrgba64-opaque":
		m := image.NewNRGBA64(full)
		bytesOf(m.Pix)
		if kind != "nrgba64" {
			opaque(m.Pix, 2)
		}
		return m.SubImage(part)
	case "rgba64":
		m := image.NewRGBA64(full)
		bytesOf(m.Pix)
		opaque(m.Pix, 2)
		return m.SubImage(part)
	case "ycbcr":
		m := image.NewYCbCr(full, image.YCbCrSubsampleRatio420)
		bytesOf(m.Y)
		bytesOf(m.Cb)
		bytesOf(m.Cr)
		return m.SubImage(part)
	case "pixels1":
		p := NewPixels(w, h, 1)
		bytesOf(p.Pix)
		return p
	case "pixels3":
		p := NewPixels(w, h, 3)
		bytesOf(p.Pix)
		return p
	default:
		m := image.NewCMYK(full)
		bytesOf(m.Pix)
		return m.SubImage(part)
	}
}

// samePixels compares colours as PNG can hold them: without premultiplication.
func samePixels(t interface{ Fatalf(string, ...any) }, got, want image.Image) {
	gb, wb := got.Bounds(), want.Bounds()
	if gb.Dx() != wb.Dx() || gb.Dy() != wb.Dy() {
		t.Fatalf("size %v, want %v", gb, wb)
	}
	for y := range gb.Dy() {
		for x := range gb.Dx() {
			g := color.NRGBA64Model.Convert(got.At(gb.Min.X+x, gb.Min.Y+y))
			w := color.NRGBA64Model.Convert(want.At(wb.Min.X+x, wb.Min.Y+y))
			if g != w {
				t.Fatalf("pixel %d,%d: %v, want %v (%T)", x, y, g, w, want)
			}
		}
	}
}

func TestPNGRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		img := drawImage(t)
		a, err := EncodePNG(img)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := EncodePNG(img)
		if !bytes.Equal(a, again) {
			t.Fatal("the same image gave other bytes")
		}
		b, err := encodePNG(img, true)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(a, b) {
			t.Fatal("the sham has the same bytes")
		}
		for _, enc := range [][]byte{a, b} {
			dec, err := png.Decode(bytes.NewReader(enc))
			if err != nil {
				t.Fatal(err)
			}
			want := img
			switch img.(type) { // no 8 bit twin of their own
			case *image.CMYK:
				want = nrgba(img)
			case *image.YCbCr:
				want = PixelsOf(img)
			}
			samePixels(t, dec, want)
			if _, _, _, err := Config(enc); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func nrgba(img image.Image) image.Image {
	b := img.Bounds()
	m := image.NewNRGBA(b)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			m.Set(x, y, img.At(x, y))
		}
	}
	return m
}

// Kinds survive: what the decoder gives back says what was written.
func TestPNGKeepsTheKind(t *testing.T) {
	r := image.Rect(0, 0, 5, 4)
	for _, c := range []struct {
		img  image.Image
		want string
	}{
		{image.NewGray(r), "*image.Gray"}, {image.NewGray16(r), "*image.Gray16"}, {NewPixels(5, 4, 1), "*image.Gray"},
		{NewPixels(5, 4, 3), "*image.RGBA"}, {image.NewPaletted(r, color.Palette{color.Black}), "*image.Paletted"},
		{image.NewNRGBA(r), "*image.NRGBA"}, {image.NewNRGBA64(r), "*image.NRGBA64"},
	} {
		b, err := EncodePNG(c.img)
		if err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if got := typeName(m); got != c.want {
			t.Errorf("%T comes back as %s, want %s", c.img, got, c.want)
		}
	}
	for _, img := range []image.Image{image.NewGray(image.Rect(0, 0, 0, 3)), image.NewUniform(color.Black)} {
		if _, err := EncodePNG(img); err == nil {
			t.Errorf("%T %v was encoded", img, img.Bounds())
		}
	}
}

func typeName(v any) string {
	switch v.(type) {
	case *image.Gray:
		return "*image.Gray"
	case *image.Gray16:
		return "*image.Gray16"
	case *image.RGBA:
		return "*image.RGBA"
	case *image.NRGBA:
		return "*image.NRGBA"
	case *image.NRGBA64:
		return "*image.NRGBA64"
	case *image.Paletted:
		return "*image.Paletted"
	}
	return "another type"
}

// Many blocks of rows, the last of them short, and parts that differ.
func TestPNGBlocks(t *testing.T) {
	const w, h = 500, 2300 // 130 rows to a block
	p := NewPixels(w, h, 1)
	r := &rng{state: 5}
	for i := range p.Pix {
		p.Pix[i] = uint8(i / w / 9)
		if i/w > 900 && i/w < 1800 {
			p.Pix[i] = uint8(r.next())
		}
	}
	for _, sham := range []bool{false, true} {
		b, err := encodePNG(p, sham)
		if err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(m.(*image.Gray).Pix, p.Pix) {
			t.Fatal("pixels differ")
		}
	}
}

// testGrey is a grey picture of side x side with normal noise of the given sigma
// over a shape.
func testGrey(shape string, side int, sigma float64) *image.Gray {
	r := rand.New(rand.NewPCG(1, 2))
	m := image.NewGray(image.Rect(0, 0, side, side))
	for y := range side {
		for x := range side {
			u, v := float64(x)/float64(side), float64(y)/float64(side)
			var s float64
			switch shape {
			case "waves":
				s = 120 + 60*math.Sin(7*u)*math.Cos(8*v) + 40*v
			case "ramp":
				s = 255 * u
			case "diagonal":
				s = 127 * (u + v)
			case "radial":
				s = 230 - 300*math.Hypot(u-.5, v-.5)
			case "blobs":
				s = 30 + 150*math.Exp(-20*((u-.3)*(u-.3)+(v-.5)*(v-.5))) + 120*math.Exp(-30*((u-.7)*(u-.7)+(v-.4)*(v-.4)))
			case "disc": // an edge and a black surround, as of a fundus camera
				if math.Hypot(u-.5, v-.5) > .45 {
					m.Pix[y*side+x] = 0
					continue
				}
				s = 90 + 80*u + 20*math.Sin(40*v)
			}
			m.Pix[y*side+x] = uint8(max(0, min(255, s+sigma*r.NormFloat64())))
		}
	}
	return m
}

// shapes are the ten pictures that sizes and times of files are stated for.
var shapes = []struct {
	name, shape string
	sigma       float64
}{
	{"smooth", "waves", 0}, {"sigma4", "waves", 4}, {"sigma12", "waves", 12}, {"ramp", "ramp", 0}, {"diagonal", "diagonal", 0},
	{"radial", "radial", 0}, {"blobs", "blobs", 0}, {"disc", "disc", 0}, {"disc-sigma4", "disc", 4}, {"blobs-sigma1", "blobs", 1},
}

// TestPNGSize: a file is at most half as large again as image/png's, that of a heatmap
// on the picture, too.
func TestPNGSize(t *testing.T) {
	pictures := map[string]image.Image{}
	heat := Condition{Ops: []Op{{Name: "heatmap", Regions: []Region{{X0: 30, Y0: 35, X1: 70, Y1: 65}}}}}
	for _, c := range shapes {
		m := testGrey(c.shape, 512, c.sigma)
		hot, err := heat.Apply(m, 1)
		if err != nil {
			t.Fatal(err)
		}
		pictures[c.name], pictures[c.name+", heatmap"] = m, hot
	}
	for name, m := range pictures {
		ours, err := EncodePNG(m)
		if err != nil {
			t.Fatal(err)
		}
		var std bytes.Buffer
		if err := png.Encode(&std, m); err != nil {
			t.Fatal(err)
		}
		if share := 100 * float64(len(ours)) / float64(std.Len()); share > 150 {
			t.Errorf("%s: %.0f %% of image/png's size", name, share)
		}
	}
}

// A sample that held rows twice would find matches that the picture does not have, and
// noise be searched for them: at 192 pixels a side, a file took four times as long.
func TestPNGNoiseIsNotSearched(t *testing.T) {
	for side := 40; side <= 640; side += 8 {
		m := testGrey("waves", side, 6)
		e := filterer{r: rasterOf(m), stride: side, zero: make([]byte, side)}
		if _, level, err := e.choose(); err != nil || level != huffman {
			t.Errorf("%d pixels: level %d, want %d (%v)", side, level, huffman, err)
		}
	}
}

// What a search for matches saves of noise in three equal channels is a sixth, for three
// times the time.
func TestPNGNoisyColourIsNotSearched(t *testing.T) {
	for _, side := range []int{256, 512, 1024} {
		m, err := Condition{Ops: []Op{{Name: "heatmap", Regions: []Region{{X0: 30, Y0: 35, X1: 70, Y1: 65}}}}}.Apply(testGrey("waves", side, 4), 1)
		if err != nil {
			t.Fatal(err)
		}
		r := rasterOf(m)
		e := filterer{r: r, stride: r.w * r.bpp, zero: make([]byte, r.w*r.bpp)}
		if _, level, err := e.choose(); err != nil || level != fast {
			t.Errorf("%d pixels: level %d, want %d (%v)", side, level, fast, err)
		}
	}
}

// BenchmarkPNG prints, per picture, milliseconds here and in image/png, how many
// times faster that is, and the size in per cent of image/png's.
func BenchmarkPNG(b *testing.B) {
	for _, c := range shapes {
		b.Run(c.name, func(b *testing.B) {
			m := testGrey(c.shape, 2048, c.sigma)
			var ours []byte
			var err error
			for b.Loop() {
				if ours, err = EncodePNG(m); err != nil {
					b.Fatal(err)
				}
			}
			mine := b.Elapsed() / time.Duration(b.N)
			best := time.Duration(math.MaxInt64)
			var std bytes.Buffer
			for range 3 {
				std.Reset()
				start := time.Now()
				if err := png.Encode(&std, m); err != nil {
					b.Fatal(err)
				}
				best = min(best, time.Since(start))
			}
			b.ReportMetric(float64(mine.Microseconds())/1000, "ms")
			b.ReportMetric(float64(best.Microseconds())/1000, "ms_std")
			b.ReportMetric(float64(best)/float64(mine), "x_faster")
			b.ReportMetric(100*float64(len(ours))/float64(std.Len()), "%_of_std_size")
			b.ReportMetric(float64(len(ours))/1e3, "kB")
			if 2*len(ours) > 3*std.Len() {
				b.Errorf("%s: more than 1.5 times the size of image/png's file", c.name)
			}
		})
	}
}

// BenchmarkRender prints what one condition costs, rendering and encoding, on a
// 2048x2048 grey picture: the median of all rounds and the fastest, because other
// programs on the machine only make rounds slower.
func BenchmarkRender(b *testing.B) {
	reg := []Region{{X0: 30, Y0: 35, X1: 70, Y1: 65}}
	for _, sigma := range []float64{0, 4, 12} {
		m := testGrey("waves", 2048, sigma)
		for _, op := range []Op{{Name: "box", Regions: reg}, {Name: "heatmap", Regions: reg}, {Name: "occlude", Regions: reg}} {
			b.Run(op.Name+"-sigma"+string(rune('0'+int(sigma)/10))+string(rune('0'+int(sigma)%10)), func(b *testing.B) {
				var rounds []time.Duration
				for b.Loop() {
					start := time.Now()
					img, err := Condition{Ops: []Op{op}}.Apply(m, 1)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := EncodePNG(img); err != nil {
						b.Fatal(err)
					}
					rounds = append(rounds, time.Since(start))
				}
				slices.Sort(rounds)
				b.ReportMetric(float64(rounds[len(rounds)/2].Microseconds())/1000, "ms")
				b.ReportMetric(float64(rounds[0].Microseconds())/1000, "ms_fastest")
			})
		}
	}
}
