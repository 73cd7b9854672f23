package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v3/disk"
	"github.com/urfave/cli/v2"

	"assay/harness/bench"
	"assay/harness/config"
	"assay/harness/machine"
	"assay/results"
	"assay/timing"
	"assay/timing/telemetry"
)

func (s streams) doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "look at servers, devices and the machine before a run, and say what to change",
		Description: "Every server of bench.yaml is asked who it is, and every model answers three short requests: new, repeated, and repeated with caches kept cold. Nothing is stored.\n" +
			"Exit code 0: a run can begin; 3: something stands in its way; with --strict, 1: something is worth a look.",
		Flags: []cli.Flag{configFlag(), jsonFlag(),
			&cli.BoolFlag{Name: "quick", Usage: "ask models nothing, and do not measure the devices' rates"},
			&cli.BoolFlag{Name: "strict", Usage: "exit with 1 when something is worth a look"},
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			cfg, err := config.Read(c.String("config"), bench.Known())
			if err != nil {
				return err
			}
			d := &doctor{cfg: cfg, srv: newServers(cfg), quick: c.Bool("quick"), sys: os.DirFS("/")}
			defer d.srv.close()
			d.examine(c.Context)
			if c.Bool("json") {
				if err := s.json(d.out); err != nil {
					return err
				}
			} else {
				d.out.print(s.out)
			}
			problems, warnings := d.out.count()
			switch {
			case c.Context.Err() != nil:
				return context.Cause(c.Context)
			case problems > 0:
				return &coded{exitEnvironment, fmt.Errorf("doctor: %d problems stand in the way of a run", problems)}
			case warnings > 0 && c.Bool("strict"):
				return &coded{exitFailures, fmt.Errorf("doctor: %d things are worth a look", warnings)}
			}
			return nil
		},
	}
}

// level is how much a finding matters.
type level string

const (
	fine    level = "ok"
	note    level = "note"
	warning level = "warning" // times or energies may suffer
	problem level = "problem" // a run cannot do what bench.yaml wants
)

// finding is one thing that the doctor says.
type finding struct {
	Level level  `json:"level"`
	About string `json:"about"`
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"`
}

// diagnosis is what the doctor found.
type diagnosis struct {
	Servers  []serverState `json:"servers"`
	Devices  []deviceState `json:"devices"`
	Machine  machineState  `json:"machine"`
	Findings []finding     `json:"findings"`
}

type deviceState struct {
	telemetry.Device
	Reports      []string `json:"reports"`                  // its measures
	ReadMicros   *float64 `json:"read_us,omitempty"`        // median duration of a read
	EnergyTickMS *float64 `json:"energy_tick_ms,omitempty"` // time between changes of the counter
	PowerMS      *float64 `json:"power_update_ms,omitempty"`
}

type machineState struct {
	Host        map[string]string `json:"host"`
	ClockSource string            `json:"clock_source,omitempty"`
	ClockNanos  float64           `json:"clock_read_ns"`
	Governors   []string          `json:"cpu_governors,omitempty"`
	FreeBytes   *uint64           `json:"free_bytes,omitempty"` // where the store is
	Stamps      timing.Stamps     `json:"arrival_stamps"`
}

type doctor struct {
	cfg   *config.Config
	srv   *servers
	quick bool
	sys   fs.FS // the root of the file system
	out   diagnosis
}

func (d *doctor) say(l level, about, text, do string) {
	d.out.Findings = append(d.out.Findings, finding{l, about, text, do})
}

func (o *diagnosis) count() (problems, warnings int) {
	for _, f := range o.Findings {
		switch f.Level {
		case problem:
			problems++
		case warning:
			warnings++
		}
	}
	return problems, warnings
}

func (o *diagnosis) print(w interface{ Write([]byte) (int, error) }) {
	for _, f := range o.Findings {
		line := fmt.Sprintf("%-8s %s: %s", f.Level, f.About, f.Text)
		if f.Do != "" {
			line += "; " + f.Do
		}
		fmt.Fprintln(w, line)
	}
	problems, warnings := o.count()
	fmt.Fprintf(w, "%d problems, %d warnings\n", problems, warnings)
}

func (d *doctor) examine(ctx context.Context) {
	for _, b := range d.cfg.Backends {
		d.out.Servers = append(d.out.Servers, d.server(ctx, b))
	}
	d.devices(ctx)
	d.machine()
}

// devices looks for what a run would watch, and measures how often it changes.
func (d *doctor) devices(ctx context.Context) {
	probes, bad := machine.Find(d.cfg, d.srv.activity)
	for _, p := range bad {
		l := note
		if !d.cfg.Telemetry.Auto {
			l = warning // it was asked for by name
		}
		d.say(l, "device "+p.Source, strings.TrimPrefix(strings.TrimSpace(p.Device+" "+p.What), " "), p.Do)
	}
	states := make([]deviceState, len(probes))
	clock := timing.NewClock()
	var wg sync.WaitGroup
	for i, p := range probes {
		states[i].Device = p.Describe()
		for _, m := range states[i].Measures {
			states[i].Reports = append(states[i].Reports, m.String())
		}
		if d.quick {
			continue
		}
		wg.Go(func() {
			r, err := telemetry.MeasureRates(ctx, clock, p, 2*time.Second)
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
	if !gpu && len(d.cfg.Telemetry.Devices) > 0 {
		d.say(warning, "devices", "no GPU is watched: energies will be unknown", "")
	} else if !gpu {
		d.say(note, "devices", "no GPU is watched: energies will be unknown", "")
	}
	d.out.Devices = states
	for _, st := range d.cfg.Studies {
		if st.CoolDown.Celsius != nil && !slices.ContainsFunc(states, func(s deviceState) bool {
			return slices.Contains(s.Measures, telemetry.TempCore) || slices.Contains(s.Measures, telemetry.TempHotspot)
		}) {
			d.say(problem, "study "+st.Name, "cool_down waits for a temperature and no GPU reports one", "give only seconds")
		}
	}
}

// leastFree is what a store of a large run and its report need.
const leastFree = 2 << 30

func (d *doctor) machine() {
	m := machineState{Host: machine.Facts(), Stamps: timing.StampsUser}
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
		b, err := fs.ReadFile(d.sys, path)
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
	files, _ := fs.Glob(d.sys, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
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

func (d *doctor) disk(m *machineState) {
	dir := machine.Existing(filepath.Dir(d.cfg.Store))
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
	if st, err := results.OpenReader(context.Background(), d.cfg.Store); err == nil {
		st.Close()
		d.say(fine, "store", d.cfg.Store+" exists; a run goes on with it", "")
	} else if !errors.Is(err, results.FaultMissing) {
		d.say(problem, "store", err.Error(), "")
	}
}
