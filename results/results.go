// Package results is what a run produced and what was computed from it.
//
//  1. A Manifest says what was run, on what, with what.
//  2. Items hold the facts of each item that scores need.
//  3. Trials hold every attempt, with its trace, its text or its failure.
//  4. Judgments hold what each judge said of each case.
//  5. Sections are tables computed from the above.
//  6. Digits print numbers of tables for people.
//
// All of it lives in one SQLite file, see package store. Unknown is NULL, never 0
// or "".
package results

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/backends"
	"assay/timing"
)

// Digest is "sha256:" and 64 hex digits.
type Digest string

// DigestOf is the digest of the parts, each preceded by its length, so that
// moving a byte from one part to the next changes it.
func DigestOf(parts ...[]byte) Digest {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		for i, l := 0, len(p); i < 8; i, l = i+1, l>>8 {
			n[i] = byte(l)
		}
		h.Write(n[:])
		h.Write(p)
	}
	return Digest("sha256:" + hex.EncodeToString(h.Sum(nil)))
}

// Short is the first twelve digits, which tell versions apart.
func (d Digest) Short() string {
	s := strings.TrimPrefix(string(d), "sha256:")
	switch {
	case s == "":
		return "unknown"
	case len(s) > 12:
		return s[:12]
	}
	return s
}

// Key names a trial; it is known at plan time. Model is the name in bench.yaml.
type Key struct {
	Study     string `json:"study"`
	Model     string `json:"model"`
	Item      string `json:"item"`
	Arm       string `json:"arm"`
	Condition string `json:"condition"`
	Repeat    int    `json:"repeat"`
}

// Name is the key for messages. A repeat of 0 is not named.
func (k Key) Name() string {
	s := fmt.Sprintf("%s/%s/%s/%s/%s", k.Study, k.Model, k.Item, k.Arm, k.Condition)
	if k.Repeat > 0 {
		s += fmt.Sprintf("#%d", k.Repeat)
	}
	return s
}

// Compare orders keys as stores do.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Study, o.Study), cmp.Compare(k.Model, o.Model), cmp.Compare(k.Item, o.Item),
		cmp.Compare(k.Arm, o.Arm), cmp.Compare(k.Condition, o.Condition), cmp.Compare(k.Repeat, o.Repeat))
}

// Trial is one answer: its attempts in order. Only the last one counts.
type Trial struct {
	Key      Key       `json:"key"`
	Inputs   Digest    `json:"inputs"` // pixels, prompt, sampling; not the nonce
	Attempts []Attempt `json:"attempts"`
}

// Last is the attempt that counts; false: there was none.
func (t Trial) Last() (Attempt, bool) {
	if len(t.Attempts) == 0 {
		return Attempt{}, false
	}
	return t.Attempts[len(t.Attempts)-1], true
}

