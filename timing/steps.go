package timing

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"
)

// near is how far around an edge a level is looked for: long enough for some
// readings, short enough that the level is still that at the edge.
const near = 500 * time.Millisecond

// drift is what power inside an answer may differ from its level near the edge,
// as a part of it: a GPU wakes a little after the request, and reads in the
// prompt at another power than it writes.
const drift = .15

// steps are the moments at which power may step, because a trial begins or ends.
type steps struct {
	edges []time.Duration // ascending, each once
	work  []bool          // work[i]: a trial is on between edges[i-1] and edges[i]
	// A level for stretches that nothing was seen of; nil: there is none.
	gap, trial *level
	// tail is how long a trial's power above that of the gap after it would have to
	// go on to make up for what falls into the gap while power falls, s.
	tail float64
}

// late is how far a counter's figure may be from the moment it changed, as a part
// of a tick.
const late = .05

// level is a power with its standard deviation, mW.
type level struct{ mw, sd float64 }

func newSteps(trials []Window) *steps {
	type edge struct {
		at time.Duration
		n  int
	}
	var es []edge
	for _, w := range trials {
		if w.From < w.To {
			es = append(es, edge{w.From, 1}, edge{w.To, -1})
		}
	}
	slices.SortFunc(es, func(a, b edge) int { return int(a.at - b.at) })
	s := &steps{work: []bool{false}}
	active := 0
	for i := 0; i < len(es); {
		at := es[i].at
		for ; i < len(es) && es[i].at == at; i++ {
			active += es[i].n
		}
		s.edges, s.work = append(s.edges, at), append(s.work, active > 0)
	}
	return s
}

// stretch is the index in work of the stretch that t lies in; an edge belongs to
// the stretch it begins.
func (s *steps) stretch(t time.Duration) int {
	return sort.Search(len(s.edges), func(i int) bool { return s.edges[i] > t })
}

// span is stretch i; the first and the last one have no end on one side.
func (s *steps) span(i int) Window {
	w := Window{math.MinInt64 / 4, math.MaxInt64 / 4}
	if i > 0 {
		w.From = s.edges[i-1]
	}
	if i < len(s.edges) {
		w.To = s.edges[i]
	}
	return w
}

// Stepped is m for a block whose trials are known: power steps where one of them
// begins or ends, and nowhere else is a level carried across. Windows asked of it
// should begin and end at such edges.
func (m *Meter) Stepped(trials []Window) *Meter {
	c := *m
	c.steps = newSteps(trials)
	c.pool()
	return &c
}

// pool finds the levels of stretches too short to be seen.
func (m *Meter) pool() {
	s := m.steps
	var found [2][]float64
	gaps := 0
	for i := 1; i < len(s.edges); i++ {
		k := 0
		if s.work[i] {
			k = 1
		} else {
			gaps++
		}
		if l, ok := m.own(i, s.span(i)); ok {
			found[k] = append(found[k], l.mw)
		}
	}
	pooled := func(v []float64, least float64) *level {
		if len(v) == 0 {
			return nil
		}
		slices.Sort(v)
		mid := quantile(v, .5)
		return &level{mid, max((quantile(v, .84)-quantile(v, .16))/2, least*mid)}
	}
	s.gap, s.trial = pooled(found[0], .02), pooled(found[1], .3)
	defer m.fitTail()
	if len(found[0])*10 >= gaps && s.gap != nil {
		return
	}
	if l, ok := m.fitGap(); ok {
		s.gap = l
		return
	}
	if len(s.edges) == 0 || s.gap != nil {
		return
	}
	for _, i := range []int{0, len(s.edges)} { // the power at rest around the block, or anything up to a trial's
		if l, ok := m.own(i, s.around(i)); ok {
			l.sd = max(l.sd, l.mw*.05)
			if s.trial != nil {
				l.sd = math.Abs(s.trial.mw-l.mw) / 2
			}
			s.gap = &l
			return
		}
	}
}

// around is the part of an outer stretch next to the block.
func (s *steps) around(i int) Window {
	if w := s.span(i); i == 0 {
		return Window{w.To - 2*near, w.To}
	} else {
		return Window{w.From, w.From + 2*near}
	}
}

