package amdgpu

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"assay/timing/telemetry"
)

// open adds a file that a process has open, with what the kernel says of it.
func open(proc fstest.MapFS, pid, fd, path, info string) {
	proc[pid+"/fd/"+fd] = &fstest.MapFile{Data: []byte(path), Mode: fs.ModeSymlink}
	proc[pid+"/fdinfo/"+fd] = &fstest.MapFile{Data: []byte("pos:\t0\nflags:\t02100002\n" + info)}
}

func fdinfo(pci, id, vram string) string {
	return "drm-driver:\tamdgpu\ndrm-client-id:\t" + id + "\ndrm-pdev:\t" + pci + "\npasid:\t32771\ndrm-memory-vram:\t" + vram + "\ndrm-engine-gfx:\t0 ns\n"
}

func TestWhoUsesAnAMDGPU(t *testing.T) {
	const one, two = "0000:03:00.0", "0000:83:00.0"
	sys := tree{}
	sys.card("0", one, radeon(t))
	sys.card("1", two, radeon(t))
	proc := fstest.MapFS{"self/fd/1": {}, "1/fd/0": {Data: []byte("/dev/null"), Mode: fs.ModeSymlink}}
	open(proc, "410", "5", "/dev/dri/renderD128", fdinfo(one, "7", "4194304 KiB"))
	open(proc, "410", "6", "/dev/dri/renderD128", fdinfo(one, "7", "4194304 KiB")) // the same client again
	open(proc, "410", "7", "/dev/dri/renderD128", fdinfo(one, "8", "1 MiB"))
	open(proc, "410", "8", "/dev/dri/renderD129", fdinfo(two, "9", "0"))
	open(proc, "99", "5", "/dev/dri/card0", fdinfo(one, "3", "65536 KiB"))
	open(proc, "55", "5", "/dev/dri/renderD128", "drm-driver:\ti915\ndrm-pdev:\t"+one+"\n")
	open(proc, "56", "5", "/dev/dri/renderD128", "drm-driver:\tamdgpu\ndrm-pdev:\t"+one+"\ndrm-client-id:\t11\n")
	open(proc, "57", "5", "/tmp/x", fdinfo(one, "12", "1 KiB"))
	probes, _ := Find(fstest.MapFS(sys), proc)
	if len(probes) != 2 {
		t.Fatal(len(probes))
	}
	list := func(i int) []telemetry.Process {
		t.Helper()
		l, err := probes[i].(telemetry.Lister).Processes()
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	a := list(0)
	if len(a) != 3 || a[0].PID != 56 || a[1].PID != 99 || a[2].PID != 410 {
		t.Fatalf("%+v", a)
	}
	if a[0].Memory != nil {
		t.Errorf("memory that the kernel does not tell: %d", *a[0].Memory)
	}
	if a[1].Memory == nil || *a[1].Memory != 64<<20 || !a[1].Draws {
		t.Errorf("the desktop: %+v", a[1])
	}
	if a[2].Memory == nil || *a[2].Memory != 4<<30+1<<20 || a[2].Draws {
		t.Errorf("the server: %+v", a[2])
	}
	if b := list(1); len(b) != 1 || b[0].PID != 410 || b[0].Memory == nil || *b[0].Memory != 0 {
		t.Errorf("the second card: %+v", b)
	}
	for i, want := range []string{"0", "1"} {
		if v, _ := probes[i].Describe().Fact("index"); v != want {
			t.Errorf("index %q", v)
		}
	}
}

func TestClientsThatCannotBeSeen(t *testing.T) {
	c := &clients{proc: fstest.MapFS{"7/stat": {}}} // no fd: as another user's
	if l, err := c.on("0000:03:00.0"); err == nil {
		t.Errorf("nobody could be seen, and it is nobody: %v", l)
	}
	for v, want := range map[string]uint64{"5": 5, "5 KiB": 5 << 10, "2 MiB": 2 << 20} {
		if b, ok := bytesOf(v); !ok || b != want {
			t.Errorf("%q is %d", v, b)
		}
	}
	for _, v := range []string{"", "x", "-1", "1 GB", "99999999999999999999", "18446744073709551615 KiB"} {
		if b, ok := bytesOf(v); ok {
			t.Errorf("%q is %d", v, b)
		}
	}
}

func FuzzClient(f *testing.F) {
	f.Add(fdinfo("0000:03:00.0", "7", "4194304 KiB"))
	f.Add("drm-driver: amdgpu\ndrm-pdev")
	f.Add("drm-driver:amdgpu\ndrm-memory-vram:0")
	f.Fuzz(func(t *testing.T, info string) {
		if pci, _, m := parseClient(info); pci == "" && m.known {
			t.Error("memory on no card")
		}
	})
}
