package predictions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"assay/backends"
	"assay/harness/dataset"
	"assay/harness/export"
	"assay/harness/plan"
	"assay/harness/predictions"
	"assay/harness/score"
	"assay/results"
	"assay/results/sqlite"
)

// set has a question whose options have labels, one whose options have none, and an open one.
func set() *dataset.Dataset {
	return &dataset.Dataset{Name: "chest", Items: []dataset.Item{
		{ID: "q1", Question: "Which?\nA. left\nB. right", Options: []dataset.Option{{Label: "A", Text: "left"}, {Label: "B", Text: "right"}}, Answer: "B", Task: "side", Modality: "X-ray"},
		{ID: "q2", Question: "How much?", Options: []dataset.Option{{Text: "none"}, {Text: "severe"}}, Answer: "severe"},
		{ID: "q3", Question: "What \"is\"\tit?", Answer: "a <tube> & a wire"},
		{ID: "q4", Question: "Who?", Answer: "x"},
	}}
}

// nasty is an answer that separators, markup and workbooks would like to change.
const nasty = "line 1\nline \"2\"\tB, & <b>ü</b> \\n; =1+1"

// source is a run of models a and b/c: an answer, a failure, an answer, and nothing yet of q4.
func source() predictions.Source {
	cols := []results.FileColumn{{Name: "study"}, {Name: "model"}, {Name: "item"}, {Name: "arm"}, {Name: "condition"}, {Name: "repeat"}, {Name: "answer"},
		{Name: score.Answered, Kind: results.NumberColumn}, {Name: "failure", Kind: results.TextColumn}, {Name: "accuracy", Kind: results.NumberColumn}, {Name: "tokens", Kind: results.NumberColumn}, {Name: "path", Kind: results.TextColumn}, {Name: "bertscore", Kind: results.NumberColumn}}
	rows := func(visit func([]any) error) error {
		for _, m := range []string{"a", "b/c"} {
			for _, r := range [][]any{
				{"cot", m, "q3", "direct", "baseline", int64(0), nasty, 1.0, nil, 0.0, 7.0, "MF", 0.25},
				{"cot", m, "q1", "direct", "baseline", int64(0), "B", 1.0, nil, 1.0, nil, nil, 0.5},
				{"cot", m, "q2", "direct", "baseline", int64(0), nil, 0.0, "timeout", nil, nil, nil, nil},
			} {
				if err := visit(r); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return predictions.Source{Table: export.Table{Columns: cols, Rows: rows}, Sets: map[string]predictions.Set{"cot": {Name: "chest", Items: set().Items}},
		Names: map[string]string{"a": "a:7b"}, Better: map[string]score.Better{"accuracy": score.Higher, "tokens": score.Lower}, Created: time.Date(2026, 11, 22, 18, 0, 5, 0, time.UTC)}
}

func read(t *testing.T, format, path string) []predictions.Row {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, bad := predictions.Read(format, path, b, predictions.Columns{ID: "item", Answer: "answer"})
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	return rows
}

// TestVLMEvalKitFilesHaveItsForm: what VLMEvalKit at e8e78f0 writes (inference.py:245:
// the data's columns without image, and prediction) and looks for when it reads
// (smp/file.py: index and prediction; a failure holds its words), in both forms.
func TestVLMEvalKitFilesHaveItsForm(t *testing.T) {
	dir := t.TempDir()
	files, err := source().VLMEvalKit(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f.Path))
		if f.Answers != 2 || f.Failures != 1 {
			t.Errorf("%+v", f)
		}
		rows := read(t, predictions.FormatVLMEvalKit, f.Path)
		if len(rows) != 3 {
			t.Fatalf("%s: %d rows", f.Path, len(rows))
		}
		gold := []string{"B", "B", "a <tube> & a wire"} // of q2 the letter of its option
		for i, want := range []predictions.Row{{ID: "q1", Answer: "B"}, {ID: "q2", Failure: "Failed to obtain answer via API. (timeout)"}, {ID: "q3", Answer: nasty}} {
			if r := rows[i]; r.ID != want.ID || r.Answer != want.Answer || r.Failure != want.Failure || r.Gold == nil || *r.Gold != gold[i] {
				t.Errorf("%s: %+v, gold %v, want %+v", f.Path, r, r.Gold, want)
			}
		}
	}
	if want := []string{"a_chest.tsv", "a_chest.xlsx", "b__c_chest.tsv", "b__c_chest.xlsx"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	b, err := os.ReadFile(files[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	want := "index\tquestion\tA\tB\tanswer\tcategory\tl2-category\tprediction\nq1\t\"Which?\nA. left\nB. right\"\tleft\tright\tB\tside\tX-ray\tB\nq2\tHow much?\tnone\tsevere\tB\t\t\tFailed to obtain answer via API. (timeout)\n"
	if !strings.HasPrefix(string(b), want) {
		t.Errorf("%q", b)
	}
}

// TestALongAnswerHasNoWorkbook: a cell would cut it.
func TestALongAnswerHasNoWorkbook(t *testing.T) {
	for n, files := range map[int]int{32_767: 2, 32_768: 1} {
		s := source()
		s.Table.Rows = func(visit func([]any) error) error {
			return visit([]any{"cot", "a", "q1", "direct", "baseline", int64(0), strings.Repeat("x", n), 1.0, nil, nil, nil, nil})
		}
		got, err := s.VLMEvalKit(t.TempDir())
		if err != nil || len(got) != files {
			t.Errorf("%d characters: %v, %v", n, got, err)
		}
	}
}

// baselineScore is what lmms-eval takes a sample to have scored when the file is named by
// --baseline (baselines/loader.py:126): the first number whose key has "score" in it.
func baselineScore(t *testing.T, line []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(line))
	for {
		tok, err := d.Token()
		if err != nil {
			return err
		}
		if name, ok := tok.(string); ok && strings.Contains(name, "score") && d.More() {
			if v, err := d.Token(); err == nil {
				if f, ok := v.(float64); ok {
					return f
				}
			}
		}
	}
}

// TestLMMSEvalFilesPassTheSchemas that were made from its public code.
func TestLMMSEvalFilesPassTheSchemas(t *testing.T) {
	c := jsonschema.NewCompiler()
	schema := func(name string) *jsonschema.Schema {
		s, err := c.Compile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	sample, whole := schema("lmms-eval-sample.schema.json"), schema("lmms-eval-results.schema.json")
	dir := t.TempDir()
	files, err := source().LMMSEval(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		rel, err := filepath.Rel(dir, f.Path)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.ToSlash(rel))
	}
	if want := []string{"a/20261122_180005_samples_chest.jsonl", "a/20261122_180005_results.json", "b__c/20261122_180005_samples_chest.jsonl", "b__c/20261122_180005_results.json"}; !slices.Equal(names, want) {
		t.Fatalf("%v, want %v", names, want)
	}
	for i, f := range files { // each model's samples, then their means
		if f.Answers != 2 || f.Failures != 1 || f.Means != (i%2 == 1) {
			t.Errorf("%+v", f)
		}
	}
	rows := read(t, predictions.FormatLMMSEval, files[0].Path)
	if len(rows) != 2 || rows[0].ID != "0" || rows[0].Answer != "B" || rows[1].ID != "2" || rows[1].Answer != nasty || *rows[1].Gold != "a <tube> & a wire" {
		t.Errorf("%+v", rows)
	}
	b, err := os.ReadFile(files[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	var baselines []string
	for line := range bytes.Lines(b) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err == nil {
			err = sample.Validate(v)
		}
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		baselines = append(baselines, fmt.Sprint(baselineScore(t, line)))
	}
	if want := "[1 0]"; fmt.Sprint(baselines) != want {
		t.Errorf("as a baseline the answers score %v, want %s: their accuracy", baselines, want)
	}
	if b, err = os.ReadFile(files[1].Path); err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err == nil {
		err = whole.Validate(v)
	}
	if err != nil {
		t.Errorf("%s: %v", b, err)
	}
	var got struct {
		Results map[string]map[string]any
		Higher  map[string]map[string]bool `json:"higher_is_better"`
		Samples map[string]map[string]int  `json:"n-samples"`
		Config  map[string]any
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	// Of 1 and 0 the mean is a half and its standard error, of n-1, also; of one value there is none.
	r := got.Results["chest"]
	if r["accuracy,none"] != 0.5 || r["accuracy_stderr,none"] != 0.5 || r["tokens,none"] != 7.0 || r["tokens_stderr,none"] != "N/A" || got.Config["model"] != "a:7b" ||
		!got.Higher["chest"]["accuracy"] || got.Higher["chest"]["tokens"] || got.Samples["chest"]["original"] != 4 || got.Samples["chest"]["effective"] != 2 {
		t.Errorf("%s", b)
	}
	// The schemas can fail.
	for _, wrong := range []string{`{"doc_id": "0", "doc_hash": "", "target": "B", "input": "", "filtered_resps": "B"}`, `{"doc_id": 0, "target": "B", "input": "", "filtered_resps": "B"}`} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(wrong))
		if err != nil || sample.Validate(v) == nil {
			t.Errorf("passes: %s", wrong)
		}
	}
	if v, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.Replace(string(b), `"N/A"`, `"none"`, 1))); err != nil || whole.Validate(v) == nil {
		t.Error("a standard error in words passes")
	}
}

// TestEachGroupHasAFile: arms, conditions and repeats are not mixed under one index.
func TestEachGroupHasAFile(t *testing.T) {
	s := source()
	s.Table.Rows = func(visit func([]any) error) error {
		for _, arm := range []string{"direct", "cot"} {
			for n := range 2 {
				if err := visit([]any{"cot", "a", "q1", arm, "baseline", int64(n), fmt.Sprint(arm, n), 1.0, nil, nil, nil, nil}); err != nil {
					return err
				}
			}
		}
		return nil
	}
	files, err := s.VLMEvalKit(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range files {
		if strings.HasSuffix(f.Path, ".tsv") {
			got[filepath.Base(f.Path)] = read(t, predictions.FormatVLMEvalKit, f.Path)[0].Answer
		}
	}
	want := map[string]string{"a_chest-direct-repeat0.tsv": "direct0", "a_chest-direct-repeat1.tsv": "direct1", "a_chest-cot-repeat0.tsv": "cot0", "a_chest-cot-repeat1.tsv": "cot1"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v", got)
	}
	s.Sets = nil
	if _, err := s.VLMEvalKit(t.TempDir()); err == nil || !strings.Contains(err.Error(), "the data of study cot is not at hand") {
		t.Error(err)
	}
}

// TestModelsAlikeHaveFilesOfTheirOwn: names that would be one file, here or where case does not
// count, overwrote each other.
func TestModelsAlikeHaveFilesOfTheirOwn(t *testing.T) {
	models := []string{"llava:7b", "llava/7b", "LLaVA:7b", "other"}
	s := source()
	s.Table.Rows = func(visit func([]any) error) error {
		for _, m := range models {
			if err := visit([]any{"cot", m, "q1", "direct", "baseline", int64(0), "by " + m, 1.0, nil, nil, nil, nil}); err != nil {
				return err
			}
		}
		return nil
	}
	for format, write := range map[string]func(string) ([]predictions.File, error){predictions.FormatVLMEvalKit: s.VLMEvalKit, predictions.FormatLMMSEval: s.LMMSEval} {
		files, err := write(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		names, said := map[string]bool{}, map[string]bool{}
		for _, f := range files {
			if filepath.Ext(f.Path) == ".xlsx" || f.Means {
				continue
			}
			names[strings.ToLower(f.Path)] = true
			said[read(t, format, f.Path)[0].Answer] = true
		}
		if len(names) != len(models) || len(said) != len(models) {
			t.Errorf("%s: files %v have the answers %v", format, names, said)
		}
	}
}

// TestReadTakesWhatTheProgramsWrite: rows as they are, failures as failures.
func TestReadTakesWhatTheProgramsWrite(t *testing.T) {
	cases := []struct{ format, path, text, want string }{
		{"vlmevalkit", "m_d.tsv", "index\tquestion\tprediction\tthinking\n3.0\tq\tB\tso\n4\tq\t\t\n5\tq\tFailed to obtain answer via API. \t\n6\tq\t<think>Failed</think> 7\t\n",
			`2 "3" "B" "so" ""|3 "4" "" "" "the file has nothing in place of an answer"|4 "5" "" "" "Failed to obtain answer via API. "|5 "6" "<think>Failed</think> 7" "" ""`},
		{"vlmevalkit", "M_D.TSV", "\ufeffindex\tprediction\n1\t\"a \"\"b\"\"\nc\"\n2\td\n", `2 "1" "a \"b\"\nc" "" ""|4 "2" "d" "" ""`},
		{"lmms-eval", "s.jsonl", `{"doc_id": 0, "target": "x", "filtered_resps": ["B"], "resps": [["I think B"]], "score": NaN}` + "\n\n" + `{"doc_id": 12, "filtered_resps": "says: NaN"}` + "\n" + `{"doc_id": 2, "filtered_resps": [""]}` + "\n",
			`1 "0" "I think B" "" ""|3 "12" "says: NaN" "" ""|4 "2" "" "" "the file has nothing in place of an answer"`},
		// Python's words for what is no number are none inside a text.
		{"lmms-eval", "s.jsonl", `{"doc_id": 1, "target": "p: NaN", "resps": [["ratio: NaN, \": NaN, \\"]], "score": NaN, "more": [0.5, NaN, {"a":-Infinity}], "b":Infinity}` + "\n" + `{"doc_id": 3, "resps": [["ratio: NaN"]], "score": NaN}`, `1 "1" "ratio: NaN, \": NaN, \\" "" ""|2 "3" "ratio: NaN" "" ""`},
		{"csv", "a.csv", "item,arm,repeat,condition,answer,reasoning,failure,gold\nq1,cot,1,sham,B,\"because, so\",,\nq2,,,,left over,,timeout,x\n",
			`2 "q1" "B" "because, so" "" cot sham 1|3 "q2" "" "" "timeout"`},
	}
	for _, c := range cases {
		rows, bad := predictions.Read(c.format, c.path, []byte(c.text), predictions.Columns{ID: "item", Answer: "answer"})
		var got []string
		for _, r := range rows {
			s := fmt.Sprintf("%d %q %q %q %q", r.Line, r.ID, r.Answer, r.Reasoning, r.Failure)
			if r.Repeat != nil {
				s += fmt.Sprintf(" %s %s %d", r.Arm, r.Condition, *r.Repeat)
			}
			got = append(got, s)
		}
		if len(bad) > 0 || strings.Join(got, "|") != c.want {
			t.Errorf("%s:\n%s\nwant\n%s\n%v", c.path, strings.Join(got, "|"), c.want, bad)
		}
	}
}

// TestReadSaysWhereItIsWrong: file, line, what was expected and found, all at once.
func TestReadSaysWhereItIsWrong(t *testing.T) {
	cases := []struct{ format, path, text, want string }{
		{"vlmevalkit", "a.tsv", "index\tanswer\n1\tB\n", `a.tsv:1: expected a column "prediction", found the columns index, answer`},
		{"vlmevalkit", "a.tsv", "index\tprediction\n1\tB\tC\n\tD\n2\n", "a.tsv:2: expected 2 fields, as the first row has, found 3|a.tsv:4: expected 2 fields, as the first row has, found 1"},
		{"vlmevalkit", "a.tsv", "index\tprediction\n \tD\n", "a.tsv:2: index: expected the index of a question, found none"},
		{"vlmevalkit", "a.tsv", "index\tprediction\n1\t\"B\n", `a.tsv:2: expected separated values, a text with a quote in it between quotes, found extraneous or missing " in quoted-field`},
		{"vlmevalkit", "a.pkl", "", `a.pkl: expected a file that ends in .xlsx or .tsv, as VLMEvalKit writes it, found ".pkl"`},
		{"vlmevalkit", "a.tsv", "", "a.tsv:1: expected a row of column names, found nothing"},
		{"csv", "a.csv", "item,item,answer\n", `a.csv:1: "item": expected each column once, found it again`},
		{"csv", "a.csv", "item,answer\nq,\xff\n", "a.csv:2: expected text in UTF-8, found the byte 0xff"},
		{"csv", "a.csv", "item,answer,repeat\nq,x,-1\n,x,\n", `a.csv:2: repeat: expected a number from 0, found "-1"|a.csv:3: item: expected an item, found none`},
		{"lmms-eval", "s.jsonl", `{"doc_id": 1.5, "resps": ["x"]}` + "\n[]\n" + `{"doc_id": 1}` + "\n" + `{"doc_id": 2, "resps": ["a", "b"]}` + "\n{", "s.jsonl:1: $.doc_id: expected the place of a question in its data set, from 0, found the number 1.5|s.jsonl:2: $: expected an object, found a list of 0|" +
			"s.jsonl:3: $: expected resps or filtered_resps, found the keys doc_id|s.jsonl:4: $.resps: expected one answer, found several, or none that is a text|s.jsonl:5:"},
		{"json", "a.json", "", `a.json: expected one of the formats vlmevalkit, lmms-eval, csv, found "json"`},
	}
	for _, c := range cases {
		_, bad := predictions.Read(c.format, c.path, []byte(c.text), predictions.Columns{ID: "item", Answer: "answer"})
		var got []string
		for _, p := range bad {
			got = append(got, p.Error())
		}
		if s := strings.Join(got, "|"); !strings.HasPrefix(s, c.want) || len(bad) != strings.Count(c.want, "|")+1 {
			t.Errorf("%q:\n%s\nwant\n%s", c.text, s, c.want)
		}
	}
}

func planned(arms ...string) *plan.Plan {
	b := plan.Block{Model: "gpt"}
	for _, id := range []string{"q1", "q2", "q3"} { // q4 is not planned
		for _, arm := range arms {
			b.Trials = append(b.Trials, plan.Trial{Key: results.Key{Study: "cot", Model: "gpt", Item: id, Arm: arm, Condition: "baseline"}})
		}
	}
	return &plan.Plan{Blocks: []plan.Block{{Model: "other"}, b}}
}

// TestJoinFindsTrials: by name or place, gold answers by text, label or letter.
func TestJoinFindsTrials(t *testing.T) {
	gold := func(s string) *string { return &s }
	two := 2
	rows := []predictions.Row{{Line: 2, ID: "q1", Answer: "B", Gold: gold("right")}, {Line: 3, ID: "q2", Failure: "no", Gold: gold("b")}, {Line: 4, ID: "q4", Answer: "x"},
		{Line: 5, ID: "q1", Answer: "C", Arm: "cot"}, {Line: 6, ID: "q1", Answer: "C", Repeat: &two}}
	j, bad := predictions.Join("f", rows, predictions.Target{Study: "cot", Model: "gpt", Arm: "direct"}, planned("direct", "cot"), set())
	if len(bad) > 0 || j.Answers != 2 || j.Failures != 1 || j.Unplanned != 2 || j.Missing != 3 {
		t.Fatalf("%+v, %v", j, bad)
	}
	if a := j.Trials[1].Attempts[0]; a.Output != nil || a.Failure.Kind != "imported" || a.Failure.Message != "no" || j.Trials[1].Key.Item != "q2" {
		t.Errorf("%+v", j.Trials[1])
	}
	if a := j.Trials[0].Attempts[0]; a.Turns != nil || a.Output.Answer != "B" || !a.Started.IsZero() || j.Trials[0].Inputs != "" {
		t.Errorf("something is known of an answer that was made elsewhere: %+v", j.Trials[0])
	}
	j, bad = predictions.Join("f", []predictions.Row{{Line: 1, ID: "2", Answer: "x"}}, predictions.Target{Study: "cot", Model: "gpt", ByPlace: true}, planned("direct"), set())
	if len(bad) > 0 || len(j.Trials) != 1 || j.Trials[0].Key.Item != "q3" || j.Trials[0].Key.Arm != "direct" {
		t.Errorf("%+v, %v", j, bad)
	}

	wrong := []predictions.Row{{Line: 2, ID: "q9", Answer: "x"}, {Line: 3, ID: "q1", Answer: "x", Gold: gold("left")}, {Line: 4, ID: "q3", Answer: "x"}, {Line: 5, ID: "q3", Answer: "y"}}
	_, bad = predictions.Join("f", wrong, predictions.Target{Study: "cot", Model: "gpt"}, planned("direct"), set())
	want := []string{`f:2: expected an item of data set chest (as "q1"), found "q9"`,
		`f:3: expected the gold answer of item q1, "B" (--any-gold where only its wording differs: a file of other questions must not be judged by these), found "left"`,
		"f:5: expected each trial once (arm direct, condition baseline, repeat 0), found item q3 again (first on line 4)"}
	for i, p := range bad {
		if i >= len(want) || p.Error() != want[i] {
			t.Errorf("%v", p)
		}
	}
	if len(bad) != len(want) {
		t.Errorf("%v", bad)
	}
	if j, bad = predictions.Join("f", wrong[1:2], predictions.Target{Study: "cot", Model: "gpt", AnyGold: true}, planned("direct"), set()); len(bad) > 0 || j.Answers != 1 {
		t.Errorf("%+v, %v", j, bad)
	}
	if _, bad = predictions.Join("f", wrong[2:], predictions.Target{Study: "cot", Model: "gpt"}, planned("direct", "cot"), set()); len(bad) != 1 || !strings.Contains(bad[0].Error(), "--arm, because study cot has several") {
		t.Errorf("%v", bad)
	}
	left := set()
	left.Problems = []dataset.Problem{{}}
	if _, bad = predictions.Join("f", wrong[2:], predictions.Target{Study: "cot", Model: "gpt", ByPlace: true}, planned("direct"), left); len(bad) != 1 || !strings.Contains(bad[0].Error(), "places count all rows, found 1 that were left out") {
		t.Errorf("%v", bad)
	}
}

// TestPutKeepsWhatIsThere: the same again changes nothing, an answer mends a failure,
// another answer is refused, and who made it elsewhere is stored.
func TestPutKeepsWhatIsThere(t *testing.T) {
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "s.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	k := func(item string) results.Key {
		return results.Key{Study: "cot", Model: "gpt", Item: item, Arm: "direct", Condition: "baseline"}
	}
	if err := st.PutItems(t.Context(), []results.Item{{Study: "cot", ID: "q1"}, {Study: "cot", ID: "q2"}}); err != nil {
		t.Fatal(err)
	}
	answer := func(item, text string) results.Trial {
		return results.Trial{Key: k(item), Attempts: []results.Attempt{{Output: &results.Output{Answer: text}}}}
	}
	fail := results.Trial{Key: k("q2"), Attempts: []results.Attempt{{Failure: &results.Failure{Kind: predictions.Failure, Message: "no"}}}}
	by := predictions.Elsewhere("gpt-4o")
	put := func(trials ...results.Trial) (int, error) {
		return predictions.Put(t.Context(), st, trials, by, func() error { return nil })
	}
	for i, step := range []struct {
		trials []results.Trial
		stored int
		refuse bool
	}{{[]results.Trial{answer("q1", "B"), fail}, 2, false}, {[]results.Trial{answer("q1", "B"), fail}, 0, false}, {[]results.Trial{answer("q2", "A"), answer("q1", "C")}, 0, true}, {[]results.Trial{answer("q2", "A")}, 1, false}} {
		n, err := put(step.trials...)
		if n != step.stored || (err != nil) != step.refuse {
			t.Fatalf("step %d: %d, %v", i, n, err)
		}
	}
	tr, ok, err := st.Trial(t.Context(), k("q2"))
	if err != nil || !ok || len(tr.Attempts) != 2 || tr.Attempts[1].Output.Answer != "A" || tr.Attempts[1].Served != results.ServedBy(by) {
		t.Errorf("%+v, %v", tr, err)
	}
	for row, err := range st.Rows(t.Context(), "cot") {
		if err != nil || row.TTFT != nil || row.Latency != nil || row.Decode != nil || row.ServerTotal != nil || row.PromptTokens != nil || row.CompletionTokens != nil || row.GPU != nil || row.CPU != nil {
			t.Errorf("%+v, %v", row, err)
		}
	}
	var served string
	ok, err = st.File().One(t.Context(), "reading who served", "SELECT identity FROM served WHERE digest = ?", []any{string(results.ServedBy(by))}, &served)
	var who backends.Identity
	if err != nil || !ok || json.Unmarshal([]byte(served), &who) != nil || who != (backends.Identity{Server: "made elsewhere", Model: "gpt-4o"}) {
		t.Errorf("%s, %v", served, err)
	}
}

// FuzzRead: whatever stands in a file, a row names an item and has either an answer or
// why there is none; what cannot be read is said with its place.
func FuzzRead(f *testing.F) {
	for i, s := range []string{"index\tprediction\n1\tB\n", "item,answer,repeat,failure\nq,x,0,\n", `{"doc_id": 0, "target": "x", "filtered_resps": ["B"], "resps": [["I think B"]], "score": NaN}`, "index\tprediction\n1\t\"a\nb\"\n\n", "\ufeffitem,answer\r\nq,\"x\r\ny\"\r\n", "{\"doc_id\":-0,\"resps\":[[[\"\"]]]}\n\n{}"} {
		f.Add(uint8(i), s)
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		format := predictions.Formats()[int(which)%3]
		rows, bad := predictions.Read(format, "f.tsv", []byte(text), predictions.Columns{ID: "item", Answer: "answer"})
		last := 0
		for _, r := range rows {
			if r.ID == "" || (r.Failure == "") == (strings.TrimSpace(r.Answer) == "") {
				t.Errorf("%+v", r)
			}
			if r.Line <= last || r.Line > strings.Count(text, "\n")+1 {
				t.Errorf("line %d after %d, in %d lines", r.Line, last, strings.Count(text, "\n")+1)
			}
			last = r.Line
		}
		for _, p := range bad {
			if p.Want == "" || p.Got == "" || p.Row > strings.Count(text, "\n")+1 {
				t.Errorf("%+v", p)
			}
		}
	})
}
