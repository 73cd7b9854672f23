// Package design is the conditions of the faithfulness study: what is said, drawn
// or covered, and which answer it points to (metrics.md section 2.1).
//
//  1. Conditions lists what bench.yaml may name; Expand turns a choice into what
//     is planned, sweeps and grids included.
//  2. A Maker makes the conditions of an item, or says which it cannot have.
package design

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"assay/harness/dataset"
	"assay/harness/study"
	"assay/harness/study/faithfulness/score"
	"assay/perturb"
	"assay/results"
	"assay/results/text"
)

// Names of the templates of cues.
const (
	CueOpinion = "cue-opinion"
	CueLeak    = "cue-leak"
)

// Kind is what a condition changes.
type Kind string

const (
	KindBaseline Kind = "baseline"
	KindSham     Kind = "sham"    // another encoding of the same pixels
	KindText     Kind = "text"    // says something
	KindImage    Kind = "image"   // draws where it matters
	KindControl  Kind = "control" // draws elsewhere, or spoils the whole picture
	KindGrid     Kind = "grid"    // covers one cell of a grid
)

// place is where a condition draws.
type place uint8

const (
	nowhere   place = iota
	region          // where the finding is, all of it
	suggested       // on the side that the target names
	elsewhere       // at a seeded other place, of the size of the region
	whole           // the whole picture
	oneCell         // a cell of a grid
)

// design is one condition, before it is made for an item.
type design struct {
	name   string
	family string
	sign   int
	kind   Kind
	cue    string // the template of what is said, "" for nothing
	op     string // of perturb, "" for none
	fill   string
	place  place
}

// designs are all conditions in the order of plans and tables: sham, the eleven
// of metrics.md section 2.1, and controls of our own.
//
//	TB-RAD  a colleague's opinion          TB-LA  a leaked answer
//	VB-BB   a box round the suggested side VB-HM  a heatmap over it
//	VH-BB   a box round the region         VH-HM  a heatmap over it
//	VO-BB   the region blacked out
//
//	VO-MEAN, VO-BLUR, VO-NOISE   the region replaced by its mean, its blur, noise
//	VC-BB, VC-HM, VC-BO          box, heatmap, black box at another place
//	VD-BLUR, VD-NOISE, VD-CONTRAST, VD-JPEG, VD-RES   the whole picture spoilt
func designs() []design {
	return []design{
		{name: "sham", family: "sham", kind: KindSham},
		{name: "TB-RAD+", family: "TB-RAD", sign: +1, kind: KindText, cue: CueOpinion},
		{name: "TB-RAD-", family: "TB-RAD", sign: -1, kind: KindText, cue: CueOpinion},
		{name: "TB-LA+", family: "TB-LA", sign: +1, kind: KindText, cue: CueLeak},
		{name: "TB-LA-", family: "TB-LA", sign: -1, kind: KindText, cue: CueLeak},
		{name: "VB-BB+", family: "VB-BB", sign: +1, kind: KindImage, op: "box", place: suggested},
		{name: "VB-BB-", family: "VB-BB", sign: -1, kind: KindImage, op: "box", place: suggested},
		{name: "VB-HM+", family: "VB-HM", sign: +1, kind: KindImage, op: "heatmap", place: suggested},
		{name: "VB-HM-", family: "VB-HM", sign: -1, kind: KindImage, op: "heatmap", place: suggested},
		{name: "VH-BB", family: "VH-BB", kind: KindImage, op: "box", place: region},
		{name: "VH-HM", family: "VH-HM", kind: KindImage, op: "heatmap", place: region},
		{name: "VO-BB", family: "VO-BB", kind: KindImage, op: "occlude", place: region},
		{name: "VO-MEAN", family: "VO-MEAN", kind: KindControl, op: "occlude", fill: "mean", place: region},
		{name: "VO-BLUR", family: "VO-BLUR", kind: KindControl, op: "occlude", fill: "blur", place: region},
		{name: "VO-NOISE", family: "VO-NOISE", kind: KindControl, op: "occlude", fill: "noise", place: region},
		{name: "VC-BB", family: "VC-BB", kind: KindControl, op: "box", place: elsewhere},
		{name: "VC-HM", family: "VC-HM", kind: KindControl, op: "heatmap", place: elsewhere},
		{name: "VC-BO", family: "VC-BO", kind: KindControl, op: "occlude", place: elsewhere},
		{name: "VD-BLUR", family: "VD-BLUR", kind: KindControl, op: "blur", place: whole},
		{name: "VD-NOISE", family: "VD-NOISE", kind: KindControl, op: "noise", place: whole},
		{name: "VD-CONTRAST", family: "VD-CONTRAST", kind: KindControl, op: "contrast", place: whole},
		{name: "VD-JPEG", family: "VD-JPEG", kind: KindControl, op: "jpeg", place: whole},
		{name: "VD-RES", family: "VD-RES", kind: KindControl, op: "resolution", place: whole},
	}
}

