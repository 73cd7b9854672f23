// Package rapl reads the energy counters of the processors and their memory from
// the kernel's powercap tree (Intel, and AMD since Zen).
package rapl

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"assay/timing/telemetry"
)

const (
	source = "rapl"
	root   = "class/powercap"
)

type probe struct {
	sys    fs.FS
	file   string
	device telemetry.Device
}

// Find looks for the zones of whole packages and of their memory in sys, the
// root of sysfs: os.DirFS("/sys"). Zones inside a package (cores, graphics) are
// part of its count, and that of the platform contains all of them, so these are
// left out.
func Find(sys fs.FS) ([]telemetry.Probe, []telemetry.Problem) {
	var probes []telemetry.Probe
	var problems []telemetry.Problem
	var denied []string
	zones, _ := fs.Glob(sys, root+"/intel-rapl:*")
	for _, dir := range zones {
		id := path.Base(dir)
		name, err := text(sys, dir+"/name")
		if err != nil {
			continue
		}
		kind := telemetry.CPU
		if name == "dram" {
			kind = telemetry.Memory
		} else if !strings.HasPrefix(name, "package") {
			continue
		}
		p := &probe{sys: sys, file: dir + "/energy_uj"}
		p.device = telemetry.Device{
			Source: source, ID: id, Name: label(sys, id, name), Kind: kind, Measures: []telemetry.Measure{telemetry.Energy},
			Facts: []telemetry.Fact{{Name: "zone", Value: name}},
		}
		if last, err := number(sys, dir+"/max_energy_range_uj"); err == nil {
			p.device.EnergyWraps = last + 1
		} else {
			problems = append(problems, telemetry.Problem{Source: source, Device: id, What: "it is not known where the counter wraps: " + err.Error()})
		}
		var s telemetry.Sample
		err = p.Read(&s)
		switch {
		case errors.Is(err, fs.ErrPermission):
			denied = append(denied, id)
		case err != nil:
			problems = append(problems, telemetry.Problem{Source: source, Device: id, What: err.Error()})
		default:
			probes = append(probes, p)
		}
	}
	if len(denied) > 0 {
		problems = append(problems, telemetry.Problem{
			Source: source, What: "the energy of the CPU must not be read (" + strings.Join(denied, ", ") + ")",
			Do: "run as root, or once: sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj",
		})
	}
	if len(probes)+len(problems) == 0 {
		problems = append(problems, telemetry.Problem{
			Source: source, What: "the CPU shows no energy counter here",
			Do: "on a real machine run modprobe intel_rapl_msr; a virtual one has none",
		})
	}
	return probes, problems
}

// label names a zone together with the package that it is inside of.
func label(sys fs.FS, id, name string) string {
	parts := strings.Split(id, ":")
	if len(parts) > 2 {
		if parent, err := text(sys, root+"/"+strings.Join(parts[:2], ":")+"/name"); err == nil {
			return parent + " " + name
		}
	}
	return name
}

// Describe says which zone this is.
func (p *probe) Describe() telemetry.Device { return p.device }

// Read reads the zone's counter.
func (p *probe) Read(s *telemetry.Sample) error {
	uj, err := number(p.sys, p.file)
	if err != nil {
		return fmt.Errorf("rapl: reading %s: %w", p.device.ID, err)
	}
	s.Set(telemetry.Energy, int64(uj))
	return nil
}

func text(sys fs.FS, name string) (string, error) {
	b, err := fs.ReadFile(sys, name)
	return string(bytes.TrimSpace(b)), err
}

func number(sys fs.FS, name string) (uint64, error) {
	t, err := text(sys, name)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(t, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%s holds %.40q: a number was expected", name, t)
	}
	return v, nil
}
