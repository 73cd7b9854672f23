package timing

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
)

// Field is one of the figures of power that NVIDIA's driver has.
type Field string

const (
	FieldInstant Field = "instant" // power.draw.instant
	FieldAverage Field = "average" // power.draw.average
	fieldDraw    Field = "draw"    // power.draw: one of the two, by card and driver
)

// Sensor is what is known of the sensor behind a figure of power. The zero Sensor
// is one of which nothing is known.
type Sensor struct {
	Name   string        // for people, as "GA10x instant"
	Window time.Duration // a figure is the mean power of this long; 0: of the moment
	Period time.Duration // a new figure comes this often: of a longer one than Window the rest is not seen
	Rise   time.Duration // of one that follows slowly: from a tenth to nine tenths of a step; 0: at once
	Scale
}

// Scale is how a device's figures of power lie to the truth: a figure is
// Gain x truth + Offset, and what that leaves is within Spread.
type Scale struct {
	Gain   float64    `json:"gain"`      // 0: 1
	Offset Milliwatts `json:"offset_mw"` // may be below 0
	Spread *Spread    `json:"spread"`    // nil: not known
}

// Spread is by how much a power may be off, +/-, for 95 % of cards or, where one
// was calibrated, of calibrations: Part of it and Rest besides.
type Spread struct {
	Part float64    `json:"part"`
	Rest Milliwatts `json:"rest_mw"`
}

// over is that of an energy that took d.
func (s Spread) over(mj Millijoules, d time.Duration) Millijoules {
	return Millijoules(s.Part*math.Abs(float64(mj))) + s.Rest.Over(d)
}

// truth is what is meant by an energy that took d.
func (s Scale) truth(mj Millijoules, d time.Duration) Millijoules {
	return (mj - s.Offset.Over(d)) / Millijoules(cmp.Or(s.Gain, 1))
}

// What gain and offset leave on one card, +/-: it is warm or cold, and loads differ in
// shape. A part of the energy, and of the highest power that was seen. On the recorded cards it
// was up to 1.7 % in loads and, at rest, 0.9 % of the highest power.
const (
	repeatPart = .01
	repeatTop  = .008
)

// Card is an NVIDIA GPU, as far as its kind of sensor depends on it.
type Card struct {
	Name         string // as the driver says it
	Major, Minor int    // compute capability; 0, 0: not known
	Driver       string // version; "": not known
}

// widest is for cards of which no like was recorded: it holds every other spread.
var widest = Spread{.04, 32_000}

// Sensor is that of one of the card's figures. Windows are those that were recorded
// (docs/accuracy.md); spreads hold the largest error of a kind's recorded cards, with the more
// room the fewer these are. A card of no known kind gets the least window and the widest spread.
func (c Card) Sensor(f Field) Sensor {
	const ms = time.Millisecond
	one := func(name string, window, period, rise time.Duration, part float64, rest Milliwatts) Sensor {
		return Sensor{Name: name + " " + string(f), Window: window, Period: period, Rise: rise, Scale: Scale{Spread: &Spread{part, rest}}}
	}
	cc := 10*c.Major + c.Minor
	draws := strings.Contains(c.Name, "GeForce") || strings.Contains(c.Name, "TITAN") // a card for a desktop
	mean := f == FieldAverage || f == fieldDraw && c.Averages()
	const second = 1100 * ms // a mean of eleven figures of 100 ms
	switch {
	case cc == 35:
		return one("Kepler", 0, 15*ms, 90*ms, .05, 9_000)
	case c.Major == 3:
		return one("Kepler", 0, 100*ms, 490*ms, .05, 9_000)
	case c.Major == 5 && draws:
		return one("Maxwell", 0, 100*ms, 345*ms, 0, 10_500)
	case c.Major == 5:
		return one("Maxwell", 14*ms, 31*ms, 0, 0, 10_500)
	case c.Major == 6:
		return one("Pascal", 10*ms, 20*ms, 0, .03, 4_600)
	case cc == 70:
		return one("Volta", 10*ms, 20*ms, 0, widest.Part, widest.Rest)
	case cc == 75 && draws:
		return one("Turing", 100*ms, 100*ms, 0, .01, 20_500)
	case cc == 75:
		return one("Turing", 20*ms, 100*ms, 0, .01, 20_500)
	case cc == 80:
		return one("GA100", 25*ms, 100*ms, 0, .075, 2_000)
	case cc == 86 && mean:
		return one("GA10x", second, 100*ms, 0, .03, 16_500)
	case cc == 86:
		return one("GA10x", 100*ms, 100*ms, 0, .04, 9_500)
	case cc == 89 && mean:
		return one("Ada", second, 100*ms, 0, 0, 32_000)
	case cc == 89:
		return one("Ada", 100*ms, 100*ms, 0, 0, 32_000)
	case cc == 90 && mean:
		return one("Hopper", second, 100*ms, 0, widest.Part, widest.Rest)
	case cc == 90:
		return one("Hopper", 25*ms, 100*ms, 0, widest.Part, widest.Rest)
	case mean:
		return one("unknown", second, 100*ms, 0, widest.Part, widest.Rest)
	}
	return one("unknown", 20*ms, 100*ms, 0, widest.Part, widest.Rest)
}

