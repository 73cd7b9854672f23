//go:build !linux

package servers

import "os/exec"

// guard does nothing: there is no telling whose a process is.
type guard struct{}

func newGuard(record) *guard { return nil }

func (*guard) end() {}

func newCgroup(string) string { return "" }

func (r *record) startIn(cmd func() *exec.Cmd) (*exec.Cmd, error) {
	c := cmd()
	return c, c.Start()
}
