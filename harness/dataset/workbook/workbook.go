// Package workbook reads the sheets of an .xlsx file as text.
package workbook

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xuri/excelize/v2"

	"assay/harness/dataset/strict"
)

// Sheet is one sheet of a workbook as text: cells as stored, not as displayed.
type Sheet struct {
	File   string
	header map[string]int // column by trimmed header: lower case, except the options A..Z
	Rows   [][]string     // without the header; Rows[i] is sheet row i+2
}

// Cell is a row's text in a column, "" where there is none.
func (s Sheet) Cell(i int, column string) string {
	c, ok := s.header[column]
	if !ok || c >= len(s.Rows[i]) {
		return ""
	}
	return strings.TrimSpace(s.Rows[i][c])
}

// Has says whether all the columns are there.
func (s Sheet) Has(columns ...string) bool {
	for _, c := range columns {
		if _, ok := s.header[c]; !ok {
			return false
		}
	}
	return true
}

// Problem is one of a row.
func (s Sheet) Problem(i int, column, want, got string) strict.Problem {
	if got == "" {
		got = "an empty cell"
	}
	return strict.Problem{File: s.File, Row: i + 2, Column: column, Want: want, Got: got}
}

// Blank says whether a row says nothing.
func (s Sheet) Blank(i int) bool {
	return !slices.ContainsFunc(s.Rows[i], func(c string) bool { return strings.TrimSpace(c) != "" })
}

// Read reads every sheet that has rows.
func Read(path string) (sheets []Sheet, err error) {
	f, err := excelize.OpenFile(path, excelize.Options{RawCellValue: true, UnzipSizeLimit: 1 << 30})
	if err != nil {
		return nil, fmt.Errorf("read workbook %s: %w", path, err)
	}
	defer f.Close()
	for _, name := range f.GetSheetList() {
		rows, err := f.GetRows(name)
		if err != nil {
			return nil, fmt.Errorf("read workbook %s, sheet %s: %w", path, name, err)
		}
		if len(rows) == 0 {
			continue
		}
		s := Sheet{File: path, header: map[string]int{}, Rows: rows[1:]}
		for i, h := range rows[0] {
			h = strings.TrimSpace(h)
			if !isLabel(h) {
				h = strings.ToLower(h)
			}
			if _, twice := s.header[h]; twice && h != "" {
				return nil, fmt.Errorf("read workbook %s, sheet %s: two columns are called %s: rename one", path, name, strict.Quote(h))
			}
			s.header[h] = i
		}
		if c, ok := s.header["answer"]; ok {
			if err := boolCells(f, name, c, s.Rows); err != nil {
				return nil, fmt.Errorf("read workbook %s, sheet %s: %w", path, name, err)
			}
		}
		sheets = append(sheets, s)
	}
	return sheets, nil
}

// boolCells writes out the answers that a spreadsheet keeps as truth values: the
// stored text of TRUE is 1.
func boolCells(f *excelize.File, name string, column int, rows [][]string) error {
	for i, row := range rows {
		if column >= len(row) || row[column] != "1" && row[column] != "0" && !strings.EqualFold(row[column], "true") && !strings.EqualFold(row[column], "false") {
			continue
		}
		cell, err := excelize.CoordinatesToCellName(column+1, i+2)
		if err != nil {
			return err
		}
		kind, err := f.GetCellType(name, cell)
		if err != nil {
			return err
		}
		if kind == excelize.CellTypeBool {
			row[column] = map[bool]string{true: "True", false: "False"}[row[column] == "1" || strings.EqualFold(row[column], "true")]
		}
	}
	return nil
}

func isLabel(s string) bool { return len(s) == 1 && s[0] >= 'A' && s[0] <= 'Z' }
