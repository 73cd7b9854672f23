//go:build realollama

package realollama_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/backends/backendtest/tinymodel"
	"assay/harness/dataset/datasettest"
	"assay/harness/study/faithfulness"
	"assay/results"
	"assay/results/store"
	"assay/results/text"
)

// faithfulnessBench is a study of changed inputs, judged by rules and by a model
// on the same server. That one speaks at random: at temperature 0 all its replies
// would be alike.
func faithfulnessBench(url, arms, conditions string, perType, tokens int) string {
	return fmt.Sprintf(`name: real-ollama-taix
seed: 3
store: run.sqlite
rules: paper
datasets:
  drawn: {kind: taix-vqa, path: taix, regions: taix, knowledge: knowledge.json}
backends:
  ollama: {kind: ollama, url: %q, options: {num_ctx: 4096, num_thread: 1, keep_alive: 30m}}
models:
  reader: {backend: ollama, model: %s}
judges:
  lexical: {kind: lexical}
  same: {kind: model, backend: ollama, model: %s, in_flight: 1, sampling: {temperature: 1.5, max_tokens: 300, seed: 1}}
studies:
  faithfulness:
    dataset: drawn
    select: {per_type: %d}
    arms: [%s]
    conditions: %s
    sampling: {temperature: 1, max_tokens: %d, seed: 3}
    in_flight: 1
    rubrics: {CF: [same, lexical], CA: [same, lexical], CT: [same, lexical]}
`, url, tinymodel.ReaderName, tinymodel.ReaderName, perType, arms, conditions, tokens)
}

const taixImages = 4

// taixFolder writes a folder in TAIX-VQA's format, its knowledge base and a bench.yaml.
func (g target) taixFolder(t *testing.T, bench string) string {
	t.Helper()
	if err := tinymodel.Install(t.Context(), g.url); err != nil {
		t.Fatal(err)
	}
	if err := tinymodel.InstallReader(t.Context(), g.url); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := datasettest.WriteTAIX(filepath.Join(dir, "taix"), "test", taixImages, 112); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"knowledge.json": datasettest.TAIXKnowledge(false), "bench.yaml": []byte(bench)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// taixConditions are the eleven, both signs apart, sham and the baseline.
func taixConditions() []string {
	return []string{"baseline", "sham", "TB-RAD+", "TB-RAD-", "TB-LA+", "TB-LA-", "VB-BB+", "VB-BB-", "VB-HM+", "VB-HM-", "VH-BB", "VH-HM", "VO-BB"}
}

// A data set in TAIX-VQA's format, its 16-bit pictures and all its types, goes
// through every condition of the study and is judged by a model, all of it on a
// real server.
func TestRealOllamaTAIX(t *testing.T) {
	for _, g := range targets(t) {
		const perType = 1
		dir := g.taixFolder(t, faithfulnessBench(g.url, "structured", "all", perType, 96))
		planned := g.planned(t, dir)
		if got := slices.Sorted(maps.Keys(planned)); !slices.Equal(got, slices.Sorted(slices.Values(taixConditions()))) {
			t.Fatalf("planned are %v", got)
		}
		started := time.Now()
		code, out := g.run(t, dir, "run", "-c", "bench.yaml")
		took := time.Since(started)
		if code > 1 { // 1: some judgments carry no verdict
			t.Fatalf("assay run ended with status %d:\n%s", code, out)
		}
		st := stored(t, dir)
		types := map[string]int{}
		for it, err := range st.Items(t.Context(), "faithfulness") {
			if err != nil {
				t.Fatal(err)
			}
			types[it.Type]++
		}
		for _, typ := range []string{"binary", "ordinal", "comparative", "spatial"} {
			if types[typ] != perType {
				t.Errorf("%d items of type %s, want %d", types[typ], typ, perType)
			}
		}
		trials := checkChangedTrials(t, st, planned, 1)
		cov := checkVerdicts(t, st, trials)
		checkTAIXReport(t, st, dir, trials, cov)
		t.Logf("assay run took %.1f s", took.Seconds())

		again, out := g.run(t, dir, "run", "-c", "bench.yaml")
		if again != code || !strings.Contains(out, "0 trials to do") {
			t.Errorf("a second run ended with status %d and had trials to do:\n%s", again, out)
		}
	}
}

// The three-turn variant: three requests a trial, each with the conversation
// before it, and what was said before the answer is what judges see.
func TestRealOllamaTAIXThreeTurns(t *testing.T) {
	for _, g := range targets(t) {
		dir := g.taixFolder(t, faithfulnessBench(g.url, "three-turn", "[sham, TB-LA-, VH-BB, VB-BB-]", 1, 48))
		planned := g.planned(t, dir, "--limit", "2")
		started := time.Now()
		if code, out := g.run(t, dir, "run", "-c", "bench.yaml", "--limit", "2"); code > 1 {
			t.Fatalf("assay run ended with status %d:\n%s", code, out)
		}
		took := time.Since(started)
		st := stored(t, dir)
		trials := checkChangedTrials(t, st, planned, 3)
		for k, trial := range trials {
			last, _ := trial.Last()
			if last.Output == nil {
				continue
			}
			before := last.Turns[0].Answer + "\n\n" + last.Turns[1].Answer
			if !strings.HasPrefix(last.Output.Reasoning, last.Turns[0].Answer) || !strings.Contains(last.Output.Reasoning, last.Turns[1].Answer) {
				t.Errorf("%+v: reasoning %q, said before the answer was %q", k, last.Output.Reasoning, before)
			}
			for n := 1; n < 3; n++ {
				if a, b := last.Turns[n-1].Usage.PromptTokens, last.Turns[n].Usage.PromptTokens; a == nil || b == nil || *b <= *a {
					t.Errorf("%+v: turn %d is not longer than the one before it", k, n+1)
				}
			}
		}
		checkVerdicts(t, st, trials)
		t.Logf("assay run took %.1f s", took.Seconds())
	}
}

// planned is the number of trials of each condition that assay plan announces.
func (g target) planned(t *testing.T, dir string, more ...string) map[string]int {
	t.Helper()
	code, out := g.run(t, dir, append([]string{"plan", "-c", "bench.yaml", "--json"}, more...)...)
	var p struct {
		Counts []struct {
			Condition string
			Trials    int
		}
	}
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&p); err != nil || code != 0 {
		t.Fatalf("assay plan: status %d, %v: %s", code, err, out)
	}
	n := map[string]int{}
	for _, c := range p.Counts {
		n[c.Condition] += c.Trials
	}
	return n
}

