package dataset

// Case is what is known of a case beside its images. Nothing in it says what the
// diagnosis is.
type Case struct {
	History string // clinical history, as a doctor would be told it

	// For tables, never for prompts: ICD, "" where it is not stated.
	Chapter, Block, Category string
	Longitudinal             *bool // images of several times; nil: not stated
	Timepoints               *int  // nil: not stated
	Rare                     *bool // a rare disease; nil: not stated
}

// AnswerLeaking is what of a case would give its answer away. Nothing else leads to
// it, so that no template can name it and no prompt has it by accident.
func (it Item) AnswerLeaking() Leaking { return it.leaking }

// Leaking is what of a case gives its answer away. The zero Leaking is none.
type Leaking struct {
	Title      string       // of the case: it names the disease
	Captions   []string     // one per image, "" where there is none; nil: none has one
	Findings   string       // what the images show, in words; "": not stated
	Discussion []section    // in the order of the text; nil: none
	Interval   string       // what lies between the times of the images; "": not stated
	Key        int          // of made cases the image that the answer depends on, from 1; 0: not known
	Experts    []expertStep // what experts said of steps of an explanation; nil: nothing
}

// section is a part of a discussion; Name is "" where the text is not divided.
type section struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// expertStep is what an expert said of a step of an explanation. nil: nothing.
type expertStep struct {
	Rater    string   `json:"rater"`
	N        int      `json:"n"` // of the step, from 1
	Text     string   `json:"text"`
	Factual  *bool    `json:"factual"`
	Critical *bool    `json:"critical"`
	Types    []string `json:"types"` // of errors
}
