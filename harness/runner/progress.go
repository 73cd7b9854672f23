package runner

import (
	"time"

	"assay/results"
)

// Progress is told what happens, one event at a time.
type Progress interface {
	Event(Event)
}

// EventKind says what happened.
type EventKind string

const (
	RunStarted    EventKind = "run_started"    // Trials to do, Skipped stored before
	BlockStarted  EventKind = "block_started"  // Model, Trials to do
	TrialDone     EventKind = "trial_done"     // Key, Took, InFlight
	TrialFailed   EventKind = "trial_failed"   // Key, Took, InFlight, Text
	AttemptFailed EventKind = "attempt_failed" // Model, Text, Wait; Key unless no trial was concerned
	Warning       EventKind = "warning"        // Model, Text
	BlockEnded    EventKind = "block_ended"    // Model, Trials left undone
)

// Event is something that a person who watches wants to know.
type Event struct {
	Kind     EventKind
	Model    string
	Key      results.Key
	Trials   int
	Skipped  int
	Took     time.Duration  // all attempts of the trial, pauses included
	InFlight int            // how many may run together in the trial's study
	Wait     *time.Duration // pause before the next attempt
	Text     string
}
