package results

// PairsOf is the name of a study's table of pairs: every two models, and every two rows of
// one, on the items that both answered.
func PairsOf(study string) string { return study + "-pairs" }

// Columns of a table of pairs. Model and other are compared by a measure, which is a column of
// the study's first table, in rows of that; "" where it has one row a model.
const (
	PairOther      = "other"
	PairMeasure    = "measure"
	PairRow        = "row"
	PairOtherRow   = "other_row"
	PairDifference = "difference" // of the model less the other
	PairHolm       = "p_holm"
)

// Sure is the p, corrected for all pairs, at or below which a difference is called clear.
const Sure = 0.05
