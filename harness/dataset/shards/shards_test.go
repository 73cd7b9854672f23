package shards

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"assay/harness/dataset/datasettest"
)

func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.parquet")
	rows, err := datasettest.TAIXRows(4, 64)
	if err != nil {
		t.Fatal(err)
	}
	rows[40].Image.Bytes, rows[41].Image.Bytes, rows[42].Answer = nil, []byte("text"), ""
	if err := datasettest.WriteParquet(file, rows); err != nil {
		t.Fatal(err)
	}
	n := 0
	missing, err := Read(file, []string{"Answer", "UID"}, "Image.bytes", func(r Row) {
		want := rows[n]
		n++
		if r.Number != n || r.Texts[0] != want.Answer || r.Texts[1] != want.UID {
			t.Errorf("row %d: %+v", n, r)
		}
		b, err := r.Image.Load()
		switch {
		case n == 41 || n == 42:
			if r.Bad == "" || err == nil {
				t.Errorf("row %d has no picture and %d bytes", n, len(b))
			}
		case r.Bad != "" || err != nil || !bytes.Equal(b, want.Image.Bytes):
			t.Errorf("row %d: %d bytes, %v, %s", n, len(b), err, r.Bad)
		}
	})
	if err != nil || missing != nil || n != len(rows) {
		t.Errorf("%d rows, %v, %v", n, missing, err)
	}
	missing, err = Read(file, []string{"UID", "Age", "No"}, "Image", func(Row) { t.Error("a row without its columns") })
	if err != nil || !slices.Equal(missing, []string{"Age", "No", "Image"}) {
		t.Errorf("missing %v, %v", missing, err)
	}
}
