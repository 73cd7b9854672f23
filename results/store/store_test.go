package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/backends"
	"assay/results"
	"assay/timing"
)

var bg = context.Background()

func openStore(t testing.TB) *Store {
	t.Helper()
	s, err := Open(bg, filepath.Join(t.TempDir(), "a b%3f?#", "run.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func collect[T any](t testing.TB, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var out []T
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

func ptr[T any](v T) *T { return &v }

// answered is a small trial with one turn.
func answered(k results.Key, answer string, latency time.Duration) results.Trial {
	rec := timing.NewRecorder(timing.NewClock())
	rec.MarkAt(timing.Start, time.Second)
	rec.Chunks([]timing.Chunk{{At: time.Second + latency/2, Runes: 2}, {At: time.Second + latency, Lag: 1500, Runes: len(answer), Answer: true}}, timing.StampsKernel)
	rec.MarkAt(timing.End, time.Second+latency)
	return results.Trial{Key: k, Inputs: results.DigestOf([]byte(answer)), Attempts: []results.Attempt{{
		Started: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		Turns:   []results.Turn{{Trace: rec.Trace(), Usage: backends.Usage{PromptTokens: ptr(100), CompletionTokens: ptr(11)}, Answer: answer, Finish: backends.FinishStop}},
		Output:  &results.Output{Answer: answer, Finish: backends.FinishStop},
	}}}
}

func failed(k results.Key, kind string) results.Trial {
	return results.Trial{Key: k, Attempts: []results.Attempt{{Failure: &results.Failure{Kind: kind, Message: "why", Status: 500, Partial: "ha"}}}}
}

func key(item string) results.Key {
	return results.Key{Study: "cot", Model: "m", Item: item, Arm: "direct", Condition: "baseline"}
}

// anyText draws texts that a model may send, the awkward ones included.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringN(0, 20, -1), rapid.SampledFrom([]string{"", "a\x00b", "\x00", "\xff\xfe", "naïve 😀", "'; DROP TABLE trial; --", "\u202e", "NULL"}))
}

func someText() *rapid.Generator[string] {
	return anyText().Filter(func(s string) bool { return s != "" })
}

func anyKey() *rapid.Generator[results.Key] {
	return rapid.Custom(func(t *rapid.T) results.Key {
		name := func(of string) string {
			return rapid.OneOf(rapid.SampledFrom([]string{"a", "b", "A", "ä"}), someText()).Draw(t, of)
		}
		return results.Key{Study: name("study"), Model: name("model"), Item: name("item"), Arm: name("arm"), Condition: name("condition"), Repeat: rapid.IntRange(0, 3).Draw(t, "repeat")}
	})
}

func maybe[T any](t *rapid.T, name string, g *rapid.Generator[T]) *T {
	return rapid.Ptr(g, true).Draw(t, name)
}

func anyAttempt() *rapid.Generator[results.Attempt] {
	span := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64Range(0, 1<<60).Draw(t, "ns")) })
	finish := rapid.SampledFrom([]backends.Finish{"", backends.FinishStop, backends.FinishLength, backends.FinishOther})
	turn := rapid.Custom(func(t *rapid.T) results.Turn {
		rec := timing.NewRecorder(timing.NewClock())
		for e := timing.Start; e <= timing.End; e++ {
			if at := maybe(t, e.String(), span); at != nil {
				rec.MarkAt(e, *at)
			}
		}
		tr := rec.Trace()
		tr.Stamps = rapid.SampledFrom([]timing.Stamps{"", timing.StampsKernel, timing.StampsUser}).Draw(t, "stamps")
		tr.Chunks = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) timing.Chunk {
			return timing.Chunk{At: span.Draw(t, "at"), Lag: time.Duration(rapid.Int64Range(-1000, 1<<40).Draw(t, "lag")), Runes: rapid.IntRange(0, 1<<20).Draw(t, "runes"),
				Shared: rapid.Bool().Draw(t, "shared"), Answer: rapid.Bool().Draw(t, "answer")}
		}), 0, 4).Draw(t, "chunks")
		if len(tr.Chunks) == 0 {
			tr.Chunks = nil
		}
		tr.FirstTokens = maybe(t, "tokens of the first chunk", rapid.IntRange(0, 1<<20))
		count := rapid.IntRange(0, 1<<40)
		u := results.Turn{Trace: tr, Answer: anyText().Draw(t, "answer"), Reasoning: anyText().Draw(t, "reasoning"), Finish: finish.Draw(t, "finish"),
			Usage: backends.Usage{PromptTokens: maybe(t, "prompt", count), CompletionTokens: maybe(t, "completion", count), CachedTokens: maybe(t, "cached", count), ReasoningTokens: maybe(t, "reasoning", count)},
			Server: backends.Timings{Total: maybe(t, "total", span), Load: maybe(t, "load", span), Prompt: maybe(t, "server prompt", span),
				Decode: maybe(t, "decode", span), Queue: maybe(t, "queue", span)}}
		if rapid.Bool().Draw(t, "raw") {
			u.Server.Raw = json.RawMessage(`{"a": [1, null]}`)
		}
		if rapid.Bool().Draw(t, "sent") {
			u.Sent = results.DigestOf([]byte(u.Answer))
		}
		return u
	})
	return rapid.Custom(func(t *rapid.T) results.Attempt {
		var a results.Attempt
		if at := maybe(t, "started", rapid.Int64Range(-1<<60, 1<<62)); at != nil {
			a.Started = time.Unix(0, *at).UTC()
		}
		if a.Turns = rapid.SliceOfN(turn, 0, 3).Draw(t, "turns"); len(a.Turns) == 0 {
			a.Turns = nil
		}
		for _, f := range rapid.SliceOfN(someText(), 0, 2).Draw(t, "flags") {
			a.Flags = append(a.Flags, results.Flag(strings.ToValidUTF8(f, "?")))
		}
		a.Flags = append(a.Flags, rapid.SliceOfNDistinct(rapid.SampledFrom(results.Flags()), 0, 2, rapid.ID).Draw(t, "known flags")...)
		switch {
		case rapid.Bool().Draw(t, "failed"):
			a.Failure = &results.Failure{Kind: someText().Draw(t, "kind"), Message: anyText().Draw(t, "message"), Status: rapid.IntRange(0, 599).Draw(t, "status"), Partial: anyText().Draw(t, "partial")}
		case len(a.Turns) > 0 && rapid.Bool().Draw(t, "of the last turn"):
			u := a.Turns[len(a.Turns)-1]
			a.Output = &results.Output{Answer: u.Answer, Reasoning: u.Reasoning, Finish: u.Finish}
		default:
			a.Output = &results.Output{Answer: anyText().Draw(t, "answer"), Reasoning: anyText().Draw(t, "reasoning"), Finish: finish.Draw(t, "finish")}
		}
		if rapid.Bool().Draw(t, "timed") {
			a.Cache = anyCache(t, a.Output != nil)
		}
		return a
	})
}

