package judge

import (
	"encoding/json"

	"assay/results"
)

// Read makes a rubric's Read of what says what a verdict of its type holds.
func Read[T any](of func(v T) results.Reading) func(json.RawMessage) (results.Reading, error) {
	return func(verdict json.RawMessage) (results.Reading, error) {
		var v T
		if err := json.Unmarshal(verdict, &v); err != nil {
			return results.Reading{}, err
		}
		return of(v), nil
	}
}

// ByRule makes a rubric's Rules of a rule on what its cases show.
func ByRule[T any](rule func(shown T) (verdict any, why string, ok bool)) func(Case) (any, string, bool) {
	return func(c Case) (any, string, bool) {
		shown, err := Fields[T](c)
		if err != nil {
			return nil, err.Error(), false
		}
		return rule(shown)
	}
}

// Checked makes a rubric's Check of what a verdict of its type may not say of a case.
func Checked[S, V any](check func(shown S, verdict V) (results.Status, string)) func(Case, json.RawMessage) (results.Status, string) {
	return func(c Case, said json.RawMessage) (results.Status, string) {
		var v V
		shown, err := Fields[S](c)
		if err == nil {
			err = json.Unmarshal(said, &v)
		}
		if err != nil {
			return results.StatusSchema, err.Error()
		}
		return check(shown, v)
	}
}
