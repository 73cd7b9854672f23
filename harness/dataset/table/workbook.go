package table

import (
	"fmt"
	"strings"

	"github.com/xuri/excelize/v2"
)

// Sheets reads every sheet of a workbook that has rows.
func Sheets(path string) (sheets []Sheet, err error) {
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
		s := Sheet{File: path, Header: map[string]int{}, Rows: rows[1:]}
		for i, h := range rows[0] {
			h = strings.TrimSpace(h)
			if !isLabel(h) {
				h = strings.ToLower(h)
			}
			if _, twice := s.Header[h]; twice && h != "" {
				return nil, fmt.Errorf("read workbook %s, sheet %s: two columns are called %s: rename one", path, name, Quote(h))
			}
			s.Header[h] = i
		}
		if c, ok := s.Header["answer"]; ok {
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
