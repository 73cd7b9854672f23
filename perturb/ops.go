package perturb

import (
	"cmp"
	"fmt"
	"image"
	"math"
	"strings"
)

// Spec is all that is known of an op.
type Spec struct {
	Name    string   `json:"op"`
	Does    string   `json:"does"`
	Drawn   bool     `json:"drawn"`   // in regions; else it changes the whole image
	Loading bool     `json:"loading"` // it is done to a picture before a condition's other ops, whichever picture they change
	Params  []Param  `json:"parameters,omitempty"`
	Fills   []string `json:"fills,omitempty"` // choices in words: what is put in place of something, or which way; the usual one first

	needs   map[string]string  // by parameter, the fill without which it changes nothing
	neutral map[string]float64 // levels at which together it changes nothing; nil: there are none
	// apply changes img into a new image. areas are there where Drawn, one or more.
	apply func(o Op, img image.Image, areas []area, r *rng) (image.Image, error)
	// moves says where a box of a picture of w x h pixels comes to lie, maybe outside. nil: where it was.
	moves func(o Op, w, h int, box image.Rectangle) image.Rectangle
}

// Param is a numeric parameter of an op. Any of them can be swept.
type Param struct {
	Name    string  `json:"name"`
	Unit    string  `json:"unit,omitempty"` // "": a share or a factor
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	Default float64 `json:"default"`
	Integer bool    `json:"integer,omitempty"`
	Try     string  `json:"-"` // levels to begin with, as a sweep has them; "": it is seldom swept
}

// Range is what the parameter may be, for people.
func (p Param) Range() string {
	kind := ""
	if p.Integer {
		kind = "whole, "
	}
	return strings.TrimSuffix(fmt.Sprintf("%s%v to %v %s", kind, p.Min, p.Max, p.Unit), " ")
}

// Ops are all ops, in the order of the table.
func Ops() []Spec {
	var all []Spec
	for _, e := range table() {
		all = append(all, e.make())
	}
	return all
}

// SpecOf is the entry of an op; ok is false for an unknown one.
func SpecOf(op string) (s Spec, ok bool) {
	for _, e := range table() {
		if e.name == op {
			return e.make(), true
		}
	}
	return Spec{}, false
}

// entry is an op of the table. What is known of it is made when it is asked for: plans ask
// for one op at a time, once for each of their trials.
type entry struct {
	name string
	spec func() Spec
}

func (e entry) make() Spec {
	s := e.spec()
	s.Name = e.name
	return s
}

const greys = "grey levels"

func colours(r, g, b float64) []Param {
	return []Param{{"red", greys, 0, 255, r, true, ""}, {"green", greys, 0, 255, g, true, ""}, {"blue", greys, 0, 255, b, true, ""}}
}

