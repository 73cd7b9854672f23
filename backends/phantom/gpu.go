// GPU is a GPU that follows what phantom readers do: its power, counter
// and clocks are known exactly.

package phantom

import (
	"iter"
	"math"
	"slices"
	"sort"
	"sync"
	"time"

	"assay/timing"
)

// Activity is what the replies of one or more phantom servers are doing, from
// its making on: what phantom GPUs draw their power for. It is safe from several
// goroutines; a nil Activity notes nothing.
type Activity struct {
	start time.Time

	mu  sync.Mutex
	now phase
	log []phase // at every change; the first is the start, at rest
}

// phase is how many replies are at what from some moment on.
type phase struct {
	at              time.Duration // since start
	prefill, decode int
}

// NewActivity starts watching.
func NewActivity() *Activity { return &Activity{start: time.Now(), log: []phase{{}}} }

func (a *Activity) change(prefill, decode int) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = phase{time.Since(a.start), a.now.prefill + prefill, a.now.decode + decode}
	a.log = append(a.log, a.now)
}

// working is one reply on its way. It belongs to one goroutine.
type working struct {
	a               *Activity
	prefill, decode int // one of them is 1
}

// Begin notes that a reply is being read in.
func (a *Activity) Begin() *working {
	a.change(1, 0)
	return &working{a, 1, 0}
}

// Decode notes that it is being written.
func (w *working) Decode() {
	w.a.change(-1, 1)
	w.prefill, w.decode = 0, 1
}

// End notes that it is over.
func (w *working) End() { w.a.change(-w.prefill, -w.decode) }

// Card is what a phantom GPU is made of. Times count from its Activity's start.
type Card struct {
	Name                  string
	Idle, Prefill, Decode timing.Milliwatts // drawn in all: at rest; while any reply is read in; else while any is written
	Memory                int64             // bytes
	// Tick is the time between changes of its figures, as of a real GPU's counter
	// and sensor; 0: they change at once.
	Tick  time.Duration
	Noise float64 // of the power sensor: readings lie within 1 +/- Noise of the truth; the counter has none
	Seed  uint64  // of Noise
	// Throttled are stretches in which it draws at most Limit and says so.
	Throttled []timing.Window
	Limit     timing.Milliwatts
	Resets    []time.Duration // when the counter starts again from 0, ascending
	WrapsAt   uint64          // µJ at which the counter starts again; 0: it does not
}

// DefaultCard is a workstation's GPU: 25 W at rest, 100 ms between its figures.
func DefaultCard() Card {
	return Card{Name: "phantom GPU", Idle: 25_000, Prefill: 290_000, Decode: 210_000, Memory: 24 << 30, Tick: 100 * time.Millisecond, Noise: .02}
}

// GPU is a phantom GPU whose truth is known.
type GPU struct {
	card Card
	of   *Activity
}

// NewGPU makes a card that works for the replies that of sees.
func NewGPU(of *Activity, c Card) *GPU { return &GPU{c, of} }

// Card is what it is made of.
func (g *GPU) Card() Card { return g.card }

// look is what a card shows at a moment, as of its last tick.
type look struct {
	Energy    uint64            // µJ, as its counter has it
	Power     timing.Milliwatts // with the sensor's noise
	Busy      int64             // per cent of the tick
	Memory    int64             // bytes in use
	Throttled bool              // it draws at most Card.Limit
}

// Look reads the card now.
func (g *GPU) Look() look {
	at := time.Since(g.of.start)
	if g.card.Tick > 0 {
		at = at.Truncate(g.card.Tick)
	}
	since := time.Duration(0)
	for _, r := range g.card.Resets {
		if r <= at {
			since = r
		}
	}
	count := uint64(1000 * g.between(since, at)) // mJ
	if g.card.WrapsAt > 0 {
		count %= g.card.WrapsAt
	}
	var now stretch
	for now = range g.of.during(at, at+1) {
	}
	noise := 1 + g.card.Noise*(2*NewSource(g.card.Seed^Mix(uint64(at))).Unit()-1)
	throttled := slices.ContainsFunc(g.card.Throttled, func(w timing.Window) bool { return w.From <= at && at < w.To })
	return look{Energy: count, Power: timing.Milliwatts(math.Round(noise * float64(g.power(now, throttled)))), Busy: g.of.busy(at-g.card.Tick, at),
		Memory: g.card.Memory / 3, Throttled: throttled}
}

// True is the energy that the card used between two moments, exactly: what a
// measurement of a request from its Start to its LastContent should find.
func (g *GPU) True(from, to time.Time) timing.Millijoules {
	return g.between(from.Sub(g.of.start), to.Sub(g.of.start))
}

// power is what the card draws.
func (g *GPU) power(at stretch, throttled bool) timing.Milliwatts {
	w := g.card.Idle
	switch {
	case at.prefill > 0:
		w = g.card.Prefill
	case at.decode > 0:
		w = g.card.Decode
	}
	if throttled {
		w = min(w, max(g.card.Limit, g.card.Idle))
	}
	return w
}

// between adds up stretches, and takes away what throttling spared.
func (g *GPU) between(from, to time.Duration) timing.Millijoules {
	var sum timing.Millijoules
	for s := range g.of.during(from, to) {
		full := g.power(s, false)
		sum += full.Over(s.to - s.at)
		for _, w := range g.card.Throttled {
			sum -= (full - g.power(s, true)).Over(max(0, min(s.to, w.To)-max(s.at, w.From)))
		}
	}
	return sum
}

// busy is the share of a stretch in which there was work, in percent, rounded; of
// no stretch, at its moment. Drivers report it so: work between two looks shows.
func (a *Activity) busy(from, to time.Duration) int64 {
	var sum time.Duration
	to = max(to, from+1)
	for s := range a.during(from, to) {
		if s.prefill+s.decode > 0 {
			sum += s.to - s.at
		}
	}
	return int64(math.Round(100 * float64(sum) / float64(to-from)))
}

// stretch is a phase and its end.
type stretch struct {
	phase
	to time.Duration
}

// during are the phases between two moments, as far as they lie there.
func (a *Activity) during(from, to time.Duration) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		a.mu.Lock()
		defer a.mu.Unlock()
		later := sort.Search(len(a.log), func(i int) bool { return a.log[i].at > from })
		for i := max(0, later-1); i < len(a.log) && a.log[i].at < to; i++ {
			s := stretch{a.log[i], to}
			if i+1 < len(a.log) {
				s.to = min(to, a.log[i+1].at)
			}
			if s.at = max(from, s.at); !yield(s) {
				return
			}
		}
	}
}
