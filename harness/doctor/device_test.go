package doctor

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"assay/backends"
	"assay/harness/config"
	"assay/harness/machine"
	"assay/results"
	"assay/timing/telemetry"
)

// machineOf has llama-server (10) at 127.0.0.1:8080 and somebody's python (4001).
func machineOf() machine.Site {
	link := func(to string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink} }
	stat := func(pid int, name string) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, "%d (%s) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 5 1 1", pid, name)}
	}
	return machine.Site{Processes: machine.NewTable(fstest.MapFS{"self/ns/pid": link("pid:[4026531836]"), "10/stat": stat(10, "llama-server"), "10/fd/3": link("socket:[71]"), "4001/stat": stat(4001, "python"),
		"net/tcp": {Data: []byte("  sl  local_address rem_address   st\n   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 71 1\n")}})}
}

func gpu(n int, pids ...int) machine.GPU {
	g := machine.GPU{Device: telemetry.Device{ID: fmt.Sprint("GPU-", n), Name: "T4", Kind: telemetry.GPU, Facts: []telemetry.Fact{{Name: "index", Value: fmt.Sprint(n)}}}, Users: machine.Users{Listed: true}}
	for _, p := range pids {
		g.Users.Processes = append(g.Users.Processes, telemetry.Process{PID: p})
	}
	return g
}

func TestTheDoctorSaysWhereServersAreAndWhoseGPUs(t *testing.T) {
	for _, c := range []struct {
		what    string
		backend backends.Server
		named   []string
		gpus    []machine.GPU
		want    []string
	}{
		{"ours and a stranger's", backends.Server{URL: "http://127.0.0.1:8080"}, nil, []machine.GPU{gpu(0, 4001), gpu(1, 10, 4001)}, []string{
			"ok backend b: is on this machine, so its devices are watched for it: at 127.0.0.1:8080 listens llama-server (10)",
			"ok backend b: its GPUs are GPU-1: processes of llama-server (10), the server",
			"warning backend b: python (4001), which is not its server, uses its GPU GPU-1",
		}},
		{"nothing tells", backends.Server{URL: "http://127.0.0.1:8081"}, nil, []machine.GPU{gpu(0, 4001), gpu(1)}, []string{
			"ok backend b: is on this machine, so its devices are watched for it: 127.0.0.1:8081 is this machine; no process of it listens there",
			"warning backend b: which GPUs work for it is not known, so its energies will be unknown",
		}},
		{"assumed", backends.Server{URL: "http://127.0.0.1:8081"}, nil, []machine.GPU{gpu(0, 4001)}, []string{
			"ok backend b: is on this machine", "warning backend b: its GPUs are assumed to be GPU-0: it is the only GPU of this machine",
		}},
		{"elsewhere", backends.Server{URL: "http://127.0.0.1:8080", Place: "remote"}, nil, []machine.GPU{gpu(0, 10)}, []string{
			"note backend b: is on another machine, so its energies will be unknown: bench.yaml says so (place: remote)",
		}},
		{"named", backends.Server{URL: "http://127.0.0.1:8080"}, []string{"1", "7"}, []machine.GPU{gpu(0, 4001), gpu(1, 10)}, []string{
			"ok backend b: is on this machine", "ok telemetry.gpus: 1 is T4 (GPU-1)", "problem telemetry.gpus: telemetry.gpus names 7, which is not among the GPUs under watch: 0 GPU-0 (), 1 GPU-1 ()",
		}},
	} {
		c.backend.Name, c.backend.Kind = "b", "llamacpp"
		d := &examination{Patient: Patient{Config: &config.Config{Backends: []backends.Server{c.backend}, Telemetry: telemetry.Settings{GPUs: c.named}}}, site: machineOf(), vram: map[string]*int64{}}
		st := serverFound{Reachable: true}
		d.place(t.Context(), c.backend, &st)
		if st.Place == "" || st.PlaceWhy == "" || c.backend.Place == "" && st.Place != results.PlaceLocal {
			t.Errorf("%s: %+v", c.what, st)
		}
		d.out.Servers = []serverFound{st}
		d.gpus(t.Context(), c.gpus)
		for i, f := range d.out.Findings {
			got := string(f.Level) + " " + f.About + ": " + f.Text
			if i >= len(c.want) || !strings.HasPrefix(got, c.want[i]) {
				t.Errorf("%s: said %q", c.what, got)
			}
		}
		if len(d.out.Findings) != len(c.want) {
			t.Errorf("%s: %d findings, want %d", c.what, len(d.out.Findings), len(c.want))
		}
	}
}

// Two seconds are for devices whose counter or power is seen to change.
func TestWhoseFiguresAreWatchedForChanges(t *testing.T) {
	for m := range telemetry.Measures() {
		want := m == telemetry.Energy || m == telemetry.PowerInstant || m == telemetry.PowerAverage
		if got := changes([]telemetry.Measure{telemetry.CoreBusy, m}); got != want {
			t.Errorf("%v: %v", m, got)
		}
	}
	if changes(nil) {
		t.Error("a device without figures is watched")
	}
}
