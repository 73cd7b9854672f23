package phantom

import (
	"math"
	"time"
)

// Profile is how a reader behaves. Probabilities are 0..1.
type Profile struct {
	Name   string // the model's name on the server
	Vision bool   // false: a text-only model
	Looks  bool   // false: takes pictures and never looks at them
	Images int    // looks at the first so many pictures; 0: at all

	// Acuity is the chance to see what a question asks about as the pixels show
	// it, so that the answer is right; AcuityCoT the same when asked to reason
	// step by step. Otherwise the reader misreads until its answer is wrong.
	Acuity, AcuityCoT float64
	Eyes              []Acuity // exceptions: the first that fits holds
	Hidden            Hidden   // what it makes of a finding that is covered

	Sway      sway       // what moves it away from what it saw
	Discloses disclosure // what it says of that
	Tone      Tone

	Order     []string // kinds of reasoning steps in the order they are written; conclusions cannot go astray
	Wanders   float64  // chance that two neighbouring steps change places, or the last is left out
	StepRight float64  // chance that a step other than the conclusion says what the reader saw
	Restates  bool     // begins by repeating the task
	Fillers   int      // sentences without content
	Thinking  thinking

	// Time to the first chunk is Base + PerToken * prompt tokens + PerMegapixel *
	// pixels; every further chunk takes PerChunk. Jitter is how far a time may
	// differ from that, as a share of it. Load is added to a model's first reply,
	// where the server says so.
	Base, PerToken, PerMegapixel, PerChunk, Load time.Duration
	Jitter                                       float64
	ChunkTokens                                  int // tokens that are sent together; 0: one

	Context int   // tokens
	Weights int64 // parameters

	Memory Memory  // questions known by heart
	Faults []Fault // what goes wrong on the way
}

// Memory is what a reader has learnt by heart: a share of the questions about
// the first cases of a seed, word for word.
type Memory struct {
	Seed  uint64
	Cases int
	Share float64 // of those questions
}

// Acuity is how well a reader sees a finding at a grade.
type Acuity struct {
	Finding     string // the beginning of a site's name: "PleuralEffusion", "HeartSize"; "": any
	Grade       int    // as the pixels show it; -1: any
	Direct, CoT float64
}

// Hidden is what a reader makes of a finding that is covered.
type Hidden string

// The ways to read what is covered.
const (
	hiddenGuess  Hidden = ""       // guesses and says nothing
	HiddenNone   Hidden = "none"   // what is not seen is not there
	HiddenUnsure Hidden = "unsure" // says that it cannot be seen, then guesses
)

// sway is how often cues make a reader answer what they point to.
type sway struct {
	Opinion, Leak float64 // an answer that somebody holds; one that was given away
	Box           Dose    // a box round a side, by thickness; the reference is 4 pixels
	Heat          Dose    // colour over a side, by opacity; the reference is one half
}

// Dose is a chance that grows with a cue's strength: At at the reference, and
// PerDoubling more for each doubling.
type Dose struct{ At, PerDoubling float64 }

// Chance is the chance at a strength in units of the reference.
func (d Dose) Chance(strength float64) float64 {
	if strength <= 0 {
		return 0
	}
	return min(max(d.At+d.PerDoubling*math.Log2(strength), 0), 1)
}

// disclosure is what a reader says of cues.
type disclosure struct {
	Admits  float64 // names what it followed as a reason for its answer
	Hedges  float64 // of those: leaves open whether it was one
	Invents float64 // claims to have followed a cue that it did not follow
	Denies  float64 // otherwise: names a cue and says that it had no part in the answer
}

// Tone is how sure a reader sounds.
type Tone string

// The tones.
const (
	tonePlain      Tone = ""
	ToneSure       Tone = "sure"       // always
	ToneHedged     Tone = "hedged"     // never sure
	ToneCalibrated Tone = "calibrated" // sure where it saw clearly, hedged elsewhere
)

// thinking is where a reader's reasoning goes unless thinking is turned off.
type thinking string

// The ways to think.
const (
	ThinksNot     thinking = ""        // reasons in the answer, when asked to
	ThinksChannel thinking = "channel" // in a field of its own, as servers that parse thinking do
	ThinksTags    thinking = "tags"    // in the answer between <think> and </think>
)

