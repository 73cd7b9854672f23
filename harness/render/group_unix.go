//go:build unix

package render

import (
	"os/exec"
	"syscall"
)

// group has all that a program starts end with it, when its context does.
func group(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
