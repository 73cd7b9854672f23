package judge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/results"
	"assay/results/store"
)

type stepsFields struct {
	Answer string   `json:"answer"`
	Steps  []string `json:"steps"`
}

// Rubric split takes an answer apart; errs judges what split found.
func splitAndErrs() (split, errs Rubric) {
	return Rubric{Name: "split"}, Rubric{Name: "errs", Needs: []string{"split"}, Join: func(fields any, needed map[string]json.RawMessage) (any, string) {
		var v []string
		if json.Unmarshal(needed["split"], &v) != nil || len(v) == 0 {
			return nil, "there are no steps"
		}
		return stepsFields{fields.(answerFields).Answer, v}, ""
	}}
}

// scribe splits answers at a mark and writes down what it is asked.
type scribe struct {
	name, mark string
	says       map[string]results.Status // by rubric and answer: instead of clean
	errs       string                    // its verdict under errs

	mu    sync.Mutex
	asked []string // rubric and fields
}

func (s *scribe) Judge(_ context.Context, r Rubric, c Case) (results.Judgment, error) {
	st, err := c.Stored()
	if err != nil {
		return results.Judgment{}, err
	}
	s.mu.Lock()
	s.asked = append(s.asked, fmt.Sprintf("%s %s #%d", r.Name, st.Fields, c.Repeat))
	s.mu.Unlock()
	var answer string
	verdict := cmp.Or(s.errs, `"fine"`)
	switch f := c.Fields.(type) {
	case answerFields:
		answer = f.Answer
		if r.Name == "split" {
			b, err := json.Marshal(strings.FieldsFunc(answer, func(x rune) bool { return strings.ContainsRune(s.mark, x) }))
			if err != nil {
				return results.Judgment{}, err
			}
			verdict = string(b)
		}
	case stepsFields:
		answer = f.Answer
	}
	j := results.Judgment{Case: st.Digest, Rubric: r.Name, Judge: s.name, Status: cmp.Or(s.says[r.Name+" "+answer], results.StatusClean)}
	if j.Status.Usable() {
		j.Verdict = json.RawMessage(verdict)
	} else {
		j.Detail = "as told"
	}
	return j, nil
}

// was is what a scribe was asked since the last call, sorted within each rubric.
func (s *scribe) was() []string {
	out := s.asked
	s.asked = nil
	return slices.Sorted(slices.Values(out))
}

// twoLevels are tasks of both rubrics for each answer; errs comes first.
func twoLevels(tasks []Task, from string, by map[string]results.Digest, judges ...string) iter.Seq2[Task, error] {
	split, errs := splitAndErrs()
	return func(yield func(Task, error) bool) {
		for _, t := range tasks {
			f := t.Case.Fields
			on := Task{Key: t.Key, Rubric: split, Case: Case{Rubric: "split", Fields: f}, Judges: judges, By: by}
			rests := Task{Key: t.Key, Rubric: errs, Case: Case{Rubric: "errs", Fields: f}, Judges: judges, By: by, Needs: []Need{{on, from}}}
			if !yield(rests, nil) || !yield(on, nil) {
				return
			}
		}
	}
}

func judgmentsOf(t *testing.T, st *store.Store) []string {
	t.Helper()
	var out []string
	for j, err := range st.Judgments(t.Context(), "s") {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.TrimSuffix(fmt.Sprintf("%s %s %s %s %s", j.Key.Item, j.Rubric, j.Judge, j.Status, cmp.Or(string(j.Verdict), j.Detail)), " "))
	}
	return out
}

// A verdict rests on that of the same judge, of the same trial; each case is judged
// once however many trials have it, and a second run asks nothing.
func TestAVerdictRestsOnTheJudgesOwn(t *testing.T) {
	st, tasks := open(t, "a.b,c", "d", "a.b,c")
	point, comma := &scribe{name: "point", mark: "."}, &scribe{name: "comma", mark: ","}
	run := func() Tally {
		t.Helper()
		tally, err := Run(t.Context(), RunArgs{Store: st, Tasks: twoLevels(tasks, "", nil, "point", "comma"), Judges: map[string]Slot{"point": {Judge: point, InFlight: 4}, "comma": {Judge: comma, InFlight: 4}}})
		if err != nil {
			t.Fatal(err)
		}
		return tally
	}
	tally := run()
	if tally.Asked != 8 || tally.Reused != 4 || tally.Status[results.StatusClean] != 12 || len(tally.Open) != 0 {
		t.Errorf("tally %+v", tally)
	}
	for s, want := range map[*scribe][]string{
		point: {`errs {"answer":"a.b,c","steps":["a","b,c"]} #0`, `errs {"answer":"d","steps":["d"]} #0`, `split {"Answer":"a.b,c"} #0`, `split {"Answer":"d"} #0`},
		comma: {`errs {"answer":"a.b,c","steps":["a.b","c"]} #0`, `errs {"answer":"d","steps":["d"]} #0`, `split {"Answer":"a.b,c"} #0`, `split {"Answer":"d"} #0`},
	} {
		if got := s.was(); !slices.Equal(got, want) {
			t.Errorf("%s was asked\n%v, want\n%v", s.name, got, want)
		}
	}
	if n := len(judgmentsOf(t, st)); n != 12 {
		t.Errorf("%d judgments of trials: %v", n, judgmentsOf(t, st))
	}
	if tally = run(); tally.Asked != 0 || tally.Reused != 12 {
		t.Errorf("again: %+v", tally)
	}
}

