package plan

import (
	"fmt"
	"maps"
	"slices"

	"assay/results/stats"
)

// PowerQuestion is what a study is to find, in points of 100.
type PowerQuestion struct {
	Difference float64 // between two shares of the same items
	Discordant float64 // items right on one side only
	PerImage   int     // questions that share an image, where there are no Studies
	Studies    []powerStudy
	ICC        float64 // intra-class correlation of the differences of a cluster's questions, 0 to 1
	Width      float64 // of the interval of a corrected mean, from end to end
	SD         float64 // of labels
	R          float64 // correlation of a judge with people
	Judged     int     // cases, labelled ones among them
	Rounds     int     // simulations
	Seed       uint64
}

// powerStudy is what a study plans.
type powerStudy struct {
	Study string
	Sizes []int // questions of each cluster
}

// PowerStudies are those of a plan, whose questions are drawn one by one where the rules
// are the released ones.
func (p *Plan) PowerStudies(released bool) (out []powerStudy) {
	for _, s := range p.Studies {
		sizes := map[string]int{}
		for _, it := range s.Items {
			if it.Picture == "" || released {
				sizes["item "+it.ID] = 1
				continue
			}
			sizes["of "+it.Picture]++
		}
		out = append(out, powerStudy{s.Study, slices.Sorted(maps.Values(sizes))})
	}
	return out
}

// PowerNeeds is how many it takes; nil: more than mostNeeded.
type PowerNeeds struct {
	Items   *int         `json:"items"` // for 80 % power; of several studies the most
	Studies []studyNeeds `json:"studies,omitempty"`
	People  *int         `json:"labels_alone"`    // labels, without a judge
	Labels  *int         `json:"labels_of_cases"` // labels, with the judge
	Rounds  int          `json:"simulations"`
}

// studyNeeds is how many items a study needs, beside what it plans.
type studyNeeds struct {
	Study    string `json:"study"`
	Items    *int   `json:"items"` // nil: more than mostNeeded
	Planned  int    `json:"planned_items"`
	Clusters int    `json:"planned_clusters"`
	Least    int    `json:"smallest_cluster"` // in items
	Most     int    `json:"largest_cluster"`
}

// mostNeeded items or labels are looked for.
const mostNeeded = 100_000

// powerRefusedError says why a question cannot be answered.
type powerRefusedError struct{ Why string }

func (e *powerRefusedError) Error() string { return e.Why }

// Power simulates what a question needs. The error is a powerRefusedError.
func Power(q PowerQuestion) (PowerNeeds, error) {
	s := stats.Simulation{Seed: q.Seed, Rounds: q.Rounds}
	out := PowerNeeds{Rounds: q.Rounds}
	switch {
	case q.Difference <= 0 || q.Discordant > 100 || q.Difference > q.Discordant:
		return out, &powerRefusedError{fmt.Sprintf("--difference, --discordant: expected 0 < difference <= discordant <= 100 points, found %g and %g", q.Difference, q.Discordant)}
	case q.PerImage < 1 || q.PerImage > 1000 || q.ICC < 0 || q.ICC > 1:
		return out, &powerRefusedError{fmt.Sprintf("--per-image, --icc: expected 1 to 1000 questions and a correlation from 0 to 1, found %d and %g", q.PerImage, q.ICC)}
	case q.Width <= 0 || q.SD <= 0 || q.Judged < 10 || q.R < 0 || q.R > 1:
		return out, &powerRefusedError{fmt.Sprintf("--width, --sd, --judged, --correlation: expected points above 0, 10 cases or more and a correlation from 0 to 1, found %g, %g, %d and %g", q.Width, q.SD, q.Judged, q.R)}
	}
	items := func(sizes []int) *int {
		if slices.Min(sizes) == slices.Max(sizes) {
			sizes = sizes[:1]
		}
		if n, ok := s.ItemsFor(stats.Effect{Difference: q.Difference / 100, Discordant: q.Discordant / 100, Sizes: sizes, Correlation: q.ICC}, 0.8, mostNeeded); ok {
			return &n
		}
		return nil
	}
	if q.Studies == nil {
		out.Items = items([]int{q.PerImage})
	}
	for i, of := range q.Studies {
		n := studyNeeds{Study: of.Study, Items: items(of.Sizes), Clusters: len(of.Sizes), Least: slices.Min(of.Sizes), Most: slices.Max(of.Sizes)}
		for _, k := range of.Sizes {
			n.Planned += k
		}
		if i == 0 || out.Items != nil && (n.Items == nil || *n.Items > *out.Items) {
			out.Items = n.Items
		}
		out.Studies = append(out.Studies, n)
	}
	fewer := stats.Simulation{Seed: q.Seed, Rounds: max(20, q.Rounds/20)}
	if n, ok := stats.AloneFor(q.Width, q.SD, mostNeeded); ok {
		out.People = &n
	}
	if n, ok := fewer.LabelsFor(q.Width, q.Judged, q.SD, q.R, q.Judged-2); ok {
		out.Labels = &n
	}
	return out, nil
}

// Lines says it in words.
func (n PowerNeeds) Lines(q PowerQuestion) []string {
	count := func(k *int, most int) string {
		if k == nil {
			return fmt.Sprintf("more than %d", most)
		}
		return fmt.Sprint(*k)
	}
	var lines []string
	difference := func(of, shared string, items *int) {
		lines = append(lines, fmt.Sprintf("%s difference of %g points, where %g %% of items are right on one side only%s: %s items (80 %% power, paired test by sign flips of images at 5 %%, %d simulations).",
			of, q.Difference, q.Discordant, shared, count(items, mostNeeded), n.Rounds))
	}
	shared := func(of string) string {
		return fmt.Sprintf(", %s, whose differences correlate by %g", of, q.ICC)
	}
	switch {
	case q.Studies != nil:
	case q.PerImage > 1:
		difference("A", shared(fmt.Sprintf("%d questions of each image", q.PerImage)), n.Items)
	default:
		difference("A", "", n.Items)
	}
	for _, s := range n.Studies {
		of := fmt.Sprintf("Study %s plans %d items, none of which share an image. A", s.Study, s.Planned)
		switch together := fmt.Sprintf("%d to %d", s.Least, s.Most); {
		case s.Most == 1:
			difference(of, "", s.Items)
		default:
			if s.Least == s.Most {
				together = fmt.Sprint(s.Most)
			}
			of = fmt.Sprintf("Study %s plans %d items in %d clusters of %s (images, or what cluster: names). With these a", s.Study, s.Planned, s.Clusters, together)
			difference(of, shared("questions of one cluster"), s.Items)
		}
	}
	return append(lines,
		fmt.Sprintf("A mean with an interval %g points wide, labels having a standard deviation of %g: %s labels by people alone.", q.Width, q.SD, count(n.People, mostNeeded)),
		fmt.Sprintf("The same with a judge who correlates with people by %g and judged %d cases: %s labels.", q.R, q.Judged, count(n.Labels, q.Judged-2)),
	)
}
