// The files of data sets that take a library to read: Parquet files with
// embedded pictures, a few columns of text and the pictures one by one, never all at
// once (shards.go, lists.go), and the sheets of workbooks (workbook.go).

package table

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/parquet-go/parquet-go"

	"assay/perturb"
)

// ParquetLeaves names the columns of a file, of groups their fields.
func ParquetLeaves(path string) (names []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("read %s: the file is damaged: %v", path, p)
		}
	}()
	f, in, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for _, leaf := range in.Schema().Columns() {
		names = append(names, strings.Join(leaf, "."))
	}
	return names, nil
}

func open(path string) (*os.File, *parquet.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	var in *parquet.File
	if err = checkFooter(f, info.Size()); err == nil {
		in, err = parquet.OpenFile(f, info.Size(), &parquet.FileConfig{SkipPageIndex: true, SkipBloomFilters: true, ReadBufferSize: 1 << 16})
	}
	if err == nil {
		err = checkRows(in)
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("read %s: not a Parquet file, or cut short: %w", path, err)
	}
	return f, in, nil
}

// cellImage is a picture in a file.
type cellImage struct {
	file  *file
	leaf  int
	group int
	row   int64 // in the row group
	nth   int   // of the values of the row, from 0
	sum   [sha256.Size]byte
}

// Sum is the SHA-256 of the picture's bytes.
func (i cellImage) Sum() [sha256.Size]byte { return i.sum }

// file is an open Parquet file.
type file struct {
	path string
	in   *parquet.File
}

// ParquetRows gives the rows of a file to each, in order. Where there are no such columns it
// gives no rows and names those missing. The error is for damage that hides rows.
//
// The file stays open for Image.Load; the runtime closes it when no Image holds on
// to it any more.
func ParquetRows(path string, want Columns, each func(Row)) (missing []string, err error) {
	defer func() {
		if p := recover(); p != nil { // the library panics on some damage
			err = fmt.Errorf("read %s: the file is damaged: %v", path, p)
		}
	}()
	f, in, err := open(path)
	if err != nil {
		return nil, err
	}
	var leaves []int
	find := func(names []string, any bool) {
		for _, name := range names {
			leaf, ok := in.Schema().Lookup(strings.Split(name, ".")...)
			if !ok || leaf.MaxRepetitionLevel > 0 || !any && leaf.Node.Type().Kind() != parquet.ByteArray {
				missing = append(missing, name)
			}
			leaves = append(leaves, leaf.ColumnIndex)
		}
	}
	find(want.Texts, false)
	find(want.Any, true)
	find(want.Images, false)
	if missing != nil {
		return missing, nil
	}
	texts := len(want.Texts) + len(want.Any)
	opened, words, number := &file{path, in}, map[string]string{}, 0
	for g, group := range in.RowGroups() {
		n := int(group.NumRows())
		for _, leaf := range leaves {
			if err := checkPages(f, in, g, leaf); err != nil {
				return nil, fmt.Errorf("read %s, rows %d to %d, column %s: %w", path, number+1, number+n, strings.Join(in.Schema().Columns()[leaf], "."), err)
			}
		}
		columns := make([][]string, texts)
		for i := range texts {
			if columns[i], err = readTexts(group.ColumnChunks()[leaves[i]], n, words); err != nil {
				return nil, fmt.Errorf("read %s, rows %d to %d: %w", path, number+1, number+n, err)
			}
		}
		images := make([][]seen, len(want.Images))
		for i, leaf := range leaves[texts:] {
			if images[i], err = readImages(group.ColumnChunks()[leaf], n); err != nil {
				return nil, fmt.Errorf("read the pictures of %s, rows %d to %d: %w", path, number+1, number+n, err)
			}
		}
		for i := range n {
			number++
			r := Row{Number: number}
			for k, list := range images {
				r.Images = append(r.Images, Picture{Image: cellImage{file: opened, leaf: leaves[texts+k], group: g, row: int64(i), sum: list[i].sum}, Bad: list[i].bad})
			}
			for _, c := range columns {
				r.Texts = append(r.Texts, c[i])
			}
			each(r)
		}
	}
	return nil, nil
}