// NameOf is the name of the unswept condition of a family and sign; rank is its
// place among Conditions, -1 where it has none.
func NameOf(family string, sign int) (name string, rank int) {
	for i, d := range designs() {
		if d.family == family && d.sign == sign {
			return d.name, i
		}
	}
	return "", -1
}

// Fact is a condition as scores need it.
type Fact struct {
	Name     string   `json:"name"`
	Family   string   `json:"family"`
	Kind     Kind     `json:"kind"`
	Sign     int      `json:"sign,omitempty"`
	Suggests bool     `json:"suggests,omitempty"` // draws where the target is; that may be nowhere
	Param    string   `json:"param,omitempty"`
	Level    float64  `json:"level,omitempty"`
	Usual    *float64 `json:"usual,omitempty"` // level of the sweep that the unswept condition stands for; nil: none
	Cell     *Cell    `json:"cell,omitempty"`
}

// Fact describes a planned condition.
func (p Planned) Fact() Fact {
	return Fact{p.Full, p.family, p.kind, p.sign, p.place == suggested, p.param, p.level, p.usual, p.Cell}
}

// ItemFact is what scores need to know of an item's cues and places.
type ItemFact struct {
	Aligned    string           `json:"aligned,omitempty"`    // what cues with sign + point to
	Misleading string           `json:"misleading,omitempty"` // and with sign -
	Nowhere    []string         `json:"nowhere,omitempty"`    // of the two, those that are no place: nothing is drawn
	Regions    []perturb.Region `json:"regions,omitempty"`
}

// FactOf describes an item.
func FactOf(seed uint64, it dataset.Item) ItemFact {
	t := targetsOf(seed, it)
	f := ItemFact{Aligned: t.gold, Misleading: t.wrong, Regions: allRegions(it)}
	for _, target := range []string{t.gold, t.wrong} {
		if r, known := sideRegions(it, target); it.Type == dataset.TypeComparative && target != "" && known && len(r) == 0 {
			f.Nowhere = append(f.Nowhere, target)
		}
	}
	return f
}

// Target is what a condition points to in an item, "" for nothing; drawn is
// false where it had something to draw and no place to draw it.
func (f ItemFact) Target(c Fact) (target string, drawn bool) {
	switch {
	case c.Sign > 0:
		target = f.Aligned
	case c.Sign < 0:
		target = f.Misleading
	}
	return target, !c.Suggests || !slices.Contains(f.Nowhere, target)
}

func designOf(name string) (design, bool) {
	all := designs()
	i := slices.IndexFunc(all, func(d design) bool { return d.name == name })
	if i < 0 {
		return design{}, false
	}
	return all[i], true
}

// Condition is a condition that bench.yaml may name.
type Condition struct {
	Name    string
	Control bool            // not among `conditions: all`
	Params  []perturb.Param // that can be swept
}

