package plan

import (
	"time"

	"assay/results"
)

// Count is how many trials stand in one cell of the plan.
type Count struct {
	Study     string `json:"study"`
	Model     string `json:"model"`
	Arm       string `json:"arm"`
	Condition string `json:"condition"`
	Trials    int    `json:"trials"`
}

// Counts is the trials per study, model, arm and condition, in the order of the
// plan; cells without trials are not listed.
func Counts(p *Plan) []Count {
	var out []Count
	for _, b := range p.Blocks {
		cells := map[Count]int{}
		for _, t := range b.Trials {
			cells[Count{Study: t.Key.Study, Model: t.Key.Model, Arm: t.Key.Arm, Condition: t.Key.Condition}]++
		}
		for _, s := range p.Studies {
			for _, arm := range s.Arms {
				for _, condition := range s.Conditions {
					c := Count{Study: s.Study, Model: b.Model, Arm: arm, Condition: condition}
					if c.Trials = cells[c]; c.Trials > 0 {
						out = append(out, c)
					}
				}
			}
		}
	}
	return out
}

// Estimate adds up the time of the trials whose time is known, one after
// another. The others are only counted: nothing is guessed. A trial that is
// already stored takes 0 and is known.
func Estimate(p *Plan, perTrial func(results.Key) (time.Duration, bool)) (known time.Duration, unknown int) {
	for _, b := range p.Blocks {
		for _, t := range b.Trials {
			if d, ok := perTrial(t.Key); ok {
				known += d
			} else {
				unknown++
			}
		}
	}
	return known, unknown
}