func anyCache(t *rapid.T, answered bool) *results.Cache {
	c := &results.Cache{Policy: rapid.SampledFrom([]results.CachePolicy{results.PolicyCold, results.PolicyWarm}).Draw(t, "policy")}
	if c.Policy == results.PolicyCold {
		c.Nonces = []backends.Nonce{backends.NonceOf("a"), backends.NonceOf("b")}
	}
	if !answered {
		return c
	}
	c.Cache = rapid.SampledFrom([]backends.Cache{
		{State: backends.CacheCold, Field: "timings.cache_n", Value: "0"},
		{State: backends.CacheHit, Field: "usage", Value: "17"},
		{State: backends.CacheUnverified, Reason: "the reply has no usage"},
	}).Draw(t, "state")
	if rapid.Bool().Draw(t, "calibrated") {
		c.Calibration = &results.Calibration{Fresh: []time.Duration{3, 4}, Repeat: 1, PromptTokens: maybe(t, "tokens", rapid.IntRange(0, 9))}
	}
	return c
}

// TestTrialRoundTrip: any trial comes back as it was put, unknown as unknown, one
// by one, as a sequence in Key order, and as rows and outcomes.
func TestTrialRoundTrip(t *testing.T) {
	s := openStore(t)
	checks := 0
	all := map[results.Key]results.Outcome{}
	rapid.Check(t, func(t *rapid.T) {
		// One study per check keeps them apart in one store.
		checks++
		study := fmt.Sprintf("study %d", checks)
		put := map[results.Key]results.Trial{}
		for range rapid.IntRange(1, 5).Draw(t, "n") {
			tr := results.Trial{Key: anyKey().Draw(t, "key"), Attempts: rapid.SliceOfN(anyAttempt(), 1, 2).Draw(t, "attempts")}
			tr.Key.Study = study
			if rapid.Bool().Draw(t, "inputs") {
				tr.Inputs = results.DigestOf([]byte(tr.Key.Item))
			}
			old, replaced := put[tr.Key]
			if err := s.PutTrial(bg, tr); (err != nil) != (replaced && len(old.Attempts) > len(tr.Attempts)) {
				t.Fatalf("%d attempts after %d: %v", len(tr.Attempts), len(old.Attempts), err)
			} else if err == nil {
				put[tr.Key] = tr
			}
		}
		var order []results.Key
		for k, want := range put {
			order = append(order, k)
			got, ok, err := s.Trial(bg, k)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("put %+v\ngot %+v", want, got)
			}
		}
		slices.SortFunc(order, compareKeys)
		var at int
		for got, err := range s.Trials(bg, study) {
			if err != nil || !reflect.DeepEqual(got, put[order[at]]) {
				t.Fatalf("trial %d in order is %+v, want %+v (%v)", at, got, put[order[at]], err)
			}
			at++
		}
		rows := 0
		for got, err := range s.Rows(bg, study) {
			if err != nil {
				t.Fatal(err)
			}
			if want := rowOf(put[order[rows]]); !reflect.DeepEqual(got, want) {
				t.Fatalf("row %d is %+v, want %+v", rows, got, want)
			}
			rows++
		}
		at = 0
		whole := map[[2]string][]results.JudgedRow{} // by model and item
		for got, err := range s.JudgedRows(bg, study, true) {
			if err != nil {
				t.Fatal(err)
			}
			var want results.Output
			if last, _ := put[order[at]].Last(); last.Output != nil {
				want = *last.Output
			}
			if !reflect.DeepEqual(got.Row, rowOf(put[order[at]])) || got.Output != want {
				t.Fatalf("row %d is %+v, want the output %+v", at, got, want)
			}
			of := [2]string{got.Key.Model, got.Key.Item}
			whole[of] = append(whole[of], got)
			at++
		}
		checkItems(t, s, study, whole)
		var answers []results.Answered
		for got, err := range s.Outputs(bg, study) {
			if err != nil {
				t.Fatal(err)
			}
			answers = append(answers, got)
		}
		outcomes := map[results.Key]results.Outcome{}
		for k := range put {
			for o, err := range s.OutcomesOf(bg, study, k.Model) {
				if err != nil {
					t.Fatal(err)
				}
				outcomes[o.Key] = o.Outcome
			}
		}
		if len(outcomes) != len(put) {
			t.Fatalf("%d outcomes of %d trials", len(outcomes), len(put))
		}
		var ends []results.Ended
		together := rapid.IntRange(1, 4).Draw(t, "read together")
		if err := s.connected(func(conn *sqliteConn) error {
			return ended(bg, conn, study, together, func(e results.Ended, err error) bool { ends = append(ends, e); return err == nil })
		}); err != nil || len(ends) != len(order) {
			t.Fatalf("%d ends of %d trials: %v", len(ends), len(order), err)
		}
		for i, k := range order {
			last, _ := put[k].Last()
			end := results.Ended{Answered: results.Answered{Key: k}, Failed: last.Failure != nil, Session: last.Session}
			if last.Output != nil {
				end.Output = *last.Output
			}
			if ends[i] != end {
				t.Fatalf("%d together: the end is %+v, want %+v", together, ends[i], end)
			}
			want := results.Outcome{Attempts: len(put[k].Attempts), Invalid: len(last.Invalid()) > 0, Cut: last.Failure == nil && slices.ContainsFunc(last.Flags, results.Flag.Cuts)}
			for _, a := range put[k].Attempts {
				if len(a.Invalid()) > 0 {
					want.Invalids++
				}
			}
			if last.Failure != nil {
				want.Failed, want.Kind = true, last.Failure.Kind
			} else {
				if len(answers) == 0 || answers[0].Key != k || answers[0].Output != *last.Output {
					t.Fatalf("answers %+v, want next %+v of %+v", answers, last.Output, k)
				}
				answers = answers[1:]
			}
			if outcomes[k] != want {
				t.Fatalf("outcome %+v, want %+v", outcomes[k], want)
			}
			all[k] = want
		}
		if at != len(order) || rows != len(order) || len(answers) > 0 {
			t.Fatalf("%d trials, %d rows, %d answers too many, want %d", at, rows, len(answers), len(order))
		}
	})
	if got, err := s.Outcomes(bg); err != nil || !maps.Equal(got, all) {
		t.Errorf("%d outcomes of all studies, want the %d of each (%v)", len(got), len(all), err)
	}
}

