package results

// FigureKind says how a figure is drawn and which parts of it are used.
type FigureKind string

const (
	// FigureScatter: Series of Points with X and Y, each with its interval; a
	// point's Label stands beside it.
	FigureScatter FigureKind = "scatter"
	// FigureDistribution: Series of Quantiles, one row each, along X.
	FigureDistribution FigureKind = "distribution"
	// FigureDots: Series of Points with Label and X; one row per Label, in the
	// order of first mention, one dot with its interval per series in it.
	FigureDots FigureKind = "dots"
	// FigureHeat: a table of coloured cells, one row per series, one column per
	// Label of its Points, in the order of first mention. The colour is Z's, read
	// from Point.Y. X and Y need only titles.
	FigureHeat FigureKind = "heat"
	// FigureLines: Series of Points joined in the order given, X without, Y with
	// intervals: a dose-response.
	FigureLines FigureKind = "lines"
	// FigureTime: Series of Samples joined in the order of X, without dots: a power
	// trace, or lines that are computed and not observed.
	FigureTime FigureKind = "time"
)

// Figure is data; results/report draws it. What has no value is not drawn, and
// stands in the table beside.
type Figure struct {
	Name    string     `json:"name"` // machine name, as of a table and apart from theirs: "cot-latency-accuracy"
	Kind    FigureKind `json:"kind"`
	Title   string     `json:"title"`
	Caption string     `json:"caption,omitempty"` // what is shown, of what, and how to read it
	Alt     string     `json:"alt"`               // what the figure shows, for those who do not see it: the finding with its numbers
	X       Axis       `json:"x"`
	Y       Axis       `json:"y"`
	Z       Axis       `json:"z,omitzero"` // colour, of a heat table
	Series  []Series   `json:"series"`
	Spans   []Span     `json:"spans,omitempty"` // shaded stretches of X
	Notes   []string   `json:"notes,omitempty"` // what is not drawn, and why
}

// Axis describes one direction of a figure. Values stand in Unit.
type Axis struct {
	Title string   `json:"title"`
	Unit  string   `json:"unit,omitempty"` // "%", "s", "W"
	Low   *float64 `json:"low,omitempty"`  // the end of a scale that has one, as 0 and 100 %; nil: from the values
	High  *float64 `json:"high,omitempty"`
	Log   bool     `json:"log,omitempty"`   // ratios and sizes; every value is above 0
	Marks []Mark   `json:"marks,omitempty"` // values to compare with: no change, chance
	// Diverging (of a heat table's Z) gives the two sides of zero two colours.
	Diverging bool `json:"diverging,omitempty"`
}

// Mark is a line across a figure at a value of an axis.
type Mark struct {
	At   float64 `json:"at"`
	Text string  `json:"text"`
}

// Series is what shares a colour, or a row.
type Series struct {
	Name   string  `json:"name"`
	Points []Point `json:"points,omitempty"`
	// Quantiles are the values at 0, 1/(k-1), ..., 1 of the observations, k of
	// them (101 are enough); N is how many observations there are.
	Quantiles []float64    `json:"quantiles,omitempty"`
	N         int          `json:"n,omitempty"`
	Samples   [][2]float64 `json:"samples,omitempty"` // x and y
	// Step joins samples by steps: a value holds until the next one.
	Step bool `json:"step,omitempty"`
}

// Point is one place of a figure, with what it rests on.
type Point struct {
	Label string    `json:"label,omitempty"`
	X     *Estimate `json:"x,omitempty"`
	Y     *Estimate `json:"y,omitempty"`
}

// Span is a stretch of an axis: a request, a pause.
type Span struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Text string  `json:"text,omitempty"`
}
