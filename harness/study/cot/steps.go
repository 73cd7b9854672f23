package cot

// Names of step types and judgments, as verdicts spell them.
const (
	modality    = "modality"
	feature     = "feature"
	conclusion  = "conclusion"
	other       = "other"
	restatement = "restatement"

	judgedMatch = "match"
	judgedWrong = "wrong"
	judgedNA    = "na"
)

// step is one atomic step of an answer in a precision verdict.
type step struct {
	Text     string `json:"text"`
	Type     string `json:"type"`
	Judgment string `json:"judgment"`
}

// Verdicts that scores are computed from, as the schemas in rubrics.go ask for them.
type (
	precisionVerdict struct {
		Steps []step `json:"steps"`
	}
	recallVerdict struct {
		Paths []recallPath `json:"paths"`
	}
	recallPath struct {
		Path  int          `json:"path"` // from 1
		Steps []recallStep `json:"steps"`
	}
	recallStep struct {
		Step    int  `json:"step"` // from 1
		Matched bool `json:"matched"`
	}
	orderVerdict struct {
		Modality   int `json:"modality"`
		Feature    int `json:"feature"`
		Conclusion int `json:"conclusion"`
		Other      int `json:"other"`
	}
)

// matched arranges a recall verdict by gold path and step; nil: no verdict.
// What goes beyond the gold steps is cut.
func (v recallVerdict) matched(gold []int) [][]*bool {
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

func (v orderVerdict) path() path {
	return pathOf([len(kinds)]int{v.Modality, v.Feature, v.Conclusion, v.Other})
}
