package timing

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const ms = time.Millisecond

// load is a power that is constant between its steps: the truth.
type load struct {
	at []time.Duration // at[0] = 0
	mw []float64
	mj []float64 // up to at[i]
}

func (l *load) step(at time.Duration, mw float64) {
	if n := len(l.at); n > 0 {
		l.mj = append(l.mj, l.mj[n-1]+l.mw[n-1]*(at-l.at[n-1]).Seconds())
	} else {
		l.mj = append(l.mj, 0)
	}
	l.at, l.mw = append(l.at, at), append(l.mw, mw)
}

func (l *load) index(t time.Duration) int {
	return max(sort.Search(len(l.at), func(i int) bool { return l.at[i] > t })-1, 0)
}

func (l *load) power(t time.Duration) float64 { return l.mw[l.index(t)] }

func (l *load) energy(t time.Duration) float64 {
	i := l.index(t)
	return l.mj[i] + l.mw[i]*(t-l.at[i]).Seconds()
}

func (l *load) over(w Window) Millijoules { return Millijoules(l.energy(w.To) - l.energy(w.From)) }

// bench is a GPU with a sampler looking at it.
type bench struct {
	tick     time.Duration // of the counter
	jitter   float64       // of each tick, as a part of it
	hz       int
	held     bool          // the power sensor moves with the counter's ticks only
	average  time.Duration // the power sensor averages
	noPower  bool
	scale    float64 // of the counter; 0: 1
	wrapsAt  uint64
	resetAt  time.Duration
	stuck    Window // the counter does not move
	catchUp  bool   // ... and makes up for it afterwards
	missing  Window // the sampler did not run
	throttle bool   // power drops by half every other 300 ms
	idle     float64
	busy     float64
	trials   int
	length   [2]time.Duration // of a trial
}

// run is a simulated block: 12 s of rest, then trials 30 to 400 ms apart.
func (b bench) run(seed uint64) (Readings, []Window, *load) {
	rnd := rand.New(rand.NewPCG(seed, 4))
	between := func(lo, hi time.Duration) time.Duration { return lo + time.Duration(rnd.Int64N(int64(hi-lo+1))) }
	l := &load{}
	l.step(0, b.idle)
	at := 12*time.Second + between(0, time.Second)
	var trials []Window
	for range b.trials {
		at += between(30*ms, 400*ms)
		end := at + between(b.length[0], b.length[1])
		trials = append(trials, Window{at, end})
		begin := at + between(0, min(15*ms, (end-at)/3)) // the GPU wakes a little after the request
		prefill := begin + (end-begin)/time.Duration(3+rnd.IntN(6))
		l.step(begin, b.busy)
		l.step(prefill, b.busy*(.6+.3*rnd.Float64()))
		if b.throttle {
			for t, low := prefill+300*ms, true; t < end; t, low = t+300*ms, !low {
				l.step(t, b.busy*map[bool]float64{true: .4, false: .8}[low])
			}
		}
		at = end
		l.step(end, b.idle)
	}
	end := at + 3*time.Second
	l.step(end, b.idle)

	var r Readings
	r.WrapsAt, r.Average = b.wrapsAt, b.average
	scale := b.scale
	if scale == 0 {
		scale = 1
	}
	base := float64(rnd.IntN(1_000_000)) * 1000 // µJ before the run
	var shown, offset float64
	wobble := func() time.Duration { return time.Duration(float64(b.tick) * b.jitter * (rnd.Float64() - .5)) }
	tick := -between(0, b.tick)
	next := between(0, time.Second/time.Duration(b.hz))
	held := b.idle
	var atReset float64
	for k := 0; next < end; k++ {
		for tick+b.tick <= next {
			tick += b.tick
			t := max(tick+wobble(), 0)
			true1 := base + l.energy(t)*1000*scale
			held = l.power(t)
			switch {
			case t >= b.stuck.From && t < b.stuck.To:
				if !b.catchUp {
					offset = true1 - shown
				}
			default:
				shown = true1 - offset
			}
			if b.resetAt > 0 && t >= b.resetAt && atReset == 0 {
				atReset = true1
			}
		}
		v := shown
		if atReset > 0 {
			v -= atReset
		}
		micro := uint64(max(v, 0)/1000) * 1000
		if b.wrapsAt > 0 {
			micro %= b.wrapsAt
		}
		if next < b.missing.From || next >= b.missing.To {
			if b.tick > 0 {
				r.Counter = append(r.Counter, CounterReading{next, micro})
			}
			if !b.noPower {
				p := l.power(next)
				switch {
				case b.held:
					p = held
				case b.average > 0:
					p = (l.energy(next) - l.energy(max(next-b.average, 0))) / min(next, b.average).Seconds()
				}
				r.Power = append(r.Power, PowerReading{next, Milliwatts(p)})
			}
		}
		next += time.Second/time.Duration(b.hz) + between(-ms/2, ms/2)
	}
	return r, trials, l
}

