package telemetry

import (
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSamplesComeBackFromAChunk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in []Sample
		at := rapid.Int64Range(-1e18, 1e18).Draw(t, "start")
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			s := Sample{At: time.Duration(at), Took: time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "took"))}
			for m := range Measures() {
				switch rapid.IntRange(0, 3).Draw(t, m.String()) {
				case 0:
					s.Set(m, rapid.Int64().Draw(t, "value"))
				case 1:
					s.Set(m, rapid.Int64Range(-1, 1).Draw(t, "value"))
				case 2:
					s.Set(m, 7)
				}
			}
			in = append(in, s)
			at += rapid.Int64Range(1, 1e12).Draw(t, "step")
		}
		c := Pack(in)
		if c.N != len(in) || c.From != in[0].At || c.To != in[len(in)-1].At {
			t.Fatalf("bundle of %d from %v to %v", c.N, c.From, c.To)
		}
		out, err := Unpack(c.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(in, out) {
			t.Fatalf("%v\ncomes back as\n%v", in, out)
		}
		// Cut short anywhere, it is an error or (at a column's end) has fewer values, never others.
		cut, err := Unpack(c.Bytes[:rapid.IntRange(0, len(c.Bytes)-1).Draw(t, "cut")])
		if err != nil {
			return
		}
		for i := range cut {
			for m := range Measures() {
				a, ok := cut[i].Get(m)
				if b, has := in[i].Get(m); ok && (!has || a != b) {
					t.Fatalf("cut short, sample %d has %s %d, not %d", i, m, a, b)
				}
			}
		}
	})
}

func TestDamagedBundlesAreRefused(t *testing.T) {
	var s Sample
	s.Set(CoreBusy, 5)
	good := Pack([]Sample{s, {At: 1}}).Bytes
	for name, b := range map[string][]byte{
		"empty":              {},
		"no samples":         {1, 0},
		"more than there is": {1, 200, 1, 2, 3},
		"a huge number":      {1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1},
		"time stands still":  {1, 2, 2, 0, 0, 0},
		"a negative read":    {1, 1, 2, 1},
		"an unknown measure": append(append([]byte{}, good...), 254, 2),
		"a measure twice":    append(append([]byte{}, good...), byte(CoreBusy)<<1|1, 2, 4),
		"a column too short": append(append([]byte{}, good...), byte(MemoryBusy)<<1|1, 2),
		"a run too long":     append(append([]byte{}, good...), byte(MemoryBusy)<<1|1, 0, 9),
		"half a mask":        append(append([]byte{}, good...), byte(MemoryBusy)<<1),
	} {
		if _, err := Unpack(b); !errors.Is(err, errDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Unpack(good); err != nil {
		t.Errorf("the sound one: %v", err)
	}
	if _, err := Unpack(append([]byte{2}, good[1:]...)); err == nil || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("a newer format: %v", err)
	}
}

// TestStoredNumbersStay pins what stored bundles and their readers rely on.
func TestStoredNumbersStay(t *testing.T) {
	var names []string
	for m := range Measures() {
		names = append(names, m.String())
	}
	want := "power_instant_mw power_average_mw energy_uj core_busy_percent memory_busy_percent memory_used_bytes " +
		"temp_core_mc temp_hotspot_mc temp_memory_mc clock_core_mhz clock_memory_mhz throttle throttle_raw " +
		"processes process_memory_bytes cpu_busy_ms disk_read_bytes disk_written_bytes disk_free_bytes"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("measures are\n%s, not\n%s", got, want)
	}
	if ThrottlePower != 1 || ThrottleThermal != 2 || ThrottleHardware != 4 || ThrottleOther != 8 {
		t.Error("throttle bits moved")
	}
	var s Sample
	s.Set(PowerInstant, 300)
	b := Pack([]Sample{s, {At: 5, Took: 1}}).Bytes
	if want := "\x01\x02\x00\x0a\x00\x02\x00\x01\xd8\x04"; string(b) != want {
		t.Errorf("packed as %q, not %q", b, want)
	}
	if Measure(200).String() != "measure(200)" {
		t.Error(Measure(200).String())
	}
}

