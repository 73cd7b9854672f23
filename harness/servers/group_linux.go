package servers

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay/harness/machine"
)

// group puts a server into a session of its own, and has the kernel tell it to end
// when we end, even by SIGKILL.
func group(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
}

// members are the processes of a server: itself, while it is the process that was
// recorded, with its start and its command, whatever carries its token, and who is in its
// control group. A number or a name alone proves nothing.
func (r record) members() []int {
	var out []int
	if p, err := machine.Processes().Process(r.Server.PID); r.Server.PID > 0 && err == nil && p.Same(r.Server) && r.Command != "" && commandOf(p.PID) == r.Command {
		out = append(out, p.PID)
	}
	if r.grouped() {
		b, _ := os.ReadFile(r.Cgroup + "/cgroup.procs")
		for _, f := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil && pid > 0 && !slices.Contains(out, pid) {
				out = append(out, pid)
			}
		}
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return out
	}
	mark := []byte("\x00" + tokenName + "=" + r.Token + "\x00")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() || slices.Contains(out, pid) {
			continue
		}
		env, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err == nil && bytes.Contains(append([]byte{0}, env...), mark) {
			out = append(out, pid)
		}
	}
	return out
}

// signal tells all that is left of a server, and says how many processes that were.
// One that has ended and waits to be collected has no environment.
func (r record) signal(s syscall.Signal) int {
	pids := r.members()
	for _, pid := range pids {
		_ = syscall.Kill(pid, s)
	}
	return len(pids)
}

// reap ends what is left of a server whose assay was killed, and says how many
// processes that were.
func (r record) reap() int {
	n := r.signal(syscall.SIGTERM)
	tick := time.NewTicker(reapEvery)
	defer tick.Stop()
	for end := time.Now().Add(reapAfter); n > 0 && time.Now().Before(end); <-tick.C {
		if len(r.members()) == 0 {
			break
		}
	}
	// Processes may start others meanwhile.
	for range 10 {
		if r.signal(syscall.SIGKILL) == 0 {
			break
		}
		<-tick.C
	}
	r.dissolve()
	return n
}

// sweep ends what a server that died has left behind.
func (r record) sweep() {
	r.signal(syscall.SIGKILL)
	r.dissolve()
}

// commandOf is the command line of a process, its words ended by NUL; "": not known.
func commandOf(pid int) string {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return string(b)
}

func terminate(c *exec.Cmd, _ record) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }

func kill(c *exec.Cmd, r record) {
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	r.signal(syscall.SIGKILL)
}
