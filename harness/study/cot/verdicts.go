package cot

// Types of steps, and what is judged of them, as verdicts spell them.
const (
	modality    = "modality"
	feature     = "feature"
	conclusion  = "conclusion"
	other       = "other"
	restatement = "restatement" // of the question: never counts

	matched = "match"
	wrong   = "wrong"
	na      = "na"
)

// step is one atomic step of an answer in a precision verdict.
type step struct {
	Text     string `json:"text"`
	Type     string `json:"type"`
	Judgment string `json:"judgment"`
}

// Verdicts that scores are computed from, as the schemas in rubrics.go ask for them.
type (
	// precisionVerdict is of each step of an answer.
	precisionVerdict struct {
		Steps []step `json:"steps"`
	}
	// recallVerdict is of each step of each gold path.
	recallVerdict struct {
		Paths []recallPath `json:"paths"`
	}
	// recallPath is of one gold path.
	recallPath struct {
		Path  int          `json:"path"` // from 1
		Steps []recallStep `json:"steps"`
	}
	// recallStep is of one gold step.
	recallStep struct {
		Step    int  `json:"step"` // from 1
		Matched bool `json:"matched"`
	}
	// orderVerdict is where each type of step occurs first, from 1; 0: nowhere.
	orderVerdict struct {
		Modality   int `json:"modality"`
		Feature    int `json:"feature"`
		Conclusion int `json:"conclusion"`
		Other      int `json:"other"`
	}
)

// Matched arranges a recall verdict by gold path and step, of which gold has the numbers;
// nil: no verdict. What goes beyond the gold steps is cut.
func (v recallVerdict) Matched(gold []int) [][]*bool {
	out := make([][]*bool, len(gold))
	for i, n := range gold {
		out[i] = make([]*bool, n)
	}
	for _, p := range v.Paths {
		for _, s := range p.Steps {
			if p.Path <= len(gold) && s.Step <= gold[p.Path-1] {
				out[p.Path-1][s.Step-1] = &s.Matched
			}
		}
	}
	return out
}