func (b bench) meter(t testing.TB, seed uint64) (*Meter, []Window, *load) {
	t.Helper()
	r, trials, l := b.run(seed)
	m, err := NewMeter(r)
	if err != nil {
		t.Fatal(err)
	}
	return m.Stepped(trials), trials, l
}

// typical is a block of forty trials on a GPU with a 100 ms counter.
func typical(change func(*bench)) bench {
	b := bench{tick: 100 * ms, jitter: .1, hz: 20, idle: 60_000, busy: 400_000, trials: 40, length: [2]time.Duration{50 * ms, 3 * time.Second}}
	change(&b)
	return b
}

func never(b *bench) { b.tick = 1000 * time.Hour }

// replays are counter traces with everything that goes wrong with counters.
// method is that of the block.
var replays = []struct {
	name   string
	b      bench
	method Method
	flags  []EnergyFlag
	wide   bool // only the flag has to be right
}{
	{"tick 20 ms", typical(func(b *bench) { b.tick = 20 * ms }), ByCounter, nil, false},
	{"tick 33 ms", typical(func(b *bench) { b.tick = 33 * ms }), ByCounter, nil, false},
	{"tick 50 ms", typical(func(b *bench) { b.tick = 50 * ms }), ByCounter, nil, false},
	{"tick 70 ms", typical(func(b *bench) { b.tick = 70 * ms }), ByCounter, nil, false},
	{"tick 100 ms", typical(func(b *bench) {}), ByCounter, nil, false},
	{"tick 100 ms, 100 Hz", typical(func(b *bench) { b.hz = 100 }), ByCounter, nil, false},
	{"irregular ticks", typical(func(b *bench) { b.jitter = .8 }), ByCounter, nil, false},
	{"power moves with the ticks", typical(func(b *bench) { b.held = true }), ByCounter, nil, false},
	{"power is a 1 s mean", typical(func(b *bench) { b.average = time.Second }), ByCounter, nil, false},
	{"throttled", typical(func(b *bench) { b.throttle = true }), ByCounter, nil, false},
	{"wrap", typical(func(b *bench) { b.wrapsAt = 5_000_000_000 }), ByCounter, []EnergyFlag{FlagWrap}, false},
	{"reset", typical(func(b *bench) { b.resetAt = 20 * time.Second }), ByBoth, []EnergyFlag{flagReset}, false},
	{"stuck, goes on", typical(func(b *bench) { b.stuck = Window{20 * time.Second, 22 * time.Second} }), ByBoth, []EnergyFlag{FlagStuck}, false},
	{"stuck, catches up", typical(func(b *bench) { b.stuck = Window{20 * time.Second, 22 * time.Second}; b.catchUp = true }), ByBoth, []EnergyFlag{FlagStuck}, false},
	{"stuck to the end", typical(func(b *bench) { b.stuck = Window{20 * time.Second, time.Hour} }), ByPower, []EnergyFlag{FlagStuck}, false},
	{"sampler gap", typical(func(b *bench) { b.missing = Window{20 * time.Second, 23 * time.Second} }), ByCounter, []EnergyFlag{FlagGap}, false},
	{"counter in other units", typical(func(b *bench) { b.scale = .01 }), ByPower, []EnergyFlag{flagMistrust}, false},
	{"counter at 187 / 327 of power", typical(func(b *bench) { b.scale = 187. / 327 }), ByCounter, []EnergyFlag{flagDiffers}, true},
	{"no power sensor", typical(func(b *bench) { b.noPower = true }), ByCounter, []EnergyFlag{FlagUnchecked}, false},
	{"no counter", typical(never), ByPower, []EnergyFlag{flagZero}, false},
	{"no counter, throttled", typical(func(b *bench) { never(b); b.throttle = true }), ByPower, []EnergyFlag{flagZero}, false},
	{"no counter, power is a 1 s mean", typical(func(b *bench) { never(b); b.average = time.Second }), ByPower, []EnergyFlag{flagZero}, false},
	{"no counter, sampler gap", typical(func(b *bench) { never(b); b.missing = Window{20 * time.Second, 23 * time.Second} }), ByPower, []EnergyFlag{FlagGap, flagZero}, true},
}

