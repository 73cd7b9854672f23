package diagnosis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"assay/harness/score"
	"assay/harness/study"
	"assay/harness/study/accuracy"
	"assay/perturb"
	"assay/results"
	"assay/results/text"
)

// Names of the scores of a trial; those of error types, sections and criteria are
// made of these.
const (
	scoreAccuracy = rubAccuracy
	scoreNoAnswer = "no_answer"
	scoreRight    = "right"
	scoreGain     = "gain"
	scoreMoved    = "moved"
	scoreNamed    = "named"

	scoreSteps     = "steps"
	scoreErrors    = "wrong_steps"
	scoreCritical  = "critical_steps"
	scoreCritError = "critical_wrong_steps"
	scoreUnjudged  = "unjudged_steps"
	scoreType      = "error_"
	scoreCritType  = "critical_error_"

	scoreSentences = "sentences"
	scoreFactual   = "factual_sentences"
	scoreMissed    = "unjudged_sentences"
	scoreCriterion = "criterion_"
	scoreTotal     = "criteria_total"

	scoreCaptionsRouge = "captions_rouge_l"
	scoreCaptionsBLEU  = "captions_bleu_2"
	scoreFindingsRouge = "findings_rouge_l"
	scoreFindingsBLEU  = "findings_bleu_2"
	scoreRadCliQ       = "radcliq_v1"
)

// scoring is how a trial is scored.
func scoring() score.Rules {
	const source = "metrics.md section 3"
	var names []score.Name
	add := func(name, unit string, better score.Better, rubric, help string) {
		names = append(names, score.Name{Name: name, Unit: unit, Better: better, Rubric: rubric, Source: source, Help: help})
	}
	add(scoreAccuracy, "1", score.Higher, rubAccuracy, "1: the answer is the gold option; one that cannot be read is not; of all judges the mean")
	add(scoreNoAnswer, "1", score.Lower, rubAccuracy, "1: no answer was found, which counts as wrong")
	add(scoreRight, "1", score.Higher, "", "1: right by most judges of the answer")
	add(scoreGain, "1", score.Higher, "", "accuracy less that of the same item and repeat from the images alone")
	add(scoreMoved, "1", score.None, "", "1: right there and wrong from the images alone, or the other way round")
	add(scoreNamed, "1", score.None, "", "1: the explanation from all images names the one left out here, by its number")
	add(scoreSteps, "steps", score.None, rubErrors, "steps with a verdict")
	add(scoreUnjudged, "steps", score.Lower, rubErrors, "steps that the verdict leaves out")
	add(scoreErrors, "steps", score.Lower, rubErrors, "steps that are not factual")
	add(scoreCritical, "steps", score.None, rubErrors, "steps that the answer rests on")
	add(scoreCritError, "steps", score.Lower, rubErrors, "critical steps that are not factual")
	for _, t := range errorTypes() {
		add(scoreType+t, "steps", score.Lower, rubErrors, "steps that are not factual and carry this type; a step may carry several")
	}
	for _, t := range errorTypes() {
		add(scoreCritType+t, "steps", score.Lower, rubErrors, "the same of critical steps")
	}
	add(scoreMissed, "sentences", score.Lower, rubSentences, "sentences of the discussion that the verdict leaves out")
	for _, s := range append(sectionNames(), "") {
		where := "all sections"
		if s != "" {
			where, s = "section "+s, "_"+s
		}
		add(scoreSentences+s, "sentences", score.None, rubSentences, "sentences with a verdict, "+where)
		add(scoreFactual+s, "sentences", score.Higher, rubSentences, "factual ones, "+where)
	}
	for _, c := range criteria() {
		add(scoreCriterion+c, "points", score.Higher, rubCriteria, "0 to 2; of all judges the mean")
	}
	add(scoreTotal, "points", score.Higher, rubCriteria, "sum of the five criteria, 0 to 10, whatever total the judge wrote; of all judges the mean")
	add(scoreCaptionsRouge, "1", score.Higher, "", "ROUGE-L F of each caption against the experts', mean over the images that experts captioned; a missing caption is 0")
	add(scoreCaptionsBLEU, "1", score.Higher, "", "BLEU-2 of the same")
	add(scoreFindingsRouge, "1", score.Higher, "", "ROUGE-L F of the findings against the experts'")
	add(scoreFindingsBLEU, "1", score.Higher, "", "BLEU-2 of the same")
	add(scoreRadCliQ, "1", score.Lower, rubReport, "RadCliQ-v1 of the findings, from RadGraph F1, BERTScore and CheXbert similarity of a side file and our BLEU-2")
	return score.Rules{Study: Name, Names: append(names, score.VerdictNames(rubricNames()...)...), Answers: true, Score: scoreOf,
		Released: "a step without a verdict counts as not factual, and as of no named type of error",
		Facts: func(it results.Item) (any, error) {
			var f itemFacts
			err := study.ReadFacts(it, &f)
			return f, err
		},
		Condition: func(name string, described json.RawMessage) (any, error) {
			var c perturb.Condition
			if err := json.Unmarshal(described, &c); err != nil {
				return nil, fmt.Errorf("%s: the store's description of condition %s cannot be read: %w; it is damaged or was written by another version", Name, name, err)
			}
			return c, nil
		}}
}