// One judge's verdicts can be what all others rest on.
func TestAVerdictRestsOnANamedJudges(t *testing.T) {
	st, tasks := open(t, "a.b,c")
	point, comma := &scribe{name: "point", mark: "."}, &scribe{name: "comma", mark: ","}
	if _, err := Run(t.Context(), RunArgs{Store: st, Tasks: twoLevels(tasks, "point", nil, "point", "comma"), Judges: map[string]Slot{"point": {Judge: point}, "comma": {Judge: comma}}}); err != nil {
		t.Fatal(err)
	}
	want := []string{`errs {"answer":"a.b,c","steps":["a","b,c"]} #0`, `split {"Answer":"a.b,c"} #0`}
	if got := comma.was(); !slices.Equal(got, want) {
		t.Errorf("asked %v, want %v", got, want)
	}
}

// Where a verdict that is needed has no use, neither has what rests on it; what was
// not reached stays open, and both are taken up again.
func TestWhatRestsOnAVerdictThatIsNotThere(t *testing.T) {
	st, tasks := open(t, "prose", "away", "none", "a.b", "...")
	s := &scribe{name: "j", mark: ".", says: map[string]results.Status{
		"split prose": results.StatusParse, "split none": results.StatusAbstained, "split away": results.StatusUnreachable}}
	run := func() Tally {
		t.Helper()
		tally, err := Run(t.Context(), RunArgs{Store: st, Tasks: twoLevels(tasks, "", nil, "j"), Judges: map[string]Slot{"j": {Judge: s, InFlight: 2}}})
		if err != nil {
			t.Fatal(err)
		}
		return tally
	}
	tally := run()
	if tally.Open["j"] != 1 || tally.Status[results.StatusNeeds] != 3 || tally.Status[results.StatusClean] != 3 {
		t.Errorf("tally %+v", tally)
	}
	common := []string{
		`000 errs j needs j has no verdict under rubric split (parse: as told)`, `000 split j parse as told`,
		`002 errs j needs j has no verdict under rubric split (abstained: as told)`, `002 split j abstained as told`,
		`003 errs j clean "fine"`, `003 split j clean ["a","b"]`,
		`004 errs j needs there are no steps`, `004 split j clean []`}
	want := slices.Insert(slices.Clone(common), 2, `001 split j unreachable as told`)
	if got := judgmentsOf(t, st); !slices.Equal(got, want) {
		t.Errorf("stored\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	s.says["split away"] = ""
	s.was()
	if tally = run(); len(tally.Open) != 0 || tally.Asked != 2 {
		t.Errorf("taken up: %+v", tally)
	}
	if got, want := s.was(), []string{`errs {"answer":"away","steps":["away"]} #0`, `split {"Answer":"away"} #0`}; !slices.Equal(got, want) {
		t.Errorf("asked %v, want %v", got, want)
	}
	want = slices.Insert(common, 2, `001 errs j clean "fine"`, `001 split j clean ["away"]`)
	if got := judgmentsOf(t, st); !slices.Equal(got, want) {
		t.Errorf("stored\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A judge that splits otherwise than before judges its steps anew; the steps of
// another judge stay judged.
func TestANewSplitIsJudgedAnew(t *testing.T) {
	st, tasks := open(t, "a.b,c", "d")
	s, other := &scribe{name: "j", mark: "."}, &scribe{name: "k", mark: "."}
	run := func(by string) Tally {
		t.Helper()
		tally, err := Run(t.Context(), RunArgs{Store: st, Tasks: twoLevels(tasks, "", map[string]results.Digest{"j": results.Digest(by), "k": "sha256:k"}, "j", "k"),
			Judges: map[string]Slot{"j": {Judge: s}, "k": {Judge: other}}})
		if err != nil {
			t.Fatal(err)
		}
		return tally
	}
	run("sha256:1")
	s.was()
	other.was()
	s.mark = ","
	if tally := run("sha256:2"); tally.Asked != 4 || len(other.was()) != 0 {
		t.Errorf("tally %+v; the other was asked, too: %v", tally, other.asked)
	}
	want := []string{`errs {"answer":"a.b,c","steps":["a.b","c"]} #0`, `errs {"answer":"d","steps":["d"]} #0`, `split {"Answer":"a.b,c"} #0`, `split {"Answer":"d"} #0`}
	if got := s.was(); !slices.Equal(got, want) {
		t.Errorf("asked %v, want %v", got, want)
	}
}

func TestCheckNeeds(t *testing.T) {
	join := func(fields any, _ map[string]json.RawMessage) (any, string) { return fields, "" }
	r := func(name string, needs ...string) Rubric {
		if len(needs) == 0 {
			return Rubric{Name: name}
		}
		return Rubric{Name: name, Needs: needs, Join: join}
	}
	for want, rubrics := range map[string][]Rubric{
		"":                         {r("d", "b", "c"), r("a"), r("b", "a"), r("c", "a")},
		"needs its own verdict":    {r("a", "c"), r("b", "a"), r("c", "b")},
		"a needs its own verdict":  {r("a", "a")},
		"which the study does not": {r("a", "x")},
		"expected both or none":    {{Name: "a"}, {Name: "b", Needs: []string{"a"}}},
	} {
		err := CheckNeeds(rubrics)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
