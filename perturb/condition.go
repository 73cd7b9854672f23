// Package perturb makes controlled changes to what a model is shown. It is
// pure: the same source, condition and seed give the same bytes.
package perturb

// Condition is one controlled change of the input. The zero Condition is the
// baseline: it changes nothing. Nobody parses names; the fields say it all.
type Condition struct {
	Name   string  // "baseline", "sham", "VB-BB-@thickness_px=8"
	Family string  // "" for the baseline
	Sign   int     // +1: the cue agrees with the gold answer; -1: it misleads; 0: neither
	Target string  // the answer the cue points to
	Param  string  // the swept parameter; "": none
	Level  float64 // its level
}

// Baseline is the condition without a change.
func Baseline() Condition { return Condition{Name: "baseline"} }
