package phantom

import (
	"slices"
	"strings"

	"assay/backends/phantom"
)

// Question is one question about a scene with what is right.
type Question struct {
	Query   Query
	Text    string // as asked, options on lines of their own
	Task    string
	Answer  string   // "B"; "A, C"; "True"; "moderate"
	Paths   [][]step // gold paths, each in order
	Finding string   // the site asked about, or "" where there are several or none
}

// step is one step of a gold path or of a reader's reasoning.
type step struct {
	Kind string // "modality", "feature", "conclusion", "other"
	Text string // one sentence
}

// draft is a question of which chance has decided all, and nothing is worded yet: of the
// many about a case, one is asked.
type draft struct {
	Query   Query // without options
	Task    string
	options []string
	form    string
	voice   int
	remark  bool // a gold path ends with one
	truth   *Findings
}

// Question words a draft.
func (d draft) Question() Question {
	q, t := d.Query, *d.truth
	q.Options = lettered(d.options)
	text := q.fill(d.form)
	for _, o := range q.Options {
		text += "\n" + o.Label + ". " + o.Text
	}
	full := q.Steps(t, d.voice)
	if !d.remark {
		full = full[:3]
	}
	paths := [][]step{full}
	if brief := q.brief(t, (d.voice+1)%voices); brief != nil {
		paths = append(paths, brief)
	}
	finding := ""
	if sites := q.Sites(); len(sites) == 1 {
		finding = sites[0].String()
	}
	return Question{q, text, d.Task, q.Answer(q.Solve(t)), paths, finding}
}

// Questions are all questions that have one clear answer in the scene, in a
// fixed order. Wording, order of options and wrong options vary with the seed.
func Questions(s Scene) []Question {
	all := drafts(s)
	out := make([]Question, len(all))
	for i, d := range all {
		out[i] = d.Question()
	}
	return out
}

// drafts are those questions, not worded.
func drafts(s Scene) []draft {
	r := phantom.NewSource(phantom.Mix(s.Seed()^0xA5A5A5A5) + uint64(s.Index()))
	t := s.Truth()
	var out []draft
	ask := func(q Query, options ...string) {
		texts := q.texts()
		d := draft{Query: q, Task: q.Task(), options: options, truth: &t, form: texts[r.Below(len(texts))], voice: r.Below(voices)}
		d.remark = r.Below(5) >= 2 // else it is not applicable
		out = append(out, d)
	}
	// some draws n of the entries of list that are not keep, keep among them, shuffled.
	some := func(list []string, keep string, n int) []string {
		list = slices.DeleteFunc(slices.Clone(list), func(x string) bool { return x == keep })
		shuffle(r, list)
		if keep != "" {
			list = append(list[:n-1], keep)
			shuffle(r, list)
		}
		return list[:n]
	}
	shuffled := func(list []string) []string { return some(list, "", len(list)) }
	// three asks for one of options, for a short answer, and whether a claim is true,
	// which may have to be drawn.
	three := func(q Query, options []string, claim func() int) {
		ask(q.as("single"), options...)
		ask(q.as("short"))
		if claim != nil {
			q.Claim = claim()
		}
		ask(q.as("bool"))
	}
	graded := func() int { return int(r.Span(mildGrade, severe)) }

	sided := allNamed(diagnoses())
	for finding := range congested {
		for side := range 2 {
			three(Query{Kind: askGrade, Finding: finding, Side: side}, severity, graded)
		}
		q := Query{Kind: askSide, Finding: finding}
		ask(q.as("single"), shuffled([]string{"right", "left", "same", "neither"})...)
		ask(q.as("short"))
		ask(q.as("multiple"), "right", "left", noneOfThese)
		q.Side = r.Below(2)
		ask(q.as("bool"))
	}
	three(Query{Kind: askCongestion, Finding: congested}, severity, graded)
	three(Query{Kind: askHeart}, heart.Grades(), nil)

	for _, claim := range []int{mildGrade, moderate} {
		ask(Query{Kind: askList, Type: "multiple", Claim: claim}, append(some(sided, "", 4), noneOfThese)...)
	}
	if worst, ok := worst(t, diagnoses()...); ok {
		ask(Query{Kind: askWorst, Type: "single"}, some(sided, named(worst), 4)...)
	}

	var kinds int // of devices present
	for d := range devices {
		if has(t, d) {
			kinds++
		}
		ask(Query{Kind: askDevices, Type: "bool", Device: d})
	}
	ask(Query{Kind: askDevices, Type: "multiple"}, append(shuffled(devices), noneOfThese)...)
	for d := range 2 { // the catheter and the gastric tube
		three(Query{Kind: askPosition, Device: d}, shuffled(decisions), nil)
	}
	ask(Query{Kind: askPosition, Type: "multiple"}, append(shuffled(movable), noneOfThese)...)
	three(Query{Kind: askRegion}, shuffled(regionals), nil)
	three(Query{Kind: askCount}, counts, nil)
	for side := range 2 {
		q := Query{Kind: askCause, Side: side}
		ask(q.as("multiple"), append(shuffled(causes[:3]), noneOfThese)...)
		if _, ok := worst(t, q.Sites()...); ok || slices.Equal(q.as("short").Solve(t), causes[3:]) {
			ask(q.as("single"), shuffled(causes)...)
			ask(q.as("short"))
		}
	}
	if kinds <= 1 {
		ask(Query{Kind: askPurpose, Type: "single"}, shuffled(purposes)...)
		ask(Query{Kind: askPurpose, Type: "short"})
	}
	three(Query{Kind: askExam}, shuffled(exams), func() int { return r.Weighted(3, 1, 1, 1) })
	three(Query{Kind: askExposure}, shuffled(exposure.Grades()), func() int { return r.Below(3) })
	return out
}

