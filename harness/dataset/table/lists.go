package table

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// column is a leaf by the name that people know it by.
type column struct {
	name string
	leaf parquet.LeafColumn
}

// named are the columns of a file, without the levels that lists have inside: the bytes
// of a list of pictures are "images.bytes".
func named(in *parquet.File) []column {
	var out []column
	for _, path := range in.Schema().Columns() {
		leaf, ok := in.Schema().Lookup(path...)
		if !ok {
			continue
		}
		var parts []string
		for i, p := range path {
			if inside := i > 0 && (slices.Contains([]string{"list", "element", "item", "array", "bag", "array_element"}, p)); !inside || leaf.MaxRepetitionLevel == 0 {
				parts = append(parts, p)
			}
		}
		out = append(out, column{strings.Join(parts, "."), leaf})
	}
	return out
}

// ParquetColumns are the columns of a file: a list under its own name, a field as "image.bytes".
func ParquetColumns(path string) (names []string, err error) {
	defer damage(path, &err)
	f, in, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for _, c := range named(in) {
		names = append(names, c.name)
	}
	return names, nil
}

func damage(path string, err *error) {
	if p := recover(); p != nil { // the library panics on some damage
		*err = fmt.Errorf("read %s: the file is damaged: %v", path, p)
	}
}

// ParquetCells gives the rows of a file to each, from 1: their values in columns, which ParquetColumns
// names; of those in images they are pictures. Lists of lists are none. The file stays
// open for Image.Load.
func ParquetCells(path string, columns, images []string, each func(number int, cells []Cell)) (err error) {
	defer damage(path, &err)
	f, in, err := open(path)
	if err != nil {
		return err
	}
	var chosen []column
	for _, want := range columns {
		i := slices.IndexFunc(named(in), func(c column) bool { return c.name == want })
		if i < 0 {
			return fmt.Errorf("read %s: expected the column %s, which other files of %s have, found none", path, want, filepath.Dir(path))
		}
		chosen = append(chosen, named(in)[i])
	}
	opened, words, number := &file{path, in}, map[string]string{}, 0
	for g, group := range in.RowGroups() {
		n := int(group.NumRows())
		read := make([][]Cell, len(chosen))
		for i, c := range chosen {
			whole := slices.Contains(images, c.name)
			if err := checkPages(f, in, g, c.leaf.ColumnIndex); err != nil {
				return fmt.Errorf("read %s, rows %d to %d, column %s: %w", path, number+1, number+n, c.name, err)
			}
			at := cellImage{file: opened, leaf: c.leaf.ColumnIndex, group: g}
			if read[i], err = readCells(group.ColumnChunks()[c.leaf.ColumnIndex], n, c.leaf.MaxRepetitionLevel, whole, at, words); err != nil {
				return fmt.Errorf("read %s, rows %d to %d, column %s: %w", path, number+1, number+n, c.name, err)
			}
		}
		for i := range n {
			number++
			row := make([]Cell, len(chosen))
			for k := range chosen {
				row[k] = read[k][i]
			}
			each(number, row)
		}
	}
	return nil
}

func readCells(chunk parquet.ColumnChunk, n, depth int, pictures bool, at cellImage, words map[string]string) ([]Cell, error) {
	if depth > 1 {
		return nil, fmt.Errorf("expected values or lists of values, found lists of lists")
	}
	out := make([]Cell, 0, n)
	err := eachValue(chunk, func(v parquet.Value, _ bool) error {
		if depth == 0 || v.RepetitionLevel() == 0 {
			out = append(out, Cell{List: depth > 0})
		}
		if len(out) == 0 || len(out) > n {
			return fmt.Errorf("expected %d rows, found others: the file is damaged", n)
		}
		c := &out[len(out)-1]
		switch {
		case v.IsNull():
		case pictures:
			b, err := content(v)
			if err != nil {
				return err
			}
			s := look(b)
			one := at
			one.row, one.nth, one.sum = int64(len(out)-1), len(c.Images), s.sum
			c.Images = append(c.Images, Picture{Image: one, Bad: s.bad})
		default:
			text := v.String()
			if v.Kind() == parquet.ByteArray {
				text = string(v.ByteArray())
			}
			known, ok := words[text]
			if !ok {
				words[text], known = text, text
			}
			c.Texts = append(c.Texts, known)
		}
		return nil
	})
	if err == nil && len(out) != n {
		err = fmt.Errorf("expected %d rows, found %d: the file is damaged", n, len(out))
	}
	return out, err
}
