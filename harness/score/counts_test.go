package score_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"assay/backends"
	"assay/harness/score"
	"assay/results"
	"assay/results/store"
)

// Kept counts are what a store counts, and are gone by with anything that changes them.
func TestCounts(t *testing.T) {
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	man := results.Manifest{Name: "test", Planned: []results.Planned{{Study: "s", Model: "m", Trials: 9}}}
	must(st.PutManifest(t.Context(), man))
	must(st.PutItems(t.Context(), []results.Item{{Study: "s", ID: "1", Type: "short"}}))
	k := results.Key{Study: "s", Model: "m", Item: "1", Arm: "x", Condition: "baseline"}
	put := func() {
		a := results.Attempt{Started: time.Unix(1, 0), Turns: []results.Turn{{Answer: "x", Finish: backends.FinishStop}}, Output: &results.Output{Answer: "x", Finish: backends.FinishStop}}
		must(st.PutTrial(t.Context(), results.Trial{Key: k, Inputs: "sha256:0", Attempts: []results.Attempt{a}}))
		k.Repeat++
	}
	judge := func(who string) {
		c := results.Case{Digest: results.DigestOf([]byte("1")), Rubric: "r", Fields: json.RawMessage(`{}`)}
		first := k
		first.Repeat = 0
		must(st.PutCase(t.Context(), first, c))
		must(st.PutJudgment(t.Context(), results.Judgment{Case: c.Digest, Rubric: "r", Judge: who, Status: results.StatusClean, Verdict: json.RawMessage(`{}`)}))
	}
	counted := func() (c score.Counts) {
		t.Helper()
		var err error
		c.Extents, err = st.Extents(t.Context(), man)
		must(err)
		c.Versions, err = st.Versions(t.Context())
		must(err)
		return c
	}
	was := results.VersionOf("r", "first", map[string]string{"prompt": "a"})
	for i, change := range []func(){
		put, put, func() { judge("first") }, func() { judge("second") },
		func() { man.Planned[0].Trials++; must(st.PutManifest(t.Context(), man)) },
		func() { must(st.PutVersions(t.Context(), nil, []results.Version{was})) },
	} {
		change()
		want := counted()
		for range 2 { // made, then kept
			if got, err := score.CountsOf(t.Context(), st, man); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("change %d: %+v, %v; want %+v", i, got, err, want)
			}
			must(score.KeepCounts(t.Context(), st))
		}
	}
	// What is kept is gone by, as one can see by other numbers in its place.
	kept, ok, err := st.ScoreSet(t.Context(), "")
	if err != nil || !ok {
		t.Fatalf("nothing is kept: %v", err)
	}
	other := bytes.Replace(kept.About, []byte(`"Answers":2`), []byte(`"Answers":5`), 1)
	must(st.PutScores(t.Context(), "", func(func(results.ScoreBundle, error) bool) {}, func() results.ScoreSet { return results.ScoreSet{Digest: kept.Digest, About: other} }))
	if got, err := score.CountsOf(t.Context(), st, man); err != nil || got.Extents[0].Answers != 5 {
		t.Errorf("%+v, %v: counted again", got, err)
	}
}
