// JSON reads what people write by hand and says exactly where it is
// wrong.
//
//  1. ParseJSON reads JSON without second keys; Compile and Violations hold it against a
//     schema.
//  2. EachLine reads files of one JSON object a line, of which it holds one at a time.
//  3. JSONRows reads small tables that people and other tools write: CSV with a header row,
//     or JSON lines.

package table

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/results/text"
)

// Problem is one bad place in a file.
type Problem struct {
	File   string `json:"file"`
	Row    int    `json:"row,omitempty"`    // 1-based line or sheet row; 0: the whole file
	Column string `json:"column,omitempty"` // header name, or JSON path
	Want   string `json:"want"`
	Got    string `json:"got"`
}

func (p Problem) Error() string {
	pos := p.File
	if p.Row > 0 {
		pos += fmt.Sprintf(":%d", p.Row)
	}
	if p.Column != "" {
		pos += ": " + p.Column
	}
	return fmt.Sprintf("%s: expected %s, found %s", pos, p.Want, p.Got)
}

// Listed is one error of several problems, one a line, the first twenty.
func Listed(problems []Problem) error {
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.Error())
	}
	if n := len(lines) - 20; n > 0 {
		lines = append(lines[:20], fmt.Sprintf("and %d more", n))
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n"))
}

// Quote shows the beginning of what was found.
func Quote(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return fmt.Sprintf("%q...", string(r[:most]))
	}
	return fmt.Sprintf("%q", s)
}

// Together is what a row is to have in the column that cluster: names.
func Together(column string) string {
	return "what the row is drawn together by (cluster: " + column + ")"
}

// Keys says what of a JSON object an asked key has no value of.
func Keys(object map[string]any, asked string) string {
	if _, ok := object[asked]; ok {
		return "none"
	}
	return JSONColumns(slices.Sorted(maps.Keys(object)), asked)
}

// JSONColumns says which there are, up to some twenty of them, where one was asked for that is not.
func JSONColumns(have []string, asked string) string {
	const most = 20
	list := strings.Join(have[:min(len(have), most)], ", ")
	if n := len(have) - most; n > 0 {
		list += fmt.Sprintf(" and %d more", n)
	}
	return "the columns " + list + text.DidYouMean(asked, have)
}
