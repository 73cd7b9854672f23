package machine

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/timing"
	"assay/timing/telemetry"
	"assay/timing/telemetry/plug"
	"assay/timing/timingtest"
)

// slowed is how many times as long as recorded a load lasts: a plug says a figure a second.
const slowed = 4

// watched plays recordings one after the other: what the driver said 20 times a second, and
// what a plug of the meter, asked over HTTP, said once a second.
func watched(t *testing.T, names ...string) (samples []telemetry.Sample, meter []timing.PowerReading, truth func(timing.Window) timing.Millijoules) {
	t.Helper()
	all, err := timingtest.Traces()
	if err != nil {
		t.Fatal(err)
	}
	var now time.Duration // of the recording that is played
	var playing timingtest.Trace
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := max(0, now-time.Second/slowed)
		mw := float64(playing.Energy(timing.Window{From: from, To: now})) / (now - from).Seconds()
		fmt.Fprintf(w, `{"id":0,"apower":%.1f}`, mw/1000)
	}))
	t.Cleanup(s.Close)
	var mj, shown float64 // of the counter, which has ticks of 100 ms
	begin := time.Duration(0)
	type part struct {
		begin, end time.Duration
		tr         timingtest.Trace
	}
	var parts []part
	for _, name := range names {
		playing = all[slices.IndexFunc(all, func(tr timingtest.Trace) bool { return tr.Name == name })]
		long := (playing.Length() - 100*time.Millisecond).Truncate(time.Second/slowed) * slowed
		for at := time.Second; at < long; at += 50 * time.Millisecond {
			var one telemetry.Sample
			one.At = begin + at
			now = at / slowed
			one.Set(telemetry.PowerInstant, int64(playing.Says(timingtest.Instant, now)))
			one.Set(telemetry.PowerAverage, int64(playing.Says(timingtest.Draw, now)))
			mj += float64(playing.Says(timingtest.Instant, now)) * .05
			if at%(100*time.Millisecond) == 0 {
				shown = mj
			}
			one.Set(telemetry.Energy, int64(1000*shown))
			samples = append(samples, one)
			if at%time.Second == 0 {
				probes, bad := plug.Find([]telemetry.Plug{{URL: s.URL}})
				var m telemetry.Sample
				if len(bad) > 0 || probes[0].Read(&m) != nil {
					t.Fatal(bad)
				}
				v, _ := m.Get(telemetry.PowerInstant)
				meter = append(meter, timing.PowerReading{At: one.At, Power: timing.Milliwatts(v)})
			}
		}
		parts = append(parts, part{begin, begin + long, playing})
		begin += long
	}
	return samples, meter, func(w timing.Window) timing.Millijoules {
		for _, p := range parts {
			if w.From >= p.begin && w.To <= p.end {
				return slowed * p.tr.Energy(timing.Window{From: (w.From - p.begin) / slowed, To: (w.To - p.begin) / slowed})
			}
		}
		t.Fatal(w)
		return 0
	}
}

var rtx3090 = telemetry.Device{Source: "nvml", ID: "GPU-1", Name: "NVIDIA GeForce RTX 3090", Kind: telemetry.GPU,
	Facts: []telemetry.Fact{{Name: "compute_capability", Value: "8.6"}, {Name: "driver", Value: "535.54.03"}}}