// fitGap is the common level of gaps too short to hold two ticks: what is left of
// the ticks around them when the trials on both sides have had their part, by
// weighted least squares.
func (m *Meter) fitGap() (*level, bool) {
	s, c := m.steps, &m.counter
	if c.bad != "" {
		return nil, false
	}
	var sum, weight float64
	n := 0
	for i := 1; i < len(s.edges); i++ {
		if s.work[i] || !s.work[i-1] || !s.work[i+1] {
			continue
		}
		gap := s.span(i)
		a, b := c.last(gap.From), c.first(gap.To)
		if a < 0 || b < 0 || c.ticks[a].lo < s.span(i-1).From || c.ticks[b].hi > s.span(i+1).To || c.lostBetween(a, b) {
			continue
		}
		ta, tb := c.ticks[a], c.ticks[b]
		p1, ok1 := m.own(i-1, Window{gap.From - near, gap.From})
		p2, ok2 := m.own(i+1, Window{gap.To, gap.To + near})
		if !ok1 || !ok2 {
			continue
		}
		d1, d2, dg := (gap.From - ta.at).Seconds(), (tb.at - gap.To).Seconds(), gap.Length().Seconds()
		left := tb.mj - ta.mj - p1.mw*d1 - p2.mw*d2
		v := sq(p1.sd*d1) + sq(p2.sd*d2) + sq(p1.mw*ta.sd()) + sq(p2.mw*tb.sd())
		if v <= 0 {
			continue
		}
		sum += left * dg / v
		weight += dg * dg / v
		n++
	}
	if n < 10 {
		return nil, false
	}
	return &level{max(0, sum/weight), 1 / math.Sqrt(weight)}, true
}

// after says whether stretch i is a trial with a gap behind it that holds tick k.
func (s *steps) after(i int, p tickPoint) bool {
	return i > 0 && i+1 < len(s.work) && s.work[i] && !s.work[i+1] && p.lo >= s.edges[i] && p.hi <= s.span(i+1).To
}

// fitTail finds how power falls after a trial: what the counter shows behind its
// end over the level of the gap, beyond what it showed inside the trial. A counter
// that is read late shows the same, but as much less behind a trial's start, which
// is taken off; so it is for a GPU that wakes late, and then the tail is found too
// short. It takes long trials, whose level at the end is even, many of them, and
// ticks that were seen one by one; it is 0 where chance alone may have made it.
func (m *Meter) fitTail() {
	s, c := m.steps, &m.counter
	if c.bad != "" || c.hidden {
		return
	}
	// jump is what the counter shows at e beyond the levels on both sides, s.
	jump := func(trial, gap int, e time.Duration) (float64, bool) {
		span := s.span(trial)
		a, b := c.last(e), c.first(e)
		if gap == 0 || gap == len(s.edges) || s.work[gap] || a < 0 || b < 0 || c.lostBetween(a, b) {
			return 0, false
		}
		ta, tb := c.ticks[a], c.ticks[b]
		if ta.lo < s.span(s.stretch(e)-1).From || tb.hi > s.span(s.stretch(e)).To {
			return 0, false
		}
		in, ok1 := m.own(trial, Window{max(e-near, span.From), min(e+near, span.To)})
		out, ok2 := m.level(gap, e)
		if !ok1 || !ok2 || in.mw <= out.mw {
			return 0, false
		}
		left, right := in.mw, out.mw
		if trial > gap {
			left, right = right, left
		}
		return (tb.mj - ta.mj - left*(e-ta.at).Seconds() - right*(tb.at-e).Seconds()) / (in.mw - out.mw), true
	}
	var starts, ends []float64
	for i := 1; i < len(s.edges); i++ {
		if span := s.span(i); s.work[i] && span.Length() >= near {
			if v, ok := jump(i, i-1, span.From); ok {
				starts = append(starts, v)
			}
			if v, ok := jump(i, i+1, span.To); ok {
				ends = append(ends, v)
			}
		}
	}
	if len(starts) < 20 || len(ends) < 20 {
		return
	}
	m1, v1 := meanOf(starts)
	m2, v2 := meanOf(ends)
	tail, v := m2, v2
	if m1 < 0 {
		tail, v = m1+m2, v1+v2
	}
	if tail > 3*math.Sqrt(v) {
		s.tail = tail
	}
}

// meanOf is the mean and its variance.
func meanOf(v []float64) (mean, variance float64) {
	for _, x := range v {
		mean += x
	}
	mean /= float64(len(v))
	for _, x := range v {
		variance += sq(x - mean)
	}
	n := float64(len(v))
	return mean, variance / (n - 1) / n
}

func sq(x float64) float64 { return x * x }

