package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"assay/harness/dataset/table"
)

// maxDelimited is the most that is read of a file of cells, in bytes: pictures may stand
// in it.
const maxDelimited = 64 << 30

// delimited reads a file of cells with a header.
func (r *questionReader) delimited() error {
	f, err := table.OpenRoot(r.of.Path, maxDelimited)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 1<<16)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read %s: %w", r.of.Path, err)
	}
	head = head[:n]
	from := &questionCells{path: r.of.Path, comma: '\t'}
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return fmt.Errorf("%s is UTF-16: save it as UTF-8", r.of.Path)
	case bytes.Contains(head, []byte("\r")) && !bytes.Contains(head, []byte("\n")):
		return fmt.Errorf("%s ends its lines with carriage returns alone: save it with line feeds", r.of.Path)
	case bytes.HasPrefix(head, []byte(table.BOM)):
		from.start = int64(len(table.BOM))
	}
	if r.of.Format == KindCSV {
		from.comma = comma(head)
		if from.comma != ',' {
			r.guess("cells are separated by %q", string(from.comma))
		}
	}
	return r.parse(from, f)
}

// comma is what separates the cells of a file, by its first line: , or ; or a tab.
func comma(head []byte) rune {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	best, most := ',', bytes.Count(line, []byte(","))
	for _, c := range ";\t" {
		if n := bytes.Count(line, []byte(string(c))); n > most {
			best, most = c, n
		}
	}
	return best
}

// questionCells is a file of cells.
type questionCells struct {
	path  string
	start int64 // of its header
	comma rune
}

func (c *questionCells) reader(f io.ReaderAt, from, to int64) *csv.Reader {
	in := csv.NewReader(io.NewSectionReader(f, from, to-from))
	in.Comma, in.FieldsPerRecord = c.comma, -1
	return in
}

// parse reads header and rows. Rows that cannot be read are problems, and it goes on.
func (r *questionReader) parse(from *questionCells, f io.ReaderAt) error {
	in := from.reader(f, from.start, maxDelimited)
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s is empty: expected a header with the names of columns", from.path)
	}
	if err != nil {
		return fmt.Errorf("read the header of %s: %w", from.path, err)
	}
	for i, h := range header {
		h = strings.TrimSpace(h)
		header[i] = h
		if slices.Contains(r.columns, h) && h != "" {
			if r.mayRepeat(h) {
				continue
			}
			return fmt.Errorf("read %s: two columns are called %s: rename one", from.path, table.Quote(h))
		}
		r.columns = append(r.columns, h)
	}
	for {
		start := from.start + in.InputOffset()
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var wrong *csv.ParseError
		switch {
		case errors.As(err, &wrong):
			r.bad(from.path, wrong.StartLine, "", `cells with quotation marks around all of a cell, or doubled ("")`, fmt.Sprintf("%v at character %d of line %d", wrong.Err, wrong.Column, wrong.Line))
			continue
		case err != nil:
			return fmt.Errorf("read %s: %w", from.path, err)
		}
		line, _ := in.FieldPos(0)
		if len(record) == 1 && strings.TrimSpace(record[0]) == "" && len(header) > 1 {
			continue
		}
		if len(record) != len(header) {
			r.bad(from.path, line, "", fmt.Sprintf("%d cells, as the header has", len(header)), fmt.Sprint(len(record)))
			continue
		}
		if i := slices.IndexFunc(record, func(cell string) bool { return !utf8.ValidString(cell) }); i >= 0 {
			r.bad(from.path, line, header[i], "text in UTF-8", table.Quote(record[i]))
			continue
		}
		x := questionRow{file: from.path, at: line, values: map[string]value{}}
		for i, cell := range record {
			v := value{}
			if encoded := pictures(cell); encoded != nil {
				for nth, e := range encoded {
					v.in = append(v.in, from.inside(e, start, from.start+in.InputOffset(), i, nth))
				}
			} else {
				v.text = strings.Clone(cell)
			}
			if before, again := x.values[header[i]]; again && header[i] != "" {
				v.list = append(slices.Clone(before.list), v.text)
				if before.list == nil {
					v.list = []string{before.text, v.text}
				}
				v.text = strings.Join(v.list, " | ")
			}
			x.values[header[i]] = v
		}
		r.rows = append(r.rows, x)
	}
	return nil
}

// inside is the picture in a cell of the record between two places of the file.
func (c *questionCells) inside(encoded string, from, to int64, column, nth int) inside {
	b, err := decoded(encoded)
	if err != nil {
		return inside{bad: err.Error()}
	}
	sum := sha256.Sum256(b)
	return inside{sum: sum, bad: unreadable(b), load: func() ([]byte, error) {
		f, err := os.Open(c.path)
		if err != nil {
			return nil, fmt.Errorf("read image: %w", err)
		}
		defer f.Close()
		record, err := c.reader(f, from, to).Read()
		if err == nil && column < len(record) {
			if again := pictures(record[column]); nth < len(again) {
				if b, err := decoded(again[nth]); err == nil && sha256.Sum256(b) == sum {
					return b, nil
				}
			}
		}
		return nil, fmt.Errorf("read image: %s has changed since the data set was opened: start again", c.path)
	}}
}
