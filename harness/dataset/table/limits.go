package table

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// The library believes what a file says of its own sizes and makes room for it before it
// reads. So footers and headers of pages are read here first, and pages are unpacked
// into nothing, up to these limits.
const (
	maxText   = 4 << 20 // bytes of a cell
	maxTimes  = 16      // what a page of more than MaxPicture may unpack to, in its own bytes
	fewValues = 1 << 18 // rows, or values of a page, that any file may have; of larger ones, one a byte
	maxDepth  = 32      // of structures in structures
)

// checkFooter refuses a footer that is longer than the file or says that it holds more than it can.
func checkFooter(f *os.File, size int64) error {
	if size < 12 {
		return fmt.Errorf("expected at least 12 bytes, found %d", size)
	}
	var end [8]byte
	if _, err := f.ReadAt(end[:], size-8); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	if n > size-12 {
		return fmt.Errorf("expected a footer of at most %d bytes in this file of %d, found one that says %d: it is damaged", size-12, size, n)
	}
	t := thrift{in: bufio.NewReader(io.NewSectionReader(f, size-8-n, n)), left: n}
	return t.structure(0, 0)
}

// checkRows refuses more rows than the bytes of the file can stand for.
func checkRows(in *parquet.File) error {
	n, most := int64(0), max(fewValues, in.Size())
	for _, g := range in.Metadata().RowGroups {
		if n += g.NumRows; g.NumRows < 0 || n > most {
			return fmt.Errorf("expected at most %d rows in a file of %d bytes, found one that says %d", most, in.Size(), n)
		}
	}
	return nil
}

// checkPages unpacks the pages of a column of a row group into nothing.
func checkPages(f *os.File, in *parquet.File, group, leaf int) error {
	column := in.RowGroups()[group].ColumnChunks()[leaf].Type()
	of := in.Metadata().RowGroups[group].Columns[leaf].MetaData
	start := of.DataPageOffset
	if of.DictionaryPageOffset != 0 {
		start = of.DictionaryPageOffset
	}
	if start < 0 || of.TotalCompressedSize < 0 || of.TotalCompressedSize > in.Size()-start {
		return fmt.Errorf("expected pages inside the file of %d bytes, found %d bytes of them at byte %d", in.Size(), of.TotalCompressedSize, start)
	}
	t := thrift{in: bufio.NewReaderSize(io.NewSectionReader(f, start, of.TotalCompressedSize), 1<<16), left: of.TotalCompressedSize}
	for t.left > 0 {
		t.ints = map[[2]int64]int64{}
		if err := t.structure(0, 0); err != nil {
			return err
		}
		packed, unpacked := t.ints[[2]int64{0, 3}], t.ints[[2]int64{0, 2}]
		if packed < 0 || packed > t.left {
			return fmt.Errorf("expected a page of at most %d bytes, found one that says %d", t.left, packed)
		}
		most, values := max(MaxPicture, maxTimes*packed), int64(0)
		if unpacked < 0 || unpacked > most {
			return tooLarge(packed, most, fmt.Sprintf("says %d", unpacked))
		}
		for _, header := range []int64{5, 7, 8} { // a page of data, a dictionary, a page of version 2
			values = max(values, t.ints[[2]int64{header, 1}])
		}
		if few := max(fewValues, in.Size()); values < 0 || values > few {
			return fmt.Errorf("expected at most %d values in a page of a file of %d bytes, found one that says %d", few, in.Size(), values)
		}
		if width := int64(column.Length()); width > 0 && values*width > most {
			return fmt.Errorf("expected a page of at most %d MB, found one that says %d values of %d bytes", most>>20, values, width)
		}
		if e := format.Encoding(max(t.ints[[2]int64{5, 2}], t.ints[[2]int64{8, 4}])); e == format.DeltaByteArray && values*unpacked > most {
			return fmt.Errorf("pages of %d bytes in the encoding %s may grow without limit: write the file again without it, as pyarrow does", unpacked, e)
		}
		body := &io.LimitedReader{R: t.in, N: packed}
		levels := t.ints[[2]int64{8, 5}] + t.ints[[2]int64{8, 6}] // of version 2 they stand before, not packed
		if _, err := io.CopyN(io.Discard, body, levels); err != nil {
			return fmt.Errorf("a page of %d bytes is shorter than its levels", packed)
		}
		if is, said := t.ints[[2]int64{8, 7}]; body.N > 0 && (is == 1 || !said) {
			if err := unpack(of.Codec, body, packed, unpacked, most); err != nil {
				return err
			}
		}
		if _, err := io.Copy(io.Discard, body); err != nil {
			return err
		}
		t.left -= packed
	}
	return nil
}