// TestAnRTX3090IsCalibrated by a plug that shows what the meter of its recordings did: the gain is
// that of the recordings' authors, and energies come out nearer and with less doubt.
func TestAnRTX3090IsCalibrated(t *testing.T) {
	samples, meter, truth := watched(t, "step-rtx3090", "pulses-rtx3090")
	c, err := Calibrate(rtx3090, slices.Values(samples), meter)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]timingtest.Sensor{telemetry.Instant: {Gain: .948, Offset: 1.4}, telemetry.Counter: {Gain: .948, Offset: 1.4}, telemetry.Average: {Gain: .944, Offset: 4.6}} {
		f := c.Fits[name]
		t.Logf("%s: gain %.4f ± %.4f, offset %.1f ± %.1f W, %d levels of %.0f to %.0f W, residual %.1f W, spread %.1f W", name, f.Gain, f.GainError, f.Offset/1000, f.OffsetError/1000, f.Levels, f.Low/1000, f.High/1000, f.Residual/1000, f.Spread.Rest/1000)
		if math.Abs(f.Gain-want.Gain) > f.GainError || math.Abs(float64(f.Offset)/1000-want.Offset) > float64(f.OffsetError)/1000 || f.GainError > .07 {
			t.Errorf("%s: gain %.3f ± %.3f, offset %.1f ± %.1f W; the authors have %.3f and %.1f W", name, f.Gain, f.GainError, f.Offset/1000, f.OffsetError/1000, want.Gain, want.Offset)
		}
	}
	// Through the file, as a run reads it.
	path := filepath.Join(t.TempDir(), "calibration.json")
	b, _ := json.Marshal(Calibration{Meter: "plug", Efficiency: 1, Cards: []CalibratedGPU{c}})
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	file, err := ReadCalibration(path)
	if err != nil {
		t.Fatal(err)
	}
	if file.Scales("GPU-2") != nil {
		t.Error("another rtx3090 has its scales")
	}
	as := rtx3090
	as.Scales = file.Scales(as.ID)
	w := timing.Window{From: 10 * time.Second, To: 20 * time.Second}
	energy := func(d telemetry.Device) timing.Energy {
		m, err := timing.NewMeter(telemetry.Readings(d, slices.Values(samples)))
		if err != nil {
			t.Fatal(err)
		}
		e, ok := m.Window(w)
		if !ok {
			t.Fatal(e.Unknown)
		}
		return e
	}
	before, after, want := energy(rtx3090), energy(as), truth(w)
	t.Logf("10 s: %.0f J by the meter; before %.0f ± %.0f, calibrated %.0f ± %.0f", want/1000, before.Gross/1000, *before.Absolute/1000, after.Gross/1000, *after.Absolute/1000)
	if math.Abs(float64(after.Gross-want)) > float64(*after.Absolute) || *after.Absolute > *before.Absolute/2 || math.Abs(float64(before.Gross/want)-1) < .04 {
		t.Errorf("%.0f J: before %.0f ± %.0f, calibrated %.0f ± %.0f", want, before.Gross, *before.Absolute, after.Gross, *after.Absolute)
	}
}

// TestAFitThatDoesNotDeserveIt is refused, and the error says what to do.
func TestAFitThatDoesNotDeserveIt(t *testing.T) {
	two, twoMeter, _ := watched(t, "step-a100")
	twice, twiceMeter, _ := watched(t, "step-a100", "step-a100")
	three, threeMeter, _ := watched(t, "step-rtx3090", "pulses-rtx3090")
	change := func(in []timing.PowerReading, by func(i int, r timing.PowerReading) timing.Milliwatts) []timing.PowerReading {
		out := slices.Clone(in)
		for i := range out {
			out[i].Power = by(i, out[i])
		}
		return out
	}
	for _, c := range []struct {
		name    string
		samples []telemetry.Sample
		meter   []timing.PowerReading
		want    string
	}{
		{"two levels", two, twoMeter, "stretches of even power"},
		{"two heights, several times", twice, twiceMeter, "2 heights of power, it takes 3"},
		{"no meter", three, nil, "stretches of even power"},
		{"the meter stands still", three, change(threeMeter, func(int, timing.PowerReading) timing.Milliwatts { return 300_000 }), "it takes loads that differ"},
		{"a neighbour that works now and then", three, change(threeMeter, func(i int, r timing.PowerReading) timing.Milliwatts {
			if i/10%2 == 0 {
				return r.Power + 90_000
			}
			return r.Power
		}), "something else draws"},
		{"another meter's watts", three, change(threeMeter, func(_ int, r timing.PowerReading) timing.Milliwatts { return 10 * r.Power }), "not of the same power"},
	} {
		if rtx3090, err := Calibrate(rtx3090, slices.Values(c.samples), c.meter); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q; %+v", c.name, err, c.want, rtx3090.Fits)
		}
	}
	for text, want := range map[string]string{
		`{`:  "none of assay store calibrate's files",
		`{}`: "it has no GPU",
		`{"cards":[{"id":"GPU-1","fits":{"instant":{"gain":0}}}]}`: "expected a gain of 0.5 to 2",
	} {
		if _, err := parseCalibration([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
