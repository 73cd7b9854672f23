package timing_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"assay/timing"
	"assay/timing/timingtest"
)

// replayed is a window of a recording as the meter sees it, beside the truth.
type replayed struct {
	window                     timing.Window
	truth, gross, within, full float64 // J
	unknown                    string
}

func (r replayed) off() float64 { return r.gross/r.truth - 1 }

// cards are those of the recordings, with the gain and offset that sensors.csv has of them.
var cards = map[string]struct {
	timing.Card
	gpu string
}{
	"rtx3090": {timing.Card{Name: "NVIDIA GeForce RTX 3090", Major: 8, Minor: 6, Driver: "535.54.03"}, "NVIDIA_GeForce_RTX_3090"},
	"a100":    {timing.Card{Name: "NVIDIA A100-PCIE-40GB", Major: 8, Driver: "535.54.03"}, "NVIDIA_A100-PCIE-40GB"},
	"k40m":    {timing.Card{Name: "Tesla K40m", Major: 3, Minor: 5, Driver: "535.54.03"}, "Tesla_K40m"},
}

// sensorOf is a recording's sensor. calibrated: its gain and offset are known.
func sensorOf(t testing.TB, tr timingtest.Trace, field string, calibrated bool) timing.Sensor {
	t.Helper()
	card := cards[tr.Card]
	s := card.Sensor(timing.Field(field))
	if !calibrated {
		return s
	}
	all, err := timingtest.Sensors()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range all {
		if row.GPU == card.gpu && row.Driver == card.Driver && (row.Field == field || tr.Card == "k40m") {
			s.Gain, s.Offset = row.Gain, timing.Milliwatts(1000*row.Offset)
			return s
		}
	}
	t.Fatalf("sensors.csv has nothing of %s %s", card.gpu, field)
	return s
}

// lengths of windows; 0 is the whole load.
var lengths = []time.Duration{0, 2 * time.Second, time.Second, 500 * time.Millisecond}

// tiles are the windows of a length, one behind the other from the load's begin.
func tiles(load timing.Window, length time.Duration) (out []timing.Window) {
	if length == 0 {
		return []timing.Window{load}
	}
	for at := load.From; at+length <= load.To; at += length {
		out = append(out, timing.Window{From: at, To: at + length})
	}
	return out
}

// anywhere are windows of a length all over the recording, at rest and across steps.
func anywhere(tr timingtest.Trace, length time.Duration) (out []timing.Window) {
	for at := 50 * time.Millisecond; at+length <= tr.Length()-50*time.Millisecond && length > 0; at += 37 * time.Millisecond {
		out = append(out, timing.Window{From: at, To: at + length})
	}
	return out
}

