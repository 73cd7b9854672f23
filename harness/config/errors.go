package config

import (
	"strings"
)

// oneOf lists what is allowed, in words.
func oneOf(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "one of " + strings.Join(names, ", ")
}
