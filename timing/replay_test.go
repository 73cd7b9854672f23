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
	truth, gross, within float64 // J
	known                bool
}

func (r replayed) off() float64 { return r.gross/r.truth - 1 }

func (r replayed) holds() bool { return r.known && math.Abs(r.gross-r.truth) <= r.within }

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

// readings are those of a trace as a run takes them.
func readings(tr timingtest.Trace, field string, hz int, later time.Duration) timing.Readings {
	r := timing.Readings{Power: tr.Read(field, hz, later)}
	if tr.Card == "rtx3090" && field == timingtest.Draw {
		r.Average = time.Second
	}
	return r
}

func replay(t testing.TB, tr timingtest.Trace, field string, hz int, later, length time.Duration) (out []replayed) {
	t.Helper()
	m, err := timing.NewMeter(readings(tr, field, hz, later))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range tiles(tr.Load, length) {
		e, ok := m.Window(w)
		out = append(out, replayed{truth: float64(tr.Energy(w)) / 1000, known: ok, gross: float64(e.Gross) / 1000, within: float64(e.Uncertainty) / 1000})
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

// TestReplay prints what the meter makes of real GPUs that were recorded beside a
// power meter: -v shows it.
func TestReplay(t *testing.T) {
	t.Logf("%-15s %-8s %3s %6s %8s %8s %8s %8s %s", "recording", "field", "Hz", "length", "windows", "inside", "worst", "±", "no figure")
	for _, tr := range traces(t) {
		for _, field := range []string{timingtest.Draw, timingtest.Instant} {
			for _, hz := range []int{20, 10} {
				for _, length := range lengths {
					var inside, unknown int
					worst := 0.
					var wide []float64
					all := replay(t, tr, field, hz, 0, length)
					for _, r := range all {
						if !r.known {
							unknown++
							continue
						}
						if r.holds() {
							inside++
						}
						if math.Abs(r.off()) > math.Abs(worst) {
							worst = r.off()
						}
						wide = append(wide, r.within/r.gross)
					}
					name, half := "whole", "-"
					if length > 0 {
						name = length.String()
					}
					if slices.Sort(wide); len(wide) > 0 {
						half = fmt.Sprintf("%.1f %%", 100*wide[len(wide)/2])
					}
					t.Logf("%-15s %-8s %3d %6s %8d %8d %+7.1f%% %8s %d", tr.Name, field, hz, name, len(all), inside, 100*worst, half, unknown)
				}
			}
		}
	}
}

// BenchmarkReplay is a meter of 16 s at 20 Hz and all windows of its load.
func BenchmarkReplay(b *testing.B) {
	tr := traces(b)[0]
	for b.Loop() {
		for _, length := range lengths {
			replay(b, tr, timingtest.Instant, 20, 0, length)
		}
	}
}
