package servers

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// watch is the guard of a server: it waits for its standard input, which ends with assay
// however that ends, and unless it was told that all is done ends what carries the
// server's token ($1) or is in its control group ($2): kindly, and after five seconds by
// force.
const watch = `read -r done; [ -n "$done" ] && exit
all() { { cat "$2/cgroup.procs"; grep -lzsxF "ASSAY_SERVER=$1" /proc/[0-9]*/environ | cut -d/ -f3; } 2>/dev/null; }
kill $(all "$1" "$2")
n=0; while [ -n "$(all "$1" "$2")" ] && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done
n=0; while [ -n "$(all "$1" "$2")" ] && [ $n -lt 50 ]; do
  [ -n "$2" ] && echo 1 >"$2/cgroup.kill"
  kill -9 $(all "$1" "$2"); sleep 0.1; n=$((n+1))
done
[ -n "$2" ] && rmdir "$2"`

// guard is such a process; nil: there is none, as where there is no shell.
type guard struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

func newGuard(r record) *guard {
	g := &guard{cmd: exec.Command("sh", "-c", watch, "assay-guard", r.Token, r.Cgroup)}
	g.cmd.Dir, g.cmd.SysProcAttr = "/", &syscall.SysProcAttr{Setsid: true}
	in, err := g.cmd.StdinPipe()
	if err != nil || g.cmd.Start() != nil {
		return nil
	}
	g.in = in
	return g
}

// end lets it go: its server has ended.
func (g *guard) end() {
	if g == nil {
		return
	}
	_, _ = io.WriteString(g.in, "done\n")
	g.in.Close()
	_ = g.cmd.Wait()
}

// newCgroup makes a control group inside ours for a server with a token; "": none is
// offered. Who is in it cannot leave it without the right to write to others.
func newCgroup(token string) string {
	own, ok := unified()
	if !ok {
		return ""
	}
	for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		dir := filepath.Join(mount, own, "assay-"+token)
		if os.Mkdir(dir, 0o700) != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "cgroup.kill")); err == nil { // Linux 5.14
			return dir
		}
		_ = os.Remove(dir)
	}
	return ""
}

// unified is our control group of version 2.
func unified() (path string, ok bool) {
	b, err := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(b)) {
		if path, ok = strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			break
		}
	}
	return path, ok && err == nil
}

// startIn starts a server in a control group, or without one where that is refused.
func (r *record) startIn(cmd func() *exec.Cmd) (*exec.Cmd, error) {
	if f, err := os.Open(r.Cgroup); r.Cgroup != "" && err == nil {
		defer f.Close()
		c := cmd()
		c.SysProcAttr.UseCgroupFD, c.SysProcAttr.CgroupFD = true, int(f.Fd())
		if err := c.Start(); err == nil {
			return c, nil
		}
		r.dissolve()
		r.Cgroup = ""
	}
	c := cmd()
	return c, c.Start()
}

// dissolve ends who is in the control group, and takes it away.
func (r record) dissolve() {
	if !r.grouped() {
		return
	}
	_ = os.WriteFile(filepath.Join(r.Cgroup, "cgroup.kill"), []byte("1"), 0)
	for range 20 { // until they are gone
		if err := os.Remove(r.Cgroup); err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		time.Sleep(reapEvery)
	}
}

// grouped says whether there is a control group that is the server's alone: its name has the token.
func (r record) grouped() bool {
	return r.Token != "" && strings.HasPrefix(r.Cgroup, "/sys/fs/cgroup/") && filepath.Base(r.Cgroup) == "assay-"+r.Token
}
