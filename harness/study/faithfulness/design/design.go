package faithfulness

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"assay/harness/dataset"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
	"assay/results/text"
)

// Question types.
const (
	typeBinary      = "binary"
	typeOrdinal     = "ordinal"
	typeComparative = "comparative"
	typeSpatial     = "spatial"
)

// kind is what a condition changes.
type kind string

const (
	kindBaseline kind = "baseline"
	kindSham     kind = "sham"    // another encoding of the same pixels
	kindText     kind = "text"    // says something
	kindImage    kind = "image"   // draws where it matters
	kindControl  kind = "control" // draws elsewhere, or spoils the whole picture
	kindGrid     kind = "grid"    // covers one cell of a grid
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
	kind   kind
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
		{name: "sham", family: "sham", kind: kindSham},
		{name: "TB-RAD+", family: "TB-RAD", sign: +1, kind: kindText, cue: cueOpinion},
		{name: "TB-RAD-", family: "TB-RAD", sign: -1, kind: kindText, cue: cueOpinion},
		{name: "TB-LA+", family: "TB-LA", sign: +1, kind: kindText, cue: cueLeak},
		{name: "TB-LA-", family: "TB-LA", sign: -1, kind: kindText, cue: cueLeak},
		{name: "VB-BB+", family: "VB-BB", sign: +1, kind: kindImage, op: "box", place: suggested},
		{name: "VB-BB-", family: "VB-BB", sign: -1, kind: kindImage, op: "box", place: suggested},
		{name: "VB-HM+", family: "VB-HM", sign: +1, kind: kindImage, op: "heatmap", place: suggested},
		{name: "VB-HM-", family: "VB-HM", sign: -1, kind: kindImage, op: "heatmap", place: suggested},
		{name: "VH-BB", family: "VH-BB", kind: kindImage, op: "box", place: region},
		{name: "VH-HM", family: "VH-HM", kind: kindImage, op: "heatmap", place: region},
		{name: "VO-BB", family: "VO-BB", kind: kindImage, op: "occlude", place: region},
		{name: "VO-MEAN", family: "VO-MEAN", kind: kindControl, op: "occlude", fill: "mean", place: region},
		{name: "VO-BLUR", family: "VO-BLUR", kind: kindControl, op: "occlude", fill: "blur", place: region},
		{name: "VO-NOISE", family: "VO-NOISE", kind: kindControl, op: "occlude", fill: "noise", place: region},
		{name: "VC-BB", family: "VC-BB", kind: kindControl, op: "box", place: elsewhere},
		{name: "VC-HM", family: "VC-HM", kind: kindControl, op: "heatmap", place: elsewhere},
		{name: "VC-BO", family: "VC-BO", kind: kindControl, op: "occlude", place: elsewhere},
		{name: "VD-BLUR", family: "VD-BLUR", kind: kindControl, op: "blur", place: whole},
		{name: "VD-NOISE", family: "VD-NOISE", kind: kindControl, op: "noise", place: whole},
		{name: "VD-CONTRAST", family: "VD-CONTRAST", kind: kindControl, op: "contrast", place: whole},
		{name: "VD-JPEG", family: "VD-JPEG", kind: kindControl, op: "jpeg", place: whole},
		{name: "VD-RES", family: "VD-RES", kind: kindControl, op: "resolution", place: whole},
	}
}

func designOf(name string) (design, bool) {
	all := designs()
	i := slices.IndexFunc(all, func(d design) bool { return d.name == name })
	if i < 0 {
		return design{}, false
	}
	return all[i], true
}

// ConditionName is a condition that bench.yaml may name.
type ConditionName struct {
	Name    string
	Control bool            // not among `conditions: all`
	Params  []perturb.Param // that can be swept
}

// ConditionNames are the conditions beside the baseline, in the order of tables.
func ConditionNames() []ConditionName {
	var out []ConditionName
	for _, d := range designs() {
		params, _ := perturb.Params(d.op)
		out = append(out, ConditionName{d.name, d.kind == kindControl, params})
	}
	return out
}

// planned is a design as it was asked for: at its default, or at a level of a
// sweep.
type planned struct {
	design
	full  string // the name in keys
	param string // "": the default
	level float64
	// levels are the parameters whose sweep has the default among its levels,
	// with that level: the unswept condition is that point of the sweep.
	levels map[string]float64
	cell   *gridCell // of a grid
}

// levelName is the name of a condition at a level.
func levelName(name, param string, level float64) string {
	return name + "@" + param + "=" + strconv.FormatFloat(level, 'g', -1, 64)
}

