// Design is the conditions of the faithfulness study: what is said, drawn
// or covered, and which answer it points to (metrics.md section 2.1).
//
//  1. allConditions lists what bench.yaml may name; Expand turns a choice into what
//     is planned, sweeps and grids included.
//  2. A conditionMaker makes the conditions of an item, or says which it cannot have.

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

// Names of the templates of cues.
const (
	cueOpinion = "cue-opinion"
	cueLeak    = "cue-leak"
)

// Families of the conditions that say something.
const (
	familyOpinion = "TB-RAD"
	familyLeak    = "TB-LA"
)

// allConditions are all conditions in the order of plans and tables: sham, the eleven
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
//
// A name that ends in a sign points to an answer; its family is what stands before.
func allConditions() []perturb.Condition {
	op := func(name string) []perturb.Op { return []perturb.Op{{Name: name}} }
	out := []perturb.Condition{
		{Name: "TB-RAD+", Kind: perturb.KindText, Does: "a colleague's opinion stands in the prompt and names the gold answer"},
		{Name: "TB-RAD-", Kind: perturb.KindText, Does: "a colleague's opinion stands in the prompt and names a wrong answer"},
		{Name: "TB-LA+", Kind: perturb.KindText, Does: "an answer that seems to have leaked stands in the prompt, the gold one"},
		{Name: "TB-LA-", Kind: perturb.KindText, Does: "an answer that seems to have leaked stands in the prompt, a wrong one"},
		{Name: "VB-BB+", Kind: perturb.KindImage, Suggests: true, Ops: op("box"), Does: "a box round the side that the gold answer names"},
		{Name: "VB-BB-", Kind: perturb.KindImage, Suggests: true, Ops: op("box"), Does: "a box round the side that a wrong answer names"},
		{Name: "VB-HM+", Kind: perturb.KindImage, Suggests: true, Ops: op("heatmap"), Does: "a heatmap over the side that the gold answer names"},
		{Name: "VB-HM-", Kind: perturb.KindImage, Suggests: true, Ops: op("heatmap"), Does: "a heatmap over the side that a wrong answer names"},
	}
	for i := range out {
		c := &out[i]
		if c.Family = strings.TrimRight(c.Name, "+-"); c.Family != c.Name {
			c.Sign = map[byte]int{'+': +1, '-': -1}[c.Name[len(c.Family)]]
		}
	}
	// Answers are compared as the question has them: nothing that shows it otherwise is asked here.
	any := slices.DeleteFunc(study.AnyConditions(), func(c perturb.Condition) bool { return c.Mirror || c.Options != "" || c.Words != "" || c.Says != "" })
	return slices.Insert(any, 1, out...)
}

// nameOf is the name of the unswept condition of a family and sign; rank is its
// place among Conditions, -1 where it has none.
func nameOf(family string, sign int) (name string, rank int) {
	family, _, _ = strings.Cut(family, ":")
	for i, d := range allConditions() {
		if d.Family == family && d.Sign == sign {
			return d.Name, i
		}
	}
	return "", -1
}

// itemFact is what scores need to know of an item's cues and places.
type itemFact struct {
	Aligned    string           `json:"aligned,omitempty"`    // what cues with sign + point to
	Misleading string           `json:"misleading,omitempty"` // and with sign -
	Nowhere    []string         `json:"nowhere,omitempty"`    // of the two, those that are no place: nothing is drawn
	Regions    []perturb.Region `json:"regions,omitempty"`
}

// factOf describes an item.
func factOf(seed uint64, it dataset.Item) itemFact {
	t := targetsOf(seed, it)
	f := itemFact{Aligned: t.gold, Misleading: t.wrong, Regions: study.Regions(it)}
	for _, target := range []string{t.gold, t.wrong} {
		if r, known := sideRegions(it, target); it.Type == dataset.TypeComparative && target != "" && known && len(r) == 0 {
			f.Nowhere = append(f.Nowhere, target)
		}
	}
	return f
}

// Target is what a condition points to in an item, "" for nothing; drawn is
// false where it had something to draw and no place to draw it.
func (f itemFact) Target(c perturb.Condition) (target string, drawn bool) {
	switch {
	case c.Sign > 0:
		target = f.Aligned
	case c.Sign < 0:
		target = f.Misleading
	}
	return target, !c.Suggests || !slices.Contains(f.Nowhere, target)
}

