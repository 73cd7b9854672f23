package exchange

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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
		return ownRows(t, cols)
	}
	return nil, []table.Problem{{File: path, Want: "one of the formats " + strings.Join(ImportFormats(), ", "), Got: table.Quote(format)}}
}

// sheet is rows of named columns.
type sheet struct {
	file string
	at   map[string]int
	rows [][]string
	line []int // of each row
}

func (t sheet) has(column string) bool { _, ok := t.at[column]; return ok }

func (t sheet) cell(i int, column string) string {
	c, ok := t.at[column]
	if !ok || c >= len(t.rows[i]) {
		return ""
	}
	return t.rows[i][c]
}

// importTable reads separated values with a header that has the columns needed.
func importTable(path string, b []byte, comma rune, needed ...string) (sheet, []table.Problem) {
	t := sheet{file: path, at: map[string]int{}}
	var bad []table.Problem
	say := func(line int, column, want, got string) {
		bad = append(bad, table.Problem{File: path, Row: line, Column: column, Want: want, Got: got})
	}
	b = bytes.TrimPrefix(b, []byte(table.BOM))
	if at := invalid(b); at >= 0 {
		say(1+bytes.Count(b[:at], []byte("\n")), "", "text in UTF-8", fmt.Sprintf("the byte %#x", b[at]))
		return t, bad
	}
	r := csv.NewReader(bytes.NewReader(b))
	r.Comma, r.FieldsPerRecord = comma, -1
	for {
		cells, err := r.Read()
		var wrong *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			if len(t.at) == 0 {
				say(1, "", "a row of column names", "nothing")
			}
			return t, bad
		case errors.As(err, &wrong):
			say(wrong.Line, "", "separated values, a text with a quote in it between quotes", wrong.Err.Error())
			return t, bad
		case err != nil:
			say(0, "", "a file that can be read", err.Error())
			return t, bad
		}
		line, _ := r.FieldPos(0)
		if len(t.at) == 0 {
			for i, name := range cells {
				if _, twice := t.at[name]; twice {
					say(line, table.Quote(name), "each column once", "it again")
				}
				t.at[name] = i
			}
			for _, name := range needed {
				if !t.has(name) {
					say(line, "", "a column "+table.Quote(name), "the columns "+strings.Join(cells, ", "))
				}
			}
			if len(bad) > 0 {
				return t, bad
			}
			continue
		}
		if len(cells) != len(t.at) {
			say(line, "", fmt.Sprintf("%d fields, as the first row has", len(t.at)), strconv.Itoa(len(cells)))
			continue
		}
		t.rows, t.line = append(t.rows, cells), append(t.line, line)
	}
}

// invalid is where the text is not UTF-8; -1: nowhere.
func invalid(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// whole is an index as the data set has it: tables make 3 a 3.0.
func whole(id string) string {
	id = strings.TrimSpace(id)
	if n, ok := strings.CutSuffix(id, ".0"); ok && n != "" && strings.Trim(n, "0123456789") == "" {
		return n
	}
	return id
}

func readVLMEvalKit(path string, b []byte) ([]AnswerRow, []table.Problem) {
	var t sheet
	var bad []table.Problem
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".tsv":
		t, bad = importTable(path, b, '\t', "index", "prediction")
	case ".xlsx":
		t, bad = book(path, "index", "prediction")
	default:
		bad = []table.Problem{{File: path, Want: "a file that ends in .xlsx or .tsv, as VLMEvalKit writes it", Got: table.Quote(ext)}}
	}
	if len(bad) > 0 {
		return nil, bad
	}
	var rows []AnswerRow
	for i := range t.rows {
		r := AnswerRow{Line: t.line[i], ID: whole(t.cell(i, "index")), Reasoning: t.cell(i, "thinking")}
		if r.ID == "" {
			bad = append(bad, table.Problem{File: path, Row: r.Line, Column: "index", Want: "the index of a question", Got: "none"})
			continue
		}
		if gold := t.cell(i, "answer"); gold != "" {
			r.Gold = &gold
		}
		r.answered(t.cell(i, "prediction"))
		rows = append(rows, r)
	}
	return rows, bad
}