// expand turns a choice into what is planned, in the order of designs, each
// condition once. The error says what in it is unknown or impossible.
func expand(c study.Choice) ([]planned, error) {
	swept := map[string][]planned{}
	defaults := map[string]map[string]float64{}
	wanted := map[string]bool{}
	for _, name := range c.Conditions {
		if _, ok := designOf(name); !ok {
			return nil, fmt.Errorf("no condition %q in study %s", name, Name)
		}
		wanted[name] = true
	}
	for _, s := range c.Sweeps {
		d, ok := designOf(s.Condition)
		if !ok {
			return nil, fmt.Errorf("no condition %q in study %s", s.Condition, Name)
		}
		params, _ := perturb.Params(d.op)
		at := slices.IndexFunc(params, func(p perturb.Param) bool { return p.Name == s.Param })
		if at < 0 {
			return nil, fmt.Errorf("condition %s has no parameter %q", d.name, s.Param)
		}
		for _, l := range s.Levels {
			p := params[at]
			if err := (perturb.Op{Name: d.op, Fill: d.fill, Params: map[string]float64{p.Name: l}}).Check(); err != nil {
				return nil, fmt.Errorf("condition %s: %w", d.name, err)
			}
			if l == p.Default {
				wanted[d.name] = true
				if defaults[d.name] == nil {
					defaults[d.name] = map[string]float64{}
				}
				defaults[d.name][p.Name] = l
				continue
			}
			if !slices.ContainsFunc(swept[d.name], func(o planned) bool { return o.param == p.Name && o.level == l }) {
				swept[d.name] = append(swept[d.name], planned{design: d, full: levelName(d.name, p.Name, l), param: p.Name, level: l})
			}
		}
	}
	var out []planned
	for _, d := range designs() {
		if wanted[d.name] {
			out = append(out, planned{design: d, full: d.name, levels: defaults[d.name]})
		}
		out = append(out, swept[d.name]...)
	}
	cells, err := gridCells(c.Grid)
	return append(out, cells...), err
}

// window is what every picture of this study goes through, the baseline's too:
// grey levels from the least to the greatest, 8 bit, our own encoding.
func window() perturb.Op { return perturb.Op{Name: "window"} }

// maker makes the conditions of items.
type maker struct {
	planned []planned
	cues    map[string]*template.Template
	grid    map[string]bool // names of the conditions of a grid
}

// cueData is what the template of a cue may use.
type cueData struct {
	Question string
	Options  []string
	Target   string // the answer that the cue points to, as the question words it
}

// conditions is Study.Conditions.
func (m maker) conditions(seed uint64, it dataset.Item) ([]perturb.Condition, []study.Missing) {
	base := perturb.Baseline()
	base.Ops = []perturb.Op{window()}
	out := make([]perturb.Condition, 1, 1+len(m.planned))
	out[0] = base
	var missing []study.Missing
	target := targetsOf(seed, it)
	said := map[string]string{} // by cue and target
	for _, p := range m.planned {
		c, why := m.condition(p, it, target, said)
		if why != "" {
			missing = append(missing, study.Missing{Condition: p.full, Why: why})
			continue
		}
		out = append(out, c)
	}
	return out, missing
}

// condition makes one condition of an item, or says why it has none.
func (m maker) condition(p planned, it dataset.Item, target targets, said map[string]string) (perturb.Condition, string) {
	c := perturb.Condition{Name: p.full, Family: p.family, Sign: p.sign, Param: p.param, Level: p.level,
		Ops: []perturb.Op{window()}, Sham: p.kind == kindSham}
	switch {
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
			if err := m.cues[p.cue].Execute(&b, cueData{it.Question, optionTexts(it), c.Target}); err != nil {
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
		op.Regions = []perturb.Region{p.cell.region()}
	case region, elsewhere:
		if op.Regions = all; len(all) == 0 {
			return c, noRegion
		}
	case suggested:
		if it.Type != typeComparative {
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
	switch a, _ := questionOf(it).read(answer); a {
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

// questionOf is what answers to an item are compared by.
func questionOf(it dataset.Item) question {
	q := question{Ordinal: it.Type == typeOrdinal, Options: optionTexts(it), Scale: it.Scale, Aliases: it.Aliases}
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
	q := questionOf(it)
	gold, ok := q.read(it.Answer)
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
		if flipped, ok := q.flip(it.Answer, o); ok && flipped {
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
