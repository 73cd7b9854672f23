// Vet is go vet for other systems: it loads what a package imports from its source, where
// go vet compiles all of it first.
package main

import (
	"golang.org/x/tools/go/analysis/multichecker"
	"golang.org/x/tools/go/analysis/suite/vet"
)

func main() { multichecker.Main(vet.Suite...) }
