package experiment

import (
	"context"
	"iter"

	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/plan"
	"assay/results"
	"assay/results/sqlite"
)

// Tasks are the cases of every stored answer, with the judges that bench.yaml
// names for their rubrics.
func (b *Bench) Tasks(ctx context.Context, st *sqlite.Store, p *plan.Plan) iter.Seq2[judge.Task, error] {
	return func(yield func(judge.Task, error) bool) {
		man := b.Manifest()
		for _, sel := range p.Studies {
			study := b.Studies[sel.Study]
			items := map[string]*dataset.Item{}
			for _, it := range sel.Items {
				items[it.ID] = it
			}
			asked := b.Judges()[sel.Study]
			rubrics := map[string]judge.Rubric{}
			by := map[string]map[string]results.Digest{}
			for _, r := range study.Rubrics {
				rubrics[r.Name], by[r.Name] = r, map[string]results.Digest{}
				for _, name := range asked[r.Name] {
					by[r.Name][name] = versionOf(man, sel.Study, r, name, judgeIn(man, name)).Digest
				}
			}
			for out, err := range st.Outputs(ctx, sel.Study) {
				if err != nil {
					yield(judge.Task{}, err)
					return
				}
				it := items[out.Key.Item]
				if it == nil {
					continue
				}
				for _, c := range study.Cases(*it, out.Key, out.Output) {
					if len(asked[c.Rubric]) == 0 {
						continue
					}
					if !yield(judge.Task{Key: out.Key, Rubric: rubrics[c.Rubric], Case: c, Judges: asked[c.Rubric], By: by[c.Rubric]}, nil) {
						return
					}
				}
			}
		}
	}
}
