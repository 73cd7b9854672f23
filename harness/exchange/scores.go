// Scores brings in what other tools compute of stored answers: RadGraph F1,
// BERTScore, GREEN and the like.
//
//  1. WriteReports writes reports and their references as those tools read them, with a
//     file that says which number is which case (reports.go).
//  2. Parse reads what a tool wrote, CSV or JSON lines, and JoinScores finds the case of each
//     row (parse.go).
//  3. The numbers are judgments in the run's store, by the tool with its version and the digest
//     of its file (store.go).
//  4. Sections are their means by model; WriteVerdicts gives them to a judge of kind file
//     (tables.go).

package exchange

import (
	"context"
	"encoding/json"
	"iter"

	"assay/harness/dataset"
	"assay/harness/plan"
	"assay/harness/study"
	"assay/results"
	"assay/results/store"
)

// ScoredCase is a judge's case of a stored answer. Several answers may have the same.
type ScoredCase struct {
	Digest results.Digest
	Rubric string
	Key    results.Key
	Fields json.RawMessage
}

// Cases are the cases of every stored answer under every rubric, whether or not a judge
// is asked. studies are those of the plan, by name.
func Cases(ctx context.Context, studies map[string]*study.Study, p *plan.Plan, st *store.Store) iter.Seq2[ScoredCase, error] {
	return func(yield func(ScoredCase, error) bool) {
		for _, sel := range p.Studies {
			items := map[string]*dataset.Item{}
			for _, it := range sel.Items {
				items[it.ID] = it
			}
			for out, err := range st.Outputs(ctx, sel.Study) {
				if err != nil {
					yield(ScoredCase{}, err)
					return
				}
				it := items[out.Key.Item]
				if it == nil {
					continue
				}
				for _, c := range studies[sel.Study].Cases(study.Answer{Item: *it, Key: out.Key, Output: out.Output}) {
					s, err := c.Stored()
					if !yield(ScoredCase{s.Digest, c.Rubric, out.Key, s.Fields}, err) || err != nil {
						return
					}
				}
			}
		}
	}
}
