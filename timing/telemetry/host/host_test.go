package host

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/disk"
	"github.com/shirou/gopsutil/v3/mem"

	"assay/timing/telemetry"
)

// machine has one disk with two partitions under a mapped device.
func machine() system {
	return system{
		times: func(bool) ([]cpu.TimesStat, error) {
			return []cpu.TimesStat{{User: 10, Nice: 1, System: 2.0305, Irq: .25, Softirq: .25, Steal: .5, Idle: 5000, Iowait: 70, Guest: 9}}, nil
		},
		memory: func() (*mem.VirtualMemoryStat, error) {
			return &mem.VirtualMemoryStat{Total: 64 << 30, Available: 50 << 30, Used: 3 << 30}, nil
		},
		disks: func(...string) (map[string]disk.IOCountersStat, error) {
			one := disk.IOCountersStat{ReadBytes: 1000, WriteBytes: 300}
			return map[string]disk.IOCountersStat{"nvme0n1": one, "nvme0n1p1": one, "dm-0": one, "loop3": one}, nil
		},
		usage: func(path string) (*disk.UsageStat, error) {
			return &disk.UsageStat{Path: path, Free: 7 << 30}, nil
		},
		info: func() ([]cpu.InfoStat, error) { return []cpu.InfoStat{{ModelName: "EPYC 9354"}}, nil },
		sys:  fstest.MapFS{"block/nvme0n1/device/model": {}, "block/dm-0/size": {}, "block/loop3/size": {}},
	}
}

func read(t *testing.T, p telemetry.Probe) map[telemetry.Measure]int64 {
	t.Helper()
	var s telemetry.Sample
	if err := p.Read(&s); err != nil {
		t.Fatal(err)
	}
	out := map[telemetry.Measure]int64{}
	for m := range telemetry.Measures() {
		if v, ok := s.Get(m); ok {
			out[m] = v
		}
	}
	return out
}

func TestTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		probes, problems := find(machine(), "/data")
		if len(probes) != 1 || len(problems) != 0 {
			t.Fatalf("%v %v", probes, problems)
		}
		<-time.After(time.Second)
		want := map[telemetry.Measure]int64{
			telemetry.CPUBusy: 14_031, telemetry.MemoryUsed: 14 << 30, telemetry.DiskRead: 1000, telemetry.DiskWritten: 300, telemetry.DiskFree: 7 << 30,
		}
		if got := read(t, probes[0]); !maps.Equal(got, want) {
			t.Errorf("read %v, want %v", got, want)
		}
		if _, ok := read(t, probes[0])[telemetry.DiskFree]; ok {
			t.Error("free space is looked up twice in a second")
		}
		d := probes[0].Describe()
		slices.Sort(d.Measures)
		if d.Source != "host" || d.ID != "host" || d.Name != "EPYC 9354" || d.Kind != telemetry.Host || !slices.Equal(d.Measures, slices.Sorted(maps.Keys(want))) {
			t.Errorf("%+v", d)
		}
		if v, ok := d.Fact("memory_total_bytes"); !ok || v != "68719476736" {
			t.Errorf("facts %v", d.Facts)
		}
		if v, ok := d.Fact("cores"); !ok || v == "0" {
			t.Errorf("facts %v", d.Facts)
		}
	})
}

