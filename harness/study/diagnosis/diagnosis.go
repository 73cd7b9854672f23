// Package diagnosis is the study of cases of several images after MedThinkVQA:
// is the diagnosis right, what do captions and findings in words add, where do the
// steps of an explanation go wrong, and what does a model write about a case it is
// told everything of? (metrics.md section 3)
//
//  1. Arm mcq asks for one of five options with an explanation, from the images
//     alone and under text conditions: captions (hint), findings (summary) or both,
//     by experts or by the model itself. Arms captions and findings write the
//     model's own; arm discussion writes a case discussion.
//  2. What gives an answer away reaches a prompt through show alone.
//  3. Outputs become cases (cases.go), on which judges give verdicts. What they are
//     asked, what rules say and what is counted stands in step_rubric.go, rubric.go
//     (discussions) and writing.go; expert.go is what they are told of a case.
//  4. Each trial is scored (samples.go), and tables.go declares what tables hold.
package diagnosis

import (
	"maps"
	"slices"
	"strings"

	"assay/harness/dataset"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
	"assay/results/text"
)

// studyName of the study in bench.yaml and in keys.
const studyName = "diagnosis"

const (
	armMCQ        = "mcq"
	armCaptions   = "captions"
	armFindings   = "findings"
	armDiscussion = "discussion"

	// Kinds of text that a condition shows, and who wrote it.
	hint       = "hint"    // a caption for each image
	summary    = "summary" // the findings of the case
	fromExpert = "expert"
	fromSelf   = "self"
)

// Study is the study.
func Study() study.Study {
	s := study.Study{Name: studyName, Types: []string{dataset.TypeDiagnosis}, Rubrics: rubrics(), Prompts: prompts(), Changes: conditions(),
		Draft: study.Draft{Of: dataset.KindMedThinkVQA, Usual: []string{
			"sampling: {temperature: 0, max_tokens: 2048, seed: 1}",
			"in_flight: 2               # untimed: requests beside each other",
		}},
		Choose: choose, Facts: facts, Cases: cases, Unread: unread, Scores: scoring(), Rating: study.Rating{Asks: asks()}, Design: design,
		Gold: func(facts any) (study.GoldKey, func(study.GoldKey) any) {
			f, _ := facts.(itemFacts)
			return f.key(), func(k study.GoldKey) any {
				if len(k.Golds) > 0 {
					f.Options, f.Gold = k.Options, k.Golds[0]
				}
				return f
			}
		}, Changed: []string{armMCQ},
	}
	for _, name := range armNames() {
		s.Arms = append(s.Arms, study.Arm{Name: name, Under: under(name), Show: shown(name)})
	}
	return s
}

func armNames() []string { return []string{armMCQ, armCaptions, armFindings, armDiscussion} }

func choose(s *study.Study, c study.Choice, _ study.Templates) (err error) {
	list := expand(c)
	chosen := study.Shared(list)
	s.Conditions = func(_ uint64, it dataset.Item) ([]*perturb.Condition, []study.Missing) { return available(chosen, it) }
	s.Described, err = study.Described(list)
	return err
}

// Conditions on images, as bench.yaml names them; a plan has several of each.
const (
	leaveOut  = "LOO"   // every image of a case, in turn
	reorder   = "ORDER" // another order of the images
	downscale = "DS"    // smaller images

	mostImages = 49 // of a case
)

// conditions are what bench.yaml may name: the text conditions, in the order of
// tables, and those on images, which are asked for by name.
func conditions() []perturb.Condition {
	smaller := perturb.Downscaled(512)
	smaller.Name, smaller.Kind, smaller.Does = downscale, perturb.KindControl, "every image is scaled down to a longest side"
	return append(textConditions(), perturb.Condition{Name: leaveOut, Family: leaveOut, Kind: perturb.KindControl, Does: "one image less: a trial for each image of the case"},
		perturb.Condition{Name: reorder, Family: reorder, Kind: perturb.KindControl, Does: "the images in another order"}, smaller)
}

// expand is the conditions chosen, each by itself, the baseline first.
func expand(c study.Choice) []perturb.Condition {
	out := []perturb.Condition{perturb.Baseline()}
	for _, known := range textConditions() {
		if slices.Contains(c.Conditions, known.Name) {
			out = append(out, known)
		}
	}
	if slices.Contains(c.Conditions, leaveOut) {
		for k := range mostImages {
			out = append(out, perturb.LeaveOut(k+1))
		}
	}
	if slices.Contains(c.Conditions, reorder) {
		out = append(out, perturb.Reorder(1))
	}
	levels := map[int]bool{}
	for _, sw := range c.Sweeps {
		for _, l := range sw.Levels {
			levels[int(l)] = true
		}
	}
	if len(levels) == 0 && slices.Contains(c.Conditions, downscale) {
		levels[512] = true
	}
	for _, l := range slices.Sorted(maps.Keys(levels)) {
		out = append(out, perturb.Downscaled(l))
	}
	return out
}

