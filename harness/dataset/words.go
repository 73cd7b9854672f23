// Tables reads what stands beside a data set's own files, and what their
// questions leave to be found out.
//
//  1. A knowledge base (base.go): what right reasoning says of question and answer.
//  2. A table of regions (regions.go): where findings show, which question asks
//     about which, other words for answers, the order of grades.
//  3. bracketOptions: the answers that stand in brackets after a question.

package dataset

import (
	"slices"
	"strings"
)

// bracketOptions are the answers that stand in brackets at the end of a question:
// "(right, left, none)", "(yes or no)", "(yes/no)". nil: there are not at least
// two different ones.
func bracketOptions(question string) []string {
	_, inside, ok := cutBrackets(question)
	if !ok {
		return nil
	}
	list := strings.Split(inside, ",")
	if len(list) == 1 {
		list = strings.Split(inside, "/")
	}
	if last := list[len(list)-1]; len(list) <= 2 {
		if a, b, or := strings.Cut(last, " or "); or {
			list = append(list[:len(list)-1], a, b)
		}
	} else {
		list[len(list)-1] = strings.TrimPrefix(strings.TrimSpace(last), "or ")
	}
	var out []string
	for _, o := range list {
		o = strings.TrimSpace(o)
		if o == "" || slices.ContainsFunc(out, func(have string) bool { return foldText(have) == foldText(o) }) {
			return nil
		}
		out = append(out, o)
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// cutBrackets splits a question that ends in brackets.
func cutBrackets(question string) (before, inside string, ok bool) {
	rest, ok := strings.CutSuffix(strings.TrimSpace(question), ")")
	open := strings.LastIndex(rest, "(")
	if !ok || open < 0 || strings.Contains(rest[open:], ")") {
		return question, "", false
	}
	return strings.TrimSpace(rest[:open]), rest[open+1:], true
}

// foldText is a text for comparison: lower case, single spaces, none outside.
func foldText(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