func compareKeys(a, b results.Key) int {
	for _, d := range [...]int{strings.Compare(a.Study, b.Study), strings.Compare(a.Model, b.Model), strings.Compare(a.Item, b.Item),
		strings.Compare(a.Arm, b.Arm), strings.Compare(a.Condition, b.Condition), a.Repeat - b.Repeat} {
		if d != 0 {
			return d
		}
	}
	return 0
}

// rowOf computes a Row from a trial in the plainest way.
func rowOf(t results.Trial) results.Row {
	last := t.Attempts[len(t.Attempts)-1]
	r := results.Row{Key: t.Key, Attempts: len(t.Attempts), Flags: last.Flags, Paces: last.Paces()}
	if last.Failure != nil {
		r.Failed, r.Kind = true, last.Failure.Kind
	}
	if c := last.Cache; c != nil {
		r.CachePolicy, r.CacheState, r.CacheNote = c.Policy, c.State, c.Field+c.Reason
	}
	for _, a := range t.Attempts {
		var lost []results.Flag
		for _, f := range a.Flags {
			if a.Output != nil && f.Disqualifies() {
				lost = append(lost, f)
			}
		}
		if lost != nil {
			r.Invalid = append(r.Invalid, lost)
		}
	}
	if len(last.Turns) == 0 {
		return r
	}
	r.TTFT, r.Latency, r.Decode, r.ServerTotal = new(time.Duration), new(time.Duration), new(time.Duration), new(time.Duration)
	r.PromptTokens, r.CompletionTokens, r.FirstTokens = new(int), new(int), new(int)
	r.TTFTAtMost, r.LatencyAtMost = new(bool), new(bool)
	for _, u := range last.Turns {
		for _, d := range []struct {
			sum **time.Duration
			of  func() (time.Duration, bool)
		}{{&r.TTFT, u.Trace.TTFT}, {&r.Latency, u.Trace.Latency}, {&r.Decode, u.Trace.Decode}, {&r.ServerTotal, func() (time.Duration, bool) {
			if u.Server.Total == nil {
				return 0, false
			}
			return *u.Server.Total, true
		}}} {
			if v, ok := d.of(); !ok {
				*d.sum = nil
			} else if *d.sum != nil {
				**d.sum += v
			}
		}
		for _, c := range []struct {
			any **bool
			e   timing.Event
			of  func([]timing.Chunk) timing.Chunk
		}{{&r.TTFTAtMost, timing.FirstContent, func(p []timing.Chunk) timing.Chunk { return p[0] }},
			{&r.LatencyAtMost, timing.LastContent, func(p []timing.Chunk) timing.Chunk { return p[len(p)-1] }}} {
			if _, ok := u.Trace.At(c.e); !ok {
				*c.any = nil
			} else if *c.any != nil && len(u.Trace.Chunks) > 0 && c.of(u.Trace.Chunks).Shared {
				**c.any = true
			}
		}
		for _, c := range []struct {
			sum **int
			of  *int
		}{{&r.PromptTokens, u.Usage.PromptTokens}, {&r.CompletionTokens, u.Usage.CompletionTokens},
			{&r.FirstTokens, u.Trace.Tokens(u.Usage.CompletionTokens, u.Finish == backends.FinishStop).First}} {
			if c.of == nil {
				*c.sum = nil
			} else if *c.sum != nil {
				**c.sum += *c.of
			}
		}
	}
	return r
}

