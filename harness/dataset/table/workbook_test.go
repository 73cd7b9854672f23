package table

import (
	"os"
	"path/filepath"
	"testing"

	"assay/harness/dataset/datasettest"
)

// FuzzWorkbook: a damaged workbook is an error, or sheets whose rows can be read
// cell by cell.
func FuzzWorkbook(f *testing.F) {
	dir := f.TempDir()
	for i, cells := range [][][]any{
		{{"index", "question", "answer"}, {1, "Which?\nA. one\nB. two", "B"}, {2, "Is it?", true}},
		{{"index", "analysis_type"}, {1, "Diagnosis"}},
		{{}, {nil, ""}},
	} {
		path := filepath.Join(dir, string(rune('a'+i))+".xlsx")
		if err := datasettest.WriteWorkbook(path, cells); err != nil {
			f.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("PK\x03\x04"))
	path := filepath.Join(dir, "fuzzed.xlsx")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		sheets, err := Sheets(path)
		if err != nil {
			if len(sheets) > 0 {
				t.Fatal("an error and sheets")
			}
			return
		}
		for _, s := range sheets {
			for i := range s.Rows {
				for name := range s.Header {
					s.Cell(i, name)
				}
				s.Blank(i)
			}
		}
	})
}
