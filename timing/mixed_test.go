package timing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
	"time"
)

// mixture is a block that mixes answers of two lengths on a GPU of known power:
// the truth of every answer is known.
type mixture struct {
	name           string
	tick           time.Duration // of counter and sensor
	counter, power bool
	average        time.Duration // of the sensor
	gap            [2]time.Duration
	over           float64       // mW above rest between answers
	prefill        bool          // the first 15 % of an answer, 0.5 s at most, draw more
	wake           time.Duration // at most; the GPU begins this long after the request
	decay          time.Duration // time constant of an exponential way back to rest
	fresh          bool          // the sensor is of the moment, not of the last tick
	singles, ratio float64       // bars, in percent: of each length's sum, of the ratio
}

const restMW, workMW = 100_000., 300_000.

var lengths = [2]time.Duration{300 * ms, 10 * time.Second}

// run draws a block of n answers of each length and what a sampler of 20 Hz saw.
func (x mixture) run(seed uint64, n int) (Readings, []Window, *load) {
	rnd := rand.New(rand.NewPCG(seed, 77))
	between := func(lo, hi time.Duration) time.Duration { return lo + time.Duration(rnd.Int64N(int64(hi-lo+1))) }
	l := &load{}
	l.step(0, restMW)
	at := 12*time.Second + between(0, time.Second)
	var trials []Window
	order := rnd.Perm(2 * n)
	for _, k := range order {
		end := at + lengths[k%2] + between(0, 20*ms)
		trials = append(trials, Window{at, end})
		begin := at
		if x.wake > 0 {
			begin += between(0, x.wake)
		}
		if x.prefill {
			l.step(begin, workMW*1.15)
			begin += min((end-begin)*15/100, 500*ms)
		}
		l.step(begin, workMW)
		at = end + between(x.gap[0], x.gap[1])
		if x.decay > 0 {
			for t := end; t < min(at, end+6*x.decay); t += 5 * ms {
				l.step(t, restMW+(workMW-restMW)*math.Exp(-float64(t-end)/float64(x.decay)))
			}
			if end+6*x.decay < at {
				l.step(end+6*x.decay, restMW)
			}
		} else {
			l.step(end, restMW+x.over)
		}
	}
	end := at + 4*time.Second
	l.step(end, restMW)
	r := Readings{Average: x.average}
	if x.decay > 0 {
		r.Tick = x.tick // as a run measures it
	}
	base := float64(rnd.IntN(1_000_000))
	tick, shown, noisy := -between(0, x.tick), base, restMW
	for next := between(0, 50*ms); next < end; next += 50*ms + between(-ms/2, ms/2) {
		for tick+x.tick <= next {
			tick += x.tick
			t := max(tick, 0)
			shown = base + l.energy(t)
			mean := l.power(t)
			if x.average > 0 && t > 0 {
				mean = (l.energy(t) - l.energy(max(t-x.average, 0))) / min(t, x.average).Seconds()
			}
			noisy = mean * (1 + .02*(2*rnd.Float64()-1))
		}
		if x.fresh {
			noisy = l.power(next) * (1 + .02*(2*rnd.Float64()-1))
		}
		if x.counter {
			r.Counter = append(r.Counter, CounterReading{next, uint64(shown) * 1000})
		}
		if x.power {
			r.Power = append(r.Power, PowerReading{next, Milliwatts(math.Round(noisy))})
		}
	}
	return r, trials, l
}

// recovered is what was found of the answers of one length.
type recovered struct {
	found, truth float64
	n, unknown   int
	rel, parts   []float64 // |error| / uncertainty; uncertainty / energy
	why          string
}

func (r recovered) bias() float64 { return 100 * (r.found/r.truth - 1) }

func (r recovered) String() string {
	if r.n == 0 {
		return fmt.Sprintf("none of %d known", r.unknown)
	}
	return fmt.Sprintf("%+.2f %% of %d", r.bias(), r.n)
}

