// Package perturb makes controlled changes to what a model is shown. It is
// pure: the same source, condition and seed give the same bytes.
//
// The way of a picture:
//
//  1. Config refuses, from the header, what is no image, too large or cut short.
//  2. Decode, and Shrink where a longest side is asked for.
//  3. Condition.Apply runs its ops, each a pure function of pixels.
//  4. EncodePNG, or encodePNG by other filters for the sham condition.
//
// A condition without ops skips 2 to 4 where it can: the file's own bytes are sent.
package perturb

import (
	"fmt"
	"image"
	"slices"
	"strings"
)

// Condition is one controlled change of the input. The zero Condition changes
// nothing, as the baseline does. Nobody parses names; the fields say it all. It is
// stored with a run as scores need it, without what is made for an item.
type Condition struct {
	Name     string   `json:"name"` // "baseline", "sham", "VB-BB-@thickness_px=8"
	Family   string   `json:"family"`
	Kind     Kind     `json:"kind"`
	Sign     int      `json:"sign,omitempty"`     // +1: the cue agrees with the gold answer; -1: it misleads; 0: neither
	Suggests bool     `json:"suggests,omitempty"` // it draws where the target is; that may be nowhere
	Param    string   `json:"param,omitempty"`    // the swept parameter; "": none
	Level    float64  `json:"level,omitempty"`    // its level
	Usual    *float64 `json:"usual,omitempty"`    // level of the sweep that the unswept condition stands for; nil: none
	Cell     *Cell    `json:"cell,omitempty"`     // of a grid, the one that is covered
	Shows    []string `json:"shows,omitempty"`    // kinds of text shown beside the pictures: "hint", "summary"
	From     string   `json:"from,omitempty"`     // who wrote them: "expert", "self"
	NoImage  bool     `json:"no_image,omitempty"` // none of an item's images is shown
	Other    bool     `json:"other,omitempty"`    // the images of another item are shown (dataset.Item.Another)
	Mirror   bool     `json:"mirror,omitempty"`   // left and right change places in question, options and gold answers
	Options  string   `json:"options,omitempty"`  // how options are shown (package render); "": as the item has them
	Draw     int      `json:"draw,omitempty"`     // of several orders of options which, from 1
	Words    string   `json:"words,omitempty"`    // what is done to the question's words, or the name of the texts that it is put in; "": nothing
	Without  int      `json:"without,omitempty"`  // of an item's images the one that is not shown, from 1; 0: all are
	Order    uint64   `json:"order,omitempty"`    // draws another order of the images; 0: that of the item
	Region   string   `json:"region,omitempty"`   // name of an item's regions that it is drawn in; "": all
	Program  string   `json:"program,omitempty"`  // digest of the user's program that changes pictures, or of the texts; "": there is none

	// Ops are done to the pixels, in order. Before a condition is made for an item
	// they have no regions.
	Ops    []Op     `json:"-"`
	Does   string   `json:"-"` // in words
	Image  int      `json:"-"` // of an item with several images the one that is changed, from 1; 0: every one
	Target string   `json:"-"` // the answer of the item that the cue points to
	Cue    string   `json:"-"` // text put between the question and the prompt's last instruction; "": none
	Says   string   `json:"-"` // text put before the prompt; "": none
	Reword *Program `json:"-"` // puts the questions in other words, which are then Words; nil: a file has them
}

// What a condition does to the words of a question.
const (
	WordsTypos = "typos" // letters change places inside of every third longer word
	WordsUpper = "upper" // all capitals
)

// FamilyTexts begins the names of conditions that put questions in other words: "TX-german".
const FamilyTexts = "TX-"

// Worded is the condition that puts questions in the words of a file, or of a program (nil: none).
func Worded(name, digest string, p *Program) Condition {
	return Condition{Name: FamilyTexts + name, Family: FamilyTexts + name, Kind: KindControl, Words: name, Program: digest, Reword: p, Does: "the question in the words of the texts " + name}
}

// Texts are those that a condition puts questions in; false: it does not.
func (c Condition) Texts() (name string, ok bool) {
	return c.Words, c.Words != "" && c.Program != ""
}

// Kind is what a condition changes.
type Kind string

const (
	KindBaseline Kind = "baseline"
	KindSham     Kind = "sham"    // another encoding of the same pixels
	KindText     Kind = "text"    // says something
	KindImage    Kind = "image"   // draws where it matters
	KindControl  Kind = "control" // draws elsewhere, or spoils the whole picture
	KindGrid     Kind = "grid"    // covers one cell of a grid
	kindLoad     Kind = "load"    // nothing of the input: how many requests are in flight
	KindOptions  Kind = "options" // shows the options otherwise
	KindShots    Kind = "shots"   // nothing of the question: how many answered examples stand before it
	kindChoice   Kind = "choice"  // shows fewer images, or the same in another order
)

// Baseline is the condition without a change.
func Baseline() Condition { return Condition{Name: "baseline", Kind: KindBaseline} }

// LeaveOut is the condition that does not show an item's kth image, from 1.
func LeaveOut(k int) Condition {
	return Condition{Name: fmt.Sprintf("LOO@%d", k), Family: "LOO", Kind: kindChoice, Without: k}
}

