package amdgpu

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"assay/timing/telemetry"
)

// tree is a sysfs with the files of its cards.
type tree fstest.MapFS

func (t tree) put(name, content string) {
	t[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o444}
}

// card adds a card with files below its device folder; every value ends in a
// newline, as in sysfs.
func (t tree) card(n, pci string, files map[string]string) {
	dir := "class/drm/card" + n + "/device/"
	t.put(dir+"vendor", "0x1002\n")
	t.put(dir+"uevent", "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_SLOT_NAME="+pci+"\n")
	for name, content := range files {
		if name != "gpu_metrics" {
			content += "\n"
		}
		t.put(dir+name, content)
	}
	t.put("bus/pci/devices/"+pci+"/vendor", "0x1002\n")
	t.put("bus/pci/devices/"+pci+"/class", "0x030000\n")
}

func metrics(t *testing.T, name string) string {
	t.Helper()
	for _, r := range revisions() {
		if r.name == name {
			return string(r.bytes)
		}
	}
	t.Fatalf("no table %q", name)
	return ""
}

// radeon is a Radeon RX 7900 XTX.
func radeon(t *testing.T) map[string]string {
	return map[string]string{
		"device": "0x744c", "vbios_version": "113-D70200XT-P02", "unique_id": "8bc1f2",
		"gpu_busy_percent": "98", "mem_busy_percent": "31",
		"mem_info_vram_total": "25753026560", "mem_info_vram_used": "9663676416", "mem_info_gtt_total": "33000000000", "mem_info_gtt_used": "77",
		"pp_dpm_sclk": "0: 500Mhz\n1: 2371Mhz *\n2: 2526Mhz", "pp_dpm_mclk": "0: 96Mhz\n1: 1249Mhz *",
		"gpu_metrics":       metrics(t, "v1.3"),
		"hwmon/hwmon3/name": "amdgpu", "hwmon/hwmon3/power1_average": "303123456", "hwmon/hwmon3/power1_cap": "327000000",
		"hwmon/hwmon3/temp1_label": "edge", "hwmon/hwmon3/temp1_input": "52000",
		"hwmon/hwmon3/temp2_label": "junction", "hwmon/hwmon3/temp2_input": "64000",
		"hwmon/hwmon3/temp3_label": "mem", "hwmon/hwmon3/temp3_input": "71000",
		"hwmon/hwmon3/freq1_label": "sclk", "hwmon/hwmon3/freq1_input": "2398000000",
		"hwmon/hwmon3/freq2_label": "mclk", "hwmon/hwmon3/freq2_input": "1249000000",
	}
}

// instinct is an MI300X, or whatever reports the named table.
func instinct(t *testing.T, table string) map[string]string {
	return map[string]string{
		"device": "0x74a1", "product_name": "AMD Instinct MI300X", "gpu_busy_percent": "98", "mem_info_vram_total": "206141652992", "mem_info_vram_used": "1000",
		"gpu_metrics": metrics(t, table), "hwmon/hwmon7/name": "amdgpu", "hwmon/hwmon7/power1_input": "305500000",
	}
}

func only(t *testing.T, sys fs.FS) (telemetry.Probe, []telemetry.Problem) {
	t.Helper()
	probes, problems := Find(sys, fstest.MapFS{})
	if len(probes) != 1 {
		t.Fatalf("%d probes, %v", len(probes), problems)
	}
	return probes[0], problems
}

func read(t *testing.T, p telemetry.Probe) map[telemetry.Measure]int64 {
	t.Helper()
	var s telemetry.Sample
	if err := p.Read(&s); err != nil {
		t.Fatal(err)
	}
	return values(&s)
}

