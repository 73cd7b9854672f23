//go:build !unix

package store

// Where there is no flock, a file is locked by its name alone.
func lock(uintptr) bool    { return true }
func unlock(uintptr)       {}
func links(uintptr) uint64 { return 1 }
