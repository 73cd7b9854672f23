package score

import "math"

// OneIf is 1 for what holds, 0 for what does not.
func OneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// JudgeMean adds up the values of several judges.
type JudgeMean struct {
	sum float64
	n   int
}

// Add takes in a judge's value.
func (m *JudgeMean) Add(x float64) { m.sum += x; m.n++ }

// Known says whether any judge gave a value.
func (m JudgeMean) Known() bool { return m.n > 0 }

// Of is NaN without values.
func (m JudgeMean) Of() float64 {
	if m.n == 0 {
		return math.NaN()
	}
	return m.sum / float64(m.n)
}

// Value is the score of all judges together.
func (m JudgeMean) Value(s Sample, name string) Value {
	switch {
	case m.n > 0:
		return ValueOf(name, "", m.Of())
	case s.Failed:
		return Invalid(name, "", Failure)
	}
	return Invalid(name, "", "no usable verdict")
}

// EachJudge gives the numbers that every judge's verdict under a rubric holds, and of
// all judges the mean of those that are known. A number that a usable verdict does not
// hold is not given.
func EachJudge[T any](s Sample, rubric string, names []string, of func(judge string, v T) map[string]float64) (out []Value) {
	all := make([]JudgeMean, len(names))
	for _, j := range s.Judges(rubric) {
		var v T
		ok := s.Verdict(rubric, j, &v)
		var numbers map[string]float64
		if ok {
			numbers = of(j, v)
		}
		for i, name := range names {
			if x, has := numbers[name]; has {
				out = append(out, ValueOf(name, j, x))
				all[i].Add(x)
			} else if !ok {
				out = append(out, Invalid(name, j, s.Why(rubric, j)))
			}
		}
	}
	for i, name := range names {
		out = append(out, all[i].Value(s, name))
	}
	return out
}

// Joint is the score of all judges together among a trial's values; nil, and why: it is
// not known.
func Joint(values []Value, name string) (*float64, string) {
	for _, v := range values {
		if v.Name == name && v.Judge == "" {
			return v.Number, v.Why
		}
	}
	return nil, ""
}

// Majority is a score of what most judges say by another, of 0 and 1; divided is why it is
// not known where as many say one thing as the other.
func Majority(values []Value, of, name, divided string) Value {
	switch joint, why := Joint(values, of); {
	case joint == nil:
		return Invalid(name, "", why)
	case *joint == 0.5:
		return Invalid(name, "", divided)
	default:
		return ValueOf(name, "", OneIf(*joint > 0.5))
	}
}