func TestReplayedBlocksAreWithinOnePercentOrFlagged(t *testing.T) {
	for _, r := range replays {
		t.Run(r.name, func(t *testing.T) {
			for seed := range uint64(10) {
				m, trials, l := r.b.meter(t, seed)
				b, ok := m.Block(trials)
				if !ok {
					t.Fatal(b.Unknown)
				}
				off := math.Abs(float64(b.Gross/l.over(b.Window) - 1))
				if !slices.Equal(b.Flags, r.flags) || b.Method != r.method {
					t.Errorf("seed %d: method %s flags %v, want %s %v", seed, b.Method, b.Flags, r.method, r.flags)
				}
				if off > .01 && !r.wide {
					t.Errorf("seed %d: %.0f J for %.0f J: %.2f %% off", seed, b.Gross/1000, l.over(b.Window)/1000, 100*off)
				}
				found, truth, unknown := sumOf(m, trials, l)
				if off := math.Abs(found/truth - 1); off > .01 && !r.wide {
					t.Errorf("seed %d: the trials' sum is %.2f %% off", seed, 100*off)
				}
				// Without a counter, a mean over a second knows no answer below three, and lost samples none that they hid.
				blind := r.method == ByPower && (r.b.average > 0 || r.b.missing.To > 0)
				if unknown > 0 && !blind || unknown < len(trials) && r.b.average > 0 && blind {
					t.Errorf("seed %d: %d trials are unknown", seed, unknown)
				}
				if b.LowConfidence || b.Trials != len(trials) || b.Busy <= 0 || b.Busy >= b.Length() {
					t.Errorf("seed %d: %+v", seed, b)
				}
			}
		})
	}
}

// TestTruthIsWithinTheStatedUncertainty draws machines and asks for at least
// 95 % of all windows, and for a median uncertainty of at most a tenth where a
// window has ten ticks. The share is one of all windows that a machine may have:
// where 200 of them show less, which chance does to one machine in a thousand
// whose share is over 95 %, 4,000 decide.
func TestTruthIsWithinTheStatedUncertainty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := bench{
			tick:    time.Duration(rapid.IntRange(20, 100).Draw(t, "tick ms")) * ms,
			jitter:  rapid.Float64Range(0, .3).Draw(t, "jitter"),
			hz:      rapid.IntRange(10, 100).Draw(t, "hz"),
			held:    rapid.Bool().Draw(t, "held"),
			noPower: rapid.Bool().Draw(t, "no power"),
			idle:    rapid.Float64Range(5_000, 100_000).Draw(t, "idle"),
			busy:    rapid.Float64Range(110_000, 1_000_000).Draw(t, "busy"),
			length:  [2]time.Duration{20 * ms, 2500 * ms},
		}
		if rapid.IntRange(0, 3).Draw(t, "counter") == 0 {
			never(&b)
			b.noPower, b.held = false, false
			if b.average = rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "average"); b.average > 0 {
				b.length[1] = 6 * time.Second
			}
		}
		seed := rapid.Uint64().Draw(t, "seed")
		for _, b.trials = range []int{200, 4000} {
			in, known, median := b.covered(t, seed)
			if known*4 < b.trials {
				t.Fatalf("%d of %d windows have an energy", known, b.trials)
			}
			limit := .1
			if b.noPower { // a quarter more
				limit = .125
			}
			if b.average == 0 && median > limit {
				t.Fatalf("median uncertainty %.1f %% in windows of ten ticks or more", 100*median)
			}
			if in*100 >= known*95 {
				return
			}
			if b.trials > 200 {
				t.Fatalf("the truth is inside %d of %d", in, known)
			}
		}
	})
}