// own is the level that was seen in stretch i inside w.
func (m *Meter) own(i int, w Window) (level, bool) {
	span := m.steps.span(i)
	w = Window{max(w.From, span.From), min(w.To, span.To)}
	if w.From >= w.To {
		return level{}, false
	}
	scale := 1.
	if m.counter.bad == "" && m.counter.ratio != nil {
		scale = *m.counter.ratio
	}
	if !m.power.means() {
		if rs := m.seen(i, w); len(rs) > 0 {
			var sum, squares float64
			for _, r := range rs {
				sum += r.mw
				squares += sq(r.mw)
			}
			n := float64(len(rs))
			mean := sum / n
			sd := math.Sqrt(max(0, squares/n-sq(mean)))
			return level{scale * mean, scale * max(sd, .05*mean) / math.Sqrt(n)}, true
		}
	}
	c := &m.counter
	if c.bad != "" {
		return level{}, false
	}
	a, b := c.first(w.From), c.last(w.To)
	if a < 0 || b <= a || c.lostBetween(a, b) {
		return level{}, false
	}
	ta, tb := c.ticks[a], c.ticks[b]
	long := (tb.at - ta.at).Seconds()
	mw := (tb.mj - ta.mj) / long
	return level{mw, mw * math.Hypot(ta.sd(), tb.sd()) / long}, true
}

// level is that of stretch i next to the moment t, by what was seen of it or of
// its like.
func (m *Meter) level(i int, t time.Duration) (level, bool) {
	s := m.steps
	l, ok := m.own(i, Window{t - near, t + near})
	if s.work[i] {
		if ok {
			l.sd = math.Hypot(l.sd, drift*l.mw)
			return l, true
		}
		if s.trial != nil {
			return level{s.trial.mw, math.Hypot(s.trial.sd, drift*s.trial.mw)}, true
		}
		return level{}, false
	}
	if s.gap != nil && i > 0 && i < len(s.edges) && (!ok || l.sd > s.gap.sd) {
		return *s.gap, true
	}
	return l, ok
}

// first is the first tick that surely came at t or later, last the last one that
// surely came at t or before; -1: none.
func (c *counter) first(t time.Duration) int {
	i := sort.Search(len(c.ticks), func(i int) bool { return c.ticks[i].lo >= t })
	if i == len(c.ticks) {
		return -1
	}
	return i
}

func (c *counter) last(t time.Duration) int {
	return sort.Search(len(c.ticks), func(i int) bool { return c.ticks[i].hi > t }) - 1
}

// lostBetween says whether the counter lost its count between ticks a and b.
func (c *counter) lostBetween(a, b int) bool {
	for k := min(a, b) + 1; k <= max(a, b); k++ {
		if kind := c.ticks[k].kind; kind == flagReset || kind == FlagStuck {
			return true
		}
	}
	return false
}

// sd is the standard deviation of the tick's time, s.
func (p tickPoint) sd() float64 { return (p.hi - p.lo).Seconds() / math.Sqrt(12) }

// guess is an energy from the counter's first tick to a moment, with its
// variance.
type guess struct{ mj, variance float64 }

// at is the energy up to the edge e by the counter. From the nearest ticks that
// surely lie before and after it, the level of each side is carried to the edge,
// and the two are weighed by their variances: what came before an answer is
// mostly rest, so that little is carried.
func (m *Meter) at(e time.Duration) (guess, bool) {
	c := &m.counter
	b := min(len(c.ticks)-1, sort.Search(len(c.ticks), func(i int) bool { return c.ticks[i].at >= e }))
	var sum, weight float64
	for _, k := range []int{c.last(e), c.first(e)} {
		if k < 0 || c.lostBetween(k, b) {
			continue
		}
		mj, v, ok := m.carry(c.ticks[k], e)
		if !ok {
			continue
		}
		if i := m.steps.stretch(e) - 1; m.steps.tail > 0 && m.steps.after(i, c.ticks[k]) {
			in, ok1 := m.level(i, e)
			out, ok2 := m.level(i+1, e)
			if extra := m.steps.tail * max(0, in.mw-out.mw); ok1 && ok2 {
				mj -= extra
				v += sq(extra / 3)
			}
		}
		w := 1 / max(v, 1e-6)
		sum += w * (c.ticks[k].mj + mj)
		weight += w
	}
	if weight == 0 {
		return guess{}, false
	}
	tick := 0.
	for k := max(1, b-1); k <= min(b+1, len(c.ticks)-1); k++ {
		tick = max(tick, c.ticks[k].mj-c.ticks[k-1].mj)
	}
	return guess{sum / weight, 1/weight + sq(late*tick)}, true
}

