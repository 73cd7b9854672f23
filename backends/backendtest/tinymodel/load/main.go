// Command load creates the tiny models in a running Ollama:
//
//	go run ./backends/backendtest/tinymodel/load http://127.0.0.1:11434
package main

import (
	"context"
	"fmt"
	"os"

	"assay/backends/backendtest/tinymodel"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: load http://HOST:PORT (of a running Ollama)")
		os.Exit(2)
	}
	if err := tinymodel.Install(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(tinymodel.VLMName, tinymodel.TextName)
}
