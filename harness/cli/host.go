package cli

import (
	"runtime"
	"strconv"

	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/host"
	"github.com/shirou/gopsutil/v3/mem"
)

// hostFacts describes the machine; what cannot be read is left out. The host's
// name stays out: a store is shared.
func hostFacts() map[string]string {
	f := map[string]string{"go": runtime.Version(), "arch": runtime.GOARCH, "cores": strconv.Itoa(runtime.NumCPU())}
	if info, err := host.Info(); err == nil {
		f["os"] = info.OS
		f["platform"] = info.Platform + " " + info.PlatformVersion
		f["kernel"] = info.KernelVersion
	}
	if cpus, err := cpu.Info(); err == nil && len(cpus) > 0 {
		f["cpu"] = cpus[0].ModelName
	}
	if m, err := mem.VirtualMemory(); err == nil {
		f["memory_bytes"] = strconv.FormatUint(m.Total, 10)
	}
	return f
}
