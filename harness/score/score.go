// Package score turns trials into named numbers, keeps them, and computes what a study
// declares of them: all of it in one place and from one resampling of items.
//
//  1. A trial is joined once with its item's facts, the other trials of its item,
//     what judges said of it, its times, tokens and energy: a Sample (sample.go).
//  2. A study's Rules make Values of it, beside those that every study has
//     (common.go).
//  3. Refresh stores them, one row for each trial, with a digest of what they were
//     made of (store.go, frame.go). Walk reads them, or makes them on the way.
//  4. A Design says which cells and strata trials fall in, which scores are
//     added up there, and which metrics stand in which table (design.go, table.go).
//  5. Compute reads what trials scored once, model by model, into columns: a number for
//     each item. Rows of a table are Groups of cells; a Kind makes an estimate of each
//     (group.go, kinds.go; arithmetic.go for the formulas).
//  6. Items are drawn again and again for all estimates together (bootstrap.go), which fills
//     in their intervals.
package score

import (
	"encoding/json"
	"fmt"

	"assay/results"
)

// Better is which way a score is better.
type Better string

const (
	Higher Better = "higher"
	Lower  Better = "lower"
	None   Better = "none" // neither
)

// Name documents a score.
type Name struct {
	Name string
	// Unit is "1" for shares and for 0 or 1, "" for texts.
	Unit   string
	Better Better
	Help   string // what it is
	Source string // where its definition comes from: a section of metrics.md
	// Rubric whose judges each give the score, beside one of all together where there
	// is one; "": it is of no judge.
	Rubric string
	// Like is a score that usually says the same; "": none does.
	Like string
}

// Value is what a trial scored: a Number, or a Text, or why there is neither. A
// value that is not given at all is of other trials: no metric counts it.
type Value struct {
	Name   string
	Judge  string // "": of no judge, or of all together
	Number *float64
	Text   string // of a small set: a path, a label, a status; never "" where there is one
	Why    string
	// Undefined, with Why, says that the score does not exist; otherwise it does and
	// is not known.
	Undefined bool
}

// ValueOf is a number.
func ValueOf(name, judge string, v float64) Value { return Value{Name: name, Judge: judge, Number: &v} }

// LabelOf is a text.
func LabelOf(name, judge, text string) Value { return Value{Name: name, Judge: judge, Text: text} }

// Invalid says why a score is not known.
func Invalid(name, judge, why string) Value { return Value{Name: name, Judge: judge, Why: why} }

// Undefined says why a score does not exist.
func Undefined(name, judge, why string) Value {
	return Value{Name: name, Judge: judge, Why: why, Undefined: true}
}

// Rules are how a study scores its trials.
type Rules struct {
	Study string
	Names []Name // of what Score gives; those of Common come beside
	// Facts decodes what scores need of an item, once for each; nil: nothing.
	Facts func(results.Item) (any, error)
	// Condition decodes a condition's description, once for each; nil: scores need none.
	Condition func(name string, described json.RawMessage) (any, error)
	// Answers says that Score reads Sample.Output, AnswersOf that it does where judges are
	// asked under a rubric, and AnswersUnder that it does in a run with a condition.
	Answers      bool
	AnswersOf    string
	AnswersUnder func(condition any) bool
	// Released says in a sentence what the scores of the authors' released code have
	// otherwise (Sample.Released).
	Released string
	Score    func(Sample) []Value
}

// Asked is a study's rules and, by rubric, the judges that were asked in a run.
type Asked struct {
	Rules  Rules
	Judges map[string][]string
}

// Column is a score at its place in a layout; Judge "": of no judge, or of all
// together.
type Column struct {
	Name  Name
	Judge string
}

// Layout is the places of a study's scores: one for each name, and one for each
// of its judges.
type Layout struct {
	names   []Name
	columns []column
	places  map[column]int
}

type column struct{ name, judge string }

// Layout arranges the scores of a run; judges are, by rubric, those that were asked.
func (r Rules) Layout(judges map[string][]string) *Layout {
	l := &Layout{names: append(Common(), r.Names...), places: map[column]int{}}
	add := func(c column) {
		if _, twice := l.places[c]; twice {
			panic(fmt.Sprintf("score: internal error: study %s has two scores %s %s", r.Study, c.name, c.judge))
		}
		l.places[c] = len(l.columns)
		l.columns = append(l.columns, c)
	}
	for _, n := range l.names {
		add(column{n.Name, ""})
		if n.Rubric != "" {
			for _, j := range judges[n.Rubric] {
				add(column{n.Name, j})
			}
		}
	}
	return l
}

// Columns are all places in their order.
func (l *Layout) Columns() []Column {
	out := make([]Column, len(l.columns))
	for i, c := range l.columns {
		out[i].Judge = c.judge
		for _, n := range l.names {
			if n.Name == c.name {
				out[i].Name = n
			}
		}
	}
	return out
}

