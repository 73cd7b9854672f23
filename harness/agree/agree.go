// Package agree says how well judges agree with people who rated the same answers.
//
//  1. draw.go draws answers to be rated. store.go makes a reader study of them, form.go the
//     form of a case, picture.go its pictures as they were sent; export.go writes what
//     people said.
//  2. ratings.go joins ratings with the answers and judgments of a store; split.go puts rated
//     answers into two parts, once and for all.
//  3. measure.go computes: consensus, tau-b, kappa, alpha, AC1, each with intervals.
//  4. gate.go says which judges may be used, and selects one: rates that must not be above a
//     limit (metrics.md section 2.5).
//  5. corrected.go corrects judged means by labels of drawn answers, prevalence.go the share
//     of cases that a judge calls positive, here and in every report.
//  6. tables.go lays it out.
package agree

import (
	"context"

	"assay/results"
	"assay/results/store"
)

// data is what is known of one study's rated answers.
type data struct{ *set }

// Corrected are the judged means of a store, of each study that people can rate, plain and
// corrected by the labels that the last comparison with people kept; where there are none,
// why no mean is corrected.
func Corrected(ctx context.Context, st *store.Store, man results.Manifest) ([]results.Section, error) {
	all, err := protocols(man)
	if err != nil {
		return nil, err
	}
	var out []results.Section
	for _, p := range all {
		draw := drawn(man, p.Name)
		if draw == nil {
			out = append(out, refused(p.Name, "no answers were drawn at random for people to rate (assay people sample)"))
			continue
		}
		labels := man.People.Labels[p.Name]
		if len(labels) == 0 {
			out = append(out, uncorrected(p.Name, "answers were drawn for people to rate, and no ratings of them were read yet (assay people agree)"))
			continue
		}
		d, err := read(ctx, st, man, p)
		if err != nil {
			return nil, err
		}
		s := correctedSection(d, draw, labels, kindOf)
		s.Study = p.Name
		out = append(out, s)
	}
	return out, nil
}
