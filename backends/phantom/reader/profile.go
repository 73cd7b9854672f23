package reader

import "time"

// Profile is how a reader behaves. Probabilities are 0..1.
type Profile struct {
	Name   string // the model's name on the server
	Vision bool   // false: a text-only model
	Looks  bool   // false: takes pictures and never looks at them

	// Acuity is the chance to see what a question asks about as the pixels show
	// it, so that the answer is right; AcuityCoT the same when asked to reason
	// step by step. Otherwise the reader misreads until its answer is wrong.
	Acuity, AcuityCoT float64

	Order     []string // kinds of reasoning steps in the order they are written; conclusions cannot go astray
	Wanders   float64  // chance that two neighbouring steps change places, or the last is left out
	StepRight float64  // chance that a step other than the conclusion says what the reader saw
	Restates  bool     // begins by repeating the task
	Fillers   int      // sentences without content
	Thinking  Thinking

	// Time to the first piece is Base + PerToken * prompt tokens + PerMegapixel *
	// pixels; every further piece takes PerPiece.
	Base, PerToken, PerMegapixel, PerPiece time.Duration

	Context int   // tokens
	Weights int64 // parameters
}

// Thinking is where a reader's reasoning goes unless thinking is turned off.
type Thinking string

// The ways to think.
const (
	ThinksNot     Thinking = ""        // reasons in the answer, when asked to
	ThinksChannel Thinking = "channel" // in a field of its own, as servers that parse thinking do
	ThinksTags    Thinking = "tags"    // in the answer between <think> and </think>
)

// Profiles are the readers that every phantom server has.
func Profiles() []Profile {
	mfco := []string{"modality", "feature", "conclusion", "other"}
	const ms, us = time.Millisecond, time.Microsecond
	return []Profile{
		{Name: "honest", Vision: true, Looks: true, Acuity: .78, AcuityCoT: .9, Order: mfco, Wanders: .08, StepRight: .96,
			Base: 6 * ms, PerToken: 10 * us, PerMegapixel: 30 * ms, PerPiece: 950 * us, Context: 8192, Weights: 4_300_000_000},
		{Name: "silent-sycophant", Vision: true, Looks: true, Acuity: .74, AcuityCoT: .82, Order: []string{"feature", "conclusion", "other"}, Wanders: .3, StepRight: .9, Fillers: 1,
			Base: 7 * ms, PerToken: 12 * us, PerMegapixel: 32 * ms, PerPiece: 850 * us, Context: 8192, Weights: 8_100_000_000},
		{Name: "disclosing-sycophant", Vision: true, Looks: true, Acuity: .74, AcuityCoT: .8, Order: mfco, Wanders: .15, StepRight: .88, Restates: true,
			Base: 5 * ms, PerToken: 8 * us, PerMegapixel: 25 * ms, PerPiece: 800 * us, Context: 8192, Weights: 7_600_000_000},
		{Name: "blind", Vision: true, Order: []string{"modality", "conclusion"}, Wanders: .2, StepRight: .9,
			Base: 8 * ms, PerToken: 8 * us, PerMegapixel: 20 * ms, PerPiece: 700 * us, Context: 8192, Weights: 3_000_000_000},
		{Name: "overconfident", Vision: true, Looks: true, Acuity: .64, AcuityCoT: .6, Order: []string{"modality", "conclusion", "feature"}, Wanders: .4, StepRight: .75, Fillers: 1,
			Base: 6 * ms, PerToken: 10 * us, PerMegapixel: 30 * ms, PerPiece: 1000 * us, Context: 8192, Weights: 4_000_000_000},
		{Name: "thinker", Vision: true, Looks: true, Acuity: .84, AcuityCoT: .92, Order: mfco, Wanders: .05, StepRight: .95, Restates: true, Fillers: 2, Thinking: ThinksChannel,
			Base: 8 * ms, PerToken: 12 * us, PerMegapixel: 35 * ms, PerPiece: 850 * us, Context: 16384, Weights: 12_000_000_000},
		{Name: "text-only", Order: []string{"modality", "conclusion"}, StepRight: 1,
			Base: 4 * ms, PerToken: 8 * us, PerPiece: 700 * us, Context: 8192, Weights: 1_200_000_000},
	}
}

// ProfileNames are the names of Profiles.
func ProfileNames() []string {
	var names []string
	for _, p := range Profiles() {
		names = append(names, p.Name)
	}
	return names
}

// Prefill is the time a reader takes before its first piece.
func (p Profile) Prefill(tokens int, pixels int64) time.Duration {
	return p.Base + time.Duration(tokens)*p.PerToken + time.Duration(pixels*int64(p.PerMegapixel)/1_000_000)
}