// table has all ops. To add one: an entry here, with its function. The list of the
// CLI, the table of the docs, what a bench.yaml may sweep and every error follow.
func table() []entry {
	return []entry{
		{"window", func() Spec {
			return Spec{Does: "stretches grey from its least and greatest level to 0..255; 16 bit becomes 8", Loading: true,
				apply: func(_ Op, img image.Image, _ []area, _ *rng) (image.Image, error) { return window(img), nil }}
		}},
		{"pad", func() Spec {
			return Spec{Does: "pads to a square, centred on a colour", Loading: true,
				Params: colours(122, 116, 104), // the mean colour CLIP was trained with
				apply: func(o Op, img image.Image, _ []area, _ *rng) (image.Image, error) {
					if b := img.Bounds(); max(b.Dx(), b.Dy()) > MaxPixels/max(b.Dx(), b.Dy()) {
						return nil, fmt.Errorf("op pad: %w", checkSize(max(b.Dx(), b.Dy()), max(b.Dx(), b.Dy())))
					}
					return padSquare(img, o.colour()), nil
				}}
		}},
		{"box", func() Spec {
			return Spec{Does: "outlines the boxes of regions, inwards", Drawn: true,
				Params: append(colours(0, 0, 0), Param{"thickness_px", "pixels", 1, 512, 4, true, "[1, 4, 16]"}),
				apply: func(o Op, img image.Image, areas []area, _ *rng) (image.Image, error) {
					p := PixelsOf(img).clone()
					for _, a := range areas {
						p = drawBox(p, a.Rectangle, int(o.value("thickness_px")), o.colour())
					}
					return p, nil
				}}
		}},
		{"heatmap", func() Spec {
			return Spec{Does: "lays a Gaussian of each region's box over the image", Drawn: true,
				Params:  append(colours(255, 0, 0), Param{"opacity", "", 0, 1, .5, false, "[0.125, 0.25, 0.5]"}, Param{"sigma", "sides of the region", .01, 2, .25, false, "[0.125, 0.25, 0.5]"}),
				neutral: map[string]float64{"opacity": 0},
				apply: func(o Op, img image.Image, areas []area, _ *rng) (image.Image, error) {
					return heatmap(PixelsOf(img), areas, o.value("opacity"), o.value("sigma"), o.colour()), nil
				}}
		}},
		{"occlude", func() Spec {
			return Spec{Drawn: true,
				Does: "replaces regions: by black, their mean, themselves blurred by sigma, noise of their mean and standard deviation",
				Params: []Param{
					{"sigma", "shorter sides of the region", .01, 2, .25, false, "[0.125, 0.25, 0.5]"},
					{paramMargin, "shorter sides of the region", -.45, 2, 0, false, "[-0.2, 0.1, 0.25]"},
					{"opacity", "", 0, 1, 1, false, "[0.25, 0.5, 0.75]"},
				},
				Fills: fillNames(), needs: map[string]string{"sigma": fillBlur}, neutral: map[string]float64{"opacity": 0},
				apply: func(o Op, img image.Image, areas []area, r *rng) (image.Image, error) {
					p := PixelsOf(img)
					covered := p.clone()
					for _, a := range areas {
						occlude(covered, a, o.Fill, o.value("sigma"), r)
					}
					return between(p, covered, o.value("opacity")), nil
				}}
		}},
		{"keep", func() Spec {
			return Spec{Drawn: true,
				Does:   "replaces all but regions: by black, the image's mean, itself blurred by sigma, noise of its mean and standard deviation",
				Params: []Param{{"sigma", "shorter sides of the image", .01, 2, .25, false, "[0.125, 0.25, 0.5]"}},
				Fills:  fillNames(), needs: map[string]string{"sigma": fillBlur},
				apply: func(o Op, img image.Image, areas []area, r *rng) (image.Image, error) {
					p := PixelsOf(img)
					out := p.clone()
					occlude(out, area{Rectangle: out.Bounds()}, o.Fill, o.value("sigma"), r)
					for _, a := range areas {
						a.each(p, func(at int) { copy(out.Pix[at:at+p.Channels], p.Pix[at:]) })
					}
					return out, nil
				}}
		}},
		{"blur", func() Spec {
			return Spec{Does: "blurs the whole image by a Gaussian", Params: []Param{{"sigma_px", "pixels", 0, 256, 4, false, "[1, 2, 4, 8]"}}, neutral: map[string]float64{"sigma_px": 0},
				apply: func(o Op, img image.Image, _ []area, _ *rng) (image.Image, error) {
					return blur(PixelsOf(img), o.value("sigma_px")), nil
				}}
		}},
		{"noise", func() Spec {
			return Spec{Does: "adds seeded, bell-shaped noise, equal in all channels", Params: []Param{{"sigma", greys, 0, 128, 12, false, "[6, 12, 24, 48]"}}, neutral: map[string]float64{"sigma": 0},
				apply: func(o Op, img image.Image, _ []area, r *rng) (image.Image, error) {
					return noise(PixelsOf(img), o.value("sigma"), r), nil
				}}
		}},
		{"contrast", func() Spec {
			return Spec{Does: "moves levels towards or away from the middle grey", Params: []Param{{"factor", "", 0, 4, .5, false, "[0.25, 0.5, 0.75]"}}, neutral: map[string]float64{"factor": 1},
				apply: func(o Op, img image.Image, _ []area, _ *rng) (image.Image, error) {
					factor := o.value("factor")
					return mapped(PixelsOf(img), func(v float64) float64 { return 127.5 + float64((v-127.5)*factor) }), nil
				}}
		}},
		{"gamma", func() Spec {
			return Spec{Does: "raises levels, as shares of the greatest, to the power of gamma: above 1 darkens",
				Params:  []Param{{"gamma", "", .1, 10, 2, false, "[0.5, 2, 4]"}},
				neutral: map[string]float64{"gamma": 1},
				apply: func(o Op, img image.Image, _ []area, _ *rng) (image.Image, error) {
					gamma := o.value("gamma")
					return mapped(PixelsOf(img), func(v float64) float64 { return 255 * math.Pow(v/255, gamma) }), nil
				}}
		}},
		{"saturation", func() Spec {
			return Spec{Does: "moves colours towards or away from their grey (ITU-R BT.601); at 0 all is grey",
				Params:  []Param{{"factor", "", 0, 4, 0, false, "[0, 0.5, 2]"}},
				neutral: map[string]float64{"factor": 1},
				apply: func(o Op, img image.Image, _ []area, _ *rng) (image.Image, error) {
					p := PixelsOf(img)
					return between(luma(p), p, o.value("factor")), nil
				}}
		}},
		{"invert", func() Spec {
			return Spec{Does: "turns every level into 255 less it: black into white",
				apply: func(_ Op, img image.Image, _ []area, _ *rng) (image.Image, error) {
					return mapped(PixelsOf(img), func(v float64) float64 { return 255 - v }), nil
				}}
		}},
		{"channels", func() Spec {
			return Spec{Does: "swaps red and blue; grey stays grey",
				apply: func(_ Op, img image.Image, _ []area, _ *rng) (image.Image, error) {
					return swapped(PixelsOf(img)), nil
				}}
		}},
		{"jpeg", func() Spec {
			return Spec{Does: "compresses as JPEG and decompresses", Params: []Param{{"quality", "", 1, 100, 30, true, "[5, 10, 30, 70]"}},
				apply: func(o Op, img image.Image, _ []area, _ *rng) (image.Image, error) {
					return throughJPEG(PixelsOf(img), int(o.value("quality")))
				}}
		}},
		{"resolution", func() Spec {
			return Spec{Does: "scales down by a factor and up again", Params: []Param{{"factor", "", 1, 64, 4, false, "[2, 4, 8, 16]"}}, neutral: map[string]float64{"factor": 1},
				apply: func(o Op, img image.Image, _ []area, _ *rng) (image.Image, error) {
					return loseResolution(PixelsOf(img), o.value("factor")), nil
				}}
		}},
		{"downscale", func() Spec {
			return Spec{Does: "scales down to a longest side, and leaves what is smaller", Params: []Param{{"max_side_px", "pixels", 16, 65536, 512, true, "[128, 256, 512, 1024]"}},
				apply: func(o Op, img image.Image, _ []area, _ *rng) (image.Image, error) {
					return Shrink(img, int(o.value("max_side_px"))), nil
				}}
		}},
		{"blank", func() Spec {
			return Spec{Does: "leaves one level: the image's mean, black or white", Fills: []string{"mean", "black", fillWhite},
				apply: func(o Op, img image.Image, _ []area, _ *rng) (image.Image, error) {
					p := PixelsOf(img).clone()
					if o.Fill == fillWhite {
						fill(p, p.Bounds(), [3]uint8{255, 255, 255})
					} else {
						occlude(p, area{Rectangle: p.Bounds()}, cmp.Or(o.Fill, "mean"), 0, nil)
					}
					return p, nil
				}}
		}},
		{"static", func() Spec {
			return Spec{Does: "replaces the whole image by seeded noise of its mean and standard deviation",
				apply: func(_ Op, img image.Image, _ []area, r *rng) (image.Image, error) {
					p := PixelsOf(img).clone()
					occlude(p, area{Rectangle: p.Bounds()}, "noise", 0, r)
					return p, nil
				}}
		}},
		{"patches", func() Spec {
			return Spec{Does: "cuts into n x n patches of equal size and shuffles them by the seed, never into their own order; a rest at the right and the bottom stays",
				Params: []Param{{"n", "patches a side", 2, 32, 4, true, "[2, 4, 8, 16]"}},
				apply: func(o Op, img image.Image, _ []area, r *rng) (image.Image, error) {
					return patched(PixelsOf(img), int(o.value("n")), r), nil
				}}
		}},
		{"rotate", func() Spec {
			return Spec{Does: "turns anticlockwise about the centre, with black corners; multiples of 90 move pixels as they are, and 90 swaps width and height",
				Params:  []Param{{"degrees", "degrees", -180, 180, 10, false, "[5, 10, 45, 90]"}},
				neutral: map[string]float64{"degrees": 0},
				apply: func(o Op, img image.Image, _ []area, _ *rng) (image.Image, error) {
					p := PixelsOf(img)
					return turnOf(o.value("degrees"), p.W, p.H).picture(p), nil
				},
				moves: func(o Op, w, h int, box image.Rectangle) image.Rectangle {
					return turnOf(o.value("degrees"), w, h).box(box)
				}}
		}},
		{"flip", func() Spec {
			return Spec{Does: "mirrors: left becomes right, or up becomes down", Fills: []string{"left-right", flipUpDown},
				apply: func(o Op, img image.Image, _ []area, _ *rng) (image.Image, error) {
					return flipped(PixelsOf(img), o.Fill), nil
				},
				moves: func(o Op, w, h int, box image.Rectangle) image.Rectangle {
					if o.Fill == flipUpDown {
						return image.Rect(box.Min.X, h-box.Max.Y, box.Max.X, h-box.Min.Y)
					}
					return image.Rect(w-box.Max.X, box.Min.Y, w-box.Min.X, box.Max.Y)
				}}
		}},
		{"crop", func() Spec {
			return Spec{Does: "keeps the middle: a share of each side", Params: []Param{{"share", "", .1, 1, .8, false, "[0.5, 0.7, 0.9]"}},
				neutral: map[string]float64{"share": 1},
				apply: func(o Op, img image.Image, _ []area, _ *rng) (image.Image, error) {
					p := PixelsOf(img)
					kept := centred(p.W, p.H, o.value("share"))
					return taken(p, kept.Dx(), kept.Dy(), func(x, y int) image.Point { return kept.Min.Add(image.Pt(x, y)) }), nil
				},
				moves: func(o Op, w, h int, box image.Rectangle) image.Rectangle {
					return box.Sub(centred(w, h, o.value("share")).Min)
				}}
		}},
		{"shift", func() Spec {
			return Spec{Does: "moves to the right and down; what comes in is black",
				Params: []Param{
					{"right", "widths", -.5, .5, .1, false, "[0.05, 0.1, 0.2]"},
					{"down", "heights", -.5, .5, 0, false, "[0.05, 0.1, 0.2]"},
				},
				neutral: map[string]float64{"right": 0, "down": 0},
				apply: func(o Op, img image.Image, _ []area, _ *rng) (image.Image, error) {
					p := PixelsOf(img)
					by := shifted(o, p.W, p.H)
					return taken(p, p.W, p.H, func(x, y int) image.Point { return image.Pt(x, y).Sub(by) }), nil
				},
				moves: func(o Op, w, h int, box image.Rectangle) image.Rectangle { return box.Add(shifted(o, w, h)) }}
		}},
	}
}

func (o Op) colour() [3]uint8 {
	return [3]uint8{uint8(o.value("red")), uint8(o.value("green")), uint8(o.value("blue"))}
}