// Place is where a score lies; judge "": of none, or of all together. It panics
// where there is no such score.
func (l *Layout) Place(name, judge string) int {
	at := l.find(name, judge)
	if at < 0 {
		panic(fmt.Sprintf("score: internal error: no score %s by %q is declared", name, judge))
	}
	return at
}

// find is Place, or -1.
func (l *Layout) find(name, judge string) int {
	if at, ok := l.places[column{name, judge}]; ok {
		return at
	}
	return -1
}

// Places are those of a score by each judge.
func (l *Layout) Places(name string, judges []string) []int {
	out := make([]int, len(judges))
	for i, j := range judges {
		out[i] = l.Place(name, j)
	}
	return out
}

// Verdicts are the places of what became of judgments, by rubric and judge.
func (l *Layout) Verdicts(judges map[string][]string) map[string][]int {
	out := map[string][]int{}
	for rubric, names := range judges {
		out[rubric] = l.Places(VerdictName(rubric), names)
	}
	return out
}

// Scored is a trial with what it scored.
type Scored struct {
	Row    results.Row
	values []slot // by place; shorter where the last do not exist
}

// slot is a value at its place.
type slot struct {
	kind   kind
	number float64
	text   string // or why there is none
}

type kind byte

const (
	absent kind = iota
	number
	label
	invalid
	undefined
)

func (s *Scored) at(place int) slot {
	if place >= len(s.values) {
		return slot{}
	}
	return s.values[place]
}

// Number is a score; false: there is none.
func (s *Scored) Number(place int) (float64, bool) {
	v := s.at(place)
	return v.number, v.kind == number
}

// Text is a score that is a text; false: there is none.
func (s *Scored) Text(place int) (string, bool) {
	v := s.at(place)
	return v.text, v.kind == label
}

// Why says why a score is missing; "": it is not, or the trial is of those that have
// none.
func (s *Scored) Why(place int) string {
	if v := s.at(place); v.kind == invalid || v.kind == undefined {
		return v.text
	}
	return ""
}

// Given says whether the trial is of those that have the score, known or not, if
// only to say that it does not exist.
func (s *Scored) Given(place int) bool { return s.at(place).kind != absent }

// Statuses are what became of the judgments of an answer, under the rubrics that it
// was asked under; places are those of Layout.Verdicts. Under the others there are none. into
// is used for them; nil: a new one is made.
func (s *Scored) Statuses(places map[string][]int, into map[string][]results.Status) map[string][]results.Status {
	if into == nil {
		into = map[string][]results.Status{}
	}
	for rubric, by := range places {
		of := into[rubric][:0]
		for _, place := range by {
			if text, ok := s.Text(place); ok {
				of = append(of, results.Status(text))
			}
		}
		into[rubric] = of
	}
	return into
}

// State says of a score whether it is Given, whether it is Defined, and whether it is known:
// a number or a text.
func (s *Scored) State(place int) (given, defined, known bool) {
	if place >= len(s.values) {
		return false, false, false
	}
	k := s.values[place].kind
	return k != absent, k != absent && k != undefined, k == number || k == label
}

// Defined says whether the score exists, known or not.
func (s *Scored) Defined(place int) bool {
	k := s.at(place).kind
	return k != absent && k != undefined
}

// Values are all of a trial's scores, in the order of a layout.
func (s *Scored) Values(l *Layout) []Value {
	var out []Value
	for i, v := range s.values {
		c := l.columns[i]
		switch v.kind {
		case number:
			out = append(out, ValueOf(c.name, c.judge, v.number))
		case label:
			out = append(out, LabelOf(c.name, c.judge, v.text))
		case invalid:
			out = append(out, Invalid(c.name, c.judge, v.text))
		case undefined:
			out = append(out, Undefined(c.name, c.judge, v.text))
		}
	}
	return out
}

// fill puts lists of values at their places.
func (l *Layout) fill(slots []slot, values ...[]Value) []slot {
	slots = slots[:0]
	for range l.columns {
		slots = append(slots, slot{})
	}
	for _, list := range values {
		l.put(slots, list)
	}
	return slots
}

func (l *Layout) put(slots []slot, values []Value) {
	for _, v := range values {
		s := &slots[l.Place(v.Name, v.Judge)]
		given := 0
		if v.Number != nil {
			*s, given = slot{kind: number, number: *v.Number}, given+1
		}
		if v.Text != "" {
			*s, given = slot{kind: label, text: v.Text}, given+1
		}
		if v.Why != "" {
			*s, given = slot{kind: invalid, text: v.Why}, given+1
		}
		if v.Undefined {
			s.kind = undefined
		}
		if given != 1 {
			panic(fmt.Sprintf("score: internal error: %s by %q is %d of a number, a text and a reason, not one", v.Name, v.Judge, given))
		}
	}
}