// Conditions are the conditions beside the baseline, in the order of tables.
func Conditions() []Condition {
	var out []Condition
	for _, d := range designs() {
		params, _ := perturb.Params(d.op)
		out = append(out, Condition{d.name, d.kind == KindControl, params})
	}
	return out
}

// Planned is a design as it was asked for: at its default, or at a level of a
// sweep.
type Planned struct {
	design
	Full  string // the name in keys
	param string // "": the default
	level float64
	// usual is the default of the swept parameter where it is one of the levels: the
	// unswept condition is that point of the sweep.
	usual *float64
	Cell  *Cell // of a grid
	image int   // the image that is changed, from 1; 0: every one
}

// levelName is the name of a condition at a level.
func levelName(name, param string, level float64) string {
	return name + "@" + param + "=" + strconv.FormatFloat(level, 'g', -1, 64)
}

// Expand turns a choice into what is planned, in the order of designs, each
// condition once. The error says what in it is unknown or impossible.
func Expand(c study.Choice) ([]Planned, error) {
	swept := map[string][]Planned{}
	wanted := map[string]bool{}
	for _, name := range c.Conditions {
		if _, ok := designOf(name); !ok {
			return nil, fmt.Errorf("no condition %q in study faithfulness", name)
		}
		wanted[name] = true
	}
	for _, s := range c.Sweeps {
		d, ok := designOf(s.Condition)
		if !ok {
			return nil, fmt.Errorf("no condition %q in study faithfulness", s.Condition)
		}
		params, _ := perturb.Params(d.op)
		at := slices.IndexFunc(params, func(p perturb.Param) bool { return p.Name == s.Param })
		if at < 0 {
			return nil, fmt.Errorf("condition %s has no parameter %q", d.name, s.Param)
		}
		p := params[at]
		var usual *float64
		if slices.Contains(s.Levels, p.Default) {
			usual, wanted[d.name] = &p.Default, true
		}
		for _, l := range s.Levels {
			if err := (perturb.Op{Name: d.op, Fill: d.fill, Params: map[string]float64{p.Name: l}}).Check(); err != nil {
				return nil, fmt.Errorf("condition %s: %w", d.name, err)
			}
			if l != p.Default && !slices.ContainsFunc(swept[d.name], func(o Planned) bool { return o.param == p.Name && o.level == l }) {
				swept[d.name] = append(swept[d.name], Planned{design: d, Full: levelName(d.name, p.Name, l), param: p.Name, level: l, usual: usual})
			}
		}
	}
	var out []Planned
	for _, d := range designs() {
		if wanted[d.name] {
			out = append(out, Planned{design: d, Full: d.name})
		}
		out = append(out, swept[d.name]...)
	}
	cells, err := gridCells(c.Grid)
	out = append(out, cells...)
	for i := range out {
		if out[i].kind != KindText {
			out[i].image = c.Image
		}
	}
	return out, err
}

// window is what every picture of this study goes through, the baseline's too:
// grey levels from the least to the greatest, 8 bit, our own encoding.
func window() perturb.Op { return perturb.Op{Name: "window"} }

// Maker makes the conditions of items.
type Maker struct {
	Planned []Planned
	Cues    map[string]*template.Template // by name, executed with CueData
}

// CueData is what the template of a cue may use.
type CueData struct {
	Question string
	Options  []string
	Target   string // the answer that the cue points to, as the question words it
}

// Conditions is Study.Conditions.
func (m Maker) Conditions(seed uint64, it dataset.Item) ([]perturb.Condition, []study.Missing) {
	base := perturb.Baseline()
	base.Ops = []perturb.Op{window()}
	out := make([]perturb.Condition, 1, 1+len(m.Planned))
	out[0] = base
	var missing []study.Missing
	target := targetsOf(seed, it)
	said := map[string]string{} // by cue and target
	for _, p := range m.Planned {
		c, why := m.condition(p, it, target, said)
		if why != "" {
			missing = append(missing, study.Missing{Condition: p.Full, Why: why})
			continue
		}
		out = append(out, c)
	}
	return out, missing
}

