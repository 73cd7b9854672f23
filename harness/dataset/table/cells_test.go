package table

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// FuzzCells: of a damaged table each row that is given has its number and a cell for each
// column, whatever its columns hold, asked for as texts or as pictures; no damage ends the
// program.
func FuzzCells(f *testing.F) {
	type picture struct {
		Bytes []byte `parquet:"bytes"`
	}
	type row struct {
		ID      int64    `parquet:"id"`
		Choices []string `parquet:"choices,list"`
		Weights []int32  `parquet:"weights,list"`
		Image   struct {
			Bytes []byte `parquet:"bytes"`
			Path  string `parquet:"path"`
		} `parquet:"image"`
		More []picture `parquet:"more,list"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	for i := range 3 {
		r := row{ID: int64(i) << 40, Choices: []string{"left", "right", ""}[:i], Weights: []int32{1}}
		r.Image.Bytes, r.Image.Path = []byte("\x89PNG\r\n\x1a\n"), "a.png"
		r.More = append(r.More, picture{r.Image.Bytes}, picture{})
		if _, err := w.Write([]row{r}); err != nil {
			f.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(f.TempDir(), "seed.parquet")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		f.Fatal(err)
	}
	if names, err := ParquetColumns(path); err != nil || len(names) < 5 {
		f.Fatal("the seed has the columns ", names, err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()/2])
	f.Add([]byte("PAR1PAR1"))
	path = filepath.Join(f.TempDir(), "fuzzed.parquet")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		names, err := ParquetColumns(path)
		if err != nil {
			return
		}
		for _, pictures := range [][]string{nil, names} {
			rows := 0
			err := ParquetCells(path, names, pictures, func(number int, cells []Cell) {
				if rows++; number != rows || len(cells) != len(names) {
					t.Fatalf("row %d is number %d, of %d cells", rows, number, len(cells))
				}
				for _, c := range cells {
					if pictures == nil && len(c.Images) > 0 || pictures != nil && len(c.Texts) > 0 {
						t.Fatalf("%+v", c)
					}
					for _, p := range c.Images {
						if b, err := p.Image.Load(); err == nil && len(b) == 0 && p.Bad == "" {
							t.Fatal("a picture of no bytes")
						}
					}
				}
			})
			if err != nil && !strings.Contains(err.Error(), filepath.Base(path)) && !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("the error does not name the file: %v", err)
			}
		}
	})
}

// A column of numbers holds no pictures: asked for their bytes, the library would read
// whatever memory a number points to.
func TestNumbersAreNoPictures(t *testing.T) {
	type row struct {
		ID int64 `parquet:"id"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	if _, err := w.Write([]row{{1 << 40}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "numbers.parquet")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	err := ParquetCells(path, []string{"id"}, []string{"id"}, func(int, []Cell) { t.Error("a row of no pictures") })
	if err == nil || !strings.Contains(err.Error(), "column id: expected the bytes of pictures, found values of type INT64") {
		t.Error(err)
	}
}