func TestTrialIsAbsent(t *testing.T) {
	s := openStore(t)
	if _, ok, err := s.Trial(bg, key("1")); ok || err != nil {
		t.Error(ok, err)
	}
	if _, ok, err := s.Manifest(bg); ok || err != nil {
		t.Error(ok, err)
	}
	if _, ok, err := s.Judgment(bg, results.JudgmentKey{Case: "sha256:0", Rubric: "r", Judge: "j"}); ok || err != nil {
		t.Error(ok, err)
	}
	if n, err := s.Outcomes(bg); len(n) != 0 || err != nil {
		t.Error(n, err)
	}
}

func TestManifestAndItems(t *testing.T) {
	s := openStore(t)
	m := results.Manifest{Name: "tour", Created: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Seed: 1<<64 - 1, Config: "name: tour\n", Digest: "sha256:1", Settings: map[string]string{"a": "b"},
		Version: "0.1.0", Models: map[string]backends.Identity{"m": {Server: "ollama", Model: "m:1", Vision: ptr(true)}}, Synthetic: []string{"phantom cases"}}
	m.Checksums = "CRC-32C of every page" // as the store will say itself
	for range 2 {                         // the second replaces the first
		if err := s.PutManifest(bg, m); err != nil {
			t.Fatal(err)
		}
		got, ok, err := s.Manifest(bg)
		if err != nil || !ok || !reflect.DeepEqual(got, m) {
			t.Fatalf("got %+v %v %v, want %+v", got, ok, err, m)
		}
		m.Revision, m.Synthetic = "abc", nil
	}
	items := []results.Item{{Study: "cot", ID: "9", Type: "bool", Task: "Diagnosis", Modality: "CT", Facts: json.RawMessage(`{"a":1}`)}, {Study: "cot", ID: "10", Type: "short"}, {Study: "other", ID: "9", Type: "x"}}
	for range 2 { // again: equal, so nothing changes
		if err := s.PutItems(bg, items); err != nil {
			t.Fatal(err)
		}
	}
	if got := collect(t, s.Items(bg, "cot")); !reflect.DeepEqual(got, items[:2]) {
		t.Errorf("got %+v", got)
	}
	for _, change := range []func(*results.Item){func(i *results.Item) { i.Type = "short" }, func(i *results.Item) { i.Task = "" }, func(i *results.Item) { i.Facts = nil }} {
		it := items[0]
		change(&it)
		if err := s.PutItems(bg, []results.Item{{Study: "cot", ID: "11", Type: "bool"}, it}); err == nil || !strings.Contains(err.Error(), "item 9 of study cot") {
			t.Errorf("changed facts were accepted: %v", err)
		}
	}
	if got := collect(t, s.Items(bg, "cot")); len(got) != 2 {
		t.Errorf("a refused call left %d items", len(got))
	}
	// Facts that an older assay did not know are added, in place; what it knew is as it was.
	more := items[0]
	more.Facts = json.RawMessage(`{"a":1,"wording":"Is it \u003c 5 cm? \u2013 ja","of":{"b":[1,null]}}`)
	if err := s.PutItems(bg, []results.Item{more}); err != nil {
		t.Fatal(err)
	}
	if got := collect(t, s.Items(bg, "cot")); !reflect.DeepEqual(got, []results.Item{more, items[1]}) {
		t.Errorf("got %+v", got)
	}
	for _, facts := range []string{`{"a":2,"wording":"Is it \u003c 5 cm? \u2013 ja","of":{"b":[1,null]}}`, `{"a":1,"of":{"b":[1,null]}}`, `{"a":1,"wording":"no","of":{"b":[1,null]}}`,
		`{"a":1,"wording":"Is it \u003c 5 cm? \u2013 ja","of":{"b":[1]}}`} {
		it := more
		it.Facts = json.RawMessage(facts)
		if err := s.PutItems(bg, []results.Item{it}); err == nil {
			t.Errorf("%s was accepted for %s", facts, more.Facts)
		}
	}
}

