package perturb

import (
	"fmt"
	"image"
	"strings"
)

// Spec is all that is known of an op.
type Spec struct {
	Name    string   `json:"op"`
	Does    string   `json:"does"`
	Drawn   bool     `json:"drawn"`   // in regions; else it changes the whole image
	Loading bool     `json:"loading"` // it is done to a picture before a condition's other ops, whichever picture they change
	Params  []Param  `json:"parameters,omitempty"`
	Fills   []string `json:"fills,omitempty"` // what it can put in place of a region, the usual one first

	needs   map[string]string // by parameter, the fill without which it changes nothing
	neutral *neutral          // nil: it has no level that changes nothing
	// apply changes img into a new image. boxes are there where Drawn, one or more.
	apply func(o Op, img image.Image, boxes []image.Rectangle, r *rng) (image.Image, error)
}

// neutral is a level of a parameter at which an op changes nothing.
type neutral struct {
	param string
	level float64
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

// Ops are all ops. To add one: an entry here, with its function. The list of the
// CLI, the table of the docs, what a bench.yaml may sweep and every error follow.
func Ops() []Spec {
	const greys = "grey levels"
	colour := func(r, g, b float64) []Param {
		return []Param{{"red", greys, 0, 255, r, true, ""}, {"green", greys, 0, 255, g, true, ""}, {"blue", greys, 0, 255, b, true, ""}}
	}
	return []Spec{
		{Name: "window", Does: "stretches grey from its least and greatest level to 0..255; 16 bit becomes 8", Loading: true,
			apply: func(_ Op, img image.Image, _ []image.Rectangle, _ *rng) (image.Image, error) { return window(img), nil }},
		{Name: "pad", Does: "pads to a square, centred on a colour", Loading: true,
			Params: colour(122, 116, 104), // the mean colour CLIP was trained with
			apply: func(o Op, img image.Image, _ []image.Rectangle, _ *rng) (image.Image, error) {
				if b := img.Bounds(); max(b.Dx(), b.Dy()) > MaxPixels/max(b.Dx(), b.Dy()) {
					return nil, fmt.Errorf("op pad: %w", checkSize(max(b.Dx(), b.Dy()), max(b.Dx(), b.Dy())))
				}
				return padSquare(img, o.colour()), nil
			}},
		{Name: "box", Does: "outlines regions, inwards", Drawn: true,
			Params: append(colour(0, 0, 0), Param{"thickness_px", "pixels", 1, 512, 4, true, "[1, 4, 16]"}),
			apply: func(o Op, img image.Image, boxes []image.Rectangle, _ *rng) (image.Image, error) {
				p := PixelsOf(img).clone()
				for _, box := range boxes {
					p = drawBox(p, box, int(o.value("thickness_px")), o.colour())
				}
				return p, nil
			}},
		{Name: "heatmap", Does: "lays a Gaussian of each region's size over the image", Drawn: true,
			Params:  append(colour(255, 0, 0), Param{"opacity", "", 0, 1, .5, false, "[0.125, 0.25, 0.5]"}, Param{"sigma", "sides of the region", .01, 2, .25, false, "[0.125, 0.25, 0.5]"}),
			neutral: &neutral{"opacity", 0},
			apply: func(o Op, img image.Image, boxes []image.Rectangle, _ *rng) (image.Image, error) {
				return heatmap(PixelsOf(img), boxes, o.value("opacity"), o.value("sigma"), o.colour()), nil
			}},
		{Name: "occlude", Does: "replaces regions: by black, their mean, themselves blurred by sigma, noise of their mean and standard deviation", Drawn: true,
			Params: []Param{{"sigma", "shorter sides of the region", .01, 2, .25, false, "[0.125, 0.25, 0.5]"}},
			Fills:  fillNames(), needs: map[string]string{"sigma": fillBlur},
			apply: func(o Op, img image.Image, boxes []image.Rectangle, r *rng) (image.Image, error) {
				p := PixelsOf(img).clone()
				for _, box := range boxes {
					occlude(p, box, o.Fill, o.value("sigma"), r)
				}
				return p, nil
			}},
		{Name: "blur", Does: "blurs the whole image by a Gaussian", Params: []Param{{"sigma_px", "pixels", 0, 256, 4, false, "[1, 2, 4, 8]"}}, neutral: &neutral{"sigma_px", 0},
			apply: func(o Op, img image.Image, _ []image.Rectangle, _ *rng) (image.Image, error) {
				return blur(PixelsOf(img), o.value("sigma_px")), nil
			}},
		{Name: "noise", Does: "adds seeded, bell-shaped noise, equal in all channels", Params: []Param{{"sigma", greys, 0, 128, 12, false, "[6, 12, 24, 48]"}}, neutral: &neutral{"sigma", 0},
			apply: func(o Op, img image.Image, _ []image.Rectangle, r *rng) (image.Image, error) {
				return noise(PixelsOf(img), o.value("sigma"), r), nil
			}},
		{Name: "contrast", Does: "moves levels towards or away from the middle grey", Params: []Param{{"factor", "", 0, 4, .5, false, "[0.25, 0.5, 0.75]"}}, neutral: &neutral{"factor", 1},
			apply: func(o Op, img image.Image, _ []image.Rectangle, _ *rng) (image.Image, error) {
				return contrast(PixelsOf(img), o.value("factor")), nil
			}},
		{Name: "jpeg", Does: "compresses as JPEG and decompresses", Params: []Param{{"quality", "", 1, 100, 30, true, "[5, 10, 30, 70]"}},
			apply: func(o Op, img image.Image, _ []image.Rectangle, _ *rng) (image.Image, error) {
				return throughJPEG(PixelsOf(img), int(o.value("quality")))
			}},
		{Name: "resolution", Does: "scales down by a factor and up again", Params: []Param{{"factor", "", 1, 64, 4, false, "[2, 4, 8, 16]"}}, neutral: &neutral{"factor", 1},
			apply: func(o Op, img image.Image, _ []image.Rectangle, _ *rng) (image.Image, error) {
				return loseResolution(PixelsOf(img), o.value("factor")), nil
			}},
		{Name: "downscale", Does: "scales down to a longest side, and leaves what is smaller", Params: []Param{{"max_side_px", "pixels", 16, 65536, 512, true, "[128, 256, 512, 1024]"}},
			apply: func(o Op, img image.Image, _ []image.Rectangle, _ *rng) (image.Image, error) {
				return Shrink(img, int(o.value("max_side_px"))), nil
			}},
	}
}

func (o Op) colour() [3]uint8 {
	return [3]uint8{uint8(o.value("red")), uint8(o.value("green")), uint8(o.value("blue"))}
}