func tooLarge(packed, most int64, found string) error {
	return fmt.Errorf("expected a page of %d bytes to hold at most %d MB, found one that %s bytes", packed, most>>20, found)
}

// unpack reads a page of so many bytes, of which its header says that they hold says.
func unpack(codec format.CompressionCodec, body io.Reader, packed, says, most int64) error {
	var r io.Reader
	var err error
	switch codec {
	case format.Snappy:
		n, err := binary.ReadUvarint(bufio.NewReaderSize(body, 16))
		if err == nil && n > uint64(most) {
			return tooLarge(packed, most, fmt.Sprintf("says %d", n))
		}
		return nil
	case format.Lz4Raw: // of a damaged block the library doubles the room for ever
		b, err := io.ReadAll(body)
		if err == nil {
			_, err = lz4.UncompressBlock(b, make([]byte, says))
		}
		return err
	case format.Zstd:
		z, zerr := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(most)))
		if zerr != nil {
			return zerr
		}
		defer z.Close()
		r = z
	case format.Gzip:
		r, err = gzip.NewReader(body)
	case format.Brotli:
		r = brotli.NewReader(body)
	default:
		return nil
	}
	if err != nil {
		return fmt.Errorf("a page cannot be unpacked: %w", err)
	}
	n, err := io.CopyN(io.Discard, r, most+1)
	switch {
	case n > most:
		return tooLarge(packed, most, "unpacks to more")
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("a page cannot be unpacked: %w", err)
	}
	return nil
}

// thrift walks structures in Thrift's compact protocol; it makes room for nothing.
type thrift struct {
	in   *bufio.Reader
	left int64              // bytes
	ints map[[2]int64]int64 // whole numbers, and truths as 1 and 0, of the structure and of those right in it, by the field of that and its own; nil: not kept
}

var errThrift = errors.New("it says that it holds more than it can")

func (t *thrift) byte() (byte, error) {
	if t.left--; t.left < 0 {
		return 0, errThrift
	}
	return t.in.ReadByte()
}

func (t *thrift) number() (u uint64, err error) {
	for shift := 0; shift < 64; shift += 7 {
		b, err := t.byte()
		if err != nil {
			return 0, err
		}
		if u |= uint64(b&0x7f) << shift; b < 0x80 {
			return u, nil
		}
	}
	return 0, errThrift
}

// signed is how whole numbers stand: zigzag.
func signed(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

func (t *thrift) structure(field int64, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("expected structures of at most %d levels, found more", maxDepth)
	}
	id := int64(0)
	for {
		b, err := t.byte()
		if err != nil || b == 0 {
			return err
		}
		if delta := int64(b >> 4); delta > 0 {
			id += delta
		} else if u, err := t.number(); err != nil {
			return err
		} else {
			id = signed(u)
		}
		if err := t.value(b&0x0f, [2]int64{field, id}, depth, false); err != nil {
			return err
		}
	}
}

func (t *thrift) value(kind byte, at [2]int64, depth int, inList bool) error {
	switch kind {
	case 1, 2: // a field's type is its truth
		if inList {
			return t.skip(1)
		}
		t.keep(at, depth, int64(2-kind))
		return nil
	case 3:
		return t.skip(1)
	case 4, 5, 6:
		u, err := t.number()
		if !inList {
			t.keep(at, depth, signed(u))
		}
		return err
	case 7:
		return t.skip(8)
	case 8:
		u, err := t.number()
		if err != nil {
			return err
		}
		return t.skip(u)
	case 9, 10:
		b, err := t.byte()
		if err != nil {
			return err
		}
		n := uint64(b >> 4)
		if n == 15 {
			if n, err = t.number(); err != nil {
				return err
			}
		}
		if n > uint64(t.left) { // each takes a byte at least
			return errThrift
		}
		for range n {
			if err := t.value(b&0x0f, at, depth+1, true); err != nil {
				return err
			}
		}
		return nil
	case 12:
		return t.structure(at[1], depth+1)
	}
	return fmt.Errorf("expected a type that Parquet has, found %d", kind)
}

func (t *thrift) keep(at [2]int64, depth int, n int64) {
	if t.ints != nil && depth <= 1 {
		t.ints[at] = n
	}
}

func (t *thrift) skip(n uint64) error {
	if n > uint64(t.left) {
		return errThrift
	}
	t.left -= int64(n)
	_, err := t.in.Discard(int(n))
	return err
}
