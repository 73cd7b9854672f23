package judge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"assay/results"
)

// Need is what of a trial a case rests on: the task whose verdict it needs.
type Need struct {
	Task Task
	From string // whose verdict; "": that of the judge who is shown the case
}

// CheckNeeds says what is wrong with the rubrics that rubrics need of each other: one
// that is not among them, or that needs itself in the end. Both are mistakes of a study.
func CheckNeeds(rubrics []Rubric) error {
	at := func(name string) int { return slices.IndexFunc(rubrics, func(r Rubric) bool { return r.Name == name }) }
	var walk func(r Rubric, way []string) error
	walk = func(r Rubric, way []string) error {
		way = append(slices.Clip(way), r.Name)
		if (len(r.Needs) > 0) != (r.Join != nil) {
			return fmt.Errorf("rubric %s has either verdicts that it needs or a way to join them, expected both or none", r.Name)
		}
		for _, n := range r.Needs {
			i := at(n)
			switch {
			case i < 0:
				return fmt.Errorf("rubric %s needs the verdict of rubric %s, which the study does not have", r.Name, n)
			case slices.Contains(way, n):
				return fmt.Errorf("rubric %s needs its own verdict, by way of %v", n, way)
			}
			if err := walk(rubrics[i], way); err != nil {
				return err
			}
		}
		return nil
	}
	for _, r := range rubrics {
		if err := walk(r, nil); err != nil {
			return err
		}
	}
	return nil
}

// level is 0 for a task that rests on nothing, else 1 more than what it rests on.
func (t Task) level() int {
	n := 0
	for _, need := range t.Needs {
		n = max(n, 1+need.Task.level())
	}
	return n
}

// verdicts are those that are stored.
type verdicts interface {
	Judgment(context.Context, results.JudgmentKey) (results.Judgment, bool, error)
}

// Shown is the case that a judge is shown of a task, with the verdicts that it rests
// on. With a reason there is no such case, and t.Case stands for it; false: a verdict
// is still to come.
func (t Task) Shown(ctx context.Context, st verdicts, judge string) (c Case, why string, there bool, err error) {
	if len(t.Needs) == 0 {
		return t.Case, "", true, nil
	}
	verdicts := map[string]json.RawMessage{}
	for _, n := range t.Needs {
		from, rubric := cmp.Or(n.From, judge), n.Task.Rubric.Name
		on, _, there, err := n.Task.Shown(ctx, st, from)
		if err != nil || !there {
			return c, "", false, err
		}
		stored, err := on.Stored()
		if err != nil {
			return c, "", false, fmt.Errorf("judge: the case of %v under rubric %s does not marshal: %w", t.Key, rubric, err)
		}
		j, found, err := st.Judgment(ctx, results.JudgmentKey{Case: stored.Digest, Rubric: rubric, Judge: from, By: n.Task.By[from]})
		switch {
		case err != nil:
			return c, "", false, fmt.Errorf("judge: looking up a judgment of %s under rubric %s: %w", from, rubric, err)
		case !found || j.Status.Open():
			return c, "", false, nil
		case !j.Status.Usable():
			return t.Case, fmt.Sprintf("%s has no verdict under rubric %s (%s: %s)", from, rubric, j.Status, j.Detail), true, nil
		}
		verdicts[rubric] = j.Verdict
	}
	c = t.Case
	fields, why := t.Rubric.Join(c.Fields, verdicts)
	if why == "" {
		c.Fields = fields
	}
	return c, why, true, nil
}

// unmet stands for a judge where a case has not what it needs: the reason.
type unmet struct{ judge, why string }

func (u unmet) Judge(_ context.Context, r Rubric, c Case) (results.Judgment, error) {
	st, err := c.Stored()
	return results.Judgment{Case: st.Digest, Rubric: r.Name, Judge: u.judge, Status: results.StatusNeeds, Detail: u.why}, err
}
