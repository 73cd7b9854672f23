// Contamination asks whether models have seen the texts of a data set before,
// by MELD (metrics.md section 3): a model that is given the first half of a text and
// writes the second was trained on it.
//
//  1. Texts are those of a data set, each once (texts.go).
//  2. continueTexts has every model go on with the first half of each: as it stands where the
//     server has an endpoint without a chat template, else asked for in a chat
//     (run.go). Each text is a trial of an ordinary run: what was said is stored at once, and
//     never asked for again.
//  3. measureContamination compares it with the second half, in both forms of MELD, and with the second
//     half of another text: what a model reaches that knows nothing (measure.go).
//  4. Sections are the tables and figures of that (tables.go).

package curate

import (
	"fmt"
	"slices"
	"strings"

	"assay/backends"
	"assay/results"
)

// ContaminationSettings are what continuations are asked for and compared by.
type ContaminationSettings struct {
	Of        string  // one of Kinds: which text of an item
	Reach     float64 // a continuation is read up to so many times the length of the half held back; at least 1
	Threshold float64 // rho of a text that counts as known, above 0 and at most 1
	Chat      bool    // ask in a chat also where the server has an endpoint without a template
	Seed      uint64  // of the pairs of unrelated texts
}

// Check says what is wrong with settings.
func (s ContaminationSettings) Check() error {
	switch {
	case !slices.Contains(TextKinds(), s.Of):
		return fmt.Errorf("--text: expected one of %s, found %q", strings.Join(TextKinds(), ", "), s.Of)
	case !(s.Reach >= 1 && s.Reach <= 10):
		return fmt.Errorf("--reach: expected 1 to 10, found %v", s.Reach)
	case !(s.Threshold > 0 && s.Threshold <= 1):
		return fmt.Errorf("--threshold: expected a number above 0 and at most 1, found %v", s.Threshold)
	}
	return nil
}

// TextKinds are the texts of items that can be asked about.
func TextKinds() []string { return []string{ofQuestion, ofFindings, ofDiscussion} }

const (
	ofQuestion   = "question"
	ofFindings   = "findings"
	ofDiscussion = "discussion"
)

// askingWay is how a model is asked to go on.
type askingWay string

// The ways.
const (
	rawText askingWay = "raw"  // the text alone, without a chat template
	chat    askingWay = "chat" // in a chat, by a prompt of ours
)

// cut is what texts are halved by.
type cut string

// The cuts.
const (
	byTokens   cut = "tokens" // of the model, as its server says
	cutByWords cut = "words"  // where it does not
)

// halved is a text in two.
type halved struct {
	Cut  cut
	Head string // what the model was given
	Rest string // what was held back; "": the text is too short to be halved, and nothing was asked
}

// answer is what a model went on with.
type answer struct {
	halved
	Item string // the first that has the text
	Text results.Digest
	Way  askingWay
	Said string
	// Finish says why it ended there; "": nothing was asked.
	Finish backends.Finish
	// Cluster is that of the text.
	Cluster string
}

// continuedModel is what a model said, and what it did not.
type continuedModel struct {
	Name     string
	Identity backends.Identity
	Answers  []answer // in the order of the texts
	Failed   int      // texts without an answer
	Why      string   // of the first of them
	Former   int      // answers in the store that another state of the model gave, and that are not used
}
