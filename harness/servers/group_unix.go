//go:build unix && !linux

package servers

import (
	"os/exec"
	"syscall"
)

// group puts a server into a session of its own.
func group(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// reap does nothing: there is no telling whose a process is.
func (r record) reap() int { return 0 }

func (r record) sweep() {}

func (r record) members() []int { return nil }

func commandOf(int) string { return "" }

func terminate(c *exec.Cmd, _ record) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
func kill(c *exec.Cmd, _ record)      { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
