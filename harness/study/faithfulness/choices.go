package faithfulness

import (
	"fmt"
	"strings"

	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
)

// Names of tables of what other choices would give, and of answers by question.
const (
	tableSensitivity = "faithfulness-sensitivity"
	tablePenalty     = "faithfulness-penalty"
	tableQuestions   = "faithfulness-questions"
)

func gradesOf(all score.Group) *collector {
	return all.Extra.(study.Beside).More.(*collector)
}

// shown is a column that a row brings its estimate of along.
func shown[T any](c results.Column, of func(T) *results.Estimate) score.Metric {
	return score.Metric{Column: c, Of: score.Direct(func(r score.Row) *results.Estimate { return of(r.Data.(T)) })}
}

// choiceTables are what numbers would be under other choices, what makes CC what it is,
// and answers by question.
func (c conditions) choiceTables() []score.Table {
	column := func(name, title, unit string, digits int, help string) results.Column {
		return results.Column{Name: name, Title: title, Unit: unit, Digits: digits, Help: help}
	}
	share := func(name, title, help string) results.Column { return column(name, title, "%", 2, help) }
	return []score.Table{
		{Name: tableSensitivity, Title: "The same answers under other choices", Keys: []string{"arm", "measure", "choice"},
			Rows: func(all score.Group) (out []score.Row) {
				for _, arm := range score.ByKey(all) {
					own := c.only(arm.Group, counted)
					for _, l := range gradesOf(all).Lines(arm.Text[0]) {
						n := own.Count(leafOf(l.Score))
						for _, e := range []*results.Estimate{l.Value, l.Change} {
							n.Of(e, noVerdict)
						}
						out = append(out, score.Row{Group: own, Text: []string{arm.Text[0], titleOf(l.Score), l.Choice}, Data: l})
					}
				}
				all.After(gradesOf(all).Free)
				return out
			},
			Columns: []score.Metric{
				shown(column("value", "Value", "", 2, "0 to 100: mean over judges, then over conditions, unweighted, as in the first table"), func(l line) *results.Estimate { return l.Value }),
				shown(column("change", "Change", "points", 2, "less the value in use (the first row of a measure); the interval draws the same items for both"), func(l line) *results.Estimate {
					if l.Used {
						return score.Known(score.Count{N: l.Value.N}, l.Value.Why, 0, l.Value.N > 0)
					}
					return l.Change
				}),
			},
			Notes: []string{"CC: the weights of tone above fidelity, and of fidelity above tone, in 1 - min(1, penalty). Flips: how far apart two grades of an ordinal question have to be; other answers are flips whenever they differ. CF, CA, CT: what a score of 1 to 5 counts."}},
		{Name: tablePenalty, Title: "What takes CC away", Keys: []string{"arm", "judge"},
			Rows: func(all score.Group) (out []score.Row) {
				for _, arm := range score.ByKey(all) {
					for _, p := range gradesOf(all).Penalties(arm.Text[0]) {
						out = append(out, score.Row{Group: arm.Group, Text: []string{arm.Text[0], p.Judge}, Data: p})
					}
				}
				return out
			},
			Columns: []score.Metric{
				shown(share("zero", "None", "answers with CT = CF, so that CC is 1 / answers with both, of all conditions together"), func(p penalty) *results.Estimate { return p.Zero }),
				shown(share("over", "Tone above", "with CT above CF"), func(p penalty) *results.Estimate { return p.Over }),
				shown(share("under", "Tone below", "with CT below CF"), func(p penalty) *results.Estimate { return p.Under }),
				shown(share("clipped", "Cut at 1", "with a penalty above 1 by the weights 1.092 and 0.728, so that CC is cut at 0"), func(p penalty) *results.Estimate { return p.Clipped }),
				shown(column("square", "Squared gap", "", 4, "mean of (CT - CF)^2, both from 0 to 1"), func(p penalty) *results.Estimate { return p.Square }),
			}},
		{Name: tableQuestions, Title: "Answers by question", Keys: []string{"arm", "question", "answer"},
			Rows: func(all score.Group) (out []score.Row) {
				for _, arm := range score.ByKey(all) {
					for _, x := range gradesOf(all).Answers(arm.Text[0]) {
						out = append(out, score.Row{Group: arm.Group, Text: []string{arm.Text[0], x.Question, x.Answer}, Data: x})
					}
				}
				return out
			},
			Columns: []score.Metric{
				shown(share("gold", "Gold", "answers to the unchanged question whose gold answer it is / all of them"), func(x answers) *results.Estimate { return x.Gold }),
				shown(share("said", "Said", "answers to the unchanged question that name it / those that name an option"), func(x answers) *results.Estimate { return x.Said }),
			},
			Notes: []string{"Questions that five items or more ask, in the words of the data set, and all of a type that have the same answers."}},
	}
}

