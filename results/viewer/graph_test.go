package viewer

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"assay/backends"
	"assay/results"
	"assay/results/store"
	"assay/timing"
	"assay/timing/telemetry"
)

// TestARequestByHand: sent after 0.1 s, first words after 1 s, the answer itself after 2 s, its end
// after 3.5 s and the stream's after 4 s. A GPU draws 100 W, from the middle on 250 W.
func TestARequestByHand(t *testing.T) {
	ctx := t.Context()
	st, err := store.Open(ctx, filepath.Join(t.TempDir(), "s.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ses := results.Session{Origin: time.Unix(1, 0), Devices: []results.Watched{{Source: "rapl", Name: "cpu", Kind: "cpu"}, {Source: "nvml", ID: "A", Name: "H100", Kind: "gpu", Synthetic: true}}}
	var samples []telemetry.Sample
	for i := range 41 {
		x := telemetry.Sample{At: 10*time.Second + time.Duration(i)*100*time.Millisecond}
		if x.Set(telemetry.PowerInstant, 100_000); i > 20 {
			x.Set(telemetry.PowerInstant, 250_000)
		}
		samples = append(samples, x)
	}
	packed := telemetry.Pack(samples)
	if err := errors.Join(st.PutManifest(ctx, results.Manifest{Name: "x"}), st.PutSession(ctx, &ses),
		st.PutSampleBundles(ctx, ses.ID, 1, []results.SampleBundle{{From: packed.From, To: packed.To, N: packed.N, Bytes: packed.Bytes}})); err != nil {
		t.Fatal(err)
	}
	if err := st.PutSampleBundles(ctx, ses.ID, 0, []results.SampleBundle{{From: packed.From, To: packed.To, N: packed.N, Bytes: packed.Bytes}}); err != nil { // of the processor
		t.Fatal(err)
	}
	at := func(seconds float64) time.Duration { return 10*time.Second + time.Duration(seconds*1e9) }
	rec := timing.NewRecorder(timing.NewClock())
	rec.MarkAt(timing.Start, at(0))
	rec.MarkAt(timing.Sent, at(.1))
	rec.Chunks([]timing.Chunk{{At: at(1), Runes: 4}, {At: at(2), Runes: 4, Answer: true}, {At: at(3.5), Runes: 4, Answer: true}}, timing.StampsKernel)
	rec.MarkAt(timing.End, at(4))
	total, read := 3900*time.Millisecond, 12*time.Second
	lines, err := timelines(ctx, st, results.Attempt{Session: ses.ID, Turns: []results.Turn{{Trace: rec.Trace(), Server: backends.Timings{Total: &total, Prompt: &read}}}})
	if err != nil || len(lines) != 1 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	l := lines[0]
	for i, want := range []phase{{Name: "upload", X: 0, Width: 25, Took: "100.0 ms"}, {Name: "queue and prefill", X: 25, Width: 225, Took: "900.0 ms"}, {Name: "reasoning", X: 250, Width: 250, Took: "1.00 s"},
		{Name: "answer", X: 500, Width: 375, Took: "1.50 s"}, {Name: "end", X: 875, Width: 125, Took: "500.0 ms"}} {
		if got := l.Phases[i]; got.Name != want.Name || math.Abs(got.X-want.X) > 1e-6 || math.Abs(got.Width-want.Width) > 1e-6 || got.Took != want.Took {
			t.Errorf("phase %d is %+v, want %+v", i, got, want)
		}
	}
	if l.Turn != 1 || l.Chunks != 3 || l.Total != "4.00 s" || l.Alt != "Request of 4.00 s: upload 100.0 ms, queue and prefill 900.0 ms, reasoning 1.00 s, answer 1.50 s, end 500.0 ms" ||
		!slices.Equal(l.Server, []serverTime{{Name: "in all", Took: "3.90 s"}, {Name: "reading the prompt", Took: "12.0 s"}}) {
		t.Errorf("%+v", l)
	}
	if len(l.Power) != 1 || l.Power[0].High != "250" || l.Power[0].Alt != "Power of H100 (synthetic) during the request, from 0 to 250 W" {
		t.Fatalf("power: %+v", l.Power)
	}
	var x, y float64
	if _, err := fmt.Sscanf(l.Power[0].Points, "%f,%f", &x, &y); err != nil || x != 0 || math.Abs(y-(198-196*100/250.)) > .06 {
		t.Errorf("power begins at %v, %v: %v", x, y, err)
	}
}

// TestReadings: in the units that people use.
func TestReadings(t *testing.T) {
	var s telemetry.Sample
	for m, v := range map[telemetry.Measure]int64{telemetry.PowerAverage: 51_499, telemetry.CoreBusy: 97, telemetry.MemoryUsed: 3 << 29, telemetry.TempCore: 64_400, telemetry.ClockCore: 1410, telemetry.DiskFree: 7 << 30, telemetry.Throttle: 1} {
		s.Set(m, v)
	}
	if got, want := readings(s), []string{"51 W", "97 % busy", "1.5 GiB in use", "64 °C", "1410 MHz", "7 GiB of disk free", "throttled"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if s.Set(telemetry.PowerInstant, 60_000); readings(s)[0] != "60 W" {
		t.Errorf("what a device draws now comes before its mean: %q", readings(s))
	}
	if got := meanOver(2, 3); got != "0.6667" {
		t.Errorf("a mean of 2/3 is %s", got)
	}
}
