package score

// EachJudge gives the numbers that every judge's verdict under a rubric holds, and of
// all judges the mean of those that are known. A number that a usable verdict does not
// hold is not given.
func EachJudge[T any](s Sample, rubric string, names []string, of func(judge string, v T) map[string]float64) (out []Value) {
	sums, n := map[string]float64{}, map[string]int{}
	for _, j := range s.Judges(rubric) {
		var v T
		ok := s.Verdict(rubric, j, &v)
		var numbers map[string]float64
		if ok {
			numbers = of(j, v)
		}
		for _, name := range names {
			if x, has := numbers[name]; has {
				out = append(out, Of(name, j, x))
				sums[name] += x
				n[name]++
			} else if !ok {
				out = append(out, Invalid(name, j, s.Why(rubric, j)))
			}
		}
	}
	for _, name := range names {
		switch {
		case n[name] > 0:
			out = append(out, Of(name, "", sums[name]/float64(n[name])))
		case s.Failed:
			out = append(out, Invalid(name, "", Failure))
		default:
			out = append(out, Invalid(name, "", "no usable verdict"))
		}
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
