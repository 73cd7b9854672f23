package timing_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"assay/timing"
	"assay/timing/timingtest"
)

// recorded are the compute capability and the highest power (W) of the cards in sensors.csv.
var recorded = []struct {
	in           string
	major, minor int
	most         float64
}{
	{"RTX_3090", 8, 6, 420}, {"RTX_3070_Ti", 8, 6, 290}, {"RTX_A5000", 8, 6, 230}, {"RTX_A6000", 8, 6, 300}, {"NVIDIA_A10", 8, 6, 150},
	{"RTX_2080_Ti", 7, 5, 250}, {"RTX_2060_SUPER", 7, 5, 175}, {"GTX_1650", 7, 5, 75}, {"TITAN_RTX", 7, 5, 280}, {"Quadro_RTX", 7, 5, 260},
	{"GTX_TITAN_X", 5, 2, 250}, {"M40", 5, 2, 250}, {"K620", 5, 0, 45}, {"K40m", 3, 5, 235}, {"K80", 3, 7, 150},
	{"1080_Ti", 6, 1, 250}, {"RTX_1080", 6, 1, 180}, {"TITAN_X_Pascal", 6, 1, 250}, {"P100", 6, 0, 250}, {"V100", 7, 0, 300},
	{"A100", 8, 0, 400}, {"RTX_4090", 8, 9, 450}, {"H100", 9, 0, 350},
}

// TestSensorsAreThoseThatWereRecorded: of every card of the recordings the window is the
// recorded one or less, and gain and offset are within the spread of its kind and within the
// widest.
func TestSensorsAreThoseThatWereRecorded(t *testing.T) {
	all, err := timingtest.Sensors()
	if err != nil || len(all) != 156 {
		t.Fatal(len(all), err)
	}
	unknown := timing.Card{}.Sensor(timing.FieldInstant)
	scaled := 0
	for _, row := range all {
		card := timing.Card{Driver: row.Driver, Name: strings.ReplaceAll(row.GPU, "RTX_1080", "GeForce_GTX_1080")}
		most := 0.
		for _, r := range recorded { // the last that fits: A100 is not A10
			if strings.Contains(row.GPU, r.in) {
				card.Major, card.Minor, most = r.major, r.minor, r.most
			}
		}
		if most == 0 {
			t.Fatalf("no kind for %s", row.GPU)
		}
		s := card.Sensor(timing.Field(row.Field))
		ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
		if row.Window > 0 && s.Window > 0 && (ms(s.Window) > row.Window*1.45 || ms(s.Window) < row.Window*.6) && !strings.Contains(row.GPU, "GTX_1650") {
			t.Errorf("%s %s %s looks at %.0f ms, we say %v", row.GPU, row.Driver, row.Field, row.Window, s)
		}
		if slow := row.Rise > 800; slow != (s.Window > time.Second) && !math.IsNaN(row.Rise) {
			t.Errorf("%s %s %s rises in %.0f ms, we say %v", row.GPU, row.Driver, row.Field, row.Rise, s)
		}
		if math.IsNaN(row.Gain) {
			continue
		}
		scaled++
		for p := 15.; p <= most; p += 5 {
			off := math.Abs(p - (p-row.Offset)/row.Gain)
			for _, s := range []timing.Sensor{s, unknown} {
				if within := s.Spread.Part*p + float64(s.Spread.Rest)/1000; off > within {
					t.Fatalf("%s %s %s is off by %.1f W at %.0f W, more than the %.1f W that %s has", row.GPU, row.Driver, row.Field, off, p, within, s.Name)
				}
			}
		}
	}
	if scaled < 70 {
		t.Errorf("only %d rows have a gain", scaled)
	}
}

