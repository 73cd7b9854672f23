// Package cost says what a study's answers took: energy, GPU time, money.
//
//  1. A Basis is what a study's tables rest on besides trials: prices, blocks,
//     whether requests ran beside each other.
//  2. Costs collect what one model's answers in one arm took, and add it to the
//     bootstrap sample that the study's scores are in.
//  3. EnergySection and CostSection print them, with a figure of where a GPU here
//     and a hosted price cost the same.
package cost

import (
	"context"
	"strconv"

	"assay/harness/study"
	"assay/results"
	"assay/results/sqlite"
)

// Basis is what a study's tables rest on besides trials.
type Basis struct {
	Study    string
	Manifest results.Manifest
	Prices   study.Prices
	Blocks   []results.Block // of all studies
	// Together says that requests ran beside each other.
	Together bool
	Steps    bool // the study knows how many steps are correct
}

// BasisOf reads it from the store.
func BasisOf(ctx context.Context, st *sqlite.Store, name string) (Basis, error) {
	man, _, err := st.Manifest(ctx)
	if err != nil {
		return Basis{}, err
	}
	b := Basis{Study: name, Manifest: man, Prices: study.Prices{Cost: man.Cost}, Together: man.Settings["studies."+name+".timed"] == "false"}
	for _, d := range man.Datasets {
		if d.Name == man.Settings["studies."+name+".dataset"] {
			b.Prices.Items = d.Items
			// A phantom case has a question for each study.
			if cases, err := strconv.Atoi(man.Settings["datasets."+d.Name+".items"]); err == nil && d.Kind == "phantom" {
				b.Prices.Items = cases
			}
		}
	}
	b.Blocks, err = st.Blocks(ctx)
	return b, err
}