func TestADiscreteCard(t *testing.T) {
	sys := tree{}
	sys.card("0", "0000:03:00.0", radeon(t))
	sys.put("class/drm/card0-DP-1/status", "connected\n")
	sys.put("class/drm/card1/device/vendor", "0x10de\n") // somebody else's
	sys.put("module/amdgpu/version", "6.12.12\n")
	p, problems := only(t, fstest.MapFS(sys))
	if len(problems) != 0 {
		t.Errorf("problems %v", problems)
	}
	want := map[telemetry.Measure]int64{
		telemetry.PowerAverage: 303_123, telemetry.Energy: 1_000_000_000, telemetry.CoreBusy: 98, telemetry.MemoryBusy: 31,
		telemetry.MemoryUsed: 9663676416, telemetry.TempCore: 52_000, telemetry.TempHotspot: 64_000, telemetry.TempMemory: 71_000,
		telemetry.ClockCore: 2398, telemetry.ClockMemory: 1249,
		telemetry.Throttle: telemetry.ThrottlePower | telemetry.ThrottleThermal, telemetry.ThrottleRaw: 1<<3 | 1<<36,
	}
	if got := read(t, p); !maps.Equal(got, want) {
		t.Errorf("read\n%v, want\n%v", got, want)
	}
	d := p.Describe()
	if d.Source != "amdgpu" || d.ID != "0000:03:00.0" || d.Name != "AMD GPU 0x744c" || d.Kind != telemetry.GPU || d.EnergyWraps != 65_536_000_000 {
		t.Errorf("%+v", d)
	}
	if !slices.Equal(d.Measures, slices.Sorted(maps.Keys(want))) {
		t.Errorf("measures %v", d.Measures)
	}
	for name, want := range map[string]string{
		"model": "0x744c", "uuid": "8bc1f2", "vbios": "113-D70200XT-P02", "driver": "6.12.12", "gpu_metrics": "v1.3",
		"memory_total_bytes": "25753026560", "power_limit_mw": "327000",
	} {
		if v, ok := d.Fact(name); !ok || v != want {
			t.Errorf("fact %s is %q, want %q", name, v, want)
		}
	}
	// The next read sees what changed, and goes without what is gone.
	sys.put("class/drm/card0/device/gpu_busy_percent", "3\n")
	delete(sys, "class/drm/card0/device/hwmon/hwmon3/temp1_input")
	delete(sys, "class/drm/card0/device/hwmon/hwmon3/power1_average")
	got := read(t, p)
	if got[telemetry.CoreBusy] != 3 || got[telemetry.TempCore] != 51_000 || got[telemetry.PowerAverage] != 305_000 {
		t.Errorf("later: %v", got)
	}
	clear(sys)
	var s telemetry.Sample
	if err := p.Read(&s); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "0000:03:00.0") {
		t.Errorf("a card that is gone: %v", err)
	}
}

func TestEveryTableInATree(t *testing.T) {
	for _, r := range revisions() {
		sys := tree{}
		sys.card("0", "0000:05:00.0", instinct(t, r.name))
		p, problems := only(t, fstest.MapFS(sys))
		got := read(t, p)
		if got[telemetry.PowerInstant] != 305_500 || got[telemetry.CoreBusy] != 98 || got[telemetry.MemoryUsed] != 1000 {
			t.Errorf("%s: %v", r.name, got)
		}
		_, counted := got[telemetry.Energy]
		if counted != (r.name[1] == '1') || len(problems) != 0 {
			t.Errorf("%s: counter %t, problems %v", r.name, counted, problems)
		}
		if wraps := p.Describe().EnergyWraps > 0; wraps != (counted && r.name[3] <= '3') {
			t.Errorf("%s wraps: %t", r.name, wraps)
		}
	}
}

func TestAnAPUReportsPowerUtilisationAndMemoryOnly(t *testing.T) {
	for _, name := range []string{"v2.1", "v2.2", "v2.3", "v2.4", "v3.0"} {
		sys := tree{}
		sys.card("1", "0000:c4:00.0", map[string]string{
			"device": "0x1586", "gpu_metrics": metrics(t, name), "gpu_busy_percent": "42",
			"mem_info_vram_total": "536870912", "mem_info_vram_used": "400000000", "mem_info_gtt_total": "60000000000", "mem_info_gtt_used": "20000000000",
			"hwmon/hwmon5/name": "amdgpu", "hwmon/hwmon5/power1_average": "55000000", "hwmon/hwmon5/temp1_label": "edge", "hwmon/hwmon5/temp1_input": "60000",
		})
		p, problems := only(t, fstest.MapFS(sys))
		want := map[telemetry.Measure]int64{telemetry.PowerAverage: 55_000, telemetry.CoreBusy: 42, telemetry.MemoryUsed: 20_400_000_000}
		if got := read(t, p); !maps.Equal(got, want) || len(problems) != 0 {
			t.Errorf("%s: %v, problems %v", name, got, problems)
		}
		if v, _ := p.Describe().Fact("memory_total_bytes"); v != "60536870912" || p.Describe().EnergyWraps != 0 {
			t.Errorf("%s: %+v", name, p.Describe())
		}
	}
}

