package report

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"assay/results"
)

// CSV writes one file per table into dir, which must exist: NAME.csv, replacing
// an older one as a whole. A row is one estimate: the row's texts, then the
// columns quantity, unit, value, low, high, n, n_undefined, n_invalid, why and
// synthetic. What is undefined is empty, with a reason. A table without
// estimates has its texts and synthetic.
func CSV(dir string, sections []results.Section, m Meta) error {
	check(sections)
	for _, s := range sections {
		for _, t := range s.Tables {
			path := filepath.Join(dir, t.Name+".csv")
			if err := writeFile(path, func(w io.Writer) error { return tableCSV(w, t, m) }); err != nil {
				return fmt.Errorf("writing %s: %w", path, err)
			}
		}
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

func tableCSV(w io.Writer, t results.Table, m Meta) error {
	estimates := false
	var texts []int
	head := []string{}
	for j, c := range t.Columns {
		if numeric(t, j) {
			estimates = true
		} else {
			texts = append(texts, j)
			head = append(head, c.Name)
		}
	}
	if estimates {
		head = append(head, "quantity", "unit", "value", "low", "high", "n", "n_undefined", "n_invalid", "why")
	}
	out := csv.NewWriter(w)
	out.Write(append(head, "synthetic"))
	synthetic := strconv.FormatBool(m.synthetic())
	for _, row := range t.Rows {
		var names []string
		for _, j := range texts {
			names = append(names, formulaless(visible(row[j].Text)))
		}
		if !estimates {
			out.Write(append(names, synthetic))
		}
		for j, c := range row {
			if e := c.Estimate; e != nil {
				out.Write(append(names[:len(names):len(names)], t.Columns[j].Name, t.Columns[j].Unit, full(e.Value), full(e.Low), full(e.High),
					strconv.Itoa(e.N), strconv.Itoa(e.Undefined), strconv.Itoa(e.Invalid), formulaless(visible(e.Why)), synthetic))
			}
		}
	}
	out.Flush()
	return out.Error()
}

// formulaless keeps a spreadsheet from running what looks like a formula.
func formulaless(s string) string {
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

// full is a number in full precision; "": there is none.
func full(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

// Format names the shape of JSON's output; it changes when that does.
const Format = "assay-report/1"

// JSON writes an object with format, title, synthetic (a list of reasons, or
// null), manifest and sections, whose tables each say whether they are
// synthetic. Texts are as they were stored.
func JSON(w io.Writer, sections []results.Section, m Meta) error {
	check(sections)
	type table struct {
		results.Table
		Synthetic bool `json:"synthetic"`
	}
	type section struct {
		results.Section
		Tables []table `json:"tables"`
	}
	out := struct {
		Format    string           `json:"format"`
		Title     string           `json:"title"`
		Synthetic []string         `json:"synthetic"`
		Manifest  results.Manifest `json:"manifest"`
		Sections  []section        `json:"sections"`
	}{Format, m.Title, m.Manifest.Synthetic, m.Manifest, []section{}}
	for _, s := range sections {
		sec := section{Section: s, Tables: []table{}}
		for _, t := range s.Tables {
			if t.Rows == nil {
				t.Rows = [][]results.Cell{}
			}
			sec.Tables = append(sec.Tables, table{t, m.synthetic()})
		}
		out.Sections = append(out.Sections, sec)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}
