package cot

import (
	"fmt"
	"slices"
	"strings"

	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
)

// Tables of the items that reasoning harmed and helped, and of where it first went wrong.
const (
	tableChangedItems = "cot-changed-items"
	tableChanged      = "cot-changed"
)

// Changes of an item: right without reasoning and wrong with it, or the reverse.
const (
	harmed = "harmed"
	helped = "helped"
)

// noneWrong is the first wrong step of reasoning in which no step is wrong; unknownWrong that of
// reasoning without a usable verdict.
const (
	noneWrong    = "none"
	unknownWrong = "not known"
)

// mostChanged items of a model are listed; counts are of all.
const mostChanged = 500

// votes are the usable verdicts on an item in an arm, and those that say right.
type votes struct{ right, known int }

// majority is what more than half say; false: there is no such.
func (v votes) majority() (right, ok bool) {
	return 2*v.right > v.known, v.known > 0 && 2*v.right != v.known
}

type changedItem struct {
	name  string
	votes [2]votes // without and with reasoning
	wrong []string // by judge of steps, in the first repeat that has a verdict; "": none
}

// changes collects the verdicts of one model: score.Extra.
type changes struct {
	direct, cot string // arms
	right       []int  // places by judge
	wrong       []int
	items       []changedItem
}

// newChanges makes an empty one. direct and cot are the arms, right and wrong the places of the scores
// of a right answer and of the category of the first wrong step, by judge.
func newChanges(direct, cot string, right, wrong []int) *changes {
	return &changes{direct: direct, cot: cot, right: right, wrong: wrong}
}

// Add takes in a trial of an item; items come in order.
func (c *changes) Add(at int, t *score.Scored) {
	for len(c.items) <= at {
		c.items = append(c.items, changedItem{name: t.Row.Key.Item, wrong: make([]string, len(c.wrong))})
	}
	arm := slices.Index([]string{c.direct, c.cot}, t.Row.Key.Arm)
	if arm < 0 {
		return
	}
	x := &c.items[at]
	for _, p := range c.right {
		if v, ok := t.Number(p); ok {
			x.votes[arm].known++
			if v == 1 {
				x.votes[arm].right++
			}
		}
	}
	for j, p := range c.wrong {
		if kind, ok := t.Text(p); ok && arm == 1 && x.wrong[j] == "" {
			x.wrong[j] = kind
		}
	}
}

// Score adds nothing: what is listed are counts.
func (c *changes) Score(*score.PairSample) {}

// change is an item that is right in one arm alone.
type change struct {
	changedItem
	how  string
	step string
}

func (c *changes) changes() (out []change) {
	for _, x := range c.items {
		before, ok := x.votes[0].majority()
		after, okAfter := x.votes[1].majority()
		if !ok || !okAfter || before == after {
			continue
		}
		how := helped
		if before {
			how = harmed
		}
		out = append(out, change{x, how, firstNamed(x.wrong)})
	}
	slices.SortStableFunc(out, func(a, b change) int { return strings.Compare(a.how, b.how) }) // harmed first
	return out
}

// firstNamed is the category that judges of steps name: each that one names, in their order.
func firstNamed(by []string) string {
	var said []string
	for _, s := range by {
		if s != "" && !slices.Contains(said, s) {
			said = append(said, s)
		}
	}
	if len(said) == 0 {
		return unknownWrong
	}
	return strings.Join(said, " / ")
}

// changedTables are how many items changed, by the category of the first wrong step, and which. of finds a
// model's collector; categories are those that judges know, in order.
func changedTables(of func(score.Group) *changes, categories []string) []score.Table {
	count := func(name, title, help string, of func(n, all int) *results.Estimate) score.Metric {
		return score.Metric{Column: study.CountColumn(name, title, help), Of: score.Direct(func(r score.Row) *results.Estimate {
			d := r.Data.([2]int)
			return of(d[0], d[1])
		})}
	}
	said := func(name, title string, arm int) score.Metric {
		return score.Metric{Column: study.PercentColumn(name, title, "usable verdicts that say right"), Of: score.Direct(func(r score.Row) *results.Estimate {
			v := r.Data.(change).votes[arm]
			return score.Known(score.Count{N: v.known}, "", 100*float64(v.right)/float64(v.known), true)
		})}
	}
	return []score.Table{
		{Name: tableChanged, Title: "Where the reasoning of changed answers first goes wrong", Keys: []string{"change", "step"},
			Rows: func(all score.Group) (out []score.Row) {
				list := of(all).changes()
				names := append(slices.Clone(categories), noneWrong)
				for _, x := range list {
					if !slices.Contains(names, x.step) {
						names = append(names, x.step)
					}
				}
				for _, how := range []string{harmed, helped} {
					total := 0
					by := map[string]int{}
					for _, x := range list {
						if x.how == how {
							by[x.step]++
							total++
						}
					}
					for _, step := range names {
						if by[step] > 0 {
							out = append(out, score.Row{Group: all, Text: []string{how, step}, Data: [2]int{by[step], total}})
						}
					}
				}
				return out
			},
			Columns: []score.Metric{
				count("items", "Items", "whose answer only the other arm has right", func(n, all int) *results.Estimate { return score.Known(score.Count{N: all}, "", float64(n), true) }),
				{Column: study.PercentColumn("share", "Share", "of the items of this change"), Of: score.Direct(func(r score.Row) *results.Estimate {
					d := r.Data.([2]int)
					return score.Known(score.Count{N: d[1]}, "", 100*float64(d[0])/float64(d[1]), true)
				})},
			},
			Notes: []string{"Harmed: right without reasoning, wrong with it; helped: the reverse; by the majority of usable verdicts. The step is the first that a judge of precision calls wrong in the step-by-step answer, \"" + noneWrong +
				"\" where none is, \"" + unknownWrong + "\" without a usable verdict. Judges that differ are both named."}},
		{Name: tableChangedItems, Title: "Items that reasoning harmed and helped", Keys: []string{"change", "item", "step"},
			Rows: func(all score.Group) (out []score.Row) {
				list := of(all).changes()
				for _, x := range list[:min(mostChanged, len(list))] {
					out = append(out, score.Row{Group: all, Text: []string{x.how, x.name, x.step}, Data: x})
				}
				return out
			},
			Columns: []score.Metric{said("right_direct", "Right, direct", 0), said("right_cot", "Right, cot", 1)},
			Notes:   []string{fmt.Sprintf("At most %d items of a model; assay export has all. assay show --item ITEM shows one with its answers and verdicts.", mostChanged)}},
	}
}
