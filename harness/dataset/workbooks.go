// M3 reads what is M3CoTBench's own: its two workbooks, known by their columns,
// its gold steps and its tasks.

package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assay/harness/dataset/table"
)

// workbooks are the two sheets of a folder; Types may be missing.
type workbooks struct {
	Questions table.Sheet
	Types     *table.Sheet
}

// find looks through every .xlsx of the folder for the sheet with the
// questions and the one with the task labels, by their columns.
func find(dir string) (w workbooks, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return w, fmt.Errorf("read data set folder: %w", err)
	}
	var questions, types []table.Sheet
	var broken []error
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !strings.EqualFold(filepath.Ext(name), ".xlsx") || strings.HasPrefix(name, "~$") { // ~$: Excel's lock
			continue
		}
		sheets, err := table.Sheets(filepath.Join(dir, name))
		if err != nil {
			broken = append(broken, err)
		}
		for _, s := range sheets {
			switch {
			case s.Has("index", "question", "answer"):
				questions = append(questions, s)
			case s.Has("index", "analysis_type"):
				types = append(types, s)
			}
		}
	}
	if len(questions) == 0 {
		return w, errors.Join(append([]error{fmt.Errorf("%s: no workbook (.xlsx) has a sheet with the columns index, question and answer: expected M3CoTBench.xlsx", dir)}, broken...)...)
	}
	q, err := theOne(dir, "questions", "M3CoTBench.xlsx", questions)
	if err != nil {
		return w, err
	}
	w.Questions = q
	if len(types) > 0 {
		t, err := theOne(dir, "task labels", "type.xlsx", types)
		if err != nil {
			return w, err
		}
		w.Types = &t
	} else if len(broken) > 0 {
		return w, errors.Join(broken...)
	}
	return w, nil
}

// theOne picks the sheet in the file of the published name when there are several.
func theOne(dir, what, published string, found []table.Sheet) (table.Sheet, error) {
	if len(found) == 1 {
		return found[0], nil
	}
	var named []table.Sheet
	var files []string
	for _, s := range found {
		files = append(files, s.File)
		if filepath.Base(s.File) == published {
			named = append(named, s)
		}
	}
	if len(named) == 1 {
		return named[0], nil
	}
	return table.Sheet{}, fmt.Errorf("%s: %d sheets have the columns of the %s (%s): leave one, or call it %s", dir, len(found), what, strings.Join(files, ", "), published)
}
