//go:build cgo && linux

package nvml

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"

	"assay/timing/telemetry"
)

// field is the driver's answer for one numbered field.
type field struct {
	value uint64
	kind  nvml.ValueType
	ret   nvml.Return
}

// gpu is a machine with one H100 as its driver shows it; tests change what they need.
type gpu struct {
	dev    *mock.Device
	lib    *mock.Interface
	fields map[uint32]field
	lacks  []string // symbols
	energy uint64   // mJ
	why    uint64   // clocks event reasons
}

func newGPU() *gpu {
	g := &gpu{energy: 4_000_000, why: nvml.ClocksEventReasonGpuIdle}
	g.fields = map[uint32]field{
		nvml.FI_DEV_POWER_INSTANT: {71_500, nvml.VALUE_TYPE_UNSIGNED_INT, nvml.SUCCESS},
		nvml.FI_DEV_POWER_AVERAGE: {70_000, nvml.VALUE_TYPE_UNSIGNED_INT, nvml.SUCCESS},
		nvml.FI_DEV_MEMORY_TEMP:   {44, nvml.VALUE_TYPE_UNSIGNED_INT, nvml.SUCCESS},
	}
	g.dev = &mock.Device{
		GetNameFunc:                  func() (string, nvml.Return) { return "NVIDIA H100 80GB HBM3", nvml.SUCCESS },
		GetUUIDFunc:                  func() (string, nvml.Return) { return "GPU-5a1e", nvml.SUCCESS },
		GetPciInfoFunc:               func() (nvml.PciInfo, nvml.Return) { return nvml.PciInfo{Domain: 0, Bus: 0x9b}, nvml.SUCCESS },
		GetEnforcedPowerLimitFunc:    func() (uint32, nvml.Return) { return 700_000, nvml.SUCCESS },
		GetCudaComputeCapabilityFunc: func() (int, int, nvml.Return) { return 9, 0, nvml.SUCCESS },
		GetMigModeFunc:               func() (int, int, nvml.Return) { return nvml.DEVICE_MIG_DISABLE, nvml.DEVICE_MIG_DISABLE, nvml.SUCCESS },
		GetMemoryInfoFunc: func() (nvml.Memory, nvml.Return) {
			return nvml.Memory{Total: 80 << 30, Used: 9 << 30}, nvml.SUCCESS
		},
		GetTotalEnergyConsumptionFunc: func() (uint64, nvml.Return) { return g.energy, nvml.SUCCESS },
		GetUtilizationRatesFunc:       func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{Gpu: 97, Memory: 41}, nvml.SUCCESS },
		GetTemperatureFunc:            func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 38, nvml.SUCCESS },
		GetClockInfoFunc: func(c nvml.ClockType) (uint32, nvml.Return) {
			return map[nvml.ClockType]uint32{nvml.CLOCK_SM: 1980, nvml.CLOCK_MEM: 2619}[c], nvml.SUCCESS
		},
		GetCurrentClocksEventReasonsFunc: func() (uint64, nvml.Return) { return g.why, nvml.SUCCESS },
		GetComputeRunningProcessesFunc: func() ([]nvml.ProcessInfo, nvml.Return) {
			return []nvml.ProcessInfo{{Pid: 7, UsedGpuMemory: 5 << 30}, {Pid: 9, UsedGpuMemory: 1 << 30}}, nvml.SUCCESS
		},
		GetGraphicsRunningProcessesFunc: func() ([]nvml.ProcessInfo, nvml.Return) {
			return []nvml.ProcessInfo{{Pid: 9, UsedGpuMemory: 2 << 30}}, nvml.SUCCESS
		},
		GetFieldValuesFunc: func(vs []nvml.FieldValue) nvml.Return {
			for i := range vs {
				f, ok := g.fields[vs[i].FieldId]
				if !ok {
					f.ret = nvml.ERROR_NOT_SUPPORTED
				}
				vs[i].NvmlReturn, vs[i].ValueType = uint32(f.ret), uint32(f.kind)
				switch f.kind {
				case nvml.VALUE_TYPE_UNSIGNED_SHORT:
					binary.NativeEndian.PutUint16(vs[i].Value[:], uint16(f.value))
				case nvml.VALUE_TYPE_UNSIGNED_INT, nvml.VALUE_TYPE_SIGNED_INT:
					binary.NativeEndian.PutUint32(vs[i].Value[:], uint32(f.value))
				default:
					binary.NativeEndian.PutUint64(vs[i].Value[:], f.value)
				}
			}
			return nvml.SUCCESS
		},
	}
	g.lib = &mock.Interface{
		InitFunc:                   func() nvml.Return { return nvml.SUCCESS },
		DeviceGetCountFunc:         func() (int, nvml.Return) { return 1, nvml.SUCCESS },
		DeviceGetHandleByIndexFunc: func(int) (nvml.Device, nvml.Return) { return g.dev, nvml.SUCCESS },
		SystemGetDriverVersionFunc: func() (string, nvml.Return) { return "580.65.06", nvml.SUCCESS },
		SystemGetNVMLVersionFunc:   func() (string, nvml.Return) { return "13.580.65.06", nvml.SUCCESS },
		ExtensionsFunc: func() nvml.ExtendedInterface {
			return &mock.ExtendedInterface{LookupSymbolFunc: func(name string) error {
				if slices.Contains(g.lacks, name) {
					return errors.New("no such symbol")
				}
				return nil
			}}
		},
	}
	return g
}

