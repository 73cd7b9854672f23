package experiment

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/plan"
	"assay/harness/study"
	"assay/results"
	"assay/results/store"
)

// Tasks are the cases of every stored answer, with the judges that bench.yaml
// names for their rubrics.
func (b *Bench) Tasks(ctx context.Context, st *store.Store, p *plan.Plan) iter.Seq2[judge.Task, error] {
	return func(yield func(judge.Task, error) bool) {
		man := b.Manifest()
		for _, sel := range p.Studies {
			own := b.Studies[sel.Study]
			items := map[string]*dataset.Item{}
			for _, it := range sel.Items {
				items[it.ID] = it
			}
			asked := b.Judges()[sel.Study]
			rubrics := map[string]judge.Rubric{}
			by := map[string]map[string]results.Digest{}
			for _, r := range own.Rubrics {
				rubrics[r.Name], by[r.Name] = r, map[string]results.Digest{}
				for _, name := range asked[r.Name] {
					v, _ := b.versionOf(man, sel.Study, r, name)
					by[r.Name][name] = v.Digest
				}
			}
			from := b.needsFrom(sel.Study)
			for out, err := range st.Outputs(ctx, sel.Study) {
				if err != nil {
					yield(judge.Task{}, err)
					return
				}
				it := items[out.Key.Item]
				if it == nil {
					continue
				}
				answer := study.Answer{Item: *it, Key: out.Key, Output: out.Output}
				cases := own.Cases(answer)
				if own.Unread != nil && len(asked[study.Unread]) > 0 {
					if c, ok := own.Unread(answer); ok {
						cases = append(cases, c)
					}
				}
				var task func(c judge.Case) judge.Task
				task = func(c judge.Case) judge.Task {
					t := judge.Task{Key: out.Key, Rubric: rubrics[c.Rubric], Case: c, Judges: asked[c.Rubric], By: by[c.Rubric]}
					for _, n := range t.Rubric.Needs {
						i := slices.IndexFunc(cases, func(c judge.Case) bool { return c.Rubric == n })
						if i < 0 {
							panic(fmt.Sprintf("experiment: internal error: study %s has a case of rubric %s for %v and none of %s, which it needs", sel.Study, c.Rubric, out.Key, n))
						}
						t.Needs = append(t.Needs, judge.Need{Task: task(cases[i]), From: from[n]})
					}
					return t
				}
				for _, c := range cases {
					if len(asked[c.Rubric]) > 0 && !yield(task(c), nil) {
						return
					}
				}
			}
		}
	}
}

// needsFrom is whose verdict counts where another rests on it, by rubric of a study;
// where it says nothing, each judge's own.
func (b *Bench) needsFrom(study string) map[string]string {
	for _, sc := range b.Config.Studies {
		if sc.Name == study {
			return sc.NeedsFrom
		}
	}
	return nil
}
