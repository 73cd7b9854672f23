package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/harness/dataset/table"
)

// sniff tells the kind of the data set at path by its content.
func sniff(path string) (kind string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("look at data set: %w", err)
	}
	if info.IsDir() {
		if files, err := caseFiles(path, ""); err == nil {
			if kind, err := sniff(files[0]); err == nil && kind == KindMedThinkVQA {
				return kind, nil
			}
		}
		if kind := parquetKind(path); kind != "" {
			return kind, nil
		}
		if _, err := find(path); err != nil {
			if lines, _ := filepath.Glob(filepath.Join(path, "*.jsonl")); len(lines) > 0 {
				return "", fmt.Errorf("%s is a folder with JSONL files: name one of them, such as %s", path, lines[0])
			}
			return "", err
		}
		return KindM3CoTBench, nil
	}
	f, err := table.OpenRoot(path, math.MaxInt64)
	if err != nil {
		return "", fmt.Errorf("look at data set: %w", err)
	}
	defer f.Close()
	head := make([]byte, 1<<16)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", fmt.Errorf("look at data set: %w", err)
	}
	head = bytes.TrimLeft(bytes.TrimPrefix(head[:n], []byte(table.BOM)), " \t\r\n")
	switch {
	case rows(head) && bytes.Contains(head, []byte(`"`+marker+`"`)):
		return KindMedThinkVQA, nil
	case rows(head):
		return KindJSONL, nil
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return "", fmt.Errorf("%s is an archive or a workbook: name its folder, which also holds images/", path)
	case bytes.HasPrefix(head, []byte("PAR1")):
		return parquetKind(path), nil
	case sniffTable(head) != "":
		return sniffTable(head), nil
	case len(head) == 0:
		return "", fmt.Errorf("%s is empty: expected a folder in M3CoTBench's, TAIX-VQA's or MedThinkVQA's format, or a table of questions", path)
	}
	return "", fmt.Errorf("%s starts with %s: expected a folder in M3CoTBench's, TAIX-VQA's or MedThinkVQA's format, or a table of questions (CSV, TSV, JSON lines or Parquet) that names its columns question, answer and image; of other names kind: csv and columns: in bench.yaml say which", path, table.Quote(string(head)))
}

// SniffMapped is Sniff where it is said which columns are what: then a table may have none that it
// knows, and the file's name says which kind it is.
func SniffMapped(path string, columns Mapping) (kind string, err error) {
	if kind, err = sniff(path); err == nil || columns == nil {
		return kind, err
	}
	if by := strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), "."); by == KindCSV || by == kindTSV {
		return by, nil
	}
	return "", err
}

// rows says whether a file begins as JSON lines do, or as one array of objects.
func rows(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("[")), " \t\r\n"), []byte("{"))
}

// parquetKind is the kind of a Parquet file, or of a folder of them, by its columns; "": it
// holds none.
func parquetKind(path string) string {
	files, err := findShards(path, "")
	if err != nil {
		for _, dir := range []string{"", "data"} {
			found, _ := filepath.Glob(filepath.Join(escapeGlob(path), dir, "*.parquet"))
			files = append(files, found...)
		}
	}
	if len(files) == 0 {
		return ""
	}
	names, err := table.ParquetLeaves(files[0])
	has := func(name string) bool { return slices.Contains(names, name) }
	switch {
	case err == nil && has(marker):
		return KindMedThinkVQA
	case err != nil || has("UID") && has("Image.bytes"): // reading it says what is wrong
		return KindTAIX
	}
	return kindParquet
}
