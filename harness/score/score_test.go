package score_test

import (
	"context"
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
	"assay/results/store"
	"assay/timing"
)

// bench is a store of a toy study: items a and b, arms plain and odd, conditions
// baseline and cue, one rubric judged by first and second.
type bench struct {
	t    *testing.T
	path string
	st   *store.Store
}

func judges() map[string][]string { return map[string][]string{"right": {"first", "second"}} }

// rules score how right an answer is, and whether it differs from its twin.
func rules() score.Rules {
	return score.Rules{Study: "toy", Answers: true,
		Names: append([]score.Name{
			{Name: "right", Unit: "1", Better: score.Higher, Rubric: "right", Help: "how right it is"},
			{Name: "flip", Unit: "1", Better: score.Lower, Help: "1: another answer than at the baseline"},
			{Name: "said", Better: score.None, Help: "the answer"},
			{Name: "fact", Unit: "1", Better: score.None, Help: "the item's"},
		}, score.VerdictNames("right")...),
		Facts: func(it results.Item) (any, error) {
			var n float64
			err := json.Unmarshal(it.Facts, &n)
			return n, err
		},
		Score: func(s score.Sample) []score.Value {
			out := s.Verdicts("right")
			for _, j := range s.Judges("right") {
				var v struct{ N float64 }
				if s.Verdict("right", j, &v) {
					out = append(out, score.ValueOf("right", j, v.N))
				} else {
					out = append(out, score.Invalid("right", j, s.Why("right", j)))
				}
			}
			out = append(out, score.ValueOf("fact", "", s.Facts.(float64)))
			if s.Failed {
				return append(out, score.Invalid("flip", "", score.Failure))
			}
			out = append(out, score.LabelOf("said", "", s.Output.Answer))
			twin, ok := s.Other(s.Key.Arm, "baseline")
			switch {
			case s.Key.Condition == "baseline":
			case !ok || twin.Failed:
				out = append(out, score.Undefined("flip", "", "its twin has no answer"))
			case twin.Output.Answer == s.Output.Answer:
				out = append(out, score.ValueOf("flip", "", 0))
			default:
				out = append(out, score.ValueOf("flip", "", 1))
			}
			return out
		}}
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, path: filepath.Join(t.TempDir(), "run.sqlite")}
	var err error
	b.st, err = store.Open(t.Context(), b.path)
	b.must(err)
	t.Cleanup(func() { b.st.Close() })
	b.must(b.st.PutManifest(t.Context(), results.Manifest{Name: "toy", Seed: 1, Rubrics: map[string]map[string][]string{"toy": judges()}}))
	b.must(b.st.PutItems(t.Context(), []results.Item{{Study: "toy", ID: "a", Type: "short", Facts: []byte("1.5")}, {Study: "toy", ID: "b", Type: "short", Facts: []byte("-3")}}))
	for _, item := range []string{"a", "b"} {
		b.answer(item, "baseline", "yes", 1)
		b.answer(item, "cue", map[string]string{"a": "no", "b": "yes"}[item], 1)
		b.judge(item, "baseline", "first", `{"n":0.25}`)
		b.judge(item, "baseline", "second", "")
		b.judge(item, "cue", "first", `{"n":1}`)
	}
	return b
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func keyOf(item, condition string) results.Key {
	return results.Key{Study: "toy", Model: "m", Item: item, Arm: "plain", Condition: condition}
}

// answer puts a trial with so many attempts, the last one an answer; "": a failure.
func (b *bench) answer(item, condition, text string, attempts int) {
	b.t.Helper()
	rec := timing.NewRecorder(timing.NewClock())
	rec.MarkAt(timing.Start, time.Second)
	rec.Chunks([]timing.Chunk{{At: 1500 * time.Millisecond, Runes: 1, Answer: true}, {At: 3 * time.Second, Runes: 1, Answer: true}}, timing.StampsUser)
	tr := results.Trial{Key: keyOf(item, condition), Inputs: "sha256:0"}
	for range attempts {
		tr.Attempts = append(tr.Attempts, results.Attempt{Started: time.Unix(1, 0), Failure: &results.Failure{Kind: "stalled", Message: "no"}})
	}
	if text != "" {
		last := &tr.Attempts[attempts-1]
		last.Failure, last.Output = nil, &results.Output{Answer: text, Finish: backends.FinishStop}
		last.Turns = []results.Turn{{Answer: text, Finish: backends.FinishStop, Trace: rec.Trace()}}
	}
	b.must(b.st.PutTrial(b.t.Context(), tr))
}

