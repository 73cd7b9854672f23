package machine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"assay/backends"
	"assay/backends/phantom"
	"assay/results"
	"assay/timing"
	"assay/timing/telemetry"
	"assay/timing/telemetry/amdgpu"
	"assay/timing/telemetry/exporter"
	"assay/timing/telemetry/host"
	"assay/timing/telemetry/nvml"
	"assay/timing/telemetry/plug"
	"assay/timing/telemetry/rapl"
)

// phantomCard is the GPU that phantom backends work on.
func phantomCard(seed uint64) phantom.Card {
	c := phantom.DefaultCard()
	c.Seed = seed
	return c
}

// FindProbes looks for what bench.yaml wants watched. Real devices are looked
// for where a server on this machine may use them; places is by model.
func FindProbes(on Setup, places map[string]results.Place, act *phantom.Activity) ([]telemetry.Probe, []telemetry.Problem) {
	var probes []telemetry.Probe
	var problems []telemetry.Problem
	add := func(p []telemetry.Probe, bad []telemetry.Problem) {
		probes, problems = append(probes, p...), append(problems, bad...)
	}
	t := on.Telemetry
	local, phantoms := false, false
	for _, p := range places {
		local, phantoms = local || p == results.PlaceLocal, phantoms || p == results.PlacePhantom
	}
	wants := func(kind string) bool { return t.Watches(kind) && (local || !t.Auto) }
	if wants("nvidia") {
		add(nvml.Find())
	}
	if wants("amd") {
		p, bad := amdgpu.Find(os.DirFS("/sys"), os.DirFS("/proc"))
		if len(p)+len(bad) == 0 && !t.Auto {
			bad = []telemetry.Problem{{Source: "amdgpu", What: "no AMD GPU is here", Do: "take amd out of telemetry.devices in bench.yaml"}}
		}
		add(p, bad)
	}
	if wants("rapl") {
		add(rapl.Find(os.DirFS("/sys")))
	}
	if t.Watches("host") {
		add(host.Find(Existing(filepath.Dir(on.Store))))
	}
	var remote []exporter.Use
	for _, r := range t.Remote {
		key, err := backends.APIKey(r.URL, r.KeyEnv, r.KeyFile, os.Getenv)
		if err != nil {
			add(nil, []telemetry.Problem{{Source: "exporter", What: err.Error()}})
			continue
		}
		remote = append(remote, exporter.Use{URL: r.URL, Key: key, Backend: r.Backend, GPUs: r.GPUs})
	}
	add(exporter.Find(remote))
	add(plug.Find(t.Meters))
	if t.Watches("phantom") && phantoms && act != nil {
		add([]telemetry.Probe{PhantomGPU{phantom.NewGPU(act, phantomCard(on.Seed))}}, nil)
	}
	if t.Calibration == "" {
		return probes, problems
	}
	file, err := ReadCalibration(t.Calibration)
	if err != nil {
		add(nil, []telemetry.Problem{{Source: "calibration", What: err.Error()}})
	}
	for i, p := range probes {
		scales := file.Scales(p.Describe().ID)
		if len(scales) == 0 {
			continue
		}
		one := calibrated{p, scales}
		if l, ok := p.(telemetry.Lister); ok {
			probes[i] = calibratedLister{one, l}
		} else {
			probes[i] = one
		}
	}
	return probes, problems
}

// calibrated is a probe whose device has been calibrated.
type calibrated struct {
	telemetry.Probe
	scales map[string]timing.Scale
}

// Describe is the device with what its calibration found.
func (c calibrated) Describe() telemetry.Device {
	d := c.Probe.Describe()
	d.Scales = c.scales
	return d
}

type calibratedLister struct {
	calibrated
	telemetry.Lister
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
