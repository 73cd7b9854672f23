package cot

import (
	"cmp"
	"slices"

	"assay/harness/score"
	"assay/results/text"
)

// This file is the arithmetic of metrics.md section 1 within one answer and within
// the paths of one task; that over answers stands in package score. Its
// functions take numbers and give a number, or false where it does not exist.

// precision is P_i: matched steps over countable ones. Restatements do not
// count; steps judged n/a do. Without a countable step it is 0.
func precision(of []step) float64 {
	var match, countable float64
	for _, s := range of {
		if s.Type == restatement {
			continue
		}
		countable++
		if s.Judgment == matched {
			match++
		}
	}
	if countable == 0 {
		return 0
	}
	return match / countable
}

// firstWrong is the kind of the first wrong step of an answer.
func firstWrong(of []step) string {
	at := slices.IndexFunc(of, func(s step) bool { return s.Judgment == wrong && s.Type != restatement })
	if at < 0 {
		return noneWrong
	}
	return of[at].Type
}

// recalled is what a recall verdict says of an item.
type recalled struct {
	Matched, Gold int  // of the gold path that counts
	Complete      bool // every gold step of every path has a verdict
}

// recallOf picks the gold path with the largest overlap; ties go to the higher
// recall, then the shorter path, then the earlier one (the first two are one
// order when the overlaps are equal). matched holds, by path and step, whether
// the step occurs; nil: no verdict, which counts as not matched and makes the
// item incomplete. It is false where no path has a step.
func recallOf(gold []int, matched [][]*bool) (recalled, bool) {
	best, found := recalled{Complete: true}, false
	complete := true
	for p, n := range gold {
		if n == 0 {
			continue
		}
		hits := 0
		for i := range n {
			var v *bool
			if p < len(matched) && i < len(matched[p]) {
				v = matched[p][i]
			}
			if v == nil {
				complete = false
			} else if *v {
				hits++
			}
		}
		if !found || hits > best.Matched || hits == best.Matched && n < best.Gold {
			best, found = recalled{Matched: hits, Gold: n}, true
		}
	}
	best.Complete = complete
	return best, found
}

// value is R_i.
func (r recalled) value() float64 { return float64(r.Matched) / float64(r.Gold) }

// itemF1 is F1 of one item, where 0 and 0 give 0.
func itemF1(p, r float64) float64 {
	v, _ := score.Harmonic(p, r)
	return v
}

// ratio is num/den; false: den is 0.
func ratio(num, den float64) (float64, bool) {
	if den == 0 {
		return 0, false
	}
	return num / den, true
}

// kinds are the step categories in the order that breaks ties, with the letters
// that stand for them in a path.
const kinds = "MFCO"

// path is the categories that an answer went through, in order: "MFC".
type path string

// pathOf orders the categories with order > 0; ties keep the order of kinds.
// order holds one number per category of kinds.
func pathOf(order [len(kinds)]int) path {
	at := make([]int, 0, len(kinds))
	for i, o := range order {
		if o > 0 {
			at = append(at, i)
		}
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(order[a], order[b]) })
	p := make([]byte, len(at))
	for i, k := range at {
		p[i] = kinds[k]
	}
	return path(p)
}

// orderPath is the path of a verdict.
func orderPath(v orderVerdict) path {
	return pathOf([len(kinds)]int{v.Modality, v.Feature, v.Conclusion, v.Other})
}

// similarity of two paths, 0..1.
func similarity(a, b path) float64 { return text.Similarity([]byte(a), []byte(b)) }

// preferred orders paths by who wins a tie for the reference: the longer one,
// then M < F < C < O.
func preferred(a, b path) int {
	if len(a) != len(b) {
		return len(b) - len(a)
	}
	rank := func(p path) []int {
		r := make([]int, len(p))
		for i := range p {
			r[i] = slices.Index([]byte(kinds), p[i])
		}
		return r
	}
	return slices.Compare(rank(a), rank(b))
}

// paths is the distinct paths of one task, prepared for being counted again and
// again.
type paths struct {
	list []path // in order of preference
	sim  [][]float64
}

func newPaths(distinct []path) paths {
	p := paths{list: slices.Clone(distinct)}
	slices.SortFunc(p.list, preferred)
	p.list = slices.Compact(p.list)
	for _, a := range p.list {
		row := make([]float64, len(p.list))
		for j, b := range p.list {
			row[j] = similarity(a, b)
		}
		p.sim = append(p.sim, row)
	}
	return p
}

// consistency is C_t, in percent, of a task whose paths occur so often (one
// count per path of list), and the index of the reference: the generated path
// with the largest sum of similarities. False: there is no path.
func (p paths) consistency(counts []int) (c float64, reference int, ok bool) {
	const same = 1e-12 // sums this close are equal
	var best float64
	reference = -1
	n := 0
	for i, k := range counts {
		n += k
		if k == 0 {
			continue
		}
		var sum float64
		for j, m := range counts {
			sum += float64(m) * p.sim[i][j]
		}
		if reference < 0 || sum > best+same {
			best, reference = sum, i
		}
	}
	if n == 0 {
		return 0, 0, false
	}
	return 100 * best / float64(n), reference, true
}

// mostFrequent is the reference of the authors' code: the path that occurs most often,
// of several the one that was seen first.
func (p paths) mostFrequent(seen []path, counts []int) int {
	best := -1
	for _, x := range seen {
		if i := slices.Index(p.list, x); best < 0 || counts[i] > counts[best] {
			best = i
		}
	}
	return best
}

// toReference is C_t, in percent, against a given path of list. False: there is
// no path to compare.
func (p paths) toReference(counts []int, reference int) (c float64, ok bool) {
	n := 0
	for j, k := range counts {
		n += k
		c += float64(k) * p.sim[reference][j]
	}
	if n == 0 {
		return 0, false
	}
	return 100 * c / float64(n), true
}
