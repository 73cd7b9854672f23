package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/results"
	"assay/timing"
)

var (
	origin = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	judge  = results.VersionOf("accuracy", "lexical", map[string]string{"kind": "lexical"})
	about  = backends.Identity{Server: "ollama", Version: "1", Model: "m", Weights: "w"}
)

func manifest() results.Manifest {
	return results.Manifest{Name: "made", Created: origin, Seed: 7, Digest: "c", Settings: map[string]string{"studies.cot.arms": "cot"},
		Datasets: []results.DatasetInfo{{Name: "d", Kind: "jsonl", Digest: "x"}}, Prompts: map[string]results.Digest{"cot.cot": "p"},
		Host: map[string]string{"cpu": "one"}, Models: map[string]backends.Identity{"m0": about}}
}

// trial is one whose answer, time and failures follow from its number.
func trial(i, variant int) results.Trial {
	k := results.Key{Study: "cot", Model: fmt.Sprint("m", i%2), Item: fmt.Sprintf("item%02d", i/2), Arm: "cot", Condition: "baseline"}
	answer := func(at time.Duration, flags ...results.Flag) results.Attempt {
		rec := timing.NewRecorder(timing.NewClock())
		rec.MarkAt(timing.Start, time.Second)
		rec.Chunks([]timing.Chunk{{At: time.Second + at, Runes: 4, Answer: true}}, timing.StampsKernel)
		rec.MarkAt(timing.End, time.Second+at)
		turn := results.Turn{Trace: rec.Trace(), Answer: fmt.Sprint("answer ", i), Finish: backends.FinishStop}
		return results.Attempt{Started: origin.Add(time.Duration(i) * time.Second), Flags: flags, Served: results.ServedBy(about), Turns: []results.Turn{turn},
			Output: &results.Output{Answer: turn.Answer, Finish: backends.FinishStop}}
	}
	failed := results.Attempt{Started: origin, Failure: &results.Failure{Kind: "stalled", Message: "no"}}
	tr := results.Trial{Key: k, Inputs: "in"}
	switch variant {
	case 0:
		tr.Attempts = []results.Attempt{answer(time.Second)}
	case 1:
		tr.Attempts = []results.Attempt{failed, answer(2 * time.Second)}
	case 2:
		tr.Attempts = []results.Attempt{answer(3*time.Second, results.FlagThrottled)}
	default:
		tr.Attempts = []results.Attempt{failed}
	}
	return tr
}

const mergeTrials, items = 12, 6

// stored is what a store is to hold.
type stored struct {
	trials   []int
	variant  func(i int) int
	judged   func(i int) bool // of a case; nil: there are no cases yet
	sessions []int
}

func write(t testing.TB, path string, p stored) {
	t.Helper()
	ctx := context.Background()
	st, err := Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(st.PutManifest(ctx, manifest()))
	must(st.PutVersions(ctx, []results.Version{judge}, nil))
	must(st.PutServed(ctx, about))
	var all []results.Item
	for i := range items {
		all = append(all, results.Item{Study: "cot", ID: fmt.Sprintf("item%02d", (i*5)%items), Type: "single"}) // not by name
	}
	must(st.PutItems(ctx, all))
	for _, n := range p.sessions {
		ses := results.Session{Origin: origin.Add(time.Duration(n) * time.Hour), Hz: 20, Places: map[string]results.Place{}, Host: &results.Host{Name: fmt.Sprint("box", n)}}
		must(st.PutSession(ctx, &ses))
		must(st.PutEvent(ctx, results.Event{Session: ses.ID, At: ses.Origin, Kind: results.EventStarted, Subject: "server", Text: fmt.Sprint(n)}))
	}
	for _, i := range p.trials {
		tr := trial(i, p.variant(i))
		must(st.PutTrial(ctx, tr))
		if p.judged == nil {
			continue
		}
		c := results.Case{Digest: results.DigestOf(fmt.Append(nil, i/3)), Rubric: "accuracy", Fields: []byte(`{}`)} // several trials share one
		must(st.PutCase(ctx, tr.Key, c))
		if p.judged(i / 3) {
			must(st.PutJudgment(ctx, results.Judgment{Case: c.Digest, Rubric: "accuracy", Judge: "lexical", By: judge.Digest, Status: results.StatusClean, Verdict: []byte(`{"verdict":"correct"}`)}))
		}
	}
	must(st.Close())
}

