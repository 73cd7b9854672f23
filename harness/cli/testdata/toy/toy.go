// Package toy is the smallest study: a prompt, a rubric, a score and a table. A test
// builds it into assay.
package toy

import (
	"embed"
	"encoding/json"
	"strings"
	"text/template"

	"assay/harness/judge"
	"assay/harness/score"
	"assay/harness/study"
)

//go:embed templates/*.tmpl
var files embed.FS

type hitCase struct {
	Gold   string `json:"gold"`
	Answer string `json:"answer"`
}

// Study is the study.
func Study() study.Study {
	return study.Study{
		Name: "toy", Types: []string{"bool", "binary"}, Arms: []study.Arm{{Name: "ask"}}, Draft: study.Draft{Usual: []string{"in_flight: 4"}},
		Prompts: study.Prompts{Files: files, List: []study.Wording{{Names: []string{"ask"}, Usable: ".Question", Try: []any{study.Prompt{Question: "Is it?", Type: "bool"}}}}},
		Rubrics: []judge.Rubric{{Name: "hit",
			Template: template.Must(template.New("hit").Parse(`Is the answer {{.Answer}} the same as {{.Gold}}? {"hit": true} or {"hit": false}`)),
			Schema:   json.RawMessage(`{"type":"object","additionalProperties":false,"required":["hit"],"properties":{"hit":{"type":"boolean"}}}`),
			Rules: func(c judge.Case) (any, string, bool) {
				f := c.Fields.(hitCase)
				return map[string]bool{"hit": strings.EqualFold(strings.Trim(f.Answer, " .\n"), f.Gold)}, "", true
			}}},
		Cases: func(a study.Answer) []judge.Case {
			return []judge.Case{{Rubric: "hit", Fields: hitCase{a.Item.Answer, a.Output.Answer}}}
		},
		Scores: score.Rules{
			Names: []score.Name{{Name: "hit", Unit: "1", Better: score.Higher, Rubric: "hit", Source: "a test", Help: "1: the answer is the gold one"}},
			Score: func(s score.Sample) []score.Value {
				return append(s.Verdicts("hit"), score.EachJudge(s, "hit", []string{"hit"}, func(_ string, v struct{ Hit bool }) map[string]float64 {
					return map[string]float64{"hit": score.OneIf(v.Hit)}
				})...)
			}},
		Design: func(*study.Basis) (d score.Design, lay study.Lay, err error) {
			d.Leaves = []score.Leaf{{Score: "hit", Why: "nothing was judged"}}
			d.Tables = []score.Table{{Name: "toy-main", Title: "Hits", Rows: score.OneRow,
				Columns: []score.Metric{study.Percent("hit", "Hit", "", score.Percent("hit"))}}}
			return d, nil, nil
		},
	}
}
