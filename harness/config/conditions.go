package config

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/perturb"
	"assay/results/text"
)

// allConditions stands for every condition that is no control.
const allConditions = "all"

// conditions is a list of names, the word all, or a list with all in it; absent:
// all, of a study that has conditions of its own.
func (c *checker) conditions(st *Study, s section, known StudyKind) {
	n := s.get("conditions")
	names, rule := conditionNames(known), Rule{Type: List}
	if len(known.Conditions) > 0 {
		names = append(names, allConditions)
		rule.Names, rule.Default = []string{allConditions}, allConditions
	}
	rule.Values = names
	s.asks("conditions", rule)
	if c.changesNone(st, s, known, "conditions") {
		return
	}
	var asked []string
	wanted := map[string]bool{}
	switch {
	case n == nil:
		wanted[allConditions] = true
	case n.Kind == isText && n.Raw == allConditions && slices.Contains(names, allConditions):
		wanted[allConditions] = true
	default:
		for _, w := range c.words(n, JoinPath(s.path, "conditions")) {
			switch {
			case slices.Contains(names, w.text), known.find(w.text) != nil:
				asked, wanted[w.text] = append(asked, w.text), true
			case w.text == perturb.Baseline().Name:
				c.Errorf(w.at, w.path, "expected other conditions, found the baseline, which is always there; remove it")
			default:
				c.noCondition(w, names)
			}
		}
	}
	own := perturb.WithRegions(known.Conditions, asked)
	for i, k := range perturb.WithRegions(known.conditions(), asked) { // tables follow the study's order
		if wanted[k.Name] || wanted[allConditions] && k.Kind != perturb.KindControl && i < len(own) {
			st.Conditions = append(st.Conditions, k.Name)
		}
	}
}

// changesNone refuses a key where the study changes no inputs, or not in a load sweep or after
// examples.
func (c *checker) changesNone(st *Study, s section, known StudyKind, key string) bool {
	why := ""
	switch {
	case len(known.conditions()) == 0:
		why = "study " + known.Name + " changes no inputs"
	case len(st.Levels) > 0:
		why = "a load sweep changes no inputs"
	case len(st.Shots) > 0:
		why = "a study with examples changes no inputs"
	default:
		return false
	}
	s.none(why, "remove the key", key)
	return true
}

// conditions are all that may be named, in the order of tables.
func (k StudyKind) conditions() []perturb.Condition {
	return append(slices.Clip(k.Conditions), k.Any...)
}

// may says whether the study can be asked under a condition of the user's: where it can be asked
// under others that change as much.
func (k StudyKind) may(own perturb.Condition) bool {
	return slices.ContainsFunc(k.conditions(), func(c perturb.Condition) bool { return c.Words != "" || own.Words == "" })
}

// find is the condition that a name means, also in a region by its name; nil: there is none.
func (k StudyKind) find(name string) *perturb.Condition {
	all := perturb.WithRegions(k.conditions(), []string{name})
	at := slices.IndexFunc(all, func(c perturb.Condition) bool { return c.Name == name })
	if at < 0 {
		return nil
	}
	return &all[at]
}

// noCondition objects to a name, of which names has all that there are.
func (c *checker) noCondition(w word, names []string) {
	base, region, named := strings.Cut(w.text, ":")
	switch {
	case !named || !slices.Contains(names, base):
		c.Errorf(w.at, w.path, "expected %s, found the unknown condition %s%s", oneOf(names), shown(w.text), text.DidYouMean(w.text, names))
	case perturb.CheckRegionName(region) != nil:
		c.Errorf(w.at, w.path, "expected CONDITION:REGION, the name of a region with 1 to 40 letters, digits, - and _, found %s", shown(w.text))
	default:
		c.Errorf(w.at, w.path, "expected a condition that is drawn in a region, found %s, which is not; write %s", shown(base), shown(base))
	}
}

func conditionNames(known StudyKind) []string {
	var names []string
	for _, k := range known.conditions() {
		names = append(names, k.Name)
	}
	return names
}