// measure is what the meter finds of a mixture, before and after scaling.
func (x mixture) measure(t testing.TB, seeds uint64, n int) (before, after [2]recovered, block, between, fell float64) {
	for seed := range seeds {
		r, trials, l := x.run(seed, n)
		plain, err := NewMeter(r)
		if err != nil {
			t.Fatal(err)
		}
		m := plain.Stepped(trials)
		idle, err := plain.Idle(Window{time.Second, 12 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		b, ok := m.Block(trials)
		if !ok {
			t.Fatal(b.Unknown)
		}
		block = max(block, math.Abs(float64(b.Gross/l.over(b.Window)-1)))
		var es []Energy
		for _, w := range trials {
			e, _ := m.Window(w)
			es = append(es, e)
		}
		busy, ok := b.BusyGross(idle)
		sum, known := Add(es)
		ok = ok && known
		scale := float64(busy / sum.Gross)
		if ok {
			between += float64(busy - sum.Gross)
			for i := 1; i < len(trials); i++ {
				gap := Window{trials[i-1].To, trials[i].From}
				fell += float64(l.over(gap)) - restMW*gap.Length().Seconds()
			}
		}
		for i, e := range es {
			truth := float64(l.over(trials[i]))
			k := 0
			if trials[i].Length() > time.Second {
				k = 1
			}
			note := func(r *recovered, e Energy) {
				if e.Unknown != "" {
					r.unknown++
					r.why = e.Unknown
					return
				}
				r.n++
				r.found += float64(e.Gross)
				r.truth += truth
				r.rel = append(r.rel, math.Abs(float64(e.Gross)-truth)/float64(e.Uncertainty))
				r.parts = append(r.parts, float64(e.Uncertainty/e.Gross))
			}
			note(&before[k], e)
			if ok {
				e = e.Scaled(scale)
			}
			note(&after[k], e)
		}
	}
	return before, after, block, between, fell
}

func p95(v []float64) float64 {
	sort.Float64s(v)
	return quantile(v, .95)
}

// mixtures are the scenarios that issue 9 sets bars for, and some more.
func mixtures() []mixture {
	var out []mixture
	for _, tick := range []time.Duration{20 * ms, 50 * ms, 100 * ms} {
		usual := [2]time.Duration{30 * ms, 400 * ms}
		for _, x := range []mixture{
			{name: "counter", counter: true, gap: usual},
			{name: "counter, gaps of 5 to 20 ms", counter: true, gap: [2]time.Duration{5 * ms, 20 * ms}},
			{name: "counter, gaps of 5 to 20 ms above rest", counter: true, over: 80_000, gap: [2]time.Duration{5 * ms, 20 * ms}},
			{name: "counter+power", counter: true, power: true, gap: usual},
			{name: "counter+power, gaps of 5 to 20 ms", counter: true, power: true, gap: [2]time.Duration{5 * ms, 20 * ms}},
			{name: "counter+power, prefill", counter: true, power: true, prefill: true, gap: usual},
			{name: "counter+1 s mean", counter: true, power: true, average: time.Second, gap: usual},
			{name: "instant power", power: true, gap: usual},
			{name: "instant power, fresh", power: true, fresh: true, gap: usual},
			{name: "instant power, prefill", power: true, prefill: true, gap: usual},
			{name: "1 s mean", power: true, average: time.Second, gap: usual},
			{name: "counter+power, wakes 15 ms late", counter: true, power: true, wake: 15 * ms, gap: usual},
			{name: "instant power, wakes 15 ms late", power: true, wake: 15 * ms, gap: usual},
			{name: "counter+power, falls over 30 ms", counter: true, power: true, decay: 30 * ms, gap: usual},
			{name: "instant power, falls over 30 ms", power: true, decay: 30 * ms, gap: usual},
		} {
			x.tick, x.singles = tick, .5
			if !x.counter {
				x.singles = 2
			}
			x.ratio = 1
			if x.wake > 0 || x.decay > 0 { // power does not step at the edges: the bias that is left is stated, not barred
				x.singles, x.ratio = 2.5, 2
			}
			x.name = fmt.Sprintf("%d ms, %s", tick/ms, x.name)
			out = append(out, x)
		}
	}
	return out
}

// TestMixedAnswersAreNotBent asks that a block that mixes short and long answers
// gives each length its own energy: metrics.md section 4.
func TestMixedAnswersAreNotBent(t *testing.T) {
	for _, x := range mixtures() {
		t.Run(strings.ReplaceAll(x.name, "/", " per "), func(t *testing.T) {
			before, after, block, between, fell := x.measure(t, 3, 60)
			if block > .01 {
				t.Errorf("block off by %.2f %%", 100*block)
			}
			for i, r := range [][2]recovered{before, after} {
				how := []string{"as measured", "scaled"}[i]
				short, long := r[0], r[1]
				if !x.counter && x.average > 0 {
					if short.n > 0 || !strings.Contains(short.why, "averag") {
						t.Errorf("%d answers of %v have an energy from a mean over %v: %q", short.n, lengths[0], x.average, short.why)
					}
					if math.Abs(long.bias()) > 2 || p95(long.rel) > 1 {
						t.Errorf("%s: long ones off by %+.2f %%", how, long.bias())
					}
					t.Logf("%-11s short: none (%s), long %s, ± %.1f %%, p95 of |error| / ± %.2f", how, short.why, long, 100*quantile(long.parts, .5), p95(long.rel))
					continue
				}
				if short.n == 0 || long.n == 0 {
					t.Fatalf("%s: short %d, long %d: %s %s", how, short.n, long.n, short.why, long.why)
				}
				ratio := 100 * (short.found/long.found*long.truth/short.truth - 1)
				a, b := p95(short.rel), p95(long.rel)
				t.Logf("%-11s short %s, ± %.1f %%, p95 of |error| / ± %.2f; long %s, ± %.2f %%, %.2f; ratio %+.2f %%; block %.3f %%; above rest between %.0f J of %.0f J", how,
					short, 100*quantile(short.parts, .5), a, long, 100*quantile(long.parts, .5), b, ratio, 100*block, between/1000, fell/1000)
				for _, v := range []float64{short.bias(), long.bias()} {
					if math.Abs(v) > x.singles {
						t.Errorf("%s: a length's sum is off by %+.2f %%, at most %.1f", how, v, x.singles)
					}
				}
				if math.Abs(ratio) > x.ratio {
					t.Errorf("%s: the ratio is off by %+.2f %%", how, ratio)
				}
				if a > 1 || b > 1 {
					t.Errorf("%s: p95 of single answers is %.2f and %.2f times the stated uncertainty", how, a, b)
				}
				if short.unknown*20 > short.n {
					t.Errorf("%s: %d of %d short answers unknown: %s", how, short.unknown, short.n+short.unknown, short.why)
				}
			}
		})
	}
}