func replay(t testing.TB, r timing.Readings, tr timingtest.Trace, windows []timing.Window) (out []replayed) {
	t.Helper()
	m, err := timing.NewMeter(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range windows {
		one := replayed{window: w, truth: float64(tr.Energy(w)) / 1000}
		if e, ok := m.Window(w); ok {
			one.gross, one.within, one.full = float64(e.Gross)/1000, float64(e.Uncertainty)/1000, float64(*e.Absolute)/1000
		} else {
			one.unknown = e.Unknown
		}
		out = append(out, one)
	}
	return out
}

func traces(t testing.TB) []timingtest.Trace {
	t.Helper()
	all, err := timingtest.Traces()
	if err != nil || len(all) != 5 {
		t.Fatal(len(all), err)
	}
	return all
}

// tally is how often an uncertainty holds, and how much of it was needed.
type tally struct {
	all, inside, unknown int
	worst                float64   // of gross, relative
	need                 []float64 // error / uncertainty
	wide                 []float64 // uncertainty / gross
}

func (c *tally) add(r replayed, u float64) (missed bool) {
	c.all++
	if r.unknown != "" {
		c.unknown++
		return false
	}
	if math.Abs(r.off()) > math.Abs(c.worst) {
		c.worst = r.off()
	}
	need := math.Abs(r.gross-r.truth) / u
	c.need, c.wide = append(c.need, need), append(c.wide, u/r.gross)
	if need <= 1 {
		c.inside++
	}
	return need > 1
}

// held is the share of windows that an uncertainty holds, of those that count.
func (c *tally) held(all int) float64 { return float64(c.inside) / float64(all) }

// ratio is how many times as wide as needed to hold 95 % of the windows it is.
func (c *tally) ratio() float64 { return 1 / at(c.need, .95) }

func at(v []float64, q float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if len(v) == 0 {
		return math.NaN()
	}
	return v[min(len(v)-1, int(math.Ceil(q*float64(len(v))))-1)]
}

func (c *tally) String() string {
	return fmt.Sprintf("%4d of %4d inside, worst %+6.1f %%, ± %4.1f %%, needed x %.1f, no figure %d", c.inside, c.all, 100*c.worst, 100*at(c.wide, .5), c.ratio(), c.unknown)
}

// TestReplay feeds the meter real GPUs that were recorded beside a power meter: the absolute
// uncertainty holds the meter, the one within the card holds it once the card's gain and offset
// are known, and neither is wider than twice what that takes on the RTX 3090. -v shows all.
func TestReplay(t *testing.T) {
	kinds := []string{"absolute", "within"}
	bars := map[string]*tally{} // all windows of a kind, of a place
	narrow := map[string]*tally{}
	get := func(m map[string]*tally, name string) *tally {
		if m[name] == nil {
			m[name] = new(tally)
		}
		return m[name]
	}
	count := map[string]int{} // windows that have to have a figure
	for _, tr := range traces(t) {
		for _, field := range []string{timingtest.Draw, timingtest.Instant} {
			for _, hz := range []int{20, 10} {
				for _, length := range lengths {
					for _, kind := range kinds {
						for _, place := range []string{"load", "anywhere"} {
							windows := tiles(tr.Load, length)
							laters := []time.Duration{0}
							if place == "anywhere" {
								windows, laters = anywhere(tr, length), []time.Duration{0, 13 * time.Millisecond, 41 * time.Millisecond}
							}
							var one tally
							for _, later := range laters {
								r := timing.Readings{Power: tr.Read(field, hz, later), Sensor: sensorOf(t, tr, field, kind == "within")}
								for _, w := range replay(t, r, tr, windows) {
									u := w.full
									if kind == "within" {
										u = w.within
									}
									if (one.add(w, u) || w.unknown != "") && place == "load" {
										t.Logf("missed: %s %s %d Hz %v of %v, %s: %.1f J for %.1f J, ± %.1f J %s", tr.Name, field, hz, w.window.From, w.window.Length(), kind, w.gross, w.truth, u, w.unknown)
									}
									get(bars, kind+" "+place).add(w, u)
									if tr.Card == "rtx3090" {
										get(narrow, kind+" "+place).add(w, u)
									}
									// Where a figure is not asked for, there is none to hold.
									if w.unknown == "" || tr.Card == "rtx3090" || w.window.Length() >= 2*time.Second {
										count[kind+" "+place]++
									}
								}
							}
							if one.all == 0 {
								continue
							}
							name := "whole"
							if length > 0 {
								name = length.String()
							}
							t.Logf("%-14s %-7s %2d Hz %6s %-8s %-8s %s", tr.Name, field, hz, name, place, kind, &one)
						}
					}
				}
			}
		}
	}
	for name, c := range bars {
		t.Logf("%-17s all: %s; RTX 3090: %s", name, c, narrow[name])
		if c.held(count[name]) < .95 {
			t.Errorf("%s: %.1f %% of %d windows hold the meter, want 95", name, 100*c.held(count[name]), count[name])
		}
		if n := narrow[name].ratio(); n > 2 {
			t.Errorf("%s: the uncertainty on the RTX 3090 is %.1f times as wide as needed", name, n)
		}
	}
}

// BenchmarkReplay is a meter of 16 s at 20 Hz and all windows of its load.
func BenchmarkReplay(b *testing.B) {
	tr := traces(b)[0]
	r := timing.Readings{Power: tr.Read(timingtest.Instant, 20, 0), Sensor: sensorOf(b, tr, timingtest.Instant, false)}
	for b.Loop() {
		for _, length := range lengths {
			replay(b, r, tr, tiles(tr.Load, length))
		}
	}
}
