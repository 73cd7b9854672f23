package grades

import (
	"context"
	"slices"
	"strings"

	"assay/harness/metric"
	"assay/harness/score"
	"assay/harness/study"
	"assay/harness/study/faithfulness/scoring"
	"assay/results"
	"assay/results/sqlite"
	"assay/results/text"
)

// few items are no question whose answers are counted.
const few = 5

// Questions are what items ask: many items share a question.
type Questions struct {
	list []question
	of   map[string]posed // by item
}

type question struct {
	wording, kind string
	options       []string // as the question has them
}

// posed is the question of an item, and the place of its gold answer among the options; -1:
// it is none of them.
type posed struct{ question, gold int32 }

// QuestionsOf reads them from a store; items of an older assay have none.
func QuestionsOf(ctx context.Context, st *sqlite.Store) (*Questions, error) {
	q := &Questions{of: map[string]posed{}}
	at := map[string]int{}
	for it, err := range st.Items(ctx, scoring.Study) {
		if err != nil {
			return nil, err
		}
		var f scoring.Item
		if err := study.ReadFacts(it, &f); err != nil {
			return nil, err
		}
		options := f.Question.Options
		if len(options) == 0 {
			options = f.Question.Scale
		}
		if f.Wording == "" || len(options) == 0 {
			continue
		}
		key := f.Wording + "\n" + strings.Join(options, "\n")
		if _, ok := at[key]; !ok {
			at[key] = len(q.list)
			q.list = append(q.list, question{f.Wording, it.Type, options})
		}
		gold, _ := f.Question.Read(f.Gold)
		q.of[it.ID] = posed{int32(at[key]), int32(q.list[at[key]].place(gold))}
	}
	return q, nil
}

// place is an option's, in its folded form; -1: it is none.
func (q question) place(option string) int {
	return slices.IndexFunc(q.options, func(o string) bool { return text.Fold(o) == option })
}

// asking is an answer to a question as it is.
type asking struct {
	item     int32
	question int32
	gold     int32
	said     int32 // -1: none of the options
}

// Answers are how often one answer to a question is the gold one, and how often it was
// given, in per cent.
type Answers struct {
	Question, Answer string
	Gold, Said       *results.Estimate
}

// ask takes in an answer to an unchanged question.
func (c *Collector) ask(a *arm, item int, t score.Scored) {
	p, ok := c.questions.of[t.Row.Key.Item]
	if !ok {
		return
	}
	said := -1
	if option, ok := t.Text(c.answer); ok {
		said = c.questions.list[p.question].place(option)
	}
	a.asked = append(a.asked, asking{int32(item), p.question, p.gold, int32(said)})
}

// frequent adds how often each answer is the gold one, and was given: of each question, and of
// all questions of a type that have the same answers, where they are several.
func (c *Collector) frequent(s *metric.Sample, a *arm) {
	type family struct {
		kind, options string
	}
	by := make([][]asking, len(c.questions.list))
	all, several := map[family][]asking{}, map[family]int{}
	for _, x := range a.asked {
		by[x.question] = append(by[x.question], x)
	}
	order := make([]int, len(by))
	for i, q := range c.questions.list {
		order[i] = i
		if f := (family{q.kind, strings.Join(q.options, "\n")}); len(by[i]) > 0 {
			several[f]++
			all[f] = append(all[f], by[i]...)
		}
	}
	kinds := []string{"binary", "ordinal", "comparative", "spatial"}
	slices.SortStableFunc(order, func(x, y int) int {
		return slices.Index(kinds, c.questions.list[x].kind) - slices.Index(kinds, c.questions.list[y].kind)
	})
	for _, at := range order {
		q := c.questions.list[at]
		if f := (family{q.kind, strings.Join(q.options, "\n")}); several[f] > 1 {
			several[f] = 0
			a.answers = append(a.answers, share(s, "all "+q.kind+" questions with these answers", q.options, all[f])...)
		}
		a.answers = append(a.answers, share(s, q.wording, q.options, by[at])...)
	}
}

// share is how often each option is the gold answer and was said, of enough answers.
func share(s *metric.Sample, title string, options []string, own []asking) (out []Answers) {
	if len(own) < few {
		return nil
	}
	k := len(options)
	// One count of both together: its rows are what is gold, its columns what was said, the
	// last of each none of the options. A column of the sample for each would be quicker by
	// little and take most of its memory.
	items, both := make([]int32, len(own)), make([]int32, len(own))
	for i, x := range own {
		g, o := int(x.gold), int(x.said)
		if g < 0 {
			g = k
		}
		if o < 0 {
			o = k
		}
		items[i], both[i] = x.item, int32(g*(k+1)+o)
	}
	counts := make([]int, (k+1)*(k+1))
	list := s.Weights(2*k, func(w []uint8, out []float64) {
		clear(counts)
		codes := both[:len(items)]
		for i, item := range items {
			counts[codes[i]] += int(w[item])
		}
		clear(out)
		var gold, said float64
		for g := range k + 1 {
			for o := range k + 1 {
				n := float64(counts[g*(k+1)+o])
				if g < k {
					gold += n
					out[g] += n
				}
				if o < k {
					said += n
					out[k+o] += n
				}
			}
		}
		for i := range k {
			out[i], out[k+i] = 100*out[i]/gold, 100*out[k+i]/said // 0/0: NaN
		}
	})
	var gold, said metric.Count
	for _, x := range own {
		gold.Note(x.gold >= 0, true)
		said.Note(x.said >= 0, true)
	}
	for i, option := range options {
		out = append(out, Answers{title, option, gold.Of(list[i], "no gold answer is an option"), said.Of(list[k+i], "no answer is an option")})
	}
	return out
}