// condition makes one condition of an item, or says why it has none.
func (m Maker) condition(p Planned, it dataset.Item, target targets, said map[string]string) (perturb.Condition, string) {
	c := perturb.Condition{Name: p.Full, Family: p.family, Sign: p.sign, Param: p.param, Level: p.level,
		Ops: []perturb.Op{window()}, Sham: p.kind == KindSham, Image: p.image}
	switch {
	case p.image > len(it.Images):
		return c, fmt.Sprintf("image %d is to be changed and there are fewer", p.image)
	case p.sign > 0 && target.gold == "":
		return c, target.noGold
	case p.sign > 0:
		c.Target = target.gold
	case p.sign < 0 && target.wrong == "":
		return c, target.noWrong
	case p.sign < 0:
		c.Target = target.wrong
	}
	if p.cue != "" {
		key := p.cue + "\n" + c.Target
		if said[key] == "" {
			var b strings.Builder
			if err := m.Cues[p.cue].Execute(&b, CueData{it.Question, optionTexts(it), c.Target}); err != nil {
				return c, "the text of the cue cannot be made: " + err.Error()
			}
			said[key] = strings.TrimSpace(b.String())
		}
		c.Cue = said[key]
	}
	if p.op == "" {
		return c, ""
	}
	op := perturb.Op{Name: p.op, Fill: p.fill, Elsewhere: p.place == elsewhere}
	if p.param != "" {
		op.Params = map[string]float64{p.param: p.level}
	}
	switch all := allRegions(it); p.place {
	case oneCell:
		op.Regions = []perturb.Region{p.Cell.region()}
	case region, elsewhere:
		if op.Regions = all; len(all) == 0 {
			return c, noRegion
		}
	case suggested:
		if it.Type != dataset.TypeComparative {
			return c, "only comparative questions have sides to suggest"
		}
		var known bool
		if op.Regions, known = sideRegions(it, c.Target); !known {
			if len(all) == 0 {
				return c, noRegion
			}
			return c, fmt.Sprintf("no region belongs to the answer %q", c.Target)
		}
	}
	c.Ops = append(c.Ops, op)
	return c, ""
}

const noRegion = "the question has no region"

func optionTexts(it dataset.Item) []string {
	out := make([]string, len(it.Options))
	for i, o := range it.Options {
		out[i] = o.Text
	}
	return out
}

// allRegions are the regions of the finding: unsided, left, right.
func allRegions(it dataset.Item) []perturb.Region {
	var out []perturb.Region
	for _, side := range []string{"", "left", "right"} {
		out = append(out, it.Regions[side]...)
	}
	return out
}

// sideRegions are the regions that an answer to a comparative question points
// to: its side; both, for the same on both; none, for neither. known is false
// where the answer is none of these or the side has no region.
func sideRegions(it dataset.Item, answer string) (r []perturb.Region, known bool) {
	left, right := it.Regions["left"], it.Regions["right"]
	if len(left) == 0 || len(right) == 0 {
		return nil, false
	}
	switch a, _ := QuestionOf(it).Read(answer); a {
	case "left":
		return left, true
	case "right":
		return right, true
	case "same severity", "same", "both":
		return slices.Concat(left, right), true
	case "none", "neither", "absent":
		return nil, true
	}
	return nil, false
}

// QuestionOf is what answers to an item are compared by.
func QuestionOf(it dataset.Item) score.Question {
	q := score.Question{Ordinal: it.Type == dataset.TypeOrdinal, Options: optionTexts(it), Scale: it.Scale, Aliases: it.Aliases}
	for _, o := range it.Options {
		q.Labels = append(q.Labels, o.Label)
	}
	if !slices.ContainsFunc(q.Labels, func(l string) bool { return l != "" }) {
		q.Labels = nil
	}
	return q
}

// targets are the answers that cues of an item point to.
type targets struct {
	gold, noGold   string // the right one, as the question words it; why there is none
	wrong, noWrong string // a misleading one
}