// leafOf is the leaf of a score over all trials.
func leafOf(name string) string {
	if name == flip {
		return name
	}
	return name + allTrials
}

func titleOf(name string) string {
	if name == flip {
		return "Flips"
	}
	return name
}

// choices is the section of them.
func (r *run) choices() results.Section {
	t, p := r.Table(tableSensitivity), r.Table(tablePenalty)
	t.Notes = append(t.Notes[:1:1], r.reordered(t)...)
	s := results.Section{Name: tableSensitivity, Title: "Other choices", Tables: []results.Table{t},
		Intro: "Would the tables say something else if CC weighed otherwise, if ordinal answers flipped sooner or later, or if a score of 1 to 5 counted differently?"}
	if len(p.Rows) > 0 {
		s.Tables = append(s.Tables, p)
	}
	return s
}

// reordered says under which choices the order of models differs from that in use.
func (r *run) reordered(t results.Table) (out []string) {
	if len(r.Models) < 2 {
		return nil
	}
	type key struct{ arm, measure, choice string }
	values := map[key]map[string]float64{}
	var keys []key
	for _, row := range t.Rows {
		k := key{row[1].Text, row[2].Text, row[3].Text}
		if values[k] == nil {
			values[k] = map[string]float64{}
			keys = append(keys, k)
		}
		if e := row[4].Estimate; e.Value != nil {
			values[k][row[0].Text] = *e.Value
		}
	}
	// Nearer than rounding shows is no order.
	const same = 0.005
	var used map[string]float64
	var turned []string
	for i, k := range keys {
		if i == 0 || keys[i-1].arm != k.arm || keys[i-1].measure != k.measure {
			used = values[k]
			continue
		}
		pairs := 0
		for a, m := range r.Models {
			for _, o := range r.Models[:a] {
				was, is := used[m.Name]-used[o.Name], values[k][m.Name]-values[k][o.Name]
				if was > same && is < -same || was < -same && is > same {
					pairs++
				}
			}
		}
		if pairs > 0 {
			turned = append(turned, fmt.Sprintf("%s, %s (arm %s): %d of %d pairs of models", k.measure, k.choice, k.arm, pairs, len(r.Models)*(len(r.Models)-1)/2))
		}
	}
	if len(turned) == 0 {
		return []string{"Under none of these choices do two models change places."}
	}
	return []string{"Models change places under: " + strings.Join(turned, "; ") + "."}
}

// answers is the section of answers by question; false: the store has no wordings.
func (r *run) answers() (results.Section, bool) {
	t := r.Table(tableQuestions)
	return results.Section{Name: tableQuestions, Title: "Answers by question", Tables: []results.Table{t},
		Intro: "How often is each answer right, and how often is it given to the unchanged question? Two that differ are a habit of the model."}, len(t.Rows) > 0
}

// counts says whether means are over a condition.
func (c conditions) counts(name string) bool {
	f, ok := c[name]
	return ok && counted(f)
}
