package cot

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/backends"
	"assay/harness/dataset"
	"assay/harness/judge"
	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
	"assay/results/stats"
	"assay/results/store"
	"assay/timing"
)

// bench is a store under construction.
type bench struct {
	t     testing.TB
	store *store.Store
	cot   study.Study
	cases atomic.Int64
}

func newBench(t testing.TB) *bench {
	t.Helper()
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := Study().With(nil, study.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, store: st, cot: s}
	b.must(st.PutManifest(t.Context(), results.Manifest{Name: "test", Seed: 7}))
	return b
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// items puts items with a task each and gold paths of the given lengths.
func (b *bench) items(tasks []string, gold ...[]int) {
	var list []results.Item
	for i, task := range tasks {
		it := dataset.Item{ID: fmt.Sprint("item ", i), Type: "short", Task: task}
		for _, n := range gold[i%len(gold)] {
			path := make([]dataset.Step, n+1) // one of them empty
			for k := range n {
				path[k].Text = "step"
			}
			it.GoldPaths = append(it.GoldPaths, path)
		}
		f, err := b.cot.Facts(1, it)
		b.must(err)
		list = append(list, f)
	}
	b.must(b.store.PutItems(context.Background(), list))
}

// made is one trial to be put.
type made struct {
	model   string
	item    int
	arm     string
	repeat  int
	seconds float64 // 0: no trace
	tokens  int     // 0: not told
	flags   []results.Flag
	failure string // kind; "": an answer
	// verdicts by "rubric judge": JSON, or a status in capitals.
	said map[string]string
}

func (b *bench) put(m made) {
	b.t.Helper()
	ctx := context.Background()
	k := results.Key{Study: Name, Model: m.model, Item: fmt.Sprint("item ", m.item), Arm: m.arm, Condition: "baseline", Repeat: m.repeat}
	turn := results.Turn{Answer: "x", Finish: backends.FinishStop}
	if m.seconds > 0 {
		rec := timing.NewRecorder(timing.NewClock())
		rec.MarkAt(timing.Start, time.Second)
		end := time.Second + time.Duration(m.seconds*float64(time.Second))
		rec.Chunks([]timing.Chunk{{At: time.Second + 250*time.Millisecond, Runes: 1, Answer: true}, {At: end, Runes: 1, Answer: true}}, timing.StampsUser)
		turn.Trace = rec.Trace()
	}
	if m.tokens > 0 {
		turn.Usage.CompletionTokens = &m.tokens
	}
	a := results.Attempt{Started: time.Unix(1, 0), Turns: []results.Turn{turn}, Flags: m.flags}
	if m.failure != "" {
		a.Turns, a.Failure = nil, &results.Failure{Kind: m.failure, Message: "as made"}
	} else {
		a.Output = &results.Output{Answer: "x", Finish: backends.FinishStop}
	}
	b.must(b.store.PutTrial(ctx, results.Trial{Key: k, Inputs: results.DigestOf([]byte(m.arm)), Attempts: []results.Attempt{a}}))
	byRubric := map[string]results.Case{}
	for _, rubric := range RubricNames() { // in one order: cases get ids
		for what, verdict := range m.said {
			rub, who, _ := strings.Cut(what, " ")
			if rub != rubric {
				continue
			}
			c, ok := byRubric[rub]
			if !ok {
				n := b.cases.Add(1)
				var err error
				c, err = judge.Case{Rubric: rub, Fields: n}.Stored()
				b.must(err)
				b.must(b.store.PutCase(ctx, k, c))
				byRubric[rub] = c
			}
			j := results.Judgment{Case: c.Digest, Rubric: rub, Judge: who, Status: results.StatusClean, Verdict: json.RawMessage(verdict)}
			if verdict == strings.ToUpper(verdict) && !strings.HasPrefix(verdict, "{") {
				j.Status, j.Verdict, j.Detail = results.Status(strings.ToLower(verdict)), nil, "as made"
			}
			b.must(b.store.PutJudgment(ctx, j))
		}
	}
}

func (b *bench) summarize(judges map[string][]string) tables {
	b.t.Helper()
	s, err := b.cot.Summarize(context.Background(), b.store, judges, nil)
	b.must(err)
	raw, err := json.Marshal(s)
	b.must(err) // a NaN would not marshal
	if bytes.Contains(raw, []byte("NaN")) {
		b.t.Error("NaN in the sections")
	}
	// Stored scores give the same, to the last digit.
	_, err = score.Refresh(b.t.Context(), b.store, b.cot.Scores, judges, func(int) {})
	b.must(err)
	again, err := b.cot.Summarize(context.Background(), b.store, judges, nil)
	b.must(err)
	if stored, err := json.Marshal(again); err != nil || !bytes.Equal(stored, raw) {
		b.t.Errorf("stored scores give other sections, %v:\n%s\nwant\n%s", err, stored, raw)
	}
	return tables{b.t, s, raw}
}

type tables struct {
	t        testing.TB
	sections []results.Section
	raw      []byte
}

// row finds the row of a table whose first cells are these texts.
func (s tables) row(table string, texts ...string) func(column string) results.Cell {
	s.t.Helper()
	for _, sec := range s.sections {
		for _, t := range sec.Tables {
			if t.Name != table {
				continue
			}
		next:
			for _, r := range t.Rows {
				if len(r) != len(t.Columns) {
					s.t.Fatalf("table %s: %d cells under %d columns", table, len(r), len(t.Columns))
				}
				for i, x := range texts {
					if r[i].Text != x {
						continue next
					}
				}
				return func(column string) results.Cell {
					s.t.Helper()
					for i, c := range t.Columns {
						if c.Name == column {
							return r[i]
						}
					}
					s.t.Fatalf("table %s has no column %s", table, column)
					return results.Cell{}
				}
			}
		}
	}
	s.t.Fatalf("no table %s with a row %v", table, texts)
	return nil
}

// check compares an estimate; want NaN: undefined, with a reason.
func (s tables) check(e *results.Estimate, what string, want float64, n, undefined, invalid int) {
	s.t.Helper()
	if e == nil {
		s.t.Errorf("%s is no estimate", what)
		return
	}
	switch {
	case math.IsNaN(want):
		if e.Value != nil || e.Why == "" || e.Low != nil {
			s.t.Errorf("%s is %v (%q), want undefined with a reason", what, e.Value, e.Why)
		}
	case e.Value == nil:
		s.t.Errorf("%s is undefined (%s), want %v", what, e.Why, want)
	default:
		if !near(*e.Value, want) || e.Why != "" && e.Low != nil {
			s.t.Errorf("%s is %v (%q), want %v", what, *e.Value, e.Why, want)
		}
		if e.Low != nil && (*e.Low > *e.High || *e.Low > *e.Value+1e-9 || *e.High < *e.Value-1e-9) && !strings.Contains(what, "median") {
			s.t.Logf("%s: %v lies outside [%v, %v]", what, *e.Value, *e.Low, *e.High)
		}
	}
	if e.N != n || e.Undefined != undefined || e.Invalid != invalid {
		s.t.Errorf("%s: n %d, undefined %d, invalid %d; want %d, %d, %d", what, e.N, e.Undefined, e.Invalid, n, undefined, invalid)
	}
}

func (s tables) note(part string) {
	s.t.Helper()
	for _, sec := range s.sections {
		for _, n := range slices.Concat(sec.Notes, sec.Warnings, sec.Methods) {
			if strings.Contains(n, part) {
				return
			}
		}
	}
	s.t.Errorf("no note says %q", part)
}

func acc(verdict string) string { return fmt.Sprintf(`{"quote":"x","verdict":%q,"why":""}`, verdict) }

func prec(judgments ...string) string {
	v := precisionVerdict{Steps: []step{}}
	for _, j := range judgments {
		typ, jud, _ := strings.Cut(j, " ")
		v.Steps = append(v.Steps, step{Text: "s", Type: typ, Judgment: jud})
	}
	b, _ := json.Marshal(v)
	return string(b)
}

func rec(matched ...bool) string {
	p := recallPath{Path: 1}
	for i, m := range matched {
		p.Steps = append(p.Steps, recallStep{Step: i + 1, Matched: m})
	}
	b, _ := json.Marshal(recallVerdict{Paths: []recallPath{p}})
	return string(b)
}

func order(m, f, c, o int) string {
	b, _ := json.Marshal(orderVerdict{Modality: m, Feature: f, Conclusion: c, Other: o})
	return string(b)
}

// TestSummarize: every score of a small run, worked out by hand.
func TestSummarize(t *testing.T) {
	b := newBench(t)
	// The last item has no trials: it is not resampled.
	b.items([]string{"Diagnosis", "Diagnosis", "Cause", "", "Diagnosis", "Grading"}, []int{2}, []int{2, 3}, []int{4}, nil, []int{2}, []int{2})
	p1, p2 := "precision p", "recall r"
	a1, a2, o := "accuracy a", "accuracy b", "order o"
	// Item 0: all clean. T 4 s against 2 s.
	b.put(made{model: "m", item: 0, arm: "cot", seconds: 4, tokens: 100, said: map[string]string{a1: acc("correct"), a2: acc("correct"),
		p1: prec("modality match", "feature wrong", "conclusion na", "other match", "restatement match"), p2: rec(true, false), o: order(1, 2, 3, 0)}})
	b.put(made{model: "m", item: 0, arm: "direct", seconds: 2, tokens: 2, said: map[string]string{a1: acc("incorrect"), a2: acc("no_answer")}})
	// Item 1: one accuracy reply unusable; a surplus recall verdict; two gold paths.
	b.put(made{model: "m", item: 1, arm: "cot", seconds: 6, tokens: 140, said: map[string]string{a1: acc("correct"), a2: "PARSE",
		p1: prec(), p2: `{"paths":[{"path":1,"steps":[{"step":1,"matched":true},{"step":2,"matched":true},{"step":3,"matched":true}]},{"path":2,"steps":[{"step":1,"matched":true},{"step":2,"matched":true},{"step":3,"matched":false}]}]}`,
		o: order(2, 1, 3, 0)}})
	b.put(made{model: "m", item: 1, arm: "direct", seconds: 1, tokens: 2, said: map[string]string{a1: acc("correct"), a2: acc("correct")}})
	// Item 2: a recall verdict is missing; truncated, so no valid time; the direct trial failed.
	b.put(made{model: "m", item: 2, arm: "cot", seconds: 50, tokens: 512, flags: []results.Flag{results.FlagTruncated}, said: map[string]string{a1: acc("incorrect"), a2: acc("incorrect"),
		p1: prec("other match"), p2: rec(true, true, true), o: "SCHEMA"}})
	b.put(made{model: "m", item: 2, arm: "direct", failure: "stalled"})
	// Item 3: no gold, no task.
	b.put(made{model: "m", item: 3, arm: "cot", seconds: 1, said: map[string]string{a1: acc("incorrect"), a2: acc("correct"), o: order(0, 0, 0, 1)}})
	b.put(made{model: "m", item: 3, arm: "direct", seconds: 1, said: map[string]string{a1: acc("correct"), a2: acc("correct")}})
	// Item 4: the cot trial failed; the direct one is not judged by b.
	b.put(made{model: "m", item: 4, arm: "cot", failure: "truncated"})
	b.put(made{model: "m", item: 4, arm: "direct", seconds: 3, said: map[string]string{a1: acc("correct")}})

	s := b.summarize(map[string][]string{rubAccuracy: {"a", "b"}, rubricPrecision: {"p"}, recall: {"r"}, rubricOrder: {"o"}})
	est := func(table, column string, labels ...string) (*results.Estimate, string) {
		t.Helper()
		return s.row(table, labels...)(column).Estimate, table + " " + column
	}
	check := func(want float64, n, undefined, invalid int, table, column string, labels ...string) {
		t.Helper()
		e, what := est(table, column, labels...)
		s.check(e, what, want, n, undefined, invalid)
	}
	p := 100 * (0.5 + 0 + 1) / 3
	r := 100 * (0.5 + 1) / 2
	check(p, 3, 1, 1, "cot-main", "precision", "m")
	check(r, 2, 1, 2, "cot-main", "recall", "m")
	check(2*p*r/(p+r), 3, 1, 1, "cot-main", "f1", "m")
	check(100*(0.5+0)/2, 2, 1, 2, "cot-steps", "f1_items", "m")
	check(100*1.5/4, 4, 1, 0, "cot-steps", "precision_fixed_n", "m")
	check(100*(0.5+1+0.75)/4, 4, 1, 0, "cot-steps", "recall_fixed_n", "m")
	// cot: a 2 of 4, b 2 of 3. direct: a 3 of 4, b 2 of 3.
	cot, direct := (50+200.0/3)/2, (75+200.0/3)/2
	check(cot, 4, 0, 1, "cot-accuracy", "accuracy", "m", "cot")
	check(direct, 4, 0, 1, "cot-accuracy", "accuracy", "m", "direct")
	check(100*4.0/10, 5, 0, 0, "cot-accuracy", "accuracy_fixed_n", "m", "cot")
	check(100*5.0/10, 5, 0, 0, "cot-accuracy", "accuracy_all_wrong", "m", "direct")
	check(100*8.0/10, 5, 0, 0, "cot-accuracy", "accuracy_all_right", "m", "direct")
	check(70, 10, 0, 0, "cot-accuracy", "coverage", "m", "direct")
	check(1, 7, 0, 0, "cot-accuracy", "no_answer", "m", "direct")
	check(cot-direct, 8, 0, 2, "cot-main", "impact", "m")
	// By majority: item 0 only cot, item 1 both, item 3 cot undecided, items 2 and 4 lack an arm.
	check(1, 2, 0, 0, "cot-impact", "only_cot", "m")
	check(0, 2, 0, 0, "cot-impact", "only_direct", "m")
	check(1, 2, 0, 0, "cot-impact", "both", "m")
	check(3, 5, 0, 0, "cot-impact", "undecided", "m")
	// Items' own means: 1 to 0, 1 to 1, 0.5 to 1; signs of 1 and 0.5 give 1.5 twice and 0.5 twice.
	check(0.75, 3, 0, 2, "cot-impact", "p", "m")
	// E over items 0 and 1: (1 + 2) / (4 + 6). L over items 0, 1, 3: 11 / 4.
	check(0.3, 2, 1, 2, "cot-efficiency", "efficiency", "m")
	check(11.0/4, 3, 0, 2, "cot-efficiency", "latency_ratio", "m")
	check(2, 3, 0, 2, "cot-efficiency", "latency_ratio_median", "m")
	check(2+0.9*4, 3, 0, 2, "cot-efficiency", "latency_ratio_p95", "m")
	check(240.0/3, 2, 1, 2, "cot-efficiency", "tokens_per_step", "m")
	check(4, 3, 0, 2, "cot-latency", "latency_median", "m", "cot")
	check(0.25, 4, 0, 1, "cot-latency", "ttft_median", "m", "direct")
	check(math.NaN(), 0, 0, 5, "cot-latency", "server_total_median", "m", "cot")
	check(140, 3, 0, 2, "cot-latency", "tokens_median", "m", "cot")
	// Diagnosis: MFC and FMC, reference MFC: (1 + 2/3) / 2. Cause has no usable order.
	// Items 4 (failed) and 2 are left out of their tasks, as they are of all.
	check(100*(1+2.0/3)/2, 2, 0, 1, "cot-consistency", "c", "m", "Diagnosis")
	check(math.NaN(), 0, 0, 1, "cot-consistency", "c", "m", "Cause")
	check(100*(1+2.0/3)/2, 2, 1, 2, "cot-main", "c_path", "m")
	if got := s.row("cot-consistency", "m", "Diagnosis")("reference").Text; got != "MFC" {
		t.Errorf("reference %q", got)
	}
	// Judges apart.
	check(200.0/3, 3, 0, 2, "cot-judges", "value", "m", "cot", "accuracy", "b")
	check(1, 4, 0, 0, "cot-judges", "parse", "m", "cot", "accuracy", "b")
	check(1, 4, 0, 0, "cot-judges", "not_judged", "m", "direct", "accuracy", "b")
	check(1, 4, 0, 0, "cot-judges", "schema", "m", "cot", "order", "o")
	check(p, 3, 1, 1, "cot-judges", "value", "m", "cot", "precision", "p")
	// What was left out.
	check(1, 5, 0, 0, "cot-answers", "failures", "m", "cot")
	check(1, 4, 0, 0, "cot-answers", "truncated", "m", "cot")
	if got := s.row("cot-answers", "m", "direct")("failure_kinds").Text; got != "stalled 1" {
		t.Errorf("failures %q", got)
	}
	for _, part := range []string{"the server may have reused a cache", "m, arm direct: 1 of 5 trials failed", "1 of 4 answers were cut", "not judged yet by b", "judge b has a usable accuracy verdict for 75.00 %", "fewer than 10 answers", "1 answers belong to no task", "does not clearly change"} {
		s.note(part)
	}
	// The same store gives the same bytes.
	if again := b.summarize(map[string][]string{rubAccuracy: {"a", "b"}, rubricPrecision: {"p"}, recall: {"r"}, rubricOrder: {"o"}}); !bytes.Equal(again.raw, s.raw) {
		t.Error("two summaries of one store differ")
	}
	// The interval of the impact is MOVER's over the same items.
	e, _ := est("cot-main", "impact", "m")
	col := func(v ...float64) []float64 { return v }
	side := func(a, asked, b, also []float64) stats.Share {
		return stats.MeanShare([]stats.Share{stats.ShareOf(a, asked), stats.ShareOf(b, also)}, true)
	}
	low, high, _ := side(col(1, 1, 0, 0, 0), col(1, 1, 1, 1, 0), col(1, 0, 0, 1, 0), col(1, 0, 1, 1, 0)).
		Less(side(col(0, 1, 0, 1, 1), col(1, 1, 0, 1, 1), col(0, 1, 0, 1, 0), col(1, 1, 0, 1, 0)), true)
	if !near(*e.Low, 100*low) || !near(*e.High, 100*high) {
		t.Errorf("impact [%v, %v], want [%v, %v]", *e.Low, *e.High, 100*low, 100*high)
	}
}

// TestSummarizeRepeats: trials of repeats are pooled, and the spread is shown.
func TestSummarizeRepeats(t *testing.T) {
	b := newBench(t)
	b.items([]string{"Cause", "Cause"}, []int{2})
	for rep, verdicts := range [][2]string{{"correct", "correct"}, {"correct", "incorrect"}, {"incorrect", "incorrect"}} {
		for item, v := range verdicts {
			b.put(made{model: "m", item: item, arm: "cot", repeat: rep, seconds: 2, said: map[string]string{
				"accuracy a": acc(v), "precision a": prec("feature match"), "recall a": rec(true, rep > 0), "order a": order(1, 2, 0, 0)}})
			b.put(made{model: "m", item: item, arm: "direct", repeat: rep, seconds: 1, said: map[string]string{"accuracy a": acc("correct")}})
		}
	}
	one := map[string][]string{rubAccuracy: {"a"}, rubricPrecision: {"a"}, recall: {"a"}, rubricOrder: {"a"}}
	s := b.summarize(one)
	s.check(s.row("cot-main", "m")("accuracy_cot").Estimate, "accuracy", 50, 6, 0, 0)
	s.check(s.row("cot-main", "m")("recall").Estimate, "recall", 100*(2*0.5+4)/6, 6, 0, 0)
	s.check(s.row("cot-main", "m")("latency_ratio").Estimate, "L", 2, 6, 0, 0)
	s.check(s.row("cot-main", "m")("c_path").Estimate, "C_path", 100, 6, 0, 0)
	row := s.row("cot-repeats", "m", "accuracy cot")
	s.check(row("mean").Estimate, "mean", 50, 3, 0, 0)
	s.check(row("sd").Estimate, "SD", 50, 3, 0, 0)
	s.check(row("min").Estimate, "min", 0, 3, 0, 0)
	s.check(row("max").Estimate, "max", 100, 3, 0, 0)
	// Item 0 is right in two repeats of three, item 1 in one.
	s.check(s.row("cot-impact", "m")("only_direct").Estimate, "only direct", 1, 2, 0, 0)
	s.check(s.row("cot-impact", "m")("both").Estimate, "both", 1, 2, 0, 0)
}

// TestCountsOfPaths: an answer is in n where any judge of the order has a verdict, in the
// row of its task as in that of all.
func TestCountsOfPaths(t *testing.T) {
	b := newBench(t)
	b.items([]string{"Cause", "Cause", "Cause"}, []int{2}, []int{2}, []int{2})
	for item, said := range []map[string]string{{"order a": order(1, 2, 3, 0)}, {"order b": order(1, 2, 3, 0)}, {"order a": "SCHEMA", "order b": "PARSE"}} {
		b.put(made{model: "m", item: item, arm: "cot", seconds: 1, said: said})
	}
	s := b.summarize(map[string][]string{rubricOrder: {"a", "b"}})
	for _, task := range []string{"Cause", "mean over tasks"} {
		s.check(s.row("cot-consistency", "m", task)("c").Estimate, task, 100, 2, 0, 1)
	}
}

// TestIntervalOfPaths: of many walks of each path, which are counted together, and of few, the
// interval is that of items drawn one by one.
func TestIntervalOfPaths(t *testing.T) {
	const many, all = 129, 140
	b := newBench(t)
	tasks, order := make([]string, all), make([]int, all)
	for i := range tasks {
		order[i] = i
		if tasks[i] = "Diagnosis"; i >= many {
			tasks[i] = "Cause"
		}
	}
	b.items(tasks, []int{2})
	// The sample has them in the order of their names.
	slices.SortFunc(order, func(x, y int) int { return strings.Compare(fmt.Sprint(x), fmt.Sprint(y)) })
	var of []string
	var walked []path
	for _, i := range order {
		w, verdict := path("MFC"), orderVerdict{Modality: 1, Feature: 2, Conclusion: 3}
		if i%3 == 0 {
			w, verdict = "MCF", orderVerdict{Modality: 1, Feature: 3, Conclusion: 2}
		}
		said, err := json.Marshal(verdict)
		b.must(err)
		b.put(made{model: "m", item: i, arm: "cot", said: map[string]string{"order a": string(said)}})
		of, walked = append(of, tasks[i]), append(walked, w)
	}
	s := b.summarize(map[string][]string{rubricOrder: {"a"}})
	for task, n := range map[string]int{"Diagnosis": many, "Cause": all - many} {
		var ref int
		replicate, p := false, newPaths([]path{"MFC", "MCF"})
		var drawn []float64
		want := stats.Bootstrap95(7, 10_000).Stat(all, func(idx []int) (v float64, ok bool) {
			counts := make([]int, 2)
			for _, at := range idx {
				if of[at] == task {
					counts[slices.Index(p.list, walked[at])]++
				}
			}
			if !replicate {
				_, ref, _ = p.consistency(counts)
				replicate = true
				return p.toReference(counts, ref)
			}
			if v, ok = p.toReference(counts, ref); ok {
				drawn = append(drawn, v)
			}
			return v, ok
		})
		// The interval stands on the items of the task.
		low, _ := stats.Quantile(drawn, stats.TailOf(n))
		high, _ := stats.Quantile(drawn, 1-stats.TailOf(n))
		e := s.row("cot-consistency", "m", task)("c").Estimate
		s.check(e, task, *want.Value, n, 0, 0)
		if !near(*e.Low, low) || !near(*e.High, high) {
			t.Errorf("%s: from %v to %v, want from %v to %v", task, *e.Low, *e.High, low, high)
		}
	}
}

// TestIntervalsCountImages: twenty items of five equal repeats are twenty cases, and
// two questions about one image are one.
func TestIntervalsCountImages(t *testing.T) {
	for _, shared := range []bool{false, true} {
		b := newBench(t)
		var list []results.Item
		n := 20
		if shared {
			n = 40
		}
		for i := range n {
			it := dataset.Item{ID: fmt.Sprint("item ", i), Type: "short"}
			if shared {
				it.Picture = fmt.Sprint("picture ", i/2)
			}
			f, err := b.cot.Facts(1, it)
			b.must(err)
			list = append(list, f)
		}
		b.must(b.store.PutItems(t.Context(), list))
		for i := range n {
			verdict, cluster := "correct", i
			if shared {
				cluster = i / 2
			}
			if cluster%2 == 0 {
				verdict = "incorrect"
			}
			for repeat := range 5 {
				b.put(made{model: "m", item: i, arm: "cot", repeat: repeat, said: map[string]string{"accuracy a": acc(verdict)}})
			}
		}
		s := b.summarize(map[string][]string{rubAccuracy: {"a"}})
		e := s.row("cot-judges", "m", "cot", "accuracy", "a")("value").Estimate
		s.check(e, "value", 50, 5*n, 0, 0)
		if low, high := stats.Fixed(*e.Low, 1), stats.Fixed(*e.High, 1); low != "28.4" || high != "71.6" || e.Clusters != 20 {
			t.Errorf("[%s, %s] of %d clusters, want [28.4, 71.6] of 20", low, high, e.Clusters)
		}
	}
}

// TestStepsWithoutAValidTime: matched steps of an answer whose time does not
// count are in R and not in E, neither above nor below the line.
func TestStepsWithoutAValidTime(t *testing.T) {
	b := newBench(t)
	b.items([]string{"Cause", "Cause", "Cause"}, []int{2})
	b.put(made{model: "m", item: 0, arm: "cot", seconds: 4, said: map[string]string{"recall a": rec(true, false)}})
	b.put(made{model: "m", item: 1, arm: "cot", seconds: 50, flags: []results.Flag{results.FlagCacheHit}, said: map[string]string{"recall a": rec(true, true)}})
	b.put(made{model: "m", item: 2, arm: "cot", said: map[string]string{"recall a": rec(true, true)}})
	s := b.summarize(map[string][]string{recall: {"a"}})
	s.check(s.row("cot-main", "m")("recall").Estimate, "R", 100*2.5/3, 3, 0, 0)
	s.check(s.row("cot-main", "m")("efficiency").Estimate, "E", 0.25, 1, 0, 2)
}

// TestNoGoldSteps: scores of items without gold steps say so, and not that
// verdicts are missing.
func TestNoGoldSteps(t *testing.T) {
	b := newBench(t)
	b.items([]string{"Cause", "Cause"}, nil)
	for i := range 2 {
		b.put(made{model: "m", item: i, arm: "cot", seconds: 2, tokens: 9, said: map[string]string{"accuracy a": acc("correct"), "order a": order(1, 2, 0, 0)}})
	}
	one := map[string][]string{rubAccuracy: {"a"}, rubricPrecision: {"a"}, recall: {"a"}, rubricOrder: {"a"}}
	s := b.summarize(one)
	for _, c := range [][2]string{{"cot-main", "f1"}, {"cot-main", "precision"}, {"cot-main", "recall"}, {"cot-main", "efficiency"}, {"cot-steps", "f1_items"},
		{"cot-steps", "precision_fixed_n"}, {"cot-steps", "recall_fixed_n"}, {"cot-efficiency", "tokens_per_step"}} {
		e := s.row(c[0], "m")(c[1]).Estimate
		s.check(e, c[1], math.NaN(), 0, 2, 0)
		if e.Why != "the items have no gold steps" {
			t.Errorf("%s %s: %q", c[0], c[1], e.Why)
		}
	}
	if e := s.row("cot-main", "m")("impact").Estimate; e.Value != nil || e.N != 2 || e.Why != "one of the arms has no usable verdict" {
		t.Errorf("impact of one arm: %+v", e)
	}
	// Verdicts that are missing are something else.
	b = newBench(t)
	b.items([]string{"Cause"}, []int{2})
	b.put(made{model: "m", item: 0, arm: "cot", seconds: 2, said: map[string]string{"precision a": "PARSE", "recall a": rec(true, false)}})
	s = b.summarize(one)
	if e := s.row("cot-main", "m")("precision").Estimate; e.Why != "no usable verdict in arm cot" {
		t.Errorf("P without a verdict: %q", e.Why)
	}
	if e := s.row("cot-main", "m")("f1").Estimate; e.N != 1 || e.Why != "precision or recall has no usable verdict" {
		t.Errorf("F1 without P: %+v", e)
	}
}

// TestSummarizeLittle: an empty store, one arm, no judges: undefined with
// reasons, never a number.
func TestSummarizeLittle(t *testing.T) {
	b := newBench(t)
	s := b.summarize(map[string][]string{rubAccuracy: {"a"}})
	s.note("no trials")
	b.items([]string{"", ""}, []int{2})
	b.put(made{model: "m", item: 0, arm: "cot", seconds: 1})
	b.put(made{model: "n", item: 1, arm: "cot", failure: "unreachable"})
	for _, judges := range []map[string][]string{nil, {rubAccuracy: {"a"}, rubricPrecision: {"a"}, recall: {"a"}, rubricOrder: {"a"}}} {
		s = b.summarize(judges)
		for _, m := range []string{"m", "n"} {
			for _, c := range []string{"f1", "precision", "recall", "accuracy_direct", "accuracy_cot", "impact", "efficiency", "latency_ratio", "c_path"} {
				e := s.row("cot-main", m)(c).Estimate
				if e.Value != nil || e.Why == "" || e.Low != nil {
					t.Errorf("%s of %s with judges %v: %+v", c, m, judges, e)
				}
			}
		}
	}
}

// TestSummarizeZero: precision and recall of 0 are 0, and F1 says why it does
// not exist.
func TestSummarizeZero(t *testing.T) {
	b := newBench(t)
	b.items([]string{"Cause"}, []int{2})
	b.put(made{model: "m", item: 0, arm: "cot", seconds: 2, said: map[string]string{"precision a": prec(), "recall a": rec(false, false)}})
	s := b.summarize(map[string][]string{rubricPrecision: {"a"}, recall: {"a"}})
	s.check(s.row("cot-main", "m")("precision").Estimate, "P", 0, 1, 0, 0)
	s.check(s.row("cot-main", "m")("efficiency").Estimate, "E", 0, 1, 0, 0)
	f := s.row("cot-main", "m")("f1").Estimate
	s.check(f, "F1", math.NaN(), 1, 0, 0)
	if f.Why != "precision and recall are both 0" {
		t.Errorf("F1: %q", f.Why)
	}
	s.check(s.row("cot-steps", "m")("f1_items").Estimate, "F1 by item", 0, 1, 0, 0)
}
