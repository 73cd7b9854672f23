//go:build unix

package store

import "syscall"

// lock takes the file itself, whatever its name, by SQLite's own descriptor: no link leads past
// it. false: another has it.
func lock(f *file) bool {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return err != syscall.EWOULDBLOCK // file systems without such locks have the lock by name alone
}

func unlock(f *file) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// links is how many names the file has.
func links(f *file) uint64 {
	st, err := f.Stat()
	if err != nil {
		return 1
	}
	return uint64(st.Sys().(*syscall.Stat_t).Nlink)
}
