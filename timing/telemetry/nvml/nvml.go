//go:build cgo && linux

package nvml

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"assay/timing"
	"assay/timing/telemetry"
)

// Find looks for NVIDIA GPUs. What stands in the way of measuring them is in the
// problems. The library stays loaded until the process ends, because the
// driver may forget its counters once nobody holds it open.
func Find() ([]telemetry.Probe, []telemetry.Problem) { return find(nvml.New()) }

// find calls nothing of the library after a failed Init: its functions are then
// not there, and a call kills the process. That includes the one that puts
// return codes into words.
func find(lib nvml.Interface) ([]telemetry.Probe, []telemetry.Problem) {
	if ret := lib.Init(); ret != nvml.SUCCESS {
		return nil, []telemetry.Problem{initProblem(ret)}
	}
	n, ret := lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return nil, []telemetry.Problem{{Source: source, What: fmt.Sprintf("counting GPUs failed with NVML code %d", ret), Do: "check that nvidia-smi works"}}
	}
	if n == 0 {
		return nil, []telemetry.Problem{{Source: source, What: "the NVIDIA driver runs but sees no GPU", Do: "in a container, pass the GPU in; else see dmesg"}}
	}
	var probes []telemetry.Probe
	var problems []telemetry.Problem
	for i := range n {
		dev, ret := lib.DeviceGetHandleByIndex(i)
		if ret != nvml.SUCCESS {
			problems = append(problems, telemetry.Problem{Source: source, Device: "GPU " + strconv.Itoa(i), What: "cannot be opened: " + reason(ret), Do: remedy(ret)})
			continue
		}
		p, found := newProbe(lib, dev, i)
		problems = append(problems, found...)
		if p != nil {
			probes = append(probes, p)
		}
	}
	return probes, problems
}

func initProblem(ret nvml.Return) telemetry.Problem {
	p := telemetry.Problem{Source: source}
	switch ret {
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		p.What, p.Do = "no NVIDIA driver: libnvidia-ml.so.1 is not there", "with an NVIDIA GPU, install its driver; in a container, start it with the NVIDIA runtime"
	case nvml.ERROR_DRIVER_NOT_LOADED:
		p.What, p.Do = "the NVIDIA driver is installed but not loaded", "run modprobe nvidia, or restart"
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		p.What, p.Do = "the NVIDIA library and the loaded driver are of different versions", "restart after the driver's update"
	case nvml.ERROR_NO_PERMISSION:
		p.What, p.Do = "no permission to talk to the NVIDIA driver", "allow this user to read and write /dev/nvidiactl and /dev/nvidia0"
	default:
		p.What, p.Do = fmt.Sprintf("starting NVML failed with code %d", ret), "check that nvidia-smi works"
	}
	return p
}

// reason says what a return code means for one figure or device.
func reason(ret nvml.Return) string {
	switch ret {
	case nvml.SUCCESS:
		return "the figure came in an unknown form"
	case nvml.ERROR_NOT_SUPPORTED:
		return "not offered by this GPU"
	case nvml.ERROR_NO_PERMISSION:
		return "no permission"
	case nvml.ERROR_FUNCTION_NOT_FOUND:
		return "the driver is too old"
	case nvml.ERROR_GPU_IS_LOST:
		return "the GPU is lost"
	case nvml.ERROR_RESET_REQUIRED:
		return "the GPU needs a reset"
	}
	return fmt.Sprintf("NVML code %d", ret)
}

func remedy(ret nvml.Return) string {
	switch ret {
	case nvml.ERROR_NO_PERMISSION:
		return "run as root, or ask for access to /dev/nvidia*"
	case nvml.ERROR_FUNCTION_NOT_FOUND:
		return "update the NVIDIA driver"
	case nvml.ERROR_GPU_IS_LOST, nvml.ERROR_RESET_REQUIRED:
		return "reset the GPU or restart the machine"
	}
	return ""
}

// figure is one thing that is read: it sets its measures in s, or says why not.
type figure struct {
	measures []telemetry.Measure
	symbol   string // that the driver must have, else a call kills the process; "": as old as the library
	read     func(s *telemetry.Sample) nvml.Return
}

type probe struct {
	dev     nvml.Device
	device  telemetry.Device
	figures []figure
}

// processesEvery is how often processes are listed: it takes far longer than the rest.
const processesEvery = time.Second

