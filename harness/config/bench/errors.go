package bench

import (
	"strings"

	"assay/harness/config/tree"
)

// What is wrong with a bench.yaml.
type (
	Error  = tree.Error
	Errors = tree.Errors
)

// oneOf lists what is allowed, in words.
func oneOf(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "one of " + strings.Join(names, ", ")
}