// judge puts a judgment; verdict "": it cannot be parsed.
func (b *bench) judge(item, condition, judge, verdict string) {
	b.t.Helper()
	c := results.Case{Digest: results.DigestOf([]byte(item + condition)), Rubric: "right", Fields: []byte("{}")}
	b.must(b.st.PutCase(b.t.Context(), keyOf(item, condition), c))
	j := results.Judgment{Case: c.Digest, Rubric: "right", Judge: judge, Status: results.StatusParse}
	if verdict != "" {
		j.Status, j.Verdict = results.StatusClean, []byte(verdict)
	}
	b.must(b.st.PutJudgment(b.t.Context(), j))
}

// walked is every trial's scores in words.
func (b *bench) walked(st *store.Store) []string {
	b.t.Helper()
	return b.walkedBy(st, rules())
}

func (b *bench) walkedBy(st *store.Store, r score.Rules) []string {
	b.t.Helper()
	var out []string
	layout := r.Layout(judges())
	b.must(score.Walk(b.t.Context(), st, r, judges(), func(group []score.Scored) error {
		for _, s := range group {
			var parts []string
			for _, v := range s.Values(layout) {
				said := v.Text + v.Why
				if v.Number != nil {
					said = fmt.Sprint(*v.Number)
				}
				if v.Undefined {
					said = "undefined: " + said
				}
				parts = append(parts, strings.TrimSpace(v.Name+" "+v.Judge)+"="+said)
			}
			out = append(out, s.Row.Key.Item+" "+s.Row.Key.Condition+": "+strings.Join(parts, "; "))
		}
		return nil
	}))
	return out
}

func (b *bench) refresh() bool {
	b.t.Helper()
	did, err := score.Refresh(b.t.Context(), b.st, rules(), judges(), func(int) {})
	b.must(err)
	return did
}

