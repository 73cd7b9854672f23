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

// Op is one change of pixels, as data: a name of the table Ops, its parameters (what
// is not given has its default), and the regions where it is drawn in some. No
// region: nothing is changed.
type Op struct {
	Name      string
	Params    map[string]float64
	Fill      string // of its Fills: a choice in words; "": the first
	Regions   []Region
	Elsewhere bool // at a seeded other place of equal size: the control for Regions
	// Program does it, in place of an op of the table, and may use Regions. Apply cannot run it: see
	// Condition.ByProgram.
	Program *Program
}

// Drawn says whether the op changes its regions alone, not the whole image.
func (o Op) Drawn() bool {
	s, _ := o.spec()
	return s.Drawn
}

// Check says everything that is wrong with an op.
func (o Op) Check() error {
	spec, ok := o.spec()
	if !ok {
		var known []string
		for _, s := range Ops() {
			known = append(known, s.Name)
		}
		return fmt.Errorf("unknown op %q: expected one of %s", o.Name, strings.Join(known, ", "))
	}
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("op %s: "+format, append([]any{o.Name}, args...)...))
	}
	var names []string
	for _, p := range spec.Params {
		names = append(names, p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Params)) {
		i := slices.Index(names, name)
		if i < 0 {
			bad("unknown parameter %q: expected one of %s", name, strings.Join(names, ", "))
			continue
		}
		if fill := spec.needs[name]; fill != "" && o.Fill != fill {
			bad("%s is of fill %s: another fill has no use for it", name, fill)
			continue
		}
		v, p := o.Params[name], spec.Params[i]
		if !(v >= p.Min && v <= p.Max) { // also NaN
			bad("%s = %v: must be from %v to %v", name, v, p.Min, p.Max)
		} else if p.Integer && v != math.Trunc(v) {
			bad("%s = %v: must be a whole number", name, v)
		}
	}
	if !spec.Drawn && (len(o.Regions) > 0 && o.Program == nil || o.Elsewhere) {
		bad("takes no regions: it changes the whole image")
	}
	switch {
	case o.Fill == "" || slices.Contains(spec.Fills, o.Fill):
	case len(spec.Fills) == 0:
		bad("unknown fill %q: it has none", o.Fill)
	default:
		bad("unknown fill %q: expected one of %s", o.Fill, strings.Join(spec.Fills, ", "))
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
	spec, _ := o.spec()
	for _, p := range spec.Params {
		if p.Name == name {
			return p.Default
		}
	}
	panic("perturb: internal error: op " + o.Name + " has no parameter " + name)
}

// areas are the op's regions in an image of w x h pixels, each with its margin.
func (o Op) areas(w, h int, r *rng) ([]area, error) {
	var at []area
	for _, reg := range o.Regions {
		at = append(at, reg.area(w, h).grown(o.Params[paramMargin], w, h)) // 0 where an op has none
	}
	if !o.Elsewhere {
		return at, nil
	}
	moved := slices.Clone(at)
	for i, a := range at {
		var err error
		if moved[i].Rectangle, err = elsewhere(a.Rectangle, at, w, h, r); err != nil {
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
	if o.Program != nil {
		return nil, fmt.Errorf("op %s is a program: its caller has to run it", o.Name)
	}
	b := img.Bounds()
	if err := checkSize(b.Dx(), b.Dy()); err != nil {
		return nil, fmt.Errorf("op %s: %w", o.Name, err)
	}
	r := &rng{state: seed}
	areas, err := o.areas(b.Dx(), b.Dy(), r)
	if err != nil {
		return nil, fmt.Errorf("op %s: %w", o.Name, err)
	}
	spec, _ := o.spec()
	same := len(spec.neutral) > 0
	for param, level := range spec.neutral {
		same = same && o.value(param) == level
	}
	if same || len(areas) == 0 && spec.Drawn {
		return img, nil
	}
	return spec.apply(o, img, areas, r)
}

// carry moves the regions of ops that come later as o moves what they lie on, from a
// picture of size was to one of size is. What is cut off is in no region any more.
func (o Op) carry(later []Op, was, is image.Point, seed uint64) ([]Op, error) {
	spec, _ := o.spec()
	if spec.moves == nil {
		return later, nil
	}
	moved := slices.Clone(later)
	for i := range moved {
		moved[i].Regions = nil
		for _, reg := range later[i].Regions {
			if reg.Mask != nil {
				out, err := o.Apply(silhouette(reg.area(was.X, was.Y), was.X, was.Y), seed)
				if err != nil {
					return nil, err
				}
				p := PixelsOf(out)
				if reg, err = regionWhere(p.W, p.H, func(x, y int) bool { return p.Pix[y*p.W+x] >= 128 }); err == nil { // else it is cut off
					moved[i].Regions = append(moved[i].Regions, reg)
				}
				continue
			}
			box := spec.moves(o, was.X, was.Y, reg.Pixels(was.X, was.Y)).Intersect(image.Rectangle{Max: is})
			if !box.Empty() {
				moved[i].Regions = append(moved[i].Regions, regionOf(box, is.X, is.Y))
			}
		}
	}
	return moved, nil
}