func TestJudgments(t *testing.T) {
	s := openStore(t)
	c := results.Case{Digest: results.DigestOf([]byte("c")), Rubric: "accuracy", Fields: json.RawMessage(`{"answer":"left"}`)}
	verdict := results.Judgment{Case: c.Digest, Rubric: "accuracy", Judge: "lexical", Status: results.StatusClean, Verdict: json.RawMessage(`{"verdict":"correct"}`)}
	if err := s.PutJudgment(bg, verdict); err == nil || !strings.Contains(err.Error(), "not stored") {
		t.Errorf("a judgment of an unknown case: %v", err)
	}
	// By this call or the next: the writer may be done with it before it returns.
	if err := errors.Join(s.PutCase(bg, key("1"), c), s.PutManifest(bg, results.Manifest{})); err == nil || !strings.Contains(err.Error(), "which is not stored") {
		t.Errorf("a case of an unknown trial was reported neither by its call nor by the next: %v", err)
	}
	for _, item := range []string{"2", "1", "3"} {
		if err := s.PutTrial(bg, answered(key(item), "left", time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		for _, item := range []string{"2", "1"} {
			if err := s.PutCase(bg, key(item), c); err != nil {
				t.Fatal(err)
			}
		}
	}
	other := verdict
	other.Judge, other.Status, other.Verdict, other.Detail = "a-model", results.StatusAbstained, nil, "cannot tell"
	other.Attempts = []results.Attempt{failed(key("1"), "stalled").Attempts[0], answered(key("1"), "I cannot", time.Second).Attempts[0]}
	for _, j := range []results.Judgment{verdict, other} {
		if err := s.PutJudgment(bg, j); err != nil {
			t.Fatal(err)
		}
		got, ok, err := s.Judgment(bg, j.Key())
		if err != nil || !ok || !reflect.DeepEqual(got, j) {
			t.Errorf("put %+v\ngot %+v %v %v", j, got, ok, err)
		}
	}
	shown := other
	shown.Attempts = nil
	want := []results.Judged{{Key: key("1"), Judgment: shown}, {Key: key("1"), Judgment: verdict}, {Key: key("2"), Judgment: shown}, {Key: key("2"), Judgment: verdict}}
	if got := collect(t, s.Judgments(bg, "cot")); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	// The rows of scores say the same, trial by trial.
	rows := collect(t, s.Rows(bg, "cot"))
	for i, r := range collect(t, s.JudgedRows(bg, "cot", false)) {
		var said []results.Judgment
		for _, w := range want {
			if w.Key == r.Key {
				w.Judgment.Case = ""
				said = append(said, w.Judgment)
			}
		}
		if !reflect.DeepEqual(r.Row, rows[i]) || !reflect.DeepEqual(r.Judgments, said) {
			t.Errorf("row %d is %+v, want %+v with %+v", i, r, rows[i], said)
		}
	}
	if of, err := s.JudgmentsOf(bg, key("2")); err != nil || len(of) != 2 || !reflect.DeepEqual(of[0].Judgment, shown) || string(of[0].Fields) != string(c.Fields) {
		t.Errorf("of one trial: %+v, %v", of, err)
	}
	if of := collect(t, s.TrialsOf(bg, "cot", key("2").Model, "2")); len(of) != 1 || of[0].Key != key("2") {
		t.Errorf("of one item: %+v", of)
	}
	if got := collect(t, s.Judgments(bg, "other")); got != nil {
		t.Errorf("judgments of another study: %+v", got)
	}
	// Judged again: the new one replaces the old one with its attempts.
	other.Attempts = other.Attempts[1:]
	if err := s.PutJudgment(bg, other); err != nil {
		t.Fatal(err)
	}
	if got, _, err := s.Judgment(bg, other.Key()); err != nil || !reflect.DeepEqual(got, other) {
		t.Errorf("got %+v %v", got, err)
	}
	// A new attempt may answer otherwise: its cases are made anew.
	again := answered(key("1"), "left", time.Second)
	again.Attempts = append(again.Attempts, again.Attempts[0])
	if err := s.PutTrial(bg, again); err != nil {
		t.Fatal(err)
	}
	if got := collect(t, s.Judgments(bg, "")); len(got) != 2 || got[0].Key != key("2") {
		t.Errorf("after a new attempt: %+v", got)
	}
}

// cached is a trial whose attempt has a cache state.
func cached(t results.Trial, c results.Cache) results.Trial {
	t.Attempts = slices.Clone(t.Attempts)
	t.Attempts[0].Cache = &c
	return t
}

// TestBrokenInvariantsPanic: what our own code must never do does not reach the file.
func TestBrokenInvariantsPanic(t *testing.T) {
	s := openStore(t)
	good := answered(key("1"), "x", time.Second)
	judgment := results.Judgment{Case: "sha256:1", Rubric: "r", Judge: "j", Status: results.StatusClean, Verdict: json.RawMessage("1")}
	for name, put := range map[string]func() error{
		"no attempts": func() error { return s.PutTrial(bg, results.Trial{Key: key("1")}) },
		"neither":     func() error { return s.PutTrial(bg, results.Trial{Key: key("1"), Attempts: []results.Attempt{{}}}) },
		"both": func() error {
			a := good.Attempts[0]
			a.Failure = &results.Failure{Kind: "stalled"}
			return s.PutTrial(bg, results.Trial{Key: key("1"), Attempts: []results.Attempt{a}})
		},
		"failure without a kind":    func() error { return s.PutTrial(bg, failed(key("1"), "")) },
		"an answer without a state": func() error { return s.PutTrial(bg, cached(good, results.Cache{Policy: results.PolicyCold})) },
		"a state that is none": func() error {
			return s.PutTrial(bg, cached(good, results.Cache{Policy: results.PolicyCold, Cache: backends.Cache{State: backends.CacheTimed}}))
		},
		"unverified without a reason": func() error {
			return s.PutTrial(bg, cached(good, results.Cache{Policy: results.PolicyWarm, Cache: backends.Cache{State: backends.CacheUnverified}}))
		},
		"a state without a policy": func() error {
			return s.PutTrial(bg, cached(good, results.Cache{Cache: backends.Cache{State: backends.CacheHit}}))
		},
		"no study":                   func() error { return s.PutTrial(bg, results.Trial{Key: results.Key{}, Attempts: good.Attempts}) },
		"verdict without a status":   func() error { j := judgment; j.Status = results.StatusParse; return s.PutJudgment(bg, j) },
		"status without a verdict":   func() error { j := judgment; j.Verdict = nil; return s.PutJudgment(bg, j) },
		"a verdict that is not JSON": func() error { j := judgment; j.Verdict = json.RawMessage("{"); return s.PutJudgment(bg, j) },
		"no case":                    func() error { j := judgment; j.Case = ""; return s.PutJudgment(bg, j) },
		"facts that are not JSON": func() error {
			return s.PutItems(bg, []results.Item{{Study: "s", ID: "1", Facts: json.RawMessage("x")}})
		},
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.HasPrefix(fmt.Sprint(p), "store: internal error: ") {
					t.Errorf("%s: got %v", name, p)
				}
			}()
			err := put()
			t.Errorf("%s: returned %v", name, err)
		}()
	}
	if n, err := s.Outcomes(bg); len(n) != 0 || err != nil {
		t.Errorf("stored all the same: %v %v", n, err)
	}
}

