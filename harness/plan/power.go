package plan

import (
	"fmt"

	"assay/results/stats"
)

// PowerQuestion is what a study is to find, in points of 100.
type PowerQuestion struct {
	Difference float64 // between two shares of the same items
	Discordant float64 // items right on one side only
	PerImage   int     // questions that share an image
	ICC        float64 // intra-class correlation of their differences, 0 to 1
	Width      float64 // of the interval of a corrected mean, from end to end
	SD         float64 // of labels
	R          float64 // correlation of a judge with people
	Judged     int     // cases, labelled ones among them
	Rounds     int     // simulations
	Seed       uint64
}

// PowerNeeds is how many it takes; nil: more than mostNeeded.
type PowerNeeds struct {
	Items  *int `json:"items"`           // for 80 % power
	People *int `json:"labels_alone"`    // labels, without a judge
	Labels *int `json:"labels_of_cases"` // labels, with the judge
	Rounds int  `json:"simulations"`
}

// mostNeeded items or labels are looked for.
const mostNeeded = 100_000

// PowerRefusedError says why a question cannot be answered.
type PowerRefusedError struct{ Why string }

func (e *PowerRefusedError) Error() string { return e.Why }

// Power simulates what a question needs. The error is a PowerRefusedError.
func Power(q PowerQuestion) (PowerNeeds, error) {
	s := stats.Simulation{Seed: q.Seed, Rounds: q.Rounds}
	out := PowerNeeds{Rounds: q.Rounds}
	switch {
	case q.Difference <= 0 || q.Discordant > 100 || q.Difference > q.Discordant:
		return out, &PowerRefusedError{fmt.Sprintf("--difference, --discordant: expected 0 < difference <= discordant <= 100 points, found %g and %g", q.Difference, q.Discordant)}
	case q.PerImage < 1 || q.PerImage > 1000 || q.ICC < 0 || q.ICC > 1:
		return out, &PowerRefusedError{fmt.Sprintf("--per-image, --icc: expected 1 to 1000 questions and a correlation from 0 to 1, found %d and %g", q.PerImage, q.ICC)}
	case q.Width <= 0 || q.SD <= 0 || q.Judged < 10 || q.R < 0 || q.R > 1:
		return out, &PowerRefusedError{fmt.Sprintf("--width, --sd, --judged, --r: expected points above 0, 10 cases or more and a correlation from 0 to 1, found %g, %g, %d and %g", q.Width, q.SD, q.Judged, q.R)}
	}
	if n, ok := s.ItemsFor(stats.Effect{Difference: q.Difference / 100, Discordant: q.Discordant / 100, PerImage: q.PerImage, Correlation: q.ICC}, 0.8, mostNeeded); ok {
		out.Items = &n
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
	images := ""
	if q.PerImage > 1 {
		images = fmt.Sprintf(", %d questions of each image, whose differences correlate by %g", q.PerImage, q.ICC)
	}
	return []string{
		fmt.Sprintf("A difference of %g points, where %g %% of items are right on one side only%s: %s items (80 %% power, paired test by sign flips of images at 5 %%, %d simulations).", q.Difference, q.Discordant, images, count(n.Items, mostNeeded), n.Rounds),
		fmt.Sprintf("A mean with an interval %g points wide, labels having a standard deviation of %g: %s labels by people alone.", q.Width, q.SD, count(n.People, mostNeeded)),
		fmt.Sprintf("The same with a judge who correlates with people by %g and judged %d cases: %s labels.", q.R, q.Judged, count(n.Labels, q.Judged-2)),
	}
}
