// Package amdgpu reads AMD GPUs from the kernel's sysfs, without any library.
//
//  1. Find looks for cards of the amdgpu driver.
//  2. What a card offers is found out by reading each of its files once: the
//     gpu_metrics table, the hwmon sensors, the busy and memory figures.
//  3. Read reads those again. Where a sensor and the table report the same, the
//     sensor counts: its resolution is finer.
package amdgpu

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"assay/timing/telemetry"
)

const (
	source = "amdgpu"
	vendor = "0x1002"
	drm    = "class/drm"
)

// Find looks for AMD GPUs in sys, the root of sysfs: os.DirFS("/sys"). proc is
// that of procfs, for who uses them.
func Find(sys, proc fs.FS) ([]telemetry.Probe, []telemetry.Problem) {
	who := &clients{proc: proc}
	var probes []telemetry.Probe
	var problems []telemetry.Problem
	seen := map[string]bool{}
	cards, _ := fs.Glob(sys, drm+"/card*")
	slices.SortStableFunc(cards, func(a, b string) int { return len(a) - len(b) }) // card10 after card9; Glob has sorted the rest
	for _, card := range cards {
		if strings.Trim(strings.TrimPrefix(card, drm+"/card"), "0123456789") != "" {
			continue // card0-DP-1 is a connector
		}
		dir := card + "/device"
		if v, err := text(sys, dir+"/vendor"); err != nil || v != vendor {
			continue
		}
		about := uevent(sys, dir)
		id := about["PCI_SLOT_NAME"]
		if id == "" {
			id = path.Base(card)
		}
		seen[id] = true
		if d, ok := about["DRIVER"]; ok && d != "amdgpu" {
			problems = append(problems, telemetry.Problem{Source: source, Device: id, What: "is run by the driver " + d + ", which reports no power", Do: "use the amdgpu driver"})
			continue
		}
		p, found := newProbe(sys, dir, id)
		problems = append(problems, found...)
		if p != nil {
			p.clients = who
			p.device.Facts = append(p.device.Facts, telemetry.Fact{Name: "index", Value: strconv.Itoa(len(probes))})
			probes = append(probes, p)
		}
	}
	return probes, append(problems, undriven(sys, seen)...)
}

// undriven lists AMD GPUs on the PCI bus that no card stands for.
func undriven(sys fs.FS, seen map[string]bool) (problems []telemetry.Problem) {
	devices, _ := fs.Glob(sys, "bus/pci/devices/*")
	for _, dir := range devices {
		id := path.Base(dir)
		class, err := text(sys, dir+"/class")
		if err != nil || seen[id] || !strings.HasPrefix(class, "0x03") && !strings.HasPrefix(class, "0x12") {
			continue // neither a display nor a processing accelerator
		}
		if v, err := text(sys, dir+"/vendor"); err == nil && v == vendor {
			problems = append(problems, telemetry.Problem{Source: source, Device: id, What: "an AMD GPU without the amdgpu driver", Do: "run modprobe amdgpu and look at dmesg"})
		}
	}
	return problems
}

// file is one file with one figure.
type file struct {
	path   string
	to     telemetry.Measure
	over   int64 // this many units of the file are one of the measure
	adds   bool  // to what another file gave
	active bool  // a list of clocks: the line with a star counts
}

type probe struct {
	sys     fs.FS
	clients *clients
	device  telemetry.Device
	table   string // path of gpu_metrics; "": not used
	parser  parser
	files   []file
	drop    []telemetry.Measure // reported but meaningless
	before  []uint32            // residencies at the last read
	updated bool
}

// secondDie holds for the second die of an MI200: the first counts for both, and
// this one shows 0.
func secondDie(s *telemetry.Sample) bool {
	zero := func(m telemetry.Measure) (zero, known bool) {
		v, ok := s.Get(m)
		return v == 0, ok
	}
	e, counted := zero(telemetry.Energy)
	i, now := zero(telemetry.PowerInstant)
	a, mean := zero(telemetry.PowerAverage)
	return counted && e && (now || mean) && (!now || i) && (!mean || a)
}