func meterOf(t *testing.T, r timing.Readings) *timing.Meter {
	t.Helper()
	m, err := timing.NewMeter(r)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func trace(t *testing.T, name string) timingtest.Trace {
	t.Helper()
	for _, tr := range traces(t) {
		if tr.Name == name {
			return tr
		}
	}
	t.Fatal(name)
	panic("")
}

// TestAPartialSensor: pulses on an A100, whose figures beat. Below half a beat nothing is said
// of an answer; above, the uncertainty holds the truth and says what made it; the block stands.
func TestAPartialSensor(t *testing.T) {
	tr := trace(t, "pulses-a100")
	m := meterOf(t, timing.Readings{Power: tr.Read(timingtest.Instant, 20, 0), Sensor: sensorOf(t, tr, timingtest.Instant, true)})
	for _, length := range []time.Duration{500 * time.Millisecond, time.Second, 1640 * time.Millisecond} {
		if e, ok := m.Window(timing.Window{From: tr.Load.From, To: tr.Load.From + length}); ok || !strings.Contains(e.Unknown, "sees 25ms of each 100ms") {
			t.Errorf("an answer of %v has %.0f J (%s)", length, e.Gross/1000, e.Unknown)
		}
	}
	e, ok := m.Window(timing.Window{From: tr.Load.From, To: tr.Load.From + 2*time.Second})
	if truth := tr.Energy(e.Window); !ok || len(e.Flags) != 1 || e.Flags[0] != timing.FlagPartial || math.Abs(float64(e.Gross-truth)) > float64(e.Uncertainty) {
		t.Errorf("2 s: %.0f J ± %.0f for %.0f, %v %s", e.Gross/1000, e.Uncertainty/1000, truth/1000, e.Flags, e.Unknown)
	}
	var answers []timing.Window // as short as none alone has an energy
	for at := tr.Load.From; at+time.Second < tr.Load.To; at += time.Second {
		answers = append(answers, timing.Window{From: at, To: at + 900*time.Millisecond})
	}
	b, ok := m.Block(answers)
	if truth := tr.Energy(b.Window); !ok || math.Abs(float64(b.Gross-truth)) > float64(b.Uncertainty) || b.Uncertainty > b.Gross/4 {
		t.Errorf("block: %.0f J ± %.0f for %.0f, %s", b.Gross/1000, b.Uncertainty/1000, truth/1000, b.Unknown)
	}
	if b, ok := m.Block(answers[:1]); !ok {
		t.Errorf("the block of one short answer: %s", b.Unknown)
	}
	for _, length := range []time.Duration{1700, 2000, 2500, 4000, 5000, 7000} {
		length *= time.Millisecond
		inside, all := 0, 0
		for at := tr.Load.From; at+length < tr.Load.To; at += 37 * time.Millisecond {
			e, _ := m.Window(timing.Window{From: at, To: at + length})
			all++
			if math.Abs(float64(e.Gross-tr.Energy(e.Window))) <= float64(e.Uncertainty) {
				inside++
			}
		}
		if inside*20 < all*19 {
			t.Errorf("%d of %d windows of %v hold the meter", inside, all, length)
		}
	}
	steady := trace(t, "step-a100")
	m = meterOf(t, timing.Readings{Power: steady.Read(timingtest.Instant, 20, 0), Sensor: sensorOf(t, steady, timingtest.Instant, true)})
	if e, ok := m.Window(steady.Load); !ok || len(e.Flags) > 0 || e.Uncertainty > e.Gross/25 {
		t.Errorf("a load that does not beat: ± %.1f %%, %v %s", 100*e.Uncertainty/e.Gross, e.Flags, e.Unknown)
	}
}

// TestTheFieldThatSeesEverything: where an A100's instant figures beat, a mean of the same power
// has the energy, as on an H100, and the energy says so. Where they do not, the quicker one has it.
func TestTheFieldThatSeesEverything(t *testing.T) {
	instant, mean := timing.Card{Major: 9}.Sensor(timing.FieldInstant), timing.Card{Major: 9}.Sensor(timing.FieldAverage)
	both := func(tr timingtest.Trace) *timing.Meter {
		var other []timing.PowerReading
		for at := mean.Window; at < tr.Length(); at += 50 * time.Millisecond {
			to := at.Truncate(mean.Period)
			w := timing.Window{From: max(0, to-mean.Window), To: to}
			other = append(other, timing.PowerReading{At: at, Power: timing.Milliwatts(float64(tr.Energy(w)) / w.Length().Seconds())})
		}
		return meterOf(t, timing.Readings{Power: tr.Read(timingtest.Instant, 20, 0), Sensor: instant, Other: other, OtherSensor: mean})
	}
	tr := trace(t, "pulses-a100")
	m := both(tr)
	inside, all := 0, 0
	for at := tr.Load.From; at+2*time.Second < tr.Load.To; at += time.Second {
		for _, length := range []time.Duration{time.Second, 2 * time.Second} {
			e, ok := m.Window(timing.Window{From: at, To: at + length})
			if !ok || e.Sensor != mean.String() {
				t.Errorf("%v: by %q %s", e.Window, e.Sensor, e.Unknown)
			}
			all++
			if math.Abs(float64(e.Gross-tr.Energy(e.Window))) <= float64(e.Uncertainty) {
				inside++
			}
		}
	}
	if inside < all-1 {
		t.Errorf("%d of %d windows hold the meter", inside, all)
	}
	tr = trace(t, "step-a100")
	if e, ok := both(tr).Window(tr.Load); !ok || e.Sensor != instant.String() {
		t.Errorf("a steady load: by %q %s", e.Sensor, e.Unknown)
	}
}

// TestAbsoluteUncertainties: gain and offset are in the absolute uncertainty alone, of idle and
// net too, and go on through everything that is made of an energy.
func TestAbsoluteUncertainties(t *testing.T) {
	tr := trace(t, "step-rtx3090")
	s := sensorOf(t, tr, timingtest.Instant, false)
	r := timing.Readings{Power: tr.Read(timingtest.Instant, 20, 0), Sensor: s}
	e, ok := meterOf(t, r).Window(tr.Load)
	if !ok {
		t.Fatal(e.Unknown)
	}
	long := tr.Load.Length()
	want := func(what string, got *timing.Millijoules, mj, within timing.Millijoules) {
		t.Helper()
		if got == nil {
			t.Errorf("%s has no absolute uncertainty", what)
			return
		}
		spread := s.Spread.Part*math.Abs(float64(mj)) + float64(s.Spread.Rest.Over(long))
		if w := math.Hypot(float64(within), spread); math.Abs(float64(*got)/w-1) > 1e-9 {
			t.Errorf("%s: ± %.1f J, want %.1f", what, *got/1000, w/1000)
		}
	}
	want("gross", e.Absolute, e.Gross, e.Uncertainty)
	rest := timing.Level{Median: 127_000, Spread: 500}
	n := e.WithIdle(timing.Baseline{Power: &rest})
	want("net", n.NetAbsolute, *n.Net, *n.NetUncertainty)
	n = n.Scaled(1.01)
	want("scaled", n.Absolute, n.Gross, n.Uncertainty)
	want("scaled net", n.NetAbsolute, *n.Net, *n.NetUncertainty)
	d := e.Doubted(5000)
	want("doubted", d.Absolute, d.Gross, e.Uncertainty+5000)
	if sum, ok := timing.Add([]timing.Energy{e, e}); !ok || math.Abs(float64(*sum.Absolute / *e.Absolute)-2) > 1e-9 || sum.NetAbsolute != nil {
		t.Errorf("a sum: %v of %v, net %v", sum.Absolute, e.Absolute, sum.NetAbsolute)
	}
	if half := e.Share(e.Gross/2, long); math.Abs(float64(half.Uncertainty/e.Uncertainty)-.5) > 1e-9 || *half.Absolute <= *e.Absolute/2 {
		t.Errorf("a share: %v", half)
	}
	// Calibrated, the same readings are nearer to the meter and less in doubt.
	r.Sensor = sensorOf(t, tr, timingtest.Instant, true)
	r.Sensor.Spread = &timing.Spread{Part: .005}
	c, ok := meterOf(t, r).Window(tr.Load)
	if truth := tr.Energy(tr.Load); !ok || math.Abs(float64(c.Gross-truth)) > float64(*c.Absolute) || *c.Absolute > *e.Absolute/2 {
		t.Errorf("calibrated: %.0f J ± %.0f for %.0f", c.Gross/1000, *c.Absolute/1000, truth/1000)
	}
	// Of a sensor that nobody recorded none is made up; of one that nobody named it is the widest.
	r.Sensor = timing.Sensor{Name: "rapl"}
	if e, ok := meterOf(t, r).Window(tr.Load); !ok || e.Absolute != nil {
		t.Errorf("an unrecorded sensor: %v %s", e.Absolute, e.Unknown)
	}
	r.Sensor = timing.Sensor{}
	if e, ok := meterOf(t, r).Window(tr.Load); !ok || e.Absolute == nil || *e.Absolute < e.Gross/20 {
		t.Errorf("a sensor that nobody named: %v %s", e.Absolute, e.Unknown)
	}
	// A counter's gain and offset may be its own.
	var counter []timing.CounterReading
	for _, p := range r.Power {
		if p.At >= 0 && p.At < tr.Length() {
			true1 := float64(tr.Energy(timing.Window{To: p.At}))
			counter = append(counter, timing.CounterReading{At: p.At, Microjoules: uint64(1000 * (.9*true1 + 5_000*p.At.Seconds()))})
		}
	}
	m := meterOf(t, timing.Readings{Counter: counter, Power: r.Power, Sensor: s, Counted: &timing.Scale{Gain: .9, Offset: 5_000, Spread: &timing.Spread{}}})
	if e, ok := m.Window(tr.Load); !ok || e.Method != timing.ByCounter || math.Abs(float64(e.Gross/tr.Energy(tr.Load)-1)) > .005 || *e.Absolute != e.Uncertainty {
		t.Errorf("a counter with a scale of its own: %.0f J ± %v for %.0f %s", e.Gross/1000, e.Absolute, tr.Energy(tr.Load)/1000, e.Unknown)
	}
}