func scoreOf(s score.Sample) []score.Value {
	facts, _ := s.Facts.(itemFacts)
	switch s.Key.Arm {
	case armMCQ:
		out := append(s.Verdicts(rubAccuracy), accuracyOf(s)...)
		if s.Key.Condition != perturb.Baseline().Name {
			return out
		}
		out = append(append(out, s.Verdicts(rubSteps)...), s.Verdicts(rubErrors)...)
		return append(out, each(s, rubErrors, stepNames(), func(judge string, v errorsVerdict) map[string]float64 {
			n := stepsOf(v, splitBy(s, judge))
			if s.Released {
				unjudgedAreFalse(n)
			}
			return n
		})...)
	case armCaptions:
		return captionsOf(s, facts)
	case armFindings:
		return append(s.Verdicts(rubReport), findingsOf(s, facts)...)
	case armDiscussion:
		out := append(s.Verdicts(rubSentences), s.Verdicts(rubCriteria)...)
		out = append(out, each(s, rubSentences, sentenceNames(), func(_ string, v sentencesVerdict) map[string]float64 {
			return sentencesOf(v, sectionsOf(text.Outside(s.Output.Answer)))
		})...)
		return append(out, each(s, rubCriteria, criteriaNames(), func(_ string, v map[string]any) map[string]float64 { return gradesOf(v) })...)
	}
	return nil
}