// Reorder is the condition that shows an item's images in an order that seed draws,
// from 1.
func Reorder(seed uint64) Condition {
	return Condition{Name: fmt.Sprintf("ORDER@%d", seed), Family: "ORDER", Kind: kindChoice, Order: seed}
}

// Downscaled is the condition that scales every image down to a longest side.
func Downscaled(pixels int) Condition {
	return Condition{Name: fmt.Sprintf("DS@max_side_px=%d", pixels), Family: "DS", Kind: KindControl, Param: "max_side_px", Level: float64(pixels),
		Ops: []Op{{Name: "downscale", Params: map[string]float64{"max_side_px": float64(pixels)}}}}
}

// Shown are those of an item's n images that the condition shows, from 0, in the
// order in which it shows them. The seed is the item's; an order that is drawn is
// never the item's own where there is another one.
func (c Condition) Shown(n int, seed uint64) []int {
	if c.NoImage {
		return nil
	}
	shown := make([]int, 0, n)
	for i := range n {
		if i != c.Without-1 {
			shown = append(shown, i)
		}
	}
	if c.Order != 0 {
		r := &rng{state: stream(seed, c.Order)}
		r.reorder(shown)
	}
	return shown
}

// WithRegions adds to conditions those that names ask for in regions of one name, as in
// "VO-BB:implant", each behind the condition that it is of. They are controls. Names that mean no
// such condition add nothing.
func WithRegions(all []Condition, names []string) []Condition {
	all = slices.Clone(all)
	for _, name := range names {
		base, region, _ := strings.Cut(name, ":")
		at := slices.IndexFunc(all, func(c Condition) bool { return c.Name == base })
		if at < 0 || CheckRegionName(region) != nil || slices.ContainsFunc(all, func(c Condition) bool { return c.Name == name }) {
			continue
		}
		c := all[at]
		if n := len(c.Ops); n == 0 || c.Suggests || c.Cell != nil || !c.Ops[n-1].Drawn() && c.Ops[n-1].Program == nil {
			continue
		}
		for at++; at < len(all) && all[at].Region != "" && strings.HasPrefix(all[at].Name, base+":"); at++ {
		}
		c.Name, c.Family, c.Region, c.Kind, c.Does = name, c.Family+":"+region, region, KindControl, c.Does+" (region "+region+")"
		all = slices.Insert(all, at, c)
	}
	return all
}

// Unswept is the name of the condition at no level of a sweep.
func (c Condition) Unswept() string { return c.Family + map[int]string{+1: "+", -1: "-"}[c.Sign] }

// Params are the parameters that a sweep can vary: those of the last op that change
// something.
func (c Condition) Params() []Param {
	if c.Reword != nil {
		return slices.Clone(c.Reword.Params)
	}
	if len(c.Ops) == 0 {
		return nil
	}
	o := c.Ops[len(c.Ops)-1]
	s, _ := o.spec()
	return slices.DeleteFunc(s.Params, func(p Param) bool { return s.needs[p.Name] != "" && s.needs[p.Name] != o.Fill })
}

// Thickness is that of the boxes that the condition draws, in pixels; false: it draws none.
func (c Condition) Thickness() (pixels float64, drawn bool) {
	for _, op := range c.Ops {
		if op.Name == "box" {
			return op.value("thickness_px"), true
		}
	}
	return 0, false
}

// DrawsNothing says of a condition that its only change would be drawn, and that
// there is no place to draw it: the answer it points to is no place.
func (c Condition) DrawsNothing() bool {
	drawn := false
	for _, op := range c.Ops {
		switch s, _ := op.spec(); {
		case s.Loading: // of every picture, the baseline's too
		case len(op.Regions) == 0 && s.Drawn:
			drawn = true
		default:
			return false
		}
	}
	return drawn && c.Cue == ""
}

// On is what the condition does to the nth image of an item, from 0: to one that it
// leaves alone no more than loading does, as at the baseline.
func (c Condition) On(n int) Condition {
	if c.Image != 0 && c.Image != n+1 {
		c.Ops, c.Kind = c.Ops[:c.loading()], KindBaseline
	}
	return c
}

// loading is how many ops at the front belong to loading: the window is that of
// the image as it is stored.
func (c Condition) loading() int {
	n := 0
	for _, op := range c.Ops {
		if s, _ := op.spec(); !s.Loading {
			break
		}
		n++
	}
	return n
}

// Apply runs the condition's ops on src, which it does not change. Without ops
// the result is src itself. The seed decides everything random.
func (c Condition) Apply(src image.Image, seed uint64) (image.Image, error) {
	return c.apply(src, 0, len(c.Ops), seed)
}

// apply runs the ops from to to-1; each has its own stream, whatever runs before. Regions
// are those of img: they move along.
func (c Condition) apply(img image.Image, from, to int, seed uint64) (image.Image, error) {
	rest := c.Ops[from:to]
	for i := from; len(rest) > 0; i++ {
		op := rest[0]
		out, err := op.Apply(img, stream(seed, uint64(i)))
		if err == nil {
			rest, err = op.carry(rest[1:], img.Bounds().Size(), out.Bounds().Size(), stream(seed, uint64(i)))
		}
		if err != nil {
			return nil, fmt.Errorf("condition %q, op %d: %w", c.Name, i+1, err)
		}
		img = out
	}
	return img, nil
}
