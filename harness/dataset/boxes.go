// Boxes reads where things are in pictures as people write it: boxes and polygons in pixels,
// fractions or per cents, boxes as two corners or as a corner and a size; masks.
//
//  1. Parse and ofColumns read the numbers, as they stand.
//  2. Tell finds out what the numbers of a data set mean, where nobody said it.
//  3. Meaning.Region makes a region of a box.

package dataset

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/harness/dataset/table"
	"assay/perturb"
)

// Units of the numbers.
const (
	pixels       = "px"
	fractionUnit = "fraction"
	perCents     = "percent"
)

// Forms of a box.
const (
	corners = "xyxy" // x0 y0 x1 y1
	sized   = "xywh" // x0 y0, width and height
)

// units are those of numbers, Forms those of boxes.
func units() []string { return []string{pixels, fractionUnit, perCents} }

// forms are those of a box.
func forms() []string { return []string{corners, sized} }

// box is four numbers as they stand. Form is "" where their names do not say it.
type box struct {
	N       [4]float64
	Form    string
	Polygon [][2]float64  // whose bounding box it is; nil: it is none
	Mask    *perturb.Mask // in place of numbers
	File    string        // of a mask, in place of numbers
}

// masked says that a box has no numbers.
func (b box) masked() bool { return b.Mask != nil || b.File != "" }

// sides are boxes by side, "right" or "left", or by another name; "" for both or none.
type sides map[string][]box

// boxWanted is what Parse reads, in words.
const boxWanted = "boxes of four numbers from 0: [x0, y0, x1, y1], [x, y, w, h] or {\"x\": ..., \"y\": ..., \"w\": ..., \"h\": ...}; polygons of three points or more: [[x, y], ...]; " +
	"a mask: \"FILE.png\" or {\"size\": [height, width], \"counts\": [...]}; a list of these, or these by side or name ({\"right\": [...], \"implant\": [...]})"

// names are what the four numbers are called, without _ and in small letters.
func names() [][]string {
	return [][]string{{"x", "y", "w", "h"}, {"x", "y", "width", "height"}, {"x0", "y0", "x1", "y1"}, {"x1", "y1", "x2", "y2"}, {"xmin", "ymin", "xmax", "ymax"}}
}

func boxFold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", " ", "", "-", "", ".", "").Replace(name))
}

// ofColumns are the four of columns that hold a box, each a number; nil: there are none.
func ofColumns(columns []string) (four []string) {
	for _, set := range names() {
		for _, before := range []string{"", "bbox", "box"} {
			four = nil
			for _, n := range set {
				if at := slices.IndexFunc(columns, func(c string) bool { return boxFold(c) == before+n }); at >= 0 {
					four = append(four, columns[at])
				}
			}
			if len(four) == 4 {
				return four
			}
		}
	}
	return nil
}

// namedBox is a box of four numbers that have names; false: they are no numbers from 0.
func namedBox(columns, texts []string) (b box, ok bool) {
	for i, s := range texts {
		n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || !(n >= 0) || math.IsInf(n, 0) {
			return b, false
		}
		b.N[i] = n
	}
	b.Form = corners
	if last := boxFold(columns[3]); strings.HasSuffix(last, "h") || strings.HasSuffix(last, "height") {
		b.Form = sized
	}
	return b, true
}

// parse reads a JSON value, or a text that is one or has, with ; between them, files of masks or
// numbers with blanks or commas between them. nil: there is none. false: it is none that it knows.
func parse(v any) (sides, bool) {
	switch of := v.(type) {
	case nil:
		return nil, true
	case string:
		s := strings.TrimSpace(of)
		if s == "" {
			return nil, true
		}
		if s[0] == '[' || s[0] == '{' || s[0] == '"' {
			v, issues := table.ParseJSON([]byte(s))
			if _, text := v.(string); len(issues) > 0 || text && !isMask(v) {
				return nil, false
			}
			return parse(v)
		}
		var list []any
		for part := range strings.SplitSeq(s, ";") {
			if part = strings.TrimSpace(part); isMask(part) {
				list = append(list, part)
				continue
			}
			var one []any
			for _, n := range strings.FieldsFunc(part, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' }) {
				one = append(one, json.Number(n))
			}
			list = append(list, one)
		}
		return parse(list)
	case map[string]any:
		if b, ok := parseOne(of); ok {
			return sides{"": {b}}, true
		}
		out := sides{}
		for name, list := range of {
			all, ok := parseList(list)
			if mistyped := (strings.EqualFold(name, "right") || strings.EqualFold(name, "left")) && name != strings.ToLower(name); !ok || mistyped || perturb.CheckRegionName(name) != nil {
				return nil, false
			}
			if len(all) > 0 {
				out[name] = all
			}
		}
		if len(out) == 0 {
			return nil, false
		}
		return out, true
	}
	all, ok := parseList(v)
	if len(all) == 0 || !ok {
		return nil, ok
	}
	return sides{"": all}, true
}

