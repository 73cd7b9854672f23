package rapl

import (
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"assay/timing"
	"assay/timing/telemetry"
)

func zone(t fstest.MapFS, id, name, energy, wraps string) {
	for file, content := range map[string]string{"name": name, "energy_uj": energy, "max_energy_range_uj": wraps} {
		if content != "" {
			t["class/powercap/"+id+"/"+file] = &fstest.MapFile{Data: []byte(content + "\n")}
		}
	}
}

// twoSockets is a server with two packages, each with cores and memory.
func twoSockets() fstest.MapFS {
	t := fstest.MapFS{"class/powercap/intel-rapl/enabled": {Data: []byte("1\n")}}
	zone(t, "intel-rapl:0", "package-0", "1000", "262143328850")
	zone(t, "intel-rapl:0:0", "core", "700", "262143328850")
	zone(t, "intel-rapl:0:1", "dram", "90", "65712999613")
	zone(t, "intel-rapl:1", "package-1", "2000", "262143328850")
	zone(t, "intel-rapl:1:0", "dram", "95", "65712999613")
	zone(t, "intel-rapl:2", "psys", "5000", "262143328850")
	zone(t, "intel-rapl-mmio:0", "package-0", "1000", "262143328850") // the first one again
	return t
}

func TestPackagesAndMemory(t *testing.T) {
	sys := twoSockets()
	probes, problems := Find(sys)
	if len(problems) != 0 || len(probes) != 4 {
		t.Fatalf("%d probes, problems %v", len(probes), problems)
	}
	for i, want := range []struct {
		id, name string
		kind     telemetry.Kind
		wraps    uint64
		uj       int64
	}{
		{"intel-rapl:0", "package-0", telemetry.CPU, 262143328851, 1000},
		{"intel-rapl:0:1", "package-0 dram", telemetry.Memory, 65712999614, 90},
		{"intel-rapl:1", "package-1", telemetry.CPU, 262143328851, 2000},
		{"intel-rapl:1:0", "package-1 dram", telemetry.Memory, 65712999614, 95},
	} {
		d := probes[i].Describe()
		if d.Source != "rapl" || d.ID != want.id || d.Name != want.name || d.Kind != want.kind || d.EnergyWraps != want.wraps {
			t.Errorf("%+v, want %+v", d, want)
		}
		var s telemetry.Sample
		if err := probes[i].Read(&s); err != nil {
			t.Fatal(err)
		}
		if v, ok := s.Get(telemetry.Energy); !ok || v != want.uj || s.Len() != 1 {
			t.Errorf("%s reads %d", want.id, v)
		}
	}
	zone(sys, "intel-rapl:0", "", "nonsense", "")
	var s telemetry.Sample
	if err := probes[0].Read(&s); err == nil || !strings.Contains(err.Error(), `intel-rapl:0: class/powercap/intel-rapl:0/energy_uj holds "nonsense"`) || s.Len() > 0 {
		t.Errorf("nonsense: %v", err)
	}
}

// denied is a sysfs in which only root may read energies, as in Linux since 5.10.
type denied struct{ fs.FS }

func (d denied) Open(name string) (fs.File, error) {
	if strings.HasSuffix(name, "/energy_uj") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return d.FS.Open(name)
}

func TestAMissingPermissionIsSaidOnceWithWhatToDo(t *testing.T) {
	probes, problems := Find(denied{twoSockets()})
	want := "rapl: the energy of the CPU must not be read (intel-rapl:0, intel-rapl:0:1, intel-rapl:1, intel-rapl:1:0); " +
		"run as root, or once: sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj"
	if len(probes) != 0 || len(problems) != 1 || problems[0].String() != want {
		t.Errorf("%v %v", probes, problems)
	}
}

func TestOtherTroubles(t *testing.T) {
	broken, endless := fstest.MapFS{}, fstest.MapFS{}
	zone(broken, "intel-rapl:0", "package-0", "12 J", "100")
	zone(endless, "intel-rapl:0", "package-0", "12", "")
	for _, c := range []struct {
		name   string
		sys    fs.FS
		probes int
		want   string
	}{
		{"no powercap", fstest.MapFS{}, 0, "modprobe intel_rapl_msr"},
		{"no sysfs", os.DirFS(t.TempDir() + "/none"), 0, "no energy counter here"},
		{"no number", broken, 0, `holds "12 J"`},
		{"no end", endless, 1, "not known where the counter wraps"},
	} {
		probes, problems := Find(c.sys)
		if len(probes) != c.probes || len(problems) != 1 || !strings.Contains(problems[0].String(), c.want) {
			t.Errorf("%s: %d probes, %v", c.name, len(probes), problems)
		}
	}
}

// TestTheWrapIsAccountedFor reads a package at 100 W across the counter's end.
func TestTheWrapIsAccountedFor(t *testing.T) {
	sys := twoSockets()
	probes, _ := Find(sys)
	d := probes[0].Describe()
	var samples []telemetry.Sample
	for i := range uint64(100) {
		uj := (d.EnergyWraps - 250_000_000 + i*5_000_000) % d.EnergyWraps
		zone(sys, "intel-rapl:0", "package-0", strconv.FormatUint(uj, 10), "")
		s := telemetry.Sample{At: time.Duration(i) * 50 * time.Millisecond}
		if err := probes[0].Read(&s); err != nil {
			t.Fatal(err)
		}
		samples = append(samples, s)
	}
	m, err := timing.NewMeter(telemetry.Readings(d, slices.Values(samples)))
	if err != nil {
		t.Fatal(err)
	}
	e, ok := m.Window(timing.Window{From: time.Second, To: 4 * time.Second})
	if !ok || e.Gross < 299_000 || e.Gross > 301_000 || len(e.Flags) != 2 || e.Flags[0] != timing.FlagUnchecked || e.Flags[1] != timing.FlagWrap {
		t.Errorf("%+v", e)
	}
}

func TestFindOnThisMachine(t *testing.T) {
	probes, problems := Find(os.DirFS("/sys"))
	if len(probes)+len(problems) == 0 {
		t.Error("nothing found and nothing said")
	}
	for _, p := range probes {
		var s telemetry.Sample
		if err := p.Read(&s); err != nil {
			t.Error(err)
		}
	}
}
