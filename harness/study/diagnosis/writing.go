// Writing is the captions and findings that models write of images, beside
// those of experts: ROUGE-L, BLEU-2, and RadCliQ-v1 from a side file (metrics.md
// section 3).

package diagnosis

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/score"
	"assay/results"
	"assay/results/text"
)

// report is the rubric of the neural parts of RadCliQ-v1, which tools give.
const report = "report"

// Names of the scores of a trial.
const (
	captionsRouge = "captions_rouge_l"
	captionsBLEU  = "captions_bleu_2"
	findingsRouge = "findings_rouge_l"
	findingsBLEU  = "findings_bleu_2"
	radCliQ       = "radcliq_v1"
)

// writingCase is a report beside that of experts, for tools that compare them.
type writingCase struct {
	Report    string `json:"report"`
	Reference string `json:"reference"`
}

// caseOf is the findings that a model wrote; false: experts wrote none.
func caseOf(it dataset.Item, answer string) (writingCase, bool) {
	ref := it.AnswerLeaking().Findings
	return writingCase{Report: answer, Reference: ref}, ref != ""
}

type verdict struct {
	RadGraph  float64 `json:"radgraph_f1"`
	BERTScore float64 `json:"bertscore"`
	CheXbert  float64 `json:"chexbert"`
}

const schema = `{"type":"object","additionalProperties":false,"required":["radgraph_f1","bertscore","chexbert"],"properties":{
"radgraph_f1":{"type":"number","minimum":0,"maximum":1},
"bertscore":{"type":"number","minimum":-2,"maximum":1},
"chexbert":{"type":"number","minimum":-1,"maximum":1}}}`

// rubric is answered by files alone.
func rubric() judge.Rubric {
	return judge.Rubric{Name: report, Schema: json.RawMessage(schema), Read: judge.Read(read)}
}

func read(v verdict) results.Reading {
	return results.Reading{Fields: []results.Field{{Name: "radgraph_f1", Text: fmt.Sprint(v.RadGraph), Decides: true},
		{Name: "bertscore", Text: fmt.Sprint(v.BERTScore), Decides: true}, {Name: "chexbert", Text: fmt.Sprint(v.CheXbert), Decides: true}}}
}

// scores are declared with add.
func scores(add func(name, unit string, better score.Better, rubric, help string)) {
	add(captionsRouge, "1", score.Higher, "", "ROUGE-L F of each caption against the experts', mean over the images that experts captioned; a missing caption is 0")
	add(captionsBLEU, "1", score.Higher, "", "BLEU-2 of the same")
	add(findingsRouge, "1", score.Higher, "", "ROUGE-L F of the findings against the experts'")
	add(findingsBLEU, "1", score.Higher, "", "BLEU-2 of the same")
	add(radCliQ, "1", score.Lower, report, "RadCliQ-v1 of the findings, from RadGraph F1, BERTScore and CheXbert similarity of a side file and our BLEU-2")
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

// writingCaptions are the scores of a trial that wrote captions; experts' are by image.
func writingCaptions(s score.Sample, experts []string) []score.Value {
	both := func(make func(name string) score.Value) []score.Value {
		return []score.Value{make(captionsRouge), make(captionsBLEU)}
	}
	n, rouge, bleu := 0, 0., 0.
	given := captionsIn(s.Output.Answer)
	for i, ref := range experts {
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
	return []score.Value{score.ValueOf(captionsRouge, "", rouge/float64(n)), score.ValueOf(captionsBLEU, "", bleu/float64(n))}
}

// writingFindings are the scores of a trial that wrote findings.
func writingFindings(s score.Sample, experts string) []score.Value {
	own := s.Verdicts(report)
	bleu := text.BLEU2(text.Outside(s.Output.Answer), experts)
	switch {
	case experts == "":
		for _, name := range []string{findingsRouge, findingsBLEU, radCliQ} {
			own = append(own, score.Undefined(name, "", "the case has no findings by experts"))
		}
		return own
	case s.Failed:
		own = append(own, score.Invalid(findingsRouge, "", score.Failure), score.Invalid(findingsBLEU, "", score.Failure))
	default:
		own = append(own, score.ValueOf(findingsRouge, "", text.RougeL(text.Outside(s.Output.Answer), experts)), score.ValueOf(findingsBLEU, "", bleu))
	}
	if len(s.Judges(report)) == 0 {
		return append(own, score.Undefined(radCliQ, "", "no side file of its neural parts is a judge of rubric "+report))
	}
	return append(own, score.EachJudge(s, report, []string{radCliQ}, func(_ string, v verdict) map[string]float64 {
		return map[string]float64{radCliQ: text.RadCliQ(v.RadGraph, v.BERTScore, v.CheXbert, bleu)}
	})...)
}

// writingLeaves are what is added up of the scores.
func writingLeaves() []score.Leaf {
	var list []score.Leaf
	for _, n := range []string{captionsRouge, captionsBLEU, findingsRouge, findingsBLEU} {
		list = append(list, score.Leaf{Score: n, Why: "the model was not asked to write it", Undefined: "experts wrote none to compare with"})
	}
	return append(list, score.Leaf{Score: radCliQ, Why: "the side file has no row of these reports", Undefined: "no side file of its neural parts is a judge of rubric " + report})
}

// writingTables are those of captions and of findings.
func writingTables(captions, findings string, captioned, found func(score.Group) []score.Row) []score.Table {
	return []score.Table{
		{Name: captions, Title: "Captions beside those of experts", Rows: captioned, Columns: []score.Metric{
			{Column: results.Column{Name: "rouge_l", Title: "ROUGE-L", Digits: 4, Help: "F, mean over the images of a case, then over cases"}, Of: score.Mean(captionsRouge)},
			{Column: results.Column{Name: "bleu_2", Title: "BLEU-2", Digits: 4, Help: "the same"}, Of: score.Mean(captionsBLEU)}}},
		{Name: findings, Title: "Findings beside those of experts", Rows: found, Columns: []score.Metric{
			{Column: results.Column{Name: "rouge_l", Title: "ROUGE-L", Digits: 4, Help: "F, mean over cases"}, Of: score.Mean(findingsRouge)},
			{Column: results.Column{Name: "bleu_2", Title: "BLEU-2", Digits: 4}, Of: score.Mean(findingsBLEU)},
			{Column: results.Column{Name: "radcliq", Title: "RadCliQ-v1", Digits: 4, Help: "lower is better; its neural parts come from a side file"}, Of: score.Mean(radCliQ)},
			{Column: results.Column{Name: "radcliq_inverse", Title: "1 / RadCliQ-v1", Digits: 4, Help: "1 / the mean, as the published table has it: higher is better where the mean is above 0"},
				Of: score.Then(score.Mean(radCliQ), func(x float64) (float64, bool) { return 1 / x, x != 0 })}}},
	}
}