// targetsOf chooses what cues say. The misleading answer is drawn from the
// question's own options, one for all conditions of an item, so that conditions
// can be compared; for an ordinal question it is at least two grades from gold,
// else adopting it would be no flip (metrics.md section 2.1).
func targetsOf(seed uint64, it dataset.Item) targets {
	q := QuestionOf(it)
	gold, ok := q.Read(it.Answer)
	if !ok {
		why := "the gold answer is none of the options"
		return targets{noGold: why, noWrong: why}
	}
	offered := optionTexts(it)
	if len(offered) == 0 {
		offered = it.Scale
	}
	t := targets{gold: it.Answer}
	var wrong []string
	for _, o := range offered {
		if text.Fold(o) == gold {
			t.gold = o
			continue
		}
		if flipped, ok := q.Flip(it.Answer, o); ok && flipped {
			wrong = append(wrong, o)
		}
	}
	if len(wrong) == 0 {
		t.noWrong = "the question has no option to mislead with"
		if q.Ordinal {
			t.noWrong = "no grade is two steps or more from the gold answer"
		}
		return t
	}
	t.wrong = wrong[draw(seed, it.ID, len(wrong))]
	return t
}

// draw is uniform in 0..n-1, from a hash of the seed and an item's name.
func draw(seed uint64, id string, n int) int {
	d := results.DigestOf([]byte("assay misleading answer"), []byte(strconv.FormatUint(seed, 10)), []byte(id))
	v, err := strconv.ParseUint(strings.TrimPrefix(string(d), "sha256:")[:16], 16, 64)
	if err != nil {
		panic("faithfulness: internal error: a digest that is no number")
	}
	hi, _ := bits.Mul64(v, uint64(n))
	return int(hi)
}

// Cell is a cell of an occlusion grid; rows and columns count from 1, at the upper left.
type Cell struct {
	Columns int `json:"columns"`
	Rows    int `json:"rows"`
	Row     int `json:"row"`
	Column  int `json:"column"`
}

// gridCells are the conditions of a grid, row by row.
func gridCells(g study.Grid) ([]Planned, error) {
	if g == (study.Grid{}) {
		return nil, nil
	}
	if g.Columns < 1 || g.Rows < 1 || g.Columns > MaxGrid || g.Rows > MaxGrid {
		return nil, fmt.Errorf("grid of %dx%d cells: expected 1 to %d each way", g.Columns, g.Rows, MaxGrid)
	}
	d := design{name: "VO-GRID", family: "VO-GRID", kind: KindGrid, op: "occlude", place: oneCell}
	var out []Planned
	for r := 1; r <= g.Rows; r++ {
		for c := 1; c <= g.Columns; c++ {
			out = append(out, Planned{design: d, Full: fmt.Sprintf("VO-GRID@%dx%d:r%dc%d", g.Columns, g.Rows, r, c),
				Cell: &Cell{Columns: g.Columns, Rows: g.Rows, Row: r, Column: c}})
		}
	}
	return out, nil
}

// MaxGrid is the most columns and rows of a grid.
const MaxGrid = 32

// region is the cell as a part of the picture.
func (c Cell) region() perturb.Region {
	return perturb.Region{X0: (c.Column - 1) * c.Rows, X1: c.Column * c.Rows, Y0: (c.Row - 1) * c.Columns, Y1: c.Row * c.Columns, Of: c.Columns * c.Rows}
}

// Within says whether the cell's middle lies in one of the regions.
func (c Cell) Within(regions []perturb.Region) bool {
	// The middle in units of 1/(2n) of a side, compared in integers.
	return slices.ContainsFunc(regions, func(r perturb.Region) bool {
		of := r.Of
		if of == 0 {
			of = 100
		}
		x, y := (2*c.Column-1)*of, (2*c.Row-1)*of
		return x >= 2*r.X0*c.Columns && x < 2*r.X1*c.Columns && y >= 2*r.Y0*c.Rows && y < 2*r.Y1*c.Rows
	})
}
