package agree

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/harness/dataset"
	"assay/harness/experiment"
	"assay/harness/study"
	"assay/results"
	"assay/results/stats"
	"assay/results/store"
	"assay/timing"
)

// TestMain has garbage collected less often: what these tests make is small and soon gone.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

// bench is a store of study faithfulness: items under sham and a leaked answer, judged
// on CF, CA and CT by good and bad.
type bench struct {
	t    *testing.T
	path string
	st   *store.Store
	rng  stats.SplitMix64
	// truth is 1..5 by axis and answer.
	truth map[string]map[results.Key]int
}

const items = 24

// Axes of study faithfulness.
const axisCF, axisCA, axisCT, axisCC = "CF", "CA", "CT", "CC"

func conditions() []string { return []string{"sham", "TB-LA-"} }

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOf(t, 0)
}

// newBenchOf has so many items in a row share their image; 0: none.
func newBenchOf(t *testing.T, share int) *bench {
	t.Helper()
	b := &bench{t: t, path: filepath.Join(t.TempDir(), "run.sqlite"), rng: 7, truth: map[string]map[results.Key]int{}}
	st, err := store.Open(t.Context(), b.path)
	b.must(err)
	t.Cleanup(func() { st.Close() })
	b.st = st
	proto, err := experiment.NewStudy("faithfulness", nil, study.Choice{Conditions: conditions()})
	b.must(err)
	judges := []string{"good", "bad"}
	b.must(st.PutManifest(t.Context(), results.Manifest{Name: "toy", Seed: 11, Conditions: map[string]map[string]json.RawMessage{"faithfulness": proto.Described},
		Rubrics: map[string]map[string][]string{"faithfulness": {"CF": judges, "CA": judges, "CT": judges}}}))
	for i := range items {
		it := dataset.Item{ID: fmt.Sprintf("i%02d", i), Type: []string{"binary", "ordinal"}[i%2], Question: "q", Answer: "yes",
			Options: []dataset.Option{{Text: "yes"}, {Text: "no"}}, Knowledge: &dataset.Knowledge{}}
		if share > 0 {
			it.Picture = fmt.Sprint("image ", i/share)
		}
		facts, err := proto.Facts(11, it)
		b.must(err)
		facts.Study = "faithfulness"
		b.must(st.PutItems(t.Context(), []results.Item{facts}))
		b.answer(it.ID, "baseline")
		for _, c := range conditions() {
			k := b.answer(it.ID, c)
			for _, axis := range []string{axisCF, axisCA, axisCT} {
				truth := 1 + b.rng.Index(5)
				if b.truth[axis] == nil {
					b.truth[axis] = map[results.Key]int{}
				}
				b.truth[axis][k] = truth
				b.judge(k, axis, "good", b.near(truth, 8))
				b.judge(k, axis, "bad", 1+b.rng.Index(5))
			}
		}
	}
	return b
}

// near is a grade that is off by one with chance one in n.
func (b *bench) near(x, n int) int {
	if b.rng.Index(n) == 0 {
		x += 2*b.rng.Index(2) - 1
	}
	return min(5, max(1, x))
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) answer(item, condition string) results.Key {
	b.t.Helper()
	rec := timing.NewRecorder(timing.NewClock())
	k := results.Key{Study: "faithfulness", Model: "m", Item: item, Arm: "structured", Condition: condition}
	text := "because of " + k.Name() + " <answer>yes</answer>"
	b.must(b.st.PutTrial(b.t.Context(), results.Trial{Key: k, Inputs: "sha256:0", Attempts: []results.Attempt{{Started: time.Unix(1, 0),
		Turns: []results.Turn{{Answer: text, Finish: backends.FinishStop, Trace: rec.Trace()}}, Output: &results.Output{Answer: text, Finish: backends.FinishStop}}}}))
	return k
}

func caseOf(k results.Key, rubric string) results.Case {
	return results.Case{Digest: results.DigestOf([]byte(rubric), []byte(k.Name())), Rubric: rubric, Fields: []byte(`{"question":"what is there?","reasoning":"x"}`)}
}

// judge puts a verdict; score 0: the reply was of no use.
func (b *bench) judge(k results.Key, rubric, judge string, score int) {
	b.t.Helper()
	c := caseOf(k, rubric)
	b.must(b.st.PutCase(b.t.Context(), k, c))
	j := results.Judgment{Case: c.Digest, Rubric: rubric, Judge: judge, Status: results.StatusClean, Verdict: fmt.Appendf(nil, `{"abstain":false,"score":%d,"quotes":[]}`, score)}
	if score == 0 {
		j.Status, j.Verdict = results.StatusParse, nil
	}
	b.must(b.st.PutJudgment(b.t.Context(), j))
}

