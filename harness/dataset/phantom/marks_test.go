package phantom

import (
	"image"
	"slices"
	"testing"

	"assay/perturb"
)

// regionAt is a site's box as data sets of chest radiographs have it.
func regionAt(s Site) perturb.Region {
	b := s.Box()
	return perturb.Region{X0: b[0], Y0: b[1], X1: b[2], Y1: b[3]}
}

func paintedBy(t *testing.T, img image.Image, op perturb.Op) image.Image {
	t.Helper()
	out, err := op.Apply(img, 7)
	if err != nil {
		t.Fatal(err)
	}
	p := out.(*perturb.Pixels) // pixel by pixel, an interface takes longer to read than to change
	if p.Channels == 1 {
		return &image.Gray{Pix: p.Pix, Stride: p.W, Rect: p.Bounds()}
	}
	rgba := image.NewRGBA(p.Bounds())
	for i := range p.W * p.H {
		copy(rgba.Pix[4*i:], p.Pix[3*i:3*i+3])
		rgba.Pix[4*i+3] = 255
	}
	return rgba
}

func filmClose(a, b image.Rectangle, by int) bool {
	d := []int{a.Min.X - b.Min.X, a.Min.Y - b.Min.Y, a.Max.X - b.Max.X, a.Max.Y - b.Max.Y}
	return slices.Max(d) <= by && slices.Min(d) >= -by
}

// pictures are the ways a picture comes: grey, and grey in three channels.
func pictures(img *image.Gray) map[string]image.Image {
	rgb := image.NewRGBA(img.Rect)
	for i, v := range img.Pix {
		copy(rgb.Pix[4*i:], []uint8{v, v, v, 255})
	}
	return map[string]image.Image{"grey": img, "colour": rgb}
}

func marked() []Site {
	return []Site{effusionRight, opacityLeft, atelectasisRight, heart, congestion, venousCatheter, gastricTube}
}

func TestOutlinesAreFoundWithTheirThickness(t *testing.T) {
	wrong, n := 0, 0
	for i, size := range []int{256, 333, 512, 1024} {
		clean := archive.draw(NewScene(41, i), size)
		for what, img := range pictures(clean) {
			if m := looked(img).Marks; len(m) > 0 {
				t.Errorf("%d px, %s: nothing was drawn, found %v", size, what, m)
			}
		}
		for _, site := range marked() {
			for _, thick := range []int{1, 2, 4, 8, 16} {
				if size > 512 && thick > 1 && thick < 16 {
					continue // the ends are enough of a large picture
				}
				for _, colour := range [][3]float64{{0, 0, 0}, {255, 0, 0}} {
					op := perturb.Op{Name: "box", Regions: []perturb.Region{regionAt(site)},
						Params: map[string]float64{"thickness_px": float64(thick), "red": colour[0], "green": colour[1], "blue": colour[2]}}
					box := regionAt(site).Pixels(size, size)
					got := looked(paintedBy(t, clean, op)).Marks
					n++
					want := mark{Kind: markOutline, At: box, Thickness: thick}
					if len(got) != 1 || got[0].Kind != want.Kind || got[0].Thickness != thick || !filmClose(got[0].At, box, 1) {
						wrong++
						t.Logf("%d px, %s, colour %v: drawn %v, found %v", size, site, colour, want, got)
					}
				}
			}
		}
	}
	if wrong*50 > n {
		t.Errorf("%d of %d outlines were not found as drawn", wrong, n)
	}
}

func TestHeatIsFoundWithItsOpacity(t *testing.T) {
	for i, size := range []int{256, 512, 1024} {
		clean := archive.draw(NewScene(42, i), size)
		for _, site := range marked() {
			last := -1
			for _, opacity := range []float64{.2, .4, .6, .8, 1} {
				if size > 512 && opacity > .2 && opacity < 1 {
					continue
				}
				box := mirrored(regionAt(site).Pixels(size, size), size)
				got := looked(paintedBy(t, clean, perturb.Op{Name: "heatmap", Regions: []perturb.Region{regionAt(site)}, Params: map[string]float64{"opacity": opacity}})).Marks
				if len(got) != 1 || got[0].Kind != markHeat || !filmClose(got[0].At, box, size/25+2) {
					t.Errorf("%d px, %s at opacity %v: %v, drawn round %v", size, site, opacity, got, box)
					continue
				}
				if d := got[0].Opacity - int(opacity*255); d > 6 || d < -6 || got[0].Opacity <= last {
					t.Errorf("%d px, %s: opacity %v is read as %d of 255", size, site, opacity, got[0].Opacity)
				}
				last = got[0].Opacity
			}
		}
	}
}

