package study

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"assay/harness/judge"
	"assay/harness/score"
	"assay/results"
	"assay/results/stats"
	"assay/results/store"
)

// twice is what is counted of one judge's second verdicts under a rubric.
type twice struct {
	rubric, judge      string
	cases, once, never int // judged twice; with one usable verdict of the two; with none
	undecided          int // with two usable verdicts that decide nothing by themselves
	sample             score.PairSample
	items              map[string]int
	same               score.Fraction
	levels             int   // of an ordinal scale; 0: it is none
	table              []int // columns of the sample, by first and second level
	agreed, kappa      *results.Estimate
}

// TwiceTable is how often judges said the same of a case that they judged twice;
// false: none was. No other table rests on second verdicts.
func TwiceTable(ctx context.Context, st *store.Store, study string, rubrics []judge.Rubric, seed uint64) (results.Table, bool, error) {
	t := results.Table{Name: study + "-judged-twice", Title: "Each judge against itself", Columns: []results.Column{
		TextColumn("rubric", "Rubric"), TextColumn("judge", "Judge"),
		CountColumn("cases", "Judged twice", "cases that the judge was asked about a second time, with nothing of the first in sight"),
		PercentColumn("same", "Same verdict", "second verdicts that decide as the first did, of a score on a scale the same score; n: cases with two usable verdicts"),
		{Name: "kappa", Title: "Kappa", Digits: 4, Help: "Cohen's kappa of first and second score with quadratic weights; scores on a scale only"},
		CountColumn("once", "Usable once", "cases with a usable verdict the one time and none the other"),
		CountColumn("never", "Never usable", "cases without a usable verdict both times"),
	}}
	var all []*twice
	clusters, err := score.Clusters(ctx, st, study)
	if err != nil {
		return t, false, err
	}
	for v, err := range st.JudgedTwice(ctx, study) {
		if err != nil {
			return t, false, err
		}
		i := slices.IndexFunc(rubrics, func(r judge.Rubric) bool { return r.Name == v.Rubric })
		if i < 0 {
			continue
		}
		if n := len(all); n == 0 || all[n-1].rubric != v.Rubric || all[n-1].judge != v.Judge {
			all = append(all, newTwice(v.Rubric, v.Judge, rubrics[i]))
		}
		if err := all[len(all)-1].add(v, rubrics[i], clusters[v.Item]); err != nil {
			return t, false, fmt.Errorf("%s: a verdict of %s under rubric %s: %w", study, v.Judge, v.Rubric, err)
		}
	}
	slices.SortStableFunc(all, func(a, b *twice) int {
		at := func(x *twice) int {
			return slices.IndexFunc(rubrics, func(r judge.Rubric) bool { return r.Name == x.rubric })
		}
		return at(a) - at(b)
	})
	for _, x := range all {
		x.score(seed)
		t.Rows = append(t.Rows, []results.Cell{Text(x.rubric), Text(x.judge), Counted(x.cases, x.cases), Value(x.agreed), Value(x.kappa), Counted(x.once, x.cases), Counted(x.never, x.cases)})
	}
	return t, len(all) > 0, nil
}

func newTwice(rubric, judge string, r judge.Rubric) *twice {
	x := &twice{rubric: rubric, judge: judge, items: map[string]int{}}
	x.same = x.sample.Fraction()
	if n := r.Number; n != nil && n.Whole && n.High-n.Low >= 2 {
		x.levels = int(n.High-n.Low) + 1
		for range x.levels * x.levels {
			x.table = append(x.table, x.sample.Column())
		}
	}
	return x
}

func (x *twice) add(v results.Twice, r judge.Rubric, cluster string) error {
	x.cases++
	switch a, b := v.First.Status.Usable(), v.Second.Status.Usable(); {
	case !a && !b:
		x.never++
		return nil
	case a != b:
		x.once++
		return nil
	}
	first, err := r.Read(v.First.Verdict)
	if err != nil {
		return err
	}
	second, err := r.Read(v.Second.Verdict)
	if err != nil {
		return err
	}
	if !first.Decides() && !second.Decides() {
		x.undecided++
		return nil
	}
	item, ok := x.items[v.Item]
	if !ok {
		item = x.sample.Item()
		x.sample.Cluster(item, cluster)
		x.items[v.Item] = item
	}
	x.sample.Add(x.same.Den, item, 1)
	same := !first.Differs(second)
	if x.levels > 0 {
		i, err := level(first, r.Number)
		if err != nil {
			return err
		}
		j, err := level(second, r.Number)
		if err != nil {
			return err
		}
		x.sample.Add(x.table[i*x.levels+j], item, 1)
		same = i == j
	}
	if same {
		x.sample.Add(x.same.Num, item, 1)
	}
	return nil
}

// level is the place on the scale of what a verdict decides, from 0.
func level(r results.Reading, scale *judge.Number) (int, error) {
	for _, f := range r.Fields {
		if f.Decides {
			n, err := strconv.Atoi(f.Text)
			if err == nil && float64(n) >= scale.Low && float64(n) <= scale.High {
				return n - int(scale.Low), nil
			}
			return 0, fmt.Errorf("%q is not on the scale (%s)", f.Text, scale.Scale)
		}
	}
	return 0, fmt.Errorf("it decides nothing")
}

func (x *twice) score(seed uint64) {
	none := "no case has two usable verdicts"
	if x.undecided > 0 {
		none = "its verdicts say several things and decide none"
	}
	n := score.Count{N: int(x.sample.Sum(x.same.Den))}
	x.agreed = n.Of(x.sample.Share(x.same), none)
	x.kappa = &results.Estimate{Why: "its verdicts are not on a scale"}
	if x.levels > 0 && x.undecided == 0 {
		kappa := x.sample.Sums(func(sums []float64) (float64, bool) {
			k, why := x.of(sums)
			return k, why == ""
		})
		x.kappa = n.Of(x.sample.Rests(kappa, nil, x.same.Den), none)
		if n.N > 0 {
			x.kappa.Why = string(stats.NoDisagree)
		}
	}
	x.sample.Run(seed, score.Replicates(x.sample.N()))
}

// of is kappa with quadratic weights of what was drawn.
func (x *twice) of(sums []float64) (float64, stats.Undefined) {
	counts := make([][]int, x.levels)
	for i := range counts {
		for j := range x.levels {
			counts[i] = append(counts[i], int(sums[x.table[i*x.levels+j]]))
		}
	}
	return stats.Kappa(counts, stats.Quadratic)
}
