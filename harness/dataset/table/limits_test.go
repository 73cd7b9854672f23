package table

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"assay/harness/dataset/datasettest"
)

// made is how many bytes a function makes room for.
func made(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func written[T any](t *testing.T, rows []T, options ...parquet.WriterOption) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := parquet.WriteFile(path, rows, append(options, parquet.SkipPageBounds("image"))...); err != nil {
		t.Fatal(err)
	}
	return path
}

func refused(t *testing.T, path, want string, most uint64) {
	t.Helper()
	for name, read := range map[string]func() error{
		"Rows": func() error {
			_, err := ParquetRows(path, Columns{Texts: []string{"question"}, Images: []string{"image"}}, func(Row) {})
			return err
		},
		"Cells": func() error {
			return ParquetCells(path, []string{"question", "image"}, []string{"image"}, func(int, []Cell) {})
		},
	} {
		var err error
		n := made(func() { err = read() })
		t.Logf("%s: %d MB made, at most %d: %v", name, n>>20, most>>20, err)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: expected an error of %s with %q, found %v", name, path, want, err)
		}
		if n > most {
			t.Errorf("%s: %d MB made, expected at most %d", name, n>>20, most>>20)
		}
	}
}

// A footer that says more than the file holds is refused before room is made for it.
func TestFooterSaysMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.parquet")
	put := func(footer []byte, says uint32) {
		data := append([]byte("PAR1"), footer...)
		data = binary.LittleEndian.AppendUint32(data, says)
		if err := os.WriteFile(path, append(data, "PAR1"...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(nil, 0xffffffff)
	refused(t, path, "expected a footer of at most 0 bytes in this file of 12, found one that says 4294967295", 1<<20)
	put(nil, 1)
	refused(t, path, "expected a footer of at most 0 bytes in this file of 12, found one that says 1:", 1<<20)
	list := []byte{0x15, 0x02, 0x19, 0xfc, 0xff, 0xff, 0xff, 0x1f, 0x00, 0x00} // a schema of 67,108,863 columns
	put(list, uint32(len(list)))
	refused(t, path, "it says that it holds more than it can", 1<<20)
	deep := append([]byte{0x15, 0x02}, bytes.Repeat([]byte{0x9c}, 1<<20)...)
	put(deep, uint32(len(deep)))
	refused(t, path, "structures of at most 32 levels", 1<<20)
}

type asked struct {
	Question string `parquet:"question"`
	Image    []byte `parquet:"image"`
}

// Pages that unpack to more than a picture may have are refused before there is room for them.
func TestPagesUnpackToMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.parquet")
	for says, want := range map[int32]string{MaxPicture + 1: "found one that says 268435457 bytes", 36: "found one that unpacks to more bytes"} {
		if err := datasettest.WriteSwollen(path, "image", MaxPicture+1, says); err != nil {
			t.Fatal(err)
		}
		var err error
		n := made(func() {
			err = ParquetCells(path, []string{"image"}, []string{"image"}, func(int, []Cell) {})
		})
		t.Logf("%d MB made, at most 80: %v", n>>20, err)
		if want = "column image: expected a page of 28683 bytes to hold at most 256 MB, " + want; err == nil || !strings.Contains(err.Error(), want) || n > 80<<20 {
			t.Errorf("%d MB made, expected at most 80; expected %q, found %v", n>>20, want, err)
		}
	}
}

// Whatever packs a page, no more than the limit is unpacked, whatever its header says.
func TestUnpack(t *testing.T) {
	for _, codec := range []compress.Codec{&parquet.Zstd, &parquet.Gzip, &parquet.Brotli, &parquet.Snappy, &parquet.Lz4Raw} {
		b, err := codec.Encode(nil, make([]byte, 1<<16))
		if err != nil {
			t.Fatal(err)
		}
		for most, ok := range map[int64]bool{1<<16 - 1: false, 1 << 16: true} {
			if err := unpack(codec.CompressionCodec(), bytes.NewReader(b), int64(len(b)), most, most); (err == nil) != ok {
				t.Errorf("%s of 65536 bytes, of which %d are allowed: %v", codec, most, err)
			}
			if err := unpack(codec.CompressionCodec(), bytes.NewReader(b[:len(b)/2]), int64(len(b)/2), most, most); err == nil && codec != &parquet.Snappy {
				t.Errorf("half of a %s page: no error", codec)
			}
		}
	}
}

// A picture inside a file has the limit of one beside it; a text has its own.
func TestLargeCells(t *testing.T) {
	if got, want := look(make([]byte, MaxPicture+1)).bad, "expected at most 256 MB, found 268435457 bytes"; got != want {
		t.Errorf("expected %q, found %q", want, got)
	}
	path := written(t, []asked{{strings.Repeat("a", maxText+1), nil}})
	_, err := ParquetRows(path, Columns{Texts: []string{"question"}}, func(Row) { t.Error("a row") })
	if want := "expected texts of at most 4 MB, found one of 4194305 bytes"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("expected %q, found %v", want, err)
	}
}
