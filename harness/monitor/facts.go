package monitor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/host"
	"github.com/shirou/gopsutil/v3/mem"
)

// Facts describes the machine; what cannot be read is left out. The host's
// name stays out: a store is shared.
func Facts() map[string]string {
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

// Existing is the folder, or the nearest one above it that is there.
func Existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}