// isMask says whether a value is the path of a mask.
func isMask(v any) bool {
	s, text := v.(string)
	return text && strings.HasSuffix(strings.ToLower(s), ".png")
}

// parseList reads a box, a polygon or a mask, or a list of them.
func parseList(v any) (out []box, ok bool) {
	if b, ok := parseOne(v); ok {
		return []box{b}, true
	}
	list, ok := v.([]any)
	for _, one := range list {
		b, ok := parseOne(one)
		if !ok {
			return nil, false
		}
		out = append(out, b)
	}
	return out, ok
}

// parseOne reads a box, a polygon or a mask.
func parseOne(v any) (box, bool) {
	switch of := v.(type) {
	case string:
		return box{File: of}, isMask(of)
	case map[string]any:
		if m := maskNamed(of); m != nil {
			return box{Mask: m}, true
		}
		return boxNamed(of)
	case []any:
		if numbers, ok := floats(of); ok && len(numbers) == 4 {
			return box{N: [4]float64(numbers)}, true
		} else if ok && len(numbers)%2 == 0 {
			return polygon(slices.Collect(slices.Chunk(numbers, 2)))
		}
		var points [][]float64
		for _, p := range of {
			list, _ := p.([]any)
			point, ok := floats(list)
			if !ok || len(point) != 2 {
				return box{}, false
			}
			points = append(points, point)
		}
		return polygon(points)
	}
	return box{}, false
}

// floats are numbers from 0.
func floats(list []any) (out []float64, ok bool) {
	for _, n := range list {
		number, _ := n.(json.Number)
		f, err := number.Float64()
		if err != nil || !(f >= 0) || math.IsInf(f, 0) {
			return nil, false
		}
		out = append(out, f)
	}
	return out, len(out) > 0
}

func polygon(points [][]float64) (box, bool) {
	if len(points) < 3 {
		return box{}, false
	}
	b := box{N: [4]float64{math.Inf(1), math.Inf(1), 0, 0}, Form: corners}
	for _, p := range points {
		b.Polygon = append(b.Polygon, [2]float64(p))
		b.N[0], b.N[1], b.N[2], b.N[3] = min(b.N[0], p[0]), min(b.N[1], p[1]), max(b.N[2], p[0]), max(b.N[3], p[1])
	}
	return b, true
}

// maskNamed is a mask in COCO's run lengths; nil: it is none.
func maskNamed(of map[string]any) *perturb.Mask {
	size, isSize := of["size"].([]any)
	counts, isCounts := of["counts"].([]any)
	if !isSize || !isCounts || len(of) != 2 || len(size) != 2 {
		return nil
	}
	m := &perturb.Mask{}
	whole := func(v any, most int64) (int64, bool) {
		number, _ := v.(json.Number)
		n, err := number.Int64()
		return n, err == nil && n >= 0 && n <= most
	}
	for i, v := range size {
		n, ok := whole(v, perturb.MaxPixels)
		if !ok {
			return nil
		}
		m.Size[i] = int(n)
	}
	for _, v := range counts {
		n, ok := whole(v, perturb.MaxPixels)
		if !ok {
			return nil
		}
		m.Counts = append(m.Counts, uint32(n))
	}
	return m
}

func boxNamed(of map[string]any) (box, bool) {
	keys := slices.Sorted(maps.Keys(of))
	four := ofColumns(keys)
	if len(four) != 4 || len(keys) != 4 {
		return box{}, false
	}
	var texts []string
	for _, k := range four {
		n, _ := of[k].(json.Number)
		texts = append(texts, n.String())
	}
	return namedBox(four, texts)
}

// placed is the boxes of an item and the size of its pictures; of boxes whose numbers are no pixels it
// need not be known.
type placed struct {
	Sides sides
	W, H  int
}

// meaning is what the numbers of a data set mean.
type meaning struct{ Unit, Form string }

