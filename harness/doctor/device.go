package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v3/disk"

	"assay/harness/experiment"
	"assay/harness/machine"
	"assay/results"
	"assay/results/store"
	"assay/timing"
	"assay/timing/telemetry"
)

// devices looks for what a run would watch, and measures how often it changes.
func (d *examination) devices(ctx context.Context) {
	setup := experiment.Setup(d.Config)
	probes, bad := machine.FindProbes(setup, machine.Places(ctx, setup, d.site), d.Activity)
	for _, p := range bad {
		l := note
		if !d.Config.Telemetry.Auto {
			l = warning // it was asked for by name
		}
		d.say(l, "device "+p.Source, strings.TrimPrefix(strings.TrimSpace(p.Device+" "+p.What), " "), p.Do)
	}
	states := make([]deviceFound, len(probes))
	clock := timing.NewClock()
	var wg sync.WaitGroup
	for i, p := range probes {
		states[i].Device = p.Describe()
		for _, m := range states[i].Measures {
			states[i].Reports = append(states[i].Reports, m.String())
		}
		if d.Quick || states[i].Remote { // an exporter is asked once a second
			continue
		}
		wg.Go(func() {
			reading := 2 * time.Second
			if !changes(states[i].Measures) {
				reading /= 20 // how long a read takes is soon known
			}
			r, err := telemetry.MeasureRates(ctx, clock, p, reading)
			if err != nil {
				return
			}
			us := float64(r.Read) / 1e3
			states[i].ReadMicros = &us
			ms := func(t *time.Duration) *float64 {
				if t == nil {
					return nil
				}
				v := float64(*t) / 1e6
				return &v
			}
			states[i].EnergyTickMS, states[i].PowerMS = ms(r.Energy), ms(r.Power)
		})
	}
	wg.Wait()
	d.gpus(ctx, machine.GPUsOf(probes))
	gpu := false
	for _, s := range states {
		gpu = gpu || s.Kind == telemetry.GPU
		text := fmt.Sprintf("%s (%s) reports %s", s.Name, s.ID, strings.Join(s.Reports, ", "))
		if s.EnergyTickMS != nil {
			text += fmt.Sprintf("; its energy counter changes every %.3g ms", *s.EnergyTickMS)
		}
		if s.PowerMS != nil {
			text += fmt.Sprintf("; its power changes every %.3g ms", *s.PowerMS)
		}
		if s.ReadMicros != nil {
			text += fmt.Sprintf("; a read takes %.3g µs", *s.ReadMicros)
		}
		d.say(fine, "device "+s.Source, text, "")
		if drv, ok := s.Device.Fact("driver"); ok {
			d.say(fine, "device "+s.Source, "driver "+drv, "")
		}
	}
	if !gpu && len(d.Config.Telemetry.Devices) > 0 {
		d.say(warning, "devices", "no GPU is watched: energies will be unknown", "")
	} else if !gpu {
		d.say(note, "devices", "no GPU is watched: energies will be unknown", "")
	}
	d.out.Devices = states
	for _, st := range d.Config.Studies {
		if st.CoolDown.Celsius != nil && !slices.ContainsFunc(states, func(s deviceFound) bool {
			return slices.Contains(s.Measures, telemetry.TempCore) || slices.Contains(s.Measures, telemetry.TempHotspot)
		}) {
			d.say(problem, "study "+st.Name, "cool_down waits for a temperature and no GPU reports one", "give only seconds")
		}
	}
}

// gpus says which GPUs work for each server of this machine, as they are now.
func (d *examination) gpus(ctx context.Context, gpus []machine.GPU) {
	for _, name := range d.Config.Telemetry.GPUs {
		if g, err := machine.PickGPU(gpus, name); err != nil {
			d.say(problem, "telemetry.gpus", err.Error(), "name one of these")
		} else {
			d.say(fine, "telemetry.gpus", fmt.Sprintf("%s is %s (%s)", name, g.Device.Name, g.Device.ID), "")
		}
	}
	if len(gpus) == 0 || len(d.Config.Telemetry.GPUs) > 0 {
		return
	}
	for i, b := range d.Config.Backends {
		if d.out.Servers[i].Place != results.PlaceLocal || !d.out.Servers[i].Reachable {
			continue // nothing of it is in memory
		}
		e := d.site.Evidence(ctx, experiment.Setup(d.Config), b)
		e.GPUs, e.VRAM = gpus, d.vram[b.Name]
		h, census := e.Claim()
		about := "backend " + b.Name
		switch {
		case !h.Known:
			d.say(warning, about, "which GPUs work for it is not known, so its energies will be unknown: "+h.How, "name them: telemetry: {gpus: [0]}")
		case len(h.GPUs) == 0:
			d.say(note, about, "no GPU works for it: "+h.How, "")
		case h.Assumed:
			d.say(warning, about, fmt.Sprintf("its GPUs are assumed to be %s: %s", strings.Join(h.GPUs, ", "), h.How), "name them: telemetry: {gpus: [0]}")
		default:
			d.say(fine, about, fmt.Sprintf("its GPUs are %s: %s", strings.Join(h.GPUs, ", "), h.How), "")
		}
		for _, g := range gpus {
			if !slices.Contains(h.GPUs, g.Device.ID) {
				continue
			}
			for _, p := range census.Foreign(g.Device.ID, g.Users.Processes) {
				d.say(warning, about, fmt.Sprintf("%s (%d), which is not its server, uses its GPU %s", cmp.Or(census.Name(p.PID), "a process"), p.PID, g.Device.ID), "stop it before times are taken")
			}
		}
	}
}

