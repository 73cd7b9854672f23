package exchange

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/harness/dataset/table"
	"assay/results"
)

// scoreRow is a row of what a tool wrote.
type scoreRow struct {
	Line int
	ID   string
	// Value is what it scored; nil: the tool gave none (an empty field, null or nan).
	Value *float64
}

// ParseScores reads two columns of CSV with a header, or two keys of JSON lines: an id and a
// number. All that is wrong is a Problem.
func ParseScores(file string, b []byte, id, value string) (rows []scoreRow, problems []table.Problem) {
	bad := func(line int, column, want, got string) {
		problems = append(problems, table.Problem{File: file, Row: line, Column: column, Want: want, Got: got})
	}
	first := map[string]int{}
	sideTable(b, []string{id, value}, bad, func(line int, cell []string) {
		r := scoreRow{Line: line, ID: whole(cell[0])}
		switch v := strings.ToLower(cell[1]); {
		case r.ID == "":
			bad(line, id, "an id", "none")
			return
		case first[r.ID] > 0:
			bad(line, id, "each id once", fmt.Sprintf("%s again (first on line %d)", table.Quote(r.ID), first[r.ID]))
			return
		case v == "" || v == "null" || v == "nan" || v == "none":
		default:
			x, err := strconv.ParseFloat(v, 64)
			if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
				bad(line, value, "a finite number, or nothing where there is none", table.Quote(cell[1]))
				return
			}
			r.Value = &x
		}
		first[r.ID] = line
		rows = append(rows, r)
	})
	return rows, problems
}

// joinedScores is a number and the case that it is of.
type joinedScores struct {
	Case  results.Digest
	Value *float64
}

// JoinScores finds the case of each row by ids.csv; without it ids are cases, or their first
// twelve digits or more. known are the cases that there are.
func JoinScores(file string, rows []scoreRow, idsFile string, ids []byte, known []results.Digest) (list []joinedScores, problems []table.Problem) {
	of, there := map[string]results.Digest{}, map[results.Digest]bool{}
	for _, d := range known {
		there[d] = true
	}
	if idsFile != "" {
		seen := map[string]bool{}
		sideTable(ids, []string{"study_id", "case"}, func(line int, column, want, got string) {
			problems = append(problems, table.Problem{File: idsFile, Row: line, Column: column, Want: want, Got: got})
		}, func(line int, cell []string) {
			if !there[results.Digest(cell[1])] {
				problems = append(problems, table.Problem{File: idsFile, Row: line, Column: "case", Want: "a case of an answer of this store (assay export reports writes the file)", Got: table.Quote(cell[1])})
				return
			}
			if seen[cell[0]] {
				problems = append(problems, table.Problem{File: idsFile, Row: line, Column: "study_id", Want: "each id once", Got: table.Quote(cell[0]) + " again"})
			}
			seen[cell[0]], of[cell[0]] = true, results.Digest(cell[1])
		})
	}
	const digits = 12 // are enough to name a case
	short := map[string]results.Digest{}
	for _, d := range known {
		text := strings.TrimPrefix(string(d), "sha256:")
		short[text[:min(digits, len(text))]] = d
	}
	for _, r := range rows {
		d, ok := of[r.ID]
		if idsFile == "" {
			text := strings.TrimPrefix(r.ID, "sha256:")
			d, ok = short[text[:min(digits, len(text))]]
			ok = ok && len(text) >= digits && strings.HasPrefix(strings.TrimPrefix(string(d), "sha256:"), text)
		}
		if !ok {
			want := "an id of " + idsFile
			if idsFile == "" {
				want = "a case of an answer of this store, or --ids with the file that assay export reports wrote"
			}
			problems = append(problems, table.Problem{File: file, Row: r.Line, Want: want, Got: table.Quote(r.ID)})
			continue
		}
		list = append(list, joinedScores{d, r.Value})
	}
	return list, problems
}

// sideTable gives the cells of some columns of CSV with a header, or of JSON lines.
func sideTable(b []byte, columns []string, bad func(line int, column, want, got string), do func(line int, cell []string)) {
	row := func(line int, values map[string]string) {
		var cells []string
		for _, name := range columns {
			cells = append(cells, values[name])
		}
		do(line, cells)
	}
	object := func(line int, obj map[string]any) {
		values := map[string]string{}
		for _, name := range columns {
			switch x := obj[name].(type) {
			case nil:
				if _, there := obj[name]; !there {
					bad(line, "$."+name, "this key, one of "+strings.Join(slices.Sorted(maps.Keys(obj)), ", "), "none")
					return
				}
			case string:
				values[name] = strings.TrimSpace(x)
			case json.Number:
				values[name] = x.String()
			default:
				bad(line, "$."+name, "a text or a number", table.Kind(x))
				return
			}
		}
		row(line, values)
	}
	names := func(header []string) ([]string, bool) {
		ok := true
		for _, name := range columns {
			if !slices.Contains(header, name) {
				bad(1, name, "a column of this name, one of "+strings.Join(header, ", "), "none")
				ok = false
			}
		}
		return header, ok
	}
	table.JSONRows{Bad: bad, Header: "a header row (CSV), or JSON lines", Names: names, Row: row, Object: object}.Read(b)
}
