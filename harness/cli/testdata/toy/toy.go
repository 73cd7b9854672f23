// Package toy is the smallest study: a prompt, a rubric, a score and a table. A test
// builds it into assay.
package toy

import (
	"context"
	"embed"
	"encoding/json"
	"io"
	"strings"
	"text/template"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/metric"
	"assay/harness/score"
	"assay/harness/study"
	"assay/perturb"
	"assay/results"
	"assay/results/sqlite"
)

// Name of the study in bench.yaml and in keys.
const Name = "toy"

//go:embed templates/*.tmpl
var files embed.FS

// Definition is the study before anything of it is chosen.
func Definition() study.Definition {
	return study.Definition{Name: Name, Arms: []string{"ask"}, Rubrics: []string{"hit"}, Prompts: []string{"ask"}, New: made,
		Usual: []string{"in_flight: 4"}}
}

type hitCase struct {
	Gold   string `json:"gold"`
	Answer string `json:"answer"`
}

func made(prompts map[string]string, _ study.Choice) (study.Study, error) {
	l, err := study.Prompts{Files: files, Names: []string{"ask"}, Usable: func(string) string { return ".Question" },
		TryOut: func(_ string, t *template.Template) error {
			return t.Execute(io.Discard, study.Prompt{Question: "Is it?", Type: dataset.TypeBool})
		}}.Load(prompts)
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
				out = append(out, score.Of("hit", j, 1))
			default:
				out = append(out, score.Of("hit", j, 0))
			}
		}
		return out
	}}
}

type model struct {
	name   string
	sample *metric.Sample
	hits   metric.Fraction
	n      metric.Count
	score  *results.Estimate
}

func summarize(ctx context.Context, st *sqlite.Store, judges map[string][]string) ([]results.Section, error) {
	place := scores().Layout(judges).Place("hit", judges["hit"][0])
	all, err := metric.ByModel(func(visit func([]score.Scored) error) error {
		return score.Walk(ctx, st, scores(), judges, visit)
	}, func(t score.Scored) results.Key { return t.Row.Key },
		func(name string) *model {
			m := &model{name: name, sample: &metric.Sample{}}
			m.hits = m.sample.Fraction()
			return m
		},
		func(m *model, trials []score.Scored) error {
			at := m.sample.Item()
			for _, t := range trials {
				v, ok := t.Number(place)
				if m.n.Note(ok, t.Defined(place)); ok {
					m.sample.Add(m.hits.Num, at, v)
					m.sample.Add(m.hits.Den, at, 1)
				}
			}
			return nil
		},
		func(m *model) {
			m.score = m.n.Of(m.sample.Sums(m.hits.Percent), "nothing was judged")
			m.sample.Run(1, metric.Replicates(m.sample.N()))
		})
	if err != nil {
		return nil, err
	}
	t := results.Table{Name: "toy-main", Title: "Hits", Columns: []results.Column{study.TextColumn("model", "Model"), study.PercentColumn("hit", "Hit", "")}}
	for _, m := range all {
		t.Rows = append(t.Rows, []results.Cell{study.Text(m.name), study.Value(m.score)})
	}
	return []results.Section{{Name: "toy", Title: "Toy", Tables: []results.Table{t}}}, nil
}