// carry is the energy from a tick to e, negative where the tick comes after, and
// its variance.
func (m *Meter) carry(p tickPoint, e time.Duration) (mj, variance float64, ok bool) {
	s := m.steps
	sign := 1.
	far := Window{p.lo, e}
	if p.at > e {
		sign, far = -1, Window{e, p.hi}
	}
	// The tick may have come at any time from lo to hi.
	times := []time.Duration{p.at}
	if s.stretch(p.lo) != s.stretch(p.hi) {
		times = nil
		for k := range 5 {
			times = append(times, p.lo+(p.hi-p.lo)*time.Duration(2*k+1)/10)
		}
	}
	var tick float64
	for i := s.stretch(far.From); i < len(s.work) && (i == 0 || s.edges[i-1] < far.To); i++ {
		span := s.span(i)
		l, ok := m.level(i, min(max(e, span.From), span.To))
		if !ok {
			return 0, 0, false
		}
		var d float64
		for _, t := range times {
			w := Window{min(t, e), max(t, e)}
			d += max(0, min(w.To, span.To)-max(w.From, span.From)).Seconds()
		}
		d /= float64(len(times))
		mj += sign * l.mw * d
		variance += sq(l.sd * d)
		if p.hi > span.From && p.lo < span.To {
			tick = max(tick, l.mw)
		}
	}
	return mj, variance + sq(tick*p.sd()), true
}

// fresh is a reading of power that was new: taken by the device after lo and by
// hi.
type fresh struct {
	lo, hi time.Duration
	mw     float64
}

func (f fresh) at() time.Duration { return f.lo + (f.hi-f.lo)/2 }

// renewed are the readings that show a new figure: a sensor may hold one for
// longer than it takes to look again. hold is how long it does. ticks are the
// moments at which the device's counter was seen changed: a sensor that changes
// only then has a new figure whenever the counter has.
func renewed(at []time.Duration, mw []float64, step time.Duration, ticks []time.Duration) (out []fresh, hold time.Duration) {
	var spaces []time.Duration
	noise, last, with := 0, 0, 0
	ticked := func(t time.Duration) bool {
		_, ok := slices.BinarySearch(ticks, t)
		return ok
	}
	for i := 1; i < len(at); i++ {
		if d := math.Abs(mw[i] - mw[i-1]); d > 0 {
			spaces = append(spaces, at[i]-at[last])
			last = i
			if d < .1*max(mw[i], mw[i-1]) {
				noise++
			}
			if ticked(at[i]) {
				with++
			}
		}
	}
	hold = step
	together := with > 0 && with*50 >= len(spaces)*49
	switch {
	case together:
		hold = max(step, medianStep(ticks))
	case noise*4 > len(spaces): // without noise, equal readings do not say that the sensor held them
		slices.Sort(spaces)
		hold = max(step, spaces[len(spaces)/2])
	}
	for i := range at {
		switch {
		case i == 0:
			out = append(out, fresh{at[i] - step, at[i], mw[i]})
		case mw[i] != mw[i-1], together && ticked(at[i]), !together && at[i]-out[len(out)-1].hi > hold-step/2:
			out = append(out, fresh{max(at[i-1], at[i]-hold), at[i], mw[i]})
		}
	}
	return out, hold
}

// seen are the readings of power that belong to stretch i, of those around w. One
// that may have been taken on either side of an edge belongs to the side whose
// power it shows.
func (m *Meter) seen(i int, w Window) []fresh {
	c, s := &m.power, m.steps
	span := s.span(i)
	lo := sort.Search(len(c.fresh), func(k int) bool { return c.fresh[k].hi > w.From })
	hi := sort.Search(len(c.fresh), func(k int) bool { return c.fresh[k].lo >= w.To })
	var sure []fresh
	doubtful := false
	for _, r := range c.fresh[lo:max(lo, hi)] {
		if r.lo >= span.From && r.hi <= span.To {
			sure = append(sure, r)
		} else {
			doubtful = true
		}
	}
	if !doubtful {
		return sure
	}
	own := mean(sure)
	if math.IsNaN(own) {
		if l := s.like(i); l != nil {
			own = l.mw
		}
	}
	var out []fresh
	for _, r := range c.fresh[lo:max(lo, hi)] {
		if r.lo >= span.From && r.hi <= span.To || m.belongs(r, span, i, own) {
			out = append(out, r)
		}
	}
	return out
}

func (s *steps) like(i int) *level {
	if s.work[i] {
		return s.trial
	}
	return s.gap
}