// readTexts reads a column of text; words holds every text once, because they
// repeat.
func readTexts(chunk parquet.ColumnChunk, n int, words map[string]string) ([]string, error) {
	out := make([]string, 0, n)
	err := eachValue(chunk, func(v parquet.Value, _ bool) error {
		var b []byte
		switch {
		case v.IsNull():
		case v.Kind() == parquet.ByteArray:
			b = v.ByteArray()
		default:
			b = []byte(v.String())
		}
		if len(b) > maxText {
			return fmt.Errorf("row %d of these: expected texts of at most %d MB, found one of %d bytes", len(out)+1, maxText>>20, len(b))
		}
		s, known := words[string(b)]
		if !known {
			s = string(b)
			words[s] = s
		}
		out = append(out, s)
		return nil
	})
	if err == nil && len(out) != n {
		err = fmt.Errorf("expected %d values, found %d: the file is damaged", n, len(out))
	}
	return out, err
}

// seen is what a look at a picture gave; bad is "" when all is well.
type seen struct {
	sum [sha256.Size]byte
	bad string
}

func look(b []byte) seen {
	if len(b) == 0 {
		return seen{bad: None}
	}
	if len(b) > MaxPicture {
		return seen{bad: fmt.Sprintf("expected at most %d MB, found %d bytes", MaxPicture>>20, len(b))}
	}
	if _, _, _, err := perturb.Config(b); err != nil {
		return seen{bad: err.Error()}
	}
	return seen{sum: sha256.Sum256(b)}
}

// content is the bytes of a value; none of one that is null. To ask the library for those
// of a number would read from wherever that points to.
func content(v parquet.Value) ([]byte, error) {
	switch {
	case v.IsNull():
		return nil, nil
	case v.Kind() == parquet.ByteArray, v.Kind() == parquet.FixedLenByteArray:
		return v.ByteArray(), nil
	}
	return nil, fmt.Errorf("expected the bytes of pictures, found values of type %s", v.Kind())
}

// readImages looks at the pictures of a row group. Rows about the same image
// follow each other, so each is hashed once: in a dictionary it is one value, else
// it equals the one before.
func readImages(chunk parquet.ColumnChunk, n int) ([]seen, error) {
	out := make([]seen, 0, n)
	entries := map[*byte]seen{} // of the dictionary
	var last []byte
	err := eachValue(chunk, func(v parquet.Value, indexed bool) error {
		b, err := content(v)
		switch {
		case err != nil:
			return err
		case len(b) == 0:
			out = append(out, look(nil))
		case indexed:
			s, known := entries[&b[0]]
			if !known {
				s = look(b)
				entries[&b[0]] = s
			}
			out = append(out, s)
		case len(out) > 0 && bytes.Equal(b, last):
			out = append(out, out[len(out)-1])
		default:
			last = append(last[:0], b...)
			out = append(out, look(b))
		}
		return nil
	})
	if err == nil && len(out) != n {
		err = fmt.Errorf("expected %d values, found %d: the file is damaged", n, len(out))
	}
	return out, err
}

// eachValue calls f with every value of a column, page by page. The value is only
// good until f returns, but values of a dictionary (indexed) stay.
func eachValue(chunk parquet.ColumnChunk, f func(v parquet.Value, indexed bool) error) error {
	pages := chunk.Pages()
	defer pages.Close()
	var buf [64]parquet.Value
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		indexed := page.Dictionary() != nil
		values := page.Values()
		for err == nil {
			var n int
			n, err = values.ReadValues(buf[:])
			for _, v := range buf[:n] {
				if err := f(v, indexed); err != nil {
					return err
				}
			}
		}
		parquet.Release(page)
		if !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// Load reads the picture again and refuses one that has changed since.
func (i cellImage) Load() (b []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			b, err = nil, fmt.Errorf("read image: %s is damaged: %v", i.file.path, p)
		}
	}()
	pages := i.file.in.RowGroups()[i.group].ColumnChunks()[i.leaf].Pages()
	defer pages.Close()
	if err := pages.SeekToRow(i.row); err != nil {
		return nil, fmt.Errorf("read image from %s: %w", i.file.path, err)
	}
	page, err := pages.ReadPage()
	if err != nil {
		return nil, fmt.Errorf("read image from %s: %w", i.file.path, err)
	}
	defer parquet.Release(page)
	var v [1]parquet.Value
	values := page.Values()
	for range i.nth + 1 {
		if n, err := values.ReadValues(v[:]); n == 0 {
			return nil, fmt.Errorf("read image from %s: %w", i.file.path, err)
		}
	}
	b, err = content(v[0])
	if err != nil {
		return nil, fmt.Errorf("read image from %s: %w", i.file.path, err)
	}
	b = bytes.Clone(b)
	if sha256.Sum256(b) != i.sum {
		return nil, fmt.Errorf("read image: %s has changed since the data set was opened: start again", i.file.path)
	}
	return b, nil
}