// book is the first sheet of a workbook that has the columns.
func book(path string, needed ...string) (sheet, []table.Problem) {
	sheets, err := table.Sheets(path)
	if err != nil {
		return sheet{}, []table.Problem{{File: path, Want: "a workbook", Got: err.Error()}}
	}
	for _, s := range sheets {
		if !s.Has(needed...) {
			continue
		}
		t := sheet{file: path, at: map[string]int{}}
		names := append([]string{"answer", "thinking"}, needed...)
		for i, name := range names {
			t.at[name] = i
		}
		for i := range s.Rows {
			if s.Blank(i) {
				continue
			}
			var cells []string
			for _, name := range names {
				cells = append(cells, s.Cell(i, name))
			}
			t.rows, t.line = append(t.rows, cells), append(t.line, i+2)
		}
		return t, nil
	}
	return sheet{}, []table.Problem{{File: path, Want: "a sheet with the columns " + strings.Join(needed, ", "), Got: "none"}}
}

func ownRows(t sheet, cols Columns) (rows []AnswerRow, bad []table.Problem) {
	for i := range t.rows {
		r := AnswerRow{Line: t.line[i], ID: whole(t.cell(i, cols.ID)), Arm: t.cell(i, "arm"), Condition: t.cell(i, "condition"), Reasoning: t.cell(i, "reasoning")}
		if r.ID == "" {
			bad = append(bad, table.Problem{File: t.file, Row: r.Line, Column: cols.ID, Want: "an item", Got: "none"})
			continue
		}
		if s := t.cell(i, "repeat"); s != "" {
			n, err := strconv.Atoi(s)
			if err != nil || n < 0 {
				bad = append(bad, table.Problem{File: t.file, Row: r.Line, Column: "repeat", Want: "a number from 0", Got: table.Quote(s)})
				continue
			}
			r.Repeat = &n
		}
		if gold := t.cell(i, "gold"); gold != "" {
			r.Gold = &gold
		}
		if r.answered(t.cell(i, cols.Answer)); t.cell(i, "failure") != "" {
			r.Failure, r.Answer = t.cell(i, "failure"), ""
		}
		rows = append(rows, r)
	}
	return rows, bad
}

func readLMMSEval(path string, b []byte) (rows []AnswerRow, bad []table.Problem) {
	line := 0
	for text := range bytes.Lines(b) {
		line++
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		say := func(column, want, got string) {
			bad = append(bad, table.Problem{File: path, Row: line, Column: column, Want: want, Got: got})
		}
		v, issues := table.ParseJSON(text)
		if len(issues) > 0 { // Python writes NaN for a metric that has no number
			v, issues = table.ParseJSON(numbered(text))
		}
		for _, x := range issues {
			say(x.Path, x.Want, x.Got)
		}
		if len(issues) > 0 {
			continue
		}
		o, ok := v.(map[string]any)
		if !ok {
			say("$", "an object", table.Kind(v))
			continue
		}
		id, _ := o["doc_id"].(json.Number)
		if n, err := strconv.Atoi(id.String()); err != nil || n < 0 {
			say("$.doc_id", "the place of a question in its data set, from 0", table.Kind(o["doc_id"]))
			continue
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
			continue
		}
		said, ok := leaf(o[key])
		if !ok {
			say("$."+key, "one answer", "several, or none that is a text")
			continue
		}
		r.answered(said)
		rows = append(rows, r)
	}
	return rows, bad
}

// numbered is JSON as Python writes it with null for NaN, Infinity and -Infinity, which
// JSON has no numbers for. Texts stay as they are.
func numbered(text []byte) []byte {
	var out []byte
	for in := false; len(text) > 0; {
		n := 1
		switch {
		case in && text[0] == '\\':
			n = min(2, len(text))
		case text[0] == '"':
			in = !in
		case !in:
			for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
				if bytes.HasPrefix(text, []byte(word)) {
					out, text, n = append(out, "null"...), text[len(word):], 0
					break
				}
			}
		}
		out, text = append(out, text[:n]...), text[n:]
	}
	return out
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
