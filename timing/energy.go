package timing

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"
)

// Millijoules is an amount of energy.
type Millijoules float64

// Milliwatts is a power.
type Milliwatts float64

// Over is the energy of a constant power over d.
func (p Milliwatts) Over(d time.Duration) Millijoules { return Millijoules(float64(p) * d.Seconds()) }

// CounterReading is one look at a hardware energy counter.
type CounterReading struct {
	At          time.Duration // on the run's clock, the middle of the read
	Microjoules uint64        // since the counter's own start
}

// PowerReading is one look at a power sensor.
type PowerReading struct {
	At    time.Duration // on the run's clock, the middle of the read
	Power Milliwatts    // >= 0
}

// Readings is what one device reported, each list in order of time.
type Readings struct {
	Counter []CounterReading
	WrapsAt uint64        // microjoules at which the counter starts again from 0; 0: it does not
	Tick    time.Duration // between the counter's changes, where it was measured by faster reading; 0: it was not
	Power   []PowerReading
	Average time.Duration // the sensor reports the mean power of this long; 0: of an instant; below 0: of a time that is not known
	Sensor  Sensor        // of Power; where its window is known, Average is not used
	// The same power as another field of the device has it, of another sensor. Each window has
	// its energy from the field that leaves the smaller uncertainty.
	Other       []PowerReading
	OtherSensor Sensor
	Counted     *Scale // of Counter, where it has one of its own; nil: that of Sensor
}