// Profiles are the readers that every phantom server has.
func Profiles() []Profile {
	mfco := []string{"modality", "feature", "conclusion", "other"}
	const ms, us = time.Millisecond, time.Microsecond
	prone := sway{Opinion: .6, Leak: .8, Box: Dose{.5, .12}, Heat: Dose{.45, .15}}
	honest := Profile{Name: "honest", Vision: true, Looks: true, Acuity: .78, AcuityCoT: .9, Hidden: HiddenUnsure, Tone: ToneCalibrated,
		Order: mfco, Wanders: .08, StepRight: .96, Discloses: disclosure{Admits: 1},
		Base: 6 * ms, PerToken: 10 * us, PerMegapixel: 30 * ms, PerChunk: 950 * us, Context: 8192, Weights: 4_300_000_000}
	memoriser, flaky := honest, honest
	memoriser.Name, memoriser.Acuity, memoriser.AcuityCoT, memoriser.Tone = "memoriser", .7, .72, ToneSure
	memoriser.Hidden, memoriser.Weights, memoriser.Memory = HiddenNone, 7_000_000_000, Memory{Seed: 7, Cases: 200, Share: .7}
	flaky.Name, flaky.Jitter, flaky.ChunkTokens, flaky.Load = "flaky", .3, 2, 30*ms
	for _, kind := range FaultKinds() {
		flaky.Faults = append(flaky.Faults, Fault{kind, .02})
	}
	return []Profile{
		honest,
		{Name: "silent-sycophant", Vision: true, Looks: true, Acuity: .74, AcuityCoT: .82, Hidden: HiddenNone, Order: []string{"feature", "conclusion", "other"}, Wanders: .3, StepRight: .9, Fillers: 1,
			Sway: prone, Discloses: disclosure{Admits: .04},
			Base: 7 * ms, PerToken: 12 * us, PerMegapixel: 32 * ms, PerChunk: 850 * us, Context: 8192, Weights: 8_100_000_000},
		{Name: "disclosing-sycophant", Vision: true, Looks: true, Acuity: .74, AcuityCoT: .8, Hidden: HiddenUnsure, Order: mfco, Wanders: .15, StepRight: .88, Restates: true,
			Sway: prone, Discloses: disclosure{Admits: .95, Hedges: .25, Invents: .02, Denies: .3},
			Base: 5 * ms, PerToken: 8 * us, PerMegapixel: 25 * ms, PerChunk: 800 * us, Context: 8192, Weights: 7_600_000_000},
		{Name: "blind", Vision: true, Order: []string{"modality", "conclusion"}, Wanders: .2, StepRight: .9, Tone: ToneHedged,
			Base: 8 * ms, PerToken: 8 * us, PerMegapixel: 20 * ms, PerChunk: 700 * us, Context: 8192, Weights: 3_000_000_000},
		{Name: "overconfident", Vision: true, Looks: true, Images: 1, Acuity: .64, AcuityCoT: .6, Tone: ToneSure, Order: []string{"modality", "conclusion", "feature"}, Wanders: .4, StepRight: .75, Fillers: 1,
			Eyes: []Acuity{{"", 1, .4, .35}}, // what is questionable escapes it
			Sway: sway{Opinion: .15, Leak: .2},
			Base: 6 * ms, PerToken: 10 * us, PerMegapixel: 30 * ms, PerChunk: 1000 * us, Context: 8192, Weights: 4_000_000_000},
		{Name: "thinker", Vision: true, Looks: true, Acuity: .84, AcuityCoT: .92, Hidden: HiddenUnsure, Tone: ToneCalibrated, Order: mfco, Wanders: .05, StepRight: .95, Restates: true, Fillers: 2, Thinking: ThinksChannel,
			Sway: sway{Opinion: .3, Leak: .4, Box: Dose{.2, .05}, Heat: Dose{.2, .05}}, Discloses: disclosure{Admits: .7, Hedges: .2, Denies: .3},
			Base: 8 * ms, PerToken: 12 * us, PerMegapixel: 35 * ms, PerChunk: 850 * us, Context: 16384, Weights: 12_000_000_000},
		memoriser,
		flaky,
		{Name: "text-only", Order: []string{"modality", "conclusion"}, StepRight: 1,
			Base: 4 * ms, PerToken: 8 * us, PerChunk: 700 * us, Context: 8192, Weights: 1_200_000_000},
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

// Prefill is the time a reader takes before its first chunk.
func (p Profile) Prefill(tokens int, pixels int64) time.Duration {
	return p.Base + time.Duration(tokens)*p.PerToken + time.Duration(pixels*int64(p.PerMegapixel)/1_000_000)
}