func (g *gpu) find(t *testing.T) (telemetry.Probe, []telemetry.Problem) {
	t.Helper()
	probes, problems := find(g.lib)
	if len(probes) != 1 {
		t.Fatalf("%d probes, %v", len(probes), problems)
	}
	return probes[0], problems
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

func TestAWholeGPU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, problems := newGPU().find(t)
		if len(problems) != 0 {
			t.Errorf("problems %v", problems)
		}
		<-time.After(time.Second) // processes are listed once a second
		got := read(t, p)
		want := map[telemetry.Measure]int64{
			telemetry.PowerInstant: 71_500, telemetry.PowerAverage: 70_000, telemetry.Energy: 4_000_000_000,
			telemetry.CoreBusy: 97, telemetry.MemoryBusy: 41, telemetry.MemoryUsed: 9 << 30,
			telemetry.TempCore: 38_000, telemetry.TempMemory: 44_000, telemetry.ClockCore: 1980, telemetry.ClockMemory: 2619,
			telemetry.Throttle: 0, telemetry.ThrottleRaw: 1, telemetry.Processes: 2, telemetry.ProcessMemory: 7 << 30,
		}
		if !maps.Equal(got, want) {
			t.Errorf("read %v\nwant %v", got, want)
		}
		d := p.Describe()
		if ms := slices.Sorted(maps.Keys(want)); !slices.Equal(d.Measures, ms) {
			t.Errorf("measures %v, want %v", d.Measures, ms)
		}
		if d.Source != "nvml" || d.ID != "GPU-5a1e" || d.Name != "NVIDIA H100 80GB HBM3" || d.Kind != telemetry.GPU || d.PowerWindow != time.Second || d.EnergyWraps != 0 || d.Synthetic {
			t.Errorf("%+v", d)
		}
		for name, want := range map[string]string{
			"uuid": "GPU-5a1e", "driver": "580.65.06", "nvml": "13.580.65.06", "pci": "00000000:9b:00.0", "memory_total_bytes": "85899345920",
			"power_limit_mw": "700000", "compute_capability": "9.0", "mig": "off", "index": "0",
		} {
			if v, ok := d.Fact(name); !ok || v != want {
				t.Errorf("fact %s is %q, want %q", name, v, want)
			}
		}
		<-time.After(50 * time.Millisecond)
		got = read(t, p)
		if _, ok := got[telemetry.Processes]; ok || len(got) != len(want)-2 {
			t.Errorf("50 ms later: %v", got)
		}
	})
}

// TestNothingIsCalledAfterAFailedInit: a library double without any function but
// Init panics at the first other call.
func TestNothingIsCalledAfterAFailedInit(t *testing.T) {
	for ret, want := range map[nvml.Return]string{
		nvml.ERROR_LIBRARY_NOT_FOUND:       "no NVIDIA driver",
		nvml.ERROR_DRIVER_NOT_LOADED:       "modprobe nvidia",
		nvml.ERROR_LIB_RM_VERSION_MISMATCH: "restart",
		nvml.ERROR_NO_PERMISSION:           "/dev/nvidiactl",
		nvml.ERROR_UNKNOWN:                 "code 999",
	} {
		probes, problems := find(&mock.Interface{InitFunc: func() nvml.Return { return ret }})
		if len(probes) != 0 || len(problems) != 1 || !strings.Contains(problems[0].String(), want) || problems[0].Do == "" {
			t.Errorf("code %d: %v %v", ret, probes, problems)
		}
	}
}

