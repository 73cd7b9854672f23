package exchange

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"assay/results"
)

var cols = []results.FileColumn{{Name: "model", Kind: results.TextColumn}, {Name: "accuracy", Kind: results.NumberColumn}, {Name: "z_last", Kind: results.IntegerColumn}, {Name: "a_first", Kind: results.TruthColumn}}

// TestEveryFormatHoldsTheSameRows: what goes in comes out, absence too, in the order
// of the columns.
func TestEveryFormatHoldsTheSameRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows [][]any
		for range rapid.IntRange(0, 3*parquetBatch/2).Draw(t, "rows") % 600 {
			some := func(v any) any {
				if rapid.Bool().Draw(t, "there") {
					return v
				}
				return nil
			}
			rows = append(rows, []any{some(rapid.StringMatching(`[a-zé",;\n]{1,6}`).Draw(t, "text")), some(rapid.Float64Range(-1e9, 1e9).Draw(t, "number")),
				some(rapid.Int64().Draw(t, "integer")), some(rapid.Bool().Draw(t, "truth"))})
		}
		for _, format := range Formats() {
			var file bytes.Buffer
			w, err := newWriter(format, &file, cols)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if err := w.Write(r); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got := read(t, format, file.Bytes())
			if len(got) != len(rows) {
				t.Fatalf("%s: %d rows, want %d", format, len(got), len(rows))
			}
			for i := range rows {
				for k := range cols {
					if got[i][k] != rows[i][k] {
						t.Fatalf("%s: row %d, %s: %#v, want %#v", format, i, cols[k].Name, got[i][k], rows[i][k])
					}
				}
			}
		}
	})
}

