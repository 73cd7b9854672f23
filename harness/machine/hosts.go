// Hosts says what a machine is, and where several differ.

package machine

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/host"
	"github.com/shirou/gopsutil/v3/mem"

	"assay/results"
	"assay/timing/telemetry"
)

// Pseudonym is the environment variable that names this machine in place of its own name.
const Pseudonym = "ASSAY_HOST"

// ThisHost describes this machine, but for its GPUs; version is assay's.
func ThisHost(version string) results.Host {
	h := results.Host{Name: strings.TrimSpace(os.Getenv(Pseudonym)), OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Version: version}
	if h.Name == "" {
		h.Name, _ = os.Hostname() // without one, the machine has no name
	}
	// Not host.Info: it counts processes and looks at much else besides.
	if platform, _, version, err := host.PlatformInformation(); err == nil {
		h.Platform = strings.TrimSpace(platform + " " + version)
	}
	h.Kernel, _ = host.KernelVersion()
	if cpus, err := cpu.Info(); err == nil && len(cpus) > 0 {
		h.CPU = cpus[0].ModelName
	}
	if m, err := mem.VirtualMemory(); err == nil {
		h.Memory = m.Total
	}
	return h
}

// Facts are those of h, which is this machine, that a manifest has. Its name is not among them.
func Facts(h results.Host) map[string]string {
	f := map[string]string{"go": runtime.Version(), "arch": h.Arch, "cores": strconv.Itoa(h.Cores)}
	for name, v := range map[string]string{"os": h.OS, "platform": h.Platform, "kernel": h.Kernel, "cpu": h.CPU} {
		if v != "" {
			f[name] = v
		}
	}
	if h.Memory > 0 {
		f["memory_bytes"] = strconv.FormatUint(h.Memory, 10)
	}
	return f
}

// GPUs are the real ones among devices.
func GPUs(devices []telemetry.Device) []results.HostGPU {
	var out []results.HostGPU
	for _, d := range devices {
		if d.Kind != telemetry.GPU || d.Synthetic {
			continue
		}
		g := results.HostGPU{ID: d.ID, Name: d.Name}
		g.Driver, _ = d.Fact("driver")
		if v, ok := d.Fact("memory_total_bytes"); ok {
			g.Memory, _ = strconv.ParseUint(v, 10, 64) // 0: not known
		}
		out = append(out, g)
	}
	return out
}
