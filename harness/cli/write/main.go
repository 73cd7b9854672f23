// Command write writes the pages of docs that package cli makes. It runs in the
// root of the repository: go run ./harness/cli/write
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"assay/harness/cli"
)

func main() {
	if err := write("docs"); err != nil {
		fmt.Fprintln(os.Stderr, "write:", err)
		os.Exit(1)
	}
}

func write(folder string) error {
	files, err := cli.Pages()
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(folder, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		b, err := f.Bytes()
		if err == nil {
			err = os.WriteFile(path, b, 0o644)
		}
		if err != nil {
			return err
		}
	}
	fmt.Println(len(files), "files in", folder)
	return nil
}
