package table

import (
	"os"
	"path/filepath"
	"testing"

	"assay/harness/dataset/datasettest"
)

// FuzzRead: a damaged shard is an error, or rows whose pictures are what the shard
// says or cannot be loaded; no damage ends the program.
func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	if err := datasettest.WriteTAIX(dir, "test", 1, 64); err != nil {
		f.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "data", "*.parquet"))
	if err != nil || len(files) == 0 {
		f.Fatal("no seed: ", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Add([]byte("PAR1PAR1"))
	path := filepath.Join(dir, "fuzzed.parquet")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		rows := 0
		missing, err := ParquetRows(path, Columns{Texts: []string{"UID", "Answer"}, Images: []string{"Image.bytes"}}, func(r Row) {
			if rows++; r.Number != rows || len(r.Texts) != 2 {
				t.Fatalf("row %d: %+v", rows, r)
			}
			if b, err := r.Images[0].Image.Load(); err == nil && len(b) == 0 {
				t.Fatal("a picture of no bytes")
			}
		})
		if len(missing) > 0 && (rows > 0 || err != nil) {
			t.Fatalf("%d rows without the columns %v, %v", rows, missing, err)
		}
	})
}
