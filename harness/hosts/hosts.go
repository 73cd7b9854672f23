// Package hosts says what a machine is, and where several differ.
package hosts

import (
	"io/fs"
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

// Here describes this machine, but for its GPUs; version is assay's.
func Here(version string) results.Host {
	h := results.Host{Name: strings.TrimSpace(os.Getenv(Pseudonym)), Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Version: version}
	if h.Name == "" {
		h.Name, _ = os.Hostname() // without one, the machine has no name
	}
	h.OS, h.Platform = runtime.GOOS, debian(os.DirFS("/"))
	h.Kernel, _ = host.KernelVersion() // without one, it has no version
	if h.Platform == "" {
		if name, _, version, err := host.PlatformInformation(); err == nil {
			h.Platform = strings.TrimSpace(name + " " + version)
		}
	}
	if cpus, err := cpu.Info(); err == nil && len(cpus) > 0 {
		h.CPU = cpus[0].ModelName
	}
	if m, err := mem.VirtualMemory(); err == nil {
		h.Memory = m.Total
	}
	return h
}

// debian is Debian's name and version in gopsutil's words, which starts a shell script and
// four programs to learn that it is no Ubuntu; "": it is no plain Debian.
func debian(root fs.FS) string {
	for _, other := range []string{"etc/lsb-release", "etc/oracle-release", "etc/enterprise-release", "etc/slackware-version", "usr/bin/raspi-config"} {
		if _, err := fs.Stat(root, other); err == nil {
			return ""
		}
	}
	release, err1 := fs.ReadFile(root, "etc/os-release")
	version, err2 := fs.ReadFile(root, "etc/debian_version")
	first, _, _ := strings.Cut(string(version), "\n")
	if err1 != nil || err2 != nil || first == "" || !strings.Contains("\n"+string(release), "\nID=debian\n") {
		return ""
	}
	return strings.TrimSpace("debian " + first)
}

// Facts are those of this machine that a manifest has. Its name is not among them.
func Facts() map[string]string {
	h := Here("")
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