func shuffle[T any](r *phantom.Source, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		k := r.Below(i + 1)
		list[i], list[k] = list[k], list[i]
	}
}

func (q Query) as(typ string) Query {
	q.Type = typ
	return q
}

// most is the site of which findings hold the most.
func most(f Findings, sites []Site) Site {
	return slices.MaxFunc(sites, func(a, b Site) int { return f[a].Grade - f[b].Grade })
}

// worst is that site; false where it does not reach mild or two tie.
func worst(f Findings, sites ...Site) (Site, bool) {
	best := most(f, sites)
	tie := slices.ContainsFunc(sites, func(s Site) bool { return s != best && f[s].Grade == f[best].Grade })
	return best, !tie && f[best].Grade >= mildGrade
}

// has reports whether a device is present on any side.
func has(f Findings, device int) bool {
	return slices.ContainsFunc(deviceSites(device), func(s Site) bool { return f[s].Grade != absent })
}

// Answer writes what Solve found as the question wants it: labels in order for
// "single" and "multiple", the words themselves otherwise.
func (q Query) Answer(picks []string) string {
	if !q.labelled() {
		return strings.Join(picks, ", ")
	}
	var labels []string
	for _, o := range q.Options {
		if slices.ContainsFunc(picks, func(p string) bool { return strings.EqualFold(p, o.Text) }) {
			labels = append(labels, o.Label)
		}
	}
	return strings.Join(labels, ", ")
}

// labelled reports whether a query is answered by the labels of its options.
func (q Query) labelled() bool {
	return q.Type == "single" || q.Type == "multiple" || q.Type == diagnosis
}

// voices is how many ways there are to word a step.
const voices = 3

// Steps words the reasoning that leads from findings to the answer, in the
// order of M3CoTBench: what the picture is, what shows in it, the conclusion, a
// general remark. voice, 0 or more, picks the wording.
func (q Query) Steps(f Findings, voice int) []step {
	voice %= voices
	q = q.plain()
	return []step{
		{"modality", [voices]string{"This is a frontal chest radiograph.", "The picture is a frontal chest radiograph.", "The examination is a frontal radiograph of the chest."}[voice]},
		{"feature", sentence([voices]string{"one can see that ", "the picture shows that ", "it can be seen that "}[voice], strings.Join(q.features(f), "; "))},
		{"conclusion", sentence([voices]string{"therefore ", "thus ", "hence "}[voice], q.conclusion(f))},
		{"other", sentence([voices]string{"", "in general, ", "it is known that "}[voice], q.fill(q.about().remark))},
	}
}