// Averages says whether power.draw is the mean, as from GA10x on but under driver 530.
func (c Card) Averages() bool {
	return 10*c.Major+c.Minor > 80 && !strings.HasPrefix(c.Driver, "530.")
}

// String says what the sensor looks at.
func (s Sensor) String() string {
	switch {
	case s.Name == "":
		return ""
	case s.Window > 0 && s.Window < s.Period:
		return fmt.Sprintf("%s: %v of each %v", s.Name, s.Window, s.Period)
	case s.Window > 0:
		return fmt.Sprintf("%s: mean of %v", s.Name, s.Window)
	case s.Rise > 0:
		return fmt.Sprintf("%s: rises in %v", s.Name, s.Rise)
	}
	return s.Name
}

// blur is the time that a figure is of; 0: of the moment, or not known.
func (s Sensor) blur() time.Duration { return max(s.Window, s.Rise) }

// A sensor that sees a part of the time only reads a load that repeats with nearly its
// period as one that beats slowly. In the recording of an A100 (pulses of 104 ms, figures of 25 of
// each 101 ms) a beat took beat, and the energies of windows were off by up to half of the
// figures' swing for missed.
const (
	beat   = 3300 * time.Millisecond
	missed = 1300 * time.Millisecond
	// leastSeen is half a beat: figures of a shorter window may all be of one phase and
	// show nothing of the load's swing.
	leastSeen = beat / 2
)

// partial says whether figures leave out much of the time, read as often as they are.
func (c *curve) partial() bool { return c.sensor.blur()*5 < max(c.sensor.Period, c.step)*4 }

// sensed fills e by figures of a sensor whose window is known, or says why it cannot. A
// figure is late by half of what it is of, so their sum is moved by that. Where power
// steps, the sensor shows a ramp: at its middle the sum is too high by an eighth of
// step x ramp, which is taken off. What that may do, and when the figures came, is the
// uncertainty of an end.
func (c *curve) sensed(e *Energy, block bool) string {
	if why := c.reach(e.Window); why != "" {
		return why
	}
	s, long := c.sensor, e.Length()
	ramp, age := s.blur()+s.Period, min(s.Period, c.step)/2
	end := func(t time.Duration) (mj, u float64) {
		t += c.late
		mj, _ = c.before(t)
		_, after := c.before(t + ramp/2)
		_, before := c.before(t - ramp/2)
		eighth := ramp.Seconds() / 8
		return mj - (after-before)*eighth, c.swing(Window{t - ramp/2 - age - c.step, t + ramp/2 + age + c.step}) * (eighth + age.Seconds())
	}
	a, ua := end(e.From)
	b, ub := end(e.To)
	u := ua + ub
	if long < ramp { // what lies outside of the window is in every figure
		u += c.swing(Window{e.From + c.late - ramp/2, e.To + c.late + ramp/2}) * (ramp - long).Seconds()
	}
	moved := Window{e.From + c.late, e.To + c.late}
	for _, g := range c.gaps {
		if lost := min(g.To, moved.To) - max(g.From, moved.From); lost > 0 {
			e.flag(FlagGap)
			u += (c.top - c.low) / 2 * lost.Seconds()
		}
	}
	if c.partial() {
		if long < leastSeen && !block {
			return fmt.Sprintf("the sensor sees %v of each %v, and an answer below %v may lie in what it does not see: only the block's energy is known", s.blur(), max(s.Period, c.step), leastSeen)
		}
		unseen := c.swing(Window{moved.From + ramp/2, moved.To - ramp/2}) * missed.Seconds()
		if beats := float64(long) / float64(beat); beats > 1 {
			unseen *= math.Sqrt(beats) / 2 // the figures swing by twice what they are off
		}
		if unseen > u {
			e.flag(FlagPartial)
		}
		u += unseen
	}
	e.Gross, e.Uncertainty, e.Method, e.Sensor = Millijoules(max(0, b-a)), Millijoules(u), ByPower, s.String()
	e.Tick = max(s.Period, c.step)
	e.Ticks = int(long / e.Tick)
	e.LowConfidence = e.Ticks < lowTicks
	return ""
}

// swing is the highest less the lowest reading in w, 0 without any.
func (c *curve) swing(w Window) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for i := c.index(w.From); i < len(c.at) && c.at[i] <= w.To; i++ {
		low, high = min(low, c.power[i]), max(high, c.power[i])
	}
	return max(0, high-low)
}
