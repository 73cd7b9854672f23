package phantom

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"math"
	"runtime/debug"
	"testing"

	"pgregory.net/rapid"

	"assay/perturb"
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

// archive has films that tests draw once, however many of them change or look at them.
var archive Films

func looked(img image.Image) sight { return Look(img, archive.draw) }

func TestFilmsAreKnownWhateverTheirSize(t *testing.T) {
	films := map[uint64]bool{}
	for _, c := range []struct{ size, scenes int }{{128, 60}, {256, 40}, {333, 12}, {512, 8}, {1024, 2}, {2048, 1}} {
		for i := range c.scenes {
			s := NewScene(uint64(100+c.size), i)
			view := looked(s.Render(c.size))
			films[view.Film] = true
			if view.Findings != s.Truth() || len(view.Marks) > 0 {
				t.Errorf("%d px, case %d: %v with marks %v, is %v", c.size, i, view.Findings, view.Marks, s.Truth())
			}
			if small := looked(s.Render(128)); small.Film != view.Film {
				t.Errorf("%d px, case %d: the film's mark depends on the size", c.size, i)
			}
		}
	}
	if len(films) != 123 {
		t.Errorf("123 films have %d marks", len(films))
	}
}

// What the number in the border survives is seen whole, whatever became of the picture, and
// of what it does not survive nothing is seen: readers say so in the ledger.
func TestWhatTheNumberSurvives(t *testing.T) {
	op := func(name string, params ...any) perturb.Op {
		o := perturb.Op{Name: name, Params: map[string]float64{}}
		for i := 0; i < len(params); i += 2 {
			o.Params[params[i].(string)] = params[i+1].(float64)
		}
		return o
	}
	whole := perturb.Op{Name: "occlude", Regions: []perturb.Region{{X0: 0, Y0: 0, X1: 100, Y1: 100}}}
	for _, c := range []struct {
		op   perturb.Op
		size int
		seen bool
	}{
		{op("jpeg", "quality", 70.), 256, true}, {op("jpeg", "quality", 50.), 256, true}, {op("jpeg", "quality", 30.), 512, true}, {op("jpeg", "quality", 2.), 256, false},
		{op("downscale", "max_side_px", 128.), 256, true}, {op("downscale", "max_side_px", 256.), 512, true}, {op("downscale", "max_side_px", 300.), 512, true},
		{op("resolution", "factor", 2.), 256, true}, {op("resolution", "factor", 4.), 1024, true}, {op("resolution", "factor", 32.), 256, false},
		{op("blur", "sigma_px", 1.), 512, true}, {op("blur", "sigma_px", 2.), 512, true}, {op("blur", "sigma_px", 64.), 256, false},
		{op("noise", "sigma", 12.), 256, true}, {op("noise", "sigma", 24.), 512, true},
		{op("contrast", "factor", .25), 256, true}, {op("contrast", "factor", .75), 256, true}, {op("contrast", "factor", 0.), 256, false},
		{op("window"), 256, true}, {op("pad"), 256, true}, {whole, 256, false},
	} {
		for i := range 8 {
			s := NewScene(51, i)
			out, err := c.op.Apply(archive.draw(s, c.size), 3)
			if err != nil {
				t.Fatal(err)
			}
			want := Findings{}
			if c.seen {
				want = s.Truth()
			}
			if v := looked(out); v.Findings != want || len(v.Marks) > 0 {
				t.Errorf("%s %v at %d px, case %d: reads %v with marks %v, want %v", c.op.Name, c.op.Params, c.size, i, v.Findings, v.Marks, want)
			}
		}
	}
}

// The number is all that a film is made of.
func TestANumberIsAFilm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewScene(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 1<<20).Draw(t, "index"))
		if v := Look(s.Render(64), func(again Scene, size int) *image.Gray {
			if img := again.Render(size); !bytes.Equal(img.Pix, s.Render(size).Pix) {
				t.Error("a film that is drawn from its number is another one")
			}
			return again.Render(size)
		}); v.Findings != s.Truth() && v.Findings != (Findings{}) {
			t.Errorf("reads %v of %v", v.Findings, s.Truth())
		}
	})
}

func pixelsOf(b box, size int) image.Rectangle {
	return image.Rect(b[0]*size/100, b[1]*size/100, (b[2]*size+99)/100, (b[3]*size+99)/100)
}

func TestCoveredSitesAreNotSure(t *testing.T) {
	for i := range 25 {
		s := NewScene(31, i)
		clean := s.Render(256 + 64*(i%5))
		whole := looked(clean)
		for site := effusionRight; site < exposure; site++ {
			img := image.NewGray(clean.Rect)
			copy(img.Pix, clean.Pix)
			draw.Draw(img, pixelsOf(site.Box(), img.Rect.Dx()), image.Black, image.Point{}, draw.Src)
			got := looked(img)
			if got.Findings[site].Sure {
				t.Errorf("case %d: %s reads %v under its box", i, site, got.Findings[site])
			}
			if got.Film != whole.Film {
				t.Errorf("case %d: a box on %s changes the film's mark", i, site)
			}
			for other := range NumSites {
				if r := got.Findings[other]; r.Sure && r != whole.Findings[other] {
					t.Errorf("case %d: a box on %s turns %s from %v into %v", i, site, other, whole.Findings[other], r)
				}
			}
		}
	}
}

