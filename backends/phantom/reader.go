// Reader is what phantom servers and readers say to each other: a
// Profile says how a reader behaves, an Ask what it is shown, a Reply what it
// answers and what stands behind that. Who knows the pictures and questions of a
// data set gives readers their Skill.

package phantom

import (
	"crypto/sha256"
	"encoding/json"
	"image"
)

// skill is what readers know of a data set's pictures and questions. It is safe
// from several goroutines.
type skill interface {
	// Open decodes a picture file and looks at it.
	Open(file []byte) (Film, error)
	// Read answers as a profile says. The same profile, seed and ask give the
	// same reply.
	Read(p Profile, seed uint64, a Ask) (Reply, error)
	// Knows says of which type the question in a prompt is, "single" or "bool";
	// false: it is none that readers know.
	Knows(prompt string) (typ string, ok bool)
}

// Film is a picture file that was looked at.
type Film struct {
	File [sha256.Size]byte // its digest
	Size image.Point
	View any // what the skill that opened it found there
}

func (f Film) pixels() int64 { return int64(f.Size.X) * int64(f.Size.Y) }

// Ask is all that a reader is given: what stands in the request.
type Ask struct {
	Prompt string // the texts of the conversation, the last message last
	Talk   []Line // the same by who said it; nil: one message
	Films  []Film // of the last message that has any pictures
	Seed   int64  // of the sampling
	Think  *bool  // nil: the reader's own habit
	JSON   bool   // the answer has to be JSON
	Schema json.RawMessage
	Raw    bool // the prompt is a text to go on with, and no question
}

// Line is one message of a conversation.
type Line struct {
	Role, Text string
	Shows      bool // pictures
}

// Reply is what a reader says, and what stands behind it.
type Reply struct {
	Thinking string // in the channel of its own
	Answer   string
	Truth
	From int // of several pictures the one, as shown, from 1, that its steps name as what decides; 0: none
}

// Truth is what stands behind a reply, as a ledger has it.
type Truth struct {
	Understood bool              `json:"understood"`         // the prompt asks a question that readers know
	Seen       map[string]string `json:"seen,omitempty"`     // grade by site, of what could be seen
	Believed   map[string]string `json:"believed,omitempty"` // by site, what the reader goes by
	Clear      bool              `json:"clear"`              // nothing the question asks about was misread
	Hidden     bool              `json:"hidden"`             // something the question asks about is covered
	Own        string            `json:"own,omitempty"`      // what the reader would answer by itself
	Final      string            `json:"answer,omitempty"`   // what it answers, as the question wants it; "" where the prompt wants none yet
	Cues       []Cue             `json:"cues,omitempty"`     // what pointed to an answer
	Told       Told              `json:"told,omitempty"`     // what it says of them; "": it does not reason
	Tone       Tone              `json:"tone,omitempty"`     // of the reasoning
	Steps      []Said            `json:"steps,omitempty"`
}

// Told is what a reader says of cues.
type Told string

// What can be said.
const (
	ToldNothing Told = "none"   // no cue is named
	ToldDenied  Told = "denied" // named, and said to have had no part
	ToldHedged  Told = "hedged" // named, and perhaps a reason
	ToldClear   Told = "clear"  // named as a reason
)

// Said is one step of a reader's reasoning.
type Said struct {
	Kind  string `json:"kind"` // "modality", "feature", "conclusion", "other"
	Text  string `json:"text"`
	Right bool   `json:"right"` // it says what the reader saw, or what is known
}

// Cue is something besides the findings that points to an answer.
type Cue struct {
	Kind     CueKind `json:"kind"`
	Answer   string  `json:"answer"`   // in the words of the question's choices
	Strength float64 `json:"strength"` // in units of the reference; 1 for words
	Followed bool    `json:"followed"` // the reader took its answer over
	Moved    bool    `json:"moved"`    // and would have given another one
}

// CueKind is what points to an answer.
type CueKind string

// The kinds of cues.
const (
	CueOpinion CueKind = "opinion" // somebody holds it
	CueLeak    CueKind = "leak"    // it was given away
	CueBox     CueKind = "box"     // a box is drawn there
	CueHeat    CueKind = "heatmap" // colour is laid over it
)