// covered runs a block: how many windows' energies hold the truth, of how many
// that are known, and the median uncertainty of those of ten ticks or more, as a
// part of the energy.
func (b bench) covered(t *rapid.T, seed uint64) (in, known int, median float64) {
	r, trials, l := b.run(seed)
	m, err := NewMeter(r)
	if err != nil {
		t.Fatal(err)
	}
	m = m.Stepped(trials)
	var parts []float64
	seen := 2 * time.Second / time.Duration(b.hz)
	if b.busy*.6 < b.idle*1.1 { // steps as small as noise: equal readings may be one that the sensor held
		seen *= 2
	}
	for _, w := range trials {
		e, ok := m.Window(w)
		// Too short for a mean power, or too short to be seen at all.
		blind := b.tick > time.Hour && (w.Length() < 3*b.average || b.average == 0 && w.Length() < seen)
		if !ok && blind {
			continue
		}
		if known++; !ok {
			t.Fatal(e.Unknown)
		}
		if b.average > 0 && blind {
			t.Fatalf("%v has an energy from a mean over %v", w.Length(), b.average)
		}
		if math.Abs(float64(e.Gross-l.over(w))) <= float64(e.Uncertainty) {
			in++
		}
		if e.LowConfidence != (e.Ticks < lowTicks) {
			t.Fatalf("%d ticks, low confidence %t", e.Ticks, e.LowConfidence)
		}
		if !e.LowConfidence {
			parts = append(parts, float64(e.Uncertainty/e.Gross))
		}
	}
	if len(parts) == 0 {
		return in, known, 0
	}
	sort.Float64s(parts)
	return in, known, quantile(parts, .5)
}

// TestAnyReadingsGiveAFiniteEnergyOrNone throws nonsense at the meter.
func TestAnyReadingsGiveAFiniteEnergyOrNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Readings
		at := time.Duration(0)
		for range rapid.IntRange(0, 40).Draw(t, "n") {
			at += time.Duration(rapid.Int64Range(1, int64(2*time.Second)).Draw(t, "step"))
			if rapid.Bool().Draw(t, "counter") {
				v := rapid.OneOf(rapid.Uint64Range(0, 5), rapid.Uint64Range(0, 1e9), rapid.Uint64()).Draw(t, "uj")
				r.Counter = append(r.Counter, CounterReading{at, v})
			}
			if rapid.Bool().Draw(t, "power") {
				r.Power = append(r.Power, PowerReading{at, Milliwatts(rapid.Float64Range(0, 1e7).Draw(t, "mw"))})
			}
		}
		r.WrapsAt = rapid.Uint64().Draw(t, "wraps")
		r.Average = time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "average"))
		m, err := NewMeter(r)
		if err != nil {
			t.Fatal(err)
		}
		from := time.Duration(rapid.Int64Range(0, int64(at)).Draw(t, "from"))
		e, ok := m.Window(Window{from, from + time.Duration(rapid.Int64Range(1, int64(at)+1).Draw(t, "length"))})
		if ok != (e.Unknown == "") {
			t.Fatalf("known %t, but %q", ok, e.Unknown)
		}
		bad := func(x Millijoules) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) || x < 0 }
		if ok && (bad(e.Gross) || bad(e.Uncertainty) || e.Ticks < 0 || e.Method == "") {
			t.Fatalf("%+v", e)
		}
	})
}

func TestNetIsGrossLessTheIdleBaseline(t *testing.T) {
	for _, c := range []struct {
		name string
		b    bench
	}{
		{"counter", typical(func(*bench) {})},
		{"power", typical(never)},
		// A counter that shows half is netted with half the idle power, not with the sensor's.
		{"counter that shows half", typical(func(b *bench) { b.scale = .5 })},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, trials, l := c.b.meter(t, 3)
			idle, err := m.Idle(Window{time.Second, 12 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			scale := 1.
			if c.b.scale > 0 {
				scale = c.b.scale
			}
			if c.name == "power" {
				if idle.Counter != nil {
					t.Errorf("a counter that is always 0 has an idle level of %v", *idle.Counter)
				}
			} else if got := float64(idle.Counter.Median) / scale; math.Abs(got-60_000) > 600 {
				t.Errorf("idle by counter %.0f mW", got)
			}
			if got := float64(idle.Power.Median); math.Abs(got-60_000) > 1 {
				t.Errorf("idle by power %.0f mW", got)
			}
			b, ok := m.Block(trials)
			if !ok {
				t.Fatal(b.Unknown)
			}
			var truth float64 // net of the trials; between them nothing is above idle
			var gross float64
			for _, w := range trials {
				gross += float64(l.over(w))
				truth += float64(l.over(w)) - 60_000*w.Length().Seconds()
			}
			e := b.Energy.WithIdle(idle)
			if got := float64(*e.Net) / scale / truth; math.Abs(got-1) > .01 {
				t.Errorf("net of the block is %.4f of the truth", got)
			}
			if *e.NetUncertainty < e.Uncertainty {
				t.Errorf("net %v is surer than gross %v", *e.NetUncertainty, e.Uncertainty)
			}
			if busy, ok := b.BusyGross(idle); !ok || math.Abs(float64(busy)/scale/gross-1) > .01 {
				t.Errorf("busy gross is %.4f of the truth", float64(busy)/scale/gross)
			}
			if b.Net != nil {
				t.Error("WithIdle changed its receiver")
			}
			if _, ok := b.BusyGross(Baseline{}); ok {
				t.Error("busy gross without a baseline")
			}
		})
	}
}

