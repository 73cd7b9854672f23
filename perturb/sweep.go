package perturb

// Grid covers the picture cell by cell, one trial for each.
type Grid struct {
	Columns int `yaml:"columns,needed" range:"2..32"`
	Rows    int `yaml:"rows,needed" range:"2..32"`
}

// MaxGrid is the most columns and rows of a grid: cells smaller than that show
// nothing, and each is a trial.
const MaxGrid = 32

// Sweep is a parameter of a condition at several levels.
type Sweep struct {
	Condition string
	Param     string // a parameter of one of its ops: "thickness_px"
	Levels    []float64
}