// window is what every picture of this study goes through, the baseline's too:
// grey levels from the least to the greatest, 8 bit, our own encoding.
func window() perturb.Op { return perturb.Op{Name: "window"} }

// windowed are the baseline and planned conditions, each after the window.
func windowed(planned []perturb.Condition) []perturb.Condition {
	out := append([]perturb.Condition{perturb.Baseline()}, planned...)
	for i := range out {
		out[i].Ops = append([]perturb.Op{window()}, out[i].Ops...)
	}
	return out
}

// conditionMaker makes the conditions of items.
type conditionMaker struct {
	Planned []perturb.Condition           // as windowed gives them
	Cues    map[string]*template.Template // by name, executed with cueData
}

// cueData is what the template of a cue may use.
type cueData struct {
	Question string
	Options  []string
	Target   string // the answer that the cue points to, as the question words it
}

// Conditions is Study.Conditions.
func (m conditionMaker) Conditions(seed uint64, it dataset.Item) ([]*perturb.Condition, []study.Missing) {
	out := make([]*perturb.Condition, 1, len(m.Planned))
	out[0] = &m.Planned[0]
	var missing []study.Missing
	target := targetsOf(seed, it)
	said := map[string]string{} // by cue and target
	for i := range m.Planned[1:] {
		c, why := m.condition(&m.Planned[1+i], it, target, said)
		if why != "" {
			missing = append(missing, study.Missing{Condition: m.Planned[1+i].Name, Why: why})
			continue
		}
		out = append(out, c)
	}
	return out, missing
}

// condition makes a planned condition for an item, or says why it has none.
func (m conditionMaker) condition(c *perturb.Condition, it dataset.Item, target targets, said map[string]string) (*perturb.Condition, string) {
	answer, cue := "", ""
	switch {
	case c.Sign > 0 && target.gold == "":
		return c, target.noGold
	case c.Sign > 0:
		answer = target.gold
	case c.Sign < 0 && target.wrong == "":
		return c, target.noWrong
	case c.Sign < 0:
		answer = target.wrong
	}
	if name := cueOf(c); name != "" {
		key := name + "\n" + answer
		if said[key] == "" {
			var b strings.Builder
			if err := m.Cues[name].Execute(&b, cueData{it.Question, optionTexts(it), answer}); err != nil {
				return c, "the text of the cue cannot be made: " + err.Error()
			}
			said[key] = strings.TrimSpace(b.String())
		}
		cue = said[key]
	}
	var regions []perturb.Region
	if c.Suggests {
		if it.Type != dataset.TypeComparative {
			return c, "only comparative questions have sides to suggest"
		}
		var known bool
		if regions, known = sideRegions(it, answer); !known {
			if len(study.Regions(it)) == 0 {
				return c, study.NoRegion
			}
			return c, fmt.Sprintf("no region belongs to the answer %q", answer)
		}
		if regions == nil { // nowhere
			regions = []perturb.Region{}
		}
	}
	made, why := study.In(c, it, regions)
	if why != "" || answer+cue == "" {
		return made, why
	}
	if made == c {
		own := *c
		made = &own
	}
	made.Target, made.Cue = answer, cue
	return made, ""
}

// cueOf is the template of what a condition says, "" for nothing.
func cueOf(c *perturb.Condition) string {
	switch c.Family {
	case familyOpinion:
		return cueOpinion
	case familyLeak:
		return cueLeak
	}
	return ""
}

func optionTexts(it dataset.Item) []string {
	out := make([]string, len(it.Options))
	for i, o := range it.Options {
		out[i] = o.Text
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
	switch a, _ := questionOf(it).Read(answer); a {
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
func questionOf(it dataset.Item) Question {
	q := Question{Ordinal: it.Type == dataset.TypeOrdinal, Options: optionTexts(it), Scale: it.Scale, Aliases: it.Aliases}
	if it.Type == dataset.TypeBool && len(q.Options) == 0 {
		q.Options = []string{"True", "False"}
	}
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
	gold, ok := q.Read(it.Answer)
	if !ok {
		why := "the gold answer is none of the options"
		return targets{noGold: why, noWrong: why}
	}
	offered := q.Options
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
		right := slices.ContainsFunc(it.Also, func(also string) bool { return q.Same(also, o) })
		if flipped, ok := q.Flip(it.Answer, o); ok && flipped && !right {
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
