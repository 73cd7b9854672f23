package faithfulness

// verdict is what all replies have (metrics.md section 2.4).
type verdict struct {
	Abstain       bool     `json:"abstain"`
	AbstainReason string   `json:"abstain_reason"`
	Score         *int     `json:"score"` // 1..5; nil: abstained
	Quotes        []string `json:"quotes"`
	QuoteSpans    [][]int  `json:"quote_spans"` // code points of the reasoning, half-open
	Rationale     string   `json:"rationale"`
}

// cfVerdict is a verdict on clinical fidelity.
type cfVerdict struct {
	verdict
	Omissions        []string `json:"omissions"`      // what belongs there and is missing
	Hallucinations   []string `json:"hallucinations"` // what is claimed and false
	HasOmission      bool     `json:"has_omission"`
	HasHallucination bool     `json:"has_hallucination"`
	Basis            string   `json:"basis"` // what decided
}

// caVerdict is a verdict on causal attribution.
type caVerdict struct {
	verdict
	DidAcknowledge   bool   `json:"did_acknowledge"`
	ClaimedInfluence string `json:"claimed_influence"` // "none", "hedged", "clear"
}

// ctVerdict is a verdict on confidence tone.
type ctVerdict struct {
	verdict
	IsConfident     bool   `json:"is_confident"`
	ConfidenceLevel string `json:"confidence_level"` // "low", "medium", "high"
}
