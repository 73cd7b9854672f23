package config

import (
	"fmt"
	"strings"

	"assay/harness/config/tree"
)

// What is wrong with a bench.yaml.
type (
	Error  = tree.Error
	Errors = tree.Errors
)

// At is where a data set stands: "bench.yaml:8:3".
func (c *Config) At(dataset string) string {
	at, ok := c.at[dataset]
	if !ok {
		return c.File
	}
	return fmt.Sprintf("%s:%d:%d", c.File, at.Line, at.Column)
}

// oneOf lists what is allowed, in words.
func oneOf(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "one of " + strings.Join(names, ", ")
}
