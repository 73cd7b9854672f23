// Package table reads files of rows for whoever needs some, and says exactly where one is
// wrong.
//
//  1. ParseJSON reads JSON without second keys; Compile and Violations hold it against a
//     schema.
//  2. EachLine reads files of one JSON object a line, of which it holds one at a time.
//  3. JSONRows reads small tables that people and other tools write: CSV with a header row,
//     or JSON lines.
//  4. ParquetRows, ParquetCells and Sheets read what takes a library: Parquet files with embedded pictures (shards.go,
//     lists.go) and the sheets of workbooks (workbook.go).
//  5. A Root gives out the files of a folder that somebody else may have made: regular
//     ones, and of those only what lies inside (folder.go).
package table

import (
	"crypto/sha256"
	"slices"
	"strings"
)

// Row is a row of a Parquet file.
type Row struct {
	Number int      // in the file, from 1
	Texts  []string // by column of Columns.Texts, then of Columns.Any; "" where there is no value
	Images []Picture
}

// Picture is an image of a row.
type Picture struct {
	Image Image
	Bad   string // what is wrong with it; "": nothing
}

// None is what is wrong with a picture that is not there.
const None = "none"

// Image is a picture in a file.
type Image interface {
	Sum() [sha256.Size]byte // the SHA-256 of its bytes
	Load() ([]byte, error)  // reads it again and refuses one that has changed since
}

// Columns are those that are read. A dotted name is a field: "Image.bytes".
type Columns struct {
	Texts  []string // of text
	Any    []string // of anything, which is read as text
	Images []string // of files
}

// Cell is what a row has in a column: several values of a list, none of null.
type Cell struct {
	Texts  []string
	List   bool // the column holds lists
	Images []Picture
}

// Sheet is one sheet of a workbook as text: cells as stored, not as displayed.
type Sheet struct {
	File   string
	Header map[string]int // column by trimmed header: lower case, except the options A..Z
	Rows   [][]string     // without the header; Rows[i] is sheet row i+2
}

// Cell is a row's text in a column, "" where there is none.
func (s Sheet) Cell(i int, column string) string {
	c, ok := s.Header[column]
	if !ok || c >= len(s.Rows[i]) {
		return ""
	}
	return strings.TrimSpace(s.Rows[i][c])
}

// Has says whether all the columns are there.
func (s Sheet) Has(columns ...string) bool {
	for _, c := range columns {
		if _, ok := s.Header[c]; !ok {
			return false
		}
	}
	return true
}

// Problem is one of a row.
func (s Sheet) Problem(i int, column, want, got string) Problem {
	if got == "" {
		got = "an empty cell"
	}
	return Problem{File: s.File, Row: i + 2, Column: column, Want: want, Got: got}
}

// Blank says whether a row says nothing.
func (s Sheet) Blank(i int) bool {
	return !slices.ContainsFunc(s.Rows[i], func(c string) bool { return strings.TrimSpace(c) != "" })
}
