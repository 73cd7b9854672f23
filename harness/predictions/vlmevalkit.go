package predictions

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"
)

// mostInCell is what a cell of a workbook holds, in units of UTF-16.
const mostInCell = 32_767

// VLMEvalKit writes {model}_{dataset}.xlsx and .tsv for each model and prompting
// strategy: the data's columns but the picture, and prediction. A failure has
// VLMEvalKit's own words; what was not asked yet has no row. A workbook is left out
// where a text is longer than a cell holds.
func (s Source) VLMEvalKit(dir string) ([]File, error) {
	groups, err := s.groups()
	if err != nil {
		return nil, err
	}
	var out []File
	for _, g := range groups {
		rows, f := s.predicted(g)
		base := filepath.Join(dir, g.name+"_"+g.task)
		f.Path = base + ".tsv"
		if err := create(f.Path, func(w *os.File) error {
			c := csv.NewWriter(w)
			c.Comma = '\t'
			return c.WriteAll(rows)
		}); err != nil {
			return nil, err
		}
		out = append(out, f)
		if slices.ContainsFunc(rows, func(row []string) bool {
			return slices.ContainsFunc(row, func(cell string) bool { return len(utf16.Encode([]rune(cell))) > mostInCell })
		}) {
			continue
		}
		f.Path = base + ".xlsx"
		if err := create(f.Path, func(w *os.File) error { return workbookOf(w, rows) }); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// predicted are a group's rows, with a header.
func (s Source) predicted(g *group) ([][]string, File) {
	most := 0
	set := s.Sets[g.study]
	place := map[string]int{}
	for i, it := range set.Items {
		place[it.ID], most = i, max(most, len(it.Options))
	}
	head := []string{"index", "question"}
	for i := range most {
		head = append(head, letter(i))
	}
	rows := [][]string{append(head, "answer", "category", "l2-category", "prediction")}
	var f File
	for _, t := range g.trials {
		it := set.Items[place[t.item]]
		labels, texts, gold := options(it)
		row := []string{it.ID, it.Question}
		cells := make([]string, most)
		for i := range labels {
			cells[i] = texts[i]
			if at := slices.Index(head, labels[i]) - 2; at >= 0 && at < most {
				cells[at] = texts[i]
			}
		}
		said := t.answer
		if f.Answers++; t.failure != "" {
			// Its code looks for the first half, of one place "via API" with it.
			said = fmt.Sprintf("%s via API. (%s)", failed, t.failure)
			f.Answers, f.Failures = f.Answers-1, f.Failures+1
		}
		row = append(append(row, cells...), gold, it.Task, it.Modality, said)
		rows = append(rows, row)
	}
	return rows, f
}

func workbookOf(w *os.File, rows [][]string) error {
	book := excelize.NewFile()
	defer book.Close()
	sheet, err := book.NewStreamWriter("Sheet1")
	if err != nil {
		return err
	}
	for i, row := range rows {
		cells := make([]any, len(row))
		for j, c := range row {
			cells[j] = c
		}
		at, err := excelize.CoordinatesToCellName(1, i+1)
		if err != nil {
			return err
		}
		if err := sheet.SetRow(at, cells); err != nil {
			return err
		}
	}
	if err := sheet.Flush(); err != nil {
		return err
	}
	return book.Write(w)
}