// Overlays that hide nothing change nothing: outlines and translucent red.
func TestOverlaysLeaveReadingsAlone(t *testing.T) {
	changed, readings := 0, 0
	for i := range 5 {
		s := NewScene(32, i)
		img := s.Render(400)
		whole := looked(img)
		for site := effusionRight; site < exposure; site++ {
			r := pixelsOf(site.Box(), 400)
			outlined := image.NewGray(img.Rect)
			copy(outlined.Pix, img.Pix)
			draw.Draw(outlined, r, image.Black, image.Point{}, draw.Src)
			draw.Draw(outlined, r.Inset(4), img, r.Inset(4).Min, draw.Src)
			for what, got := range map[string]sight{"outline": looked(outlined), "tint": looked(tinted(img, r))} {
				if got.Film != whole.Film {
					t.Errorf("case %d: %s on %s changes the film's mark", i, what, site)
				}
				for other := range NumSites {
					readings++
					if got.Findings[other] != whole.Findings[other] {
						changed++
						t.Logf("case %d: %s on %s turns %s from %v into %v", i, what, site, other, whole.Findings[other], got.Findings[other])
					}
				}
			}
		}
	}
	if changed*200 > readings {
		t.Errorf("%d of %d readings changed", changed, readings)
	}
}

// tinted lays red of up to one half over a rectangle, fading around it.
func tinted(img *image.Gray, r image.Rectangle) *image.NRGBA {
	out := image.NewNRGBA(img.Rect)
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			dx := float64(x-(r.Min.X+r.Max.X)/2) / float64(r.Dx())
			dy := float64(y-(r.Min.Y+r.Max.Y)/2) / float64(r.Dy())
			a := 0.5 * math.Exp(-2*(dx*dx+dy*dy))
			v := float64(img.GrayAt(x, y).Y)
			out.SetNRGBA(x, y, color.NRGBA{uint8((1-a)*v + a*255), uint8((1 - a) * v), uint8((1 - a) * v), 255})
		}
	}
	return out
}

func TestOtherPicturesHaveNothingSure(t *testing.T) {
	flat := image.NewGray(image.Rect(0, 0, 300, 300))
	for i := range flat.Pix {
		flat.Pix[i] = 90
	}
	noise := image.NewRGBA(image.Rect(10, 10, 210, 170))
	for i := range noise.Pix {
		noise.Pix[i] = uint8(i * i * 31 >> 3)
	}
	for name, img := range map[string]image.Image{
		"flat": flat, "noise": noise, "black": image.NewGray(image.Rect(0, 0, 64, 64)), "empty": image.NewGray(image.Rect(0, 0, 0, 0)),
		"one pixel": image.NewGray16(image.Rect(0, 0, 1, 1)),
	} {
		if got := looked(img).Findings; got != (Findings{}) {
			t.Errorf("%s: read %v", name, got)
		}
	}
	if looked(flat).Film == looked(noise).Film {
		t.Error("two pictures without a label have the same mark")
	}
}

// A detector's picture shows what the 8 bit one shows, in finer levels.
func TestSixteenBits(t *testing.T) {
	for i := range 12 {
		s := NewScene(61, i)
		fine, plain := s.render16(300), s.Render(300)
		levels := map[uint16]bool{}
		for y := range 300 {
			for x := range 300 {
				v := fine.Gray16At(x, y).Y
				levels[v] = true
				if v > 4095 || (v == 0) != (plain.GrayAt(x, y).Y == 0) {
					t.Fatalf("case %d: level %d at %d,%d, %d in 8 bits", i, v, x, y, plain.GrayAt(x, y).Y)
				}
			}
		}
		if len(levels) < 1000 {
			t.Errorf("case %d: %d levels", i, len(levels))
		}
		a, b := looked(fine), looked(plain)
		windowed, err := perturb.Op{Name: "window"}.Apply(fine, 0)
		if err != nil {
			t.Fatal(err)
		}
		if c := looked(windowed); a.Findings != b.Findings || a.Film != b.Film || c.Findings != b.Findings || c.Film != b.Film {
			t.Errorf("case %d: read %v from 16 bits, %v windowed, %v from 8", i, a, c, b)
		}
	}
}

// render16 draws the same film with the levels 0 to 4095 that a detector gives,
// in 16 bits.
func (s Scene) render16(size int) *image.Gray16 {
	img := image.NewGray16(image.Rect(0, 0, size, size))
	put := func(at int, v int64) { img.Pix[2*at], img.Pix[2*at+1] = uint8(v>>8), uint8(v) }
	s.expose(size, func(y int, greys []int64) {
		for x, grey := range greys {
			if grey != outside {
				put(y*size+x, min(max(s.toned(grey)*4095/(255<<8), greyDarkest*16), 252*16))
			}
		}
	})
	s.encode(size, func(at int, levels int64) {
		put(at, min(max(int64(img.Pix[2*at])<<8+int64(img.Pix[2*at+1])+16*levels, 0), 252*16))
	})
	s.print(size, func(at int) { put(at, 4095) })
	return img
}
