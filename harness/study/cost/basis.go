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
	how := man.Study(name)
	b := Basis{Study: name, Manifest: man, Prices: study.Prices{Cost: man.Cost}, Together: how.Timed != nil && !*how.Timed}
	for _, d := range man.Datasets {
		if d.Name == how.Dataset {
			b.Prices.Items = d.Items
			if cases := man.Sizes(d).Cases; cases != nil { // each has a question for every study
				b.Prices.Items = *cases
			}
		}
	}
	b.Blocks, err = st.Blocks(ctx)
	return b, err
}

// Headline is what an answer takes, as a report begins with it: of the rows that are
// named, of those who answer what the Main column called price ranks.
func (b Basis) Headline(price string, row ...string) []results.Headline {
	of := func(column, title string) results.Headline {
		return results.Headline{Table: b.Study + "-cost", Column: column, Row: row, Title: title, Price: price}
	}
	return []results.Headline{of("joules", "Energy"), of("money", "Money")}
}