func newProbe(sys fs.FS, dir, id string) (*probe, []telemetry.Problem) {
	p := &probe{sys: sys, parser: newParser()}
	p.device = telemetry.Device{Source: source, ID: id, Name: "AMD GPU", Kind: telemetry.GPU}
	var problems []telemetry.Problem
	say := func(what, do string) {
		problems = append(problems, telemetry.Problem{Source: source, Device: id, What: what, Do: do})
	}

	var s telemetry.Sample
	var t metricsTable
	b, err := fs.ReadFile(sys, dir+"/gpu_metrics")
	if err == nil {
		if t, err = p.parser.Parse(b, &s); err == nil {
			p.table = dir + "/gpu_metrics"
		}
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		say("gpu_metrics must not be read, so the energy counter is unknown", "run as root, or join the groups video and render")
	case errors.Is(err, fs.ErrNotExist):
		say("there is no gpu_metrics, so the energy counter is unknown", "Linux 5.10 or newer offers it for Vega 12 and later")
	case err != nil:
		say("the energy counter is unknown: "+err.Error(), "")
	}

	hwmon := hwmonDir(sys, dir)
	if hwmon == "" {
		say("there are no hwmon sensors of the amdgpu driver, so power is only known from gpu_metrics", "")
	}
	for _, f := range candidates(sys, dir, hwmon) {
		if _, err := p.number(f); err == nil {
			p.files = slices.DeleteFunc(p.files, func(o file) bool { return o.to == f.to }) // the better source comes later
			p.files = append(p.files, f)
		} else if errors.Is(err, fs.ErrPermission) {
			say(path.Base(f.path)+" must not be read, so "+f.to.String()+" is unknown", "run as root, or join the groups video and render")
		}
	}
	apu := t.APU() && p.table != ""
	if apu { // the rest of an APU's figures mix in those of its CPU
		keep := []telemetry.Measure{telemetry.PowerInstant, telemetry.PowerAverage, telemetry.CoreBusy, telemetry.MemoryUsed}
		for m := range telemetry.Measures() {
			if !slices.Contains(keep, m) {
				p.drop = append(p.drop, m)
			}
		}
		f := file{path: dir + "/mem_info_gtt_used", to: telemetry.MemoryUsed, over: 1, adds: true} // its GPU also works in ordinary memory
		if _, err := p.number(f); err == nil {
			p.files = append(p.files, f)
		}
	}

	s = telemetry.Sample{}
	if err := p.Read(&s); err != nil {
		say(err.Error(), "look at dmesg for what the amdgpu driver says")
		return nil, problems
	}
	if secondDie(&s) {
		p.drop = append(p.drop, telemetry.Energy, telemetry.PowerInstant, telemetry.PowerAverage)
		for _, m := range p.drop {
			s.Unset(m)
		}
		say("power and energy read 0, as on the second die of an MI200: the first die's figures are for both", "")
	}
	for m := range telemetry.Measures() {
		if _, ok := s.Get(m); ok || m == telemetry.Throttle && t.Residencies != nil && !apu {
			p.device.Measures = append(p.device.Measures, m)
		}
	}
	has := func(m telemetry.Measure) bool { return slices.Contains(p.device.Measures, m) }
	if !has(telemetry.Energy) && !apu && err == nil && !slices.Contains(p.drop, telemetry.Energy) {
		say("gpu_metrics "+t.Revision()+" of this GPU reports no energy counter", "")
	}
	if has(telemetry.Energy) && t.Content <= 3 {
		p.device.EnergyWraps = 1 << 32 * 15625 / 1024 // consumer chips count in 32 bits
	}
	p.describe(dir, hwmon, t)
	return p, problems
}

func hwmonDir(sys fs.FS, dir string) string {
	all, _ := fs.Glob(sys, dir+"/hwmon/hwmon*")
	for _, d := range all {
		if name, err := text(sys, d+"/name"); err == nil && name == "amdgpu" {
			return d
		}
	}
	return ""
}

// candidates are the files that may have a figure, the better source of one last.
func candidates(sys fs.FS, dir, hwmon string) []file {
	out := []file{
		{path: dir + "/gpu_busy_percent", to: telemetry.CoreBusy, over: 1},
		{path: dir + "/mem_busy_percent", to: telemetry.MemoryBusy, over: 1},
		{path: dir + "/mem_info_vram_used", to: telemetry.MemoryUsed, over: 1},
		{path: dir + "/pp_dpm_sclk", to: telemetry.ClockCore, over: 1, active: true},
		{path: dir + "/pp_dpm_mclk", to: telemetry.ClockMemory, over: 1, active: true},
	}
	if hwmon == "" {
		return out
	}
	out = append(out,
		file{path: hwmon + "/power1_average", to: telemetry.PowerAverage, over: 1000}, // µW
		file{path: hwmon + "/power1_input", to: telemetry.PowerInstant, over: 1000},
	)
	labelled := func(kind string, over int64, by map[string]telemetry.Measure) {
		labels, _ := fs.Glob(sys, hwmon+"/"+kind+"*_label")
		for _, l := range labels {
			if name, err := text(sys, l); err == nil {
				if m, ok := by[name]; ok {
					out = append(out, file{path: strings.TrimSuffix(l, "_label") + "_input", to: m, over: over})
				}
			}
		}
	}
	labelled("temp", 1, map[string]telemetry.Measure{"edge": telemetry.TempCore, "junction": telemetry.TempHotspot, "mem": telemetry.TempMemory})
	labelled("freq", 1_000_000, map[string]telemetry.Measure{"sclk": telemetry.ClockCore, "mclk": telemetry.ClockMemory}) // Hz
	return out
}