func TestIdleNeedsTenSeconds(t *testing.T) {
	m, _, _ := typical(func(*bench) {}).meter(t, 1)
	if _, err := m.Idle(Window{time.Second, 10 * time.Second}); err == nil || !strings.Contains(err.Error(), "10 s or more") {
		t.Errorf("nine seconds: %v", err)
	}
	if _, err := m.Idle(Window{time.Hour, 2 * time.Hour}); err == nil || !strings.Contains(err.Error(), "power was read from") {
		t.Errorf("outside the readings: %v", err)
	}
	none, err := NewMeter(Readings{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Idle(Window{0, time.Minute}); err == nil || !strings.Contains(err.Error(), "no power readings") {
		t.Errorf("no readings: %v", err)
	}
}

func TestUnknownEnergySaysWhy(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name  string
		b     bench
		w     Window
		want  []string
		flags []EnergyFlag
	}{
		{"empty window", typical(func(*bench) {}), Window{5 * s, 5 * s}, []string{"is empty"}, nil},
		{"before the readings", typical(func(*bench) {}), Window{-s, 5 * s}, []string{"the counter ticked from", "power was read from"}, nil},
		{"after the readings", typical(func(b *bench) { b.noPower = true }), Window{5 * s, time.Hour}, []string{"the counter ticked from", "no power readings"}, []EnergyFlag{FlagUnchecked}},
		{"zero counter, no power", typical(func(b *bench) { never(b); b.noPower = true }), Window{5 * s, 9 * s}, []string{"always 0", "no power readings"}, []EnergyFlag{flagZero}},
		{"reset, no power", typical(func(b *bench) { b.resetAt = 7 * s; b.noPower = true }), Window{5 * s, 9 * s}, []string{"lost its count", "(reset)"}, []EnergyFlag{flagReset, FlagUnchecked}},
		{"stuck, no power", typical(func(b *bench) { b.stuck = Window{6 * s, 8 * s}; b.noPower = true }), Window{5 * s, 9 * s}, []string{"lost its count", "(stuck)"}, []EnergyFlag{FlagStuck, FlagUnchecked}},
		{"ends while stuck, no power", typical(func(b *bench) { b.stuck = Window{6 * s, 8 * s}; b.noPower = true }), Window{5 * s, 7 * s}, []string{"where the window begins or ends"}, []EnergyFlag{FlagStuck, FlagUnchecked}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _, _ := c.b.meter(t, 2)
			e, ok := m.Window(c.w)
			if ok {
				t.Fatalf("known: %+v", e)
			}
			for _, w := range c.want {
				if !strings.Contains(e.Unknown, w) {
					t.Errorf("%q does not say %q", e.Unknown, w)
				}
			}
			if !slices.Equal(e.Flags, c.flags) {
				t.Errorf("flags %v, want %v", e.Flags, c.flags)
			}
			if f := e.WithIdle(Baseline{Counter: &Level{}, Power: &Level{}}); f.Net != nil {
				t.Error("an unknown energy has a net")
			}
		})
	}
	m, _, _ := typical(func(*bench) {}).meter(t, 2)
	if b, ok := m.Block(nil); ok || b.Unknown == "" {
		t.Errorf("a block without trials: %+v", b)
	}
}

