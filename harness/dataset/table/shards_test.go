package table

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
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
	missing, err := ParquetRows(file, Columns{Texts: []string{"Answer", "UID"}, Images: []string{"Image.bytes"}}, func(r Row) {
		want := rows[n]
		n++
		if r.Number != n || r.Texts[0] != want.Answer || r.Texts[1] != want.UID {
			t.Errorf("row %d: %+v", n, r)
		}
		b, err := r.Images[0].Image.Load()
		switch {
		case n == 41 || n == 42:
			if r.Images[0].Bad == "" || err == nil {
				t.Errorf("row %d has no picture and %d bytes", n, len(b))
			}
		case r.Images[0].Bad != "" || err != nil || !bytes.Equal(b, want.Image.Bytes):
			t.Errorf("row %d: %d bytes, %v, %s", n, len(b), err, r.Images[0].Bad)
		}
	})
	if err != nil || missing != nil || n != len(rows) {
		t.Errorf("%d rows, %v, %v", n, missing, err)
	}
	n = 0
	if _, err := ParquetRows(file, Columns{Texts: []string{"UID"}, Any: []string{"Age", "Answer"}}, func(r Row) {
		want := rows[n]
		if n++; r.Texts[1] != strconv.FormatInt(want.Age, 10) || r.Texts[2] != want.Answer || len(r.Images) > 0 {
			t.Errorf("row %d: %+v", n, r)
		}
	}); err != nil || n != len(rows) {
		t.Errorf("%d rows of any columns, %v", n, err)
	}
	if names, err := ParquetLeaves(file); err != nil || !slices.Contains(names, "Image.bytes") || !slices.Contains(names, "Age") {
		t.Errorf("leaves %v, %v", names, err)
	}
	missing, err = ParquetRows(file, Columns{Texts: []string{"UID", "Age", "No"}, Images: []string{"Image"}}, func(Row) { t.Error("a row without its columns") })
	if err != nil || !slices.Equal(missing, []string{"Age", "No", "Image"}) {
		t.Errorf("missing %v, %v", missing, err)
	}
}
