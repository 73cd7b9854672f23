package experiment_test

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"assay/backends"
	"assay/backends/kinds"
	"assay/harness/dataset"
	"assay/harness/experiment"
	"assay/harness/judge"
	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
	"assay/results/store"
)

// unreadAnswers are answers of every kind to a question whose options are left (A, the gold
// one), right and both.
func unreadAnswers() []struct {
	said    string // "failed": there is none
	unread  bool
	verdict string // of the judge who reads what rules do not; "": he is not asked, or has not answered
} {
	return []struct {
		said    string
		unread  bool
		verdict string
	}{
		{"A", false, ""},
		{"B", false, ""},
		{"A. right", true, `{"answer":"A"}`},
		{"left or right", true, `{"answer":"B"}`},
		{"I cannot tell.", true, `{"answer":null}`},
		{"right or left", true, "no JSON"},
		{"A and B", true, ""},
		{" ", false, ""},
		{"failed", false, ""},
	}
}

// TestUnreadAnswersAreReadByAJudge: of 9 trials one fails, 2 answers are read by rules (one right), 2 by the judge
// (one right), and 4 by neither: null, a reply that is none, one that is still to come, and an empty answer.
func TestUnreadAnswersAreReadByAJudge(t *testing.T) {
	options := []dataset.Option{{Label: "A", Text: "left"}, {Label: "B", Text: "right"}, {Label: "C", Text: "both"}}
	for _, of := range []struct {
		study, typ, arm, table string
		row                    []string
	}{
		{"qa", "single", "answer", "qa-main", []string{"m", "answer"}},
		{"cot", "single", "direct", "cot-accuracy", []string{"m", "direct"}},
		{"diagnosis", dataset.TypeDiagnosis, "mcq", "diagnosis-accuracy", []string{"m", "images alone"}},
		{"faithfulness", "single", "structured", "faithfulness-conditions", []string{"m", "structured", "baseline"}},
	} {
		t.Run(of.study, func(t *testing.T) {
			ctx := t.Context()
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			s, err := experiment.NewStudy(of.study, nil, study.Choice{})
			must(err)
			st, err := store.Open(ctx, filepath.Join(t.TempDir(), "run.sqlite"))
			must(err)
			defer st.Close()
			asks := map[string][]string{study.RubricAccuracy: {"rules"}, study.Unread: {"reader"}}
			if !slices.ContainsFunc(s.Rubrics, func(r judge.Rubric) bool { return r.Name == study.RubricAccuracy }) {
				delete(asks, study.RubricAccuracy)
			}
			must(st.PutManifest(ctx, results.Manifest{Name: "t", Seed: 7, Rubrics: map[string]map[string][]string{of.study: asks}, Conditions: map[string]map[string]json.RawMessage{of.study: s.Described}}))
			var reader judge.Reader
			put := func(r judge.Rubric, k results.Key, c judge.Case, by string, verdict []byte) {
				shown, err := c.Stored()
				must(err)
				must(st.PutCase(ctx, k, shown))
				j := results.Judgment{Case: shown.Digest, Rubric: r.Name, Judge: by}
				j.Status, j.Verdict = reader.Read(r, c, string(verdict))
				must(st.PutJudgment(ctx, j))
			}
			for i, a := range unreadAnswers() {
				it := dataset.Item{ID: fmt.Sprint("item ", i), Question: "Where?", Type: of.typ, Options: options, Answer: "A"}
				stored, err := s.Facts(7, it)
				must(err)
				must(st.PutItems(ctx, []results.Item{stored}))
				k := results.Key{Study: of.study, Model: "m", Item: it.ID, Arm: of.arm, Condition: "baseline"}
				at := results.Attempt{Started: time.Unix(1, 0), Failure: &results.Failure{Kind: "stalled", Message: "no"}}
				out := results.Output{Answer: a.said, Finish: backends.FinishStop}
				if a.said != "failed" {
					at = results.Attempt{Started: time.Unix(1, 0), Output: &out, Turns: []results.Turn{{Answer: a.said, Finish: backends.FinishStop}}}
				}
				must(st.PutTrial(ctx, results.Trial{Key: k, Inputs: "sha256:0", Attempts: []results.Attempt{at}}))
				if a.said == "failed" {
					continue
				}
				for _, c := range s.Cases(study.Answer{Item: it, Key: k, Output: out}) {
					at := slices.IndexFunc(s.Rubrics, func(r judge.Rubric) bool { return r.Name == c.Rubric })
					if c.Rubric != study.RubricAccuracy {
						continue
					}
					verdict, why, ok := s.Rubrics[at].Rules(c)
					if !ok {
						t.Fatal(why)
					}
					b, err := json.Marshal(verdict)
					must(err)
					put(s.Rubrics[at], k, c, "rules", b)
				}
				c, asked := s.Unread(study.Answer{Item: it, Key: k, Output: out})
				if asked != a.unread {
					t.Errorf("%q: a judge is asked: %t", a.said, asked)
				}
				if a.verdict != "" {
					r := s.Rubrics[slices.IndexFunc(s.Rubrics, func(r judge.Rubric) bool { return r.Name == study.Unread })]
					put(r, k, c, "reader", []byte(a.verdict))
				}
			}
			cell := func(asks map[string][]string, column string) (*results.Estimate, bool) {
				secs, err := s.Summarize(ctx, st, asks, kinds.NoDecode)
				must(err)
				for _, sec := range secs {
					for _, table := range sec.Tables {
						if table.Name == of.table && slices.ContainsFunc(table.Columns, func(c results.Column) bool { return c.Name == column }) {
							return score.FindEstimate(table, column, of.row...), true
						}
					}
				}
				return nil, false
			}
			for column, want := range map[string]float64{"accuracy": 12.5, "read": 25, study.ScoreReadByJudge: 25, study.ScoreJudgeRead: 25} {
				e, ok := cell(asks, column)
				if !ok || e == nil || e.Value == nil || math.Abs(*e.Value-want) > 1e-9 || e.N != 8 {
					t.Errorf("%s is %+v, want %v of 8", column, e, want)
				}
			}
			for _, column := range []string{study.ScoreReadByJudge, study.ScoreJudgeRead} {
				if e, _ := cell(map[string][]string{study.RubricAccuracy: asks[study.RubricAccuracy], study.Unread: {"another"}}, column); e == nil || e.Value == nil || *e.Value != map[string]float64{study.ScoreJudgeRead: 12.5}[column] || e.N != 8 {
					t.Errorf("%s is %+v by a judge who has read nothing", column, e)
				}
				if _, ok := cell(map[string][]string{study.RubricAccuracy: asks[study.RubricAccuracy]}, column); ok {
					t.Errorf("column %s where no judge is asked", column)
				}
			}
		})
	}
}

