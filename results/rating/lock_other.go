//go:build !unix

package rating

import "os"

// Where there is no flock, the second address that is listened on tells.
func lock(*os.File) bool { return true }
