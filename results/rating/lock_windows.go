package rating

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lock takes a file for this process; false: another has it. It ends with the process. The
// byte that is locked lies behind what a file can hold: nobody else may touch a locked one,
// and the log is read while it is written.
func lock(f *os.File) bool {
	at := windows.Overlapped{OffsetHigh: math.MaxInt32}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	return !errors.Is(err, windows.ERROR_LOCK_VIOLATION)
}