// TestScores: what each trial scored, made on the way and read from the store.
func TestScores(t *testing.T) {
	b := newBench(t)
	const rest = "server_s=the server reports no total duration; tokens=the server counts no tokens; prompt_tokens=the server counts no tokens; energy_j=no telemetry; energy_net_j=no telemetry; "
	const answered = "answered=1; failure=undefined: there is an answer; ttft_s=0.5; latency_s=2; " + rest
	want := []string{
		"a baseline: " + answered + "right first=0.25; right second=parse; said=yes; fact=1.5; right_verdict first=clean; right_verdict second=parse",
		"a cue: " + answered + "right first=1; right second=not judged; flip=1; said=no; fact=1.5; right_verdict first=clean; right_verdict second=not judged",
		"b baseline: " + answered + "right first=0.25; right second=parse; said=yes; fact=-3; right_verdict first=clean; right_verdict second=parse",
		"b cue: " + answered + "right first=1; right second=not judged; flip=0; said=yes; fact=-3; right_verdict first=clean; right_verdict second=not judged",
	}
	if got := b.walked(b.st); !slices.Equal(got, want) {
		t.Errorf("made on the way:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !b.refresh() || b.refresh() {
		t.Error("scores are not stored once")
	}
	r, err := store.OpenReader(t.Context(), b.path)
	b.must(err)
	defer r.Close()
	if got := b.walked(r); !slices.Equal(got, want) {
		t.Errorf("read from the store:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	b.answer("b", "baseline", "", 2)
	got := b.walked(r)
	if want := "b baseline: answered=0; failure=stalled; ttft_s=the trial failed; "; !strings.HasPrefix(got[2], want) {
		t.Errorf("%s; want %s", got[2], want)
	}
	if want := "flip=undefined: its twin has no answer; "; !strings.Contains(got[3], want) {
		t.Errorf("the twin: %s", got[3])
	}
}

// TestModelsAreScored: stored scores are those made on the way, of every model, in Key
// order.
func TestModelsAreScored(t *testing.T) {
	b := newBench(t)
	for _, model := range []string{"z", "a", "n", "b"} {
		for i, item := range []string{"a", "b"} {
			k := keyOf(item, "baseline")
			k.Model = model
			b.must(b.st.PutTrial(t.Context(), results.Trial{Key: k, Inputs: "sha256:0", Attempts: []results.Attempt{
				{Started: time.Unix(1, 0), Failure: &results.Failure{Kind: model + fmt.Sprint(i), Message: "no"}}}}))
		}
	}
	want := b.walked(b.st)
	b.refresh()
	trials := 0
	r := rules()
	r.Score = func(score.Sample) []score.Value { t.Error("scored again"); return nil }
	b.must(score.Walk(t.Context(), b.st, r, judges(), func(group []score.Scored) error { trials += len(group); return nil }))
	if got := b.walked(b.st); !slices.Equal(got, want) || trials != 12 {
		t.Errorf("%d trials:\n%s\nwant\n%s", trials, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestScoringEnds: nothing is left over of a scoring that is stopped, or
// whose rules fail.
func TestScoringEnds(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	r := rules()
	own := r.Score
	r.Score = func(s score.Sample) []score.Value { cancel(); return own(s) }
	if _, err := score.Refresh(ctx, b.st, r, judges(), func(int) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	if ok, err := score.Fresh(t.Context(), b.st, rules(), judges()); ok || err != nil {
		t.Errorf("fresh after a stop: %v", err)
	}
	bad := rules()
	bad.Facts = func(results.Item) (any, error) { return nil, errors.New("no facts") }
	if _, err := score.Refresh(t.Context(), b.st, bad, judges(), func(int) {}); err == nil || !strings.Contains(err.Error(), "no facts") {
		t.Errorf("without facts: %v", err)
	}
}

// TestScoresComeFromTheStore: what is stored is what is read, as long as it is of
// what is there.
func TestScoresComeFromTheStore(t *testing.T) {
	b := newBench(t)
	b.refresh()
	asked := 0
	r := rules()
	own := r.Score
	r.Score = func(s score.Sample) []score.Value { asked++; return own(s) }
	trials := 0
	count := func(group []score.Scored) error { trials += len(group); return nil }
	b.must(score.Walk(t.Context(), b.st, r, judges(), count))
	if trials != 4 || asked != 0 {
		t.Errorf("%d trials, of which %d were scored again", trials, asked)
	}
}

// TestScoresAreMadeAgain: whatever scores are made of makes them stale.
func TestScoresAreMadeAgain(t *testing.T) {
	for name, change := range map[string]func(b *bench) (score.Rules, map[string][]string){
		"a trial": func(b *bench) (score.Rules, map[string][]string) {
			b.answer("a", "cue", "no", 2)
			return rules(), judges()
		},
		"a judgment": func(b *bench) (score.Rules, map[string][]string) {
			b.must(b.st.PutJudgment(b.t.Context(), results.Judgment{Case: results.DigestOf([]byte("acue")), Rubric: "right", Judge: "first", Status: results.StatusClean, Verdict: []byte(`{"n":0}`)}))
			return rules(), judges()
		},
		"a case": func(b *bench) (score.Rules, map[string][]string) {
			b.must(b.st.PutCase(b.t.Context(), keyOf("a", "cue"), results.Case{Digest: results.DigestOf([]byte("abaseline")), Rubric: "right", Fields: []byte("{}")}))
			return rules(), judges()
		},
		"a judge": func(b *bench) (score.Rules, map[string][]string) {
			b.must(b.st.PutVersions(b.t.Context(), []results.Version{{Rubric: "right", Judge: "first", Digest: "sha256:1", About: map[string]string{"model": "another"}}}, nil))
			return rules(), judges()
		},
		"an energy": func(b *bench) (score.Rules, map[string][]string) {
			b.must(b.st.PutUses(b.t.Context(), 1, nil, nil))
			return rules(), judges()
		},
		"an item": func(b *bench) (score.Rules, map[string][]string) {
			b.must(b.st.PutItems(b.t.Context(), []results.Item{{Study: "toy", ID: "c", Type: "short", Facts: []byte("0")}}))
			return rules(), judges()
		},
		"the judges asked": func(b *bench) (score.Rules, map[string][]string) {
			return rules(), map[string][]string{"right": {"first"}}
		},
		"the rules": func(b *bench) (score.Rules, map[string][]string) {
			r := rules()
			r.Names[0].Help = "how right it really is"
			return r, judges()
		},
		"a condition": func(b *bench) (score.Rules, map[string][]string) {
			b.must(b.st.PutManifest(b.t.Context(), results.Manifest{Name: "toy", Seed: 1, Conditions: map[string]map[string]json.RawMessage{"toy": {"cue": []byte("1")}}}))
			return rules(), judges()
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.refresh()
			if ok, err := score.Fresh(t.Context(), b.st, rules(), judges()); err != nil || !ok {
				t.Fatalf("not fresh once stored: %v", err)
			}
			r, j := change(b)
			if ok, err := score.Fresh(t.Context(), b.st, r, j); err != nil || ok {
				t.Errorf("still fresh: %v", err)
			}
			if did, err := score.Refresh(t.Context(), b.st, r, j, func(int) {}); err != nil || !did {
				t.Errorf("not made again: %v", err)
			}
			if ok, err := score.Fresh(t.Context(), b.st, r, j); err != nil || !ok {
				t.Errorf("not fresh when made again: %v", err)
			}
		})
	}
}

// TestEqualJudgesLeaveScores: to say again what judges are changes nothing.
func TestEqualJudgesLeaveScores(t *testing.T) {
	b := newBench(t)
	now := []results.Version{{Rubric: "right", Judge: "first", Digest: "sha256:1", About: map[string]string{"model": "m"}}}
	b.must(b.st.PutVersions(t.Context(), now, nil))
	b.refresh()
	b.must(b.st.PutVersions(t.Context(), now, nil))
	if b.refresh() {
		t.Error("scores were made again")
	}
}

// TestHalfStoredScoresAreNone: what was not stored to its end is not read.
func TestHalfStoredScoresAreNone(t *testing.T) {
	b := newBench(t)
	b.refresh()
	want := b.walked(b.st)
	b.judge("a", "cue", "first", `{"n":0.5}`)
	r := rules()
	broken := errors.New("broken")
	r.Facts = func(results.Item) (any, error) { return nil, broken }
	if _, err := score.Refresh(t.Context(), b.st, r, judges(), func(int) {}); !errors.Is(err, broken) {
		t.Fatalf("refreshing: %v", err)
	}
	if _, ok, err := b.st.ScoreSet(t.Context(), "toy"); err != nil || ok {
		t.Errorf("there is still a set: %v", err)
	}
	b.judge("a", "cue", "first", `{"n":1}`)
	if got := b.walked(b.st); !slices.Equal(got, want) {
		t.Errorf("%s", got)
	}
}

func TestAScoreThatIsNotDeclaredPanics(t *testing.T) {
	for name, v := range map[string]score.Value{
		"no such name":  score.ValueOf("wrong", "", 1),
		"no such judge": score.ValueOf("right", "third", 1),
		"nothing":       {Name: "flip"},
		"too much":      {Name: "flip", Text: "a", Why: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			r := rules()
			r.Score = func(score.Sample) []score.Value { return []score.Value{v} }
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "score: internal error: ") {
					t.Errorf("%s", got)
				}
			}()
			_ = score.Walk(context.Background(), b.st, r, judges(), func([]score.Scored) error { return nil })
			t.Error("no panic")
		})
	}
}

// TestCommonNamesAreDocumented: every score says what it is.
func TestCommonNamesAreDocumented(t *testing.T) {
	for _, n := range score.Common() {
		if n.Help == "" || n.Source == "" || !slices.Contains([]score.Better{score.Higher, score.Lower, score.None}, n.Better) {
			t.Errorf("%+v", n)
		}
	}
}

// TestEachJudge: a judge without a verdict has no number, and the reason; all judges together have the
// mean of those that have one.
func TestEachJudge(t *testing.T) {
	b := newBench(t)
	b.judge("b", "cue", "second", `{"n":0.5}`)
	r := rules()
	r.Names = []score.Name{{Name: "n", Unit: "1", Rubric: "right"}, {Name: "twice", Unit: "1", Rubric: "right"}}
	r.Score = func(s score.Sample) []score.Value {
		return score.EachJudge(s, "right", []string{"n", "twice"}, func(_ string, v struct{ N float64 }) map[string]float64 {
			return map[string]float64{"n": v.N, "twice": 2 * v.N}
		})
	}
	var got []string
	for _, line := range b.walkedBy(b.st, r) {
		trial, scores, _ := strings.Cut(line, ": ")
		_, own, _ := strings.Cut(scores, "; n=") // behind those that every study has
		got = append(got, trial+": n="+own)
	}
	want := []string{
		"a baseline: n=0.25; n first=0.25; n second=parse; twice=0.5; twice first=0.5; twice second=parse",
		"a cue: n=1; n first=1; n second=not judged; twice=2; twice first=2; twice second=not judged",
		"b baseline: n=0.25; n first=0.25; n second=parse; twice=0.5; twice first=0.5; twice second=parse",
		"b cue: n=0.75; n first=1; n second=0.5; twice=1.5; twice first=2; twice second=1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestMajority: as many for as against are no majority.
func TestMajority(t *testing.T) {
	for joint, want := range map[float64]float64{0: 0, 1. / 3: 0, 0.5: -1, 2. / 3: 1, 0.51: 1, 0.49: 0, 1: 1} {
		v := score.Majority([]score.Value{score.ValueOf("share", "first", 1-joint), score.ValueOf("share", "", joint)}, "share", "most", "they are divided")
		if want < 0 {
			if v.Number != nil || v.Why != "they are divided" {
				t.Errorf("%v: %+v", joint, v)
			}
		} else if v.Number == nil || *v.Number != want {
			t.Errorf("%v: %+v, want %v", joint, v, want)
		}
	}
	if v := score.Majority([]score.Value{score.Invalid("share", "", "nobody said")}, "share", "most", "they are divided"); v.Number != nil || v.Why != "nobody said" {
		t.Errorf("%+v", v)
	}
}