func (p *probe) describe(dir, hwmon string, t metricsTable) {
	d := &p.device
	fact := func(name, value string) {
		if value != "" {
			d.Facts = append(d.Facts, telemetry.Fact{Name: name, Value: value})
		}
	}
	read := func(file string) string {
		v, err := text(p.sys, file)
		if err != nil {
			return ""
		}
		return v
	}
	model := read(dir + "/device")
	if name := read(dir + "/product_name"); name != "" {
		d.Name = name
	} else if model != "" {
		d.Name = "AMD GPU " + model
	}
	fact("pci", d.ID)
	fact("model", model)
	fact("uuid", read(dir+"/unique_id"))
	fact("vbios", read(dir+"/vbios_version"))
	fact("driver", read("module/amdgpu/version"))
	if p.table != "" {
		fact("gpu_metrics", t.Revision())
	}
	total, err := strconv.ParseUint(read(dir+"/mem_info_vram_total"), 10, 64)
	if gtt, e := strconv.ParseUint(read(dir+"/mem_info_gtt_total"), 10, 64); e == nil && t.APU() {
		total += gtt
	}
	if err == nil {
		fact("memory_total_bytes", strconv.FormatUint(total, 10))
	}
	if uw, err := strconv.ParseUint(read(hwmon+"/power1_cap"), 10, 64); err == nil && hwmon != "" {
		fact("power_limit_mw", strconv.FormatUint(uw/1000, 10))
	}
}

// Describe says which GPU this is.
func (p *probe) Describe() telemetry.Device { return p.device }

// Read reads what the GPU offered at the start.
func (p *probe) Read(s *telemetry.Sample) error {
	var first error
	if p.table != "" {
		b, err := fs.ReadFile(p.sys, p.table)
		if err == nil {
			var t metricsTable
			if t, err = p.parser.Parse(b, s); err == nil {
				p.residencies(t, s)
			}
		}
		first = err
	}
	for _, f := range p.files {
		v, err := p.number(f)
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		if old, ok := s.Get(f.to); ok && f.adds {
			v += old
		}
		s.Set(f.to, v)
	}
	for _, m := range p.drop {
		s.Unset(m)
	}
	if s.Len() == 0 {
		if first == nil {
			first = errors.New("it has none of the files that are read")
		}
		return fmt.Errorf("amdgpu: reading %s: %w", p.device.ID, first)
	}
	return nil
}

// residencies turns time spent throttled into "was throttled since the last
// read". The first read has nothing to compare with, so it does not know.
func (p *probe) residencies(t metricsTable, s *telemetry.Sample) {
	if t.Residencies == nil {
		return
	}
	if p.updated {
		var bits int64
		for i, r := range t.Residencies {
			if r != p.before[i] {
				bits |= causes[i]
			}
		}
		s.Set(telemetry.Throttle, bits)
	} else {
		s.Unset(telemetry.Throttle)
	}
	p.before, p.updated = t.Residencies, true
}

// number reads a file's figure in units of its measure.
func (p *probe) number(f file) (int64, error) {
	t, err := text(p.sys, f.path)
	if err != nil {
		return 0, err
	}
	if f.active {
		if t, err = starred(t); err != nil {
			return 0, fmt.Errorf("%s: %w", f.path, err)
		}
	}
	v, err := strconv.ParseInt(t, 10, 64)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("%s holds %.40q: a number was expected", f.path, t)
	}
	return v / f.over, nil
}

// starred is the number in the line of a clock table that is in force, such as
// "1: 1500Mhz *".
func starred(t string) (string, error) {
	for line := range strings.Lines(t) {
		line = strings.TrimSpace(line)
		if clock, ok := strings.CutSuffix(line, "*"); ok {
			_, clock, _ = strings.Cut(clock, ":")
			clock = strings.TrimSpace(clock)
			return strings.TrimRight(clock, "MmHhZz "), nil
		}
	}
	return "", errors.New("no clock is marked as the one in force")
}

func text(sys fs.FS, name string) (string, error) {
	b, err := fs.ReadFile(sys, name)
	return string(bytes.TrimSpace(b)), err
}

// uevent is the device's own description: lines of NAME=value.
func uevent(sys fs.FS, dir string) map[string]string {
	out := map[string]string{}
	t, err := text(sys, dir+"/uevent")
	if err != nil {
		return out
	}
	for line := range strings.Lines(t) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			out[k] = v
		}
	}
	return out
}