// newProbe finds out, by reading each figure once, what the GPU offers. Figures
// that it does not offer are one problem per reason.
func newProbe(lib nvml.Interface, dev nvml.Device, index int) (*probe, []telemetry.Problem) {
	p := &probe{dev: dev}
	has := func(symbol string) bool { return symbol == "" || lib.Extensions().LookupSymbol(symbol) == nil }
	p.describe(lib, has, index)

	missing := map[nvml.Return][]string{}
	var reasons []nvml.Return
	try := func(f figure) bool {
		var s telemetry.Sample
		ret := nvml.ERROR_FUNCTION_NOT_FOUND
		if has(f.symbol) {
			ret = f.read(&s)
		}
		if ret == nvml.SUCCESS && s.Len() > 0 {
			p.figures = append(p.figures, f)
			for m := range telemetry.Measures() {
				if _, ok := s.Get(m); ok {
					p.device.Measures = append(p.device.Measures, m)
				}
			}
			return true
		}
		if !slices.Contains(reasons, ret) {
			reasons = append(reasons, ret)
		}
		for _, m := range f.measures {
			missing[ret] = append(missing[ret], m.String())
		}
		return false
	}
	for _, f := range p.all(has) {
		try(f)
	}
	slices.Sort(p.device.Measures)

	var problems []telemetry.Problem
	if len(p.figures) == 0 {
		return nil, []telemetry.Problem{{Source: source, Device: p.device.ID, What: p.device.Name + " reports nothing: " + reason(reasons[0]), Do: remedy(reasons[0])}}
	}
	for _, ret := range reasons {
		problems = append(problems, telemetry.Problem{Source: source, Device: p.device.ID, What: strings.Join(missing[ret], ", ") + " will be unknown: " + reason(ret), Do: remedy(ret)})
	}
	if v, _ := p.device.Fact("mig"); v == "on" {
		problems = append(problems, telemetry.Problem{
			Source: source, Device: p.device.ID, What: "MIG is on: power and energy are those of the whole GPU, whoever uses its other instances",
			Do: "for energies, keep the other instances idle or switch MIG off",
		})
	}
	return p, problems
}

// describe collects what does not change. What the driver does not tell is left out.
func (p *probe) describe(lib nvml.Interface, has func(string) bool, index int) {
	d := telemetry.Device{Source: source, ID: "GPU-" + strconv.Itoa(index), Name: "NVIDIA GPU", Kind: telemetry.GPU}
	fact := func(name, value string, ret nvml.Return) {
		if ret == nvml.SUCCESS && value != "" {
			d.Facts = append(d.Facts, telemetry.Fact{Name: name, Value: value})
		}
	}
	if name, ret := p.dev.GetName(); ret == nvml.SUCCESS && name != "" {
		d.Name = name
	}
	uuid, ret := p.dev.GetUUID()
	if ret == nvml.SUCCESS && uuid != "" {
		d.ID = uuid
	}
	fact("uuid", uuid, ret)
	driver, ret := lib.SystemGetDriverVersion()
	fact("driver", driver, ret)
	version, ret := lib.SystemGetNVMLVersion()
	fact("nvml", version, ret)
	pci, ret := p.dev.GetPciInfo()
	fact("pci", fmt.Sprintf("%08x:%02x:%02x.0", pci.Domain, pci.Bus, pci.Device), ret)
	mem, ret := p.dev.GetMemoryInfo()
	fact("memory_total_bytes", strconv.FormatUint(mem.Total, 10), ret)
	limit, ret := p.dev.GetEnforcedPowerLimit()
	fact("power_limit_mw", strconv.FormatUint(uint64(limit), 10), ret)
	major, minor, ret := p.dev.GetCudaComputeCapability()
	fact("compute_capability", fmt.Sprintf("%d.%d", major, minor), ret)
	if has("nvmlDeviceGetMigMode") {
		mode, _, ret := p.dev.GetMigMode()
		fact("mig", map[bool]string{true: "on", false: "off"}[mode == nvml.DEVICE_MIG_ENABLE], ret)
	}
	fact("index", strconv.Itoa(index), nvml.SUCCESS)
	p.device = d
}

// averages says whether GetPowerUsage is a mean over a second (Ampere and newer,
// but for GA100 and under driver 530) or of the moment.
func (p *probe) averages() bool {
	major, minor, ret := p.dev.GetCudaComputeCapability()
	driver, _ := p.device.Fact("driver")
	return ret != nvml.SUCCESS || timing.Card{Major: major, Minor: minor, Driver: driver}.Averages()
}

