package report

import (
	"slices"

	"assay/results"
)

// AllTables is the file of the page that holds every table and figure.
const AllTables = "tables.html"

// firstPage is what the first page shows of sections: what their studies call main. Sections of
// which nothing is left are not among them. more: AllTables has something that they lack.
func firstPage(sections []results.Section) (first []results.Section, more bool) {
	for from := 0; from < len(sections); {
		to := from + 1
		for to < len(sections) && sections[to].Study != "" && sections[to].Study == sections[from].Study {
			to++
		}
		whole := sections[from].Main == nil
		var main []string
		for _, s := range sections[from:to] {
			main = append(main, s.Main...)
		}
		for _, s := range sections[from:to] {
			if all := len(s.Tables) + len(s.Figures); !whole {
				s.Tables = slices.DeleteFunc(slices.Clone(s.Tables), func(t results.Table) bool { return !slices.Contains(main, t.Name) })
				s.Figures = slices.DeleteFunc(slices.Clone(s.Figures), func(f results.Figure) bool { return !slices.Contains(main, f.Name) })
				more = more || len(s.Tables)+len(s.Figures) < all
			}
			first = append(first, s)
		}
		from = to
	}
	return filled(first), more
}

// MainTables are the names of the first page's tables: what a report begins with, and the first
// table of each study.
func MainTables(sections []results.Section) (names []string) {
	if a := MainResults(sections); a != nil {
		names = append(names, headline)
		for _, t := range a.Whole {
			names = append(names, t.Name)
		}
	}
	first, _ := firstPage(sections)
	for i, s := range first {
		if (i == 0 || s.Study != first[i-1].Study) && s.Study != "" && len(s.Tables) > 0 {
			names = append(names, s.Tables[0].Name)
		}
	}
	return names
}

// filled are the sections that have a table or a figure.
func filled(sections []results.Section) []results.Section {
	return slices.DeleteFunc(slices.Clone(sections), func(s results.Section) bool { return len(s.Tables)+len(s.Figures) == 0 })
}
