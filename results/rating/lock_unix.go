//go:build unix

package rating

import (
	"errors"
	"os"
	"syscall"
)

// lock takes a file for this process; false: another has it. It ends with the process.
func lock(f *os.File) bool {
	return !errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
