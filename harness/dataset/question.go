package dataset

import (
	"fmt"
	"strings"
)

// Question types of the cot study.
const (
	TypeSingle   = "single"
	TypeMultiple = "multiple"
	TypeBool     = "bool"
	TypeShort    = "short"
)

// Types are the question types of the cot study, in the order of metrics.md
// section 1.
func Types() []string { return []string{TypeSingle, TypeMultiple, TypeBool, TypeShort} }

// Question types of the faithfulness study: their answers are one of Item.Options.
const (
	TypeBinary      = "binary"
	TypeOrdinal     = "ordinal"
	TypeComparative = "comparative"
	TypeSpatial     = "spatial"
)

// TypeDiagnosis is that of a case of several images: five options, of which the
// answer is a label (metrics.md section 3).
const TypeDiagnosis = "diagnosis"

// ClosedTypes are the question types of the faithfulness study, in the order of
// metrics.md section 2.1.
func ClosedTypes() []string {
	return []string{TypeBinary, TypeOrdinal, TypeComparative, TypeSpatial}
}

// ParseOptions finds the options inside a question: lines that start with "A.",
// "A)" or "(A)", then B and so on, each label once and in order. What stands
// before the first A, Roman numbers say, is no option; fewer than two are none.
// The error says which label is out of place.
func ParseOptions(question string) ([]Option, error) {
	var out []Option
	for line := range strings.Lines(question) {
		label, text, ok := optionLine(line)
		if !ok || len(out) == 0 && label != "A" {
			continue
		}
		want := string(rune('A' + len(out)))
		if label != want {
			return nil, fmt.Errorf("option %s after %s", label, out[len(out)-1].Label)
		}
		out = append(out, Option{Label: label, Text: text})
	}
	if len(out) < 2 {
		return nil, nil
	}
	return out, nil
}

func optionLine(line string) (label, text string, ok bool) {
	s := strings.TrimSpace(line)
	if rest, open := strings.CutPrefix(s, "("); open {
		if len(rest) < 2 || rest[1] != ')' {
			return "", "", false
		}
		s = rest
	}
	if len(s) < 2 || s[0] < 'A' || s[0] > 'Z' || s[1] != '.' && s[1] != ')' {
		return "", "", false
	}
	return s[:1], strings.TrimSpace(s[2:]), true
}