// TestManyWriters: goroutines write at once, and a reader sees whole trials meanwhile.
func TestManyWriters(t *testing.T) {
	s := openStore(t)
	const writers, each = 8, 25
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				tr := answered(key(fmt.Sprintf("%d-%02d", w, i)), fmt.Sprint(w, i), time.Second)
				if err := s.PutTrial(bg, tr); err != nil {
					t.Error(err)
				}
				if got, ok, err := s.Trial(bg, tr.Key); err != nil || !ok || !reflect.DeepEqual(got, tr) {
					t.Errorf("not there after PutTrial returned: %v %v", ok, err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(collect(t, s.Trials(bg, ""))); n != writers*each {
		t.Errorf("%d trials, want %d", n, writers*each)
	}
}

// TestOneBadOperationFailsAlone: operations that share a transaction do not share errors.
func TestOneBadOperationFailsAlone(t *testing.T) {
	s := openStore(t)
	started, release := make(chan struct{}), make(chan struct{})
	go s.file.Put(bg, "holding the writer", true, func(*Tx) error { close(started); <-release; return nil })
	<-started
	errs := make([]error, 6)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			if i == 3 {
				errs[i] = s.PutJudgment(bg, results.Judgment{Case: "sha256:none", Rubric: "r", Judge: "j", Status: results.StatusParse})
			} else {
				errs[i] = s.PutTrial(bg, answered(key(fmt.Sprint(i)), "x", time.Second))
			}
		})
	}
	close(release)
	wg.Wait()
	for i, err := range errs {
		if (err != nil) != (i == 3) {
			t.Errorf("operation %d: %v", i, err)
		}
	}
	if n := len(collect(t, s.Rows(bg, ""))); n != 5 {
		t.Errorf("%d trials, want 5", n)
	}
}

