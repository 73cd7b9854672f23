// Package rating is the reader study: a web application in which people rate answers
// without knowing whose they are.
//
//  1. study.go is what is rated, and the form that a rater fills in.
//  2. order.go says in which order a rater sees the cases.
//  3. log.go keeps every click in a file that only grows; state.go is what it says.
//  4. access.go has codes, sessions and their limits.
//  5. pages.go and save.go are what a rater's browser asks for, coordinator.go what the
//     one who leads the study sees.
package rating

import (
	"context"
	"image"
	"slices"
	"unicode/utf8"
)

// Study is what is rated.
type Study struct {
	Title     string
	Digest    string // of what is rated: a log belongs to one study
	Seed      uint64 // of the raters' orders
	Synthetic bool
	Cases     []Case
	// Calibration are cases that all raters see first, to learn the scales.
	Calibration []Case
}

// Case is an answer to be rated.
type Case struct {
	Name  string // says nothing of whose answer it is, and is never shown
	Group string // model and condition: orders mix them, and nobody sees them
	Item  string // answers to one item are kept apart
	Texts []Text
	// Pictures are what the model was shown, by names for people. Unchanged: each can
	// be shown beside what it was before a condition changed it.
	Pictures  []string
	Unchanged bool
	NoPicture string // why there are none; "": nothing to say
	Form      []Field
}

// Text is a text that a rater reads.
type Text struct {
	Title, Body string
	Folded      bool // shown when asked for
}

// Field is one thing that a rater decides.
type Field struct {
	Name  string // unique in its form: "CF", "step_errors/2/is_factual"
	Axis  string // what it is one of: agreement is computed over all fields of an axis
	Title string
	Help  string
	About string // the stretch of the answer that it is about; "": all of it
	// Options are what can be chosen. Beside them a rater can say that he cannot judge,
	// unless Several or Optional.
	Options  []Option
	Several  bool // any number of them
	Optional bool // may be left
	Number   bool // the options' values are numbers on a scale
}

// Option is one choice.
type Option struct {
	Value string
	Text  string // "": Value says it
	Key   string // that chooses it, while its field is the one to be answered
}

// CannotJudge is the value of a field of which a rater said so.
const CannotJudge = "cannot"

// remark is the field of a rater's own words.
const remark = "remark"

// longestRemark in code points.
const longestRemark = 4000

// Pictures shows what models were shown. The error is told to raters.
type Pictures interface {
	// Picture is the nth picture of a case, from 0; unchanged: as it was before a
	// condition changed it.
	Picture(ctx context.Context, name string, n int, unchanged bool) (image.Image, error)
}

// of is a case by name.
func (s *Study) of(sh showing) *Case {
	list := s.Cases
	if sh.Calibration {
		list = s.Calibration
	}
	i := slices.IndexFunc(list, func(c Case) bool { return c.Name == sh.Case })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// takes says whether a field of the case can have the value.
func (c *Case) takes(field string, value []string) bool {
	if field == remark {
		return len(value) == 1 && utf8.ValidString(value[0]) && utf8.RuneCountInString(value[0]) <= longestRemark
	}
	i := slices.IndexFunc(c.Form, func(f Field) bool { return f.Name == field })
	if i < 0 {
		return false
	}
	f := c.Form[i]
	if !f.Several && len(value) != 1 {
		return false
	}
	for k, v := range value {
		known := slices.ContainsFunc(f.Options, func(o Option) bool { return o.Value == v })
		if slices.Contains(value[:k], v) || !known && (v != CannotJudge || f.Several || f.Optional) {
			return false
		}
	}
	return true
}

// missing are the titles of the fields that still have to be answered.
func (c *Case) missing(values map[string][]string) []string {
	var out []string
	for _, f := range c.Form {
		if _, ok := values[f.Name]; !ok && !f.Optional && !f.Several {
			out = append(out, f.Name)
		}
	}
	return out
}