func TestWhatCannotBeReadIsAbsentAndSaidOnce(t *testing.T) {
	broken := errors.New("not here")
	for _, c := range []struct {
		name   string
		change func(*system)
		absent []telemetry.Measure
		want   string
	}{
		{"times", func(s *system) { s.times = func(bool) ([]cpu.TimesStat, error) { return nil, broken } }, []telemetry.Measure{telemetry.CPUBusy}, "processor time is unknown: not here"},
		{"no times", func(s *system) { s.times = func(bool) ([]cpu.TimesStat, error) { return nil, nil } }, []telemetry.Measure{telemetry.CPUBusy}, "0 totals"},
		{"memory", func(s *system) { s.memory = func() (*mem.VirtualMemoryStat, error) { return nil, broken } }, []telemetry.Measure{telemetry.MemoryUsed}, "memory is unknown"},
		{"disks", func(s *system) {
			s.disks = func(...string) (map[string]disk.IOCountersStat, error) { return nil, broken }
		}, []telemetry.Measure{telemetry.DiskRead, telemetry.DiskWritten}, "disk traffic is unknown: not here"},
		{"container", func(s *system) { s.sys = fstest.MapFS{} }, []telemetry.Measure{telemetry.DiskRead, telemetry.DiskWritten}, "no disk is visible"},
		{"usage", func(s *system) { s.usage = func(string) (*disk.UsageStat, error) { return nil, broken } }, []telemetry.Measure{telemetry.DiskFree}, "free disk space is unknown"},
	} {
		sys := machine()
		c.change(&sys)
		probes, problems := find(sys, "/data")
		if len(probes) != 1 || len(problems) != 1 || !strings.Contains(problems[0].String(), c.want) {
			t.Errorf("%s: %d probes, %v", c.name, len(probes), problems)
			continue
		}
		got := read(t, probes[0])
		for _, m := range c.absent {
			if v, ok := got[m]; ok || slices.Contains(probes[0].Describe().Measures, m) {
				t.Errorf("%s: %s is %d", c.name, m, v)
			}
		}
		if len(got) == 0 {
			t.Errorf("%s: nothing is left", c.name)
		}
	}
}

func TestFailuresWhileRunning(t *testing.T) {
	broken := errors.New("not any more")
	ok, gone := true, false
	sys := machine()
	whole := sys
	sys.times = func(b bool) ([]cpu.TimesStat, error) {
		if !ok {
			return nil, broken
		}
		return whole.times(b)
	}
	sys.memory = func() (*mem.VirtualMemoryStat, error) {
		if !ok {
			return nil, broken
		}
		return whole.memory()
	}
	sys.disks = func(names ...string) (map[string]disk.IOCountersStat, error) {
		if gone {
			return nil, nil
		}
		return whole.disks(names...)
	}
	probes, _ := find(sys, "/data")
	ok = false
	if got := read(t, probes[0]); len(got) != 2 || got[telemetry.DiskRead] != 1000 {
		t.Errorf("half of it: %v", got)
	}
	gone = true
	var s telemetry.Sample
	if err := probes[0].Read(&s); !errors.Is(err, broken) || !strings.Contains(err.Error(), "processor time") {
		t.Errorf("nothing left: %v", err)
	}
}

func TestAMachineThatTellsNothingHasNoProbe(t *testing.T) {
	broken := errors.New("forbidden")
	probes, problems := find(system{
		times:  func(bool) ([]cpu.TimesStat, error) { return nil, broken },
		memory: func() (*mem.VirtualMemoryStat, error) { return nil, broken },
		disks:  func(...string) (map[string]disk.IOCountersStat, error) { return nil, broken },
		usage:  func(string) (*disk.UsageStat, error) { return nil, broken },
		info:   func() ([]cpu.InfoStat, error) { return nil, broken },
	}, "/data")
	if len(probes) != 0 || len(problems) != 4 {
		t.Errorf("%v %v", probes, problems)
	}
}

func TestFindOnThisMachine(t *testing.T) {
	probes, problems := Find(t.TempDir())
	if len(probes) != 1 {
		t.Fatalf("%v", problems)
	}
	a := read(t, probes[0])
	b := read(t, probes[0])
	if a[telemetry.CPUBusy] <= 0 || b[telemetry.CPUBusy] < a[telemetry.CPUBusy] || a[telemetry.MemoryUsed] <= 0 {
		t.Errorf("%v and then %v", a, b)
	}
}

// BenchmarkRead prints what one sample costs: the sampler's cost at 20 Hz is 20
// of them a second.
func BenchmarkRead(b *testing.B) {
	probes, problems := Find(b.TempDir())
	if len(probes) != 1 {
		b.Fatal(problems)
	}
	b.ReportAllocs()
	for b.Loop() {
		var s telemetry.Sample
		if err := probes[0].Read(&s); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100*20*b.Elapsed().Seconds()/float64(b.N), "cpu-%-at-20Hz")
}