// sweeps is a list of mappings: a condition, and one parameter of it with its
// levels.
func (c *checker) sweeps(st *Study, s section, known StudyKind) {
	n := s.get("sweeps")
	s.asks("sweeps", Rule{Type: List})
	if n == nil {
		return
	}
	path := JoinPath(s.path, "sweeps")
	if c.changesNone(st, s, known, "sweeps") {
		return
	}
	if n.Kind != isList {
		c.lost(path)
		c.Errorf(n.At, path, "expected a list such as [{condition: VB-BB-, thickness_px: [1, 2, 4]}], found %s", n.Found())
		return
	}
	for i, it := range n.Items {
		sw, ok := c.sweep(it, fmt.Sprintf("%s[%d]", path, i), known)
		if !ok {
			continue
		}
		if slices.ContainsFunc(st.Sweeps, func(o perturb.Sweep) bool { return o.Condition == sw.Condition && o.Param == sw.Param }) {
			c.Errorf(it.At, path, "expected each parameter of a condition once, found %s of %s again; put all levels into one list", sw.Param, sw.Condition)
			continue
		}
		st.Sweeps = append(st.Sweeps, sw)
	}
}

func (c *checker) sweep(n *Node, path string, known StudyKind) (perturb.Sweep, bool) {
	var sw perturb.Sweep
	if !c.mapping(n, path) {
		return sw, false
	}
	s := section{c: c, n: n, path: path}
	if !s.need("condition") {
		return sw, false
	}
	w, ok := s.text("condition")
	if !ok {
		return sw, false
	}
	names := conditionNames(known)
	found := known.find(w.text)
	if found == nil {
		c.noCondition(w, names)
		return sw, false
	}
	sw.Condition = w.text
	params := found.Params()
	if len(params) == 0 {
		c.Errorf(w.at, w.path, "expected a condition that has numbers to sweep, found %s, which has none", shown(w.text))
		return sw, false
	}
	keys := []string{"condition"}
	for _, p := range params {
		keys = append(keys, p.Name)
	}
	c.section(n, path, keys...)
	var given []entry
	for _, e := range n.Entries {
		if e.Key != "condition" && slices.Contains(keys, e.Key) {
			given = append(given, e)
		}
	}
	switch len(given) {
	case 0:
		if len(n.Entries) < 2 { // else an unknown key was reported
			c.Errorf(n.At, path, "expected %s with a list of levels, found none; add it", oneOf(keys[1:]))
		}
		return sw, false
	case 1:
	default:
		c.Errorf(given[1].At, path, "expected one parameter in a sweep, found %s and %s; write a sweep for each", given[0].Key, given[1].Key)
		return sw, false
	}
	sw.Param = given[0].Key
	sw.Levels = c.levels(given[0].Value, JoinPath(path, sw.Param), params[slices.Index(keys, sw.Param)-1])
	return sw, len(sw.Levels) > 0
}

// levels is a list of at least two different numbers in the range of a parameter.
func (c *checker) levels(n *Node, path string, p perturb.Param) []float64 {
	want := fmt.Sprintf("numbers from %v to %v", p.Min, p.Max)
	if p.Integer {
		want = fmt.Sprintf("whole numbers from %v to %v", p.Min, p.Max)
	}
	if n.Kind != isList {
		c.lost(path)
		c.Errorf(n.At, path, "expected a list of %s, found %s", want, n.Found())
		return nil
	}
	var out []float64
	bad := false
	for i, it := range n.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		holder := section{c: c, n: &Node{Kind: IsMapping, At: it.At, Entries: []entry{{Key: at, At: it.At, Value: it}}}}
		before := len(c.Errs)
		v := holder.number(at, math.NaN(), p.Min, p.Max)
		switch {
		case len(c.Errs) > before:
			bad = true
		case p.Integer && v != math.Trunc(v):
			c.Errorf(it.At, at, "expected a whole number, found %s", it.Found())
			bad = true
		case slices.Contains(out, v):
			c.Errorf(it.At, at, "expected each level once, found %s again; remove one", it.Found())
			bad = true
		default:
			out = append(out, v)
		}
	}
	if bad {
		return nil
	}
	if len(out) < 2 {
		c.Errorf(n.At, path, "expected at least two levels (%s), found %d", want, len(out))
		return nil
	}
	slices.Sort(out)
	return out
}

// grid is an occlusion grid: {columns: 8, rows: 8}.
func (c *checker) grid(st *Study, s section, known StudyKind) {
	n := s.get("grid")
	if n == nil {
		return
	}
	if c.changesNone(st, s, known, "grid") {
		return
	}
	s.under("grid", &st.Grid)
}

// maxImages is the most images of an item that can be named one by one.
const maxImages = 1000

// image is the one image of an item that conditions change: 2.
func (c *checker) image(st *Study, s section, known StudyKind) {
	n := s.get("image")
	if n == nil {
		return
	}
	if c.changesNone(st, s, known, "image") {
		return
	}
	st.Image = s.whole("image", 0, 1, maxImages)
}