// TestFindOnThisMachine runs against whatever is here; most often nothing is.
func TestFindOnThisMachine(t *testing.T) {
	probes, problems := Find()
	if len(probes) == 0 && len(problems) == 0 {
		t.Error("no GPU and no word of why")
	}
	for _, p := range probes {
		if len(read(t, p)) == 0 {
			t.Errorf("%s reports nothing", p.Describe().ID)
		}
	}
}

func TestDevicesThatCannotBeUsed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*gpu)
		want   string
	}{
		{"counting fails", func(g *gpu) {
			g.lib.DeviceGetCountFunc = func() (int, nvml.Return) { return 0, nvml.ERROR_UNKNOWN }
		}, "nvidia-smi"},
		{"no devices", func(g *gpu) {
			g.lib.DeviceGetCountFunc = func() (int, nvml.Return) { return 0, nvml.SUCCESS }
		}, "sees no GPU"},
		{"no permission", func(g *gpu) {
			g.lib.DeviceGetHandleByIndexFunc = func(int) (nvml.Device, nvml.Return) { return nil, nvml.ERROR_NO_PERMISSION }
		}, "nvml GPU 0: cannot be opened: no permission; run as root"},
		{"lost", func(g *gpu) {
			g.lib.DeviceGetHandleByIndexFunc = func(int) (nvml.Device, nvml.Return) { return nil, nvml.ERROR_GPU_IS_LOST }
		}, "the GPU is lost; reset"},
		{"reports nothing", func(g *gpu) {
			fail := nvml.ERROR_RESET_REQUIRED
			g.dev.GetFieldValuesFunc = func([]nvml.FieldValue) nvml.Return { return fail }
			g.dev.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 0, fail }
			g.dev.GetTotalEnergyConsumptionFunc = func() (uint64, nvml.Return) { return 0, fail }
			g.dev.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{}, fail }
			g.dev.GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{}, fail }
			g.dev.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 0, fail }
			g.dev.GetClockInfoFunc = func(nvml.ClockType) (uint32, nvml.Return) { return 0, fail }
			g.dev.GetCurrentClocksEventReasonsFunc = func() (uint64, nvml.Return) { return 0, fail }
			g.dev.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) { return nil, fail }
		}, "needs a reset"},
	} {
		g := newGPU()
		c.change(g)
		probes, problems := find(g.lib)
		if len(probes) != 0 || len(problems) != 1 || !strings.Contains(problems[0].String(), c.want) {
			t.Errorf("%s: %v %v", c.name, probes, problems)
		}
	}
}

func TestWhatAGPUDoesNotOfferIsAbsentAndSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGPU() // a GTX 1080: no counter, no memory temperature, no fields for power
		g.dev.GetNameFunc = func() (string, nvml.Return) { return "GTX 1080", nvml.SUCCESS }
		g.dev.GetCudaComputeCapabilityFunc = func() (int, int, nvml.Return) { return 6, 1, nvml.SUCCESS }
		g.dev.GetTotalEnergyConsumptionFunc = func() (uint64, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
		g.dev.GetMigModeFunc = func() (int, int, nvml.Return) { return 0, 0, nvml.ERROR_NOT_SUPPORTED }
		g.dev.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 33_000, nvml.SUCCESS }
		g.dev.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.ERROR_NO_PERMISSION }
		g.fields = nil
		p, problems := g.find(t)
		want := []string{
			"nvml GPU-5a1e: energy_uj, temp_memory_mc will be unknown: not offered by this GPU",
			"nvml GPU-5a1e: processes, process_memory_bytes will be unknown: no permission; run as root, or ask for access to /dev/nvidia*",
		}
		if len(problems) != 2 || problems[0].String() != want[0] || problems[1].String() != want[1] {
			t.Errorf("problems\n%v", problems)
		}
		<-time.After(time.Second)
		got := read(t, p)
		for _, m := range []telemetry.Measure{telemetry.Energy, telemetry.TempMemory, telemetry.Processes, telemetry.ProcessMemory, telemetry.PowerAverage} {
			if v, ok := got[m]; ok {
				t.Errorf("%s is %d", m, v)
			}
		}
		if got[telemetry.PowerInstant] != 33_000 || p.Describe().PowerWindow != 0 {
			t.Errorf("power %v over %v", got, p.Describe().PowerWindow)
		}
		if _, ok := p.Describe().Fact("mig"); ok {
			t.Error("a GPU without MIG has a MIG mode")
		}
	})
}