// held is all that a store holds, without the numbers of its rows.
func held(t testing.TB, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", URI(abs, VFS(), "mode=ro"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var b strings.Builder
	for _, q := range []string{
		"SELECT manifest FROM run",
		"SELECT study, id, type, facts FROM item ORDER BY seq",
		"SELECT origin_ns, hz, places, host FROM session ORDER BY id",
		"SELECT s.origin_ns, e.at_ns, e.kind, e.subject, e.text FROM event e LEFT JOIN session s ON s.id = e.session ORDER BY e.id",
		"SELECT study, model, item, arm, condition, repeat, inputs, attempts, outcome, latency_ns, flags FROM trial ORDER BY 1, 2, 3, 4, 5, 6",
		"SELECT t.model, t.item, a.n, a.outcome, a.flags, s.digest, e.origin_ns, u.n, u.answer, u.trace FROM trial t JOIN attempt a ON a.trial = t.id LEFT JOIN served s ON s.id = a.served LEFT JOIN session e ON e.id = a.session LEFT JOIN turn u ON u.attempt = a.id ORDER BY 1, 2, 3, u.n",
		"SELECT t.model, t.item, c.digest, c.rubric FROM case_of o JOIN trial t ON t.id = o.trial JOIN cases c ON c.id = o.case_id ORDER BY 1, 2, 3",
		"SELECT c.digest, v.rubric, v.judge, v.digest, v.current, j.repeat, j.status, j.verdict FROM judgment j JOIN cases c ON c.id = j.case_id JOIN judge_version v ON v.id = j.version ORDER BY 1, 2, 3, 4, 6",
	} {
		rows, err := db.Query(q)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		columns, _ := rows.Columns()
		values := make([]any, len(columns))
		dest := make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		for rows.Next() {
			if err := rows.Scan(dest...); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%v\n", values)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
		b.WriteString("--\n")
	}
	return b.String()
}

func upTo(n int) []int {
	var all []int
	for i := range n {
		all = append(all, i)
	}
	return all
}

func merged(t testing.TB, out string, in ...string) Merged {
	t.Helper()
	m, err := Stores(context.Background(), out, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Any partition of a store, in any order, any part given again, is the store.
// ASSAY_SLOW=1 draws 500 partitions.
func TestPartsMakeTheWhole(t *testing.T) {
	dir := t.TempDir()
	variant := func(i int) int { return i % 4 }
	judged := func(c int) bool { return c != 1 }
	whole := filepath.Join(dir, "whole.sqlite")
	write(t, whole, stored{upTo(mergeTrials), variant, judged, []int{0, 1}})
	want := held(t, whole)
	rounds := 12
	if os.Getenv("ASSAY_SLOW") != "" {
		rounds = 500
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 1))
		parts := make([][]int, 1+r.IntN(4))
		for i := range mergeTrials {
			at := r.IntN(len(parts))
			parts[at] = append(parts[at], i)
			if other := r.IntN(len(parts)); other != at && r.IntN(3) == 0 {
				parts[other] = append(parts[other], i) // a copy
			}
		}
		sub := filepath.Join(dir, fmt.Sprint(seed))
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		var paths []string
		for i, p := range parts {
			path := filepath.Join(sub, fmt.Sprint(i, ".sqlite"))
			write(t, path, stored{p, variant, judged, []int{0, 1}})
			paths = append(paths, path)
		}
		for range r.IntN(3) {
			paths = append(paths, paths[r.IntN(len(paths))])
		}
		r.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
		out := filepath.Join(sub, "out.sqlite")
		cut := r.IntN(len(paths)) // in two steps
		if cut > 0 {
			merged(t, out, paths[:cut]...)
		}
		if m := merged(t, out, paths[cut:]...); m.Aside != 0 || m.Trials != mergeTrials {
			t.Fatalf("partition %d: %+v", seed, m)
		}
		if got := held(t, out); got != want {
			t.Fatalf("partition %d, merged:\n%s\nwhole:\n%s", seed, got, want)
		}
		merged(t, out, paths...)
		if got := held(t, out); got != want {
			t.Fatalf("partition %d: merging again changed it", seed)
		}
		os.RemoveAll(sub)
	}
}

// Of trials that differ the same is taken in every order, and the others are kept.
func TestWhichTrialIsTaken(t *testing.T) {
	dir := t.TempDir()
	never := func(int) bool { return false }
	var paths []string
	for v := range 4 {
		path := filepath.Join(dir, fmt.Sprint(v, ".sqlite"))
		write(t, path, stored{[]int{0}, func(int) int { return v }, never, []int{0}})
		paths = append(paths, path)
	}
	read := func(path string, i int) results.Attempt {
		st, err := OpenReader(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		tr, ok, err := st.Trial(context.Background(), trial(i, 0).Key)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		last, _ := tr.Last()
		return last
	}
	for _, c := range []struct {
		worse, better int
		want          func(results.Attempt) bool
		what, why     string
	}{
		{3, 2, func(a results.Attempt) bool { return a.Output != nil }, "an answer before a failure", "it is a failure, and another store has an answer"},
		{2, 1, func(a results.Attempt) bool { return len(a.Flags) == 0 }, "a time that counts before one that does not", "its time does not count, and that in another store does"},
	} {
		all := []int{0, 2, 4, 6, 8, 10} // one alone might be taken for its digest
		in := []string{filepath.Join(dir, "worse.sqlite"), filepath.Join(dir, "better.sqlite")}
		for i, v := range []int{c.worse, c.better} {
			os.Remove(in[i])
			write(t, in[i], stored{all, func(int) int { return v }, never, []int{0}})
		}
		for _, turned := range []bool{false, true} {
			if turned {
				slices.Reverse(in)
			}
			out := filepath.Join(dir, fmt.Sprint(c.worse, turned, ".sqlite"))
			if m := merged(t, out, in...); m.Aside != len(all) || m.Examples[0] != "trial cot/m0/item00/cot/baseline: "+c.why {
				t.Errorf("%s: set aside %+v", c.what, m)
			}
			for _, i := range all {
				if a := read(out, i); !c.want(a) {
					t.Errorf("%s (turned %v): took %+v", c.what, turned, a)
				}
			}
		}
	}
	// In any order and grouping the store is the same, with those that were not taken.
	var want string
	for i, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 3, 0, 2}} {
		out := filepath.Join(dir, fmt.Sprint("all", i, ".sqlite"))
		var m Merged
		for _, v := range order {
			m = merged(t, out, paths[v])
		}
		if m.Aside != 3 {
			t.Errorf("order %v: %d set aside, want 3", order, m.Aside)
		}
		got := held(t, out)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("order %v gives another store:\n%s\nnot\n%s", order, got, want)
		}
	}
}

