// Questions reads tables of questions as people have them: CSV, TSV, JSON lines,
// Parquet files with pictures inside, and VLMEvalKit's TSV.
//
//  1. A file becomes rows of values by column (csv.go, lines.go, parquet.go).
//  2. A Mapping says which column is what; what it does not say is guessed from the
//     columns' names (columns.go). Every guess is told.
//  3. Each row becomes a tableQuestion: options, type and answer are read together
//     (answer.go). All that is wrong with a row is told, with its place.

package dataset

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"assay/harness/dataset/table"
	"assay/results/text"
)

// formatJSONL is the one format of tables that is no kind of data set.
const formatJSONL = "jsonl"

// binaryType is the type of a question that is answered by yes or no; the others are those of
// package text.
const binaryType = "binary"

// tableQuestion is a row that can be asked.
type tableQuestion struct {
	File     string
	Row      int // line of the file, or number of the row
	ID       string
	Text     string // with the hint before it
	Type     string // text.Single, Multiple, Bool or Short, or binaryType
	Options  []Option
	Answer   string   // a label, labels with commas between, True, False, yes, no, or a text
	Also     []string // other gold answers, of which any is right
	Task     string
	Modality string
	Cluster  string // what it has in Source.Cluster
	Pictures []picture
	Boxes    sides  // as they stand; nil: there are none
	Boxed    string // the columns that they stand in
	letter   bool   // the answer is a letter, and nothing says of what
}

// picture is one of a question: a file, or one inside the table.
type picture struct {
	Column string
	Path   string // of a file as the table has it; "": it is inside
	Load   func() ([]byte, error)
	Sum    [sha256.Size]byte
}

// Mapping says which columns hold a field. What it lacks is guessed.
type Mapping map[string][]string

// tableRead is what a file holds.
type tableRead struct {
	Questions []tableQuestion
	Problems  []table.Problem
	Guesses   []string // what nobody said, in words
	Unused    []string // columns that nothing is read of
}

// tableSource is what is read, and how.
type tableSource struct {
	Format  string
	Path    string // of a file; of Parquet a folder, too
	Columns Mapping
	Cluster string // the column of what rows are drawn together by; "": none
	Split   string // of files or rows; "": see Read
}

// value is what a row has in a column.
type value struct {
	text string
	any  any      // of JSON lines what is no text
	list []string // nil: it is no list
	in   []inside // pictures inside the table
}

// inside is a picture inside a table; bad says what is wrong with it.
type inside struct {
	load func() ([]byte, error)
	sum  [sha256.Size]byte
	bad  string
}

// questionRow is a row of a table.
type questionRow struct {
	file   string
	at     int
	values map[string]value
}

// questionReader gathers a table.
type questionReader struct {
	tableRead
	of      tableSource
	columns []string // in the order of the file
	rows    []questionRow
	fields  map[string][]string // columns by field
	guessed map[string]bool     // fields that nobody named
	counted int                 // from what numbers of options count; -1: it cannot be told
	numbers bool                // every answer with options is such a number
	types   map[string]int      // questions by type, of those whose type was guessed
}

func (r *questionReader) bad(file string, at int, column, want, got string) {
	r.Problems = append(r.Problems, table.Problem{File: file, Row: at, Column: column, Want: want, Got: got})
}

func (r *questionReader) guess(format string, args ...any) {
	r.Guesses = append(r.Guesses, fmt.Sprintf(format, args...))
}

// readQuestions reads a table. The error is for a file that cannot be read at all; rows that
// cannot be used are Problems.
//
// Without a split, of Parquet files the one named test is read, or the only one; of
// tables with a column of that name all rows are.
func readQuestions(s tableSource) (tableRead, error) {
	r := &questionReader{of: s, types: map[string]int{}}
	read := map[string]func() error{KindCSV: r.delimited, kindTSV: r.delimited, KindVLMEvalKit: r.delimited, formatJSONL: r.jsonLines, kindParquet: r.parquet}[s.Format]
	if read == nil {
		return tableRead{}, fmt.Errorf("no table is of format %q", s.Format)
	}
	if err := read(); err != nil {
		return tableRead{}, err
	}
	return r.finish(), nil
}

// finish makes questions of what was read.
func (r *questionReader) finish() tableRead {
	if r.resolve() {
		r.choose()
		r.count()
		r.questions()
	}
	sort(r.Problems)
	return r.tableRead
}

// sort puts problems into the order of files and rows.
func sort(problems []table.Problem) {
	slices.SortStableFunc(problems, func(a, b table.Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Row-b.Row)
	})
}

