package page

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"assay/harness/experiment"
	"assay/harness/judge"
	"assay/harness/study"
	"assay/results"
	"assay/results/report"
	"assay/results/store"
	"assay/results/text"
)

const looksAt = 12 // items that are looked at for one example

// Examples picks trials to show whole: per study, of each model in turn an item
// on which two of its trials were judged differently, two arms or the baseline
// and a condition. What is picked follows from the store alone.
func Examples(ctx context.Context, st *store.Store, man results.Manifest, most int, pics Pictures, rubrics func(study string) ([]judge.Rubric, error)) ([]report.Example, error) {
	var out []report.Example
	for _, study := range slices.Sorted(maps.Keys(man.Rubrics)) {
		read, err := rubrics(study)
		if err != nil {
			return nil, err
		}
		var items []string
		for it, err := range st.Items(ctx, study) {
			if err != nil {
				return nil, err
			}
			items = append(items, it.ID)
		}
		taken := 0
		for i, model := range slices.Sorted(maps.Keys(man.Models)) {
			if taken == most || len(items) == 0 {
				break
			}
			e, ok, err := example(ctx, st, read, study, model, items, i)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			if err := illustrate(ctx, st, &e, pics); err != nil {
				return nil, err
			}
			out = append(out, e)
			taken++
		}
	}
	return out, nil
}

// example looks at some items, others for each model, so that the page shows
// several.
func example(ctx context.Context, st *store.Store, rubrics []judge.Rubric, myStudy, model string, items []string, nth int) (report.Example, bool, error) {
	var first *report.Example
	for k := range min(looksAt, len(items)) {
		item := items[(nth*looksAt+k)%len(items)]
		var trials []results.Trial
		for t, err := range st.TrialsOf(ctx, myStudy, model, item) {
			if err != nil {
				return report.Example{}, false, err
			}
			if t.Key.Repeat == 0 {
				trials = append(trials, t)
			}
		}
		for _, p := range pairs(trials, nth) {
			e := report.Example{Study: myStudy, Model: model, Item: item, Why: "The first of some items with two answers."}
			var question, gold string
			for _, t := range p {
				v := report.View{Key: t.Key}
				if last, ok := t.Last(); ok {
					v.Output, v.Failure = last.Output, last.Failure
				}
				said, err := st.JudgmentsOf(ctx, t.Key)
				if err != nil {
					return e, false, err
				}
				for _, s := range said {
					v.Judgments = append(v.Judgments, report.Judged{Judgment: s.Judgment, Reading: Reading(rubrics, s.Judgment)})
					// What the judges were shown names the question, in every study that has one.
					var f study.AccuracyCase
					if json.Unmarshal(s.Fields, &f) == nil {
						question, gold = cmp.Or(question, f.Question), cmp.Or(gold, f.Gold)
						if s.Rubric == study.RubricAccuracy && v.Output != nil {
							v.Right = f.Right()
						}
					}
				}
				e.Views = append(e.Views, v)
			}
			e.Question, e.Gold = question, gold
			if differ(e.Views[0], e.Views[1]) {
				e.Why = "The first of some items on which the two answers, or verdicts on them, differ."
				return e, true, nil
			}
			if disagree(e.Views[0]) || disagree(e.Views[1]) {
				e.Why = "The first of some items on which two judges of one answer differ."
				return e, true, nil
			}
			if first == nil && e.Views[0].Output != nil && e.Views[1].Output != nil {
				first = &e
			}
		}
	}
	if first == nil {
		return report.Example{}, false, nil
	}
	return *first, true, nil
}

// pairs are the trials of one item to show beside each other: the baseline and
// a condition of the same arm, beginning with the nth; where there is none, two
// arms.
func pairs(trials []results.Trial, nth int) [][2]results.Trial {
	const baseline = "baseline"
	var out [][2]results.Trial
	var bases []results.Trial
	for _, t := range trials {
		if t.Key.Condition == baseline {
			bases = append(bases, t)
		}
	}
	for _, b := range bases {
		for _, t := range trials {
			if t.Key.Arm == b.Key.Arm && t.Key.Condition != baseline {
				out = append(out, [2]results.Trial{b, t})
			}
		}
	}
	if len(out) > 0 {
		nth %= len(out)
		return append(out[nth:len(out):len(out)], out[:nth]...)
	}
	if len(bases) > 1 {
		out = append(out, [2]results.Trial{bases[len(bases)-1], bases[0]})
	}
	return out
}

// Rubrics are those of a study of this version.
func Rubrics(name string) ([]judge.Rubric, error) {
	st, err := experiment.NewStudy(name, nil, study.Choice{})
	return st.Rubrics, err
}

// Reading is what a verdict says, as its rubric reads it. Of one that cannot be
// read all of it is to be shown.
func Reading(rubrics []judge.Rubric, j results.Judgment) results.Reading {
	i := slices.IndexFunc(rubrics, func(r judge.Rubric) bool { return r.Name == j.Rubric })
	if !j.Status.Usable() {
		return results.Reading{}
	}
	if i >= 0 && rubrics[i].Read != nil {
		if r, err := rubrics[i].Read(j.Verdict); err == nil {
			return r
		}
	}
	return results.Reading{More: true}
}

// differ says whether two answers were judged differently by a judge, or, to the
// same prompt, are different.
func differ(a, b report.View) bool {
	if a.Output == nil || b.Output == nil {
		return false
	}
	for _, x := range a.Judgments {
		for _, y := range b.Judgments {
			if x.Rubric == y.Rubric && x.Judge == y.Judge && x.Status.Usable() && y.Status.Usable() && x.Reading.Differs(y.Reading) {
				return true
			}
		}
	}
	return a.Key.Arm == b.Key.Arm && text.Normalise(a.Output.Answer) != text.Normalise(b.Output.Answer)
}

// disagree says whether two judges decided differently on one answer.
func disagree(v report.View) bool {
	for i, x := range v.Judgments {
		for _, y := range v.Judgments[:i] {
			if x.Rubric == y.Rubric && x.Judge != y.Judge && x.Status.Usable() && y.Status.Usable() && x.Reading.Differs(y.Reading) {
				return true
			}
		}
	}
	return false
}

// illustrate adds the pictures, or why there are none. Two views of the same
// picture show it once each: whoever looks compares.
func illustrate(ctx context.Context, st *store.Store, e *report.Example, pics Pictures) error {
	for i := range e.Views {
		v := &e.Views[i]
		t, ok, err := st.Trial(ctx, v.Key)
		if err != nil {
			return err
		}
		if !ok {
			panic("page: internal error: an example that is not stored")
		}
		if v.Pictures, err = pics.Of(ctx, t); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			v.NoPicture = "The image is not shown: " + err.Error() + "."
		}
		v.Prompt = pics.Prompt(ctx, t)
	}
	return nil
}
