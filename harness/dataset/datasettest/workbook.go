// Package disk writes the data sets of datasettest whose files take a library to write:
// workbooks and Parquet.
package datasettest

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/xuri/excelize/v2"
)

// WriteM3CoTBench writes a folder in M3CoTBench's format: M3CoTBench.xlsx,
// type.xlsx and images/{index}.{png,jpg,jpeg,webp} (8 and 16 bit grey PNG, RGB
// PNG, JPEG and lossless WebP, 96 to 160 pixels wide). items must be at least 12,
// so that every question type and file format occurs.
func WriteM3CoTBench(dir string, items int) error {
	if items < 12 {
		return fmt.Errorf("write a synthetic M3CoTBench folder: %d items, need at least 12", items)
	}
	rows := Rows(items)
	if err := os.MkdirAll(filepath.Join(dir, "images"), 0o755); err != nil {
		return fmt.Errorf("write a synthetic M3CoTBench folder: %w", err)
	}
	head := []any{"index", "question", "answer", "modality", "feature", "key_conclusion", "additional_analysis"}
	table, types := [][]any{head}, [][]any{{"index", "analysis_type"}}
	for i, r := range rows {
		table = append(table, []any{r.Index, r.Question, r.Answer, r.Modality, r.Feature, r.KeyConclusion, orNil(r.AdditionalAnalysis)})
		types = append(types, []any{r.Index, r.AnalysisType})
		ext, b, err := Picture(i)
		if err != nil {
			return fmt.Errorf("draw item %d: %w", r.Index, err)
		}
		name := filepath.Join(dir, "images", fmt.Sprint(r.Index)+ext)
		if err := os.WriteFile(name, b, 0o644); err != nil {
			return fmt.Errorf("write a synthetic M3CoTBench folder: %w", err)
		}
	}
	if err := WriteWorkbook(filepath.Join(dir, "M3CoTBench.xlsx"), table); err != nil {
		return err
	}
	return WriteWorkbook(filepath.Join(dir, "type.xlsx"), types)
}

// WriteWorkbook writes one sheet; nil leaves a cell out. Strings are kept as
// strings, numbers and booleans as such.
func WriteWorkbook(path string, cells [][]any) error {
	f := excelize.NewFile()
	defer f.Close()
	for r, row := range cells {
		for c, v := range row {
			if v == nil {
				continue
			}
			cell, err := excelize.CoordinatesToCellName(c+1, r+1)
			if err == nil {
				err = f.SetCellValue("Sheet1", cell, v)
			}
			if err != nil {
				return fmt.Errorf("write workbook %s: row %d, column %d: %w", path, r+1, c+1, err)
			}
		}
	}
	if err := f.SaveAs(path); err != nil {
		return fmt.Errorf("write workbook %s: %w", path, err)
	}
	return nil
}