// unitOf is what the numbers are in: fractions where more than half of the boxes have none above
// 1, per cents where they have none above 100, else pixels. The others are then wrong.
func unitOf(all []placed) string {
	n, fractions, cents := 0, 0, 0
	for _, p := range all {
		for _, list := range p.Sides {
			for _, b := range list {
				if b.masked() {
					continue
				}
				n++
				switch most := slices.Max(b.N[:]); {
				case most <= 1:
					fractions++
				case most <= 100:
					cents++
				}
			}
		}
	}
	switch {
	case 2*fractions > n:
		return fractionUnit
	case 2*(fractions+cents) > n:
		return perCents
	}
	return pixels
}

// tell finds out which form fits more of the boxes, corners where both fit as many.
func tell(unit, form string, all []placed) (m meaning, both bool) {
	m = meaning{unit, form}
	if form != "" {
		return m, false
	}
	fits := map[string]int{}
	n := 0
	for _, p := range all {
		for _, list := range p.Sides {
			for _, b := range list {
				if b.Form != "" || b.masked() {
					continue
				}
				n++
				for _, f := range forms() {
					if _, bad := (meaning{unit, f}).Region(b, p.W, p.H); bad == "" {
						fits[f]++
					}
				}
			}
		}
	}
	if m.Form = corners; fits[sized] > fits[corners] {
		m.Form = sized
	}
	return m, n > 0 && fits[sized] == n && fits[corners] == n
}

// fine is how finely fractions and per cents are kept: parts of a side.
const fine = 1_000_000

// Region is a box as a part of a picture of w x h pixels; bad says what is wrong with it. Pixels
// are rounded outwards, so that the region covers the box.
func (m meaning) Region(b box, w, h int) (r perturb.Region, bad string) {
	if b.Mask != nil {
		return maskRegion(b.Mask, w, h)
	}
	n := b.N
	if form := b.Form; form == sized || form == "" && m.Form == sized {
		n[2], n[3] = n[0]+n[2], n[1]+n[3]
	}
	scale, limits := 1.0, [4]float64{100, 100, 100, 100}
	switch m.Unit {
	case fractionUnit:
		scale, limits = 100, [4]float64{1, 1, 1, 1}
	case pixels:
		limits = [4]float64{float64(w), float64(h), float64(w), float64(h)}
	}
	if n[0] >= n[2] || n[1] >= n[3] || n[2] > limits[2]+1e-9 || n[3] > limits[3]+1e-9 {
		within := map[string]string{fractionUnit: "from 0 to 1", perCents: "from 0 to 100", pixels: fmt.Sprintf("in a picture of %dx%d pixels", w, h)}[m.Unit]
		return r, fmt.Sprintf("x0 < x1 and y0 < y1, %s (boxes: %s, boxes_form: %s)", within, m.Unit, m.Form)
	}
	for i := range n {
		n[i] = min(n[i], limits[i])
	}
	if b.Polygon != nil {
		points := slices.Clone(b.Polygon)
		for i, p := range points {
			points[i] = [2]float64{p[0] * float64(w) / limits[2], p[1] * float64(h) / limits[3]}
		}
		r, err := perturb.RegionOfPolygon(points, w, h)
		if err != nil {
			return r, "a polygon that has the middle of a pixel"
		}
		return r, ""
	}
	if m.Unit == pixels {
		return perturb.Region{X0: int(math.Floor(n[0])) * h, Y0: int(math.Floor(n[1])) * w, X1: int(math.Ceil(n[2])) * h, Y1: int(math.Ceil(n[3])) * w, Of: w * h}, ""
	}
	whole := true
	for i := range n {
		n[i] *= scale
		whole = whole && math.Abs(n[i]-math.Round(n[i])) < 1e-9
	}
	of := 0
	if !whole {
		of = fine
		for i := range n {
			n[i] *= fine / 100
		}
	}
	at := func(i int) int { return int(math.Round(n[i])) }
	r = perturb.Region{X0: at(0), Y0: at(1), X1: at(2), Y1: at(3), Of: of}
	if err := r.Check(); err != nil {
		return r, err.Error()
	}
	return r, ""
}

// maskRegion is what a mask has of a picture of w x h pixels.
func maskRegion(m *perturb.Mask, w, h int) (perturb.Region, string) {
	if m.Size != [2]int{h, w} {
		return perturb.Region{}, fmt.Sprintf("a mask of %dx%d pixels, as its picture is", w, h)
	}
	r, err := perturb.RegionOfMask(m)
	if err != nil {
		return r, "a mask that fits: " + err.Error()
	}
	return r, ""
}