// TestAStoreWithoutKeysIsNotScoredByWhatAJudgeRead: what an older store does not say is unknown, and no 0.
func TestAStoreWithoutKeysIsNotScoredByWhatAJudgeRead(t *testing.T) {
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	st, err := store.Open(ctx, filepath.Join(t.TempDir(), "run.sqlite"))
	must(err)
	defer st.Close()
	asks := map[string][]string{study.RubricAccuracy: {"rules"}, study.Unread: {"reader"}}
	must(st.PutManifest(ctx, results.Manifest{Name: "t", Seed: 7, Rubrics: map[string]map[string][]string{"qa": asks}}))
	must(st.PutItems(ctx, []results.Item{{Study: "qa", ID: "1", Type: "single", Facts: json.RawMessage("{}")}}))
	must(st.PutTrial(ctx, results.Trial{Key: results.Key{Study: "qa", Model: "m", Item: "1", Arm: "answer", Condition: "baseline"}, Inputs: "sha256:0",
		Attempts: []results.Attempt{{Started: time.Unix(1, 0), Output: &results.Output{Answer: "A", Finish: backends.FinishStop}, Turns: []results.Turn{{Answer: "A", Finish: backends.FinishStop}}}}}))
	s, err := experiment.NewStudy("qa", nil, study.Choice{})
	must(err)
	secs, err := s.Summarize(ctx, st, asks, kinds.NoDecode)
	must(err)
	for _, column := range []string{study.ScoreReadByJudge, study.ScoreJudgeRead} {
		if e := score.FindEstimate(secs[0].Tables[0], column, "m", "answer"); e == nil || e.Value != nil || e.Invalid != 1 {
			t.Errorf("%s is %+v, want none", column, e)
		}
	}
}
