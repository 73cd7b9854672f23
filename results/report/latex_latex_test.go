package report

import (
	"fmt"
	"strings"
	"testing"
)

// A table with a row for each item of a large run is set in one pass over its rows:
// asking anew for each cell how wide its column is would take minutes here.
func TestManyRows(t *testing.T) {
	const rows = 20_000
	tab := latexTable{Name: "items", Caption: "Items", Columns: []latexColumn{{Title: "item", Lead: true}, {Title: "what was said", Lead: true}, {Title: "x", Numeric: true}}}
	for i := range rows {
		tab.Rows = append(tab.Rows, []latexCell{{Value: fmt.Sprint("case-", i)}, {Value: "a sentence that is too long for a column and is broken"}, {Value: "1", Bold: i == 7}})
	}
	var b strings.Builder
	if err := writeLaTeX(&b, tab); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"case-": rows, "\\textbf{1}": 1, "{lp{130pt}r}": 1} {
		if got := strings.Count(b.String(), text); got != want {
			t.Errorf("%q stands there %d times, want %d", text, got, want)
		}
	}
}