// choose leaves the rows of the split that was asked for.
func (r *questionReader) choose() {
	at := slices.IndexFunc(r.columns, func(c string) bool { return fold(c) == "split" })
	if at < 0 || r.of.Format == kindParquet && r.of.Split != "" {
		return
	}
	column, n := r.columns[at], map[string]int{}
	for _, x := range r.rows {
		n[strings.TrimSpace(x.values[column].text)]++
	}
	if r.of.Split == "" {
		if len(n) > 1 {
			r.guess("all splits are read (%s); split: NAME reads one", strings.Join(slices.Sorted(maps.Keys(n)), ", "))
		}
		return
	}
	if n[r.of.Split] == 0 {
		r.bad(r.of.Path, 0, column, "rows of the split "+table.Quote(r.of.Split), strings.Join(slices.Sorted(maps.Keys(n)), ", "))
	}
	r.rows = slices.DeleteFunc(r.rows, func(x questionRow) bool { return strings.TrimSpace(x.values[column].text) != r.of.Split })
}

// get is the text of a field in a row; of several columns the first that has one.
func (r *questionReader) get(x questionRow, field string) (text, column string) {
	for _, c := range r.fields[field] {
		v := x.values[c]
		if s := strings.TrimSpace(v.text); s != "" {
			return s, c
		}
		if column == "" {
			column = c
		}
	}
	return "", column
}

// questions makes questions of the rows.
func (r *questionReader) questions() {
	seen, pictures := map[string]int{}, r.byIndex()
	for _, x := range r.rows {
		before := len(r.Problems)
		q := tableQuestion{File: x.file, Row: x.at}
		var column string
		if q.ID, column = r.get(x, fieldID); column == "" {
			q.ID = "row-" + strconv.Itoa(len(seen)+1)
		}
		if bad := wrongID(q.ID); bad != "" {
			r.bad(x.file, x.at, column, "an id without blanks, of at most 200 characters", bad)
		} else if first := seen[q.ID]; first > 0 {
			r.bad(x.file, x.at, column, "each id once", fmt.Sprintf("%s, which row %d already has", table.Quote(q.ID), first))
		}
		seen[q.ID] = x.at
		if q.Text, column = r.get(x, fieldQuestion); len(x.values[column].in) > 0 {
			r.bad(x.file, x.at, column, "a question", "what begins as a picture in base64 does: more than 64 characters without a blank")
		} else if q.Text == "" || !utf8.ValidString(q.Text) {
			r.bad(x.file, x.at, column, "a question", table.Quote(q.Text))
		}
		for _, field := range slices.Sorted(maps.Keys(r.fields)) {
			for _, c := range r.fields[field] {
				if n := len(x.values[c].text); n > maxText {
					r.bad(x.file, x.at, c, fmt.Sprintf("a text of at most %d MB", maxText>>20), fmt.Sprintf("%d bytes", n))
				}
			}
		}
		q.Task, _ = r.get(x, fieldTask)
		q.Modality, _ = r.get(x, fieldModality)
		if c := r.of.Cluster; c != "" {
			if q.Cluster = strings.TrimSpace(x.values[c].text); q.Cluster == "" {
				r.bad(x.file, x.at, c, table.Together(c), "none")
			}
		}
		r.answered(x, &q)
		if hint, _ := r.get(x, fieldHint); hint != "" {
			q.Text = hint + "\n\n" + q.Text
		}
		r.shown(x, &q, pictures)
		r.boxed(x, &q)
		if len(r.Problems) == before {
			r.Questions = append(r.Questions, q)
		}
	}
	r.lettersAlone()
	if n := len(r.types); n > 0 {
		var said []string
		for _, t := range []string{text.Single, text.Multiple, binaryType, text.Bool, text.Short} {
			if r.types[t] > 0 {
				said = append(said, fmt.Sprintf("%s %d (%s)", t, r.types[t], map[string]string{text.Single: "they have options", text.Multiple: "several options are right",
					binaryType: "the answer is yes or no", text.Bool: "the answer is true or false", text.Short: "they have no options"}[t]))
			}
		}
		r.guess("types of questions: %s", strings.Join(said, ", "))
	}
}

// boxed reads the boxes of a row, from one column or the four that hold a number each.
func (r *questionReader) boxed(x questionRow, q *tableQuestion) {
	columns := r.fields[fieldBoxes]
	q.Boxed = strings.Join(columns, ", ")
	var texts []string
	for _, c := range columns {
		if s := strings.TrimSpace(x.values[c].text); s != "" {
			texts = append(texts, s)
		}
	}
	ok := true
	switch {
	case len(texts) == 0:
		return
	case len(columns) == 4 && len(texts) == 4:
		var b box
		if b, ok = namedBox(columns, texts); ok {
			q.Boxes = sides{"": {b}}
		}
	case len(columns) > 1:
		ok = false
	default:
		var of any = x.values[columns[0]].text
		if v := x.values[columns[0]].any; v != nil {
			of = v
		}
		q.Boxes, ok = parse(of)
	}
	if !ok {
		r.bad(x.file, x.at, q.Boxed, boxWanted, table.Quote(strings.Join(texts, ", ")))
	}
}

func wrongID(id string) string {
	switch {
	case id == "":
		return "none"
	case utf8.RuneCountInString(id) > 200 || strings.ContainsFunc(id, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }) || !utf8.ValidString(id):
		return table.Quote(id)
	}
	return ""
}

// questionSaid is a JSON value as text.
func questionSaid(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}
