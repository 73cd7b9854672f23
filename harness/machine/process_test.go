package machine_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"assay/harness/machine"
)

// heading and lines are as Linux 6.12 writes them.
const heading = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

func line(at, state string, uid int, inode string) string {
	return fmt.Sprintf("   0: %s 00000000:0000 %s 00000000:00000000 00:00000000 00000000  %4d        0 %s 1 0000000000000000 100 0 0 10 0\n", at, state, uid, inode)
}

type processMachine struct {
	fstest.MapFS
	tcp, tcp6 string
}

func newMachine() *processMachine {
	return &processMachine{MapFS: fstest.MapFS{"self/ns/pid": link("pid:[4026531836]")}}
}

func link(to string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink}
}

// process adds one that holds sockets.
func (m *processMachine) process(pid, parent int, name string, started int, inodes ...string) *processMachine {
	dir := fmt.Sprint(pid)
	m.MapFS[dir+"/stat"] = &fstest.MapFile{Data: fmt.Appendf(nil, "%d (%s) S %d 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 %d 1 1", pid, name, parent, started)}
	m.MapFS[dir+"/fd/0"] = link("/dev/null")
	for i, n := range inodes {
		m.MapFS[fmt.Sprintf("%s/fd/%d", dir, i+3)] = link("socket:[" + n + "]")
	}
	return m
}

func (m *processMachine) table() machine.Table {
	m.MapFS["net/tcp"] = &fstest.MapFile{Data: []byte(heading + m.tcp)}
	m.MapFS["net/tcp6"] = &fstest.MapFile{Data: []byte(heading + m.tcp6)}
	return machine.NewTable(m.MapFS)
}

const (
	loopback = "0100007F:1F90" // 127.0.0.1:8080
	other    = "0200000A:1F90" // 10.0.0.2:8080
	anywhere = "00000000:1F90"
	any6     = "00000000000000000000000000000000:1F90"
	one6     = "00000000000000000000000001000000:1F90"
)

func TestListener(t *testing.T) {
	for _, c := range []struct {
		what, address string
		tcp, tcp6     string
		want          int
		err           string
	}{
		{"on loopback", "127.0.0.1:8080", line(loopback, "0A", 0, "71"), "", 10, ""},
		{"by name, in any case", "LOCALHOST:8080", line(loopback, "0A", 0, "71"), "", 10, ""},
		{"localhost of IPv6 alone", "localhost:8080", "", line(one6, "0A", 0, "71"), 10, ""},
		{"on every address", "127.0.0.1:8080", line(anywhere, "0A", 0, "71"), "", 10, ""},
		{"on every address of both families", "10.0.0.2:8080", "", line(any6, "0A", 0, "71"), 10, ""},
		{"asked for 0.0.0.0", "0.0.0.0:8080", line(loopback, "0A", 0, "71"), "", 10, ""},
		{"asked for ::", "[::]:8080", "", line(one6, "0A", 0, "71"), 10, ""},
		{"the closer one of two", "127.0.0.1:8080", line(anywhere, "0A", 0, "72") + line(loopback, "0A", 0, "71"), "", 10, ""},
		{"the other one of two", "10.0.0.2:8080", line(anywhere, "0A", 0, "72") + line(loopback, "0A", 0, "71"), "", 20, ""},
		{"another address", "127.0.0.1:8080", line(other, "0A", 0, "71"), "", 0, "nobody"},
		{"another port", "127.0.0.1:8081", line(loopback, "0A", 0, "71"), "", 0, "nobody"},
		{"a connection", "127.0.0.1:8080", line(loopback, "01", 0, "71"), "", 0, "nobody"},
		{"IPv4's any does not take IPv6", "[::1]:8080", line(anywhere, "0A", 0, "71"), "", 0, "nobody"},
		{"of another user", "127.0.0.1:8080", line(loopback, "0A", 998, "99"), "", 0, "user 998"},
		{"no port", "127.0.0.1", "", "", 0, "missing port"},
	} {
		m := newMachine().process(10, 1, "llama-server", 500, "71").process(20, 1, "nginx", 400, "72")
		m.tcp, m.tcp6 = c.tcp, c.tcp6
		p, err := m.table().Listener(t.Context(), c.address)
		if p.PID != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %+v, %v; want %d %q", c.what, p, err, c.want, c.err)
		}
	}
	_, err := newMachine().table().Listener(t.Context(), "127.0.0.1:8080")
	if !errors.Is(err, machine.ErrNobody) {
		t.Error(err)
	}
	m := newMachine()
	m.tcp = line(loopback, "0A", 998, "99")
	_, err = m.table().Listener(t.Context(), "127.0.0.1:8080")
	if hidden := new(machine.HiddenError); !errors.As(err, &hidden) || hidden.UID != 998 {
		t.Error(err)
	}
	if _, err := machine.NewTable(fstest.MapFS{}).Listener(t.Context(), "127.0.0.1:8080"); err == nil || errors.Is(err, machine.ErrNobody) {
		t.Errorf("without /proc: %v", err)
	}
}

