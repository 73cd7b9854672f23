package results

import (
	"encoding/json"
	"time"

	"assay/backends"
)

// Outcome is what resume needs to know of a stored trial.
type Outcome struct {
	Attempts int
	Invalids int    // attempts that are answers whose time does not count
	Kind     string // of the failure that the last attempt is
	Failed   bool   // the last attempt is a failure
	Invalid  bool   // the last attempt is an answer whose time does not count
	Cut      bool   // the last attempt is an answer that a limit of tokens cut
}

// KeyedOutcome is the outcome of one trial.
type KeyedOutcome struct {
	Key Key
	Outcome
}

// Row is a trial without its texts and traces: what most scores need. Times and
// tokens are sums over the turns of the last attempt; nil: a turn lacks it.
type Row struct {
	Key              Key
	Failed           bool           // the last attempt is a failure
	Kind             string         // of that failure; "" when there is an answer
	TTFT             *time.Duration // FirstContent - Start
	Latency          *time.Duration // T = LastContent - Start
	Decode           *time.Duration // LastContent - FirstContent
	ServerTotal      *time.Duration // as the server timed it
	PromptTokens     *int
	CompletionTokens *int
	FirstTokens      *int  // in the first chunk; nil: several, number unknown (timing.Trace.Tokens)
	TTFTAtMost       *bool // TTFT is an upper bound: its chunk shared a read; nil: not known
	LatencyAtMost    *bool // so is Latency
	Flags            []Flag
	Attempts         int
	CachePolicy      CachePolicy         // "": it was not timed
	CacheState       backends.CacheState // "": it was not timed, or failed
	CacheNote        string              // what proves the state, or why nothing does
	Invalid          [][]Flag            // per attempt that has any, what took its time away
	GPU, CPU         *Use                // of the last attempt; nil: not measured
	Paces
}

// JudgedRow is a Row with what was said of it by judges as they are now, in rubric
// and judge order, without Case, By and the judges' own Attempts.
type JudgedRow struct {
	Row
	ID        int64  // of the trial in this store
	Output    Output // where it was asked for, and there is an answer
	Judgments []Judgment
}

// ScoreSet says of what a study's stored scores were made, and how they are read.
// What is in it is of who computes scores.
type ScoreSet struct {
	Study  string
	Digest Digest
	About  json.RawMessage
}

// ScoreBundle is what trials of one model that follow each other in Key order
// scored, encoded.
type ScoreBundle struct {
	Model string
	N     int // from 0, among the bundles of the model
	Bytes []byte
}

// Answered is a trial's output with its key.
type Answered struct {
	Key Key
	Output
}

// Ended is how a trial ended: what is stored of its last attempt beside the Row.
type Ended struct {
	Answered       // Output: nothing where it failed
	Failed   bool  // the last attempt is a failure
	Session  int64 // in which it was made; 0: not known
}

// Case is what a judge is shown, stored once by content.
type Case struct {
	Digest Digest
	Rubric string
	Fields json.RawMessage
}

// Version is what a judge is, or was, under a rubric: judgments are made anew
// when it changes, and those that it made before stay.
type Version struct {
	Rubric  string            `json:"rubric"`
	Judge   string            `json:"judge"`
	Digest  Digest            `json:"version"`         // of About; "": not known, an older assay did not keep it
	About   map[string]string `json:"about,omitempty"` // settings, and the digest of the prompt; nil: not known
	Current bool              `json:"current"`         // tables are made of its judgments
	// As counted by Versions: judgments, and those of them with a verdict.
	Judgments int `json:"judgments"`
	Usable    int `json:"usable"`
}

// VersionOf is the version of a judge that About describes.
func VersionOf(rubric, judge string, about map[string]string) Version {
	b, err := json.Marshal(about)
	if err != nil {
		panic("results: internal error: " + err.Error())
	}
	return Version{Rubric: rubric, Judge: judge, Digest: DigestOf(b), About: about}
}

// JudgmentKey names a judgment.
type JudgmentKey struct {
	Case          Digest
	Rubric, Judge string
	By            Digest // Version.Digest; "": not known
	Repeat        int    // from 0; tables are made of the first
}

// Key names the judgment.
func (j Judgment) Key() JudgmentKey {
	return JudgmentKey{j.Case, j.Rubric, j.Judge, j.By, j.Repeat}
}

// Judged is a judgment together with a trial it belongs to.
type Judged struct {
	Key Key
	Judgment
}

// Twice is what a judge, as it is now, said of a case that it judged twice.
type Twice struct {
	Item          string // one of those whose trials have the case
	Rubric, Judge string
	First, Second Judgment // Status and Verdict alone
}

// Said is a judgment with what the judge was shown.
type Said struct {
	Judgment
	Fields json.RawMessage
}

// Planned is how many trials a study asks of a model: the whole of bench.yaml,
// whatever one call of run was limited to.
type Planned struct {
	Study  string `json:"study"`
	Model  string `json:"model"`
	Trials int    `json:"trials"`
}

// Extent is how far one model's trials of one study got, counted in the store.
type Extent struct {
	Study, Model string
	Planned      *int // trials; nil: the store does not say
	Answers      int
	Failures     int
	Items        int // that have a trial
	Timed        int // answers of a timed study
	Warm         int // of these, with caches left as they were
	// Of those whose caches were to be cold, what became of it.
	Proven, Hit, Unverified int
}

// Stored is the trials that are there, answered or failed.
func (e Extent) Stored() int { return e.Answers + e.Failures }
