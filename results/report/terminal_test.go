package report

import (
	"strings"
	"testing"

	"assay/results"
)

// What is said of several models is said once, under all their names.
func TestTerminalSaysTheSameOnce(t *testing.T) {
	s := results.Section{Name: "a", Title: "A",
		Notes:    []string{"one: 9 proven cold.", "two: 9 proven cold.", "three: 8 proven cold."},
		Warnings: []string{"one: too short.", "without a subject", "two: too short."}}
	var b strings.Builder
	if err := Terminal(&b, []results.Section{s}, Meta{Title: "t"}, 80); err != nil {
		t.Fatal(err)
	}
	want := "* one; two: 9 proven cold.\n* three: 8 proven cold.\n! one; two: too short.\n! without a subject\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("%s\nlacks\n%s", b.String(), want)
	}
}