// brief is a shorter gold path that names the deciding feature alone; nil where
// there is only one.
func (q Query) brief(f Findings, voice int) []step {
	features := q.features(f)
	if len(features) < 2 || q.Type == "multiple" || q.Kind == askCount || q.Kind == askRegion {
		return nil
	}
	steps := q.Steps(f, voice)[:3]
	steps[1].Text = sentence("one can see that ", features[0])
	return steps
}

func sentence(lead, text string) string { return capital(lead+text) + "." }

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// features are what shows of the sites that matter, the deciding one first.
func (q Query) features(f Findings) []string {
	sites := slices.Clone(q.Sites())
	if q.Kind == askExam {
		return []string{"ribs, lungs, heart and diaphragm overlap as shadows of different whiteness"}
	}
	slices.SortStableFunc(sites, func(a, b Site) int { return f[b].Grade - f[a].Grade })
	var out []string
	for _, s := range sites {
		if f[s].Grade > 0 || q.Kind == askSide || q.Kind == askTube {
			out = append(out, appearance(s, f[s].Grade))
		}
	}
	switch {
	case len(out) > 0:
		return out
	case sites[0].Device() && len(sites) > 2:
		return []string{"no line, tube or implant crosses the chest"}
	}
	return []string{appearance(sites[0], 0)}
}

// appearances are how sites show: what is looked at, {it}, and what shows of it at each grade. Left
// sites show as the right ones before them.
var appearances = [NumSites][]string{
	effusionRight: {"the {side} costophrenic angle", "{it} is sharp and free of fluid",
		"a questionable trace of fluid blunts {it}", "a small layer of fluid fills {it}",
		"a moderate layer of fluid covers {it} and the lower zone",
		"a large layer of fluid hides {it} and the lower half of the chest"},
	opacityRight: {"the {side} outer lung", "{it} is free of white patches", "a questionable white patch lies in {it}",
		"a small white patch lies in {it}", "a moderate white patch lies in {it}", "a large white patch fills {it}"},
	atelectasisRight: {"the {side} middle zone", "{it} is free of bands", "a questionable band crosses {it}",
		"small bands cross {it}", "moderate bands cross {it}", "large bands cross {it}"},
	congestion: {"the vessels near the hila", "{it} are sharp and free of haze", "a questionable haze surrounds {it}",
		"a slight haze blurs {it}", "a moderate haze blurs {it}", "a marked haze hides {it}"},
	heart: {"the shape of the heart", "{it} has a normal width, below half of the chest",
		"{it} has a borderline width, about half of the chest",
		"{it} has a moderately increased width, above half of the chest",
		"{it} has a massively increased width, far above half of the chest"},
	venousCatheter: {"catheter line", "no {it} runs beside the upper spine",
		"a thin {it} runs down the right upper mediastinum and ends above the heart",
		"a thin {it} turns across the midline and ends high on the left"},
	gastricTube: {"tube line", "no {it} runs down the midline",
		"a {it} runs down the midline and ends in the stomach below the diaphragm",
		"a {it} stops in the gullet and does not reach the stomach"},
	chestTubeRight: {"through the {side} chest wall", "no wide tube line enters {it}",
		"a wide tube line enters {it} and ends deep in the chest",
		"a wide tube line enters {it} and does not end deep in the chest"},
	pacemaker: {"bright metal case", "no {it} lies below the left clavicle",
		"a {it} lies below the left clavicle with a lead to the heart"},
	exposure: {"", "lungs and mediastinum show all their texture in grey", "the mediastinum is dull and dark",
		"the lungs are washed out and white"},
}

// appearance is how a site shows at a grade.
func appearance(s Site, grade int) string {
	side := sides[s%2] // of the sided ones
	if appearances[s] == nil {
		s--
	}
	shows := strings.ReplaceAll(appearances[s][1+grade], "{it}", appearances[s][0])
	return strings.ReplaceAll(shows, "{side}", side)
}
