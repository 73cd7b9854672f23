package perturb

import (
	"errors"
	"fmt"
	"image"
	"maps"
	"math"
	"slices"
	"strings"
)

// Op is one change of pixels, as data: a name of OpNames, its parameters (those
// of Params; what is not given has its default), and for box, heatmap and
// occlude the regions. No region: nothing is changed.
type Op struct {
	Name      string
	Params    map[string]float64
	Fill      string // occlude: one of Fills; "": black
	Regions   []Region
	Elsewhere bool // at a seeded other place of equal size: the control for Regions
}

// Param is a numeric parameter of an op. Any of them can be swept.
type Param struct {
	Name     string // with its unit, "thickness_px"
	Min, Max float64
	Default  float64
	Integer  bool
}

// OpNames are all ops, in the order of their documentation in Params.
func OpNames() []string {
	return []string{"window", "pad", "box", "heatmap", "occlude", "blur", "noise", "contrast", "jpeg", "resolution"}
}

// Fills are what occlude puts in place of a region: black; its mean; itself
// blurred; noise of its mean and standard deviation.
func Fills() []string { return []string{"black", "mean", "blur", "noise"} }

// Params are the parameters of an op; ok is false for an unknown one.
//
//	window      grey min-max to 0..255 (16 bit becomes 8)
//	pad         square, centred, on a colour
//	box         outline, drawn inwards
//	heatmap     Gaussian of the box over the image; sigma in box sides
//	occlude     the region is replaced; sigma of Fill "blur" in shorter box sides
//	blur        Gaussian, the whole image
//	noise       seeded, bell-shaped, sigma in grey levels, equal in all channels
//	contrast    about the middle grey
//	jpeg        compression and decompression
//	resolution  scaled down by factor and up again
func Params(op string) (params []Param, ok bool) {
	colour := func(r, g, b float64) []Param {
		return []Param{{"red", 0, 255, r, true}, {"green", 0, 255, g, true}, {"blue", 0, 255, b, true}}
	}
	switch op {
	case "window":
		return nil, true
	case "pad":
		return colour(122, 116, 104), true // the mean colour CLIP was trained with
	case "box":
		return append(colour(0, 0, 0), Param{"thickness_px", 1, 512, 4, true}), true
	case "heatmap":
		return append(colour(255, 0, 0), Param{"opacity", 0, 1, .5, false}, Param{"sigma", .01, 2, .25, false}), true
	case "occlude":
		return []Param{{"sigma", .01, 2, .25, false}}, true
	case "blur":
		return []Param{{"sigma_px", 0, 256, 4, false}}, true
	case "noise":
		return []Param{{"sigma", 0, 128, 12, false}}, true
	case "contrast":
		return []Param{{"factor", 0, 4, .5, false}}, true
	case "jpeg":
		return []Param{{"quality", 1, 100, 30, true}}, true
	case "resolution":
		return []Param{{"factor", 1, 64, 4, false}}, true
	}
	return nil, false
}

// Drawn says whether the op changes its regions alone, not the whole image.
func (o Op) Drawn() bool { return o.Name == "box" || o.Name == "heatmap" || o.Name == "occlude" }

// Check says everything that is wrong with an op.
func (o Op) Check() error {
	params, ok := Params(o.Name)
	if !ok {
		return fmt.Errorf("unknown op %q: expected one of %s", o.Name, strings.Join(OpNames(), ", "))
	}
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("op %s: "+format, append([]any{o.Name}, args...)...))
	}
	var names []string
	for _, p := range params {
		names = append(names, p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Params)) {
		i := slices.Index(names, name)
		if i < 0 {
			bad("unknown parameter %q: expected one of %s", name, strings.Join(names, ", "))
			continue
		}
		v, p := o.Params[name], params[i]
		if !(v >= p.Min && v <= p.Max) { // also NaN
			bad("%s = %v: must be from %v to %v", name, v, p.Min, p.Max)
		} else if p.Integer && v != math.Trunc(v) {
			bad("%s = %v: must be a whole number", name, v)
		}
	}
	if !o.Drawn() && (len(o.Regions) > 0 || o.Elsewhere) {
		bad("takes no regions: it changes the whole image")
	}
	if o.Fill != "" && (o.Name != "occlude" || !slices.Contains(Fills(), o.Fill)) {
		bad("unknown fill %q: only occlude has one of %s", o.Fill, strings.Join(Fills(), ", "))
	}
	for _, r := range o.Regions {
		if err := r.Check(); err != nil {
			bad("%w", err)
		}
	}
	return errors.Join(errs...)
}