func TestPowerUsageIsAMeanSinceAmpere(t *testing.T) {
	for cc, mean := range map[[2]int]bool{{7, 0}: false, {7, 5}: false, {8, 0}: false, {8, 6}: true, {8, 9}: true, {9, 0}: true, {12, 0}: true} {
		g := newGPU()
		g.dev.GetCudaComputeCapabilityFunc = func() (int, int, nvml.Return) { return cc[0], cc[1], nvml.SUCCESS }
		g.dev.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 33_000, nvml.SUCCESS }
		g.fields = nil
		p, _ := g.find(t)
		got := read(t, p)
		m, other, window := telemetry.PowerInstant, telemetry.PowerAverage, time.Duration(0)
		if mean {
			m, other, window = other, m, time.Second
		}
		if _, ok := got[other]; ok || got[m] != 33_000 || p.Describe().PowerWindow != window {
			t.Errorf("compute capability %v: %v over %v", cc, got, p.Describe().PowerWindow)
		}
	}
}

// TestPowerUsageOfDriver530: it is of 100 ms there (sensors.csv, RTX 3090).
func TestPowerUsageOfDriver530(t *testing.T) {
	g := newGPU()
	g.lib.SystemGetDriverVersionFunc = func() (string, nvml.Return) { return "530.30.02", nvml.SUCCESS }
	g.dev.GetCudaComputeCapabilityFunc = func() (int, int, nvml.Return) { return 8, 6, nvml.SUCCESS }
	g.dev.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 33_000, nvml.SUCCESS }
	g.fields = nil
	p, _ := g.find(t)
	if got := read(t, p); got[telemetry.PowerInstant] != 33_000 || p.Describe().PowerWindow != 0 {
		t.Errorf("%v over %v", got, p.Describe().PowerWindow)
	}
}

// TestFunctionsThatADriverLacksAreNotCalled: the doubles of the missing ones panic.
func TestFunctionsThatADriverLacksAreNotCalled(t *testing.T) {
	g := newGPU()
	g.lacks = []string{"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetMigMode", "nvmlDeviceGetFieldValues", "nvmlDeviceGetTotalEnergyConsumption"}
	g.dev.GetCurrentClocksEventReasonsFunc, g.dev.GetMigModeFunc, g.dev.GetFieldValuesFunc, g.dev.GetTotalEnergyConsumptionFunc = nil, nil, nil, nil
	g.dev.GetCurrentClocksThrottleReasonsFunc = func() (uint64, nvml.Return) { return 32, nvml.SUCCESS }
	g.dev.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 33_000, nvml.SUCCESS }
	p, problems := g.find(t)
	if len(problems) != 1 || !strings.Contains(problems[0].String(), "power_instant_mw, energy_uj, temp_memory_mc will be unknown: the driver is too old; update") {
		t.Errorf("problems %v", problems)
	}
	got := read(t, p)
	if got[telemetry.Throttle] != telemetry.ThrottleThermal || got[telemetry.PowerAverage] != 33_000 {
		t.Errorf("%v", got)
	}
}

func TestThrottleReasons(t *testing.T) {
	for raw, want := range map[uint64]int64{
		0: 0, 1: 0, 2: 0, 16: 0, 256: 0,
		4: telemetry.ThrottlePower, 8: telemetry.ThrottleHardware, 32: telemetry.ThrottleThermal, 64: telemetry.ThrottleThermal, 128: telemetry.ThrottleHardware,
		4 | 8 | 64: telemetry.ThrottlePower | telemetry.ThrottleHardware | telemetry.ThrottleThermal,
	} {
		g := newGPU()
		g.why = raw
		p, _ := g.find(t)
		got := read(t, p)
		if got[telemetry.Throttle] != want || got[telemetry.ThrottleRaw] != int64(raw) {
			t.Errorf("reasons %d give %d", raw, got[telemetry.Throttle])
		}
	}
}

func TestFieldsInEveryForm(t *testing.T) {
	for i, c := range []struct {
		f  field
		ok bool
	}{
		{field{71, nvml.VALUE_TYPE_UNSIGNED_INT, 0}, true},
		{field{71, nvml.VALUE_TYPE_UNSIGNED_LONG, 0}, true},
		{field{71, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG, 0}, true},
		{field{71, nvml.VALUE_TYPE_SIGNED_LONG_LONG, 0}, true},
		{field{71, nvml.VALUE_TYPE_SIGNED_INT, 0}, true},
		{field{71, nvml.VALUE_TYPE_UNSIGNED_SHORT, 0}, true},
		{field{1<<64 - 5, nvml.VALUE_TYPE_SIGNED_LONG_LONG, 0}, false},
		{field{1<<32 - 5, nvml.VALUE_TYPE_SIGNED_INT, 0}, false},
		{field{71, nvml.VALUE_TYPE_DOUBLE, 0}, false},
		{field{71, nvml.VALUE_TYPE_UNSIGNED_INT, nvml.ERROR_NOT_SUPPORTED}, false},
		{field{1<<64 - 1, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG, 0}, false}, // all ones
	} {
		g := newGPU()
		g.fields[nvml.FI_DEV_MEMORY_TEMP] = c.f
		p, problems := g.find(t)
		v, ok := read(t, p)[telemetry.TempMemory]
		if ok != c.ok || ok && v != 71_000 || ok != (len(problems) == 0) {
			t.Errorf("%d: %d %t, %v", i, v, ok, problems)
		}
	}
}

