// Package host reads the machine as a whole: processor time, memory and disks.
package host

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/disk"
	"github.com/shirou/gopsutil/v3/mem"

	"assay/timing/telemetry"
)

const source = "host"

// freeEvery is how often free disk space is looked up.
const freeEvery = time.Second

// system is what is asked of the operating system; tests have one of their own.
type system struct {
	times  func(perCPU bool) ([]cpu.TimesStat, error)
	memory func() (*mem.VirtualMemoryStat, error)
	disks  func(names ...string) (map[string]disk.IOCountersStat, error)
	usage  func(path string) (*disk.UsageStat, error)
	info   func() ([]cpu.InfoStat, error)
	sys    fs.FS // sysfs, to tell disks from their partitions; nil: not Linux
}

type probe struct {
	system  system
	path    string
	disks   []string // whole disks; empty: not counted
	device  telemetry.Device
	freeAt  time.Time
	figures []figure
}

type figure struct {
	what string
	read func(s *telemetry.Sample) error
}

// Find is the machine itself. path is where the store is; its file system's free
// space is watched.
func Find(path string) ([]telemetry.Probe, []telemetry.Problem) {
	s := system{cpu.Times, mem.VirtualMemory, disk.IOCounters, disk.Usage, cpu.Info, nil}
	if runtime.GOOS == "linux" {
		s.sys = os.DirFS("/sys")
	}
	return find(s, path)
}

func find(sys system, path string) ([]telemetry.Probe, []telemetry.Problem) {
	p := &probe{system: sys, path: path}
	p.device = telemetry.Device{Source: source, ID: "host", Name: runtime.GOOS + "/" + runtime.GOARCH, Kind: telemetry.Host}
	p.device.Facts = []telemetry.Fact{{Name: "cores", Value: strconv.Itoa(runtime.NumCPU())}}
	if infos, err := sys.info(); err == nil && len(infos) > 0 && infos[0].ModelName != "" {
		p.device.Name = infos[0].ModelName
	}
	if m, err := sys.memory(); err == nil {
		p.device.Facts = append(p.device.Facts, telemetry.Fact{Name: "memory_total_bytes", Value: strconv.FormatUint(m.Total, 10)})
	}
	var problems []telemetry.Problem
	say := func(what string) { problems = append(problems, telemetry.Problem{Source: source, What: what}) }
	var err error
	if p.disks, err = wholeDisks(sys); err != nil {
		say("disk traffic is unknown: " + err.Error())
	} else if len(p.disks) == 0 {
		say("disk traffic is unknown: no disk is visible here, as in most containers")
	}
	for _, f := range []figure{{"processor time", p.cpu}, {"memory", p.memory}, {"disk traffic", p.traffic}, {"free disk space", p.free}} {
		if f.what == "disk traffic" && len(p.disks) == 0 {
			continue
		}
		var s telemetry.Sample
		if err := f.read(&s); err != nil {
			say(f.what + " is unknown: " + err.Error())
			continue
		}
		p.figures = append(p.figures, f)
		for m := range telemetry.Measures() {
			if _, ok := s.Get(m); ok {
				p.device.Measures = append(p.device.Measures, m)
			}
		}
	}
	if len(p.figures) == 0 {
		return nil, problems
	}
	return []telemetry.Probe{p}, problems
}

// wholeDisks are the disks whose traffic adds up: not partitions, and not the
// devices that the kernel builds from other ones.
func wholeDisks(sys system) ([]string, error) {
	all, err := sys.disks()
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range all {
		if sys.sys != nil {
			if _, err := fs.Stat(sys.sys, "block/"+name+"/device"); err != nil {
				continue
			}
		}
		names = append(names, name)
	}
	return names, nil
}

// Describe says which machine this is.
func (p *probe) Describe() telemetry.Device { return p.device }

// Read reads what could be read at the start.
func (p *probe) Read(s *telemetry.Sample) error {
	var first error
	for _, f := range p.figures {
		if err := f.read(s); err != nil && first == nil {
			first = fmt.Errorf("host: reading %s: %w", f.what, err)
		}
	}
	if s.Len() == 0 {
		return first
	}
	return nil
}

// cpu is the time that all cores together worked, for whatever purpose; waiting
// for a disk is not work.
func (p *probe) cpu(s *telemetry.Sample) error {
	times, err := p.system.times(false)
	if err != nil {
		return err
	}
	if len(times) != 1 {
		return fmt.Errorf("%d totals of processor times", len(times))
	}
	t := times[0]
	busy := t.User + t.System + t.Nice + t.Irq + t.Softirq + t.Steal
	s.Set(telemetry.CPUBusy, int64(math.Round(busy*1000)))
	return nil
}

func (p *probe) memory(s *telemetry.Sample) error {
	m, err := p.system.memory()
	if err != nil {
		return err
	}
	s.Set(telemetry.MemoryUsed, int64(m.Total-min(m.Available, m.Total)))
	return nil
}

func (p *probe) traffic(s *telemetry.Sample) error {
	all, err := p.system.disks(p.disks...)
	if err != nil {
		return err
	}
	var read, written int64
	for _, name := range p.disks {
		d, ok := all[name]
		if !ok {
			return fmt.Errorf("the disk %s is gone", name)
		}
		read += int64(d.ReadBytes)
		written += int64(d.WriteBytes)
	}
	s.Set(telemetry.DiskRead, read)
	s.Set(telemetry.DiskWritten, written)
	return nil
}

func (p *probe) free(s *telemetry.Sample) error {
	now := time.Now()
	if now.Sub(p.freeAt) < freeEvery {
		return nil
	}
	p.freeAt = now
	u, err := p.system.usage(p.path)
	if err != nil {
		return err
	}
	s.Set(telemetry.DiskFree, int64(u.Free))
	return nil
}