// checkChangedTrials demands that every planned trial is stored, with an answer or
// a kind of failure, that each has its twin at the baseline, and that a changed
// one was sent something else than its twin: the change is in the request.
func checkChangedTrials(t *testing.T, st *store.Store, planned map[string]int, turns int) map[results.Key]results.Trial {
	t.Helper()
	trials := map[results.Key]results.Trial{}
	count, pairs, failed, unchanged := map[string]int{}, map[string]int{}, map[string]int{}, 0
	answered := 0
	for trial, err := range st.Trials(t.Context(), "faithfulness") {
		if err != nil {
			t.Fatal(err)
		}
		trials[trial.Key] = trial
		count[trial.Key.Condition]++
	}
	for k, trial := range trials {
		last, ok := trial.Last()
		switch {
		case !ok || (last.Output == nil) == (last.Failure == nil):
			t.Errorf("%+v has neither an answer nor a failure", k)
			continue
		case last.Failure != nil:
			failed[last.Failure.Kind]++
			if last.Failure.Kind == "" || last.Failure.Kind == "input" || last.Failure.Kind == "unreachable" {
				t.Errorf("%+v: %+v", k, last.Failure)
			}
			continue
		}
		answered++
		if len(last.Turns) != turns {
			t.Errorf("%+v has %d turns, want %d", k, len(last.Turns), turns)
		}
		for _, turn := range last.Turns {
			_, timed := turn.Trace.Latency()
			if !timed || turn.Sent == "" || turn.Usage.PromptTokens == nil || turn.Usage.CompletionTokens == nil || turn.Server.Total == nil {
				t.Errorf("%+v: a turn without its time, counts or digest", k)
			}
		}
		at := k
		at.Condition = "baseline"
		twin, ok := trials[at]
		before, _ := twin.Last()
		if k.Condition == at.Condition || before.Output == nil {
			continue
		}
		if ok {
			pairs[k.Condition]++
		}
		same, idle := last.Turns[0].Sent == before.Turns[0].Sent, slices.Contains(last.Flags, results.FlagNoChange)
		if same != idle || same != (trial.Inputs == twin.Inputs) {
			t.Errorf("%+v: the request is the baseline's: %v; nothing to draw: %v; inputs %s and %s", k, same, idle, trial.Inputs, twin.Inputs)
		}
		if idle {
			unchanged++
		}
	}
	if !maps.Equal(count, planned) {
		t.Errorf("stored are %v, planned %v", count, planned)
	}
	if 10*answered < 9*len(trials) {
		t.Errorf("%d of %d trials have an answer", answered, len(trials))
	}
	for c := range planned {
		if c != "baseline" && pairs[c] == 0 {
			t.Errorf("condition %s has no pair with the baseline", c)
		}
	}
	t.Logf("%d trials, %d with an answer, failures %v, %d with nothing to draw; pairs with the baseline: %v", len(trials), answered, failed, unchanged, pairs)
	return trials
}