// all lists the figures, with power in the best form that there is.
func (p *probe) all(has func(string) bool) []figure {
	one := func(m telemetry.Measure, symbol string, scale int64, read func() (uint64, nvml.Return)) figure {
		return figure{[]telemetry.Measure{m}, symbol, func(s *telemetry.Sample) nvml.Return {
			v, ret := read()
			if ret == nvml.SUCCESS && v <= math.MaxInt64/uint64(scale) {
				s.Set(m, int64(v)*scale)
			}
			return ret
		}}
	}
	small := func(v uint32, ret nvml.Return) (uint64, nvml.Return) { return uint64(v), ret }

	reasons, symbol := p.dev.GetCurrentClocksEventReasons, "nvmlDeviceGetCurrentClocksEventReasons"
	if !has(symbol) { // its name before driver 535
		reasons, symbol = p.dev.GetCurrentClocksThrottleReasons, "nvmlDeviceGetCurrentClocksThrottleReasons"
	}
	var listed time.Time
	const fields = "nvmlDeviceGetFieldValues"
	return append(p.power(has),
		one(telemetry.Energy, "nvmlDeviceGetTotalEnergyConsumption", 1000, p.dev.GetTotalEnergyConsumption),
		figure{[]telemetry.Measure{telemetry.CoreBusy, telemetry.MemoryBusy}, "", func(s *telemetry.Sample) nvml.Return {
			u, ret := p.dev.GetUtilizationRates()
			if ret == nvml.SUCCESS {
				s.Set(telemetry.CoreBusy, int64(u.Gpu))
				s.Set(telemetry.MemoryBusy, int64(u.Memory))
			}
			return ret
		}},
		one(telemetry.MemoryUsed, "", 1, func() (uint64, nvml.Return) {
			m, ret := p.dev.GetMemoryInfo()
			return m.Used, ret
		}),
		one(telemetry.TempCore, "", 1000, func() (uint64, nvml.Return) { return small(p.dev.GetTemperature(nvml.TEMPERATURE_GPU)) }),
		one(telemetry.TempMemory, fields, 1000, func() (uint64, nvml.Return) { return p.field(nvml.FI_DEV_MEMORY_TEMP) }),
		one(telemetry.ClockCore, "", 1, func() (uint64, nvml.Return) { return small(p.dev.GetClockInfo(nvml.CLOCK_SM)) }),
		one(telemetry.ClockMemory, "", 1, func() (uint64, nvml.Return) { return small(p.dev.GetClockInfo(nvml.CLOCK_MEM)) }),
		figure{[]telemetry.Measure{telemetry.Throttle, telemetry.ThrottleRaw}, symbol, func(s *telemetry.Sample) nvml.Return {
			raw, ret := reasons()
			if ret == nvml.SUCCESS {
				s.Set(telemetry.Throttle, throttle(raw))
				s.Set(telemetry.ThrottleRaw, int64(raw&math.MaxInt64))
			}
			return ret
		}},
		figure{[]telemetry.Measure{telemetry.Processes, telemetry.ProcessMemory}, "", func(s *telemetry.Sample) nvml.Return {
			if now := time.Now(); now.Sub(listed) >= processesEvery {
				listed = now
				return p.processes(s)
			}
			return nvml.SUCCESS
		}},
	)
}

// power is instant power by its field, and mean power by its field or, where
// there is none, by the old call, which is one or the other.
func (p *probe) power(has func(string) bool) []figure {
	field := func(id uint32, m telemetry.Measure) figure {
		return figure{[]telemetry.Measure{m}, "nvmlDeviceGetFieldValues", func(s *telemetry.Sample) nvml.Return {
			mw, ret := p.field(id)
			if ret == nvml.SUCCESS {
				s.Set(m, int64(mw))
			}
			return ret
		}}
	}
	works := func(f figure) bool {
		var s telemetry.Sample
		return has(f.symbol) && f.read(&s) == nvml.SUCCESS && s.Len() > 0
	}
	instant := field(nvml.FI_DEV_POWER_INSTANT, telemetry.PowerInstant)
	average := field(nvml.FI_DEV_POWER_AVERAGE, telemetry.PowerAverage)
	p.device.PowerWindow = time.Second
	if works(average) {
		return []figure{instant, average}
	}
	usage := func(m telemetry.Measure) figure {
		return figure{[]telemetry.Measure{m}, "", func(s *telemetry.Sample) nvml.Return {
			mw, ret := p.dev.GetPowerUsage()
			if ret == nvml.SUCCESS {
				s.Set(m, int64(mw))
			}
			return ret
		}}
	}
	if p.averages() {
		return []figure{instant, usage(telemetry.PowerAverage)}
	}
	p.device.PowerWindow = 0
	return []figure{usage(telemetry.PowerInstant)}
}