func TestTheSecondDieOfAnMI200HasNoEnergyOfItsOwn(t *testing.T) {
	sys := tree{}
	die := func(power uint16, energy uint64) string {
		return string(table(1, 3, func(x *v13) { early(&x.v11); x.Power, x.Energy, x.Causes = power, energy, 0 }))
	}
	first, second := instinct(t, "v1.3"), instinct(t, "v1.3")
	first["gpu_metrics"], second["gpu_metrics"] = die(410, 9_000_000*unit), die(0, 0)
	first["hwmon/hwmon7/power1_average"], second["hwmon/hwmon7/power1_average"] = "410000000", "0"
	delete(first, "hwmon/hwmon7/power1_input")
	delete(second, "hwmon/hwmon7/power1_input")
	sys.card("9", "0000:2f:00.0", first)
	sys.card("10", "0000:32:00.0", second)
	probes, problems := Find(fstest.MapFS(sys), fstest.MapFS{})
	if len(probes) != 2 || len(problems) != 1 || problems[0].Device != "0000:32:00.0" || !strings.Contains(problems[0].What, "second die of an MI200") {
		t.Fatalf("%v %v", probes, problems)
	}
	a, b := read(t, probes[0]), read(t, probes[1])
	if a[telemetry.Energy] != 9_000_000_000_000 || a[telemetry.PowerAverage] != 410_000 {
		t.Errorf("first die: %v", a)
	}
	for _, m := range []telemetry.Measure{telemetry.Energy, telemetry.PowerAverage, telemetry.PowerInstant} {
		if v, ok := b[m]; ok || slices.Contains(probes[1].Describe().Measures, m) {
			t.Errorf("second die: %s is %d", m, v)
		}
	}
	if b[telemetry.CoreBusy] != 98 {
		t.Errorf("second die: %v", b)
	}
}

func TestTimeSpentThrottledBecomesThrottled(t *testing.T) {
	sys := tree{}
	files := instinct(t, "v1.8")
	sys.card("0", "0000:05:00.0", files)
	p, _ := only(t, fstest.MapFS(sys))
	if !slices.Contains(p.Describe().Measures, telemetry.Throttle) {
		t.Errorf("measures %v", p.Describe().Measures)
	}
	set := func(change func(*residency)) {
		sys.put("class/drm/card0/device/gpu_metrics", string(table(1, 8, func(x *v18) { begin(&x.start); stay(&x.residency); change(&x.residency) })))
	}
	if got := read(t, p); got[telemetry.Throttle] != 0 {
		t.Errorf("nothing happened: %v", got)
	}
	for _, c := range []struct {
		change func(*residency)
		want   int64
	}{
		{func(r *residency) { r.PPT = 50 }, telemetry.ThrottlePower},
		{func(r *residency) { r.PPT = 50 }, 0},
		{func(r *residency) { r.PPT, r.HBM = 50, 51 }, telemetry.ThrottleThermal},
		{func(r *residency) { r.PPT, r.HBM, r.Prochot, r.Socket = 51, 51, 9, 9 }, telemetry.ThrottlePower | telemetry.ThrottleHardware | telemetry.ThrottleThermal},
	} {
		set(c.change)
		if got, ok := read(t, p)[telemetry.Throttle]; !ok || got != c.want {
			t.Errorf("throttle %d %t, want %d", got, ok, c.want)
		}
	}
}

// denied is a sysfs in which some files may not be read.
type denied struct {
	fs.FS
	what string
}

func (d denied) Open(name string) (fs.File, error) {
	if strings.Contains(name, d.what) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return d.FS.Open(name)
}

func TestWhatIsInTheWayIsSaid(t *testing.T) {
	for _, c := range []struct {
		name   string
		files  func(map[string]string)
		deny   string
		found  bool
		want   []string // one per problem
		energy bool
	}{
		{"no gpu_metrics", func(m map[string]string) { delete(m, "gpu_metrics") }, "", true, []string{"there is no gpu_metrics"}, false},
		{"gpu_metrics denied", func(map[string]string) {}, "gpu_metrics", true, []string{"gpu_metrics must not be read, so the energy counter is unknown; run as root, or join the groups video and render"}, false},
		{"power denied", func(map[string]string) {}, "power1_input", true, []string{"power1_input must not be read, so power_instant_mw is unknown"}, true},
		{"v1.9", func(m map[string]string) { m["gpu_metrics"] = "\x60\x00\x01\x09" + strings.Repeat("x", 92) }, "", true, []string{"gpu_metrics v1.9 is not supported"}, false},
		{"no counter", func(m map[string]string) {
			m["gpu_metrics"] = string(table(1, 1, func(x *v11) { early(x); x.Energy = 0xFFFFFFFF }))
		}, "", true, []string{"gpu_metrics v1.1 of this GPU reports no energy counter"}, false},
		{"no hwmon", func(m map[string]string) { m["hwmon/hwmon7/name"] = "other" }, "", true, []string{"no hwmon sensors"}, true},
		{"nothing", func(m map[string]string) { clear(m) }, "", false, []string{"there is no gpu_metrics", "no hwmon sensors", "none of the files"}, false},
		{"another driver", func(m map[string]string) { m["uevent"] = "DRIVER=radeon\nPCI_SLOT_NAME=0000:05:00.0" }, "", false, []string{"is run by the driver radeon"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := instinct(t, "v1.5")
			c.files(files)
			sys := tree{}
			sys.card("0", "0000:05:00.0", files)
			var root fs.FS = fstest.MapFS(sys)
			if c.deny != "" {
				root = denied{root, c.deny}
			}
			probes, problems := Find(root, fstest.MapFS{})
			if len(probes) == 1 != c.found || len(problems) != len(c.want) {
				t.Fatalf("%d probes, problems %v", len(probes), problems)
			}
			for i, w := range c.want {
				if !strings.Contains(problems[i].String(), w) || problems[i].Device != "0000:05:00.0" {
					t.Errorf("%q does not say %q", problems[i], w)
				}
			}
			if c.found {
				if _, ok := read(t, probes[0])[telemetry.Energy]; ok != c.energy {
					t.Errorf("counter: %t", ok)
				}
			}
		})
	}
}

