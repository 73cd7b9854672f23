package exchange

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/harness/dataset/table"
)

// Columns of a CSV file of one's own.
type Columns struct{ ID, Answer string }

// ReadAnswers reads a file of one of Formats, whose bytes are b; cols are for CSV alone.
// All that is wrong is a Problem.
func ReadAnswers(format, path string, b []byte, cols Columns) ([]AnswerRow, []table.Problem) {
	switch format {
	case formatVLMEvalKit:
		return readVLMEvalKit(path, b)
	case FormatLMMSEval:
		return readLMMSEval(path, b)
	case formatCSV:
		t, bad := importTable(path, b, ',', cols.ID, cols.Answer)
		if len(bad) > 0 {
			return nil, bad
		}
		return ownRows(path, t, cols)
	}
	return nil, []table.Problem{{File: path, Want: "one of the formats " + strings.Join(ImportFormats(), ", "), Got: table.Quote(format)}}
}

// sheetRow is a row of cells by the names of their columns.
type sheetRow struct {
	line  int
	cells map[string]string
}

// importTable reads separated values with a header that has the columns needed.
func importTable(path string, b []byte, comma rune, needed ...string) (rows []sheetRow, bad []table.Problem) {
	say := func(line int, column, want, got string) {
		bad = append(bad, table.Problem{File: path, Row: line, Column: column, Want: want, Got: got})
	}
	in := table.JSONRows{Bad: say, Header: "a row of column names", Comma: comma, Exact: true,
		Row: func(line int, cells map[string]string) { rows = append(rows, sheetRow{line, cells}) }}
	in.Names = func(header []string) ([]string, bool) {
		ok := in.Known(header, nil)
		for _, name := range needed {
			if !slices.Contains(header, name) {
				say(1, "", "a column "+table.Quote(name), "the columns "+strings.Join(header, ", "))
				ok = false
			}
		}
		return header, ok
	}
	in.Table(b)
	return rows, bad
}

// whole is an id as it was given: tables make 3 a 3.0.
func whole(id string) string {
	id = strings.TrimSpace(id)
	if n, ok := strings.CutSuffix(id, ".0"); ok && n != "" && strings.Trim(n, "0123456789") == "" {
		return n
	}
	return id
}

func readVLMEvalKit(path string, b []byte) ([]AnswerRow, []table.Problem) {
	var list []sheetRow
	var bad []table.Problem
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".tsv":
		list, bad = importTable(path, b, '\t', "index", "prediction")
	case ".xlsx":
		list, bad = book(path, "index", "prediction")
	default:
		bad = []table.Problem{{File: path, Want: "a file that ends in .xlsx or .tsv, as VLMEvalKit writes it", Got: table.Quote(ext)}}
	}
	if len(bad) > 0 {
		return nil, bad
	}
	var rows []AnswerRow
	for _, t := range list {
		r := AnswerRow{Line: t.line, ID: whole(t.cells["index"]), Reasoning: t.cells["thinking"]}
		if r.ID == "" {
			bad = append(bad, table.Problem{File: path, Row: r.Line, Column: "index", Want: "the index of a question", Got: "none"})
			continue
		}
		if gold := t.cells["answer"]; gold != "" {
			r.Gold = &gold
		}
		r.answered(t.cells["prediction"])
		rows = append(rows, r)
	}
	return rows, bad
}

// book is the first sheet of a workbook that has the columns.
func book(path string, needed ...string) (rows []sheetRow, bad []table.Problem) {
	sheets, err := table.Sheets(path)
	if err != nil {
		return nil, []table.Problem{{File: path, Want: "a workbook", Got: err.Error()}}
	}
	for _, s := range sheets {
		if !s.Has(needed...) {
			continue
		}
		for i := range s.Rows {
			if s.Blank(i) {
				continue
			}
			cells := map[string]string{}
			for _, name := range append([]string{"answer", "thinking"}, needed...) {
				cells[name] = s.Cell(i, name)
			}
			rows = append(rows, sheetRow{i + 2, cells})
		}
		return rows, nil
	}
	return nil, []table.Problem{{File: path, Want: "a sheet with the columns " + strings.Join(needed, ", "), Got: "none"}}
}

func ownRows(path string, list []sheetRow, cols Columns) (rows []AnswerRow, bad []table.Problem) {
	for _, t := range list {
		r := AnswerRow{Line: t.line, ID: whole(t.cells[cols.ID]), Arm: t.cells["arm"], Condition: t.cells["condition"], Reasoning: t.cells["reasoning"]}
		if r.ID == "" {
			bad = append(bad, table.Problem{File: path, Row: r.Line, Column: cols.ID, Want: "an item", Got: "none"})
			continue
		}
		if s := t.cells["repeat"]; s != "" {
			n, err := strconv.Atoi(s)
			if err != nil || n < 0 {
				bad = append(bad, table.Problem{File: path, Row: r.Line, Column: "repeat", Want: "a number from 0", Got: table.Quote(s)})
				continue
			}
			r.Repeat = &n
		}
		if gold := t.cells["gold"]; gold != "" {
			r.Gold = &gold
		}
		if r.answered(t.cells[cols.Answer]); t.cells["failure"] != "" {
			r.Failure, r.Answer = t.cells["failure"], ""
		}
		rows = append(rows, r)
	}
	return rows, bad
}

func readLMMSEval(path string, b []byte) (rows []AnswerRow, bad []table.Problem) {
	bent := map[int]bool{} // lines with something wrong
	in := table.JSONRows{Bad: func(line int, column, want, got string) {
		bent[line] = true
		bad = append(bad, table.Problem{File: path, Row: line, Column: column, Want: want, Got: got})
	}}
	in.Object = func(line int, o map[string]any) {
		say := func(column, want, got string) { in.Bad(line, column, want, got) }
		if bent[line] {
			return
		}
		id, _ := o["doc_id"].(json.Number)
		if n, err := strconv.Atoi(id.String()); err != nil || n < 0 {
			say("$.doc_id", "the place of a question in its data set, from 0", table.Kind(o["doc_id"]))
			return
		}
		r := AnswerRow{Line: line, ID: id.String()}
		if gold, ok := o["target"].(string); ok && gold != "" {
			r.Gold = &gold
		}
		key := "resps" // what the model wrote; it is left out where a filter changed nothing
		if o[key] == nil {
			key = "filtered_resps"
		}
		if o[key] == nil {
			say("$", "resps or filtered_resps", "the keys "+strings.Join(slices.Sorted(maps.Keys(o)), ", "))
			return
		}
		said, ok := leaf(o[key])
		if !ok {
			say("$."+key, "one answer", "several, or none that is a text")
			return
		}
		r.answered(said)
		rows = append(rows, r)
	}
	in.Lines(b)
	return rows, bad
}

// leaf is the one text of nested lists of one element each.
func leaf(v any) (string, bool) {
	for {
		switch x := v.(type) {
		case string:
			return x, true
		case []any:
			if len(x) != 1 {
				return "", false
			}
			v = x[0]
		default:
			return "", false
		}
	}
}
