// Package toy is the smallest study: a prompt, a rubric, a score and a table. A test
// builds it into assay.
package toy

import (
	"context"
	"embed"
	"encoding/json"
	"strings"
	"text/template"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/score"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
	"assay/results/store"
)

// Name of the study in bench.yaml and in keys.
const Name = "toy"

//go:embed templates/*.tmpl
var files embed.FS

// Definition is the study before anything of it is chosen.
func Definition() study.Definition {
	return study.Definition{Kind: study.Kind{Name: Name, Arms: []string{"ask"}, Rubrics: []string{"hit"}, Prompts: []string{"ask"}}, New: made,
		Usual: []string{"in_flight: 4"}}
}

type hitCase struct {
	Gold   string `json:"gold"`
	Answer string `json:"answer"`
}

func made(prompts map[string]string, _ study.Choice) (study.Study, error) {
	l, err := study.Prompts{Files: files, List: []study.Wording{{Names: []string{"ask"}, Usable: ".Question", Try: []any{study.Prompt{Question: "Is it?", Type: dataset.TypeBool}}}}}.Load(prompts)
	if err != nil {
		return study.Study{}, err
	}
	return study.Study{
		Name: Name, Types: []string{dataset.TypeBool, dataset.TypeBinary}, Prompts: l.Texts,
		Arms: []study.Arm{{Name: "ask", Turns: []*template.Template{l.ByName["ask"]}}},
		Rubrics: []judge.Rubric{{Name: "hit",
			Template: template.Must(template.New("hit").Parse(`Is the answer {{.Answer}} the same as {{.Gold}}? {"hit": true} or {"hit": false}`)),
			Schema:   json.RawMessage(`{"type":"object","additionalProperties":false,"required":["hit"],"properties":{"hit":{"type":"boolean"}}}`),
			Rules: func(c judge.Case) (any, string, bool) {
				f := c.Fields.(hitCase)
				return map[string]bool{"hit": strings.EqualFold(strings.Trim(f.Answer, " .\n"), f.Gold)}, "", true
			}}},
		Conditions: func(uint64, dataset.Item) ([]perturb.Condition, []study.Missing) {
			return []perturb.Condition{perturb.Baseline()}, nil
		},
		Facts: func(_ uint64, it dataset.Item) (results.Item, error) {
			return results.Item{Study: Name, ID: it.ID, Type: it.Type}, nil
		},
		Cases: func(it dataset.Item, _ results.Key, out results.Output) []judge.Case {
			return []judge.Case{{Rubric: "hit", Fields: hitCase{it.Answer, out.Answer}}}
		},
		Scores: scores(), Summarize: summarize,
	}, nil
}

func scores() score.Rules {
	names := []score.Name{{Name: "hit", Unit: "1", Better: score.Higher, Rubric: "hit", Source: "a test", Help: "1: the answer is the gold one"}}
	return score.Rules{Study: Name, Names: append(names, score.VerdictNames("hit")...), Score: func(s score.Sample) []score.Value {
		out := s.Verdicts("hit")
		for _, j := range s.Judges("hit") {
			var v struct{ Hit bool }
			switch {
			case !s.Verdict("hit", j, &v):
				out = append(out, score.Invalid("hit", j, s.Why("hit", j)))
			case v.Hit:
				out = append(out, score.ValueOf("hit", j, 1))
			default:
				out = append(out, score.ValueOf("hit", j, 0))
			}
		}
		return out
	}}
}

// summarize has one table of one metric, by model.
func summarize(ctx context.Context, st *store.Store, judges map[string][]string, _ study.NoDecode) ([]results.Section, error) {
	run, err := score.Compute(ctx, st, score.Design{
		Rules:  scores(),
		Cells:  []string{"arm"},
		Cell:   func(t *score.Scored) (score.Keys, error) { return score.Keys{t.Row.Key.Arm}, nil },
		Item:   func(results.Item) (score.Item, error) { return score.Item{}, nil },
		Leaves: []score.Leaf{{Score: "hit", Why: "nothing was judged"}},
		Tables: []score.Table{{Name: "toy-main", Title: "Hits", Rows: score.OneRow,
			Columns: []score.Metric{{Column: study.PercentColumn("hit", "Hit", ""), Of: score.Percent("hit")}}}},
	}, judges, 1)
	if err != nil {
		return nil, err
	}
	return []results.Section{{Name: "toy", Title: "Toy", Tables: []results.Table{run.Table("toy-main")}}}, nil
}