func FuzzUnpack(f *testing.F) {
	files, err := filepath.Glob("testdata/fuzz/FuzzUnpack/*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds (%v)", err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		samples, err := Unpack(b)
		if err != nil {
			return
		}
		again, err := Unpack(Pack(samples).Bytes)
		if err != nil {
			t.Fatalf("%x was read but not read again: %v", b, err)
		}
		if !reflect.DeepEqual(samples, again) {
			t.Fatalf("%x is %v and then %v", b, samples, again)
		}
	})
}

// gpuSamples look like those of a GPU at work, 20 times a second.
func gpuSamples(n int) []Sample {
	rnd := rand.New(rand.NewPCG(1, 2))
	out := make([]Sample, n)
	power, energy, memory, clock, temp := int64(60_000), int64(9e12), int64(8<<30), int64(1980), int64(41_000)
	for i := range out {
		s := &out[i]
		s.At = time.Duration(i)*50*time.Millisecond + time.Duration(rnd.IntN(300_000))
		s.Took = 400*time.Microsecond + time.Duration(rnd.IntN(200_000))
		if i%40 == 0 {
			power = 60_000 + int64(rnd.IntN(2))*300_000
			memory += int64(rnd.IntN(5)-2) << 21
			temp += int64(rnd.IntN(3)-1) * 1000
		}
		now := power + int64(rnd.IntN(int(power)/4))
		energy += now * 50
		s.Set(PowerInstant, now)
		s.Set(PowerAverage, power+int64(rnd.IntN(3000)))
		s.Set(Energy, energy)
		s.Set(CoreBusy, int64(rnd.IntN(101)))
		s.Set(MemoryBusy, int64(rnd.IntN(60)))
		s.Set(MemoryUsed, memory)
		s.Set(TempCore, temp)
		s.Set(TempMemory, temp+4000)
		s.Set(ClockCore, clock-int64(rnd.IntN(8))*15)
		s.Set(ClockMemory, 2619)
		s.Set(Throttle, int64(rnd.IntN(2)))
		s.Set(ThrottleRaw, 4)
		if i%20 == 0 {
			s.Set(Processes, 1)
			s.Set(ProcessMemory, memory-1<<28)
		}
	}
	return out
}

// BenchmarkMillionSamples prints what a million samples of a busy GPU take up,
// in bundles and in memory, and what packing and reading one costs.
func BenchmarkMillionSamples(b *testing.B) {
	const n = 1_000_000
	samples := gpuSamples(n)
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		l := newLog(50*time.Millisecond, []Device{{}})
		began := time.Now()
		for i := range samples {
			l.add(0, samples[i])
		}
		packed := time.Since(began)
		runtime.GC()
		runtime.ReadMemStats(&after)
		size := 0
		bundles, _ := l.Bundles(0, 0)
		for _, c := range bundles {
			size += len(c.Bytes)
		}
		began = time.Now()
		seen := 0
		for range l.All(0) {
			seen++
		}
		read := time.Since(began)
		if seen != n {
			b.Fatalf("%d samples come back", seen)
		}
		if size > 50e6 {
			b.Errorf("%d bytes for a million samples", size)
		}
		b.ReportMetric(float64(size)/1e6, "MB")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB-heap")
		b.ReportMetric(float64(packed.Nanoseconds())/n, "ns/add")
		b.ReportMetric(float64(read.Nanoseconds())/n, "ns/read")
	}
}

func TestAMillionSamplesFit(t *testing.T) {
	const n = 20 * bundleSamples
	samples := gpuSamples(n)
	size := 0
	for i := 0; i < n; i += bundleSamples {
		size += len(Pack(samples[i : i+bundleSamples]).Bytes)
	}
	if per := float64(size) / n; per > 50 {
		t.Errorf("%.1f bytes per sample: a million take over 50 MB", per)
	}
}