// TestOnlyWindowsThatMeetTheFaultCarryItsFlag keeps one bad second from marking a whole run.
func TestOnlyWindowsThatMeetTheFaultCarryItsFlag(t *testing.T) {
	for name, b := range map[EnergyFlag]bench{
		flagReset: typical(func(b *bench) { b.resetAt = 20 * time.Second }),
		FlagStuck: typical(func(b *bench) { b.stuck = Window{20 * time.Second, 22 * time.Second} }),
		FlagGap:   typical(func(b *bench) { b.missing = Window{20 * time.Second, 22 * time.Second} }),
	} {
		m, _, _ := b.meter(t, 5)
		for _, w := range []Window{{15 * time.Second, 19 * time.Second}, {23 * time.Second, 27 * time.Second}} {
			if e, ok := m.Window(w); !ok || len(e.Flags) != 0 || e.Method != ByCounter {
				t.Errorf("%s: window %v carries %v (%s, %s)", name, w, e.Flags, e.Method, e.Unknown)
			}
		}
		if e, ok := m.Window(Window{19 * time.Second, 23 * time.Second}); !ok || !slices.Equal(e.Flags, []EnergyFlag{name}) {
			t.Errorf("%s: the window around it carries %v (%s)", name, e.Flags, e.Unknown)
		}
	}
}

func TestAJumpIsNoEnergy(t *testing.T) {
	r, trials, l := typical(func(*bench) {}).run(1)
	for i := range r.Counter[300:] {
		r.Counter[300+i].Microjoules += 1e12 // a megajoule within one reading
	}
	m, err := NewMeter(r)
	if err != nil {
		t.Fatal(err)
	}
	b, ok := m.Block(trials)
	if !ok || !slices.Equal(b.Flags, []EnergyFlag{flagReset}) || math.Abs(float64(b.Gross/l.over(b.Window)-1)) > .01 {
		t.Errorf("%v J for %v J, %v, %s", b.Gross/1000, l.over(b.Window)/1000, b.Flags, b.Unknown)
	}
}

func TestACounterBeyondItsSupposedEndDoesNotWrapThere(t *testing.T) {
	r, trials, l := typical(func(*bench) {}).run(1)
	r.WrapsAt = r.Counter[10].Microjoules
	m, err := NewMeter(r)
	if err != nil {
		t.Fatal(err)
	}
	if b, ok := m.Block(trials); !ok || len(b.Flags) != 0 || math.Abs(float64(b.Gross/l.over(b.Window)-1)) > .01 {
		t.Errorf("%v J for %v J, %v", b.Gross/1000, l.over(b.Window)/1000, b.Flags)
	}
}