// changes says whether how often a device's figures change is measured.
func changes(all []telemetry.Measure) bool {
	return slices.ContainsFunc(all, func(m telemetry.Measure) bool {
		return m == telemetry.Energy || m == telemetry.PowerInstant || m == telemetry.PowerAverage
	})
}

// leastFree is what a store of a large run and its report need.
const leastFree = 2 << 30

func (d *examination) machine() {
	here := machine.ThisHost(d.Version)
	m := machineFound{Host: machine.Facts(here), Facts: here, Stamps: timing.StampsUser}
	for _, dev := range d.out.Devices {
		m.Facts.GPUs = append(m.Facts.GPUs, machine.GPUs([]telemetry.Device{dev.Device})...)
	}
	if runtime.GOOS == "linux" {
		m.Stamps = timing.StampsKernel
		d.say(fine, "arrival stamps", "taken by the kernel", "")
	} else {
		d.say(note, "arrival stamps", "taken after each read: this system has no kernel stamps, so times are less exact", "")
	}
	const reads = 20_000
	began := time.Now()
	for range reads {
		_ = time.Now()
	}
	m.ClockNanos = float64(time.Since(began)) / reads
	read := func(path string) string {
		b, err := fs.ReadFile(d.System, path)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	m.ClockSource = read("sys/devices/system/clocksource/clocksource0/current_clocksource")
	switch m.ClockSource {
	case "":
		d.say(note, "clock", fmt.Sprintf("its source is not visible; a read takes %.0f ns", m.ClockNanos), "")
	case "hpet", "acpi_pm", "jiffies":
		d.say(warning, "clock", fmt.Sprintf("the source %s is slow: a read takes %.0f ns", m.ClockSource, m.ClockNanos), "see dmesg for why the kernel does not trust the tsc")
	default:
		d.say(fine, "clock", fmt.Sprintf("source %s; a read takes %.0f ns", m.ClockSource, m.ClockNanos), "")
	}
	files, _ := fs.Glob(d.System, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
	for _, f := range files {
		if g := read(f); g != "" && !slices.Contains(m.Governors, g) {
			m.Governors = append(m.Governors, g)
		}
	}
	slices.Sort(m.Governors)
	switch {
	case len(m.Governors) == 0:
		d.say(note, "CPU governor", "not visible, as in most virtual machines and containers", "")
	case len(m.Governors) == 1 && m.Governors[0] == "performance":
		d.say(fine, "CPU governor", "performance", "")
	default:
		d.say(warning, "CPU governor", strings.Join(m.Governors, ", ")+": times vary with the clock", "run sudo cpupower frequency-set -g performance")
	}
	d.disk(&m)
	d.out.Machine = m
}

func (d *examination) disk(m *machineFound) {
	dir := machine.Existing(filepath.Dir(d.Config.Store))
	u, err := disk.Usage(dir)
	if err != nil {
		d.say(note, "disk", "its free space is not visible: "+err.Error(), "")
		return
	}
	m.FreeBytes = &u.Free
	text := fmt.Sprintf("%.1f GB free at %s", float64(u.Free)/1e9, dir)
	if u.Free < leastFree {
		d.say(warning, "disk", text, "free some space, or give another path under store:")
		return
	}
	d.say(fine, "disk", text, "")
	if st, err := store.OpenReader(context.Background(), d.Config.Store); err == nil {
		st.Close()
		d.say(fine, "store", d.Config.Store+" exists; a run goes on with it", "")
	} else if !errors.Is(err, results.FaultMissing) {
		d.say(problem, "store", err.Error(), "")
	}
}