// rate makes a file of one rater's ratings of answers under the names given, off by one
// with chance one in noise.
func (b *bench) rate(rater string, noise int, name func(results.Key, string) string) File {
	var out strings.Builder
	fmt.Fprintln(&out, "case,rater,axis,score")
	for _, axis := range []string{axisCF, axisCA, axisCT} {
		keys := slices.SortedFunc(mapsKeys(b.truth[axis]), func(x, y results.Key) int { return strings.Compare(x.Name(), y.Name()) })
		for _, k := range keys {
			if as := name(k, axis); as != "" {
				fmt.Fprintf(&out, "%s,%s,%s,%d\n", as, rater, axis, b.near(b.truth[axis][k], noise))
			}
		}
	}
	return File{Path: rater + ".csv", Content: []byte(out.String())}
}

func mapsKeys(m map[results.Key]int) func(func(results.Key) bool) {
	return func(yield func(results.Key) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func byCase(k results.Key, axis string) string { return string(caseOf(k, axis).Digest) }

func (b *bench) sections(files ...File) ([]results.Section, results.Manifest) {
	b.t.Helper()
	secs, man, err := Sections(b.t.Context(), b.st, files, Options{Draws: 100}, func(man results.Manifest) error { return b.st.PutManifest(context.Background(), man) })
	b.must(err)
	return secs, man
}

// cellOf is the estimate of a column in the row that begins with some texts.
func cellOf(t *testing.T, secs []results.Section, table, column string, begins ...string) *results.Estimate {
	t.Helper()
	for _, s := range secs {
		for _, tab := range s.Tables {
			if tab.Name != "faithfulness-agree-"+table {
				continue
			}
			j := slices.IndexFunc(tab.Columns, func(c results.Column) bool { return c.Name == column })
			for _, row := range tab.Rows {
				var texts []string
				for _, c := range row {
					if c.Estimate == nil {
						texts = append(texts, c.Text)
					}
				}
				if j >= 0 && len(texts) >= len(begins) && slices.Equal(texts[:len(begins)], begins) {
					if row[j].Estimate == nil {
						return &results.Estimate{Why: row[j].Text}
					}
					return row[j].Estimate
				}
			}
		}
	}
	t.Fatalf("no %s of %v in table %s", column, begins, table)
	return nil
}

// TestAgreement: ratings are joined with what judges gave, and the figures are those of
// the two side by side.
func TestAgreement(t *testing.T) {
	b := newBench(t)
	files := []File{b.rate("anna", 10, byCase), b.rate("ben", 4, byCase), b.rate("cem", 6, byCase)}
	secs, man := b.sections(files...)
	for _, judge := range []string{"good", "bad"} {
		for _, axis := range []string{axisCF, axisCA, axisCT} {
			got := cellOf(t, secs, "tau", "tau", judge, axis)
			// Again from the files and the verdicts.
			var r stats.Ratings
			var judged []stats.Rating
			keys := slices.SortedFunc(mapsKeys(b.truth[axis]), func(x, y results.Key) int { return strings.Compare(x.Name(), y.Name()) })
			for i, f := range files {
				r = append(r, make([]stats.Rating, len(keys)))
				for line := range strings.Lines(string(f.Content)) {
					parts := strings.Split(strings.TrimSpace(line), ",")
					for c, k := range keys {
						if parts[0] == byCase(k, axis) {
							r[i][c] = stats.Rating{Value: float64(parts[3][0] - '0'), Given: true}
						}
					}
				}
			}
			for _, k := range keys {
				said, err := b.st.JudgmentsOf(t.Context(), k)
				b.must(err)
				for _, j := range said {
					var v struct{ Score float64 }
					if j.Rubric == axis && j.Judge == judge && json.Unmarshal(j.Verdict, &v) == nil {
						judged = append(judged, stats.Rating{Value: v.Score, Given: true})
					}
				}
			}
			z, _ := r.Standard()
			x, y, _ := stats.Both(judged, z.Consensus(nil))
			want, _ := stats.Kendall(x, y)
			if got.N != len(keys) || got.Value == nil || math.Abs(*got.Value-want.Value) > 1e-12 || *got.Low >= *got.Value || *got.High <= *got.Value {
				t.Errorf("%s, %s: tau %+v, want %v of %d", judge, axis, got, want.Value, len(keys))
			}
			if p := cellOf(t, secs, "tau", "p", judge, axis); math.Abs(*p.Value-want.P) > 1e-12 {
				t.Errorf("%s, %s: p %v, want %v", judge, axis, *p.Value, want.P)
			}
		}
	}
	for _, judge := range []string{"good", "bad"} {
		var mean float64
		for _, axis := range []string{axisCF, axisCA, axisCC} {
			mean += *cellOf(t, secs, "tau", "tau", judge, axis).Value / 3
		}
		if got := cellOf(t, secs, "macro", "macro", judge); math.Abs(*got.Value-mean) > 1e-12 {
			t.Errorf("macro tau of %s: %v, want %v", judge, *got.Value, mean)
		}
	}
	if good, bad := cellOf(t, secs, "macro", "macro", "good"), cellOf(t, secs, "macro", "macro", "bad"); *good.Value < 0.7 || *bad.Value > 0.3 {
		t.Errorf("macro tau of the good judge %v, of the bad one %v", *good.Value, *bad.Value)
	}
	if e := cellOf(t, secs, "macro", "behind", "bad"); e.High == nil || *e.High > -0.2 {
		t.Errorf("the bad judge is behind by %+v", e)
	}
	// Every answer is in a part, half of each condition, and stays there.
	parts := man.People.Splits["faithfulness"].Parts
	n := map[string]int{}
	for k := range b.truth[axisCF] {
		n[k.Condition+" "+parts[nameOf(k)]]++
	}
	if len(n) != 4 || n["sham dev"] != items/2 || n["sham test"] != items/2 || n["TB-LA- dev"] != items/2 {
		t.Errorf("parts: %v", n)
	}
	_, again := b.sections(files[0])
	for name, part := range again.People.Splits["faithfulness"].Parts {
		if parts[name] != part {
			t.Errorf("answer %s moved to %s", name, part)
		}
	}
	// Under sham, CA of 3 and more is a false alarm.
	claims := 0
	for k, x := range b.truth[axisCA] {
		said, _ := b.st.JudgmentsOf(t.Context(), k)
		for _, j := range said {
			var v struct{ Score int }
			if j.Rubric == axisCA && j.Judge == "good" && json.Unmarshal(j.Verdict, &v) == nil && k.Condition == "sham" && v.Score >= 3 {
				claims++
			}
		}
		_ = x
	}
	if e := cellOf(t, secs, "gates", "sham_claims", "good", "macro"); e.N != items || math.Abs(*e.Value-100*float64(claims)/items) > 1e-9 {
		t.Errorf("false alarms %+v, want %d of %d", e, claims, items)
	}
	if e := cellOf(t, secs, "gates", "point", "good", "CF"); e.Why != "pass" {
		t.Errorf("a judge without a fault: %s", e.Why)
	}
	if e := cellOf(t, secs, "gates", "sham_claims", "good", "CF"); e.Value != nil || e.Why != "false alarms are of the axis CA alone" {
		t.Errorf("false alarms of CF: %+v", e)
	}
	if e := cellOf(t, secs, "gates", "point", "good", "macro"); e.Why != "fail: sham" {
		t.Errorf("a judge with false alarms: %s", e.Why)
	}
	// Nobody was drawn at random.
	if i := slices.IndexFunc(secs, func(s results.Section) bool { return s.Name == "faithfulness-agree-corrected" }); len(secs[i].Tables) > 0 || !strings.Contains(secs[i].Intro, "not drawn at random") {
		t.Errorf("corrected without a draw: %+v", secs[i])
	}
}

// TestAgreementByText: the reader study names no case; what was rated and is not in
// the store counts among people alone.
func TestAgreementByText(t *testing.T) {
	b := newBench(t)
	var files []File
	for _, rater := range []string{"r1", "r2"} {
		var out bytes.Buffer
		for i, k := range []results.Key{{Study: "faithfulness", Model: "m", Item: "i00", Arm: "structured", Condition: "sham"}, {Study: "faithfulness", Model: "m", Item: "i01", Arm: "structured", Condition: "sham"},
			{Study: "faithfulness", Model: "m", Item: "gone", Arm: "structured", Condition: "sham"}} {
			fmt.Fprintf(&out, `{"cot_with_hint":"because of\n %s  <answer>yes</answer>","model_name":"m","modification_type":"x","completeness_score":%d,"helpfulness_score":3}`+"\n", k.Name(), i+1)
		}
		files = append(files, File{Path: rater + ".jsonl", Content: out.Bytes()})
	}
	secs, _ := b.sections(files...)
	if e := cellOf(t, secs, "tau", "tau", "good", "CF"); e.N != 2 {
		t.Errorf("tau of %d answers, want 2", e.N)
	}
	if e := cellOf(t, secs, "ceiling", "left_out", "CF", "r1"); e.N != 3 || *e.Value != 1 {
		t.Errorf("raters among themselves: %+v", e)
	}
	if e := cellOf(t, secs, "ceiling", "left_out", "helpfulness", "r1"); e.Value != nil || !strings.Contains(e.Why, "equal") {
		t.Errorf("a rater who always says 3: %+v", e)
	}
	if w := secs[0].Warnings; len(w) != 1 || !strings.Contains(w[0], "4 ratings are of no answer") {
		t.Errorf("warnings: %q", w)
	}
}

// TestATextRatedTwice: files of the shape of the published reader study, 131 lines, of which
// two have the same text under a heatmap and under a box, are 130 cases, and the report says so
// once.
func TestATextRatedTwice(t *testing.T) {
	b := newBench(t)
	var files []File
	for r, rater := range []string{"r1", "r2"} {
		var out bytes.Buffer
		for i := range 131 {
			text, condition := fmt.Sprintf("because of %d <answer>yes</answer>", i%130), "heatmap"
			if i < 2 {
				text = "because of\n " + results.Key{Study: "faithfulness", Model: "m", Item: fmt.Sprintf("i%02d", i), Arm: "structured", Condition: "sham"}.Name() + "  <answer>yes</answer>"
			}
			if i == 130 {
				text, condition = "because of 7 <answer>yes</answer>", "box"
			}
			fmt.Fprintf(&out, `{"cot_with_hint":%q,"model_name":"m","modification_type":%q,"completeness_score":%d,"bias_acknowledgment_score":%d,"confidence_score":%d}`+"\n", text, condition, 1+(i+r)%5, 1+i%3, 1+(i*i+r)%5)
		}
		files = append(files, File{Path: rater + ".jsonl", Content: out.Bytes()})
	}
	secs, _ := b.sections(files...)
	for axis, want := range map[string]int{"CF": 130, "CA": 130, "CT": 130} {
		if e := cellOf(t, secs, "ceiling", "left_out", axis, "r1"); e.N != want || e.Value == nil {
			t.Errorf("%s: raters among themselves: %+v, want %d", axis, e, want)
		}
	}
	if e := cellOf(t, secs, "tau", "tau", "good", "CF"); e.N != 2 {
		t.Errorf("tau of %d answers, want 2", e.N)
	}
	said := 0
	for _, s := range secs {
		for _, w := range s.Warnings {
			if strings.Contains(w, "mean of a rater's ratings") && strings.Contains(w, "(r1.jsonl:8, r2.jsonl:8)") {
				said++
			}
		}
	}
	if said != 1 {
		t.Errorf("said %d times: %q", said, secs[0].Warnings)
	}
}

// TestGradesAreOfPairs: the grades beside a kappa are those of the answers that it rests
// on, whatever else the judge or the rater graded.
func TestGradesAreOfPairs(t *testing.T) {
	b := newBench(t)
	k := results.Key{Study: "faithfulness", Model: "m", Item: "i00", Arm: "structured", Condition: "sham"}
	l := k
	l.Item = "i01"
	secs, _ := b.sections(b.rate("all", 8, byCase), File{"two.csv", fmt.Appendf(nil, "case,axis,score\n%s,CF,1\n%s,CF,5\n", byCase(k, "CF"), byCase(l, "CF"))})
	judges := 0
	for _, s := range secs {
		for _, table := range s.Tables {
			for _, row := range table.Rows {
				if !strings.HasSuffix(table.Name, "-kappa") || row[2].Text != "two" {
					continue
				}
				at := len(row) - 2 // the rater's, then the judge's
				if row[at].Text != "50 0 0 0 50" || strings.Trim(row[at+1].Text, "150 ") != "" {
					t.Errorf("%s of two answers: grades %q and %q", row[0].Text, row[at].Text, row[at+1].Text)
				}
				judges++
			}
		}
	}
	if judges != 2 {
		t.Errorf("%d judges beside the rater, want 2", judges)
	}
}

// TestRatersWhoTellNothingApart: nothing is computed of ratings that are all equal.
func TestRatersWhoTellNothingApart(t *testing.T) {
	b := newBench(t)
	k := results.Key{Study: "faithfulness", Model: "m", Item: "i00", Arm: "structured", Condition: "sham"}
	l := k
	l.Item = "i01"
	secs, _ := b.sections(File{"x.csv", fmt.Appendf(nil, "case,axis,score\n%s,CF,3\n%s,CF,3\n", byCase(k, "CF"), byCase(l, "CF"))})
	for _, column := range []string{"tau", "p", "tau_crossed", "tau_dev"} {
		if e := cellOf(t, secs, "tau", column, "good", "CF"); e.Value != nil || e.Why == "" {
			t.Errorf("%s: %+v", column, e)
		}
	}
}

// TestDraw: whole items are drawn, two of each stratum and more, the same by the same
// seed; what raters are shown says neither model nor condition.
func TestDraw(t *testing.T) {
	b := newBench(t)
	var out bytes.Buffer
	w := Drawing{By: "type", Items: 10, Seed: 5}
	draw, err := Draw(t.Context(), b.st, w, &out)
	b.must(err)
	if len(draw.Strata) != 2 || draw.Strata[0].Drawn != 5 || draw.Strata[0].Items != 12 || len(draw.Cases) != 20 || draw.Strata[0].Probability() != 5./12 {
		t.Fatalf("%+v: %d cases", draw.Strata, len(draw.Cases))
	}
	byItem := map[string]int{}
	for _, c := range draw.Cases {
		byItem[c.Key.Item]++
		if !slices.Contains(conditions(), c.Key.Condition) {
			t.Errorf("%s is drawn, and no judge is asked about it", c.Key.Name())
		}
	}
	for item, n := range byItem {
		if n != 2 {
			t.Errorf("item %s has %d of its 2 answers", item, n)
		}
	}
	if text := out.String(); strings.Count(text, "\n") != 20 || !strings.Contains(text, `"question":"what is there?"`) || strings.Contains(text, `"model"`) || strings.Contains(text, `"condition"`) {
		t.Errorf("%.300s", text)
	}
	// Raters see them in the order of their codes, which tells neither item nor condition.
	var order []string
	for line := range strings.Lines(out.String()) {
		var shown struct{ Case string }
		b.must(json.Unmarshal([]byte(line), &shown))
		order = append(order, shown.Case)
	}
	apart := 0
	for i, c := range draw.Cases {
		if c.Case != order[i] {
			t.Errorf("case %d is %s, and %s is shown", i, c.Case, order[i])
		}
		if i%2 == 1 && c.Key.Item != draw.Cases[i-1].Key.Item {
			apart++
		}
	}
	if !slices.IsSorted(order) || apart < 5 {
		t.Errorf("raters see %q, %d items apart", order, apart)
	}
	man, _, err := b.st.Manifest(t.Context())
	b.must(err)
	if len(man.People.Draws) != 1 || len(man.People.Draws[0].Cases) != 20 {
		t.Error("the draw is not kept")
	}
	again, err := Draw(t.Context(), b.st, w, &bytes.Buffer{})
	b.must(err)
	if !slices.Equal(again.Cases, draw.Cases) {
		t.Error("the same seed draws others")
	}
	w.Seed = 6
	other, err := Draw(t.Context(), b.st, w, &bytes.Buffer{})
	b.must(err)
	if slices.EqualFunc(other.Cases, draw.Cases, func(a, b results.Drawn) bool { return a.Key == b.Key }) {
		t.Error("another seed draws the same")
	}
	w.Items = 11 // of two strata of 12
	odd, err := Draw(t.Context(), b.st, w, &bytes.Buffer{})
	b.must(err)
	if odd.Strata[0].Drawn != 6 || odd.Strata[1].Drawn != 5 || len(odd.Cases) != 22 {
		t.Errorf("11 items are %+v: %d cases", odd.Strata, len(odd.Cases))
	}
	for _, bad := range []Drawing{{By: "type", Items: 3}, {By: "type", Items: 60}, {Study: "cot", By: "none", Items: 4}, {By: "none", Items: 4, Models: []string{"none"}}} {
		if _, err := Draw(t.Context(), b.st, bad, &bytes.Buffer{}); err == nil {
			t.Errorf("%+v is drawn", bad)
		} else if _, ok := err.(*RefusedError); !ok {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestCalibrationIsOfOtherItems: what raters learn the scales by is no label, of one
// answer to an item, and leaves what is drawn as it was.
func TestCalibrationIsOfOtherItems(t *testing.T) {
	b := newBench(t)
	w := Drawing{By: "type", Items: 10, Seed: 5}
	plain, err := Draw(t.Context(), b.st, w, &bytes.Buffer{})
	b.must(err)
	for want, asked := range map[int]int{0: 0, 4: 4, 14: 14, 3: -3} {
		w.Calibration = asked
		draw, err := Draw(t.Context(), b.st, w, &bytes.Buffer{})
		b.must(err)
		if len(draw.Calibration) != want || !slices.Equal(draw.Cases, plain.Cases) {
			t.Fatalf("%d asked for: %d, beside %d cases", asked, len(draw.Calibration), len(draw.Cases))
		}
		seen := map[string]bool{}
		for _, c := range draw.Cases {
			seen[c.Key.Item] = true
		}
		for _, c := range draw.Calibration {
			if seen[c.Key.Item] {
				t.Errorf("item %s is drawn, or learnt by twice", c.Key.Item)
			}
			seen[c.Key.Item] = true
		}
	}
	w.Calibration = 15
	if _, err := Draw(t.Context(), b.st, w, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "there are 14") {
		t.Errorf("15 of 14: %v", err)
	}
}

// TestMinutes: 100 words and two grades take 50 s, twice that 1 min 40 s, which is 2 minutes.
func TestMinutes(t *testing.T) {
	line := fmt.Sprintf(`{"case":"a","question":%q,"answer":"yes","reasoning":%q,"axes":["CF","CA"]}`+"\n", strings.Repeat("word ", 49), strings.Repeat("word ", 50))
	if n, err := Minutes(strings.NewReader(line + line)); n != 2 || err != nil {
		t.Errorf("%d minutes (%v)", n, err)
	}
	if _, err := Minutes(strings.NewReader("{")); err == nil {
		t.Error("half a line is read")
	}
}

// TestTwoStages: of the answers to drawn items as many are drawn as raters are to see, each with the same probability,
// which is kept, and evenly over items.
func TestTwoStages(t *testing.T) {
	b := newBench(t)
	var out bytes.Buffer
	draw, err := Draw(t.Context(), b.st, Drawing{By: "type", Items: 10, Cases: 7, Seed: 5}, &out)
	b.must(err)
	if len(draw.Cases) != 7 || strings.Count(out.String(), "\n") != 7 || draw.Within != 7./20 || draw.Strata[0].Drawn != 5 {
		t.Errorf("%d cases, probability %v within items: %+v", len(draw.Cases), draw.Within, draw.Strata)
	}
	items := map[string]int{}
	for _, c := range draw.Cases {
		if items[c.Key.Item]++; items[c.Key.Item] > 1 {
			t.Errorf("both answers to item %s are drawn, of others none", c.Key.Item)
		}
	}
	for _, c := range []int{0, 20, 60} {
		if draw, err = Draw(t.Context(), b.st, Drawing{By: "type", Items: 10, Cases: c, Seed: 5}, &out); err != nil || len(draw.Cases) != 20 || draw.Within != 0 {
			t.Errorf("at most %d: %d cases, probability %v within items (%v)", c, len(draw.Cases), draw.Within, err)
		}
	}
	// Over all places to begin at each answer is drawn equally often.
	all := make([]results.Drawn, 20)
	for i := range all {
		all[i].Case = fmt.Sprint(i)
	}
	often := map[string]int{}
	for start := range uint64(20) {
		for _, c := range evenly(all, 7, start) {
			often[c.Case]++
		}
	}
	for _, c := range all {
		if often[c.Case] != 7 {
			t.Errorf("answer %s is drawn %d times of 20, want 7", c.Case, often[c.Case])
		}
	}
}

// TestCorrectedOfTwoStages: the mean of a model over all arms and conditions is corrected by the answers that were drawn
// within items; answers to one item are one cluster, whether they were drawn or not.
func TestCorrectedOfTwoStages(t *testing.T) {
	b := newBench(t)
	draw, err := Draw(t.Context(), b.st, Drawing{By: "none", Items: 16, Cases: 20, Seed: 2}, &bytes.Buffer{})
	b.must(err)
	names := map[results.Key]string{}
	for _, c := range draw.Cases {
		names[c.Key] = c.Case
	}
	secs, _ := b.sections(b.rate("anna", 1<<40, func(k results.Key, _ string) string { return names[k] }))
	got := cellOf(t, secs, "corrected", "corrected", "CF", "bad", "m", "all", "all")
	x := stats.Stratum{Share: 1}
	for i := range items {
		for _, condition := range conditions() {
			k := results.Key{Study: "faithfulness", Model: "m", Item: fmt.Sprintf("i%02d", i), Arm: "structured", Condition: condition}
			said, err := b.st.JudgmentsOf(t.Context(), k)
			b.must(err)
			var v struct{ Score float64 }
			for _, j := range said {
				if j.Rubric == axisCF && j.Judge == "bad" {
					b.must(json.Unmarshal(j.Verdict, &v))
				}
			}
			f := 25 * (v.Score - 1)
			if names[k] == "" {
				x.Unlabelled, x.OtherOf = append(x.Unlabelled, f), append(x.OtherOf, i)
			} else {
				x.Labels, x.Judged, x.LabelOf = append(x.Labels, 25*float64(b.truth[axisCF][k]-1)), append(x.Judged, f), append(x.LabelOf, i)
			}
		}
	}
	want := stats.Correct([]stats.Stratum{x}, stats.CrossFitted)
	if got.Value == nil || math.Abs(*got.Value-*want.Value) > 1e-9 || math.Abs(*got.Low-*want.Low) > 1e-9 || math.Abs(*got.High-*want.High) > 1e-9 || got.N != 2*items {
		t.Errorf("corrected %+v, want %v [%v, %v]", got, *want.Value, *want.Low, *want.High)
	}
}

// TestCorrected: labels of what was drawn correct the means of what was not.
func TestCorrected(t *testing.T) {
	b := newBench(t)
	_, err := Draw(t.Context(), b.st, Drawing{By: "type", Items: 12, Seed: 3}, &bytes.Buffer{})
	b.must(err)
	draw, err := Draw(t.Context(), b.st, Drawing{By: "type", Items: 12, Seed: 2}, &bytes.Buffer{}) // the last one counts
	b.must(err)
	drawn := func(k results.Key, _ string) string {
		for _, c := range draw.Cases {
			if c.Key == k {
				return c.Case
			}
		}
		return ""
	}
	// Every report has the same from what the comparison kept.
	report := func() results.Section {
		man, _, err := b.st.Manifest(t.Context())
		b.must(err)
		again, err := Corrected(t.Context(), b.st, man)
		b.must(err)
		if len(again) != 1 {
			t.Fatalf("%d sections", len(again))
		}
		return again[0]
	}
	if s := report(); len(s.Tables) != 0 || !strings.Contains(s.Intro, "no ratings of them were read yet") {
		t.Errorf("before the ratings are kept: %+v", s)
	}
	const never = 1 << 40 // off
	secs, _ := b.sections(b.rate("anna", never, drawn))
	got := cellOf(t, secs, "corrected", "corrected", "CF", "bad", "m", "structured", "sham")
	var strata []stats.Stratum
	for _, s := range draw.Strata {
		x := stats.Stratum{Share: 0.5}
		for i := range items {
			k := results.Key{Study: "faithfulness", Model: "m", Item: fmt.Sprintf("i%02d", i), Arm: "structured", Condition: "sham"}
			if []string{"binary", "ordinal"}[i%2] != s.Name {
				continue
			}
			said, err := b.st.JudgmentsOf(t.Context(), k)
			b.must(err)
			var v struct{ Score float64 }
			for _, j := range said {
				if j.Rubric == axisCF && j.Judge == "bad" {
					b.must(json.Unmarshal(j.Verdict, &v))
				}
			}
			f := 25 * (v.Score - 1)
			if drawn(k, "") == "" {
				x.Unlabelled = append(x.Unlabelled, f)
			} else {
				x.Labels, x.Judged = append(x.Labels, 25*float64(b.truth[axisCF][k]-1)), append(x.Judged, f)
			}
		}
		strata = append(strata, x)
	}
	want := stats.Correct(strata, stats.CrossFitted)
	if got.Value == nil || math.Abs(*got.Value-*want.Value) > 1e-9 || math.Abs(*got.Low-*want.Low) > 1e-9 || got.N != items {
		t.Errorf("corrected %+v, want %+v", got, want)
	}
	compared, kept := b.sections(b.rate("anna", never, drawn))
	at := slices.IndexFunc(compared, func(s results.Section) bool { return s.Name == "faithfulness-agree-corrected" })
	if one, two := fmt.Sprint(jsonOf(t, compared[at].Tables)), fmt.Sprint(jsonOf(t, report().Tables)); one != two || len(report().Tables) != 1 {
		t.Errorf("a report has\n%s\nwant\n%s", two, one)
	}
	for _, l := range kept.People.Labels["faithfulness"] {
		if l.Raters != 1 || l.Score < 0 || l.Score > 1 {
			t.Errorf("label %+v", l)
		}
	}
	b.must(b.st.PutManifest(t.Context(), func() results.Manifest { kept.People.Draws = nil; return kept }()))
	if s := report(); len(s.Tables) != 0 || !strings.Contains(s.Intro, "no answers were drawn") {
		t.Errorf("without a draw: %+v", s)
	}
	kept.People.Draws = []results.Draw{draw}
	b.must(b.st.PutManifest(t.Context(), kept))
	people := stats.Correct(strata, stats.FixedWeight(0))
	if e := cellOf(t, secs, "corrected", "people", "CF", "bad", "m", "structured", "sham"); math.Abs(*e.Value-*people.Value) > 1e-9 || e.N != 12 {
		t.Errorf("people alone %+v, want %+v", e, people)
	}
	// An answer that was drawn and has no rating is said to be missing.
	lost := draw.Cases[0].Key
	secs, _ = b.sections(b.rate("anna", never, func(k results.Key, axis string) string {
		if k == lost {
			return ""
		}
		return drawn(k, axis)
	}))
	if e := cellOf(t, secs, "corrected", "corrected", "CF", "bad", "m", "structured", lost.Condition); e.Value == nil || math.IsNaN(*e.Value) || e.Invalid != 1 || e.N != items-1 {
		t.Errorf("without a label of one answer: %+v", e)
	}
	i := slices.IndexFunc(secs, func(s results.Section) bool { return s.Name == "faithfulness-agree-corrected" })
	if w := secs[i].Warnings; len(w) != 1 || !strings.Contains(w[0], "1 of 24 answers") {
		t.Errorf("warnings %q", w)
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestAgreementRefuses: what is wrong with files is said at once.
func TestAgreementRefuses(t *testing.T) {
	b := newBench(t)
	for name, c := range map[string]struct {
		files []File
		want  []string
	}{
		"two files": {[]File{{"a.csv", []byte("case,axis,score\naaaaaaaaaaaa,CF,9\n")}, {"b.csv", []byte("case,axis,score\naaaaaaaaaaaa,XX,1\n")}}, []string{"a.csv:2: score", "b.csv:2: axis"}},
		"the same answer under two names": {[]File{{"a.csv", fmt.Appendf(nil, "case,rater,axis,score\n%s,x,CF,1\n", byCase(results.Key{Study: "faithfulness", Model: "m", Item: "i00", Arm: "structured", Condition: "sham"}, "CF"))},
			{"b.csv", fmt.Appendf(nil, "case,rater,axis,score\n%s,x,CF,1\n", byCase(results.Key{Study: "faithfulness", Model: "m", Item: "i00", Arm: "structured", Condition: "sham"}, "CA"))}}, []string{"b.csv:2: x rated the same answer on CF before, at a.csv:2"}},
	} {
		_, _, err := Sections(t.Context(), b.st, c.files, Options{Draws: 100}, func(results.Manifest) error { return nil })
		for _, w := range c.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, want %s", name, err, w)
			}
		}
	}
}

// TestStrataAreDrawnInProportion: of 22 items in proportion, of each stratum at least two. 9
// were refused with the words "expected 6 or more, found 9".
func TestStrataAreDrawnInProportion(t *testing.T) {
	strata := map[string][]string{"large": make([]string, 15), "middle": make([]string, 5), "small": make([]string, 2)}
	for want, drawn := range map[int][3]int{6: {2, 2, 2}, 9: {5, 2, 2}, 11: {7, 2, 2}, 12: {8, 2, 2}, 13: {9, 2, 2}} {
		got, err := share(strata, want, 22)
		for i, name := range []string{"large", "middle", "small"} {
			if err != nil || got[i].Name != name || got[i].Drawn != drawn[i] || got[i].Items != len(strata[name]) {
				t.Errorf("%d items: %+v, %v, want %v", want, got, err, drawn)
			}
		}
	}
	if got, err := share(strata, 5, 22); err == nil || !strings.Contains(err.Error(), "expected 6 or more, found 5") {
		t.Errorf("5 items: %+v, %v", got, err)
	}
}
