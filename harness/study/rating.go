package study

import (
	"assay/harness/judge"
	"assay/results"
)

// Rating is what people can rate of a study's answers. A rubric that takes a number is
// an axis of itself; here is what else there is.
type Rating struct {
	Derived []Derived
	People  []judge.Axis // which people alone rate
	// Fields are the axes of the scores in the files of a published reader study.
	Fields map[string]string
	Alarm  Alarm
	Fit    *Fit // nil: none
	// Asks are the questions that people are asked, by axis, and under a rubric that takes no
	// number by what its verdict decides, as "step_errors.is_factual"; under the rubric's own
	// name what holds for all of it. What is missing is asked in the words of its schema.
	Asks map[string]Ask
}

// Ask is how something is put to a person.
type Ask struct {
	Title, Help string
	Grades      []string // what each grade means, from the lowest
	Key         bool     // he is shown the answer key, and what experts say of the case
}

// Derived is an axis that follows from others: of a person from his grades; of a judge
// it is the score of the axis' name.
type Derived struct {
	judge.Axis
	From []string // axes of rubrics
	Of   func(grades []float64) float64
	// Released is Of as the authors' code has it; nil: it does not differ.
	Released func(grades []float64) float64
	// Within are axes that enter a mean over axes through this one alone.
	Within []string
}

// Alarm is a grade that nobody should give an answer under sham.
type Alarm struct {
	Axis string  // "": there is none
	From float64 // the least such grade
}

// Fit compares a formula of the study with people's own grades.
type Fit struct {
	// Axes are what it needs of an answer: the raters' mean on each, as a score of 0..1.
	Axes []string
	// Section shows it: scores by axis and answer, the answers of each item, and the seed
	// of the draws.
	Section func(name string, scores [][]float64, items [][]int, seed uint64) results.Section
}

// RightOrWrong is how people are asked whether an answer is right.
func RightOrWrong() Ask {
	return Ask{Title: "Is the answer right?", Help: "It has to mean the same as the answer key; the words may differ.", Grades: []string{"wrong", "right"}, Key: true}
}
