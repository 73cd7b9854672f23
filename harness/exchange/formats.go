package exchange

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/parquet-go/parquet-go"

	"assay/results"
)

// writer takes rows: one value for each column, string, float64, int64 or bool by
// its kind, nil where there is none. The row may be used again. Close ends the file,
// but does not close what it is written to.
type writer interface {
	Write(row []any) error
	Close() error
}

// Formats are the names of the formats, which are the endings of files.
func Formats() []string { return []string{"csv", "jsonl", "parquet"} }

// FormatOf is the format that is asked for, or that of a file's ending; "-", the
// standard output, is CSV.
func FormatOf(format, path string) (string, error) {
	switch {
	case format != "":
	case path == "-":
		format = "csv"
	default:
		format = strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), ".")
	}
	if !slices.Contains(Formats(), format) {
		return "", fmt.Errorf("expected a file that ends in one of %s, or --format; found %q", strings.Join(Formats(), ", "), format)
	}
	return format, nil
}

// newWriter begins a file in one of Formats.
func newWriter(format string, w io.Writer, cols []results.FileColumn) (writer, error) {
	switch format {
	case "csv":
		return newCSV(w, cols)
	case "jsonl":
		return newJSONL(w, cols)
	case "parquet":
		return newParquet(w, cols, parquetSizes{group: 100_000, page: parquet.DefaultPageBufferSize, few: 1 << 20}), nil
	}
	return nil, fmt.Errorf("expected a format of %v, found %q", Formats(), format)
}

// csvFile leaves a field empty where there is no value.
type csvFile struct {
	w     *csv.Writer
	cells []string
}

func newCSV(w io.Writer, cols []results.FileColumn) (*csvFile, error) {
	f := &csvFile{csv.NewWriter(w), make([]string, len(cols))}
	for i, c := range cols {
		f.cells[i] = c.Name
	}
	return f, f.w.Write(f.cells)
}

func (f *csvFile) Write(row []any) error {
	for i, v := range row {
		switch v := v.(type) {
		case nil:
			f.cells[i] = ""
		case string:
			f.cells[i] = v
		case float64:
			f.cells[i] = strconv.FormatFloat(v, 'g', -1, 64)
		case int64:
			f.cells[i] = strconv.FormatInt(v, 10)
		case bool:
			f.cells[i] = strconv.FormatBool(v)
		default:
			panic(fmt.Sprintf("exchange: internal error: a value of type %T", v))
		}
	}
	return f.w.Write(f.cells)
}

func (f *csvFile) Close() error {
	f.w.Flush()
	return f.w.Error()
}

// jsonlFile writes an object a line, its keys in the order of the columns.
type jsonlFile struct {
	w     io.Writer
	names [][]byte
	line  []byte
}

func newJSONL(w io.Writer, cols []results.FileColumn) (*jsonlFile, error) {
	f := &jsonlFile{w: w}
	for _, c := range cols {
		b, err := json.Marshal(c.Name)
		if err != nil {
			return nil, err
		}
		f.names = append(f.names, append(b, ':'))
	}
	return f, nil
}

func (f *jsonlFile) Write(row []any) error {
	f.line = append(f.line[:0], '{')
	for i, v := range row {
		if i > 0 {
			f.line = append(f.line, ',')
		}
		f.line = append(f.line, f.names[i]...)
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		f.line = append(f.line, b...)
	}
	f.line = append(f.line, '}', '\n')
	_, err := f.w.Write(f.line)
	return err
}

func (f *jsonlFile) Close() error { return nil }

// parquetFile writes one leaf for each column, each optional. Rows are put into lists of
// values column by column, which is how they are encoded.
type parquetFile struct {
	w       *parquet.GenericWriter[any]
	to      []*parquet.ColumnWriter
	none    []parquet.Value   // of each column
	values  [][]parquet.Value // of each column, parquetBatch long
	n       int               // of the values that are there
	grouped int               // rows of this group that were handed over
	group   int
}

// parquetSizes are what is kept in memory of a column: group, rows of which texts that
// many rows share are kept once; page, bytes that are compressed together; few, bytes of
// such texts after which the others of a group stand where they are.
type parquetSizes struct{ group, page, few int }

// parquetBatch is no power of two, or the columns' next values would all fall on the same
// few lines of a processor's cache.
const parquetBatch = 500

func newParquet(w io.Writer, cols []results.FileColumn, sizes parquetSizes) *parquetFile {
	// A schema made of a struct keeps the order of its fields.
	var fields []reflect.StructField
	for i, c := range cols {
		tag := c.Name + ",optional"
		if c.Few {
			tag += ",dict"
		}
		fields = append(fields, reflect.StructField{Name: "C" + strconv.Itoa(i), Type: goType(c.Kind), Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag))})
	}
	schema := parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
	// Least and most stand in the index of pages; once is enough.
	f := &parquetFile{group: sizes.group, w: parquet.NewGenericWriter[any](w, schema, parquet.Compression(&parquet.Snappy),
		parquet.DataPageStatistics(false), parquet.PageBufferSize(sizes.page), parquet.DictionaryMaxBytes(int64(sizes.few)))}
	f.to = f.w.ColumnWriters()
	room := make([]parquet.Value, len(cols)*parquetBatch)
	for i := range cols {
		f.none = append(f.none, parquet.NullValue().Level(0, 0, i))
		f.values = append(f.values, room[i*parquetBatch:][:parquetBatch])
	}
	return f
}

func goType(k results.ColumnKind) reflect.Type {
	switch k {
	case results.TextColumn:
		return reflect.TypeFor[string]()
	case results.NumberColumn:
		return reflect.TypeFor[float64]()
	case results.IntegerColumn:
		return reflect.TypeFor[int64]()
	case results.TruthColumn:
		return reflect.TypeFor[bool]()
	}
	panic(fmt.Sprintf("exchange: internal error: no kind %q", k))
}

func (f *parquetFile) Write(row []any) error {
	for i, v := range row {
		to := &f.values[i][f.n]
		switch v := v.(type) { // parquet.ValueOf takes five times as long, by reflection
		case nil:
			*to = f.none[i]
			continue
		case string:
			*to = parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(v), len(v))) // it is read alone
		case float64:
			*to = parquet.DoubleValue(v)
		case int64:
			*to = parquet.Int64Value(v)
		case bool:
			*to = parquet.BooleanValue(v)
		default:
			panic(fmt.Sprintf("exchange: internal error: a value of type %T", v))
		}
		to.SetDefinitionLevel(1)
		to.SetColumnIndex(i)
	}
	if f.n++; f.n < parquetBatch {
		return nil
	}
	return f.flush()
}

func (f *parquetFile) flush() error {
	for i, list := range f.values {
		if _, err := f.to[i].WriteRowValues(list[:f.n]); err != nil {
			return err
		}
	}
	f.grouped, f.n = f.grouped+f.n, 0
	if f.grouped < f.group {
		return nil
	}
	f.grouped = 0
	return f.w.Flush()
}

func (f *parquetFile) Close() error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.w.Close()
}