// value is a parameter or its default. The op has been checked.
func (o Op) value(name string) float64 {
	if v, ok := o.Params[name]; ok {
		return v
	}
	params, _ := Params(o.Name)
	for _, p := range params {
		if p.Name == name {
			return p.Default
		}
	}
	panic("perturb: internal error: op " + o.Name + " has no parameter " + name)
}

func (o Op) colour() [3]uint8 {
	return [3]uint8{uint8(o.value("red")), uint8(o.value("green")), uint8(o.value("blue"))}
}

// boxes are the op's regions in an image of w x h pixels.
func (o Op) boxes(w, h int, r *rng) ([]image.Rectangle, error) {
	var at []image.Rectangle
	for _, reg := range o.Regions {
		at = append(at, reg.Pixels(w, h))
	}
	if !o.Elsewhere {
		return at, nil
	}
	moved := make([]image.Rectangle, len(at))
	for i, b := range at {
		var err error
		if moved[i], err = elsewhere(b, at, w, h, r); err != nil {
			return nil, err
		}
	}
	return moved, nil
}

// Apply changes img into a new image; img itself is left alone. What changes
// nothing gives img back. The seed decides noise and other places.
func (o Op) Apply(img image.Image, seed uint64) (image.Image, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	b := img.Bounds()
	if err := checkSize(b.Dx(), b.Dy()); err != nil {
		return nil, fmt.Errorf("op %s: %w", o.Name, err)
	}
	r := &rng{state: seed}
	boxes, err := o.boxes(b.Dx(), b.Dy(), r)
	if err != nil {
		return nil, fmt.Errorf("op %s: %w", o.Name, err)
	}
	switch o.Name {
	case "window":
		return Window(img), nil
	case "pad":
		if side := max(b.Dx(), b.Dy()); side > MaxPixels/side {
			return nil, fmt.Errorf("op pad: %w", checkSize(side, side))
		}
		return PadSquare(img, o.colour()), nil
	case "box", "occlude":
		if len(boxes) == 0 {
			return img, nil
		}
		p := PixelsOf(img).clone()
		for _, box := range boxes {
			if o.Name == "box" {
				p = drawBox(p, box, int(o.value("thickness_px")), o.colour())
			} else {
				occlude(p, box, o.Fill, o.value("sigma"), r)
			}
		}
		return p, nil
	case "heatmap":
		if len(boxes) == 0 || o.value("opacity") == 0 {
			return img, nil
		}
		return heatmap(PixelsOf(img), boxes, o.value("opacity"), o.value("sigma"), o.colour()), nil
	}
	// Each of the others has a level that changes nothing.
	neutral := map[string]struct {
		param string
		level float64
	}{"blur": {"sigma_px", 0}, "noise": {"sigma", 0}, "contrast": {"factor", 1}, "resolution": {"factor", 1}}
	if n, ok := neutral[o.Name]; ok && o.value(n.param) == n.level {
		return img, nil
	}
	p := PixelsOf(img)
	switch o.Name {
	case "blur":
		return blur(p, o.value("sigma_px")), nil
	case "noise":
		return noise(p, o.value("sigma"), r), nil
	case "contrast":
		return contrast(p, o.value("factor")), nil
	case "jpeg":
		return throughJPEG(p, int(o.value("quality")))
	case "resolution":
		return loseResolution(p, o.value("factor")), nil
	}
	panic("perturb: internal error: op " + o.Name + " has parameters and does nothing")
}
