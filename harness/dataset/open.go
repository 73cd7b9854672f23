package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Kinds are what Open reads.
func Kinds() []string { return []string{KindM3CoTBench, KindJSONL} }

// The kinds of data sets.
const (
	KindM3CoTBench = "m3cotbench"
	KindJSONL      = "jsonl"
)

// Open reads the data set of a kind at path. name is its name in bench.yaml. Rows
// that cannot be used are Problems of the data set; the error is for what makes
// all of it unreadable.
func Open(kind, name, path string) (*Dataset, error) {
	switch kind {
	case KindM3CoTBench:
		return M3CoTBench(name, path)
	case KindJSONL:
		return JSONL(name, path)
	}
	return nil, fmt.Errorf("open data set %s: kind %q is not read from files, expected one of %s", name, kind, strings.Join(Kinds(), ", "))
}

// Sniff tells the kind of the data set at path by its content.
func Sniff(path string) (kind string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("look at data set: %w", err)
	}
	if info.IsDir() {
		if _, err := findWorkbooks(path); err != nil {
			if lines, _ := filepath.Glob(filepath.Join(path, "*.jsonl")); len(lines) > 0 {
				return "", fmt.Errorf("%s is a folder with JSONL files: name one of them, such as %s", path, lines[0])
			}
			return "", err
		}
		return KindM3CoTBench, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("look at data set: %w", err)
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", fmt.Errorf("look at data set: %w", err)
	}
	head = bytes.TrimLeft(bytes.TrimPrefix(head[:n], []byte(bom)), " \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte("{")):
		return KindJSONL, nil
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return "", fmt.Errorf("%s is an archive or a workbook: name its folder, which also holds images/", path)
	case bytes.HasPrefix(head, []byte("PAR1")):
		return "", fmt.Errorf("%s is a Parquet file, which this version does not read: expected a folder in M3CoTBench's format or a JSONL file", path)
	case len(head) == 0:
		return "", fmt.Errorf("%s is empty: expected a folder in M3CoTBench's format or a JSONL file", path)
	}
	return "", fmt.Errorf("%s starts with %s: expected a folder in M3CoTBench's format or a JSONL file (one object per line)", path, quote(string(head)))
}

// quote shows the beginning of what was found.
func quote(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return fmt.Sprintf("%q...", string(r[:most]))
	}
	return fmt.Sprintf("%q", s)
}