// openMerge is a store that is read.
func openMerge(t *testing.T, path string) *Store {
	t.Helper()
	st, err := OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// TestAllThatIsSetAsideIsCounted: 25 trials of which a failure is not taken. As many are counted,
// some are named, and each is kept at the time when it was tried last.
func TestAllThatIsSetAsideIsCounted(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.sqlite"), filepath.Join(dir, "b.sqlite")
	retried := func(st *Store, i int) {
		tr := trial(i, 3)
		again := tr.Attempts[0]
		again.Started = origin.Add(time.Duration(100+i) * time.Second)
		tr.Attempts = append(tr.Attempts, again)
		if err := st.PutTrial(t.Context(), tr); err != nil {
			t.Fatal(err)
		}
	}
	write(t, a, stored{upTo(25), func(int) int { return 0 }, nil, nil})
	write(t, b, stored{})
	st, err := Open(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 25 {
		retried(st, i)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, "base.sqlite")
	write(t, base, stored{})
	for what, m := range map[string]Merged{"merged": merged(t, filepath.Join(dir, "out.sqlite"), a, b), "added": added(t, base, a, b)} {
		if m.Aside != 25 || len(m.Examples) != 20 || m.Examples[0] == m.Examples[1] {
			t.Errorf("%s: %d set aside, want 25; %d examples: %q", what, m.Aside, len(m.Examples), m.Examples)
		}
		events, err := openMerge(t, m.To).Events(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var at []time.Time
		for _, e := range events {
			if e.Kind == SetAside {
				at = append(at, e.At)
			}
		}
		for i, got := range at {
			if want := origin.Add(time.Duration(100+i) * time.Second); !got.Equal(want) {
				t.Errorf("%s: event %d is of %v, want %v", what, i, got, want)
			}
		}
		if len(at) != 25 {
			t.Errorf("%s: %d events", what, len(at))
		}
	}
}

// TestTheLongerSessionIsTaken: a store that was copied while a session went on has fewer samples of it.
func TestTheLongerSessionIsTaken(t *testing.T) {
	dir := t.TempDir()
	var in []string
	for n := range 3 { // whose session has one, two and three bundles
		path := filepath.Join(dir, fmt.Sprint(n, ".sqlite"))
		write(t, path, stored{trials: []int{0}, variant: func(int) int { return 0 }})
		st, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		ses := results.Session{Origin: origin, Hz: 20, Places: map[string]results.Place{}, Devices: []results.Watched{{Source: "nvml", ID: "A", Name: "H100", Kind: "gpu"}}}
		if err := st.PutSession(t.Context(), &ses); err != nil {
			t.Fatal(err)
		}
		var bundles []results.SampleBundle
		for i := range n + 1 {
			bundles = append(bundles, results.SampleBundle{From: time.Duration(i) * time.Second, To: time.Duration(i+1) * time.Second, N: 20, Bytes: []byte{1}})
		}
		if err := errors.Join(st.PutSampleBundles(t.Context(), ses.ID, 0, bundles), st.Close()); err != nil {
			t.Fatal(err)
		}
		in = append(in, path)
	}
	for i, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		out, base := filepath.Join(dir, fmt.Sprint("out", i, ".sqlite")), filepath.Join(dir, fmt.Sprint("base", i, ".sqlite"))
		write(t, base, stored{})
		var paths []string
		for _, n := range order {
			paths = append(paths, in[n])
		}
		for what, m := range map[string]Merged{"merged": merged(t, out, paths...), "added": added(t, base, paths...)} {
			if m.Sessions != 1 {
				t.Errorf("%s: %d sessions", what, m.Sessions)
			}
			bundles := 0
			for _, err := range openMerge(t, m.To).SampleBundles(t.Context(), 1, 0) {
				if err != nil {
					t.Fatal(err)
				}
				bundles++
			}
			if bundles != 3 {
				t.Errorf("%s in the order %v: %d bundles of samples, want 3", what, order, bundles)
			}
		}
	}
}

// TestAVerdictIsTakenBeforeNone: of six cases, as one alone might be taken for its digest.
func TestAVerdictIsTakenBeforeNone(t *testing.T) {
	dir := t.TempDir()
	all := []int{0, 3, 6, 9, 12, 15}
	in := []string{filepath.Join(dir, "none.sqlite"), filepath.Join(dir, "verdict.sqlite")}
	for i, judged := range []bool{false, true} {
		write(t, in[i], stored{all, func(int) int { return 0 }, func(int) bool { return judged }, nil})
	}
	st, err := Open(t.Context(), in[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		failed := results.Judgment{Case: results.DigestOf(fmt.Append(nil, i/3)), Rubric: "accuracy", Judge: "lexical", By: judge.Digest, Status: results.StatusParse, Detail: "no JSON"}
		if err := st.PutJudgment(t.Context(), failed); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		slices.Reverse(in)
		base := filepath.Join(dir, "base"+filepath.Base(in[0]))
		write(t, base, stored{})
		for what, m := range map[string]Merged{"merged": merged(t, filepath.Join(dir, "out"+filepath.Base(in[0])), in...), "added": added(t, base, in...)} {
			verdicts := 0
			for j, err := range openMerge(t, m.To).Judgments(t.Context(), "cot") {
				if err != nil {
					t.Fatal(err)
				}
				if j.Verdict != nil {
					verdicts++
				}
			}
			if verdicts != len(all) || m.Aside != len(all) {
				t.Errorf("%s, %s first: %d verdicts and %d set aside, want %d", what, filepath.Base(in[0]), verdicts, m.Aside, len(all))
			}
		}
	}
}

// TestItemsOfOtherFactsAreRefused: two stores whose item of one name is not the same question.
func TestItemsOfOtherFactsAreRefused(t *testing.T) {
	dir := t.TempDir()
	a, b, out := filepath.Join(dir, "a.sqlite"), filepath.Join(dir, "b.sqlite"), filepath.Join(dir, "out.sqlite")
	for path, kind := range map[string]string{a: "single", b: "multi"} {
		write(t, path, stored{trials: []int{0}, variant: func(int) int { return 0 }})
		st, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(st.PutItems(t.Context(), []results.Item{{Study: "cot", ID: "more", Type: kind}}), st.Close()); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Stores(t.Context(), out, []string{a, b}, nil)
	if err == nil || !strings.Contains(err.Error(), "b.sqlite: item more of study cot has other facts than in another store") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("%s was made: %v", out, err)
	}
}

// TestEventsDoNotDependOnTheOrder: two events alike but for when they were.
func TestEventsDoNotDependOnTheOrder(t *testing.T) {
	dir := t.TempDir()
	var in []string
	for n := range 2 {
		path := filepath.Join(dir, fmt.Sprint(n, ".sqlite"))
		write(t, path, stored{trials: []int{n}, variant: func(int) int { return 0 }})
		st, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(st.PutEvent(t.Context(), results.Event{At: origin.Add(time.Duration(n) * time.Hour), Kind: results.EventStarted, Subject: "server", Text: "up"}), st.Close()); err != nil {
			t.Fatal(err)
		}
		in = append(in, path)
	}
	one, other := filepath.Join(dir, "one.sqlite"), filepath.Join(dir, "other.sqlite")
	merged(t, one, in[0], in[1])
	merged(t, other, in[1], in[0])
	if a, b := held(t, one), held(t, other); a != b {
		t.Errorf("one:\n%s\nother:\n%s", a, b)
	}
}

// A judgment that only one copy of a trial has comes along.
func TestJudgmentsOfACopyComeAlong(t *testing.T) {
	dir := t.TempDir()
	a, b, out := filepath.Join(dir, "a.sqlite"), filepath.Join(dir, "b.sqlite"), filepath.Join(dir, "out.sqlite")
	first := func(int) int { return 0 }
	write(t, a, stored{[]int{0, 1}, first, nil, nil})
	write(t, b, stored{[]int{0, 1}, first, func(int) bool { return true }, nil})
	if m := merged(t, out, a, b); m.Trials != 2 || m.Judgments != 1 || m.Aside != 0 {
		t.Errorf("%+v", m)
	}
	if held(t, out) != held(t, b) {
		t.Errorf("got\n%s\nwant\n%s", held(t, out), held(t, b))
	}
}

func TestStoresOfOtherRunsAreRefused(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	a, b, out := filepath.Join(dir, "a.sqlite"), filepath.Join(dir, "b.sqlite"), filepath.Join(dir, "out.sqlite")
	p := stored{[]int{0}, func(int) int { return 0 }, func(int) bool { return true }, []int{0}}
	write(t, a, p)
	for what, change := range map[string]func(*results.Manifest){
		"seed: 7 and 8":                    func(m *results.Manifest) { m.Seed = 8 },
		"studies.cot.arms: cot and direct": func(m *results.Manifest) { m.Settings = map[string]string{"studies.cot.arms": "direct"} },
		"datasets.d (content): x and y":    func(m *results.Manifest) { m.Datasets = []results.DatasetInfo{{Name: "d", Kind: "jsonl", Digest: "y"}} },
		"prompts.cot.cot (text): p and q":  func(m *results.Manifest) { m.Prompts = map[string]results.Digest{"cot.cot": "q"} },
		`model m0: weights was "w", is "v"`: func(m *results.Manifest) {
			other := about
			other.Weights = "v"
			m.Models = map[string]backends.Identity{"m0": other}
		},
	} {
		os.Remove(b)
		write(t, b, p)
		st, err := Open(ctx, b)
		if err != nil {
			t.Fatal(err)
		}
		m := manifest()
		change(&m)
		if err := errors.Join(st.PutManifest(ctx, m), st.Close()); err != nil {
			t.Fatal(err)
		}
		var differ *DiffersError
		if _, err := Stores(ctx, out, []string{a, b}, nil); !errors.As(err, &differ) || !slices.Contains(differ.Differences, what) {
			t.Errorf("want %q, got %v", what, err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: a store was made", what)
		}
	}
}

// Files of answers that were made elsewhere are named once, whichever store is first.
func TestImportsOfBothAreKept(t *testing.T) {
	imports := []results.Import{{Model: "a", Study: "cot", File: "a.tsv", Digest: "1", Answers: 3}, {Model: "b", Study: "cot", File: "b.tsv", Digest: "2", Failures: 1}, {Model: "b", Study: "cot", File: "c.tsv", Digest: "3"}}
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		dir := t.TempDir()
		var paths []string
		for n, list := range [][]results.Import{{imports[0], imports[2]}, {imports[1], imports[0]}} {
			path := filepath.Join(dir, fmt.Sprint(n, ".sqlite"))
			write(t, path, stored{[]int{n}, func(int) int { return 0 }, func(int) bool { return false }, nil})
			st, err := Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			m := manifest()
			m.Imported = list
			if err := errors.Join(st.PutManifest(t.Context(), m), st.Close()); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
		out := filepath.Join(dir, "out.sqlite")
		merged(t, out, paths[order[0]], paths[order[1]])
		st, err := OpenReader(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := st.Manifest(t.Context())
		if err := errors.Join(err, st.Close()); err != nil || !slices.Equal(m.Imported, imports) {
			t.Errorf("%v: %+v, %v", order, m.Imported, err)
		}
	}
}

// What people rated is kept of both stores, whichever is first and however often they are
// joined: one of the two was dropped without a word.
func TestRatingsOfBothAreKept(t *testing.T) {
	draw := func(study string, day int) results.Draw {
		return results.Draw{Study: study, By: "none", Seed: 1, Made: origin.AddDate(0, 0, day), Strata: []results.Stratum{{Name: "all", Items: 6, Drawn: 2}}, Cases: []results.Drawn{{Case: fmt.Sprint(study, day)}}}
	}
	label := func(c string, score float64, raters int) results.Label {
		return results.Label{Case: c, Axis: "accuracy", Score: score, Raters: raters}
	}
	people := []*results.People{
		{Draws: []results.Draw{draw("diagnosis", 3), draw("cot", 1)}, Splits: map[string]results.Split{"cot": {Seed: 1, Parts: map[string]string{"x": "dev"}}},
			Labels: map[string][]results.Label{"cot": {label("b", 0.5, 2), label("c", 1, 1)}}},
		{Draws: []results.Draw{draw("cot", 1), draw("cot", 2)}, Labels: map[string][]results.Label{"cot": {label("a", 0, 1), label("b", 0.25, 1)}, "diagnosis": {label("d", 1, 1)}}},
		nil,
	}
	want := &results.People{Draws: []results.Draw{draw("cot", 1), draw("cot", 2), draw("diagnosis", 3)}, Splits: people[0].Splits,
		Labels: map[string][]results.Label{"cot": {label("a", 0, 1), label("b", 0.5, 2), label("c", 1, 1)}, "diagnosis": {label("d", 1, 1)}}}
	for _, order := range [][]int{{0, 1}, {2, 1, 0, 1}} {
		dir := t.TempDir()
		out := filepath.Join(dir, "out.sqlite")
		for n, i := range order {
			path := filepath.Join(dir, fmt.Sprint(n, ".sqlite"))
			write(t, path, stored{[]int{n}, func(int) int { return 0 }, nil, nil})
			st, err := Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			m := manifest()
			m.People = people[i]
			if err := errors.Join(st.PutManifest(t.Context(), m), st.Close()); err != nil {
				t.Fatal(err)
			}
			merged(t, out, path)
		}
		st, err := OpenReader(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := st.Manifest(t.Context())
		if err := errors.Join(err, st.Close()); err != nil || !reflect.DeepEqual(m.People, want) {
			t.Errorf("%v: %+v, %v", order, m.People, err)
		}
	}
}

// A merge that is stopped leaves the store as it was, and another one goes through.
func TestAStoppedMergeLeavesTheStore(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.sqlite"), filepath.Join(dir, "b.sqlite")
	first := func(int) int { return 0 }
	judged := func(int) bool { return true }
	write(t, a, stored{[]int{0, 1}, first, judged, []int{0}})
	write(t, b, stored{upTo(mergeTrials), first, judged, []int{0}})
	was := held(t, a)
	ctx, stop := context.WithCancel(context.Background())
	_, err := Stores(ctx, a, []string{b}, func(int) { stop() })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if held(t, a) != was {
		t.Error("the store changed")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.merging*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	// What a kill leaves is taken away.
	if err := os.WriteFile(a+".merging", []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if m := merged(t, a, b); m.Trials != mergeTrials {
		t.Errorf("%+v", m)
	}
}

// added adds stores one after the other to a copy of what has no trials.
func added(t testing.TB, out string, in ...string) Merged {
	t.Helper()
	a, err := Extend(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range in {
		if a.Has(path) {
			continue
		}
		if err := a.Add(t.Context(), path, path); err != nil {
			t.Fatal(err)
		}
	}
	m, err := a.Close(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAStoreWithoutARunTakesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty.sqlite")
	st, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // and nothing is left open
		if _, err := Extend(t.Context(), path); err == nil || !strings.Contains(err.Error(), "no run was begun in it") {
			t.Fatalf("error %v", err)
		}
	}
}

// impatient is a context that ends when it was looked at n times.
type impatient struct {
	context.Context
	n *int
}

func (c impatient) Err() error {
	if *c.n--; *c.n < 0 {
		return context.Canceled
	}
	return nil
}

func (c impatient) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// Whenever it is interrupted, an adder holds whole stores, says how much that is, and goes on.
func TestAddingIsNotInterruptedWithinAStore(t *testing.T) {
	dir := t.TempDir()
	base, a := filepath.Join(dir, "base.sqlite"), filepath.Join(dir, "a.sqlite")
	write(t, base, stored{})
	write(t, a, stored{upTo(mergeTrials), func(int) int { return 0 }, func(int) bool { return true }, []int{0}})
	to, err := Extend(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	if err := to.Add(impatient{t.Context(), &looks}, "a", a); !errors.Is(err, context.Canceled) || to.Has("a") {
		t.Errorf("interrupted before: %v", err)
	}
	looks = 1
	if err := to.Add(impatient{t.Context(), &looks}, "a", a); err != nil {
		t.Errorf("interrupted later: %v", err)
	}
	if m, err := to.Close(t.Context()); err != nil || m.Trials != mergeTrials || !to.Has("a") {
		t.Errorf("%+v, %v", m, err)
	}
}

// unordered is what a store holds without the order of what no command reads in order.
func unordered(held string) string {
	lines := strings.Split(held, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Stores that are added one after the other, in two goes, with trials that several hold
// and that differ, make what merging all of them at once makes.
// ASSAY_SLOW=1 draws 300 times.
func TestAddingMakesWhatMergingMakes(t *testing.T) {
	dir := t.TempDir()
	rounds := 5
	if os.Getenv("ASSAY_SLOW") != "" {
		rounds = 300
	}
	replaced, aside := 0, 0
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 2))
		sub := filepath.Join(dir, fmt.Sprint(seed))
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		base := filepath.Join(sub, "base.sqlite")
		write(t, base, stored{})
		var paths []string
		for i := range 2 + r.IntN(3) {
			var some []int
			for n := range mergeTrials {
				if r.IntN(2) == 0 {
					some = append(some, n)
				}
			}
			variants, verdicts := r.Perm(4), r.Perm(4)
			path := filepath.Join(sub, fmt.Sprint(i, ".sqlite"))
			write(t, path, stored{some, func(n int) int { return variants[n%4] }, func(c int) bool { return verdicts[c] > 1 }, []int{i % 2, 2 + i}})
			paths = append(paths, path)
		}
		want, out := filepath.Join(sub, "want.sqlite"), filepath.Join(sub, "out.sqlite")
		all := merged(t, want, append([]string{base}, paths...)...)
		whole, err := os.ReadFile(base)
		if err == nil {
			err = os.WriteFile(out, whole, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		cut := r.IntN(len(paths))
		first := added(t, out, paths[:cut]...)
		m := added(t, out, paths...)
		if m.Trials != all.Trials || m.Judgments != all.Judgments || m.Sessions != all.Sessions {
			t.Fatalf("seed %d: added %+v, merged %+v", seed, m, all)
		}
		content := func(path string) string { // what was set aside tells of the order
			var lines []string
			for line := range strings.Lines(held(t, path)) {
				if !strings.Contains(line, string(SetAside)) {
					lines = append(lines, line)
				}
			}
			return unordered(strings.Join(lines, ""))
		}
		if got := content(out); got != content(want) {
			t.Fatalf("seed %d: added:\n%s\nmerged:\n%s", seed, got, content(want))
		}
		if aside += m.Aside; m.Aside < all.Aside {
			t.Errorf("seed %d: %d set aside, merging sets %d aside", seed, m.Aside, all.Aside)
		}
		if first.Trials < m.Trials {
			replaced++
		}
		os.RemoveAll(sub)
	}
	if replaced == 0 || aside == 0 {
		t.Errorf("%d rounds in which something came later, %d set aside: the rounds test nothing", replaced, aside)
	}
}

// TestWhatAJudgeWasIsKept: one of two stores does not know it, whichever comes first.
func TestWhatAJudgeWasIsKept(t *testing.T) {
	dir := t.TempDir()
	knows, not := filepath.Join(dir, "knows.sqlite"), filepath.Join(dir, "not.sqlite")
	write(t, knows, stored{[]int{0}, func(int) int { return 0 }, func(int) bool { return true }, nil})
	st, err := Open(t.Context(), not)
	if err != nil {
		t.Fatal(err)
	}
	tr := trial(6, 0)
	c := results.Case{Digest: results.DigestOf([]byte("another")), Rubric: "accuracy", Fields: []byte(`{}`)}
	if err := errors.Join(st.PutManifest(t.Context(), manifest()), st.PutServed(t.Context(), about), st.PutTrial(t.Context(), tr), st.PutCase(t.Context(), tr.Key, c),
		st.PutJudgment(t.Context(), results.Judgment{Case: c.Digest, Rubric: "accuracy", Judge: "lexical", By: judge.Digest, Status: results.StatusClean, Verdict: []byte(`{"verdict":"correct"}`)}), st.Close()); err != nil {
		t.Fatal(err)
	}
	for _, in := range [][]string{{knows, not}, {not, knows}} {
		out := filepath.Join(dir, "out"+filepath.Base(in[0]))
		merged(t, out, in...)
		versions, err := openMerge(t, out).Versions(t.Context())
		if err != nil || len(versions) != 1 || !reflect.DeepEqual(versions[0].About, judge.About) || !versions[0].Current || versions[0].Judgments != 2 {
			t.Errorf("%s first: %+v, %v", filepath.Base(in[0]), versions, err)
		}
	}
}