func TestMIGIsAProblem(t *testing.T) {
	g := newGPU()
	g.dev.GetMigModeFunc = func() (int, int, nvml.Return) { return nvml.DEVICE_MIG_ENABLE, nvml.DEVICE_MIG_ENABLE, nvml.SUCCESS }
	g.dev.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{}, nvml.ERROR_NOT_SUPPORTED }
	p, problems := g.find(t)
	if v, _ := p.Describe().Fact("mig"); v != "on" || !strings.Contains(fmt.Sprint(problems), "MIG is on") || !strings.Contains(fmt.Sprint(problems), "core_busy_percent, memory_busy_percent will be unknown") {
		t.Errorf("%v", problems)
	}
}

func TestMemoryOfProcessesIsKnownForAllOrAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGPU()
		g.dev.GetGraphicsRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
			return []nvml.ProcessInfo{{Pid: 11, UsedGpuMemory: 1<<64 - 1}}, nvml.SUCCESS
		}
		p, _ := g.find(t)
		<-time.After(time.Second)
		got := read(t, p)
		if _, ok := got[telemetry.ProcessMemory]; ok || got[telemetry.Processes] != 3 {
			t.Errorf("%v", got)
		}
	})
}

func TestAGPUThatGetsLostIsAnError(t *testing.T) {
	g := newGPU()
	p, _ := g.find(t)
	g.dev.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 0, nvml.ERROR_UNKNOWN }
	if got := read(t, p); got[telemetry.PowerInstant] != 71_500 {
		t.Errorf("one figure fails: %v", got)
	} else if _, ok := got[telemetry.TempCore]; ok {
		t.Error("the failed figure has a value")
	}
	lost := nvml.ERROR_GPU_IS_LOST
	g.dev.GetFieldValuesFunc = func([]nvml.FieldValue) nvml.Return { return lost }
	g.dev.GetTotalEnergyConsumptionFunc = func() (uint64, nvml.Return) { return 0, lost }
	g.dev.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{}, lost }
	g.dev.GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{}, lost }
	g.dev.GetClockInfoFunc = func(nvml.ClockType) (uint32, nvml.Return) { return 0, lost }
	g.dev.GetCurrentClocksEventReasonsFunc = func() (uint64, nvml.Return) { return 0, lost }
	var s telemetry.Sample
	if err := p.Read(&s); err == nil || !strings.Contains(err.Error(), "the GPU is lost") {
		t.Errorf("got %v", err)
	}
}

func TestProcessesAreListedByTheirNumbers(t *testing.T) {
	g := newGPU()
	g.dev.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		return []nvml.ProcessInfo{{Pid: 9, UsedGpuMemory: 1 << 30}, {Pid: 7, UsedGpuMemory: 1<<64 - 1}}, nvml.SUCCESS
	}
	g.dev.GetGraphicsRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		return []nvml.ProcessInfo{{Pid: 9, UsedGpuMemory: 2 << 30}, {Pid: 11, UsedGpuMemory: 3}}, nvml.SUCCESS
	}
	p, _ := g.find(t)
	list, err := p.(telemetry.Lister).Processes()
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	if a := list[0]; a.PID != 7 || a.Memory != nil || a.Draws {
		t.Errorf("memory that is not told: %+v", a)
	}
	if b := list[1]; b.PID != 9 || b.Memory == nil || *b.Memory != 2<<30 || b.Draws {
		t.Errorf("one that computes and draws: %+v", b)
	}
	if c := list[2]; c.PID != 11 || c.Memory == nil || *c.Memory != 3 || !c.Draws {
		t.Errorf("one that draws: %+v", c)
	}
	g.dev.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.ERROR_GPU_IS_LOST }
	if list, err := p.(telemetry.Lister).Processes(); err == nil || list != nil {
		t.Error("a failure is a list", list)
	}
}
