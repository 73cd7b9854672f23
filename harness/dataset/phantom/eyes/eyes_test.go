package eyes_test

import (
	"flag"
	"image"
	"image/color"
	"image/draw"
	"math"
	"runtime/debug"
	"testing"

	"assay/harness/dataset/phantom/eyes"
	"assay/harness/dataset/phantom/film"
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

func TestMeasureRecoversWhatIsThere(t *testing.T) {
	for _, c := range []struct{ size, scenes int }{{256, 200}, {333, 40}, {512, 60}, {768, 15}, {1024, 8}, {2048, 3}} {
		wrong, readings := 0, 0
		films := map[uint64]bool{}
		for i := range c.scenes {
			s := film.New(uint64(100+c.size), i)
			view := eyes.Measure(s.Render(c.size))
			got, truth := view.Findings, s.Truth()
			films[view.Film] = true
			for site := range film.NumSites {
				readings++
				if got[site] != truth[site] {
					wrong++
					t.Logf("%d px, case %d: %s is %v, read %v", c.size, i, site, truth[site], got[site])
				}
			}
		}
		if wrong*200 > readings {
			t.Errorf("%d px: %d of %d readings are wrong", c.size, wrong, readings)
		}
		if len(films)*120 < c.scenes*119 {
			t.Errorf("%d px: %d films have %d marks", c.size, c.scenes, len(films))
		}
	}
}

func pixels(b film.Box, size int) image.Rectangle {
	return image.Rect(b[0]*size/100, b[1]*size/100, (b[2]*size+99)/100, (b[3]*size+99)/100)
}

func TestCoveredSitesAreNotSure(t *testing.T) {
	for i := range 25 {
		s := film.New(31, i)
		clean := s.Render(256 + 64*(i%5))
		whole := eyes.Measure(clean)
		for site := film.EffusionRight; site < film.Exposure; site++ {
			img := image.NewGray(clean.Rect)
			copy(img.Pix, clean.Pix)
			draw.Draw(img, pixels(site.Box(), img.Rect.Dx()), image.Black, image.Point{}, draw.Src)
			got := eyes.Measure(img)
			if got.Findings[site].Sure {
				t.Errorf("case %d: %s reads %v under its box", i, site, got.Findings[site])
			}
			if got.Film != whole.Film {
				t.Errorf("case %d: a box on %s changes the film's mark", i, site)
			}
			for other := range film.NumSites {
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
		s := film.New(32, i)
		img := s.Render(400)
		whole := eyes.Measure(img)
		for site := film.EffusionRight; site < film.Exposure; site++ {
			r := pixels(site.Box(), 400)
			outlined := image.NewGray(img.Rect)
			copy(outlined.Pix, img.Pix)
			draw.Draw(outlined, r, image.Black, image.Point{}, draw.Src)
			draw.Draw(outlined, r.Inset(4), img, r.Inset(4).Min, draw.Src)
			for what, got := range map[string]eyes.View{"outline": eyes.Measure(outlined), "tint": eyes.Measure(tinted(img, r))} {
				if got.Film != whole.Film {
					t.Errorf("case %d: %s on %s changes the film's mark", i, what, site)
				}
				for other := range film.NumSites {
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

func TestMarkOfAFilmHasNoSize(t *testing.T) {
	for i := range 10 {
		s := film.New(9, i)
		if eyes.Measure(s.Render(700)).Film != eyes.Measure(s.Render(256)).Film {
			t.Errorf("case %d: the film's mark depends on the size", i)
		}
	}
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
		if got := eyes.Measure(img).Findings; got != (film.Findings{}) {
			t.Errorf("%s: read %v", name, got)
		}
	}
	if eyes.Measure(flat).Film == eyes.Measure(noise).Film {
		t.Error("two pictures without a label have the same mark")
	}
}

// A detector's picture shows what the 8 bit one shows, in finer levels.
func TestSixteenBits(t *testing.T) {
	for i := range 12 {
		s := film.New(61, i)
		fine, plain := s.Render16(300), s.Render(300)
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
		a, b := eyes.Measure(fine), eyes.Measure(plain)
		windowed, err := perturb.Op{Name: "window"}.Apply(fine, 0)
		if err != nil {
			t.Fatal(err)
		}
		if c := eyes.Measure(windowed); a.Findings != b.Findings || a.Film != b.Film || c.Findings != b.Findings || c.Film != b.Film {
			t.Errorf("case %d: read %v from 16 bits, %v windowed, %v from 8", i, a, c, b)
		}
	}
}