func TestGPUsWithoutADriverAreNamed(t *testing.T) {
	sys := tree{}
	sys.card("0", "0000:03:00.0", radeon(t))
	for pci, class := range map[string]string{"0000:04:00.0": "0x120000", "0000:05:00.0": "0x038000", "0000:06:00.0": "0x040300"} {
		sys.put("bus/pci/devices/"+pci+"/vendor", "0x1002\n")
		sys.put("bus/pci/devices/"+pci+"/class", class+"\n")
	}
	_, problems := only(t, fstest.MapFS(sys))
	if len(problems) != 2 || problems[0].Device != "0000:04:00.0" || problems[1].Device != "0000:05:00.0" || !strings.Contains(problems[0].Do, "modprobe amdgpu") {
		t.Errorf("%v", problems)
	}
}

func TestWithoutAMDThereIsNothingToSay(t *testing.T) {
	for name, sys := range map[string]fs.FS{"empty": fstest.MapFS{}, "missing": os.DirFS(t.TempDir() + "/none")} {
		if probes, problems := Find(sys, fstest.MapFS{}); len(probes)+len(problems) != 0 {
			t.Errorf("%s: %v %v", name, probes, problems)
		}
	}
}

// TestFindOnDisk writes the tree out, with the links that sysfs has.
func TestFindOnDisk(t *testing.T) {
	sys := tree{}
	sys.card("0", "0000:03:00.0", radeon(t))
	dir := t.TempDir()
	if err := os.CopyFS(dir, fstest.MapFS(sys)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir+"/class/drm/card0/device", dir+"/bus/pci/devices/gpu"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../../bus/pci/devices/gpu", dir+"/class/drm/card0/device"); err != nil {
		t.Fatal(err)
	}
	p, problems := only(t, os.DirFS(dir))
	if got := read(t, p); got[telemetry.PowerAverage] != 303_123 || got[telemetry.Energy] != 1_000_000_000 || len(problems) != 0 {
		t.Errorf("%v, problems %v", got, problems)
	}
}

func TestFindOnThisMachine(t *testing.T) {
	probes, _ := Find(os.DirFS("/sys"), os.DirFS("/proc"))
	for _, p := range probes {
		if len(read(t, p)) == 0 {
			t.Errorf("%s reports nothing", p.Describe().ID)
		}
	}
}

func TestClockTables(t *testing.T) {
	for in, want := range map[string]string{
		"0: 500Mhz\n1: 1500Mhz *\n2: 2000Mhz": "1500", "S: 19Mhz *\n0: 800Mhz": "19", "0: 96MHz*": "96",
	} {
		if got, err := starred(in); err != nil || got != want {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
	for _, in := range []string{"", "0: 500Mhz", "\n\n"} {
		if got, err := starred(in); err == nil {
			t.Errorf("%q: %q", in, got)
		}
	}
	p := &probe{sys: fstest.MapFS{"a": {Data: []byte("-3\n")}, "b": {Data: bytes.Repeat([]byte("x"), 99)}, "c": {Data: []byte("0: *")}}}
	for _, f := range []file{{path: "a", over: 1}, {path: "b", over: 1}, {path: "c", over: 1, active: true}, {path: "d", over: 1}} {
		if v, err := p.number(f); err == nil {
			t.Errorf("%s: %d", f.path, v)
		}
	}
}
