package machine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/timing/telemetry"
)

func gpu(n int, pids ...int) GPU {
	g := GPU{Device: telemetry.Device{Source: "nvml", ID: fmt.Sprintf("GPU-%d%d", n, n), Kind: telemetry.GPU,
		Facts: []telemetry.Fact{{Name: "index", Value: fmt.Sprint(n)}, {Name: "uuid", Value: fmt.Sprintf("GPU-%d%d", n, n)}, {Name: "pci", Value: fmt.Sprintf("00000000:%d0:00.0", n+1)}}},
		Users: Users{Listed: true}}
	for _, pid := range pids {
		g.Users.Processes = append(g.Users.Processes, telemetry.Process{PID: pid, Draws: pid == 99})
	}
	return g
}

func (g GPU) after(pids ...int) GPU {
	old := gpu(0, pids...).Users
	g.Before = &old
	return g
}

// eight are GPU 0 with our runner and seven that others keep.
func eight() []GPU {
	gpus := []GPU{gpu(0, 11)}
	for i := 1; i < 8; i++ {
		gpus = append(gpus, gpu(i, 4000+i))
	}
	return gpus
}

func amount(n int64) *int64 { return &n }
func user(n int) *int       { return &n }

func TestWhoseGPUsTheyAre(t *testing.T) {
	// Ollama (10) with its runner (11); a job of somebody else (4001..4007).
	table := newProc().run(10, 1, "ollama", 5, "").run(11, 10, "ollama", 6, "").run(4001, 1, "python", 5, "")
	server := Where{Server: Process{PID: 10, Name: "ollama", Started: 5}}
	hidden := Where{Why: "it is hidden", UID: user(998)}
	unseen := Where{Why: "it is not known"}
	blind := gpu(0)
	blind.Users = Users{}
	for _, c := range []struct {
		what string
		e    evidence
		want []string // IDs
		how  string
		flag string // "": certain, "assumed", "unknown"
	}{
		{"the one that holds its child", evidence{GPUs: eight(), Where: server, Table: table.processSite().Processes}, []string{"GPU-00"}, "processes of ollama (10)", ""},
		{"two that hold its children", evidence{GPUs: []GPU{gpu(0, 11), gpu(1, 4001), gpu(2, 99, 10)}, Where: server, Table: table.processSite().Processes}, []string{"GPU-00", "GPU-22"}, "processes of ollama", ""},
		{"bench.yaml goes before all", evidence{Named: []string{"1", "GPU-22"}, GPUs: eight(), Where: server, Table: table.processSite().Processes}, []string{"GPU-11", "GPU-22"}, "telemetry.gpus", ""},
		{"by PCI address", evidence{Named: []string{"20:00.0", "0000:30:00.0", "00000000:30:00.0"}, GPUs: eight(), Where: server, Table: table.processSite().Processes}, []string{"GPU-11", "GPU-22"}, "telemetry.gpus", ""},
		{"by the begin of a UUID", evidence{Named: []string{"gpu-77"}, GPUs: eight(), Where: server, Table: table.processSite().Processes}, []string{"GPU-77"}, "telemetry.gpus", ""},
		{"one that is not there", evidence{Named: []string{"0", "8"}, GPUs: eight(), Where: server, Table: table.processSite().Processes}, nil, "names 8, which is not among the GPUs", "unknown"},
		{"one number, two drivers", evidence{Named: []string{"0"}, GPUs: []GPU{gpu(0), gpu(0)}, Where: server, Table: table.processSite().Processes}, nil, "which 2 GPUs are called", "unknown"},

		// In a container numbers may match a stranger's.
		{"numbers of another namespace", evidence{GPUs: eight(), Where: server, Table: newProc().inContainer().run(10, 1, "ollama", 5, "").run(11, 10, "x", 6, "").processSite().Processes}, nil, "not those seen here", "unknown"},
		{"the only GPU of a container", evidence{GPUs: eight()[:1], Where: server, Table: newProc().inContainer().run(10, 1, "ollama", 5, "").processSite().Processes}, []string{"GPU-00"}, "only GPU", "assumed"},

		// Nobody may see who listens.
		{"a service of another user", evidence{GPUs: eight(), Where: hidden, Table: table.processSite().Processes}, nil, "it is hidden; there are 8 GPUs; name its own in telemetry.gpus: 0 GPU-00 (00000000:10:00.0), 1 GPU-11", "unknown"},
		{"a model in main memory", evidence{GPUs: eight(), Where: unseen, VRAM: amount(0), Table: table.processSite().Processes}, nil, "nothing of it is in a GPU's memory", ""},
		{"the only GPU", evidence{GPUs: eight()[:1], Where: unseen, Table: table.processSite().Processes}, []string{"GPU-00"}, "only GPU of this machine", "assumed"},
		{"the only GPU, its driver tells nothing", evidence{GPUs: []GPU{blind}, Where: unseen, Table: table.processSite().Processes}, []string{"GPU-00"}, "only GPU", "assumed"},
		{"the only GPU draws", evidence{GPUs: []GPU{gpu(0, 99)}, Where: unseen, Table: table.processSite().Processes}, nil, "no process computes on the only GPU", "unknown"},
		{"one of eight, nothing tells", evidence{GPUs: eight(), Where: unseen, Table: table.processSite().Processes}, nil, "there are 8 GPUs; name its own in telemetry.gpus", "unknown"},
		{"of eight none has a process of it", evidence{GPUs: eight()[1:], Where: server, Table: table.processSite().Processes}, nil, "no GPU's driver lists a process of ollama (10), the server; there are 7 GPUs", "unknown"},
		{"none is watched", evidence{Where: server, Table: table.processSite().Processes}, nil, "no GPU is watched", "unknown"},
	} {
		h, _ := c.e.Claim()
		flag := map[[2]bool]string{{true, false}: "", {true, true}: "assumed", {false, false}: "unknown"}[[2]bool{h.Known, h.Assumed}]
		if !slices.Equal(h.GPUs, c.want) || flag != c.flag || !strings.Contains(h.How, c.how) {
			t.Errorf("%s: %v %q: %s", c.what, h.GPUs, flag, h.How)
		}
	}
}