// Names that mean this machine need no resolver.
func TestAddressesOfThisMachine(t *testing.T) {
	off, cancel := context.WithCancel(t.Context())
	cancel()
	for host, want := range map[string]string{"LocalHost": "[127.0.0.1 ::1]", "localhost.": "[127.0.0.1 ::1]", "0.0.0.0": "[127.0.0.1]", "[::]": "[::1 127.0.0.1]", "::ffff:10.0.0.2": "[10.0.0.2]", "fe80::1%eth0": "[fe80::1]"} {
		if got, err := machine.Addresses(off, host); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v; want %s", host, got, err, want)
		}
	}
}

// A server's workers inherit its socket, and systemd keeps that of a service.
func TestTheListenerIsTheServerItself(t *testing.T) {
	m := newMachine().process(1, 0, "systemd", 1, "71").process(700, 1, "systemd", 5, "71").process(31, 30, "worker", 900, "71").process(30, 1, "uvicorn", 800, "71")
	m.tcp = line(loopback, "0A", 0, "71")
	if p, err := m.table().Listener(t.Context(), "127.0.0.1:8080"); err != nil || p.PID != 30 || p.Name != "uvicorn" || p.Started != 800 {
		t.Errorf("%+v, %v", p, err)
	}
	again := machine.Process{PID: 30, Started: 801}
	if p, _ := m.table().Process(30); p.Same(again) || !p.Same(p) {
		t.Error("a number that was used again is the same process")
	}
}

func TestTheTree(t *testing.T) {
	tab := newMachine().process(10, 1, "ollama", 1).process(11, 10, "ollama) run (ner", 2).process(12, 11, "x", 3).process(20, 1, "python", 4).process(66, 66, "circle", 5).table()
	for _, c := range []struct {
		pid, ancestor int
		want          bool
	}{{10, 10, true}, {11, 10, true}, {12, 10, true}, {20, 10, false}, {10, 11, false}, {99, 10, false}, {66, 10, false}, {0, 0, false}} {
		if got := tab.Under(c.pid, c.ancestor); got != c.want {
			t.Errorf("%d under %d: %t", c.pid, c.ancestor, got)
		}
	}
	if p, err := tab.Process(11); err != nil || p.Name != "ollama) run (ner" || p.Parent != 10 {
		t.Errorf("%+v, %v", p, err)
	}
	for _, stat := range []string{"", "11", "11 (x) S 1", "11 (x) S a 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 5 1 1"} {
		if p, err := machine.NewTable(fstest.MapFS{"11/stat": {Data: []byte(stat)}}).Process(11); err == nil {
			t.Errorf("%q: %+v", stat, p)
		}
	}
}

func TestNamespace(t *testing.T) {
	m := newMachine()
	tab := m.table()
	if !tab.OfHost() {
		t.Error("the host's namespace is not known for it")
	}
	m.MapFS["self/ns/pid"] = link("pid:[4026532847]")
	if m.table().OfHost() || machine.NewTable(fstest.MapFS{}).OfHost() {
		t.Error("a container is taken for the host")
	}
}

func TestAListenerOfOurs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tab := machine.Processes()
	p, err := tab.Listener(t.Context(), l.Addr().String())
	if err != nil || p.PID != os.Getpid() || p.Started == 0 || p.Parent != os.Getppid() {
		t.Errorf("%+v, %v; we are %d", p, err, os.Getpid())
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if !tab.Under(cmd.Process.Pid, os.Getpid()) || tab.Under(os.Getpid(), cmd.Process.Pid) {
		t.Error("whose child it is comes out wrong")
	}
}

func TestAStoppedProcess(t *testing.T) {
	m := fstest.MapFS{"7/stat": {Data: []byte("7 (ollama) S 1")}, "7/task/7/children": {Data: []byte("8 9 ")},
		"8/stat": {Data: []byte("8 (a) (T) R 7")}, "9/stat": {Data: []byte("9 (runner) S 7")}}
	if machine.NewTable(m).Stopped(7) || machine.NewTable(m).Stopped(6) {
		t.Error("a server that works is stopped")
	}
	for _, state := range []string{"T", "t"} {
		m["9/stat"] = &fstest.MapFile{Data: []byte("9 (runner) " + state + " 7")}
		if !machine.NewTable(m).Stopped(7) {
			t.Errorf("its runner's state %s is not seen", state)
		}
	}
	m["9/task/9/children"] = &fstest.MapFile{Data: []byte("9")} // a circle has an end
	m["9/stat"] = &fstest.MapFile{Data: []byte("9 (runner")}
	if machine.NewTable(m).Stopped(7) {
		t.Error("half a line is a stop")
	}
}

func FuzzStat(f *testing.F) {
	f.Add("11 (x) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 5 1 1", heading+line(loopback, "0A", 0, "71"))
	f.Add("11 )( S", line("0:0", "0A", 0, "71")+line("00:1", "0A", -1, ""))
	f.Fuzz(func(t *testing.T, stat, tcp string) {
		tab := machine.NewTable(fstest.MapFS{"11/stat": {Data: []byte(stat)}, "11/fd/3": link("socket:[71]"), "net/tcp": {Data: []byte(tcp)}})
		if p, err := tab.Process(11); err == nil && !strings.Contains(stat, p.Name) {
			t.Errorf("a name %q that is not there", p.Name)
		}
		if p, err := tab.Listener(t.Context(), "127.0.0.1:8080"); err == nil && p.PID != 11 {
			t.Errorf("%+v listens", p)
		}
	})
}