// Attempt is one try at all turns of a trial. Exactly one of Output, Failure.
type Attempt struct {
	Started time.Time `json:"started"` // wall time, for people: it may be set meanwhile
	// Session is the call of run whose clock the traces are on: that of the store
	// when a trial is put with a new attempt. 0: not known.
	Session int64    `json:"session,omitempty"`
	Turns   []Turn   `json:"turns"`
	Flags   []Flag   `json:"flags,omitempty"`
	Cache   *Cache   `json:"cache,omitempty"`  // nil: the attempt was not timed
	Served  Digest   `json:"served,omitempty"` // who answered, see ServedBy; "": not known, or nothing was sent
	Output  *Output  `json:"output,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
}

// Invalid is the flags that take the attempt's time away; none: its time counts.
func (a Attempt) Invalid() []Flag {
	var out []Flag
	for _, f := range a.Flags {
		if a.Failure == nil && f.Disqualifies() {
			out = append(out, f)
		}
	}
	return out
}

// Cache is what was done about the server's caches in a timed attempt, and what
// they did: the least cold of its turns.
type Cache struct {
	Policy CachePolicy `json:"policy"`
	backends.Cache
	// Nonces made each turn's request a new one. They are not part of
	// Trial.Inputs. nil: the policy left the caches alone.
	Nonces []backends.Nonce `json:"nonces,omitempty"`
	// Calibration is what the state was judged by; nil: the server said it.
	Calibration *Calibration `json:"calibration,omitempty"`
}

// CachePolicy is what a timed study does about the server's caches.
type CachePolicy string

const (
	PolicyCold CachePolicy = "cold" // every request is new to the server
	PolicyWarm CachePolicy = "warm" // caches are left as they are
)

// Calibration is TTFT - load duration of untimed requests that a model was sent
// before the first trial of a kind: what a cold answer takes, and what one that
// the server has just given takes.
type Calibration struct {
	Fresh        []time.Duration `json:"fresh_ns"`
	Repeat       time.Duration   `json:"repeat_ns"`
	PromptTokens *int            `json:"prompt_tokens,omitempty"` // of each of them; nil: the server does not count
}

// Turn is one request and what came of it.
type Turn struct {
	Trace     timing.Trace     `json:"trace"`
	Usage     backends.Usage   `json:"usage"`
	Server    backends.Timings `json:"server"`
	Sent      Digest           `json:"sent,omitempty"` // of the request body; empty: nothing was sent
	Answer    string           `json:"answer"`
	Reasoning string           `json:"reasoning,omitempty"`
	Finish    backends.Finish  `json:"finish,omitempty"`
}

// Output is the complete answer of the last turn; of several turns, Reasoning
// begins with what was said in those before.
type Output struct {
	Answer    string          `json:"answer"`
	Reasoning string          `json:"reasoning,omitempty"` // the server's reasoning channel
	Finish    backends.Finish `json:"finish"`
}

// Failure is why there is no answer.
type Failure struct {
	Kind    string `json:"kind"` // a backends.Kind, or "needs", "input"
	Message string `json:"message"`
	Status  int    `json:"status,omitempty"` // HTTP status; 0: none
	Partial string `json:"partial,omitempty"`
}

// Flag marks an attempt that needs care.
type Flag string

const (
	FlagTruncated    Flag = "truncated"     // the token limit cut the answer
	FlagContextEnd   Flag = "context_end"   // the server ended the answer below the token limit: its context was full, or it has a limit of its own
	FlagLoadInside   Flag = "load_inside"   // the model was loaded inside the timed request
	FlagCacheHit     Flag = "cache_hit"     // the server reused a cache where it was not to
	FlagConcurrent   Flag = "concurrent"    // another request of ours was in flight
	FlagClockJump    Flag = "clock_jump"    // the wall clock was set
	FlagClockSlewed  Flag = "clock_slewed"  // the clock ran over 0.1 % faster or slower than the hardware's
	FlagStopped      Flag = "stopped"       // our process, the machine or the server stood still
	FlagThrottled    Flag = "throttled"     // the GPU lowered its clocks
	FlagOtherProcess Flag = "other_process" // another process worked on the GPU
	FlagSamplerGap   Flag = "sampler_gap"   // telemetry has a hole: energy is less certain, time is not
	FlagNoChange     Flag = "no_change"     // the condition had nothing to draw
	FlagNoEndMark    Flag = "no_end_mark"   // the stream was closed after a finish reason, without its end mark
	FlagBuffered     Flag = "buffered"      // many tokens came in one read: TTFT is unknown
	FlagOddFigures   Flag = "odd_figures"   // the server sent counts or times that cannot be true: they are unknown
)

// Flags are all flags in the order of tables.
func Flags() []Flag {
	return []Flag{FlagTruncated, FlagContextEnd, FlagLoadInside, FlagCacheHit, FlagConcurrent, FlagClockJump, FlagClockSlewed, FlagStopped, FlagThrottled, FlagOtherProcess, FlagSamplerGap, FlagNoChange, FlagOddFigures, FlagBuffered, FlagNoEndMark}
}

// Disqualifies says whether the flag takes an attempt's time away (metrics.md
// section 4). Its answer counts all the same.
func (f Flag) Disqualifies() bool {
	switch f {
	case FlagTruncated, FlagContextEnd, FlagLoadInside, FlagCacheHit, FlagConcurrent, FlagClockJump, FlagClockSlewed, FlagStopped, FlagThrottled, FlagOtherProcess:
		return true
	}
	return false
}

// Cuts says whether the flag means that an answer was not let end: under the same
// seed it would be cut again.
func (f Flag) Cuts() bool { return f == FlagTruncated || f == FlagContextEnd }

// Words lists flags for people.
func Words(flags []Flag) string {
	var list []string
	for _, f := range flags {
		list = append(list, strings.ReplaceAll(string(f), "_", " "))
	}
	return strings.Join(list, ", ")
}

// HidesTime says whether an attempt with the flag has no known time at all: what
// its clock shows is not how long the server took.
func (f Flag) HidesTime() bool {
	return f == FlagClockJump || f == FlagClockSlewed || f == FlagStopped
}

// Status of a judgment.
type Status string

const (
	StatusClean       Status = "clean"
	StatusRepaired    Status = "repaired"    // readable after a mend of its form
	StatusParse       Status = "parse"       // not JSON
	StatusSchema      Status = "schema"      // JSON of another shape
	StatusEvidence    Status = "evidence"    // a quote does not occur in the text
	StatusAbstained   Status = "abstained"   // the judge declined
	StatusUnreachable Status = "unreachable" // the judge gave no reply
	StatusRefused     Status = "refused"     // the judge's server refused the request
	StatusNeeds       Status = "needs"       // another verdict, on which it rests, is of no use
)

// Usable says whether a judgment of this status carries a verdict.
func (s Status) Usable() bool { return s == StatusClean || s == StatusRepaired }

// Open says whether no reply came, so that the judge is asked again.
func (s Status) Open() bool { return s == StatusUnreachable || s == StatusRefused }

// Judgment is one judge's verdict on one case under one rubric. Verdict is nil
// unless Status is usable. Attempts are the judge's own generations, none for
// a judge that follows rules.
type Judgment struct {
	Case     Digest          `json:"case"`
	Rubric   string          `json:"rubric"`
	Judge    string          `json:"judge"`
	By       Digest          `json:"by,omitempty"`     // what the judge was, see Version; "": not known
	Repeat   int             `json:"repeat,omitempty"` // of a case judged several times, from 0
	Status   Status          `json:"status"`
	Detail   string          `json:"detail,omitempty"` // what was wrong, or why it abstained
	Verdict  json.RawMessage `json:"verdict,omitempty"`
	Attempts []Attempt       `json:"attempts,omitempty"`
}

// Reading is what a verdict says, as its rubric reads it.
type Reading struct {
	Fields []Field
	Quotes []Quote
	More   bool // the verdict says more than these
}

// Field is a named value of a verdict, in words.
type Field struct {
	Name, Text string
	Decides    bool // it is the verdict; the others explain it
}

// Quote is what a verdict says of a stretch of the text that it judges.
type Quote struct{ Text, Says string }

// Decides says whether the verdict decides anything by itself.
func (r Reading) Decides() bool {
	return slices.ContainsFunc(r.Fields, func(f Field) bool { return f.Decides })
}

// Differs says whether two verdicts under one rubric decide differently.
func (r Reading) Differs(o Reading) bool {
	decided := func(r Reading) []Field {
		return slices.DeleteFunc(slices.Clone(r.Fields), func(s Field) bool { return !s.Decides })
	}
	return !slices.Equal(decided(r), decided(o))
}

// Item is what scores need to know of an item. Facts is the study's own.
type Item struct {
	Study    string          `json:"study"`
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Task     string          `json:"task,omitempty"`
	Modality string          `json:"modality,omitempty"`
	Facts    json.RawMessage `json:"facts,omitempty"`
}

// Manifest says what a run is made of. It is written when the run is created;
// Models are filled in as their servers are first identified.
type Manifest struct {
	Name     string                       `json:"name"`
	Created  time.Time                    `json:"created"`
	Seed     uint64                       `json:"seed"`
	Config   string                       `json:"config"` // bench.yaml as read
	Digest   Digest                       `json:"config_digest"`
	Settings map[string]string            `json:"settings"` // resolved settings whose change would mix results, by path: to be compared and shown, not to be parsed
	Version  string                       `json:"assay_version"`
	Revision string                       `json:"git_revision,omitempty"`
	Host     map[string]string            `json:"host"`
	Datasets []DatasetInfo                `json:"datasets"`
	Models   map[string]backends.Identity `json:"models"` // by name in bench.yaml
	// ServedAs are other names than was asked for that replies gave a model, by its name in bench.yaml.
	ServedAs map[string][]string `json:"served_as,omitempty"`
	Judges   map[string]string   `json:"judges"` // by name: what it is
	// JudgeModels is what answered as each judge that is a model, as its server said
	// after judging; a judge that is missing could not be asked, or is of an older assay.
	JudgeModels map[string]backends.Identity   `json:"judge_models,omitempty"`
	Prompts     map[string]Digest              `json:"prompts"` // by name
	Rubrics     map[string]map[string][]string `json:"rubrics"` // judges asked, by study and rubric, in order
	// Conditions is what scores need of each condition, by study and name; what it
	// holds is the study's own.
	Conditions map[string]map[string]json.RawMessage `json:"conditions,omitempty"`
	Synthetic  []string                              `json:"synthetic,omitempty"` // why results are synthetic; empty: they are not
	Cost       *Cost                                 `json:"cost,omitempty"`      // prices; nil: none are given
	Planned    []Planned                             `json:"planned,omitempty"`   // the whole of bench.yaml; empty: not recorded
	// Settings of what is named in bench.yaml, by its name: Study, Asked and
	// AskedJudge read them, of stores without them too.
	StudySettings map[string]StudySetting `json:"study_settings,omitempty"`
	ModelSettings map[string]ModelSetting `json:"model_settings,omitempty"`
	JudgeSettings map[string]ModelSetting `json:"judge_settings,omitempty"` // of judges that are models
	People        *People                 `json:"people,omitempty"`         // nil: nobody was asked to rate
	Imported      []Import                `json:"imported,omitempty"`       // answers that were made elsewhere
	// Checksums is what guards the store's file; "": nothing, it is of an older assay.
	Checksums string `json:"checksums,omitempty"`
}

// Rules are those that scores and metrics go by: the papers', and the authors' released
// code where it differs.
func Rules() []string { return []string{RulesPaper, RulesReleased} }

// The names of Rules.
const (
	RulesPaper    = "paper"
	RulesReleased = "released"
)

// Released says whether the run goes by the authors' released code.
func (m Manifest) Released() bool { return m.Settings["rules"] == RulesReleased }

// Import is a file of answers that were made elsewhere.
type Import struct {
	Model    string `json:"model"` // by name in bench.yaml
	Study    string `json:"study"`
	File     string `json:"file"`   // its name
	Format   string `json:"format"` // that of which program
	Digest   Digest `json:"digest"` // of its bytes
	Answers  int    `json:"answers"`
	Failures int    `json:"failures"`
}

// DatasetInfo identifies the data of a run.
type DatasetInfo struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Items  int    `json:"items"`
	Digest Digest `json:"digest"`
	Lost   int    `json:"lost_rows,omitempty"` // rows of its files that cannot be used
	// Cases and MaxSide are read through Manifest.Sizes.
	Cases   *int `json:"cases,omitempty"`    // phantom: each has a question for every study; nil: not made, or of an older assay
	MaxSide *int `json:"max_side,omitempty"` // pixels to which pictures are scaled down; 0: none is; nil: made, or of an older assay
	// MaxPixels are those to which all pictures of an item are scaled down together; 0: no limit.
	MaxPixels int `json:"max_pixels,omitempty"`
}

// Estimate is a number with what it rests on. Value nil: undefined, and Why
// says why. Low and High are the 95 % CI; nil: none.
type Estimate struct {
	Value     *float64 `json:"value"`
	Low       *float64 `json:"low,omitempty"`
	High      *float64 `json:"high,omitempty"`
	N         int      `json:"n"`                     // cases the value rests on
	Undefined int      `json:"n_undefined,omitempty"` // left out: the quantity does not exist for them
	Invalid   int      `json:"n_invalid,omitempty"`   // left out: no usable verdict, or a failure
	// Clusters that these cases are of: pictures, cases or items that answers share; 0: not known.
	Clusters int `json:"clusters,omitempty"`
	// Best: of all models, by every paired difference (PairsOf).
	Best bool   `json:"best,omitempty"`
	Why  string `json:"why,omitempty"`
}

// Cell is text or an estimate; exactly one is set.
type Cell struct {
	Text     string    `json:"text,omitempty"`
	Estimate *Estimate `json:"estimate,omitempty"`
}

// Column describes one column of a table.
type Column struct {
	Name   string `json:"name"`           // machine name, stable: "accuracy_cot"
	Title  string `json:"title"`          // "Acc CoT"
	Unit   string `json:"unit,omitempty"` // "%", "s", "steps/s"; values stand in it: a percentage is 0..100
	Digits int    `json:"digits"`         // decimals; with Significant, significant digits
	// Significant prints Digits significant digits instead of decimals.
	Significant bool   `json:"significant,omitempty"`
	Help        string `json:"help,omitempty"` // what it is, formula, source
	// Levels are those texts of a column of arms or conditions that name a level of a sweep,
	// too: in CSV its parts stand in columns of their own.
	Levels map[string]Level `json:"-"`
	// For people alone; programs read the names.
	Better Better `json:"-"` // which values are the better ones; "": neither
	Per    string `json:"-"` // what a value is of one of, "answers": people read of 1,000
	Doubt  string `json:"-"` // name of the column with its uncertainty in %: above 100 % a value is no more than a guess
}

// Level is an arm or a condition at a level of a sweep.
type Level struct {
	Of        string // the arm or condition: "VB-BB-"
	Parameter string // what is swept: "thickness_px"; "": nothing
	At        string // a number: "16"
}

// Better says which of two values is the better one.
type Better string

const (
	Higher Better = "higher"
	Lower  Better = "lower"
)

// Table is data; packages under results render it.
type Table struct {
	Name    string   `json:"name"` // machine name: "cot-correctness"
	Title   string   `json:"title"`
	Caption string   `json:"caption,omitempty"`
	Columns []Column `json:"columns"`
	Rows    [][]Cell `json:"rows"`
	Notes   []string `json:"notes,omitempty"`
}

// Numeric says whether the jth column holds estimates.
func (t Table) Numeric(j int) bool {
	return slices.ContainsFunc(t.Rows, func(row []Cell) bool { return row[j].Estimate != nil })
}

// Section is one part of a report.
type Section struct {
	Study   string   `json:"study,omitempty"`
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Intro   string   `json:"intro,omitempty"`
	Tables  []Table  `json:"tables"`
	Figures []Figure `json:"figures,omitempty"`
	Notes   []string `json:"notes,omitempty"` // findings, in words
	// Warnings are caveats.
	Warnings []string `json:"warnings,omitempty"`
	// Doubts are what some of these may do to a conclusion, by their text.
	Doubts map[string]Doubt `json:"-"`
	// Methods are sentences for the methods section: how this was measured.
	Methods []string `json:"methods,omitempty"`
	// Headline names what a report begins with, of the tables of all sections of the study.
	Headline []Headline `json:"-"`
	// First says that its first table and its notes stand where a report begins, and not again below.
	First bool `json:"-"`
	// Main names tables and figures, of any section of the study, that stand on a report's first
	// page; its page of all tables has the others. nil in a study's first section: all of them do.
	Main []string `json:"-"`
}

// Doubt is what a warning may do to a conclusion.
type Doubt struct {
	Of    DoubtOf
	Share float64 // of the answers, 0 to 1
}

// DoubtOf is what is in doubt; the first ones can turn a conclusion around.
type DoubtOf int

// What can be in doubt.
const (
	DoubtRest    DoubtOf = iota // nothing that a conclusion rests on
	DoubtUnread                 // not to be read
	DoubtAnswers                // failed
	DoubtJudges                 // without a usable verdict
	DoubtTimes                  // without a valid time
)

// Warning is a text for Section.Warnings, and its Doubt.
type Warning struct {
	Text string
	Doubt
}

// Warn adds warnings.
func (s *Section) Warn(list ...Warning) {
	for _, w := range list {
		s.Warnings = append(s.Warnings, w.Text)
		if w.Of == DoubtRest {
			continue
		}
		if s.Doubts == nil {
			s.Doubts = map[string]Doubt{}
		}
		s.Doubts[w.Text] = w.Doubt
	}
}

// Headline is a column of a table that stands in the first table of a report, which
// has one row for each model.
type Headline struct {
	Table, Column string
	Row           []string // texts of the row behind the model's name; nil: a column for each there is
	Title         string
	Main          bool   // the column ranks models: the answer in words names the best
	Drawn         bool   // it is in the first figure, if it holds percentages
	At            string // levels of sweeps that it speaks of, in words; "": none
	Price         string // Title of the Main column whose answers it is the price of
}

// ServedBy names an identity: attempts carry it.
func ServedBy(id backends.Identity) Digest {
	b, err := json.Marshal(id)
	if err != nil {
		panic("results: internal error: " + err.Error())
	}
	return DigestOf(b)
}