// TestEndedContext: nothing is queued for a caller that has gone.
func TestEndedContext(t *testing.T) {
	s := openStore(t)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if err := s.PutTrial(ctx, answered(key("1"), "x", time.Second)); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("got %v", err)
	}
	for _, err := range s.Rows(ctx, "") {
		if err == nil {
			t.Error("a row after the context ended")
		}
	}
	if n := len(collect(t, s.Rows(bg, ""))); n != 0 {
		t.Errorf("%d trials", n)
	}
}

// TestStopEarly: breaking out of a sequence leaves the store usable.
func TestStopEarly(t *testing.T) {
	s := openStore(t)
	for i := range 3 {
		if err := s.PutTrial(bg, answered(key(fmt.Sprint(i)), "x", time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		for tr, err := range s.Trials(bg, "") {
			if err != nil || tr.Key.Item != "0" {
				t.Fatal(tr.Key, err)
			}
			// Writing inside a sequence does not wait for it.
			if err := s.PutTrial(bg, tr); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
}

// TestViews: what a person sees in a plain sqlite3, with unknown as NULL.
func TestViews(t *testing.T) {
	s := openStore(t)
	for i, ms := range []int{100, 400, 200} {
		if err := s.PutTrial(bg, answered(key(fmt.Sprint(i)), "left", time.Duration(ms)*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	unknown := results.Trial{Key: key("3"), Attempts: []results.Attempt{{Output: &results.Output{Answer: "from elsewhere"}}}}
	if err := s.PutTrial(bg, unknown); err != nil {
		t.Fatal(err)
	}
	if err := s.PutTrial(bg, failed(key("4"), "stalled")); err != nil {
		t.Fatal(err)
	}
	// Its first time was a hit, its second too: neither is averaged in.
	hit := cached(answered(key("5"), "left", 9*time.Second), results.Cache{Policy: results.PolicyCold, Nonces: []backends.Nonce{backends.NonceOf("a")},
		Cache: backends.Cache{State: backends.CacheHit, Field: "timings.cache_n", Value: "77"}})
	hit.Attempts[0].Flags = []results.Flag{results.FlagCacheHit, results.FlagSamplerGap}
	hit.Attempts[0].Turns[0].Trace.FirstTokens, hit.Attempts[0].Turns[0].Trace.Chunks[0].Shared = ptr(3), true
	hit.Attempts = append(hit.Attempts, hit.Attempts[0])
	if err := s.PutTrial(bg, hit); err != nil {
		t.Fatal(err)
	}
	for i, verdict := range []string{`{"verdict":"correct"}`, `{"verdict":"no_answer"}`, `{"verdict":"correct"}`, ""} {
		c := results.Case{Digest: results.DigestOf([]byte{byte(i)}), Rubric: "accuracy", Fields: json.RawMessage("{}")}
		if err := s.PutCase(bg, key(fmt.Sprint(i)), c); err != nil {
			t.Fatal(err)
		}
		j := results.Judgment{Case: c.Digest, Rubric: "accuracy", Judge: "lexical", Status: results.StatusClean, Verdict: json.RawMessage(verdict)}
		if verdict == "" {
			j.Status, j.Verdict = results.StatusParse, nil
		}
		if err := s.PutJudgment(bg, j); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]string{
		"SELECT answer, ttft_ms, latency_ms, decode_ms, completion_tokens, started_utc FROM v_trials WHERE item = '1'": "left|200|400|200|11|2026-01-02T03:04:05Z",
		"SELECT answer, ttft_ms, latency_ms, prompt_tokens, started_utc FROM v_trials WHERE item = '3'":                "from elsewhere||||",
		"SELECT outcome, failure_kind, answer, latency_ms FROM v_trials WHERE item = '4'":                              "failure|stalled||",
		"SELECT count(*) FROM v_trials": "6",
		"SELECT cache_policy, cache_state, cache_field, cache_value, cache_reason, invalid_attempts FROM v_trials WHERE item = '5'": `cold|hit|timings.cache_n|77||[["cache_hit"],["cache_hit"]]`,
		"SELECT cache_policy, cache_state, cache_field, invalid_attempts FROM v_trials WHERE item = '1'":                            "|||",
		"SELECT ttft_ms, latency_ms, upload_ms, tokens_per_s, counts, turn FROM v_turns WHERE item = '0'":                           "50|100|||1|1", // 11 tokens in two chunks
		"SELECT first_tokens, tokens_per_s, ttft_at_most, latency_at_most FROM v_turns WHERE item = '5' AND counts":                 "3|1.78|1|0",   // (11 - 3) / 4.5 s
		"SELECT first_tokens, ttft_at_most, latency_at_most FROM v_trials WHERE item IN ('1', '4', '5') ORDER BY item":              "|0|0\n||\n3|1|0",
		"SELECT answers, without_latency, mean_latency_ms, median_latency_ms, max_latency_ms FROM v_latency":                        "5|2|233.333|200|400",
		"SELECT item, failure_kind, http_status, failure_message, failure_partial, counts FROM v_failures":                          "4|stalled|500|why|ha|1",
		"SELECT item, status, verdict FROM v_judgments WHERE item IN ('1', '3') ORDER BY item":                                      `1|clean|{"verdict":"no_answer"}` + "\n3|parse|",
		"SELECT model, arm, judge, judged, correct, accuracy_percent, without_verdict FROM v_accuracy":                              "m|direct|lexical|3|2|66.67|1",
	} {
		if got := plain(t, s, query); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", query, got, want)
		}
	}
}

// plain prints a result as sqlite3 would: columns by |, NULL as nothing.
func plain(t *testing.T, s *Store, query string) string {
	t.Helper()
	var of *results.Trouble
	errors.As(s.file.Fail("looking", io.EOF), &of)
	db, err := sql.Open("sqlite3", URI(of.Path, VFS(), "mode=ro"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	names, _ := rows.Columns()
	var lines []string
	for rows.Next() {
		cells := make([]any, len(names))
		for i := range cells {
			cells[i] = new(any)
		}
		if err := rows.Scan(cells...); err != nil {
			t.Fatal(err)
		}
		var line []string
		for _, c := range cells {
			if v := *c.(*any); v == nil {
				line = append(line, "")
			} else {
				line = append(line, fmt.Sprint(v))
			}
		}
		lines = append(lines, strings.Join(line, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// TestOrderIsFree: sequences come out of the file in order, without sorting a
// million rows first.
func TestOrderIsFree(t *testing.T) {
	s := openStore(t)
	for name, query := range map[string]string{
		"Rows":   "SELECT " + keyColumns + " FROM trial t WHERE t.study = 'a' ORDER BY " + keyColumns,
		"Trials": "SELECT " + keyColumns + ", " + turnColumns + trialTables + " WHERE t.study = 'a' ORDER BY " + keyColumns + ", a.n, u.n",
		"all":    "SELECT " + keyColumns + ", " + turnColumns + trialTables + " ORDER BY " + keyColumns + ", a.n, u.n",
	} {
		if got := plain(t, s, "EXPLAIN QUERY PLAN "+query); strings.Contains(got, "TEMP B-TREE") || got == "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Every field of a key tells trials apart.
func TestTrialsAreKnownByTheirWholeKey(t *testing.T) {
	st := openStore(t)
	base := results.Key{Study: "s", Model: "m", Item: "i", Arm: "a", Condition: "c"}
	keys := []results.Key{base, base, base, base, base, base, base}
	keys[1].Repeat, keys[2].Repeat = 1, 2
	keys[3].Condition, keys[4].Arm, keys[5].Item, keys[6].Model = "d", "b", "j", "n"
	for i, k := range keys {
		if err := st.PutTrial(t.Context(), answered(k, string(rune('A'+i)), time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	for i, k := range keys {
		got, ok, err := st.Trial(t.Context(), k)
		if err != nil || !ok || got.Key != k || got.Attempts[0].Output.Answer != string(rune('A'+i)) {
			t.Errorf("trial %+v: %+v, %v, %v", k, got, ok, err)
		}
	}
}

// checkItems reads items in the order of their first trials, which is that of the file.
func checkItems(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *Store, study string, want map[[2]string][]results.JudgedRow,
) {
	t.Helper()
	models := map[string]bool{}
	for of := range want {
		models[of[0]] = true
	}
	seen := 0
	for model := range models {
		places, err := s.Places(bg, study, model)
		if err != nil || !slices.IsSortedFunc(places, func(a, b place) int { return cmp.Compare(a.Item, b.Item) }) {
			t.Fatalf("%v, %v", places, err)
		}
		slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.First, b.First) })
		next := 0
		for got, err := range s.JudgedItems(bg, study, model, true, func(yield func(string) bool) {
			for _, p := range places {
				if !yield(p.Item) {
					return
				}
			}
		}) {
			if err != nil {
				t.Fatalf("%v", err)
			}
			p := places[next]
			first := slices.MinFunc(got, func(a, b results.JudgedRow) int { return cmp.Compare(a.ID, b.ID) }).ID
			if !reflect.DeepEqual(got, want[[2]string{model, p.Item}]) || len(got) != p.Trials || first != p.First {
				t.Fatalf("%+v: %+v, want %+v", p, got, want[[2]string{model, p.Item}])
			}
			next++
			seen++
		}
	}
	if seen != len(want) {
		t.Fatalf("%d of %d items", seen, len(want))
	}
}