func textConditions() []perturb.Condition {
	var out []perturb.Condition
	for _, from := range []string{fromExpert, fromSelf} {
		by := map[string]string{fromExpert: ", by experts", fromSelf: ", as the model itself wrote it before"}[from]
		out = append(out,
			perturb.Condition{Name: from + "-hint", Does: "captions of the images stand beside them" + by, Family: from, Kind: perturb.KindText, From: from, Shows: []string{hint}},
			perturb.Condition{Name: from + "-summary", Does: "the findings in words stand beside the images" + by, Family: from, Kind: perturb.KindText, From: from, Shows: []string{summary}},
			perturb.Condition{Name: from + "-both", Does: "captions and findings stand beside the images" + by, Family: from, Kind: perturb.KindText, From: from, Shows: []string{hint, summary}})
	}
	return out
}

// available are the chosen conditions that a case has the texts for.
func available(chosen []*perturb.Condition, it dataset.Item) ([]*perturb.Condition, []study.Missing) {
	told := it.AnswerLeaking()
	var missing []study.Missing
	lacks := func(c *perturb.Condition) bool {
		why := ""
		switch {
		case c.Without > 1 && c.Without > len(it.Images):
			return true // no such image
		case (c.Without == 1 || c.Order != 0) && len(it.Images) == 1:
			why = "the case has one image"
		case c.From != fromExpert:
		case slices.Contains(c.Shows, hint) && !slices.ContainsFunc(told.Captions, func(s string) bool { return s != "" }):
			why = "the case has no captions"
		case slices.Contains(c.Shows, summary) && told.Findings == "":
			why = "the case has no findings in words"
		}
		if why != "" {
			missing = append(missing, study.Missing{Condition: c.Name, Why: why, Arms: []string{armMCQ}})
		}
		return why != ""
	}
	out := chosen // shared by the cases that have all texts
	if slices.ContainsFunc(chosen, lacks) {
		missing = nil
		out = slices.DeleteFunc(slices.Clone(chosen), lacks)
	}
	if !whole(it) {
		missing = append(missing, study.Missing{Condition: perturb.Baseline().Name, Why: "the case's own discussion does not have all five sections", Arms: []string{armDiscussion}})
	}
	return out, missing
}

// under says when an arm is asked: mcq always; what is written is written once.
func under(arm string) func(*dataset.Item, *perturb.Condition) ([]string, bool) {
	return func(it *dataset.Item, c *perturb.Condition) ([]string, bool) {
		if arm != armMCQ {
			return nil, c.Kind == perturb.KindBaseline && (arm != armDiscussion || whole(*it))
		}
		var needs []string
		if c.From == fromSelf {
			for _, kind := range c.Shows {
				needs = append(needs, writtenBy(kind))
			}
		}
		return needs, true
	}
}

// writtenBy is the arm that writes a kind of text.
func writtenBy(kind string) string {
	if kind == hint {
		return armCaptions
	}
	return armFindings
}

// shown is all that a prompt of an arm may hold of a case besides its images,
// history, question and options.
func shown(arm string) func(dataset.Item, perturb.Condition, map[string]string) map[string]string {
	switch arm {
	case armMCQ:
		return func(it dataset.Item, c perturb.Condition, outputs map[string]string) map[string]string {
			out := map[string]string{hint: "", summary: ""}
			for _, kind := range c.Shows {
				switch {
				case c.From == fromSelf:
					out[kind] = strings.TrimSpace(text.Outside(outputs[writtenBy(kind)]))
				case kind == hint:
					out[kind] = captions(it)
				default:
					out[kind] = strings.TrimSpace(it.AnswerLeaking().Findings)
				}
			}
			return out
		}
	case armDiscussion:
		return func(it dataset.Item, _ perturb.Condition, _ map[string]string) map[string]string {
			return map[string]string{hint: captions(it), summary: strings.TrimSpace(it.AnswerLeaking().Findings), "diagnosis": newExpertCase(it).Diagnosis()}
		}
	}
	return nil
}

// itemFacts is what scores and tables need of a case.
type itemFacts struct {
	Images   int              `json:"images"`
	Picture  string           `json:"picture,omitempty"` // what items share that show the same images
	Options  []dataset.Option `json:"options,omitempty"` // none: the store is of an older assay
	Gold     string           `json:"gold,omitempty"`    // "": likewise
	Chapter  string           `json:"chapter,omitempty"`
	Rare     *bool            `json:"rare,omitempty"`
	Captions []string         `json:"captions,omitempty"` // by experts, one per image
	Findings string           `json:"findings,omitempty"` // by experts
	Experts  []expertLabel    `json:"experts,omitempty"`  // on steps
}

func facts(_ uint64, it dataset.Item) (results.Item, error) {
	told := it.AnswerLeaking()
	f := itemFacts{Images: len(it.Images), Picture: it.Picture, Options: it.Options, Gold: it.Answer, Captions: told.Captions, Findings: told.Findings, Experts: labelsOf(it)}
	if it.Case != nil {
		f.Chapter, f.Rare = it.Case.Chapter, it.Case.Rare
	}
	return study.StoredItem(studyName, it, f)
}
