package exchange

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset/table"
	"assay/results"
	"assay/results/store"
)

func problemsOf(list []table.Problem) string {
	var out []string
	for _, p := range list {
		out = append(out, p.Error())
	}
	return strings.Join(out, "\n")
}

// TestParse: what is no number is none, never 0; what is wrong is said where it stands.
func TestParse(t *testing.T) {
	for _, c := range []struct{ file, rows, wrong string }{
		{"study_id,x\n0,0.5\n1,\n2,nan\n3,-1e3\n", "0=0.5 1=none 2=none 3=-1000", ""},
		{"x,other,study_id\n0.25,a,7.0\n", "7=0.25", ""},
		{"\xef\xbb\xbfstudy_id,x\r\nv1.0, 3 \r\n", "v1.0=3", ""},
		{`{"study_id": 0, "x": 0.5}` + "\n\n" + `{"study_id": "1", "x": null, "more": [1]}` + "\n" + `{"study_id": 2, "x": NaN}`, "0=0.5 1=none 2=none", ""},
		{`{"study_id":"v: NaN","x":NaN}` + "\n" + `{"study_id": 3, "x":Infinity}`, "v: NaN=none", "f:2: x: expected a finite number"},
		{"study_id,y\n0,1\n", "", "f:1: x: expected a column of this name, one of study_id, y"},
		{"study_id,x\n0,high\n1,inf\n,2\n", "", "f:2: x: expected a finite number|f:3: x: expected a finite|f:4: study_id: expected an id"},
		{"study_id,x\n0,1\n0.0,2\n", "0=1", "f:3: study_id: expected each id once, found \"0\" again (first on line 2)"},
		{"study_id,x\n0,1,2\n1,1\n", "1=1", "f:2: expected 2 fields"},
		{`{"study_id": 0}` + "\n" + `{"study_id": 1, "x": [1]}` + "\n" + `{"study_id": 2, "x": "0.5"}`, "2=0.5", "f:1: $.x: expected this key|f:2: $.x: expected a text or a number"},
		{"{\"study_id\"", "", "f:1"},
		{"", "", "f:1: expected a header row"},
	} {
		rows, problems := ParseScores("f", []byte(c.file), "study_id", "x")
		var got []string
		for _, r := range rows {
			v := "none"
			if r.Value != nil {
				v = fmt.Sprint(*r.Value)
			}
			got = append(got, r.ID+"="+v)
		}
		if strings.Join(got, " ") != c.rows {
			t.Errorf("%q: %q, want %q", c.file, got, c.rows)
		}
		said := problemsOf(problems)
		if c.wrong == "" && said != "" {
			t.Errorf("%q: %s", c.file, said)
		}
		for _, want := range strings.Split(c.wrong, "|") {
			if !strings.Contains(said, want) {
				t.Errorf("%q: %q is not said in %q", c.file, want, said)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"study_id,x\n0,0.5\n", `{"study_id": 0, "x": NaN}`, "study_id,x\n\"0,1\n", "\xef\xbb\xbfstudy_id,x\n0,1e999\n", "{", "study_id,x,x\n1,2,3\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, _ := ParseScores("f", b, "study_id", "x")
		seen := map[string]bool{}
		for _, r := range rows {
			if r.ID == "" || seen[r.ID] || r.Line < 1 {
				t.Fatalf("%+v", r)
			}
			seen[r.ID] = true
			if r.Value != nil && (math.IsNaN(*r.Value) || math.IsInf(*r.Value, 0)) {
				t.Fatalf("%v is taken for a number", *r.Value)
			}
		}
	})
}

func digest(c string) results.Digest { return results.Digest("sha256:" + strings.Repeat(c, 64)) }

// TestJoin: by the file of ids, or by cases; what joins nothing is not stored.
func TestJoin(t *testing.T) {
	known := []results.Digest{digest("a"), digest("b")}
	one := 1.
	rows := []scoreRow{{2, "0", &one}, {3, "1", nil}}
	ids := "study_id,case,item\n0," + string(digest("b")) + ",x\n1," + string(digest("a")) + ",y\n"
	got, problems := JoinScores("f", rows, "ids", []byte(ids), known)
	if want := []joinedScores{{digest("b"), &one}, {digest("a"), nil}}; !reflect.DeepEqual(got, want) || len(problems) > 0 {
		t.Errorf("%v, %s", got, problemsOf(problems))
	}
	if _, problems := JoinScores("f", []scoreRow{{2, "7", &one}}, "ids", []byte(ids+"2,"+string(digest("c"))+",z\n0,"+string(digest("a"))+",z\n"), known); len(problems) != 3 {
		t.Errorf("an id that is not there, a case of none, an id twice: %s", problemsOf(problems))
	}
	got, problems = JoinScores("f", []scoreRow{{1, string(digest("a")), &one}, {2, strings.Repeat("b", 12), &one}}, "", nil, known)
	if len(got) != 2 || got[0].Case != digest("a") || got[1].Case != digest("b") || len(problems) > 0 {
		t.Errorf("by cases: %v, %s", got, problemsOf(problems))
	}
	for _, id := range []string{"aaaa", strings.Repeat("a", 12) + "b", strings.Repeat("c", 12)} {
		if got, problems := JoinScores("f", []scoreRow{{1, id, &one}}, "", nil, known); len(got) != 0 || len(problems) != 1 {
			t.Errorf("%q joins %v", id, got)
		}
	}
}

func of(list ...ScoredCase) iter.Seq2[ScoredCase, error] {
	return func(yield func(ScoredCase, error) bool) {
		for _, c := range list {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func answerOf(d, model, item, rubric, fields string) ScoredCase {
	return ScoredCase{Digest: digest(d), Rubric: rubric, Key: results.Key{Study: "s", Model: model, Arm: "findings", Condition: "baseline", Item: item}, Fields: json.RawMessage(fields)}
}

// TestReportsAreWrittenInPairs: each case once, of the same length and order, with ids
// that lead back.
func TestReportsAreWrittenInPairs(t *testing.T) {
	dir := t.TempDir()
	w, err := WriteReports(of(
		answerOf("a", "m", "1", "report", `{"report":"A shadow,\n\"round\"","reference":"a  nodule"}`),
		answerOf("a", "n", "1", "report", `{"report":"A shadow,\n\"round\"","reference":"a  nodule"}`),
		answerOf("b", "m", "2", "accuracy", `{"answer":"B"}`),
		answerOf("c", "m", "3", "report", `{"report":" ","reference":"clear"}`),
		answerOf("d", "m", "4", "report", `{"report":"clear","reference":"clear lungs"}`)), dir)
	if err != nil || w != (written{Reports: 2, Empty: 1}) {
		t.Fatal(w, err)
	}
	want := map[string]string{
		predictions: `[[study_id report] [0 A shadow, "round"] [1 clear]]`, references: "[[study_id report] [0 a nodule] [1 clear lungs]]",
		iDs: fmt.Sprintf("[[study_id case item] [0 %s 1] [1 %s 4]]", digest("a"), digest("d"))}
	for name, rows := range want {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := csv.NewReader(f).ReadAll()
		f.Close()
		if err != nil || fmt.Sprint(got) != rows {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestStoreAndSection: what is stored comes back, is replaced by the same tool and version
// alone, and its means leave out and count what has no number.
func TestStoreAndSection(t *testing.T) {
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "s.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	list := []ScoredCase{answerOf("a", "m", "1", "report", ""), answerOf("b", "m", "1", "report", ""), answerOf("a", "m", "2", "report", ""), answerOf("c", "m", "3", "report", ""), answerOf("d", "m", "4", "report", ""),
		answerOf("8", "m", "1", "steps", ""), answerOf("d", "n", "1", "report", "")}
	cases, gone := of(list...), of(append(list, answerOf("9", "m", "5", "report", ""))...)
	for c := range gone {
		if err := st.PutTrial(t.Context(), results.Trial{Key: c.Key, Attempts: []results.Attempt{{Output: &results.Output{Answer: "x"}}}}); err != nil {
			t.Fatal(err)
		}
	}
	num := func(x float64) *float64 { return &x }
	m := Metric{Name: "green", Tool: "GREEN", Version: "1", Higher: true, File: "g.csv", Digest: digest("f")}
	put := func(m Metric, list ...joinedScores) {
		t.Helper()
		if err := PutScores(t.Context(), st, gone, m, list); err != nil {
			t.Fatal(err)
		}
	}
	put(m, joinedScores{digest("a"), num(9)}, joinedScores{digest("d"), num(1)})
	m.Digest = digest("e")
	put(m, joinedScores{digest("a"), num(.5)}, joinedScores{digest("b"), num(0)}, joinedScores{digest("c"), nil}, joinedScores{digest("9"), num(1)})
	other := m
	other.Version, other.Higher = "2", false
	put(other, joinedScores{digest("a"), num(.1)})
	all, err := ReadScores(t.Context(), st)
	if err != nil || len(all) != 2 || all[0].Metric != m || all[1].Metric != other || len(all[0].Of) != 4 || *all[0].Of[digest("a")] != .5 || all[0].Of[digest("c")] != nil {
		t.Fatalf("%+v, %v", all, err)
	}
	s, err := Section(cases, all[:1], nil, 1, 200)
	if err != nil {
		t.Fatal(err)
	}
	rows := s.Tables[0].Rows
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	// Items 1 (mean of .5 and 0) and 2 (.5); 3 has no number, of 4 the file says nothing.
	if e := rows[0][6].Estimate; *e.Value != .375 || e.N != 2 || e.Undefined != 1 || e.Invalid != 1 {
		t.Errorf("%v of %d, %d undefined, %d left out", *e.Value, e.N, e.Undefined, e.Invalid)
	}
	if e := rows[1][6].Estimate; e.Value != nil || e.Why == "" || e.Invalid != 1 {
		t.Errorf("a model without scores: %+v", e)
	}
	said := strings.Join(append(s.Notes, s.Warnings...), "\n")
	for _, want := range []string{"green is by GREEN 1, from the file g.csv (sha256 eeeeeeeeeeee)", "1 scores are 0. With its default settings GREEN writes 0", "1 score is of no answer"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said in %s", want, said)
		}
	}
	var b bytes.Buffer
	bert := scores{Metric: Metric{Name: "bert"}, Of: map[results.Digest]*float64{digest("a"): num(.25), digest("c"): num(1)}}
	if n, err := WriteVerdicts(&b, append(all, bert), []string{"green", "bert"}); err != nil || n != 1 || strings.TrimSpace(b.String()) != fmt.Sprintf(`{"case":"%s","verdict":{"bert":0.25,"green":0.5}}`, digest("a")) {
		t.Errorf("%d, %v: %s", n, err, b.String())
	}
	if _, err := WriteVerdicts(&b, all, []string{"none"}); err == nil {
		t.Error("verdicts of a metric that is not there")
	}
	if !slices.Contains(Tools(), "radcliq") {
		t.Error(Tools())
	}
}

// TestSectionDrawsImages: 20 items about 4 images, all of an image alike.
func TestSectionDrawsImages(t *testing.T) {
	s := scores{Metric: Metric{Name: "bert"}, Of: map[results.Digest]*float64{}}
	var list []ScoredCase
	clusters := map[string]map[string]string{"s": {}}
	for i := range 20 {
		c := answerOf("a", "m", fmt.Sprint(i), "report", "")
		c.Digest = results.DigestOf([]byte(c.Key.Item))
		s.Of[c.Digest] = new(float64(i / 5))
		clusters["s"][c.Key.Item] = fmt.Sprint("image ", i/5)
		list = append(list, c)
	}
	mean := func(by map[string]map[string]string) *results.Estimate {
		sec, err := Section(of(list...), []scores{s}, by, 1, 2000)
		if err != nil {
			t.Fatal(err)
		}
		return sec.Tables[0].Rows[0][6].Estimate
	}
	items, images := mean(nil), mean(clusters)
	if items.Clusters != 20 || images.Clusters != 4 || images.N != 20 || *images.High-*images.Low < 1.8*(*items.High-*items.Low) {
		t.Errorf("over images [%v, %v], over items [%v, %v]; %d and %d clusters", *images.Low, *images.High, *items.Low, *items.High, images.Clusters, items.Clusters)
	}
	for _, c := range list { // all alike: no interval, and why
		s.Of[c.Digest] = new(0.5)
	}
	if e := mean(nil); e.Value == nil || e.Low != nil || e.Why == "" {
		t.Errorf("all scores alike: %+v", e)
	}
}
