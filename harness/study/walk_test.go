package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/harness/score"
	"assay/results"
	"assay/results/sqlite"
)

func TestWalk(t *testing.T) {
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for i, k := range []results.Key{
		{Model: "b", Item: "2", Arm: "y"}, {Model: "a", Item: "1", Arm: "y"}, {Model: "a", Item: "1", Arm: "x", Repeat: 1},
		{Model: "a", Item: "1", Arm: "x"}, {Model: "a", Item: "2", Arm: "x"}, {Model: "b", Item: "1", Arm: "y"},
	} {
		k.Study, k.Condition = "s", "baseline"
		a := results.Attempt{Started: time.Unix(1, 0), Turns: []results.Turn{{Answer: "x", Finish: backends.FinishStop}}, Output: &results.Output{Answer: "x", Finish: backends.FinishStop}}
		if err := st.PutTrial(t.Context(), results.Trial{Key: k, Inputs: "sha256:0", Attempts: []results.Attempt{a}}); err != nil {
			t.Fatal(err)
		}
		c := results.Case{Digest: results.DigestOf([]byte{byte(i)}), Rubric: "r", Fields: json.RawMessage(`{}`)}
		if err := st.PutCase(t.Context(), k, c); err != nil {
			t.Fatal(err)
		}
		for _, who := range []string{"first", "second", "stranger"} {
			if who == "first" && i%2 == 1 {
				continue
			}
			j := results.Judgment{Case: c.Digest, Rubric: "r", Judge: who, Status: results.StatusClean, Verdict: json.RawMessage(fmt.Sprintf(`{"n":%d,"by":%q}`, i, who))}
			if err := st.PutJudgment(t.Context(), j); err != nil {
				t.Fatal(err)
			}
		}
	}
	var groups []string
	judges := map[string][]string{"r": {"second", "first"}, "other": {"first"}}
	err = Walk(t.Context(), st, "s", judges, func(trials []Trial) error {
		var parts []string
		for _, tr := range trials {
			k := tr.Row.Key
			part := fmt.Sprintf("%s%s%s%d", k.Model, k.Item, k.Arm, k.Repeat)
			for j := range 3 { // one more than were asked
				var v struct {
					N  int
					By string
				}
				if tr.Verdict("r", j, &v) {
					part += fmt.Sprintf(" %s %d", v.By, v.N)
				}
			}
			if tr.Verdict("other", 0, new(any)) {
				part += " other"
			}
			parts = append(parts, part)
		}
		groups = append(groups, strings.Join(parts, ", "))
		return nil
	})
	want := []string{"a1x0 second 3, a1x1 second 2 first 2, a1y0 second 1", "a2x0 second 4 first 4", "b1y0 second 5", "b2y0 second 0 first 0"}
	if err != nil || !slices.Equal(groups, want) {
		t.Errorf("%q, %v", groups, err)
	}
	stop := errors.New("stop")
	if err := Walk(t.Context(), st, "s", judges, func([]Trial) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	if err := Walk(t.Context(), st, "another", judges, func([]Trial) error { return stop }); err != nil {
		t.Errorf("no trials: %v", err)
	}
}

func TestSeconds(t *testing.T) {
	d := 1500 * time.Millisecond
	for _, c := range []struct {
		row results.Row
		ok  bool
	}{
		{results.Row{Latency: &d}, true},
		{results.Row{Latency: &d, Flags: []results.Flag{results.FlagSamplerGap, results.FlagNoChange}}, true},
		{results.Row{Latency: &d, Flags: []results.Flag{results.FlagCacheHit}}, false},
		{results.Row{Latency: &d, Flags: []results.Flag{results.FlagTruncated}}, false},
		{results.Row{Latency: &d, Flags: []results.Flag{results.FlagLoadInside}}, false},
		{results.Row{Latency: &d, Flags: []results.Flag{results.FlagConcurrent}}, false},
		{results.Row{Latency: &d, Flags: []results.Flag{results.FlagSamplerGap, results.FlagClockJump}}, false},
		{results.Row{Latency: &d, Flags: []results.Flag{results.FlagThrottled}}, false},
		{results.Row{Latency: &d, Flags: []results.Flag{results.FlagOtherProcess}}, false},
		{results.Row{Latency: &d, Failed: true}, false},
		{results.Row{}, false},
	} {
		if s, ok := score.Seconds(c.row); ok != c.ok || ok && s != 1.5 {
			t.Errorf("%+v: %v, %v", c.row, s, ok)
		}
	}
}

func TestWarnings(t *testing.T) {
	a := NewAccount("m", "x")
	a.Trials, a.Failed, a.Failures = 120, 20, map[string]int{"stalled": 5, "loading": 15}
	a.Flags[results.FlagConcurrent], a.Flags[results.FlagLoadInside], a.Flags[results.FlagCacheHit] = 3, 2, 1
	a.Statuses["r"] = []map[results.Status]int{{results.StatusClean: 90, results.StatusRepaired: 5, results.StatusParse: 5}, {results.StatusClean: 94, results.StatusParse: 6}}
	got := a.Warnings([]string{"r", "none"}, map[string][]string{"r": {"good", "bad"}})
	want := []string{
		"m, arm x: 20 of 120 trials failed and are left out (loading 15, stalled 5).",
		"m, arm x: 2 of 100 answers have no valid time because the model was loaded meanwhile.",
		"m, arm x: 3 of 100 answers have no valid time because another request was in flight.",
		"m, arm x: 1 of 100 answers have no valid time because the server reused a cache.",
		"m, arm x: judge bad has a usable r verdict for 94.00 % of the answers only (94 of 100).",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if w := NewAccount("m", "x").Warnings([]string{"r"}, nil); w != nil {
		t.Errorf("%q", w)
	}
}