// belongs says whether a reading taken around an edge of stretch i shows its
// power rather than its neighbour's.
func (m *Meter) belongs(r fresh, span Window, i int, own float64) bool {
	c, s := &m.power, m.steps
	other := math.NaN()
	beside, t := i-1, span.From
	if r.hi > span.To {
		beside, t = i+1, span.To
	}
	if beside >= 0 && beside < len(s.work) {
		b := s.span(beside)
		b = Window{max(b.From, t-near), min(b.To, t+near)}
		lo := sort.Search(len(c.fresh), func(k int) bool { return c.fresh[k].lo >= b.From })
		var sure []fresh
		for _, x := range c.fresh[lo:] {
			if x.hi > b.To {
				break
			}
			sure = append(sure, x)
		}
		other = mean(sure)
		if math.IsNaN(other) {
			if l := s.like(beside); l != nil {
				other = l.mw
			}
		}
	}
	inside := 2*(min(r.hi, span.To)-max(r.lo, span.From)) > r.hi-r.lo
	switch {
	case math.IsNaN(own) && math.IsNaN(other):
		return inside
	case math.IsNaN(own):
		return math.Abs(r.mw-other) > .25*other
	case math.IsNaN(other):
		return math.Abs(r.mw-own) < .25*own
	case math.Abs(own-other) < .1*max(own, other):
		return inside
	}
	return math.Abs(r.mw-own) < math.Abs(r.mw-other)
}

func mean(rs []fresh) float64 {
	sum := 0.
	for _, r := range rs {
		sum += r.mw
	}
	return sum / float64(len(rs)) // NaN without any
}

// stretchEnergy fills e, one stretch between two edges, by readings of instant
// power: their mean, each weighed by the time it stands for, over the whole
// stretch. Nothing is taken from beyond the edges.
func (m *Meter) stretchEnergy(e *Energy) string {
	c := &m.power
	i := m.steps.stretch(e.From)
	rs := m.seen(i, e.Window)
	if len(rs) == 0 {
		return "no reading of power fell inside the window"
	}
	var sum, weights, squares, missing float64
	low, high := math.Inf(1), 0.
	for k, r := range rs {
		before, after := c.hold, c.hold
		if k > 0 {
			before = r.at() - rs[k-1].at()
			half := math.Abs(r.mw-rs[k-1].mw) / 2 * before.Seconds()
			squares += sq(half)
			if before > c.hold*5/2 {
				missing += before.Seconds()
			}
		}
		if k+1 < len(rs) {
			after = rs[k+1].at() - r.at()
		}
		w := (before + after).Seconds()
		sum += w * r.mw
		weights += w
		low, high = min(low, r.mw), max(high, r.mw)
	}
	long := e.Length().Seconds()
	hold := min(e.Length(), c.hold).Seconds()
	// What is between two readings may have changed at any time, and at an edge a
	// reading of rest may be of a GPU that has not woken yet.
	u := 1.5*math.Sqrt(squares) + (high-low)/2*(missing+hold) + (c.top-c.low)*min(hold, max(hold*.85, .03))
	if d := rs[0].lo - e.From; d > c.hold*5/2 {
		u += (c.top - c.low) * d.Seconds()
	}
	if d := e.To - rs[len(rs)-1].hi; d > c.hold*5/2 {
		u += (c.top - c.low) * d.Seconds()
	}
	e.Gross, e.Uncertainty, e.Method = Millijoules(sum/weights*long), Millijoules(u), ByPower
	e.Ticks, e.Tick, e.LowConfidence = len(rs), c.hold, len(rs) < lowTicks
	return ""
}

// leastWindows is the number of a sensor's averaging windows that an energy from
// it has to hold.
const leastWindows = 3

// undone is the energy over w by a sensor that reports the mean of the last
// average, from readings whose mean lies inside w alone: the first and the last
// window are a reading each, and between them the integral of the readings lacks
// half a window at each end, which the readings there stand in for.
func (c *curve) undone(w Window) (mj, uncertainty float64) {
	a := c.average.Seconds()
	at := func(t time.Duration) float64 {
		_, mw := c.before(t)
		return mw
	}
	x, y := w.From+2*c.average, w.To-c.average
	i, _ := c.before(x)
	j, _ := c.before(y)
	first, last := at(w.From+c.average), at(w.To)
	mj = a*(first+last) + (j - i) + a/2*(at(x)+at(y))
	// A held reading is late by up to its hold, which blurs a step at either end.
	// Where the middle is not even, half a window of its change may be missing.
	uncertainty = (c.top-c.low)*c.hold.Seconds() + a/4*(math.Abs(at(x)-first)+math.Abs(at(y)-last)) + .02*a*(first+last)
	return mj, uncertainty
}

// blurred says why the window is too short for an energy from a mean power.
func (c *curve) blurred(w Window) string {
	switch {
	case c.average < 0:
		return "the sensor averages power over a time that is not known: only the block's energy is"
	case w.Length() < leastWindows*c.average:
		return fmt.Sprintf("the answer is shorter than %d windows of %v over which the sensor averages: only the block's energy is known", leastWindows, c.average)
	}
	return ""
}
