//go:build !unix

package render

import "os/exec"

// group does nothing: where there are no process groups, only the program itself is ended.
func group(*exec.Cmd) {}
