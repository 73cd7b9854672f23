//go:build unix

package store

import (
	"syscall"

	sqlite3 "modernc.org/sqlite/lib"
)

// descriptor is SQLite's own: to close another of the same file would end the
// locks that SQLite holds on it.
func descriptor(p uintptr) int { return int(at[sqlite3.TunixFile](p).Fh) }

// lock takes the file itself, whatever its name; false: another has it.
func lock(p uintptr) bool {
	err := syscall.Flock(descriptor(p), syscall.LOCK_EX|syscall.LOCK_NB)
	return err != syscall.EWOULDBLOCK // file systems without such locks have the lock by name alone
}

func unlock(p uintptr) { _ = syscall.Flock(descriptor(p), syscall.LOCK_UN) }

// links is how many names the file has.
func links(p uintptr) uint64 {
	var st syscall.Stat_t
	if syscall.Fstat(descriptor(p), &st) != nil {
		return 1
	}
	return uint64(st.Nlink)
}
