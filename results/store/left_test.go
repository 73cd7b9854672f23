package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"assay/backends"
	"assay/results"
)

// TestLook: of a whole store all is told; cut anywhere, never more than was
// there, and nothing is changed.
func TestLook(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "run.sqlite")
	s, err := Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutManifest(ctx, results.Manifest{Name: "a run", Version: "1", Created: time.Unix(5, 0).UTC(), Config: fmt.Sprintf("%20000d", 1)}); err != nil {
		t.Fatal(err)
	}
	if err := s.PutItems(ctx, []results.Item{{Study: "cot", ID: "1", Type: "single"}}); err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		k := results.Key{Study: "cot", Model: fmt.Sprint("m", i%2), Item: fmt.Sprint(i), Arm: "cot", Condition: "baseline"}
		tr := results.Trial{Key: k, Attempts: []results.Attempt{{Started: time.Unix(1, 0)}}}
		last := &tr.Attempts[0]
		if i%10 == 0 {
			last.Failure = &results.Failure{Kind: "stalled", Message: "no"}
		} else {
			text := fmt.Sprintf("%900d", i)
			last.Output = &results.Output{Answer: text, Finish: backends.FinishStop}
			last.Turns = []results.Turn{{Answer: text, Finish: backends.FinishStop}}
		}
		if err := s.PutTrial(ctx, tr); err != nil {
			t.Fatal(err)
		}
		c := results.Case{Digest: results.DigestOf(fmt.Append(nil, i)), Rubric: "r", Fields: json.RawMessage(`{}`)}
		if err := s.PutCase(ctx, k, c); err != nil {
			t.Fatal(err)
		}
		if err := s.PutJudgment(ctx, results.Judgment{Case: c.Digest, Rubric: "r", Judge: "j", Status: results.StatusClean, Verdict: json.RawMessage(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	items := 1
	steps, err := filepath.Glob("migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	schema := len(steps)
	want := Left{Schema: &schema, Name: "a run", Version: "1", Created: time.Unix(5, 0).UTC(), Items: &items,
		Blocks: []leftBlock{{"cot", "m0", 24, 6, 30, false}, {"cot", "m1", 30, 0, 30, false}}}
	got, err := LookForLeft(ctx, path)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("of a whole store: %+v, %v; want %+v", got, err, want)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for n := 0; n < len(whole); n += 2000 {
		cut := filepath.Join(t.TempDir(), "cut.sqlite")
		if err := os.WriteFile(cut, whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := LookForLeft(ctx, cut)
		if err != nil {
			t.Fatal(err)
		}
		if got.Name == want.Name {
			named++
		}
		for _, b := range got.Blocks {
			if b.Answers > 30 || b.Failures > 6 || b.Judgments > 30 {
				t.Errorf("cut to %d bytes: %+v", n, b)
			}
		}
		if now, err := os.ReadFile(cut); err != nil || len(now) != n {
			t.Errorf("cut to %d bytes, then changed to %d (%v)", n, len(now), err)
		}
	}
	if named == 0 {
		t.Error("nothing was ever told of a cut store")
	}
	if _, err := LookForLeft(ctx, filepath.Join(t.TempDir(), "none")); !errors.Is(err, results.FaultMissing) {
		t.Errorf("of no file: %v", err)
	}
}
