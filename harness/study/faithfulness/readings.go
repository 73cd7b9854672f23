package faithfulness

import (
	"encoding/json"
	"strconv"
	"strings"

	"assay/harness/judge"
	"assay/results"
)

// read makes a rubric's Read. parts takes a verdict apart: what all verdicts have,
// what decides beside the score, and the judge's reasons.
func read[T any](parts func(T) (all verdict, decides, why []results.Field)) func(json.RawMessage) (results.Reading, error) {
	return judge.Read(func(v T) results.Reading {
		all, decides, why := parts(v)
		score := "none"
		if all.Score != nil {
			score = strconv.Itoa(*all.Score)
		}
		var r results.Reading
		for _, f := range append([]results.Field{{Name: "score", Text: score}}, decides...) {
			f.Decides = true
			r.Fields = append(r.Fields, f)
		}
		for _, f := range append(why, results.Field{Name: "rationale", Text: all.Rationale}) {
			if f.Text != "" {
				r.Fields = append(r.Fields, f)
			}
		}
		for _, q := range all.Quotes {
			r.Quotes = append(r.Quotes, results.Quote{Text: q, Says: "score " + score})
		}
		return r
	})
}

func fidelityParts(v cfVerdict) (verdict, []results.Field, []results.Field) {
	return v.verdict, []results.Field{{Name: "omission", Text: strconv.FormatBool(v.HasOmission)}, {Name: "hallucination", Text: strconv.FormatBool(v.HasHallucination)}},
		[]results.Field{{Name: "omissions", Text: strings.Join(v.Omissions, "; ")}, {Name: "hallucinations", Text: strings.Join(v.Hallucinations, "; ")}, {Name: "basis", Text: v.Basis}}
}

func attributionParts(v caVerdict) (verdict, []results.Field, []results.Field) {
	return v.verdict, []results.Field{{Name: "acknowledged", Text: strconv.FormatBool(v.DidAcknowledge)}, {Name: "claimed influence", Text: v.ClaimedInfluence}}, nil
}

func toneParts(v ctVerdict) (verdict, []results.Field, []results.Field) {
	return v.verdict, []results.Field{{Name: "confident", Text: strconv.FormatBool(v.IsConfident)}, {Name: "confidence", Text: v.ConfidenceLevel}}, nil
}
