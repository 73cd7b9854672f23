//go:build !unix

package servers

import "os/exec"

// group does nothing: where there are no process groups, only the process that
// was started is stopped.
func group(*exec.Cmd) {}

func (r record) reap() int { return 0 }

func (r record) sweep() {}

func (r record) members() []int { return nil }

func commandOf(int) string { return "" }

func terminate(c *exec.Cmd, _ record) { _ = c.Process.Kill() }
func kill(c *exec.Cmd, _ record)      { _ = c.Process.Kill() }
