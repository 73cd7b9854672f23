package cot

import (
	"slices"
	"strings"
	"unicode"

	"assay/harness/score"
	"assay/results"
)

// Tables of results by examination type, by group of such types, and by question type.
const (
	tableExaminations      = "cot-examinations"
	tableExaminationGroups = "cot-examination-groups"
	tableTypes             = "cot-types"
)

// strata are the sorts of items, as sorts has them.
func strata() []score.Stratum {
	return []score.Stratum{{Name: "examination", Order: examinations}, {Name: "group", Order: present}, {Name: "type"}}
}

// sorts is what an item is in each of strata.
func sorts(it results.Item) []string { return []string{it.Modality, groupOf(it.Modality), it.Type} }

// strataTables are a model's results in each of strata, which stand in a design from a place on.
func strataTables(from int, columns ...score.Metric) (out []score.Table) {
	for i, x := range [][2]string{{tableExaminations, "Results by examination type"}, {tableExaminationGroups, "Results by group of examination types"}, {tableTypes, "Results by question type"}} {
		out = append(out, score.Table{Name: x[0], Title: x[1], Keys: []string{strata()[i].Name}, Rows: several(from + i), Columns: columns})
	}
	return out
}

// several is a row for each stratum, where there are several.
func several(kind int) func(score.Group) []score.Row {
	return func(all score.Group) (out []score.Row) {
		if names, _ := all.Strata(kind); len(names) > 1 {
			for i, name := range names {
				out = append(out, score.Row{Group: all.Stratum(kind, i), Text: []string{name}})
			}
		}
		return out
	}
}

// otherGroup is the group of what is none of the six.
const otherGroup = "other"

// group is a kind of pictures and what names it: words, or beginnings of words where
// they end in "*".
type group struct {
	name  string
	words []string
}

// groups in the order in which a name is looked for: what is said first decides, as in
// OCT angiography, PET-CT and endoscopic ultrasound.
func groups() []group {
	return []group{
		{"eye and skin", []string{"fundus", "retina*", "oct", "octa", "coherence", "slit", "fluorescein", "ophthalm*", "ocular", "eye", "dermoscop*", "dermatoscop*", "dermatolog*", "skin"}},
		{"ultrasound", []string{"ultraso*", "sonogra*", "echocardiogra*", "echo", "doppler", "us"}},
		{"CT, MRI and nuclear", []string{"ct", "cta", "cbct", "computed", "computerized", "computerised", "mri", "mr", "mra", "fmri", "magnetic", "pet", "spect", "positron", "scintigra*", "nuclear"}},
		{"endoscopy", []string{"endoscop*", "colonoscop*", "gastroscop*", "bronchoscop*", "laryngoscop*", "cystoscop*", "colposcop*", "hysteroscop*", "arthroscop*", "laparoscop*", "otoscop*", "capsule"}},
		{"microscopy", []string{"microscop*", "patholog*", "histolog*", "histopatholog*", "cytolog*", "cytopatholog*", "smear", "biopsy", "slide", "immunohistochem*", "stain*", "cell"}},
		{"radiography", []string{"x", "xray", "radiogra*", "roentgen*", "mammogra*", "fluorosc*", "angiogra*", "dsa", "dexa", "dxa", "tomosynthesis"}},
	}
}

// groupNames are all groups in the order of tables.
func groupNames() []string {
	list := []string{"radiography", "CT, MRI and nuclear", "ultrasound", "endoscopy", "microscopy", "eye and skin", otherGroup}
	return list
}

// groupOf is the group of an examination type; "": there is none to tell it by.
func groupOf(examination string) string {
	words := strings.FieldsFunc(strings.ToLower(examination), func(r rune) bool { return !unicode.IsLetter(r) })
	if len(words) == 0 {
		return ""
	}
	for _, g := range groups() {
		for _, w := range words {
			if slices.ContainsFunc(g.words, func(of string) bool {
				if start, ok := strings.CutSuffix(of, "*"); ok {
					return strings.HasPrefix(w, start)
				}
				return w == of
			}) {
				return g.name
			}
		}
	}
	return otherGroup
}

// mostExaminations is how many types are told apart: a data set with more has sentences in their place.
const mostExaminations = 40

// examinations are the distinct examination types of a data set in the order of their groups,
// none where there are too many to be types.
func examinations(found []string) []string {
	found = slices.DeleteFunc(slices.Clone(found), func(s string) bool { return s == "" })
	if len(found) > mostExaminations {
		return nil
	}
	order := groupNames()
	slices.SortFunc(found, func(a, b string) int {
		if d := slices.Index(order, groupOf(a)) - slices.Index(order, groupOf(b)); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return found
}

// present are those groups, in order, that are among names.
func present(names []string) []string {
	return slices.DeleteFunc(groupNames(), func(g string) bool { return !slices.Contains(names, g) })
}