func TestReadingsOutOfOrderAreRefused(t *testing.T) {
	for name, r := range map[string]Readings{
		"counter": {Counter: []CounterReading{{At: 2}, {At: 2}}},
		"power":   {Power: []PowerReading{{At: 2}, {At: 1}}},
		"mW":      {Power: []PowerReading{{Power: -1}}},
		"NaN":     {Power: []PowerReading{{Power: Milliwatts(math.NaN())}}},
	} {
		if _, err := NewMeter(r); err == nil || !strings.Contains(err.Error(), name) && name != "NaN" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAdd(t *testing.T) {
	m, trials, l := typical(func(*bench) {}).meter(t, 8)
	idle, err := m.Idle(Window{time.Second, 12 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var es []Energy
	var truth, u Millijoules
	for _, w := range trials[:20] {
		e, _ := m.Window(w)
		es = append(es, e.WithIdle(idle))
		truth += l.over(w)
		u += e.Uncertainty
	}
	sum, ok := Add(es)
	if !ok || sum.Uncertainty != u || math.Abs(float64(sum.Gross-truth)) > float64(u) || sum.From != trials[0].From || sum.To != trials[19].To || sum.Net == nil || sum.Method != ByCounter {
		t.Errorf("%+v, truth %v", sum, truth)
	}
	es[3].Net, es[4].Method, es[5].Flags = nil, ByPower, []EnergyFlag{FlagGap}
	if sum, ok = Add(es); !ok || sum.Net != nil || sum.NetUncertainty != nil || sum.Method != ByBoth || !slices.Equal(sum.Flags, []EnergyFlag{FlagGap}) {
		t.Errorf("one without net: %+v", sum)
	}
	es[6].Unknown = "lost"
	if sum, ok = Add(es); ok || sum.Unknown != "lost" || sum.Gross != 0 {
		t.Errorf("one unknown: %+v", sum)
	}
	if sum, ok = Add(nil); ok || sum.Unknown == "" {
		t.Errorf("none: %+v", sum)
	}
}

func TestEnergyInJSON(t *testing.T) {
	net, ratio := Millijoules(2), 1.5
	b, err := json.Marshal(Energy{Window: Window{1, 2}, Gross: 3, Net: &net, Method: ByCounter, Ticks: 4, Tick: 5, Flags: []EnergyFlag{FlagGap}, Ratio: &ratio})
	want := `{"from_ns":1,"to_ns":2,"gross_mj":3,"uncertainty_mj":0,"net_mj":2,"method":"counter","ticks":4,"tick_ns":5,"low_confidence":false,"flags":["gap"],"ratio":1.5}`
	if err != nil || string(b) != want {
		t.Errorf("%s\n%s (%v)", b, want, err)
	}
}

// sumOf is the energy found of all trials whose energy is known, its truth, and
// the number of those left out; the ratio of none is 1.
func sumOf(m *Meter, trials []Window, l *load) (found, truth float64, unknown int) {
	for _, w := range trials {
		if e, ok := m.Window(w); ok {
			found, truth = found+float64(e.Gross), truth+float64(l.over(w))
		} else {
			unknown++
		}
	}
	if truth == 0 {
		return 1, 1, unknown
	}
	return found, truth, unknown
}

// BenchmarkEnergyReplay prints, for each replayed trace, the worst error of a
// block's energy and of the sum of its trials, how many of these are unknown, and
// the median error of trials of ten ticks or more.
func BenchmarkEnergyReplay(b *testing.B) {
	for _, r := range replays {
		b.Run(strings.ReplaceAll(r.name, ",", ""), func(b *testing.B) {
			var worst, sums float64
			var errs, parts []float64
			unknown := 0
			for b.Loop() {
				worst, sums, unknown, errs, parts = 0, 0, 0, nil, nil
				for seed := range uint64(10) {
					m, trials, l := r.b.meter(b, seed)
					block, ok := m.Block(trials)
					if !ok {
						b.Fatal(block.Unknown)
					}
					worst = max(worst, math.Abs(float64(block.Gross/l.over(block.Window)-1)))
					found, truth, n := sumOf(m, trials, l)
					sums, unknown = max(sums, math.Abs(found/truth-1)), unknown+n
					for _, w := range trials {
						if e, ok := m.Window(w); ok && !e.LowConfidence {
							errs = append(errs, math.Abs(float64(e.Gross/l.over(w)-1)))
							parts = append(parts, float64(e.Uncertainty/e.Gross))
						}
					}
				}
			}
			b.ReportMetric(100*worst, "block-err-%")
			if unknown < 10*r.b.trials {
				b.ReportMetric(100*sums, "trials-sum-err-%")
			}
			b.ReportMetric(float64(unknown), "unknown")
			if len(errs) > 0 {
				sort.Float64s(errs)
				sort.Float64s(parts)
				b.ReportMetric(100*quantile(errs, .5), "trial-err-%")
				b.ReportMetric(100*quantile(parts, .5), "trial-±-%")
			}
			if len(r.flags) > 0 {
				b.Logf("flagged %v", r.flags)
			}
		})
	}
}

// TestBusyTimeCountsEachMomentOnce has trials beside, behind and inside each other.
func TestBusyTimeCountsEachMomentOnce(t *testing.T) {
	m, _, _ := typical(func(*bench) {}).meter(t, 1)
	const s = time.Second
	for _, c := range []struct {
		name string
		ws   []Window
		want time.Duration
	}{
		{"apart", []Window{{12 * s, 14 * s}, {16 * s, 17 * s}}, 3 * s},
		{"touching", []Window{{14 * s, 15 * s}, {12 * s, 14 * s}}, 3 * s},
		{"overlapping", []Window{{12 * s, 16 * s}, {14 * s, 18 * s}}, 6 * s},
		{"the same", []Window{{12 * s, 16 * s}, {12 * s, 16 * s}}, 4 * s},
		{"inside, and one after", []Window{{12 * s, 20 * s}, {13 * s, 14 * s}, {15 * s, 16 * s}, {19 * s, 21 * s}}, 9 * s},
	} {
		b, ok := m.Block(c.ws)
		if !ok || b.Busy != c.want || b.Trials != len(c.ws) {
			t.Errorf("%s: busy for %v of %v, want %v: %s", c.name, b.Busy, b.Length(), c.want, b.Unknown)
		}
	}
}
