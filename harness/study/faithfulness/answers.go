package faithfulness

import (
	"context"
	"slices"
	"strings"

	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
	"assay/results/store"
	"assay/results/text"
)

// few items are no question whose answers are counted.
const few = 5

// questions are what items ask: many items share a question.
type questions struct {
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

// questionsOf reads them from a store; items of an older assay have none.
func questionsOf(ctx context.Context, st *store.Store) (*questions, error) {
	q := &questions{of: map[string]posed{}}
	at := map[string]int{}
	for it, err := range st.Items(ctx, studyName) {
		if err != nil {
			return nil, err
		}
		f, err := study.FactsOf[item](it)
		if err != nil {
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

// answers are how often one answer to a question is the gold one, and how often it was
// given, in per cent.
type answers struct {
	Question, Answer string
	Gold, Said       *results.Estimate
}

// ask takes in an answer to an unchanged question.
func (c *collector) ask(a *arm, item int, t *score.Scored) {
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

// gradeShown are questions whose answers are counted together.
type gradeShown struct {
	title     string
	options   []string
	questions []int // places in the list
	own       []asking
}

// frequent adds how often each answer is the gold one, and was given: of each question, and of
// all questions of a type that have the same answers, where they are several.
func (c *collector) frequent(s *score.PairSample, a *arm) {
	type family struct {
		kind, options string
	}
	by := make([][]asking, len(c.questions.list))
	all := map[family]*gradeShown{}
	for _, x := range a.asked {
		by[x.question] = append(by[x.question], x)
	}
	order := make([]int, len(by))
	for i, q := range c.questions.list {
		order[i] = i
		if len(by[i]) == 0 {
			continue
		}
		f := family{q.kind, strings.Join(q.options, "\n")}
		if all[f] == nil {
			all[f] = &gradeShown{title: "all " + q.kind + " questions with these answers", options: q.options}
		}
		all[f].questions, all[f].own = append(all[f].questions, i), append(all[f].own, by[i]...)
	}
	kinds := []string{"binary", "ordinal", "comparative", "spatial"}
	slices.SortStableFunc(order, func(x, y int) int {
		return slices.Index(kinds, c.questions.list[x].kind) - slices.Index(kinds, c.questions.list[y].kind)
	})
	var list []gradeShown
	for _, at := range order {
		q := c.questions.list[at]
		f := family{q.kind, strings.Join(q.options, "\n")}
		if x := all[f]; x != nil && len(x.questions) > 1 {
			list = append(list, *x)
			delete(all, f)
		}
		list = append(list, gradeShown{q.wording, q.options, []int{at}, by[at]})
	}
	list = slices.DeleteFunc(list, func(x gradeShown) bool { return len(x.own) < few })
	a.answers = c.share(s, a.asked, list)
}

// share is how often each option is the gold answer and was said.
func (c *collector) share(s *score.PairSample, asked []asking, list []gradeShown) (out []answers) {
	// Of each question: what is gold, then what was said, the last of each none of the options.
	from, most := make([]int, len(c.questions.list)), 0
	for i, q := range c.questions.list {
		from[i] = most
		most += 2 * (len(q.options) + 1)
	}
	// Items with the same of both are counted together: there are few such groups.
	type same struct {
		gold, said int
		items      []int32
	}
	var groups []same
	at := map[[2]int]int{}
	for _, x := range asked {
		k := len(c.questions.list[x.question].options)
		g, o := int(x.gold), int(x.said)
		if g < 0 {
			g = k
		}
		if o < 0 {
			o = k
		}
		key := [2]int{from[x.question] + g, from[x.question] + k + 1 + o}
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key], groups = i, append(groups, same{gold: key[0], said: key[1]})
		}
		groups[i].items = append(groups[i].items, x.item)
	}
	outs := 0
	for _, x := range list {
		outs += 2 * len(x.options)
	}
	counts := make([]int, most)
	estimates := s.Several(outs, func(_ []float64, w []uint8, out []float64) {
		clear(counts)
		for i := range groups {
			n := 0
			for _, item := range groups[i].items {
				n += int(w[item])
			}
			counts[groups[i].gold] += n
			counts[groups[i].said] += n
		}
		for i := range list {
			k := len(list[i].options)
			list[i].shares(counts, from, out[:2*k])
			out = out[2*k:]
		}
	})
	for _, x := range list {
		var gold, said score.Count
		for _, y := range x.own {
			gold.Note(y.gold >= 0, true)
			said.Note(y.said >= 0, true)
		}
		k := len(x.options)
		for i, option := range x.options {
			out = append(out, answers{x.title, option, gold.Of(estimates[i], "no gold answer is an option"), said.Of(estimates[k+i], "no answer is an option")})
		}
		estimates = estimates[2*k:]
	}
	return out
}

// shares writes the options' shares among gold answers, then among those said, in per cent.
func (x *gradeShown) shares(counts, from []int, out []float64) {
	clear(out)
	k := len(x.options)
	var gold, said float64
	for _, q := range x.questions {
		own := counts[from[q]:]
		for i := range k {
			g, o := float64(own[i]), float64(own[k+1+i])
			out[i], gold = out[i]+g, gold+g
			out[k+i], said = out[k+i]+o, said+o
		}
	}
	for i := range k {
		out[i], out[k+i] = 100*out[i]/gold, 100*out[k+i]/said // 0/0: NaN
	}
}
