package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/jpeg"
	"maps"
	"slices"
	"strings"

	"assay/harness/bench"
	"assay/harness/config"
	"assay/harness/plan"
	"assay/harness/rehearsal"
	"assay/perturb"
	"assay/results"
	"assay/results/report"
	"assay/results/text"
)

// pictures shows again what a trial was shown. The error says why it cannot.
type pictures interface {
	Of(ctx context.Context, t results.Trial) ([]report.Picture, error)
}

const (
	mostExamples = 4   // of each study, unless --examples says otherwise
	looksAt      = 12  // items that are looked at for one example
	shownSide    = 384 // pixels of a picture's copy on the page
	shownQuality = 90  // of its JPEG
)

// examples picks trials to show whole: per study, of each model in turn an item
// on which two of its trials were judged differently, two arms or the baseline
// and a condition. What is picked follows from the store alone.
func examples(ctx context.Context, st *results.Store, man results.Manifest, most int, pics pictures) ([]report.Example, error) {
	var out []report.Example
	for _, study := range slices.Sorted(maps.Keys(man.Rubrics)) {
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
			e, ok, err := example(ctx, st, study, model, items, i)
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
func example(ctx context.Context, st *results.Store, study, model string, items []string, nth int) (report.Example, bool, error) {
	var first *report.Example
	for k := range min(looksAt, len(items)) {
		item := items[(nth*looksAt+k)%len(items)]
		var trials []results.Trial
		for t, err := range st.TrialsOf(ctx, study, model, item) {
			if err != nil {
				return report.Example{}, false, err
			}
			if t.Key.Repeat == 0 {
				trials = append(trials, t)
			}
		}
		for _, p := range pairs(trials, nth) {
			e := report.Example{Study: study, Model: model, Item: item, Why: "The first of some items with two answers."}
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
					v.Judgments = append(v.Judgments, s.Judgment)
					// What the judges were shown names the question, in every study that has one.
					var f struct{ Question, Gold string }
					if json.Unmarshal(s.Fields, &f) == nil {
						question, gold = cmp.Or(question, f.Question), cmp.Or(gold, f.Gold)
					}
				}
				e.Views = append(e.Views, v)
			}
			e.Question, e.Gold = question, gold
			if differ(e.Views[0], e.Views[1]) {
				e.Why = "The first of some items on which the two answers, or verdicts on them, differ."
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

// differ says whether two answers were judged differently, or, to the same
// prompt, are different.
func differ(a, b report.View) bool {
	if a.Output == nil || b.Output == nil {
		return false
	}
	verdict := func(v report.View, rubric, judge string) string {
		for _, j := range v.Judgments {
			var f struct{ Verdict string }
			if j.Rubric == rubric && j.Judge == judge && j.Status.Usable() && json.Unmarshal(j.Verdict, &f) == nil {
				return f.Verdict
			}
		}
		return ""
	}
	for _, j := range a.Judgments {
		x, y := verdict(a, j.Rubric, j.Judge), verdict(b, j.Rubric, j.Judge)
		if x != "" && y != "" && x != y {
			return true
		}
	}
	return a.Key.Arm == b.Key.Arm && text.Normalise(a.Output.Answer) != text.Normalise(b.Output.Answer)
}

// illustrate adds the pictures, or why there are none. Two views of the same
// picture show it once each: whoever looks compares.
func illustrate(ctx context.Context, st *results.Store, e *report.Example, pics pictures) error {
	for i := range e.Views {
		v := &e.Views[i]
		t, ok, err := st.Trial(ctx, v.Key)
		if err != nil {
			return err
		}
		if !ok {
			panic("cli: internal error: an example that is not stored")
		}
		if v.Pictures, err = pics.Of(ctx, t); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			v.NoPicture = "The picture is not shown: " + err.Error() + "."
		}
	}
	return nil
}

// noPictures is why there are none.
type noPictures string

func (n noPictures) Of(context.Context, results.Trial) ([]report.Picture, error) {
	return nil, errors.New(string(n))
}

// rendered makes pictures again as a run does, from the data set, and shows them
// where everything that was sent with them has the stored digest.
type rendered struct {
	bench *bench.Bench
	plan  *plan.Plan
}

func (r rendered) Of(ctx context.Context, t results.Trial) ([]report.Picture, error) {
	for _, b := range r.plan.Blocks {
		if b.Model != t.Key.Model {
			continue
		}
		for _, p := range b.Trials {
			if p.Key == t.Key {
				return r.draw(ctx, p, t.Inputs)
			}
		}
	}
	return nil, fmt.Errorf("%s does not plan this trial any more", r.bench.Config.File)
}

func (r rendered) draw(ctx context.Context, p plan.Trial, stored results.Digest) ([]report.Picture, error) {
	reqs, inputs, err := rehearsal.Of(ctx, r.bench, p)
	if err != nil {
		return nil, err
	}
	if inputs != stored || stored == "" {
		return nil, errors.New("what would be sent today has another digest than what was sent")
	}
	var out []report.Picture
	for _, req := range reqs[:min(1, len(reqs))] {
		for _, m := range req.Messages {
			for _, img := range m.Images {
				pic, err := copyOf(img.Bytes)
				if err != nil {
					return nil, err
				}
				pic.Sent += ", " + img.MIME
				out = append(out, pic)
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("none was sent")
	}
	return out, nil
}

// copyOf is a small copy of a picture file.
func copyOf(file []byte) (report.Picture, error) {
	src, err := perturb.Decode(file)
	if err != nil {
		return report.Picture{}, err
	}
	small := perturb.Shrink(src, shownSide)
	pic := report.Picture{MIME: "image/jpeg", Sent: fmt.Sprintf("%d x %d pixels", src.Bounds().Dx(), src.Bounds().Dy()),
		Width: small.Bounds().Dx(), Height: small.Bounds().Dy()}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, small, &jpeg.Options{Quality: shownQuality}); err != nil {
		return pic, err
	}
	pic.Bytes = b.Bytes()
	return pic, nil
}

// atHand finds the pictures of a store's run: where the bench.yaml is the one
// that made it and its data can be read.
func atHand(file string, man results.Manifest) pictures {
	cfg, err := config.Read(file, bench.Known())
	if err != nil || results.DigestOf(cfg.Text) != man.Digest {
		return noPictures(fmt.Sprintf("%s is not the bench.yaml of this run; name that with -c", file))
	}
	b, err := bench.Assemble(cfg)
	if err != nil {
		return noPictures(strings.TrimSuffix(err.Error(), "."))
	}
	p, err := b.Plan(plan.Filter{})
	if err != nil {
		return noPictures(strings.TrimSuffix(err.Error(), "."))
	}
	return rendered{b, p}
}