func pids(ps []telemetry.Process) (out []int) {
	for _, p := range ps {
		out = append(out, p.PID)
	}
	return out
}

func list(n ...int) []telemetry.Process { return gpu(0, n...).Users.Processes }

func foreign(c census, n ...int) string {
	return fmt.Sprint(pids(c.Foreign("GPU-00", list(n...))))
}

// A job that is there from the first moment is foreign, a reload and a restart of
// our own server are not, and a number that a stranger has now is a stranger's.
func TestForeignProcessesByDescent(t *testing.T) {
	p := newProc().run(10, 1, "ollama", 5, "").run(11, 10, "ollama", 6, "").run(4001, 1, "python", 5, "").run(70, 1, "judge-server", 5, "")
	where := Where{Server: Process{PID: 10, Name: "ollama", Started: 5}}
	e := evidence{GPUs: []GPU{gpu(0, 11, 4001)}, Where: where, Table: p.processSite().Processes, Other: []Process{{PID: 70, Started: 5}}}
	finds := 0
	e.Find = func() Where {
		finds++
		if _, err := e.Table.Process(30); err != nil {
			return Where{}
		}
		return Where{Server: Process{PID: 30, Name: "ollama", Started: 90}}
	}
	_, c := e.Claim()
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: foreign %s, want %s", what, got, want)
		}
	}
	expect("from the first moment", foreign(c, 11, 4001), "[4001]")
	if c.Name(4001) != "python" || c.Name(5) != "" {
		t.Error("it has no name")
	}
	p.end(11)
	p.run(12, 10, "ollama", 8, "")
	expect("the runner loaded again", foreign(c, 12), "[]")
	expect("the old one, not yet forgotten", foreign(c, 11, 12), "[]")
	expect("another server of bench.yaml", foreign(c, 12, 70), "[]")
	p.run(11, 1, "miner", 9, "")
	expect("a stranger with the old one's number", foreign(c, 11, 12), "[11]")
	if finds > 0 {
		t.Error("a server that runs was looked for")
	}
	p.end(10)
	p.end(12)
	p.run(30, 1, "ollama", 90, "").run(31, 30, "ollama", 91, "")
	expect("the server was started again", foreign(c, 31), "[]")
	expect("and a stranger", foreign(c, 31, 4001), "[4001]")
}

func TestForeignProcessesWhereTheServerIsHidden(t *testing.T) {
	table := newProc().run(4001, 1, "python", 5, "").processSite().Processes
	e := evidence{GPUs: []GPU{gpu(0, 11).after()}, Where: Where{Why: "hidden"}, Table: table}
	_, c := e.Claim()
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: foreign %s, want %s", what, got, want)
		}
	}
	expect("at first", foreign(c, 11), "[]")
	expect("one more", foreign(c, 11, 4001), "[4001]")
	expect("one goes as another comes: a reload", foreign(c, 12), "[]")
	expect("and stays", foreign(c, 12, 4001), "[4001]")
	expect("both go, two come", foreign(c, 13, 14), "[14]")
	// One that was there before the model was loaded is foreign from the first moment.
	e.GPUs = []GPU{gpu(0, 11, 4001).after(4001)}
	_, c = e.Claim()
	expect("there before", foreign(c, 11, 4001), "[4001]")
	big, small := uint64(8<<30), uint64(1<<20)
	_, c = evidence{GPUs: []GPU{gpu(0, 11)}, Where: Where{Why: "hidden"}, Table: table}.Claim()
	if f := c.Foreign("GPU-00", []telemetry.Process{{PID: 11, Memory: &big}}); len(f) != 0 {
		t.Error(f)
	}
	if f := c.Foreign("GPU-00", []telemetry.Process{{PID: 12, Memory: &small}}); len(f) != 1 {
		t.Error("a small stranger is taken for the reload of a big server")
	}
	_, c = evidence{GPUs: []GPU{gpu(0, 4001)}, Where: Where{Why: "hidden"}, Table: newProc().inContainer().run(4001, 1, "python", 5, "").processSite().Processes}.Claim()
	if c.Name(4001) != "" {
		t.Error("a number of another namespace has a name")
	}
}
