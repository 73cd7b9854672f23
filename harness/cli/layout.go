package cli

import (
	"image"
	"image/color"
	"image/draw"
	"math"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"assay/perturb"
)

// Sizes of a sheet, in pixels.
const (
	alone  = 768 // longest side of a picture when there is one condition
	among  = 256 // of many
	across = 3   // conditions in a row
	gap    = 6
	line   = 16 // of a caption
)

func ink() color.Color    { return color.RGBA{235, 235, 235, 255} }
func paper() color.Color  { return color.RGBA{24, 24, 28, 255} }
func marker() color.Color { return color.RGBA{255, 210, 0, 255} }

// tile is pictures of one size beside each other, with a caption each.
type tile struct {
	captions []string
	pictures []image.Image
}

// sheet lays out the baseline, the conditions and their differences.
func (s previewSubject) sheet(p *sheet, base *perturb.Pixels, cells []cell) image.Image {
	side, columns := among, across
	if len(p.Conditions) <= 1 {
		side, columns = alone, 1
	}
	lay := func(img draw.Image) draw.Image { // the grid and the regions over a picture
		if len(cells) > 0 {
			s.outline(img)
			s.layGrid(img, p, cells)
		}
		return img
	}
	plain := lay(small(base, side))
	var tiles []tile
	switch len(p.Conditions) {
	case 0:
		tiles = []tile{{[]string{p.Name}, []image.Image{plain}}}
	case 1:
		d := p.Conditions[0]
		tiles = []tile{{[]string{"baseline", caption(d), "difference: " + d.inWords()},
			[]image.Image{plain, lay(small(d.pixels, side)), small(differences(base, d.pixels), side)}}}
	default:
		marked := small(base, side)
		s.outline(marked)
		tiles = []tile{{[]string{"baseline", "its regions"}, []image.Image{plain, marked}}}
		for _, d := range p.Conditions {
			if d.Cue == "" {
				tiles = append(tiles, tile{[]string{caption(d), d.inWords()},
					[]image.Image{small(d.pixels, side), small(differences(base, d.pixels), side)}})
			}
		}
	}
	return arrange(tiles, columns)
}

// small is a copy of a picture, of that longest side at most.
func small(img image.Image, side int) draw.Image {
	img = perturb.Shrink(img, side)
	out := image.NewRGBA(image.Rectangle{Max: img.Bounds().Size()})
	draw.Draw(out, out.Rect, img, img.Bounds().Min, draw.Src)
	return out
}

func caption(d previewCondition) string {
	if d.Target == "" {
		return d.Condition
	}
	return d.Condition + ": " + d.Target
}

// arrange puts tiles of one size into rows.
func arrange(tiles []tile, columns int) image.Image {
	size := image.Point{}
	for _, t := range tiles {
		w := gap
		for _, p := range t.pictures {
			w += p.Bounds().Dx() + gap
			size.Y = max(size.Y, p.Bounds().Dy()+line+gap)
		}
		size.X = max(size.X, w)
	}
	columns = min(columns, len(tiles))
	rows := (len(tiles) + columns - 1) / columns
	out := image.NewRGBA(image.Rect(0, 0, columns*size.X, rows*size.Y+gap))
	draw.Draw(out, out.Rect, image.NewUniform(paper()), image.Point{}, draw.Src)
	for i, t := range tiles {
		at := image.Pt(i%columns*size.X+gap, i/columns*size.Y+gap)
		for k, p := range t.pictures {
			w := p.Bounds().Dx()
			writePreview(out, at.X, at.Y, w, t.captions[k])
			draw.Draw(out, image.Rectangle{at, at.Add(p.Bounds().Size())}.Add(image.Pt(0, line)), p, p.Bounds().Min, draw.Src)
			at.X += w + gap
		}
	}
	return out
}

// writePreview puts a caption into a space w wide, cut where it does not fit.
func writePreview(img draw.Image, x, y, w int, text string) {
	face := basicfont.Face7x13
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' { // the font has no others
			return '?'
		}
		return r
	}, text)
	if most := w / face.Advance; len(text) > most {
		text = text[:max(most, 0)]
	}
	for _, layer := range []struct { // a shadow, to be read on white
		c   color.Color
		off int
	}{{paper(), 1}, {ink(), 0}} {
		d := font.Drawer{Dst: img, Src: image.NewUniform(layer.c), Face: face, Dot: fixed.P(x+layer.off, y+layer.off+face.Ascent)}
		d.DrawString(text)
	}
}

// differences shows the baseline dark, and over it from red to yellow how much a
// pixel has changed. The scale is the same for all pictures.
func differences(a, b *perturb.Pixels) image.Image {
	out := image.NewRGBA(image.Rect(0, 0, a.W, a.H))
	for i := range a.W * a.H {
		px := out.Pix[4*i : 4*i+4 : 4*i+4]
		px[3] = 255
		v := difference(a, b, i)
		if v == 0 {
			grey := (int(a.Pix[i*a.Channels]) + int(a.Pix[(i+1)*a.Channels-1])) / 2
			px[0], px[1], px[2] = uint8(grey/4), uint8(grey/4), uint8(grey/4+8)
			continue
		}
		t := math.Sqrt(float64(v) / 255) // small differences are to be seen, too
		px[0], px[1], px[2] = uint8(48+207*t), uint8(230*t*t), 16
	}
	return out
}

// outline frames the regions.
func (s previewSubject) outline(img draw.Image) {
	b := img.Bounds()
	for _, r := range s.regions() {
		frame(img, r.Pixels(b.Dx(), b.Dy()), 2, marker())
	}
}

func frame(img draw.Image, r image.Rectangle, t int, c color.Color) {
	for _, side := range []image.Rectangle{
		image.Rect(r.Min.X, r.Min.Y, r.Max.X, r.Min.Y+t), image.Rect(r.Min.X, r.Max.Y-t, r.Max.X, r.Max.Y),
		image.Rect(r.Min.X, r.Min.Y, r.Min.X+t, r.Max.Y), image.Rect(r.Max.X-t, r.Min.Y, r.Max.X, r.Max.Y),
	} {
		draw.Draw(img, side.Intersect(r), image.NewUniform(c), image.Point{}, draw.Src)
	}
}

// layGrid draws the cells, tints those inside a region, and names those that have
// room for a name.
func (s previewSubject) layGrid(img draw.Image, p *sheet, cells []cell) {
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	for _, c := range cells {
		r := image.Rect(c.Box[0]*w/p.Width, c.Box[1]*h/p.Height, c.Box[2]*w/p.Width, c.Box[3]*h/p.Height)
		if c.Inside {
			draw.DrawMask(img, r, image.NewUniform(marker()), image.Point{}, image.NewUniform(color.Alpha{50}), image.Point{}, draw.Over)
		}
		frame(img, image.Rect(r.Min.X, r.Min.Y, r.Max.X+1, r.Max.Y+1).Intersect(img.Bounds()), 1, color.RGBA{0, 200, 220, 255})
		_, name, _ := strings.Cut(c.Condition, ":")
		if r.Dx() >= len(name)*basicfont.Face7x13.Advance+4 && r.Dy() >= line {
			writePreview(img, r.Min.X+3, r.Min.Y+2, r.Dx(), name)
		}
	}
}