// checkVerdicts demands of every answer under a change that both judges gave all
// three rubrics a status; that the model's own words are stored behind each of
// its judgments; and that what is no verdict is none. It counts statuses by
// rubric and judge.
func checkVerdicts(t *testing.T, st *store.Store, trials map[results.Key]results.Trial) map[string]map[results.Status]int {
	t.Helper()
	count := map[string]map[results.Status]int{}
	judged := map[results.Key]int{}
	for j, err := range st.Judgments(t.Context(), "faithfulness") {
		if err != nil {
			t.Fatal(err)
		}
		judged[j.Key]++
		name := j.Rubric + " " + j.Judge
		if count[name] == nil {
			count[name] = map[results.Status]int{}
		}
		count[name][j.Status]++
		var v struct {
			Score  *int
			Quotes []string
		}
		if j.Status.Usable() {
			if err := json.Unmarshal(j.Verdict, &v); err != nil || v.Score == nil || *v.Score < 1 || *v.Score > 5 {
				t.Errorf("%+v, %s: status %s and verdict %s (%v)", j.Key, name, j.Status, j.Verdict, err)
			}
			last, _ := trials[j.Key].Last()
			for _, q := range v.Quotes {
				if reasoning := text.Reasoning(last.Output.Answer, last.Output.Reasoning); !text.Occurs(q, reasoning) {
					t.Errorf("%+v, %s: the quote %q does not stand in %q", j.Key, name, q, reasoning)
				}
			}
		} else if j.Verdict != nil || j.Detail == "" {
			t.Errorf("%+v, %s: status %s (%q) and verdict %s", j.Key, name, j.Status, j.Detail, j.Verdict)
		}
		if j.Judge != "same" {
			continue
		}
		full, ok, err := st.Judgment(t.Context(), j.Judgment.Key())
		if err != nil || !ok || len(full.Attempts) == 0 {
			t.Errorf("%+v, %s: a model's judgment without an attempt (%v)", j.Key, name, err)
			continue
		}
		last := full.Attempts[len(full.Attempts)-1]
		if last.Output == nil || last.Output.Answer == "" || last.Turns[0].Usage.CompletionTokens == nil {
			t.Errorf("%+v, %s, status %s (%s): no raw reply: %+v", j.Key, name, j.Status, j.Detail, last)
			continue
		}
		// The server was given the schema: a reply that was not cut is an object of it.
		var reply map[string]json.RawMessage
		cut := slices.Contains(last.Flags, results.FlagTruncated)
		if err := json.Unmarshal([]byte(last.Output.Answer), &reply); err != nil && !cut {
			t.Errorf("%+v, %s: the reply is whole and no object: %s", j.Key, name, last.Output.Answer)
		} else if _, ok := reply["quote_spans"]; err == nil && !ok {
			t.Errorf("%+v, %s: the reply does not follow the schema: %s", j.Key, name, last.Output.Answer)
		}
		if j.Status == results.StatusParse && !cut {
			t.Errorf("%+v, %s: %s: %s", j.Key, name, j.Detail, last.Output.Answer)
		}
	}
	for k, trial := range trials {
		want := 0
		if last, _ := trial.Last(); last.Output != nil && k.Condition != "baseline" {
			want = 6
		}
		if judged[k] != want {
			t.Errorf("%+v has %d judgments, want %d", k, judged[k], want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		t.Logf("judgments, %-10s %v", name, count[name])
	}
	if len(count) != 6 {
		t.Errorf("%d rubrics and judges, want 6", len(count))
	}
	return count
}

// comparable counts, by condition, the pairs of which both answers can be read,
// and the flips among them.
func comparable(t *testing.T, st *store.Store, trials map[results.Key]results.Trial) (valid, flips map[string]int) {
	t.Helper()
	questions := map[string]faithfulness.Question{}
	for it, err := range st.Items(t.Context(), "faithfulness") {
		var facts struct{ Question faithfulness.Question }
		if err == nil {
			err = json.Unmarshal(it.Facts, &facts)
		}
		if err != nil {
			t.Fatal(err)
		}
		questions[it.ID] = facts.Question
	}
	answer := func(k results.Key) string {
		trial := trials[k]
		if last, ok := trial.Last(); ok && last.Output != nil {
			if _, after, ok := cutLast(last.Output.Answer, "<answer>"); ok {
				said, _, _ := strings.Cut(after, "</answer>")
				return said
			}
		}
		return ""
	}
	valid, flips = map[string]int{}, map[string]int{}
	for k := range trials {
		at := k
		at.Condition = "baseline"
		flipped, ok := questions[k.Item].Flip(answer(at), answer(k))
		if ok {
			valid[k.Condition]++
		}
		if flipped {
			flips[k.Condition]++
		}
	}
	return valid, flips
}

// cutLast cuts s at the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// checkTAIXReport looks at what was written of the run: the study's tables, pairs
// in them, coverage as the statuses give it, a label only where one belongs, and
// nothing that leads to a patient.
func checkTAIXReport(t *testing.T, st *store.Store, dir string, trials map[results.Key]results.Trial, count map[string]map[results.Status]int) {
	t.Helper()
	man, ok, err := st.Manifest(t.Context())
	if err != nil || !ok {
		t.Fatalf("manifest: %v, %v", ok, err)
	}
	// The files are read as any user's are, and the server is real.
	if len(man.Synthetic) != 0 || len(man.Datasets) != 1 || man.Datasets[0].Kind != "taix-vqa" || man.Datasets[0].Items != 32*taixImages {
		t.Errorf("marked as synthetic: %v; data sets: %+v", man.Synthetic, man.Datasets)
	}
	b, err := os.ReadFile(filepath.Join(dir, "run-report", "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rep struct {
		Synthetic []string
		Sections  []results.Section
	}
	if err := json.Unmarshal(b, &rep); err != nil || len(rep.Synthetic) != 0 {
		t.Fatalf("report: %v, synthetic %v", err, rep.Synthetic)
	}
	tables := map[string]results.Table{}
	for _, s := range rep.Sections {
		for _, table := range s.Tables {
			tables[table.Name] = table
		}
	}
	for _, name := range []string{"main", "silent", "conditions", "reasoning", "spread", "contrasts", "sham", "judges", "answers"} {
		if len(tables["faithfulness-"+name].Rows) == 0 {
			t.Errorf("table faithfulness-%s is missing or empty", name)
		}
	}
	cell := func(table results.Table, row []results.Cell, column string) results.Cell {
		at := slices.IndexFunc(table.Columns, func(c results.Column) bool { return c.Name == column })
		if at < 0 {
			t.Fatalf("table %s has no column %s", table.Name, column)
		}
		return row[at]
	}
	valid, flips := comparable(t, st, trials)
	all, moved := 0, 0
	answers := tables["faithfulness-conditions"]
	seen := map[string]bool{}
	for _, row := range answers.Rows {
		name := cell(answers, row, "condition").Text
		seen[name] = true
		if e := cell(answers, row, "flip_rate").Estimate; e != nil && name != "baseline" {
			if e.N+e.Invalid == 0 || e.N != valid[name] || (e.Value == nil) != (e.N == 0) || e.N > 0 && math.Abs(*e.Value*float64(e.N)/100-float64(flips[name])) > 1e-9 {
				t.Errorf("flips under %s: %+v, want %d of %d", name, e, flips[name], valid[name])
			}
			all, moved = all+valid[name], moved+flips[name]
		}
	}
	for _, name := range taixConditions() {
		if !seen[name] {
			t.Errorf("table %s has no row of %s", answers.Name, name)
		}
	}
	t.Logf("%d pairs in which both answers can be read, %d flips", all, moved)
	judges := tables["faithfulness-judges"]
	byModel := 0
	for _, row := range judges.Rows {
		name := cell(judges, row, "rubric").Text + " " + cell(judges, row, "judge").Text
		all, usable := 0, 0
		for status, n := range count[name] {
			all += n
			if status.Usable() {
				usable += n
			}
		}
		e := cell(judges, row, "coverage").Estimate
		if e == nil || e.Value == nil || e.N != all || math.Abs(*e.Value-100*float64(usable)/float64(all)) > 1e-9 {
			t.Errorf("coverage of %s is %+v, want %d of %d", name, e, usable, all)
			continue
		}
		t.Logf("coverage of %-10s %6.2f %% of %d", name, *e.Value, all)
		if strings.HasSuffix(name, " same") {
			byModel += usable
		}
	}
	if byModel == 0 {
		t.Error("the LLM judge gave no usable verdict at all")
	}
	if len(judges.Rows) != 6 {
		t.Errorf("%d rows of judges, want 6", len(judges.Rows))
	}
	written, err := filepath.Glob(filepath.Join(dir, "run-report", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(written, filepath.Join(dir, "run.sqlite")) {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range datasettest.Patients() {
			if bytes.Contains(b, []byte(word)) {
				t.Errorf("%s holds %q, which leads to a patient", filepath.Base(name), word)
			}
		}
	}
}