// field reads one of the driver's numbered fields.
func (p *probe) field(id uint32) (uint64, nvml.Return) {
	v := []nvml.FieldValue{{FieldId: id}}
	if ret := p.dev.GetFieldValues(v); ret != nvml.SUCCESS {
		return 0, ret
	}
	if ret := nvml.Return(v[0].NvmlReturn); ret != nvml.SUCCESS {
		return 0, ret
	}
	b := v[0].Value[:]
	switch nvml.ValueType(v[0].ValueType) {
	case nvml.VALUE_TYPE_UNSIGNED_INT:
		return uint64(binary.NativeEndian.Uint32(b)), nvml.SUCCESS
	case nvml.VALUE_TYPE_UNSIGNED_LONG, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG:
		return binary.NativeEndian.Uint64(b), nvml.SUCCESS
	case nvml.VALUE_TYPE_SIGNED_LONG_LONG:
		if i := int64(binary.NativeEndian.Uint64(b)); i >= 0 {
			return uint64(i), nvml.SUCCESS
		}
	case nvml.VALUE_TYPE_SIGNED_INT:
		if i := int32(binary.NativeEndian.Uint32(b)); i >= 0 {
			return uint64(i), nvml.SUCCESS
		}
	case nvml.VALUE_TYPE_UNSIGNED_SHORT:
		return uint64(binary.NativeEndian.Uint16(b)), nvml.SUCCESS
	}
	return 0, nvml.ERROR_UNKNOWN
}

// throttle maps the driver's reasons to ours. Idle (1), clocks that somebody set
// (2), sync boost (16) and the display's clocks (256) are none.
func throttle(raw uint64) int64 {
	var out int64
	for _, r := range []struct {
		bits uint64
		is   int64
	}{
		{nvml.ClocksEventReasonSwPowerCap, telemetry.ThrottlePower},
		{nvml.ClocksEventReasonSwThermalSlowdown | nvml.ClocksThrottleReasonHwThermalSlowdown, telemetry.ThrottleThermal},
		{nvml.ClocksThrottleReasonHwSlowdown | nvml.ClocksThrottleReasonHwPowerBrakeSlowdown, telemetry.ThrottleHardware},
	} {
		if raw&r.bits != 0 {
			out |= r.is
		}
	}
	return out
}

// list is who computes or draws on the GPU, each process once, by PID.
func (p *probe) list() ([]telemetry.Process, nvml.Return) {
	computing, ret := p.dev.GetComputeRunningProcesses()
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	seen := map[uint32]*telemetry.Process{}
	add := func(list []nvml.ProcessInfo, draws bool) {
		for _, x := range list {
			one := seen[x.Pid]
			if one == nil {
				one = &telemetry.Process{PID: int(x.Pid), Draws: draws}
				seen[x.Pid] = one
			}
			// All ones, or nearly: not available.
			if b := x.UsedGpuMemory; b <= math.MaxInt64/1024 && (one.Memory == nil || *one.Memory < b) {
				one.Memory = &b
			}
		}
	}
	add(computing, false)
	if drawing, ret := p.dev.GetGraphicsRunningProcesses(); ret == nvml.SUCCESS {
		add(drawing, true)
	}
	out := make([]telemetry.Process, 0, len(seen))
	for _, pid := range slices.Sorted(maps.Keys(seen)) {
		out = append(out, *seen[pid])
	}
	return out, nvml.SUCCESS
}

// Processes implements telemetry.Lister; the library may be called from any thread.
func (p *probe) Processes() ([]telemetry.Process, error) {
	list, ret := p.list()
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("nvml: listing the processes on %s (%s): %s", p.device.Name, p.device.ID, reason(ret))
	}
	return list, nil
}

// processes counts them. Their memory is known only if it is known for all.
func (p *probe) processes(s *telemetry.Sample) nvml.Return {
	list, ret := p.list()
	if ret != nvml.SUCCESS {
		return ret
	}
	s.Set(telemetry.Processes, int64(len(list)))
	total := uint64(0)
	for _, x := range list {
		if x.Memory == nil {
			return nvml.SUCCESS
		}
		total += *x.Memory
	}
	s.Set(telemetry.ProcessMemory, int64(total))
	return nvml.SUCCESS
}

// Describe says which GPU this is.
func (p *probe) Describe() telemetry.Device { return p.device }

// Read reads every figure that the GPU offered at the start.
func (p *probe) Read(s *telemetry.Sample) error {
	var first nvml.Return
	for _, f := range p.figures {
		if ret := f.read(s); ret != nvml.SUCCESS && first == nvml.SUCCESS {
			first = ret
		}
	}
	if s.Len() == 0 {
		return fmt.Errorf("nvml: reading %s (%s): %s", p.device.Name, p.device.ID, reason(first))
	}
	return nil
}
