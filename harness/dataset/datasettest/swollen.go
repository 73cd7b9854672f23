package datasettest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// WriteSwollen writes a Parquet file of one column and one row: n bytes of zeros, packed
// to almost nothing. Its page says that it holds says bytes.
func WriteSwollen(path, column string, n uint32, says int32) error {
	var packed bytes.Buffer
	z, err := zstd.NewWriter(&packed, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	if _, err := z.Write(binary.LittleEndian.AppendUint32(nil, n)); err != nil {
		return err
	}
	if _, err := io.CopyN(z, zeros{}, int64(n)); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	var protocol thrift.CompactProtocol
	page := format.PageHeader{Type: format.DataPage, UncompressedPageSize: says, CompressedPageSize: int32(packed.Len())}
	page.DataPageHeader.Valid = true
	page.DataPageHeader.V = format.DataPageHeader{NumValues: 1, Encoding: format.Plain, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE}
	header, err := thrift.Marshal(&protocol, &page)
	if err != nil {
		return fmt.Errorf("write a swollen Parquet file: %w", err)
	}
	size := int64(len(header) + packed.Len())
	root, leaf := format.SchemaElement{Name: "root"}, format.SchemaElement{Name: column}
	root.NumChildren = thrift.New(int32(1))
	leaf.Type = thrift.New(format.ByteArray)
	leaf.RepetitionType = thrift.New(format.Required)
	footer, err := thrift.Marshal(&protocol, &format.FileMetaData{Version: 1, NumRows: 1, Schema: []format.SchemaElement{root, leaf},
		RowGroups: []format.RowGroup{{NumRows: 1, TotalByteSize: size, Columns: []format.ColumnChunk{{MetaData: format.ColumnMetaData{Type: format.ByteArray,
			Encoding: []format.Encoding{format.Plain}, PathInSchema: []string{column}, Codec: format.Zstd, NumValues: 1, TotalUncompressedSize: size,
			TotalCompressedSize: size, DataPageOffset: 4}}}}}})
	if err != nil {
		return fmt.Errorf("write a swollen Parquet file: %w", err)
	}
	data := append(append(append([]byte("PAR1"), header...), packed.Bytes()...), footer...)
	data = append(binary.LittleEndian.AppendUint32(data, uint32(len(footer))), "PAR1"...)
	return os.WriteFile(path, data, 0o600)
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
