package results

import "time"

// People is what is kept of people who rate answers: which answers were drawn for
// them, and in which part of a study each answer is.
type People struct {
	Draws []Draw `json:"draws,omitempty"`
	// Splits are, by study, the part ("dev" or "test") of each rated answer, by name.
	Splits map[string]Split `json:"splits,omitempty"`
	// Labels are, by study, what people said of answers of its last draw.
	Labels map[string][]Label `json:"labels,omitempty"`
}

// Split is a study's answers in two parts: one to choose a judge by, one to say how
// good it is.
type Split struct {
	Seed  uint64            `json:"seed"`
	Parts map[string]string `json:"parts"`
}

// Draw is items that were drawn at random to be rated, whole, with each of their
// answers that was asked for, or in a second stage some of these.
type Draw struct {
	Study  string    `json:"study"`
	By     string    `json:"by"` // what strata are made of: "type", "task", "modality", "none"
	Seed   uint64    `json:"seed"`
	Made   time.Time `json:"made"`
	Strata []Stratum `json:"strata"`
	// Within is the probability that an answer to a drawn item was drawn; 0: each was.
	Within float64 `json:"within,omitempty"`
	Cases  []Drawn `json:"cases"`
	// Calibration are answers to other items, for raters to learn the scales by: they are
	// labels of nothing.
	Calibration []Drawn `json:"calibration,omitempty"`
}

// Stratum is items of one kind, each drawn with probability Drawn / Items.
type Stratum struct {
	Name  string `json:"name"`
	Items int    `json:"items"`
	Drawn int    `json:"drawn"`
}

// Probability that an item of the stratum was drawn.
func (s Stratum) Probability() float64 { return float64(s.Drawn) / float64(s.Items) }

// Drawn is an answer that was drawn, under a name that says nothing of it.
type Drawn struct {
	Case    string `json:"case"` // hex digits
	Key     Key    `json:"key"`
	Stratum string `json:"stratum"`
}

// Label is people's grade of a drawn answer: the mean over raters.
type Label struct {
	Case   string  `json:"case"`
	Axis   string  `json:"axis"`
	Score  float64 `json:"score"` // 0..1
	Raters int     `json:"raters"`
}
