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

// What sections say of how they were measured stands in the methods, once.
func TestMethodsTakeWhatSectionsSay(t *testing.T) {
	sections := []results.Section{{Name: "a", Methods: []string{"Watched twenty times a second.", "Stamped\u202e by the kernel."}}, {Name: "b", Methods: []string{"Watched twenty times a second."}}}
	got := strings.Join(paragraphs(results.Run{}, sections...), "\n")
	if strings.Count(got, "Watched twenty") != 1 || !strings.Contains(got, "Stamped[U+202E] by the kernel.") {
		t.Error(got)
	}
	for name, print := range map[string]func(*strings.Builder) error{
		"terminal": func(b *strings.Builder) error { return Terminal(b, sections, Meta{Title: "t"}, 200) },
		"markdown": func(b *strings.Builder) error { return markdown(b, sections, Meta{Title: "t"}) },
		"html":     func(b *strings.Builder) error { return HTML(b, sections, Meta{Title: "t"}) },
		"json":     func(b *strings.Builder) error { return JSON(b, sections, Meta{Title: "t"}) },
		"latex":    func(b *strings.Builder) error { return latexMethods(b, Meta{Title: "t"}, sections...) },
	} {
		var b strings.Builder
		if err := print(&b); err != nil || !strings.Contains(b.String(), "Watched twenty") {
			t.Errorf("%s: %v, %d bytes without it", name, err, b.Len())
		}
	}
}
