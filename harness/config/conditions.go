package config

import (
	"fmt"
	"math"
	"slices"

	"assay/harness/study"
	"assay/perturb"
)

// allConditions stands for every condition that is no control.
const allConditions = "all"

// conditions is a list of names, the word all, or a list with all in it; absent:
// all.
func (c *checker) conditions(st *Study, s section, known StudyNames) {
	n := s.get("conditions")
	if len(known.Conditions) == 0 {
		if n != nil {
			s.wrong("conditions", n, "expected nothing, because study %s changes no inputs, found %s; remove the key", known.Name, n.found())
		}
		return
	}
	wanted := map[string]bool{}
	switch {
	case n == nil:
		wanted[allConditions] = true
	case n.kind == isText && n.raw == allConditions:
		wanted[allConditions] = true
	default:
		names := append(conditionNames(known), allConditions)
		for _, w := range c.words(n, join(s.path, "conditions")) {
			switch {
			case slices.Contains(names, w.text):
				wanted[w.text] = true
			case w.text == perturb.Baseline().Name:
				c.errorf(w.at, w.path, "expected other conditions, found the baseline, which is always there; remove it")
			default:
				c.errorf(w.at, w.path, "expected %s, found the unknown condition %s%s", oneOf(names), shown(w.text), DidYouMean(w.text, names))
			}
		}
	}
	for _, k := range known.Conditions { // tables follow the study's order
		if wanted[k.Name] || wanted[allConditions] && k.Kind != perturb.KindControl {
			st.Conditions = append(st.Conditions, k.Name)
		}
	}
}

func conditionNames(known StudyNames) []string {
	var names []string
	for _, k := range known.Conditions {
		names = append(names, k.Name)
	}
	return names
}

// sweeps is a list of mappings: a condition, and one parameter of it with its
// levels.
func (c *checker) sweeps(st *Study, s section, known StudyNames) {
	n := s.get("sweeps")
	if n == nil {
		return
	}
	path := join(s.path, "sweeps")
	if len(known.Conditions) == 0 {
		c.errorf(n.at, path, "expected nothing, because study %s changes no inputs, found %s; remove the key", known.Name, n.found())
		return
	}
	if n.kind != isList {
		c.lost(path)
		c.errorf(n.at, path, "expected a list such as [{condition: VB-BB-, thickness_px: [1, 2, 4]}], found %s", n.found())
		return
	}
	for i, it := range n.items {
		sw, ok := c.sweep(it, fmt.Sprintf("%s[%d]", path, i), known)
		if !ok {
			continue
		}
		if slices.ContainsFunc(st.Sweeps, func(o study.Sweep) bool { return o.Condition == sw.Condition && o.Param == sw.Param }) {
			c.errorf(it.at, path, "expected each parameter of a condition once, found %s of %s again; put all levels into one list", sw.Param, sw.Condition)
			continue
		}
		st.Sweeps = append(st.Sweeps, sw)
	}
}

func (c *checker) sweep(n *node, path string, known StudyNames) (study.Sweep, bool) {
	var sw study.Sweep
	if !c.mapping(n, path) {
		return sw, false
	}
	s := section{c, n, path}
	if !s.need("condition") {
		return sw, false
	}
	w, ok := s.text("condition")
	if !ok {
		return sw, false
	}
	names := conditionNames(known)
	at := slices.Index(names, w.text)
	if at < 0 {
		c.errorf(w.at, w.path, "expected %s, found the unknown condition %s%s", oneOf(names), shown(w.text), DidYouMean(w.text, names))
		return sw, false
	}
	sw.Condition = w.text
	params := known.Conditions[at].Params()
	if len(params) == 0 {
		c.errorf(w.at, w.path, "expected a condition that has numbers to sweep, found %s, which has none", shown(w.text))
		return sw, false
	}
	keys := []string{"condition"}
	for _, p := range params {
		keys = append(keys, p.Name)
	}
	c.section(n, path, keys...)
	var given []entry
	for _, e := range n.entries {
		if e.key != "condition" && slices.Contains(keys, e.key) {
			given = append(given, e)
		}
	}
	switch len(given) {
	case 0:
		if len(n.entries) < 2 { // else an unknown key was reported
			c.errorf(n.at, path, "expected %s with a list of levels, found none; add it", oneOf(keys[1:]))
		}
		return sw, false
	case 1:
	default:
		c.errorf(given[1].at, path, "expected one parameter in a sweep, found %s and %s; write a sweep for each", given[0].key, given[1].key)
		return sw, false
	}
	sw.Param = given[0].key
	sw.Levels = c.levels(given[0].value, join(path, sw.Param), params[slices.Index(keys, sw.Param)-1])
	return sw, len(sw.Levels) > 0
}

// levels is a list of at least two different numbers in the range of a parameter.
func (c *checker) levels(n *node, path string, p perturb.Param) []float64 {
	want := fmt.Sprintf("numbers from %v to %v", p.Min, p.Max)
	if p.Integer {
		want = fmt.Sprintf("whole numbers from %v to %v", p.Min, p.Max)
	}
	if n.kind != isList {
		c.lost(path)
		c.errorf(n.at, path, "expected a list of %s, found %s", want, n.found())
		return nil
	}
	var out []float64
	bad := false
	for i, it := range n.items {
		at := fmt.Sprintf("%s[%d]", path, i)
		holder := section{c, &node{kind: isMapping, at: it.at, entries: []entry{{key: at, at: it.at, value: it}}}, ""}
		before := len(c.errs)
		v := holder.number(at, math.NaN(), p.Min, p.Max)
		switch {
		case len(c.errs) > before:
			bad = true
		case p.Integer && v != math.Trunc(v):
			c.errorf(it.at, at, "expected a whole number, found %s", it.found())
			bad = true
		case slices.Contains(out, v):
			c.errorf(it.at, at, "expected each level once, found %s again; remove one", it.found())
			bad = true
		default:
			out = append(out, v)
		}
	}
	if bad {
		return nil
	}
	if len(out) < 2 {
		c.errorf(n.at, path, "expected at least two levels (%s), found %d", want, len(out))
		return nil
	}
	slices.Sort(out)
	return out
}

// grid is an occlusion grid: {columns: 8, rows: 8}.
func (c *checker) grid(st *Study, s section, known StudyNames) {
	n := s.get("grid")
	if n == nil {
		return
	}
	path := join(s.path, "grid")
	if len(known.Conditions) == 0 {
		c.errorf(n.at, path, "expected nothing, because study %s changes no inputs, found %s; remove the key", known.Name, n.found())
		return
	}
	in := c.section(n, path, "columns", "rows")
	if in.need("columns") && in.need("rows") {
		st.Grid = study.Grid{Columns: in.whole("columns", 0, 2, study.MaxGrid), Rows: in.whole("rows", 0, 2, study.MaxGrid)}
	}
}

// maxImages is the most images of an item that can be named one by one.
const maxImages = 1000

// image is the one image of an item that conditions change: 2.
func (c *checker) image(st *Study, s section, known StudyNames) {
	n := s.get("image")
	if n == nil {
		return
	}
	if len(known.Conditions) == 0 {
		c.errorf(n.at, join(s.path, "image"), "expected nothing, because study %s changes no inputs, found %s; remove the key", known.Name, n.found())
		return
	}
	st.Image = s.whole("image", 0, 1, maxImages)
}