// mirrored is where the heat of a box is stronger than half of its peak: on the
// picture's border it comes back.
func mirrored(r image.Rectangle, size int) image.Rectangle {
	for _, v := range []*int{&r.Min.X, &r.Min.Y} {
		if *v*100 <= 6*size {
			*v = 0
		}
	}
	for _, v := range []*int{&r.Max.X, &r.Max.Y} {
		if *v*100 >= 94*size {
			*v = size
		}
	}
	return r
}

func TestCoversAreFoundAndHide(t *testing.T) {
	wrong, n := 0, 0
	for i, size := range []int{256, 512, 1024} {
		for k := range 3 - i {
			clean := archive.draw(NewScene(43, 10*i+k), size)
			whole := looked(clean)
			for _, site := range marked() {
				occlude, _ := perturb.SpecOf("occlude")
				for _, fill := range occlude.Fills {
					for what, img := range pictures(clean) {
						if size > 512 && what == "colour" {
							continue
						}
						got := looked(paintedBy(t, img, perturb.Op{Name: "occlude", Fill: fill, Regions: []perturb.Region{regionAt(site)}}))
						n++
						box := regionAt(site).Pixels(size, size)
						if len(got.Marks) != 1 || got.Marks[0].Kind != markCover || !filmClose(got.Marks[0].At, box, size/24+1) || got.Findings[site].Sure {
							wrong++
							t.Logf("%d px, %s, case %d, %s filled with %s at %v: found %v, reads %v", size, what, 10*i+k, site, fill, box, got.Marks, got.Findings[site])
						}
						if got.Film != whole.Film {
							t.Errorf("a cover changes the film's mark")
						}
					}
				}
			}
		}
	}
	if wrong*25 > n {
		t.Errorf("%d of %d covers were not found as drawn", wrong, n)
	}
}

func TestTwoMarksAreTwo(t *testing.T) {
	both := []perturb.Region{regionAt(effusionRight), regionAt(effusionLeft)}
	for _, op := range []perturb.Op{{Name: "box", Regions: both}, {Name: "heatmap", Regions: both}, {Name: "occlude", Regions: both}, {Name: "occlude", Fill: "blur", Regions: both}} {
		for _, size := range []int{256, 512, 1500} {
			img := archive.draw(NewScene(45, 3), size)
			if got := looked(paintedBy(t, img, op)).Marks; len(got) != 2 || got[0].Kind != got[1].Kind {
				t.Errorf("%d px: %s on both sides is read as %v", size, op.Name, got)
			}
		}
	}
}

// An outline hides a little and changes nothing, at the least size there is.
func TestOutlinesLeaveReadingsAlone(t *testing.T) {
	changed, readings := 0, 0
	for i := range 20 {
		img := archive.draw(NewScene(7, i), 256)
		whole := looked(img)
		for site := effusionRight; site < exposure; site++ {
			got := looked(paintedBy(t, img, perturb.Op{Name: "box", Regions: []perturb.Region{regionAt(site)}}))
			for other := range NumSites {
				readings++
				if got.Findings[other] != whole.Findings[other] {
					changed++
					t.Logf("case %d: an outline on %s turns %s from %v into %v", i, site, other, whole.Findings[other], got.Findings[other])
				}
			}
		}
	}
	if changed*500 > readings {
		t.Errorf("%d of %d readings changed", changed, readings)
	}
}

func BenchmarkLook(b *testing.B) {
	img := NewScene(46, 0).Render(512)
	for b.Loop() {
		Look(img, func(Scene, int) *image.Gray { return img })
	}
}
