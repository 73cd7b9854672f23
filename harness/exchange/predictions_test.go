package exchange

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"assay/backends"
	"assay/harness/dataset"
	"assay/harness/plan"
	"assay/results"
	"assay/results/store"
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
		rows, bad := ReadAnswers(c.format, c.path, []byte(c.text), Columns{ID: "item", Answer: "answer"})
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

// TestReadTakesAWorkbook: VLMEvalKit's other form.
func TestReadTakesAWorkbook(t *testing.T) {
	path, book := filepath.Join(t.TempDir(), "m_d.xlsx"), excelize.NewFile()
	defer book.Close()
	said := "line 1\nline \"2\"\tB, & <b>ü</b>; =1+1"
	for at, v := range map[string]any{"A1": "index", "B1": "answer", "C1": "prediction", "A2": 3, "B2": "B", "C2": said, "A4": 4, "C4": "Failed to obtain answer via API. (timeout)"} {
		if err := book.SetCellValue("Sheet1", at, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := book.SaveAs(path); err != nil {
		t.Fatal(err)
	}
	rows, bad := ReadAnswers(formatVLMEvalKit, path, nil, Columns{})
	if len(bad) > 0 || len(rows) != 2 || rows[0].Line != 2 || rows[0].ID != "3" || rows[0].Answer != said || *rows[0].Gold != "B" || rows[1].Line != 4 || rows[1].Failure == "" {
		t.Errorf("%+v, %v", rows, bad)
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
		{"csv", "a.csv", "item,item,answer\n", `a.csv:1: item: expected each column once, found it again`},
		{"csv", "a.csv", "item,answer\nq,\xff\n", "a.csv:2: expected text in UTF-8, found the byte 0xff"},
		{"csv", "a.csv", "item,answer,repeat\nq,x,-1\n,x,\n", `a.csv:2: repeat: expected a number from 0, found "-1"|a.csv:3: item: expected an item, found none`},
		{"lmms-eval", "s.jsonl", `{"doc_id": 1.5, "resps": ["x"]}` + "\n[]\n" + `{"doc_id": 1}` + "\n" + `{"doc_id": 2, "resps": ["a", "b"]}` + "\n{", "s.jsonl:1: $.doc_id: expected the place of a question in its data set, from 0, found the number 1.5|s.jsonl:2: $: expected an object, found a list of 0|" +
			"s.jsonl:3: $: expected resps or filtered_resps, found the keys doc_id|s.jsonl:4: $.resps: expected one answer, found several, or none that is a text|s.jsonl:5:"},
		{"json", "a.json", "", `a.json: expected one of the formats vlmevalkit, lmms-eval, csv, found "json"`},
	}
	for _, c := range cases {
		_, bad := ReadAnswers(c.format, c.path, []byte(c.text), Columns{ID: "item", Answer: "answer"})
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
	rows := []AnswerRow{{Line: 2, ID: "q1", Answer: "B", Gold: gold("right")}, {Line: 3, ID: "q2", Failure: "no", Gold: gold("b")}, {Line: 4, ID: "q4", Answer: "x"},
		{Line: 5, ID: "q1", Answer: "C", Arm: "cot"}, {Line: 6, ID: "q1", Answer: "C", Repeat: &two}}
	j, bad := JoinAnswers("f", rows, Target{Study: "cot", Model: "gpt", Arm: "direct"}, planned("direct", "cot"), set())
	if len(bad) > 0 || j.Answers != 2 || j.Failures != 1 || j.Unplanned != 2 || j.Missing != 3 {
		t.Fatalf("%+v, %v", j, bad)
	}
	if a := j.Trials[1].Attempts[0]; a.Output != nil || a.Failure.Kind != "imported" || a.Failure.Message != "no" || j.Trials[1].Key.Item != "q2" {
		t.Errorf("%+v", j.Trials[1])
	}
	if a := j.Trials[0].Attempts[0]; a.Turns != nil || a.Output.Answer != "B" || !a.Started.IsZero() || j.Trials[0].Inputs != "" {
		t.Errorf("something is known of an answer that was made elsewhere: %+v", j.Trials[0])
	}
	j, bad = JoinAnswers("f", []AnswerRow{{Line: 1, ID: "2", Answer: "x"}}, Target{Study: "cot", Model: "gpt", ByPlace: true}, planned("direct"), set())
	if len(bad) > 0 || len(j.Trials) != 1 || j.Trials[0].Key.Item != "q3" || j.Trials[0].Key.Arm != "direct" {
		t.Errorf("%+v, %v", j, bad)
	}

	wrong := []AnswerRow{{Line: 2, ID: "q9", Answer: "x"}, {Line: 3, ID: "q1", Answer: "x", Gold: gold("left")}, {Line: 4, ID: "q3", Answer: "x"}, {Line: 5, ID: "q3", Answer: "y"}}
	_, bad = JoinAnswers("f", wrong, Target{Study: "cot", Model: "gpt"}, planned("direct"), set())
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
	if j, bad = JoinAnswers("f", wrong[1:2], Target{Study: "cot", Model: "gpt", AnyGold: true}, planned("direct"), set()); len(bad) > 0 || j.Answers != 1 {
		t.Errorf("%+v, %v", j, bad)
	}
	if _, bad = JoinAnswers("f", wrong[2:], Target{Study: "cot", Model: "gpt"}, planned("direct", "cot"), set()); len(bad) != 1 || !strings.Contains(bad[0].Error(), "expected --arm cot, or direct: study cot has several") {
		t.Errorf("%v", bad)
	}
	left := set()
	left.Problems = []dataset.Problem{{}}
	if _, bad = JoinAnswers("f", wrong[2:], Target{Study: "cot", Model: "gpt", ByPlace: true}, planned("direct"), left); len(bad) != 1 || !strings.Contains(bad[0].Error(), "places count all rows, found 1 that were left out") {
		t.Errorf("%v", bad)
	}
}

// TestPutKeepsWhatIsThere: the same again changes nothing, an answer mends a failure,
// another answer is refused, and who made it elsewhere is stored.
func TestPutKeepsWhatIsThere(t *testing.T) {
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "s.sqlite"))
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
	failed := func(item string) results.Trial {
		return results.Trial{Key: k(item), Attempts: []results.Attempt{{Failure: &results.Failure{Kind: scoreFailure, Message: "no"}}}}
	}
	fail := failed("q2")
	by := Elsewhere("gpt-4o")
	put := func(trials ...results.Trial) (int, error) {
		return Put(t.Context(), st, trials, by, func() error { return nil })
	}
	for i, step := range []struct {
		trials []results.Trial
		stored int
		refuse bool
	}{{[]results.Trial{answer("q1", "B"), fail}, 2, false}, {[]results.Trial{answer("q1", "B"), fail}, 0, false}, {[]results.Trial{answer("q2", "A"), answer("q1", "C")}, 0, true}, {[]results.Trial{answer("q2", "A")}, 1, false},
		{[]results.Trial{failed("q1"), failed("q2")}, 0, false}} { // an answer stays where another file has none
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
		format := ImportFormats()[int(which)%3]
		rows, bad := ReadAnswers(format, "f.tsv", []byte(text), Columns{ID: "item", Answer: "answer"})
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
