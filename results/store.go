package results

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Store is one run's SQLite file. (STUB: to be written; the signatures stand.)
type Store struct{}

// Open opens or creates the store at path, migrating an older schema. A damaged
// or newer file is an error that says so and what can be done.
func Open(ctx context.Context, path string) (*Store, error) { panic("stub") }

// Close flushes and closes the file.
func (s *Store) Close() error { panic("stub") }

// Manifest is the run's manifest; false: the store is new.
func (s *Store) Manifest(ctx context.Context) (Manifest, bool, error) { panic("stub") }

// PutManifest writes or replaces the manifest.
func (s *Store) PutManifest(ctx context.Context, m Manifest) error { panic("stub") }

// PutItems writes the facts of items; the same item again must be equal.
func (s *Store) PutItems(ctx context.Context, items []Item) error { panic("stub") }

// Items iterates over a study's items in the order they were put.
func (s *Store) Items(ctx context.Context, study string) iter.Seq2[Item, error] { panic("stub") }

// Outcome is what resume needs to know of a stored trial.
type Outcome struct {
	Attempts int
	Failed   bool   // the last attempt is a failure
	Kind     string // of that failure
	Inputs   Digest
}

// Outcomes is every stored trial.
func (s *Store) Outcomes(ctx context.Context) (map[Key]Outcome, error) { panic("stub") }

// PutTrial writes a trial, or replaces it when attempts were added. When it
// returns, the trial is durable (synchronous=FULL).
func (s *Store) PutTrial(ctx context.Context, t Trial) error { panic("stub") }

// Trial reads one whole trial; false: there is none.
func (s *Store) Trial(ctx context.Context, k Key) (Trial, bool, error) { panic("stub") }

// Trials iterates over the trials of a study ("" = all) in Key order.
func (s *Store) Trials(ctx context.Context, study string) iter.Seq2[Trial, error] { panic("stub") }

// Case is what a judge is shown, stored once by content.
type Case struct {
	Digest Digest
	Rubric string
	Fields json.RawMessage
}

// PutCase stores a case and that it belongs to a trial.
func (s *Store) PutCase(ctx context.Context, k Key, c Case) error { panic("stub") }

// Judgment finds a stored judgment; false: there is none.
func (s *Store) Judgment(ctx context.Context, c Digest, rubric, judge string) (Judgment, bool, error) {
	panic("stub")
}

// PutJudgment writes a judgment, replacing an earlier one of the same case, rubric and judge.
func (s *Store) PutJudgment(ctx context.Context, j Judgment) error { panic("stub") }

// Judged is a judgment together with a trial it belongs to.
type Judged struct {
	Key Key
	Judgment
}

// Judgments iterates over a study's judgments, once per trial they belong to,
// in Key, rubric, judge order, without the judges' own Attempts.
func (s *Store) Judgments(ctx context.Context, study string) iter.Seq2[Judged, error] { panic("stub") }

// Row is a trial without its texts and traces: what most scores need. Times are
// sums over the turns of the last attempt; nil: a turn lacks it.
type Row struct {
	Key              Key
	Failed           bool           // the last attempt is a failure
	Kind             string         // of that failure; "" when there is an answer
	TTFT             *time.Duration // of the first turn
	Latency          *time.Duration // T = LastContent - Start, summed over turns
	PromptTokens     *int           // summed over turns
	CompletionTokens *int           // summed over turns
	Flags            []Flag
	Attempts         int
}

// Rows iterates over the trials of a study ("" = all) in Key order, without
// texts and traces.
func (s *Store) Rows(ctx context.Context, study string) iter.Seq2[Row, error] { panic("stub") }
