package diagnosis

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/harness/dataset"
	"assay/harness/score"
	"assay/harness/study"
	"assay/results"
	"assay/results/stats"
	"assay/results/store"
	"assay/results/text"
	"assay/timing"
)

// bench is a store under construction, of one model, and of one judge of everything.
type bench struct {
	t     *testing.T
	st    *store.Store
	cases int

	tokens int // that the server counts of prompts; 0: it does not
}

func judges() map[string][]string {
	out := map[string][]string{}
	for _, r := range rubricNames() {
		out[r] = []string{"rules"}
	}
	return out
}

func newBench(t *testing.T) *bench {
	t.Helper()
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "run.sqlite"))
	b := &bench{t: t, st: st}
	b.must(err)
	t.Cleanup(func() { st.Close() })
	b.must(st.PutManifest(t.Context(), results.Manifest{Name: "test", Seed: 7, Rubrics: map[string]map[string][]string{studyName: judges()}}))
	return b
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) item(id string, f itemFacts) {
	b.t.Helper()
	facts, err := json.Marshal(f)
	b.must(err)
	b.must(b.st.PutItems(b.t.Context(), []results.Item{{Study: studyName, ID: id, Type: "diagnosis", Modality: "CT", Facts: facts}}))
}

// put puts a trial with an answer ("": a failure) and verdicts: rubric, JSON.
func (b *bench) put(item, arm, condition string, repeat int, answer string, said ...string) {
	b.t.Helper()
	k := results.Key{Study: studyName, Model: "m", Item: item, Arm: arm, Condition: condition, Repeat: repeat}
	a := results.Attempt{Started: time.Unix(1, 0), Failure: &results.Failure{Kind: "stalled", Message: "no"}}
	if answer != "" {
		a = results.Attempt{Started: time.Unix(1, 0), Output: &results.Output{Answer: answer, Finish: backends.FinishStop}, Turns: []results.Turn{{Answer: answer, Finish: backends.FinishStop}}}
	}
	if b.tokens > 0 && answer != "" {
		n := b.tokens
		a.Turns[0].Usage.PromptTokens = &n
	}
	b.must(b.st.PutTrial(b.t.Context(), results.Trial{Key: k, Inputs: "sha256:0", Attempts: []results.Attempt{a}}))
	for pair := range slices.Chunk(said, 2) {
		b.cases++
		c := results.Case{Digest: results.DigestOf([]byte(fmt.Sprint(b.cases))), Rubric: pair[0], Fields: []byte("{}")}
		b.must(b.st.PutCase(b.t.Context(), k, c))
		b.must(b.st.PutJudgment(b.t.Context(), results.Judgment{Case: c.Digest, Rubric: pair[0], Judge: "rules", Status: results.StatusClean, Verdict: []byte(pair[1])}))
	}
}

// answers puts the mcq answers of items a, b, ... under a condition: r right, w
// wrong, n none, f a failure.
func (b *bench) answers(condition string, repeat int, letters string) {
	b.t.Helper()
	for i, l := range letters {
		item := string(rune('a' + i))
		verdict := map[rune]string{'r': "correct", 'w': "incorrect", 'n': "no_answer"}[l]
		if l == 'f' {
			b.put(item, armMCQ, condition, repeat, "")
			continue
		}
		b.put(item, armMCQ, condition, repeat, "x", study.RubricAccuracy, `{"quote":"x","verdict":"`+verdict+`","why":""}`)
	}
}

func summarize(ctx context.Context, st *store.Store, judges map[string][]string, why study.NoDecode) ([]results.Section, error) {
	s, err := Study().With(nil, study.Choice{})
	if err != nil {
		return nil, err
	}
	return s.Summarize(ctx, st, judges, why)
}

func (b *bench) tables() map[string]results.Table {
	b.t.Helper()
	list, err := summarize(b.t.Context(), b.st, judges(), nil)
	b.must(err)
	out := map[string]results.Table{}
	for _, s := range list {
		for _, t := range s.Tables {
			out[strings.TrimPrefix(t.Name, "diagnosis-")] = t
		}
	}
	return out
}

// want is a cell's value, n, undefined and invalid; NaN: it does not exist.
type want struct {
	table, column string
	row           []string
	value         float64
	counts        [3]int
}