// each gives the numbers that every judge's verdict holds, and the mean of judges.
func each[T any](s score.Sample, rubric string, names []string, of func(judge string, v T) map[string]float64) (out []score.Value) {
	sums, n := map[string]float64{}, map[string]int{}
	for _, j := range s.Judges(rubric) {
		var v T
		ok := s.Verdict(rubric, j, &v)
		var numbers map[string]float64
		if ok {
			numbers = of(j, v)
		}
		for _, name := range names {
			if x, has := numbers[name]; has {
				out = append(out, score.Of(name, j, x))
				sums[name] += x
				n[name]++
			} else if !ok {
				out = append(out, score.Invalid(name, j, s.Why(rubric, j)))
			}
		}
	}
	for _, name := range names {
		switch {
		case n[name] > 0:
			out = append(out, score.Of(name, "", sums[name]/float64(n[name])))
		case s.Failed:
			out = append(out, score.Invalid(name, "", score.Failure))
		default:
			out = append(out, score.Invalid(name, "", "no usable verdict"))
		}
	}
	return out
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func accuracyOf(s score.Sample) []score.Value {
	out := readAccuracy(s)
	own, why := joint(out)
	switch {
	case own == nil:
		out = append(out, score.Invalid(scoreRight, "", why))
	case *own == 0.5:
		out = append(out, score.Undefined(scoreRight, "", "judges of the answer are divided"))
	default:
		out = append(out, score.Of(scoreRight, "", one(*own > 0.5)))
	}
	base := perturb.Baseline().Name
	if s.Key.Condition == base {
		return out
	}
	alone, ok := s.Other(armMCQ, base)
	if !ok {
		return append(out, score.Undefined(scoreGain, "", "the images alone were not asked about"))
	}
	other, otherWhy := joint(readAccuracy(alone))
	if own == nil || other == nil {
		return append(out, score.Invalid(scoreGain, "", cmp.Or(why, otherWhy)))
	}
	out = append(out, score.Of(scoreGain, "", *own-*other), score.Of(scoreMoved, "", one((*own > 0.5) != (*other > 0.5))))
	if c, ok := s.Condition.(perturb.Condition); ok && c.Without > 0 {
		out = append(out, score.Of(scoreNamed, "", one(names(text.Reasoning(alone.Output.Answer, alone.Output.Reasoning), c.Without))))
	}
	return out
}

var imageNamed = regexp.MustCompile(`(?i)\b(?:image|figure|film)\s*#?\s*(\d+)`)

// names says whether a text names an image by its number.
func names(s string, image int) bool {
	for _, m := range imageNamed.FindAllStringSubmatch(s, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil && n == image {
			return true
		}
	}
	return false
}

// joint is the accuracy of all judges together; nil, and why: it is not known.
func joint(values []score.Value) (*float64, string) {
	for _, v := range values {
		if v.Name == scoreAccuracy && v.Judge == "" {
			return v.Number, v.Why
		}
	}
	return nil, ""
}

func readAccuracy(s score.Sample) []score.Value {
	return each(s, rubAccuracy, []string{scoreAccuracy, scoreNoAnswer}, func(_ string, v struct{ Verdict string }) map[string]float64 {
		return map[string]float64{scoreAccuracy: one(v.Verdict == accuracy.Correct), scoreNoAnswer: one(v.Verdict == accuracy.NoAnswer)}
	})
}

func stepNames() []string {
	names := []string{scoreSteps, scoreUnjudged, scoreErrors, scoreCritical, scoreCritError}
	for _, t := range errorTypes() {
		names = append(names, scoreType+t, scoreCritType+t)
	}
	return names
}

// splitBy is how many steps a judge of steps was shown: those of its own split, or of
// the only one; -1: it is not known.
func splitBy(s score.Sample, judge string) int {
	splitters := s.Judges(rubSteps)
	if !slices.Contains(splitters, judge) && len(splitters) == 1 {
		judge = splitters[0]
	}
	var v stepsVerdict
	if !s.Verdict(rubSteps, judge, &v) {
		return -1
	}
	return len(v.Steps)
}

// stepsOf counts a verdict's steps, of so many. Error types of factual steps count nowhere; one
// that is named twice counts once; none at all is another one.
func stepsOf(v errorsVerdict, steps int) map[string]float64 {
	n := map[string]float64{}
	for _, name := range stepNames() {
		n[name] = 0
	}
	if delete(n, scoreUnjudged); steps >= len(v.Steps) {
		n[scoreUnjudged] = float64(steps - len(v.Steps))
	}
	for _, s := range v.Steps {
		n[scoreSteps]++
		n[scoreCritical] += one(s.Critical)
		if s.Factual {
			continue
		}
		n[scoreErrors]++
		n[scoreCritError] += one(s.Critical)
		for _, t := range errorTypes() {
			if slices.Contains(s.Types, t) || t == errorOther && len(s.Types) == 0 {
				n[scoreType+t]++
				n[scoreCritType+t] += one(s.Critical)
			}
		}
	}
	return n
}

// unjudgedAreFalse is what the authors' code makes of steps without a verdict: they are
// not factual, not critical and of no named type.
func unjudgedAreFalse(n map[string]float64) {
	missing, known := n[scoreUnjudged]
	if !known {
		return
	}
	n[scoreUnjudged] = 0
	n[scoreSteps] += missing
	n[scoreErrors] += missing
	n[scoreType+errorOther] += missing
}

func sentenceNames() []string {
	names := []string{scoreMissed, scoreSentences, scoreFactual}
	for _, s := range sectionNames() {
		names = append(names, scoreSentences+"_"+s, scoreFactual+"_"+s)
	}
	return names
}

// sentencesOf counts a verdict's sentences by section, and all of them.
func sentencesOf(v sentencesVerdict, sections []Section) map[string]float64 {
	n := map[string]float64{}
	for _, name := range sentenceNames() {
		n[name] = 0
	}
	for _, s := range sections {
		n[scoreMissed] += float64(len(s.Sentences))
	}
	for _, s := range v.Sentences {
		n[scoreMissed]--
		for _, where := range []string{"", "_" + s.Section} {
			n[scoreSentences+where]++
			n[scoreFactual+where] += one(s.Factual)
		}
	}
	return n
}

func criteriaNames() []string {
	var names []string
	for _, c := range criteria() {
		names = append(names, scoreCriterion+c)
	}
	return append(names, scoreTotal)
}

// gradesOf recomputes the total: what a judge adds up is not looked at.
func gradesOf(v map[string]any) map[string]float64 {
	n, total := map[string]float64{}, 0.
	for _, c := range criteria() {
		x, _ := v[c].(float64)
		n[scoreCriterion+c] = x
		total += x
	}
	n[scoreTotal] = total
	return n
}

var captionLine = regexp.MustCompile(`(?im)^[\s*_#-]*(?:image\s*)?(\d{1,2})[*_]*\s*[.:)–-][*_]*\s*(.*)$`)

// captionsIn are the captions that a text gives, by number of the image; of two for
// one image the last.
func captionsIn(s string) map[int]string {
	out := map[int]string{}
	for _, m := range captionLine.FindAllStringSubmatch(text.Outside(s), -1) {
		if n, err := strconv.Atoi(m[1]); err == nil && strings.TrimSpace(m[2]) != "" {
			out[n] = strings.TrimSpace(m[2])
		}
	}
	return out
}

func captionsOf(s score.Sample, f itemFacts) []score.Value {
	both := func(make func(name string) score.Value) []score.Value {
		return []score.Value{make(scoreCaptionsRouge), make(scoreCaptionsBLEU)}
	}
	n, rouge, bleu := 0, 0., 0.
	given := captionsIn(s.Output.Answer)
	for i, ref := range f.Captions {
		if strings.TrimSpace(ref) == "" {
			continue
		}
		n++
		rouge += text.RougeL(given[i+1], ref)
		bleu += text.BLEU2(given[i+1], ref)
	}
	switch {
	case n == 0:
		return both(func(name string) score.Value { return score.Undefined(name, "", "the case has no captions by experts") })
	case s.Failed:
		return both(func(name string) score.Value { return score.Invalid(name, "", score.Failure) })
	}
	return []score.Value{score.Of(scoreCaptionsRouge, "", rouge/float64(n)), score.Of(scoreCaptionsBLEU, "", bleu/float64(n))}
}

func findingsOf(s score.Sample, f itemFacts) []score.Value {
	bleu := text.BLEU2(text.Outside(s.Output.Answer), f.Findings)
	var own []score.Value
	switch {
	case f.Findings == "":
		for _, name := range []string{scoreFindingsRouge, scoreFindingsBLEU, scoreRadCliQ} {
			own = append(own, score.Undefined(name, "", "the case has no findings by experts"))
		}
		return own
	case s.Failed:
		own = []score.Value{score.Invalid(scoreFindingsRouge, "", score.Failure), score.Invalid(scoreFindingsBLEU, "", score.Failure)}
	default:
		own = []score.Value{score.Of(scoreFindingsRouge, "", text.RougeL(text.Outside(s.Output.Answer), f.Findings)), score.Of(scoreFindingsBLEU, "", bleu)}
	}
	if len(s.Judges(rubReport)) == 0 {
		return append(own, score.Undefined(scoreRadCliQ, "", "no side file of its neural parts is a judge of rubric "+rubReport))
	}
	return append(own, each(s, rubReport, []string{scoreRadCliQ}, func(_ string, v reportVerdict) map[string]float64 {
		return map[string]float64{scoreRadCliQ: radCliQ(v.RadGraph, v.BERTScore, v.CheXbert, bleu)}
	})...)
}

// radCliQ is RadCliQ-v1, lower is better: a linear model of standardised parts (Yu
// et al. 2023, coefficients as published with the tool).
func radCliQ(radgraph, bertscore, chexbert, bleu2 float64) float64 {
	v := 2.466552561323256e-10
	for _, part := range [4][4]float64{ // value, mean, scale, coefficient
		{radgraph, 0.5379231241355762, 0.3028258411486429, -0.37708368261038905},
		{bertscore, 0.6175725628125001, 0.22430938459304575, -0.37030009974480316},
		{chexbert, 0.7647942121140658, 0.2539439110169773, -0.25261621789593225},
		{bleu2, 0.44738335396242174, 0.2989271671041838, 4.315048405024756e-12},
	} {
		v += part[3] * (part[0] - part[1]) / part[2]
	}
	return v
}
