package dataset

// Knowledge is the knowledge base's entry for one question and gold answer
// (TAIX-VQA): what reasoning that is clinically right says.
type Knowledge struct {
	MustAll    []Term     `json:"must_all"`
	AtLeast    []AtLeast  `json:"at_least_k_of"`
	Forbidden  []Term     `json:"forbidden"`
	Notes      string     `json:"notes,omitempty"`
	Caps       []Cap      `json:"caps,omitempty"`
	Rules      []string   `json:"disambiguation_rules,omitempty"`
	Alternates [][]string `json:"acceptable_alternate_terminology,omitempty"` // groups of words that mean the same
}

// Term is a thing to be said, in any of its wordings.
type Term struct {
	Term     string   `json:"term"`
	Synonyms []string `json:"synonyms,omitempty"`
}

// AtLeast asks for K of the terms.
type AtLeast struct {
	K     int    `json:"k"`
	AnyOf []Term `json:"any_of"`
}

// Cap limits the clinical fidelity score, 1 to 5, when If holds.
type Cap struct {
	If       string `json:"if"`
	MaxScore int    `json:"max_score"`
}