func checkDiagnosis(t *testing.T, tables map[string]results.Table, list []want) {
	t.Helper()
	for _, w := range list {
		e := score.FindEstimate(tables[w.table], w.column, append([]string{"m"}, w.row...)...)
		if e == nil {
			t.Errorf("%s %v %s is not there", w.table, w.row, w.column)
			continue
		}
		got := math.NaN()
		if e.Value != nil {
			got = *e.Value
		}
		if n := [3]int{e.N, e.Undefined, e.Invalid}; math.Abs(got-w.value) > 1e-9 || math.IsNaN(got) != math.IsNaN(w.value) || n != w.counts {
			t.Errorf("%s %v %s is %v %v (%s), want %v %v", w.table, w.row, w.column, got, n, e.Why, w.value, w.counts)
		}
		if e.Value == nil && e.Why == "" {
			t.Errorf("%s %v %s says no reason", w.table, w.row, w.column)
		}
	}
}

// TestAccuracyTables: accuracies, what texts add, repeats and sorts of cases, worked
// out by hand.
func TestAccuracyTables(t *testing.T) {
	b := newBench(t)
	yes, no := true, false
	b.item("a", itemFacts{Images: 1, Chapter: "2 Neoplasms", Rare: &yes})
	b.item("b", itemFacts{Images: 2, Chapter: "11 Digestive", Rare: &no})
	b.item("c", itemFacts{Images: 2, Chapter: "2 Neoplasms", Rare: &no})
	b.item("d", itemFacts{Images: 10})
	b.answers("baseline", 0, "rrwn")
	b.answers("baseline", 1, "rwwr")
	b.answers("expert-both", 0, "rrrw")
	b.answers("expert-both", 1, "rrrf")
	tables := b.tables()
	base, both := []string{"images alone"}, []string{"expert-both"}
	nan := math.NaN()
	checkDiagnosis(t, tables, []want{
		{"accuracy", "accuracy", base, 50, [3]int{8, 0, 0}},
		{"accuracy", "no_answer", base, 12.5, [3]int{8, 0, 0}},
		{"accuracy", "gain", base, nan, [3]int{}},
		{"accuracy", "accuracy", both, 100 * 6. / 7, [3]int{7, 0, 1}},
		{"accuracy", "gain", both, 100 * 3. / 7, [3]int{7, 0, 1}},
		{"accuracy", "ratio", both, 2, [3]int{7, 0, 1}},
		{"accuracy", "relative_gain", both, 100, [3]int{7, 0, 1}},
		{"repeats", "mean", both, 87.5, [3]int{2, 0, 0}},
		{"repeats", "sd", both, math.Sqrt(2) * 12.5, [3]int{2, 0, 0}},
		{"repeats", "sd", base, 0, [3]int{2, 0, 0}},
		{"repeats", "joint", base, 25, [3]int{4, 0, 0}},
		{"repeats", "joint", both, 100, [3]int{3, 1, 0}},
		{"repeats", "pass_2", base, 25, [3]int{4, 0, 0}},
		{"repeats", "pass_3", base, nan, [3]int{0, 4, 0}},
		{"images", "accuracy", []string{"1"}, 100, [3]int{2, 0, 0}},
		{"images", "accuracy", []string{"2"}, 25, [3]int{4, 0, 0}},
		{"images", "accuracy", []string{"10"}, 50, [3]int{2, 0, 0}},
		{"chapter", "accuracy", []string{"2 Neoplasms"}, 50, [3]int{4, 0, 0}},
		{"chapter", "accuracy", []string{"11 Digestive"}, 50, [3]int{2, 0, 0}},
		{"rare", "accuracy", []string{"common"}, 25, [3]int{4, 0, 0}},
		{"modality", "accuracy", []string{"CT"}, 50, [3]int{8, 0, 0}},
	})
	for name, want := range map[string][]string{"images": {"1", "2", "10"}, "chapter": {"2 Neoplasms", "11 Digestive"}} {
		var got []string
		for _, r := range tables[name].Rows {
			got = append(got, r[1].Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("rows by %s %v, want %v", name, got, want)
		}
	}
}

// TestWhichImageMatters: what leaving images out does, and whether explanations name
// the image, worked out by hand.
func TestWhichImageMatters(t *testing.T) {
	b := newBench(t)
	described := map[string]json.RawMessage{}
	for _, c := range expand(study.Choice{Conditions: []string{leaveOut}}) {
		one, err := json.Marshal(c)
		b.must(err)
		described[c.Name] = one
	}
	b.must(b.st.PutManifest(t.Context(), results.Manifest{Name: "test", Seed: 7, Rubrics: map[string]map[string][]string{studyName: judges()},
		Conditions: map[string]map[string]json.RawMessage{studyName: described}}))
	const says = "Image 1 shows it, image 12 nothing."
	right, wrong := `{"quote":"x","verdict":"correct","why":""}`, `{"quote":"x","verdict":"incorrect","why":""}`
	for i := range 40 {
		id := fmt.Sprintf("case %02d", i)
		b.item(id, itemFacts{Images: 2})
		b.tokens = 300
		b.put(id, armMCQ, "baseline", 0, says+" Final answer: A", study.RubricAccuracy, right)
		first, letter := wrong, "B"
		if i < 10 {
			first, letter = right, "A"
		}
		b.tokens = 200
		b.put(id, armMCQ, "LOO@1", 0, "Final answer: "+letter, study.RubricAccuracy, first)
		b.tokens = 250
		b.put(id, armMCQ, "LOO@2", 0, "Final answer: A", study.RubricAccuracy, right)
	}
	checkDiagnosis(t, b.tables(), []want{
		{"which", "accuracy", []string{"images alone"}, 100, [3]int{40, 0, 0}},
		{"which", "accuracy", []string{"one image less"}, 62.5, [3]int{80, 0, 0}},
		{"which", "gain", []string{"LOO@1"}, -75, [3]int{40, 0, 0}},
		{"which", "answer_changed", []string{"LOO@1"}, 75, [3]int{40, 0, 0}},
		{"which", "rightness_changed", []string{"LOO@1"}, 75, [3]int{40, 0, 0}},
		{"which", "answer_changed", []string{"LOO@2"}, 0, [3]int{40, 0, 0}},
		{"which", "named_moving", []string{"one image less"}, 100, [3]int{30, 0, 0}},
		{"which", "named_idle", []string{"LOO@1"}, 100, [3]int{10, 0, 0}},
		{"which", "named_idle", []string{"LOO@2"}, 0, [3]int{40, 0, 0}},
		{"which", "named_idle", []string{"one image less"}, 20, [3]int{50, 0, 0}},
		{"marginal", "accuracy", []string{"all"}, 100, [3]int{40, 0, 0}},
		{"marginal", "gain", []string{"all"}, 37.5, [3]int{80, 0, 0}},
		{"marginal", "gain", []string{"2"}, 37.5, [3]int{80, 0, 0}},
		{"marginal", "tokens", []string{"all"}, 75, [3]int{80, 0, 0}},
		{"marginal", "per_token", []string{"2"}, 500, [3]int{80, 0, 0}},
		{"marginal", "joules", []string{"all"}, math.NaN(), [3]int{0, 0, 80}},
		{"marginal", "per_joule", []string{"all"}, math.NaN(), [3]int{0, 0, 80}},
		{"images", "prompt_tokens", []string{"2"}, 300, [3]int{40, 0, 0}},
	})
	list, err := summarize(t.Context(), b.st, judges(), nil)
	b.must(err)
	at := slices.IndexFunc(list, func(s results.Section) bool { return s.Name == "diagnosis-which" })
	if want := []string{"m: no answer changed when an image other than the first was removed (0 of 40): the model may use the first image alone.",
		"m: its explanations name 100.0 % of the images whose removal changes the answer (n = 30), and 20.0 % of those whose removal does not (n = 50)."}; at < 0 || !slices.Equal(list[at].Notes, want) {
		t.Errorf("section %d has not the notes %q", at, want)
	}
}

// TestAnImageThatCostsNothingHasNoGainPerCost: of servers that count fewer tokens with all images.
func TestAnImageThatCostsNothingHasNoGainPerCost(t *testing.T) {
	b := newBench(t)
	one, err := json.Marshal(expand(study.Choice{Conditions: []string{leaveOut}})[1])
	b.must(err)
	b.must(b.st.PutManifest(t.Context(), results.Manifest{Name: "test", Seed: 7, Rubrics: map[string]map[string][]string{studyName: judges()},
		Conditions: map[string]map[string]json.RawMessage{studyName: {"LOO@1": one}}}))
	for i := range 40 { // of which 10 need the image
		id := fmt.Sprintf("case %02d", i)
		b.item(id, itemFacts{Images: 2})
		b.tokens = 200
		b.put(id, armMCQ, "baseline", 0, "Image 1 shows it. Final answer: A", study.RubricAccuracy, `{"quote":"x","verdict":"correct","why":""}`)
		b.tokens = 300
		if i < 10 {
			b.put(id, armMCQ, "LOO@1", 0, "Final answer: B", study.RubricAccuracy, `{"quote":"x","verdict":"incorrect","why":""}`)
		} else {
			b.put(id, armMCQ, "LOO@1", 0, "Final answer: A", study.RubricAccuracy, `{"quote":"x","verdict":"correct","why":""}`)
		}
	}
	tables := b.tables()
	checkDiagnosis(t, tables, []want{{"marginal", "gain", []string{"all"}, 25, [3]int{40, 0, 0}}, {"marginal", "tokens", []string{"all"}, -100, [3]int{40, 0, 0}}})
	if e := score.FindEstimate(tables["marginal"], "per_token", "m", "all"); e.Value != nil || e.Why != "without the image it costs no less" {
		t.Errorf("points per 1,000 tokens: %+v", e)
	}
	list, err := summarize(t.Context(), b.st, judges(), nil)
	b.must(err)
	for _, s := range list {
		for _, n := range s.Notes {
			if strings.Contains(n, "its explanations name") {
				t.Errorf("10 answers that changed are too few to say: %s", n)
			}
		}
	}
}

// TestChangedAnswers: an answer that goes from one wrong option to another has changed, and
// its rightness has not. 30 cases, gold A, of three images: answers B, and C, D, E without an
// image; in words, as a letter, and by the option's text.
func TestChangedAnswers(t *testing.T) {
	b := newBench(t)
	options := []dataset.Option{{Label: "A", Text: "Sarcoidosis"}, {Label: "B", Text: "Lymphoma"}, {Label: "C", Text: "Silicosis"}, {Label: "D", Text: "Fibrosis"}, {Label: "E", Text: "Pneumonia"}}
	const wrong = `{"quote":"x","verdict":"incorrect","why":""}`
	for i := range 30 {
		id := fmt.Sprintf("case %02d", i)
		b.item(id, itemFacts{Images: 3, Options: options})
		b.put(id, armMCQ, "baseline", 0, "<think>A?</think>It is not A. <answer>B</answer>", study.RubricAccuracy, wrong)
		b.put(id, armMCQ, "LOO@1", 0, "Final answer: C", study.RubricAccuracy, wrong)
		b.put(id, armMCQ, "LOO@2", 0, "Final answer: fibrosis", study.RubricAccuracy, wrong)
		last := "Final answer: B. Lymphoma"
		if i < 3 {
			last = "I cannot tell."
		}
		b.put(id, armMCQ, "LOO@3", 0, last, study.RubricAccuracy, wrong)
	}
	checkDiagnosis(t, b.tables(), []want{
		{"which", "answer_changed", []string{"LOO@1"}, 100, [3]int{30, 0, 0}},
		{"which", "answer_changed", []string{"LOO@2"}, 100, [3]int{30, 0, 0}},
		{"which", "answer_changed", []string{"LOO@3"}, 0, [3]int{27, 0, 3}},
		{"which", "answer_changed", []string{"one image less"}, 100 * 60. / 87, [3]int{87, 0, 3}},
		{"which", "rightness_changed", []string{"one image less"}, 0, [3]int{90, 0, 0}},
	})
	list, err := summarize(t.Context(), b.st, judges(), nil)
	b.must(err)
	for _, s := range list {
		if said := strings.Join(s.Notes, " "); strings.Contains(said, "none of") {
			t.Errorf("%s: %s", s.Name, said)
		}
	}
}

// TestChangedIsOfPairs: an answer whose pair is not there may have changed or not, and is
// counted as left out.
func TestChangedIsOfPairs(t *testing.T) {
	b := newBench(t)
	for _, id := range []string{"a", "b", "c", "d"} {
		b.item(id, itemFacts{Images: 2})
	}
	b.answers("baseline", 0, "rrrf")
	b.answers("LOO@1", 0, "rwfr")
	checkDiagnosis(t, b.tables(), []want{
		{"which", "gain", []string{"LOO@1"}, -50, [3]int{2, 0, 2}},
		{"which", "rightness_changed", []string{"LOO@1"}, 50, [3]int{2, 0, 2}},
		{"which", "answer_changed", []string{"LOO@1"}, math.NaN(), [3]int{0, 0, 4}}, // no answer names an option
	})
}

// TestJudgesAndExperts: kappa of a judge and experts, and between experts, by hand. With
// anna the judge has 4 yes-yes, 1 yes-no, 2 no-yes, 3 no-no; ben says as anna does but
// for the first case. Together 7, 3, 4, 6 of 20: they agree in .65, by chance in .5.
func TestJudgesAndExperts(t *testing.T) {
	b := newBench(t)
	at := 0
	for _, c := range []struct {
		n           int
		judge, anna bool
	}{{4, true, true}, {1, true, false}, {2, false, true}, {3, false, false}} {
		for range c.n {
			anna, ben := c.anna, c.anna && at > 0
			id := fmt.Sprintf("case %02d", at)
			b.item(id, itemFacts{Images: 2, Experts: []expertLabel{{Rater: "anna", Text: "the step.", Factual: &anna}, {Rater: "ben", Text: "The step.", Factual: &ben}}})
			for repeat := range 2 { // pairs of judge and expert again, of experts not
				b.put(id, armMCQ, "baseline", repeat, "x", study.RubricAccuracy, `{"quote":"x","verdict":"correct","why":""}`, rubricSplit, `{"steps":["The step.","More."]}`,
					errors, fmt.Sprintf(`{"steps":[{"step":1,"is_factual":%t,"is_critical":false,"error_types":[]}]}`, c.judge))
			}
			at++
		}
	}
	b.item("without labels", itemFacts{Images: 2})
	b.put("without labels", armMCQ, "baseline", 0, "x", study.RubricAccuracy, `{"quote":"x","verdict":"correct","why":""}`)
	with, between := []string{"rules", "experts"}, []string{"experts", "experts"}
	checkDiagnosis(t, b.tables(), []want{
		{"experts", "factual_pairs", with, 40, [3]int{20, 0, 0}},
		{"experts", "factual_agreement", with, 65, [3]int{20, 0, 0}},
		{"experts", "factual_kappa", with, .3, [3]int{20, 0, 0}},
		{"experts", "critical_kappa", with, math.NaN(), [3]int{20, 0, 0}},
		{"experts", "factual_pairs", between, 10, [3]int{10, 0, 0}},
		{"experts", "factual_agreement", between, 90, [3]int{10, 0, 0}},
		{"experts", "factual_kappa", between, .8, [3]int{10, 0, 0}},
	})
}

// TestMarginal: what an image adds to time and energy, worked out by hand; what is not
// known of one of two trials is not known of the image.
func TestMarginal(t *testing.T) {
	sample := func(ms, mj int, unknown string) score.Sample {
		d := time.Duration(ms) * time.Millisecond
		return score.Sample{Row: results.Row{Latency: &d, GPU: &results.Use{Energy: timing.Energy{Gross: timing.Millijoules(mj), Unknown: unknown}}}}
	}
	all, less := sample(900, 5000, ""), sample(650, 3500, "")
	failed := score.Sample{Row: results.Row{Failed: true}}
	moved := less
	moved.Flags = []results.Flag{results.FlagLoadInside}
	for _, c := range []struct {
		name          string
		without, with score.Sample
		gain          score.Value
		want          map[string]float64
	}{
		{"known", less, all, score.ValueOf(scoreGain, "", -1), map[string]float64{scoreImageTime: .25, scoreImageEnergy: 1.5, scoreImageGain: 1}},
		{"an energy is unknown", sample(650, 3500, "no counter"), all, score.ValueOf(scoreGain, "", 0), map[string]float64{scoreImageTime: .25, scoreImageGain: 0}},
		{"a time does not count", moved, all, score.ValueOf(scoreGain, "", 1), map[string]float64{scoreImageEnergy: 1.5, scoreImageGain: -1}},
		{"a failure", failed, all, score.Invalid(scoreGain, "", score.Failure), map[string]float64{}},
	} {
		got := map[string]float64{}
		for _, v := range marginal(c.without, c.with, c.gain) {
			if v.Number != nil {
				got[v.Name] = *v.Number
			} else if v.Why == "" || v.Undefined {
				t.Errorf("%s: %+v", c.name, v)
			}
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestLooks: what is said of a model from how often images move its answers.
func TestLooks(t *testing.T) {
	row := func(condition string, v, low, high float64, n int) []results.Cell {
		return []results.Cell{{Text: "m"}, {Text: condition}, {Estimate: &results.Estimate{Value: &v, Low: &low, High: &high, N: n}}}
	}
	for _, c := range []struct {
		name          string
		first, others []results.Cell
		p, more       float64 // of the test of 40 cases
		want          string
	}{
		{"all alike", row("LOO@1", 20, 10, 30, 40), row(otherLess, 18, 12, 24, 80), 0.7, 1, ""},
		{"intervals that meet", row("LOO@1", 40, 15, 50, 40), row(otherLess, 10, 5, 15, 80), 0.0021, 12,
			"m: 40.0 % of its answers changed when the first image was removed (n = 40), 10.0 % for any other image (n = 80; Holm p = 0.0021 over 40 cases that have both): the model uses the first image more than others."},
		{"not clearly, though intervals do not meet", row("LOO@1", 40, 30, 50, 40), row(otherLess, 10, 5, 15, 80), 0.06, 12, ""},
		{"the other way in cases that have both", row("LOO@1", 40, 30, 50, 40), row(otherLess, 10, 5, 15, 80), 0.01, -12, ""},
		{"the first alone", row("LOO@1", 40, 30, 50, 40), row(otherLess, 0, 0, 0, 80), 0.01, 12, "m: no answer changed when an image other than the first was removed (0 of 80): the model may use the first image alone."},
		{"none", row("LOO@1", 0, 0, 0, 40), row(otherLess, 0, 0, 0, 80), 1, 0, "m: no answer changed when an image was removed (0 of 120): the model may ignore the images."},
		{"all but the first", row("LOO@1", 0, 0, 0, 40), row(otherLess, 10, 5, 15, 80), 0.01, -12, ""},
		{"too few", row("LOO@1", 40, 30, 50, 19), row(otherLess, 0, 0, 0, 19), 0.01, 9, ""},
	} {
		table := results.Table{Columns: []results.Column{{Name: "model"}, {Name: "condition"}, {Name: "answer_changed"}}, Rows: [][]results.Cell{c.first, c.others}}
		first, others := c.first[2].Estimate, c.others[2].Estimate
		n := first.N + others.N
		table.Rows = append(table.Rows, row(anyLess, (*first.Value*float64(first.N)+*others.Value*float64(others.N))/float64(n), 0, 100, n))
		if got := strings.Join(looks([]*score.Model{{Name: "m"}}, table, func(*score.Model) score.Tested {
			return score.Tested{P: &results.Estimate{Value: &c.p, N: 40}, More: c.more}
		}), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	// Of two models each test counts as two.
	table := results.Table{Columns: []results.Column{{Name: "model"}, {Name: "condition"}, {Name: "answer_changed"}},
		Rows: [][]results.Cell{row("LOO@1", 40, 30, 50, 40), row(otherLess, 10, 5, 15, 80), row(anyLess, 20, 10, 30, 120)}}
	p := map[string]float64{"m": 0.03, "other": 0.6}
	for _, of := range []struct {
		models []*score.Model
		want   string
	}{{[]*score.Model{{Name: "m"}}, "Holm p = 0.030"}, {[]*score.Model{{Name: "m"}, {Name: "other"}}, ""}} {
		got := strings.Join(looks(of.models, table, func(m *score.Model) score.Tested {
			return score.Tested{P: &results.Estimate{Value: new(p[m.Name]), N: 40}, More: 12}
		}), " ")
		if !strings.Contains(got, of.want) || of.want == "" && got != "" {
			t.Errorf("%d models: %q, want %q", len(of.models), got, of.want)
		}
	}
}

// TestWithoutDoubt: points per joule stand only where an image costs energy for sure.
func TestWithoutDoubt(t *testing.T) {
	number := func(v, low float64) results.Cell {
		return results.Cell{Estimate: &results.Estimate{Value: &v, Low: &low, High: &v, N: 9}}
	}
	table := results.Table{Columns: []results.Column{{Name: "model"}, {Name: "images"}, {Name: "joules"}, {Name: "per_joule"}}}
	for i, low := range []float64{.1, 0, -.1} {
		table.Rows = append(table.Rows, []results.Cell{{Text: "m"}, {Text: fmt.Sprint(i)}, number(2, low), number(3, 1)})
	}
	table.Rows = append(table.Rows, []results.Cell{{Text: "m"}, {Text: "few"}, {Estimate: &results.Estimate{Value: new(float64)}}, number(3, 1)})
	withoutDoubt(table, "per_joule", "joules")
	for i, row := range table.Rows {
		e := row[3].Estimate
		if (e.Value != nil) != (i == 0) || (e.Why == "") != (i == 0) || (e.Low != nil) != (i == 0) || e.N != 9 {
			t.Errorf("row %d: %+v", i, e)
		}
	}
}

// TestJudgedTables: steps, texts and discussions, worked out by hand.
func TestJudgedTables(t *testing.T) {
	b := newBench(t)
	b.item("a", itemFacts{Images: 2, Captions: []string{"severe effusion on the left", ""}, Findings: "severe effusion on the left"})
	b.item("b", itemFacts{Images: 2})
	b.put("a", armMCQ, "baseline", 0, "x", study.RubricAccuracy, `{"quote":"x","verdict":"correct","why":""}`, rubricSplit, `{"steps":["one","two","three"]}`,
		errors, `{"steps":[{"step":1,"is_factual":true,"is_critical":true,"error_types":["other"]},{"step":2,"is_factual":false,"is_critical":true,"error_types":["image_understanding","reasoning","reasoning"]}]}`)
	b.put("b", armMCQ, "baseline", 0, "x", study.RubricAccuracy, `{"quote":"x","verdict":"incorrect","why":""}`, rubricSplit, `{"steps":["one","two"]}`,
		errors, `{"steps":[{"step":1,"is_factual":false,"is_critical":false,"error_types":["image_understanding"]},{"step":2,"is_factual":false,"is_critical":true,"error_types":[]}]}`)
	b.put("a", armCaptions, "baseline", 0, "Image 1: Severe effusion.\nImage 2: Nothing.")
	b.put("b", armCaptions, "baseline", 0, "Image 1: Nothing.")
	b.put("a", armFindings, "baseline", 0, "Severe effusion on the left.", report, `{"radgraph_f1":0.3,"bertscore":0.4,"chexbert":0.5}`)
	b.put("b", armFindings, "baseline", 0, "")
	b.put("a", armDiscussion, "baseline", 0, "Background: One. Two.\nOutcome:\nThree. Four.", sentences,
		`{"sentences":[{"section":"background","sentence":1,"factual":true},{"section":"background","sentence":2,"factual":false},{"section":"outcome","sentence":1,"factual":true}]}`,
		criteria, `{"overview":2,"pathophysiology":1,"imaging":0,"differentiation":2,"transfer":1,"total":10,"why":""}`)
	all, right, wrong := "all", "right", "wrong"
	nan := math.NaN()
	none := [3]int{}
	checkDiagnosis(t, b.tables(), []want{
		{"steps", "judged", []string{all, all}, 4, [3]int{2, 0, 0}},
		{"steps", "wrong", []string{all, all}, 75, [3]int{2, 0, 0}},
		{"steps", "image_understanding", []string{all, all}, 100 * 2. / 3, [3]int{2, 0, 0}},
		{"steps", "reasoning", []string{all, all}, 100 * 1. / 3, [3]int{2, 0, 0}},
		{"steps", "other", []string{all, all}, 100 * 1. / 3, [3]int{2, 0, 0}},
		{"steps", "wrong", []string{all, "critical"}, 100 * 2. / 3, [3]int{2, 0, 0}},
		{"steps", "image_understanding", []string{all, "critical"}, 50, [3]int{2, 0, 0}},
		{"steps", "wrong", []string{right, all}, 50, [3]int{1, 0, 0}},
		{"steps", "other", []string{right, all}, 0, [3]int{1, 0, 0}},
		{"steps", "wrong", []string{wrong, all}, 100, [3]int{1, 0, 0}},
		{"steps", "other", []string{wrong, "critical"}, 100, [3]int{1, 0, 0}},
		{"steps", "unjudged", []string{all, all}, 1, [3]int{2, 0, 0}},
		{"sentences", "unjudged", nil, 1, [3]int{1, 0, 0}},
		{"captions", "rouge_l", nil, 4. / 7, [3]int{1, 1, 0}},
		{"captions", "bleu_2", nil, math.Exp(1 - 5./2), [3]int{1, 1, 0}},
		{"findings", "rouge_l", nil, 1, [3]int{1, 1, 0}},
		{"findings", "radcliq", nil, text.RadCliQ(.3, .4, .5, 1), [3]int{1, 1, 0}},
		{"findings", "radcliq_inverse", nil, 1 / text.RadCliQ(.3, .4, .5, 1), [3]int{1, 1, 0}},
		{"sentences", "background", nil, 50, [3]int{1, 0, 0}},
		{"sentences", "outcome", nil, 100, [3]int{1, 0, 0}},
		{"sentences", "imaging", nil, nan, [3]int{1, 0, 0}},
		{"sentences", "pooled", nil, 100 * 2. / 3, [3]int{1, 0, 0}},
		{"criteria", "criteria_total", nil, 6, [3]int{1, 0, 0}},
		{"criteria", "imaging", nil, 0, [3]int{1, 0, 0}},
		{"accuracy", "gain", []string{"images alone"}, nan, none},
	})
}

// TestTextConditionsAreTested: sentences about texts go by the test of cases, corrected for all text conditions,
// whatever the interval says. Five cases of six that turn right are p = 1/32, six 1/64, and six about one image 1/2.
func TestTextConditionsAreTested(t *testing.T) {
	for _, c := range []struct {
		name, both string
		picture    string
		p, holm    float64
		want       string
	}{
		{"five of six", "rrrrrw", "", 1. / 32, 1. / 16, "m: captions and findings by experts do not clearly change accuracy ("},
		{"six of six", "rrrrrr", "", 1. / 64, 1. / 32, "m: captions and findings by experts raise accuracy ("},
		{"six about one image", "rrrrrr", "one", 1. / 2, 1, "m: captions and findings by experts do not clearly change accuracy ("},
	} {
		b := newBench(t)
		for i := range 6 {
			b.item(string(rune('a'+i)), itemFacts{Images: 1, Picture: c.picture})
		}
		b.answers("baseline", 0, "wwwwww")
		b.answers("expert-both", 0, c.both)
		b.answers("expert-hint", 0, "rwwwww")
		tables := b.tables()
		checkDiagnosis(t, tables, []want{{"accuracy", "p", []string{"expert-both"}, c.p, [3]int{6, 0, 0}}, {"accuracy", "p_holm", []string{"expert-both"}, c.holm, [3]int{6, 0, 0}},
			{"accuracy", "p", []string{"expert-hint"}, 1. / 2, [3]int{6, 0, 0}}, {"accuracy", "p", []string{"images alone"}, math.NaN(), [3]int{}}})
		list, err := summarize(t.Context(), b.st, judges(), nil)
		b.must(err)
		if said := strings.Join(list[0].Notes, "\n"); !strings.Contains(said, c.want) || !strings.Contains(said, fmt.Sprintf("n = 6 items, Holm p = %s", stats.Significant(c.holm, 2))) {
			t.Errorf("%s: %s", c.name, said)
		}
	}
}

// TestFirstImageIsTested: whether the first image changes more answers than the others is asked of each case.
func TestFirstImageIsTested(t *testing.T) {
	b := newBench(t)
	options := []dataset.Option{{Label: "A", Text: "Sarcoidosis"}, {Label: "B", Text: "Lymphoma"}}
	const right = `{"quote":"x","verdict":"correct","why":""}`
	for i := range 24 {
		id := fmt.Sprintf("case %02d", i)
		b.item(id, itemFacts{Images: 3, Options: options})
		for _, condition := range []string{"baseline", "LOO@1", "LOO@2", "LOO@3"} {
			answer := "Final answer: A"
			if condition == "LOO@1" && i < 9 || condition == "LOO@2" && i == 20 {
				answer = "Final answer: B"
			}
			b.put(id, armMCQ, condition, 0, answer, study.RubricAccuracy, right)
		}
	}
	list, err := summarize(t.Context(), b.st, judges(), nil)
	b.must(err)
	said := ""
	for _, s := range list {
		said += strings.Join(s.Notes, "\n")
	}
	// 9 cases of a whole one and one of half against: 3 of the 1024 choices of signs, as two are as far and count half.
	if want := "37.5 % of its answers changed when the first image was removed (n = 24), 2.1 % for any other image (n = 48; Holm p = 0.0029 over 24 cases that have both)"; !strings.Contains(said, want) {
		t.Errorf("%s\nwant %s", said, want)
	}
}
