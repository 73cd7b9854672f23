package table

import (
	"bytes"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"os"
	"path/filepath"
	"testing"

	_ "golang.org/x/image/webp"

	"assay/harness/dataset/datasettest"
)

// TestWriteM3CoTBench: the folder that tests read is the same each time, and its pictures are.
func TestWriteM3CoTBench(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		if err := datasettest.WriteM3CoTBench(dir, 13); err != nil {
			t.Fatal(err)
		}
	}
	images, err := filepath.Glob(filepath.Join(a, "images", "*"))
	if err != nil || len(images) != 13 {
		t.Fatalf("%d images, %v", len(images), err)
	}
	for _, name := range images {
		x, errX := os.ReadFile(name)
		y, errY := os.ReadFile(filepath.Join(b, "images", filepath.Base(name)))
		if errX != nil || errY != nil || !bytes.Equal(x, y) {
			t.Errorf("%s differs between two writes", filepath.Base(name))
		}
		if _, _, err := image.Decode(bytes.NewReader(x)); err != nil {
			t.Errorf("%s: %v", filepath.Base(name), err)
		}
	}
	if datasettest.WriteM3CoTBench(t.TempDir(), 11) == nil {
		t.Error("11 items were accepted")
	}
}