// Window is a stretch of the run's clock, From before To.
type Window struct {
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`
}

// Length is To - From.
func (w Window) Length() time.Duration { return w.To - w.From }

// Method says where an Energy came from.
type Method string

const (
	ByCounter Method = "counter"       // the hardware counter alone
	ByPower   Method = "power"         // the trapezoid of power readings
	ByBoth    Method = "counter+power" // the counter, with power where the counter failed
)

// EnergyFlag is something a reader of an Energy has to know.
type EnergyFlag string

const (
	FlagWrap      EnergyFlag = "wrap"      // the counter passed its end; accounted for
	flagReset     EnergyFlag = "reset"     // the counter started again or jumped; power fills in
	FlagStuck     EnergyFlag = "stuck"     // the counter stood still for over ten of its ticks; power fills in
	flagZero      EnergyFlag = "zero"      // the counter is always 0, as on the second die of a package
	FlagGap       EnergyFlag = "gap"       // readings are missing
	FlagUnchecked EnergyFlag = "unchecked" // no power readings to check the counter against
	flagMistrust  EnergyFlag = "mistrust"  // the counter is not within 0.1 to 10 of integrated power, and is not used
	flagDiffers   EnergyFlag = "differs"   // counter and integrated power differ by over a quarter
	FlagPartial   EnergyFlag = "partial"   // the sensor sees a part of the time, and what it does not see decides the uncertainty
)

// lowTicks is the number of ticks below which one window's energy is of low
// confidence, and a block's energy the figure to use (metrics.md section 4).
const lowTicks = 10

// Energy is what one device used over one window.
type Energy struct {
	Window
	Gross          Millijoules   `json:"gross_mj"`
	Uncertainty    Millijoules   `json:"uncertainty_mj"`               // of Gross, +/-, within this card: for what is compared on one. Gain and offset of its sensor are not in it
	Absolute       *Millijoules  `json:"absolute_mj,omitempty"`        // of Gross, +/-, with gain and offset: for joules, money, another card. nil: not known
	Net            *Millijoules  `json:"net_mj,omitempty"`             // Gross less the idle baseline; nil without one. May fall below 0 by its uncertainty
	NetUncertainty *Millijoules  `json:"net_uncertainty_mj,omitempty"` // of Net, +/-, within this card
	NetAbsolute    *Millijoules  `json:"net_absolute_mj,omitempty"`    // of Net, +/-, with gain and offset: the offset at rest need not be that at work
	Method         Method        `json:"method,omitempty"`
	Sensor         string        `json:"sensor,omitempty"`  // whose figures of power they are and what they are of; "": by the counter, or not known
	Ticks          int           `json:"ticks"`             // changes of the counter (or readings of power) inside the window
	Tick           time.Duration `json:"tick_ns,omitempty"` // median time between those, as seen: never below the sampling interval
	LowConfidence  bool          `json:"low_confidence"`    // Ticks < lowTicks
	Flags          []EnergyFlag  `json:"flags,omitempty"`   // sorted, each once
	Ratio          *float64      `json:"ratio,omitempty"`   // counter / integrated power over all readings; nil: not both are there
	Unknown        string        `json:"unknown,omitempty"` // why the energy is unknown; the figures above then say nothing

	spread *Spread
}

func (e *Energy) flag(f ...EnergyFlag) {
	e.Flags = append(e.Flags, f...)
	slices.Sort(e.Flags)
	e.Flags = slices.Compact(e.Flags)
}

// judge sets the absolute uncertainties from those within the card.
func (e *Energy) judge() {
	if e.spread == nil {
		return
	}
	of := func(mj, u Millijoules) *Millijoules {
		return new(Millijoules(math.Hypot(float64(u), float64(e.spread.over(mj, e.Length())))))
	}
	e.Absolute = of(e.Gross, e.Uncertainty)
	if e.Net != nil {
		e.NetAbsolute = of(*e.Net, *e.NetUncertainty)
	}
}

// Share is the part of e that one of several requests has, which held the device for
// that long. It has no Net yet.
func (e Energy) Share(gross Millijoules, held time.Duration) Energy {
	if e.Gross > 0 {
		e.Uncertainty *= gross / e.Gross
	}
	e.Gross, e.To = gross, e.From+held
	e.judge()
	return e
}

// Doubted is e with more uncertainty.
func (e Energy) Doubted(more Millijoules) Energy {
	e.Uncertainty += more
	e.judge()
	return e
}

// WithIdle is e with Net filled in, where the baseline has a level for e's method.
func (e Energy) WithIdle(b Baseline) Energy {
	level := b.Counter
	if e.Method == ByPower {
		level = b.Power
	}
	if level == nil || e.Unknown != "" {
		return e
	}
	net := e.Gross - level.Median.Over(e.Length())
	u := Millijoules(math.Hypot(float64(e.Uncertainty), float64(level.Spread.Over(e.Length()))))
	e.Net, e.NetUncertainty = &net, &u
	e.judge()
	return e
}

// Scaled is e times a block's Scale; by how much it changes comes to its
// uncertainty. An unknown energy stays unknown.
func (e Energy) Scaled(factor float64) Energy {
	if e.Unknown != "" {
		return e
	}
	more := Millijoules(math.Abs(factor-1)) * e.Gross
	e.Gross *= Millijoules(factor)
	e.Uncertainty += more
	if e.Net != nil {
		net, u := *e.Net+e.Gross-e.Gross/Millijoules(factor), *e.NetUncertainty+more
		e.Net, e.NetUncertainty = &net, &u
	}
	e.judge()
	return e
}

// Add is the energy of several windows, or of several devices over one window,
// together: the trials of an arm, the GPUs of a server. Uncertainties add up
// without cancelling, because the edges of like windows err alike. false: there
// is none, or one of them is unknown.
func Add(es []Energy) (Energy, bool) {
	if len(es) == 0 {
		return Energy{Unknown: "no windows to add"}, false
	}
	sum := Energy{Window: es[0].Window, Method: es[0].Method, Sensor: es[0].Sensor, Absolute: new(Millijoules),
		Net: new(Millijoules), NetUncertainty: new(Millijoules), NetAbsolute: new(Millijoules)}
	more := func(sum **Millijoules, of *Millijoules) { // unknown where one is
		if of == nil || *sum == nil {
			*sum = nil
			return
		}
		**sum += *of
	}
	for _, e := range es {
		sum.flag(e.Flags...)
		if e.Unknown != "" {
			return Energy{Flags: sum.Flags, Unknown: e.Unknown}, false
		}
		sum.From, sum.To = min(sum.From, e.From), max(sum.To, e.To)
		sum.Gross += e.Gross
		sum.Uncertainty += e.Uncertainty
		sum.Ticks += e.Ticks
		sum.Tick = max(sum.Tick, e.Tick)
		sum.LowConfidence = sum.LowConfidence || e.LowConfidence
		if e.Method != sum.Method {
			sum.Method = ByBoth
		}
		if e.Sensor != sum.Sensor {
			sum.Sensor = "several"
		}
		more(&sum.Absolute, e.Absolute)
		if e.Net == nil {
			e.NetUncertainty, e.NetAbsolute = nil, nil
		}
		more(&sum.Net, e.Net)
		more(&sum.NetUncertainty, e.NetUncertainty)
		more(&sum.NetAbsolute, e.NetAbsolute)
	}
	return sum, true
}

// Level is a device's power at rest.
type Level struct {
	Median Milliwatts `json:"median_mw"` // of the mean powers of whole seconds
	Spread Milliwatts `json:"spread_mw"` // half their interquartile range
}

// Baseline is a device's power at rest by each method, so that a counter's
// energy is never netted with a sensor that reads differently. nil: not known.
type Baseline struct {
	Window
	Counter *Level `json:"counter,omitempty"`
	Power   *Level `json:"power,omitempty"`
}

// minIdle is the least number of whole seconds that a baseline rests on.
const minIdle = 10

// Block is the energy over a whole block: from the start of its first trial to
// the end of its last. Only two edges are uncertain in it, whatever the number
// of trials.
type Block struct {
	Energy
	Trials int           `json:"trials"`
	Busy   time.Duration `json:"busy_ns"` // time covered by trials
}

// BusyGross is the energy of the trials alone, taking the device to rest
// between them; false: the baseline has no level for the block's method.
func (b Block) BusyGross(idle Baseline) (Millijoules, bool) {
	e := b.Energy.WithIdle(idle)
	if e.Net == nil {
		return 0, false
	}
	rest := (e.Gross - *e.Net) * Millijoules(float64(b.Length()-b.Busy)/float64(b.Length()))
	return e.Gross - rest, true
}

// Meter computes energies from the readings of one device.
type Meter struct {
	power   curve
	other   curve // of the device's other field; without readings: it has none
	counter counter
	counted Scale
	steps   *steps // where power may step; nil: at the ends of the window asked for
}

// NewMeter takes the readings of one device over a run or a block and checks the
// counter against integrated power once. It fails if the readings are not in
// order of time, which is a defect of whoever took them.
func NewMeter(r Readings) (*Meter, error) {
	for i := 1; i < len(r.Counter); i++ {
		if r.Counter[i].At <= r.Counter[i-1].At {
			return nil, fmt.Errorf("timing: counter reading %d at %v follows one at %v: readings must be in order of time", i, r.Counter[i].At, r.Counter[i-1].At)
		}
	}
	for _, rs := range [][]PowerReading{r.Power, r.Other} {
		for i, p := range rs {
			if i > 0 && p.At <= rs[i-1].At {
				return nil, fmt.Errorf("timing: power reading %d at %v follows one at %v: readings must be in order of time", i, p.At, rs[i-1].At)
			}
			if !(p.Power >= 0) || math.IsInf(float64(p.Power), 1) {
				return nil, fmt.Errorf("timing: power reading %d is %v mW: a power is 0 or more; leave unknown ones out", i, p.Power)
			}
		}
	}
	if r.Sensor.Name == "" && r.Sensor.Spread == nil {
		r.Sensor.Spread = &widest
	}
	m := &Meter{power: newCurve(r.Power, r.Average, r.Sensor), other: newCurve(r.Other, 0, r.OtherSensor), counted: r.Sensor.Scale}
	if r.Counted != nil {
		m.counted = *r.Counted
	}
	m.counter = newCounter(r.Counter, r.WrapsAt, r.Tick, &m.power)
	var ticks []time.Duration
	for i := 1; i < len(r.Counter); i++ {
		if r.Counter[i].Microjoules != r.Counter[i-1].Microjoules {
			ticks = append(ticks, r.Counter[i].At)
		}
	}
	m.power.fresh, m.power.hold = renewed(m.power.at, m.power.power, m.power.step, ticks)
	for i := range m.power.fresh {
		m.power.fresh[i].lo -= m.power.sensor.blur()
	}
	return m, nil
}

// Window is the energy over w. The readings must reach beyond both ends of w, by
// the counter's tick and by half the sensor's averaging time: ask after the
// block, not right after the trial. Power may step at both ends of w and, as far
// as the meter knows, nowhere else near: it takes a Stepped meter where other
// windows are close.
// false: it is unknown, and Unknown says why.
func (m *Meter) Window(w Window) (Energy, bool) { return m.energy(w, false) }

// energy is that of a window, which is a whole block or an answer.
func (m *Meter) energy(w Window, block bool) (Energy, bool) {
	e := Energy{Window: w, Flags: slices.Clone(m.counter.flags), Ratio: m.counter.ratio}
	if w.From >= w.To {
		e.Unknown = fmt.Sprintf("the window from %v to %v is empty", w.From, w.To)
		return e, false
	}
	if m.steps == nil {
		alone := *m
		alone.steps = newSteps([]Window{w})
		m = &alone
	}
	why := m.byCounter(&e)
	if why != "" {
		if why2 := m.byPower(&e, block); why2 != "" {
			e.Unknown = why + "; " + why2
			return e, false
		}
	}
	if m.power.sensor.blur() > 0 {
		e.Uncertainty += repeatPart*e.Gross + Millijoules(repeatTop*m.power.top*e.Length().Seconds())
	}
	e.judge()
	return e, true
}

// Block is the energy over the stretch that the trials cover; false: there are
// none, or it is unknown.
func (m *Meter) Block(trials []Window) (Block, bool) {
	if len(trials) == 0 {
		return Block{Energy: Energy{Unknown: "the block has no trials"}}, false
	}
	sorted := slices.SortedFunc(slices.Values(trials), func(a, b Window) int { return int(a.From - b.From) })
	b := Block{Trials: len(trials)}
	end := sorted[0].From
	for _, t := range sorted {
		b.Busy += max(0, t.To-max(t.From, end))
		end = max(end, t.To)
	}
	var ok bool
	if m.steps == nil {
		m = m.Stepped(trials)
	}
	b.Energy, ok = m.energy(Window{sorted[0].From, end}, true)
	return b, ok
}

// Idle is the baseline over w, in which the device is at rest: the median of the
// mean powers of its whole seconds, at least ten (metrics.md section 4).
func (m *Meter) Idle(w Window) (Baseline, error) {
	if w.Length() < minIdle*time.Second {
		return Baseline{}, fmt.Errorf("timing: the idle baseline was watched for %v: it takes %d s or more", w.Length(), minIdle)
	}
	level := func(energy func(*Energy) string) *Level {
		var means []float64
		for at := w.From; at+time.Second <= w.To; at += time.Second {
			e := Energy{Window: Window{at, at + time.Second}}
			if energy(&e) == "" {
				means = append(means, float64(e.Gross)) // over one second: mJ is mW
			}
		}
		if len(means) < minIdle {
			return nil
		}
		sort.Float64s(means)
		return &Level{Median: Milliwatts(quantile(means, .5)), Spread: Milliwatts(quantile(means, .75)-quantile(means, .25)) / 2}
	}
	b := Baseline{
		Window: w,
		Counter: level(func(e *Energy) string {
			alone := *m
			alone.steps = newSteps([]Window{e.Window})
			return alone.byCounter(e)
		}),
		Power: level(m.power.energy),
	}
	if b.Counter == nil && b.Power == nil {
		why := "readings are missing"
		if e, ok := m.Window(w); !ok {
			why = e.Unknown
		}
		return b, fmt.Errorf("timing: the idle baseline from %v to %v is unknown: %s", w.From, w.To, why)
	}
	return b, nil
}

// quantile of sorted values, by linear interpolation (type 7).
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// medianStep is the median distance between neighbours; 0 below two of them.
func medianStep(at []time.Duration) time.Duration {
	if len(at) < 2 {
		return 0
	}
	steps := make([]time.Duration, len(at)-1)
	for i := range steps {
		steps[i] = at[i+1] - at[i]
	}
	slices.Sort(steps)
	return steps[len(steps)/2]
}

// gaps are the stretches between neighbours that are over 2.5 times as long as usual.
func gaps(at []time.Duration) []Window {
	limit := medianStep(at) * 5 / 2
	var out []Window
	for i := 1; i < len(at); i++ {
		if at[i]-at[i-1] > limit {
			out = append(out, Window{at[i-1], at[i]})
		}
	}
	return out
}

// overlaps says whether w has a part in common with one of the stretches, which
// are in order of time.
func overlaps(stretches []Window, w Window) bool {
	i := sort.Search(len(stretches), func(i int) bool { return stretches[i].To > w.From })
	return i < len(stretches) && stretches[i].From < w.To
}

// curve is integrated power.
type curve struct {
	at      []time.Duration
	power   []float64 // mW
	sum     []float64 // mJ from the first reading
	low     float64   // lowest power, mW
	top     float64   // highest
	average time.Duration
	sensor  Sensor
	late    time.Duration // by how much the readings' mean is younger than what they are of
	step    time.Duration
	gaps    []Window
	fresh   []fresh       // readings with a new figure
	hold    time.Duration // how long the sensor shows one figure; step, where that cannot be seen
}

func newCurve(rs []PowerReading, average time.Duration, sensor Sensor) curve {
	c := curve{average: average, sensor: sensor, late: max(average, 0) / 2, low: math.Inf(1)}
	if sensor.blur() > 0 {
		c.average, c.late = 0, (sensor.blur()+sensor.Period)/2
	}
	for i, r := range rs {
		mw := max(0, float64(sensor.truth(Millijoules(r.Power), time.Second))) // over a second mJ is mW
		c.at = append(c.at, r.At)
		c.power = append(c.power, mw)
		c.low, c.top = min(c.low, mw), max(c.top, mw)
		sum := 0.
		if i > 0 {
			sum = c.sum[i-1] + (c.power[i]+c.power[i-1])/2*(r.At-c.at[i-1]).Seconds()
		}
		c.sum = append(c.sum, sum)
	}
	if c.top == 0 {
		return curve{average: c.average, sensor: sensor, late: c.late} // a sensor that only ever says 0 is no sensor
	}
	c.step, c.gaps = medianStep(c.at), gaps(c.at)
	return c
}

// means says whether a reading is of too long a time to show a level beside an edge.
func (c *curve) means() bool { return c.average != 0 || c.sensor.blur() >= time.Second }

// index is that of the first reading at t or later.
func (c *curve) index(t time.Duration) int {
	return sort.Search(len(c.at), func(i int) bool { return c.at[i] >= t })
}

func (c *curve) covers(w Window) bool {
	n := len(c.at)
	return n >= 2 && c.at[0] <= w.From && w.To <= c.at[n-1]
}

// before is the energy from the first reading to t, and the power at t. Outside
// the readings the nearest one holds.
func (c *curve) before(t time.Duration) (mj, mw float64) {
	n := len(c.at)
	i := c.index(t+1) - 1
	switch {
	case i < 0:
		return -c.power[0] * (c.at[0] - t).Seconds(), c.power[0]
	case i == n-1:
		return c.sum[i] + c.power[i]*(t-c.at[i]).Seconds(), c.power[i]
	}
	s, whole := (t - c.at[i]).Seconds(), (c.at[i+1] - c.at[i]).Seconds()
	mw = c.power[i] + (c.power[i+1]-c.power[i])*s/whole
	return c.sum[i] + (c.power[i]+mw)/2*s, mw
}

// integral is the energy over w with its uncertainty, in mJ. Where a power
// changed between two readings, the change may have come at any time between
// them; 1.5 makes the sum of few such errors a bound for 95 % of windows. A sensor that averages is late by half its window. A mean over a window
// blurs the energy up to any moment by at most (highest - lowest power) x window
// / 8, reached where power steps from one to the other at that moment.
func (c *curve) integral(w Window) (mj, uncertainty float64, n int) {
	from, to := w.From+c.late, w.To+c.late
	a, _ := c.before(from)
	b, _ := c.before(to)
	lo := max(sort.Search(len(c.at), func(i int) bool { return c.at[i] > from })-1, 0)
	var squares, gaps float64
	low, high := math.Inf(1), 0.
	for i := lo; i < len(c.at) && (i == lo || c.at[i-1] < to); i++ {
		low, high = min(low, c.power[i]), max(high, c.power[i])
		if c.at[i] >= from && c.at[i] <= to {
			n++
		}
		if i > lo {
			wide := (c.at[i] - c.at[i-1]).Seconds()
			half := math.Abs(c.power[i]-c.power[i-1]) / 2 * wide
			squares += half * half
			if c.at[i]-c.at[i-1] > c.step*5/2 {
				gaps += wide
			}
		}
	}
	uncertainty = 1.5*math.Sqrt(squares) + (high-low)/2*gaps
	uncertainty += 2 * (c.top - c.low) * max(c.average, 0).Seconds() / 8
	if n < lowTicks { // nothing evens out: the bound for a full step at each end
		uncertainty = max(uncertainty, (c.top-c.low)*min(w.Length(), c.step).Seconds())
	}
	return b - a, uncertainty, n
}

// byPower fills e by power alone, or says why it cannot.
func (m *Meter) byPower(e *Energy, block bool) string {
	c := &m.power
	if c.sensor.blur() > 0 {
		e.spread = c.sensor.Spread
		why := c.sensed(e, block)
		if len(m.other.at) > 0 {
			other := *e
			other.Flags, other.spread = slices.Clone(m.counter.flags), m.other.sensor.Spread
			if m.other.sensed(&other, block) == "" && (why != "" || other.Uncertainty < e.Uncertainty) {
				*e, why = other, ""
			}
		}
		return why
	}
	why := c.energy(e)
	if why != "" {
		return why
	}
	e.spread, e.Sensor = c.sensor.Spread, c.sensor.String()
	if c.average != 0 {
		if why := c.blurred(e.Window); why != "" && !block {
			return why
		}
		if c.average > 0 && e.Length() >= leastWindows*c.average && c.covers(e.Window) {
			mj, u := c.undone(e.Window)
			e.Gross, e.Uncertainty = Millijoules(max(0, mj)), Millijoules(u)
		}
		return ""
	}
	if m.steps.stretch(e.From)+1 != m.steps.stretch(e.To) {
		return "" // several stretches: only their outer ends are uncertain
	}
	return m.stretchEnergy(e)
}

// reach says why the readings do not reach beyond w; "": they do.
func (c *curve) reach(w Window) string {
	if len(c.at) < 2 {
		return "there are no power readings"
	}
	if w = (Window{w.From + c.late, w.To + c.late}); !c.covers(w) {
		return fmt.Sprintf("power was read from %v to %v, the window needs %v to %v", c.at[0], c.at[len(c.at)-1], w.From, w.To)
	}
	return ""
}

// energy fills e by integrated power with no step known, or says why it cannot.
func (c *curve) energy(e *Energy) string {
	if why := c.reach(e.Window); why != "" {
		return why
	}
	mj, u, n := c.integral(e.Window)
	step := c.step
	if c.average > step { // readings within one averaging time repeat each other
		n, step = min(n, int(e.Length()/c.average)), c.average
	}
	e.Gross, e.Uncertainty, e.Method = Millijoules(mj), Millijoules(u), ByPower
	e.Ticks, e.Tick, e.LowConfidence = n, step, n < lowTicks
	if overlaps(c.gaps, Window{e.From + c.late, e.To + c.late}) {
		e.flag(FlagGap)
	}
	return ""
}

// tickPoint is a change of the counter. Its time is the middle of where the
// change can have been: after the last reading of the old value, and within one
// tick of the first reading of the new one.
type tickPoint struct {
	at   time.Duration
	lo   time.Duration // it came at lo or later
	hi   time.Duration // and by hi
	mj   float64       // since the first tick
	kind EnergyFlag    // of the stretch that ends here: wrap, reset, stuck, or none
	lost bool          // the stretch's energy is unknown
	more float64       // uncertainty of the stretch, mJ, where power filled in
}

type counter struct {
	ticks []tickPoint
	step  time.Duration // median time between changes as seen
	// hidden: (almost) every reading shows a new value, so ticks are shorter than
	// seen, and by how much nobody measured.
	hidden bool
	flags  []EnergyFlag // that hold for all windows
	ratio  *float64
	gaps   []Window
	bad    string // why it is not used at all
}

// newCounter finds the counter's ticks and decides whether to trust it: it must
// grow, and lie within 0.1 to 10 times integrated power.
func newCounter(rs []CounterReading, wrapsAt uint64, tick time.Duration, power *curve) counter {
	if len(rs) < 2 {
		return counter{bad: "there is no energy counter"}
	}
	var at, changes []time.Duration
	var highest uint64
	for i, r := range rs {
		at = append(at, r.At)
		highest = max(highest, r.Microjoules)
		if i > 0 && r.Microjoules != rs[i-1].Microjoules {
			changes = append(changes, r.At)
		}
	}
	c := counter{step: medianStep(changes), gaps: gaps(at)}
	if len(changes) < 2 {
		if highest == 0 {
			c.flags, c.bad = []EnergyFlag{flagZero}, "the energy counter is always 0"
		} else {
			c.flags, c.bad = []EnergyFlag{FlagStuck}, "the energy counter does not move"
		}
		return c
	}
	if highest >= wrapsAt {
		wrapsAt = 0 // it does not wrap there after all
	}

	// A new value is at most one tick old, and its age is on average half of
	// that. How much shorter than seen hidden ticks are, nobody knows: by half is
	// the best guess.
	age := c.step / 2
	if c.hidden = len(changes)*100 > len(rs)*85; c.hidden {
		age = c.step / 4
	}
	oldest := c.step
	if tick > 0 {
		age, oldest = min(tick, c.step)/2, min(tick, c.step)
	}
	c.hidden = c.hidden && tick == 0
	c.ticks = append(c.ticks, tickPoint{at: rs[0].At - age, lo: rs[0].At - oldest, hi: rs[0].At})
	stuckAfter := max(10*c.step, 500*time.Millisecond)
	changed := rs[0].At // first reading of the present value
	add := func(p tickPoint, mj float64) {
		last := c.ticks[len(c.ticks)-1]
		if p.at <= last.at {
			p.at = last.at + 1
		}
		if p.kind == flagReset || p.kind == FlagStuck {
			w := Window{last.at, p.at}
			if p.lost = !power.covers(w); !p.lost {
				mj, p.more, _ = power.integral(w)
			}
		}
		p.mj = last.mj + mj
		c.ticks = append(c.ticks, p)
	}
	for i := 1; i < len(rs); i++ {
		prev, cur := rs[i-1].Microjoules, rs[i].Microjoules
		if prev == cur {
			continue
		}
		half := min((rs[i].At-rs[i-1].At)/2, age)
		p := tickPoint{at: rs[i].At - half, lo: rs[i].At - min(rs[i].At-rs[i-1].At, oldest), hi: rs[i].At}
		delta := cur - prev
		if cur < prev {
			p.kind = flagReset
			if wrapped := wrapsAt - prev + cur; wrapsAt > 0 && wrapped < wrapsAt/10 {
				p.kind, delta = FlagWrap, wrapped
			}
		}
		mj := float64(delta) / 1000
		if len(power.at) > 0 && mj > 10*power.top*(rs[i].At-changed).Seconds() {
			p.kind = flagReset // no load explains such a jump
		}
		if rs[i-1].At-changed > stuckAfter {
			p.kind = FlagStuck // what comes after may or may not make up for it
		}
		add(p, mj)
		changed = rs[i].At
	}
	if last := rs[len(rs)-1].At; last-changed > stuckAfter {
		add(tickPoint{at: last, lo: last, hi: last, kind: FlagStuck}, 0)
	}
	c.check(power)
	return c
}

// check compares the counter with integrated power where the counter is sound.
func (c *counter) check(power *curve) {
	var counted, integrated float64
	for i := 1; i < len(c.ticks); i++ {
		w := Window{c.ticks[i-1].at, c.ticks[i].at}
		if k := c.ticks[i].kind; k == flagReset || k == FlagStuck || !power.covers(w) {
			continue
		}
		counted += c.ticks[i].mj - c.ticks[i-1].mj
		a, _ := power.before(w.From)
		b, _ := power.before(w.To)
		integrated += b - a
	}
	if integrated == 0 {
		c.flags = []EnergyFlag{FlagUnchecked}
		return
	}
	r := counted / integrated
	c.ratio = &r
	switch {
	case r < .1 || r > 10:
		c.flags = []EnergyFlag{flagMistrust}
		c.bad = fmt.Sprintf("the energy counter shows %.3g times the integrated power", r)
	case r < .8 || r > 1.25:
		c.flags = []EnergyFlag{flagDiffers}
	}
}

// byCounter fills e by the counter, or says why it cannot. The uncertainty, for
// 95 % of windows, comes from when the ticks around the two ends came and from
// the levels that are carried from them to the ends.
func (m *Meter) byCounter(e *Energy) string {
	c := &m.counter
	if c.bad != "" {
		return c.bad
	}
	if first, last := c.ticks[0].at, c.ticks[len(c.ticks)-1].at; e.From < first || e.To > last {
		return fmt.Sprintf("the counter ticked from %v to %v, the window is %v to %v", first, last, e.From, e.To)
	}
	after := func(t time.Duration) int { // the tick that ends the stretch t lies in
		return max(1, sort.Search(len(c.ticks), func(i int) bool { return c.ticks[i].at >= t }))
	}
	i, j := after(e.From), after(e.To)
	for _, k := range []int{i, j} {
		if p := c.ticks[k]; p.kind == flagReset || p.kind == FlagStuck {
			e.flag(p.kind)
			return fmt.Sprintf("the counter lost its count between %v and %v (%s), where the window begins or ends", c.ticks[k-1].at, p.at, p.kind)
		}
	}
	method, more := ByCounter, 0.
	for k := i; k <= j; k++ {
		p := c.ticks[k]
		if p.kind != "" {
			e.flag(p.kind)
		}
		if p.lost {
			return fmt.Sprintf("the counter lost its count between %v and %v (%s)", c.ticks[k-1].at, p.at, p.kind)
		}
		if p.kind == flagReset || p.kind == FlagStuck {
			method = ByBoth
			more += p.more
		}
	}
	if overlaps(c.gaps, e.Window) {
		e.flag(FlagGap)
	}
	a, ok1 := m.at(e.From)
	b, ok2 := m.at(e.To)
	if !ok1 || !ok2 {
		return "no level of power is known at an end of the window"
	}
	// A tick is evenly likely to have come anywhere in its reading interval, and
	// where the readings keep step with the ticks both ends err by all of it: by
	// the root of three standard deviations each, and a little for the levels.
	u := 1.1*math.Sqrt(3)*(math.Sqrt(a.variance)+math.Sqrt(b.variance)) + more
	if len(m.power.at) == 0 || m.power.means() {
		u *= 1.15 // no reading shows the levels
	}
	e.Gross, e.Uncertainty, e.Method = max(0, m.counted.truth(Millijoules(b.mj-a.mj), e.Length())), Millijoules(u), method
	e.spread = m.counted.Spread
	e.Ticks, e.Tick = j-i, c.step
	e.LowConfidence = e.Ticks < lowTicks
	return ""
}