// TestParquetOfManyGroups: rows are whole and in order across groups and pages, where a
// text that rows share is kept once and where there are too many of them for that.
func TestParquetOfManyGroups(t *testing.T) {
	few := slices.Clone(cols)
	few[0].Few = true
	rapid.Check(t, func(t *rapid.T) {
		rows := make([][]any, rapid.SampledFrom([]int{0, 1, parquetBatch - 1, parquetBatch, parquetBatch + 1, 3*parquetBatch + 7}).Draw(t, "rows"))
		texts := rapid.SampledFrom([]int{1, 3, 50, 5000}).Draw(t, "texts")
		for i := range rows {
			rows[i] = []any{fmt.Sprint("text ", i*i%texts), float64(i) / 3, int64(i % 7), i%5 == 0}
			if i%11 == 0 {
				rows[i][0] = "" // a text, and not none
			}
			for k := range rows[i] {
				if (i+k)%(k+3) == 0 {
					rows[i][k] = nil
				}
			}
		}
		sizes := parquetSizes{group: rapid.IntRange(1, 4*parquetBatch).Draw(t, "group"), page: rapid.IntRange(64, 8192).Draw(t, "page"), few: rapid.IntRange(1, 1000).Draw(t, "few")}
		var file bytes.Buffer
		w := newParquet(&file, few, sizes)
		for _, r := range rows {
			if err := w.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got := read(t, "parquet", file.Bytes())
		if len(got) != len(rows) {
			t.Fatalf("%d rows, want %d", len(got), len(rows))
		}
		for i := range rows {
			if !slices.Equal(got[i], rows[i]) {
				t.Fatalf("row %d is %v, want %v", i, got[i], rows[i])
			}
		}
		if groups := parquetGroups(t, file.Bytes()); len(groups) > 0 && slices.Max(groups) >= int64(sizes.group+parquetBatch) {
			t.Errorf("groups of %d rows, want %d", groups, sizes.group)
		}
	})
}

// parquetGroups are the numbers of rows of a file's groups.
func parquetGroups(t *rapid.T, file []byte) (rows []int64) {
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range f.RowGroups() {
		rows = append(rows, g.NumRows())
	}
	return rows
}

// TestParquetKeepsTextsOnce: a text of a thousand rows stands in the file once, or in
// each of them.
func TestParquetKeepsTextsOnce(t *testing.T) {
	size := map[bool]int{}
	for _, few := range []bool{true, false} {
		var file bytes.Buffer
		w, err := newWriter("parquet", &file, []results.FileColumn{{Name: "model", Kind: results.TextColumn, Few: few}})
		if err != nil {
			t.Fatal(err)
		}
		noise := rand.New(rand.NewPCG(1, 2))
		texts := make([]string, 100)
		for i := range texts {
			texts[i] = fmt.Sprintf("%x%x%x%x", noise.Uint64(), noise.Uint64(), noise.Uint64(), noise.Uint64())
		}
		for range 10_000 {
			if err := w.Write([]any{texts[noise.IntN(len(texts))]}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		size[few] = file.Len()
	}
	// A hundred texts of 64 bytes, and 7 bits a row.
	if size[true] > 6400+10_000*7/8+2000 || size[false] < 2*size[true] {
		t.Errorf("%d bytes, and %d where each row has its own", size[true], size[false])
	}
}

// record is a row as readers of JSON and Parquet fill it.
type record struct {
	Model    *string  `json:"model" parquet:"model"`
	Accuracy *float64 `json:"accuracy" parquet:"accuracy"`
	Last     *int64   `json:"z_last" parquet:"z_last"`
	First    *bool    `json:"a_first" parquet:"a_first"`
}

func (o record) row() []any {
	row := make([]any, len(cols))
	if o.Model != nil {
		row[0] = *o.Model
	}
	if o.Accuracy != nil {
		row[1] = *o.Accuracy
	}
	if o.Last != nil {
		row[2] = *o.Last
	}
	if o.First != nil {
		row[3] = *o.First
	}
	return row
}

func read(t *rapid.T, format string, file []byte) (rows [][]any) {
	must := func(err error) {
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
	}
	switch format {
	case "csv":
		lines, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
		must(err)
		for _, l := range lines[1:] {
			row := make([]any, len(l))
			for i, cell := range l {
				switch {
				case cell == "":
				case cols[i].Kind == results.TextColumn:
					row[i] = cell
				case cols[i].Kind == results.NumberColumn:
					v, err := strconv.ParseFloat(cell, 64)
					must(err)
					row[i] = v
				case cols[i].Kind == results.IntegerColumn:
					v, err := strconv.ParseInt(cell, 10, 64)
					must(err)
					row[i] = v
				default:
					v, err := strconv.ParseBool(cell)
					must(err)
					row[i] = v
				}
			}
			rows = append(rows, row)
		}
	case "jsonl":
		for line := range bytes.Lines(file) {
			at := 0
			for _, c := range cols { // in order
				k := bytes.Index(line, []byte(strconv.Quote(c.Name)+":"))
				if k < at {
					t.Fatalf("%s stands out of order in %s", c.Name, line)
				}
				at = k
			}
			var o record
			must(json.Unmarshal(line, &o))
			rows = append(rows, o.row())
		}
	case "parquet":
		f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
		must(err)
		for i, field := range f.Schema().Fields() {
			if field.Name() != cols[i].Name || !field.Optional() {
				t.Fatalf("column %d is %s, optional %t", i, field.Name(), field.Optional())
			}
		}
		records, err := parquet.Read[record](bytes.NewReader(file), int64(len(file)))
		must(err)
		for _, o := range records {
			rows = append(rows, o.row())
		}
	}
	return rows
}

func TestNoSuchFormat(t *testing.T) {
	if _, err := newWriter("xls", &bytes.Buffer{}, cols); err == nil || !strings.Contains(err.Error(), `found "xls"`) {
		t.Fatal(err)
	}
}

// TestWhatJSONCannotSay: a number that is none is an error, not a broken file.
func TestWhatJSONCannotSay(t *testing.T) {
	w, err := newWriter("jsonl", &bytes.Buffer{}, cols)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write([]any{nil, math.NaN(), nil, nil}); err == nil {
		t.Fatal("NaN was written")
	}
}
