package dataset

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"assay/harness/dataset/datasettest"
	"assay/perturb"
)

// jsonlFile writes lines beside three pictures a.png, sub/b.jpg and cut.png.
func JSONL(name, path string) (*Dataset, error) {
	return Open(Source{Kind: KindJSONL, Name: name, Path: path})
}

func M3CoTBench(name, path string) (*Dataset, error) {
	return Open(Source{Kind: KindM3CoTBench, Name: name, Path: path})
}

func jsonlFile(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, b []byte) {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, a, _ := datasettest.Picture(0)
	_, b, _ := datasettest.Picture(1)
	write("a.png", a)
	write("sub/b.jpg", b)
	write("cut.png", a[:len(a)/2])
	write("set.jsonl", []byte(text))
	return filepath.Join(dir, "set.jsonl")
}

const goodLine = `{"id": "x1", "images": ["a.png", "sub/b.jpg"], "question": "Which side? Select one option.", "type": "single",` +
	` "options": [{"label": "A", "text": "Left"}, {"label": "B", "text": "Right"}], "answer": "A", "task": "Action", "modality": "CT",` +
	` "gold_path": [[{"kind": "modality", "text": "CT"}, {"kind": "conclusion", "text": "left"}], [{"kind": "other", "text": "by shape"}]],` +
	` "finding": "disc", "boxes": [[0, 10, 50, 100]], "history": "none", "captions": ["left disc", null], "findings": "a disc"}`

// sumsOf are the beginnings of the SHA-256 of an item's picture files.
func sumsOf(t *testing.T, it Item) (out []string) {
	t.Helper()
	for _, im := range it.Images {
		b, err := im.Load()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%x", sha256.Sum256(b))[:16])
	}
	return out
}

func TestJSONL(t *testing.T) {
	path := jsonlFile(t, goodLine+"\n"+
		`{"id":"x2","images":["a.png"],"question":"Which?\nA. one\nB. two","type":"single","answer":"B"}`+"\n")
	d, err := JSONL("mine", path)
	if err != nil || len(d.Problems) > 0 || len(d.Items) != 2 {
		t.Fatalf("%v, problems %v", err, d.Problems)
	}
	it := d.Items[0]
	if it.Picture == "" || it.Picture != d.Items[1].Picture {
		t.Errorf("both items show a.png: pictures %q and %q", it.Picture, d.Items[1].Picture)
	}
	if sums := sumsOf(t, it); !slices.Equal(it.Sums, sums) || len(sums) != 2 || !slices.Equal(d.Items[1].Sums, sums[:1]) {
		t.Errorf("pictures %v and %v, want %v", it.Sums, d.Items[1].Sums, sums)
	}
	it.Images, it.Picture, it.Sums = nil, "", nil
	want := Item{ID: "x1", Question: "Which side? Select one option.", Type: "single", Options: []Option{{"A", "Left"}, {"B", "Right"}},
		Answer: "A", Task: "Action", Modality: "CT", Finding: "disc",
		GoldPaths: [][]Step{{{Kind: StepModality, Text: "CT"}, {Kind: StepConclusion, Text: "left"}}, {{Kind: StepOther, Text: "by shape"}}},
		Regions:   map[string][]perturb.Region{"": {{X0: 0, Y0: 10, X1: 50, Y1: 100}}}}
	if !reflect.DeepEqual(it, want) {
		t.Errorf("got  %+v\nwant %+v", it, want)
	}
	if second := d.Items[1]; len(second.Options) != 2 {
		t.Errorf("options inside the question: %v", second.Options)
	}
	// What gives the answer away has no field to travel in.
	text := fmt.Sprintf("%+v", d.Items[0])
	for _, leak := range []string{"left disc", "a disc", "none"} {
		if strings.Contains(text, leak) {
			t.Errorf("%q is in the item", leak)
		}
	}
	for i, n := range []int{2, 1} {
		if len(d.Items[i].Images) != n {
			t.Fatalf("item %d: %d images", i, len(d.Items[i].Images))
		}
		for _, im := range d.Items[i].Images {
			if b, err := im.Load(); err != nil || len(b) == 0 {
				t.Errorf("%s: %v", im.Name, err)
			}
		}
	}
	again, err := JSONL("other name", path)
	if err != nil || again.Digest != d.Digest {
		t.Errorf("digest %s, then %s (%v)", d.Digest, again.Digest, err)
	}
	if kind, err := sniff(path); kind != KindJSONL || err != nil {
		t.Errorf("sniffed %q, %v", kind, err)
	}
}

// alter gives goodLine with another id and one key replaced; "" drops the key.
func alter(t *testing.T, id int, key, value string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(goodLine), &m); err != nil {
		t.Fatal(err)
	}
	m["id"] = json.RawMessage(fmt.Sprintf(`"y%d"`, id))
	if m[key] = json.RawMessage(value); value == "" {
		delete(m, key)
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestDigitsAsLabels: an item of assay's own format may number its options.
func TestDigitsAsLabels(t *testing.T) {
	line := alter(t, 1, "options", `[{"label": "1", "text": "Left"}, {"label": "2", "text": "Right"}]`)
	d, err := JSONL("mine", jsonlFile(t, strings.Replace(line, `"answer":"A"`, `"answer":"2"`, 1)+"\n"))
	if err != nil || len(d.Problems) > 0 || len(d.Items) != 1 {
		t.Fatalf("%v, problems %v", err, d.Problems)
	}
	if it := d.Items[0]; it.Answer != "2" || !slices.Equal(it.Options, []Option{{"1", "Left"}, {"2", "Right"}}) {
		t.Errorf("read as %v, gold %s", it.Options, it.Answer)
	}
}

const closedLine = `{"id": "c1", "images": ["a.png"], "question": "Which side is worse? (right, left, none)", "type": "ordinal",` +
	` "answer": " Neither", "aliases": {"neither": "none", "R": "right"}, "scale": ["none", "left", "right"],` +
	` "boxes": {"right": [[0, 10, 50, 100]], "left": [[50, 10, 99, 100], [1, 2, 3, 4]]}}`

// closedWith is alter for closedLine.
func closedWith(t *testing.T, id int, key, value string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(closedLine), &m); err != nil {
		t.Fatal(err)
	}
	m["id"], m[key] = json.RawMessage(fmt.Sprintf(`"y%d"`, id)), json.RawMessage(value)
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSharedPictures: items with a picture of their own have no name for it.
func TestSharedPictures(t *testing.T) {
	line := func(id string, images string) string {
		return fmt.Sprintf(`{"id":%q,"images":[%s],"question":"Which? A. one B. two","type":"short","answer":"x"}`+"\n", id, images)
	}
	d, err := JSONL("mine", jsonlFile(t, line("1", `"a.png"`)+line("2", `"sub/b.jpg"`)))
	if err != nil || len(d.Items) != 2 || d.Items[0].Picture+d.Items[1].Picture != "" {
		t.Errorf("%v, %v, %+v", err, d.Problems, d.Items)
	}
	d, err = JSONL("mine", jsonlFile(t, line("1", `"sub/b.jpg"`)+line("2", `"a.png"`)+line("3", `"a.png","sub/b.jpg"`)))
	if err != nil || len(d.Items) != 3 || d.Items[0].Picture == "" || d.Items[0].Picture != d.Items[1].Picture || d.Items[1].Picture != d.Items[2].Picture {
		t.Errorf("%v, %v, %+v", err, d.Problems, d.Items)
	}
}

func TestJSONLClosedQuestions(t *testing.T) {
	d, err := JSONL("mine", jsonlFile(t, closedLine+"\n"+
		`{"id":"c2","images":["a.png"],"question":"Is it?","type":"binary","options":[{"label":"A","text":"Yes"},{"label":"B","text":"No"}],"answer":"b"}`+"\n"+
		`{"id":"c3","images":["a.png"],"question":"Atelectasis on the left? (none, mild, severe)","type":"ordinal","answer":"mild"}`))
	if err != nil || len(d.Problems) > 0 || len(d.Items) != 3 {
		t.Fatalf("%v, problems %v", err, d.Problems)
	}
	it := d.Items[0]
	it.Images, it.Picture, it.Sums = nil, "", nil
	want := Item{ID: "c1", Question: "Which side is worse? (right, left, none)", Type: "ordinal", Options: []Option{{"", "right"}, {"", "left"}, {"", "none"}},
		Answer: "none", Scale: []string{"none", "left", "right"}, Aliases: map[string]string{"neither": "none", "r": "right"},
		Regions: map[string][]perturb.Region{"right": {{X0: 0, Y0: 10, X1: 50, Y1: 100}}, "left": {{X0: 50, Y0: 10, X1: 99, Y1: 100}, {X0: 1, Y0: 2, X1: 3, Y1: 4}}}}
	if !reflect.DeepEqual(it, want) {
		t.Errorf("got  %+v\nwant %+v", it, want)
	}
	if d.Items[1].Answer != "No" || d.Items[1].Options[0] != (Option{"A", "Yes"}) {
		t.Errorf("by its label: %+v", d.Items[1])
	}
	if !slices.Equal(d.Items[2].Scale, []string{"none", "mild", "severe"}) || d.Items[2].Regions != nil {
		t.Errorf("without a scale: %+v", d.Items[2])
	}

	// A table of regions and a knowledge base may stand beside any file.
	kb := filepath.Join(t.TempDir(), "kb.json")
	if err := os.WriteFile(kb, []byte(`{"atelectasis on the LEFT? (none, mild, severe)": {"answers": {"Mild": {"must_all": [{"term": "band"}]}}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	e, err := Open(Source{Kind: KindJSONL, Name: "mine", Path: jsonlFile(t, closedLine+"\n"+`{"id":"c3","images":["a.png"],"question":"Atelectasis on the left? (none, mild, severe)","type":"ordinal","answer":"mild"}`),
		Knowledge: kb, Regions: "taix"})
	if err != nil {
		t.Fatal(err)
	}
	if c3 := e.Items[1]; c3.Finding != "Atelectasis" || len(c3.Regions["left"]) != 1 || len(c3.Regions) != 1 || c3.Knowledge == nil || c3.Knowledge.MustAll[0].Term != "band" || c3.Aliases["absent"] != "none" {
		t.Errorf("beside tables: %+v", c3)
	}
	if c1 := e.Items[0]; len(e.Gaps) != 1 || e.Gaps[0].Question != c1.Question || c1.Regions["right"][0].X1 != 50 || c1.Aliases["neither"] != "none" {
		t.Errorf("its own boxes and aliases: %+v, gaps %v", c1, e.Gaps)
	}
	table, err := Open(Source{Kind: KindJSONL, Name: "mine", Path: jsonlFile(t, `{"nr":1,"scan":"a.png","question":"Effusion?","type":"binary","answer":"yes","split":"dev"}`+"\n"+`{"nr":2,"scan":"a.png","question":"Oedema?","type":"binary","answer":"yes","split":"test"}`),
		Columns: Mapping{"id": {"nr"}, "image": {"scan"}}, Knowledge: kb, Split: "dev"})
	if err != nil || len(table.Items) != 1 || len(table.Gaps) != 1 || table.Gaps[0].Question != "Effusion?" {
		t.Errorf("a table of questions: %+v, %v", table, err)
	}
}

func TestJSONLProblems(t *testing.T) {
	outside, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	quoted, _ := json.Marshal(filepath.Join(outside, "none.png"))
	cases := []struct{ line, column, want, got string }{
		{"", "", "a JSON object", "a blank line"},
		{"  ", "", "a JSON object", "a blank line"},
		{`{"id": "a", "boxes": NaN}`, "$", "null where there is none", "the literal NaN at byte 22"},
		{`{"id": "a", "boxes": -Infinity}`, "$", "null where there is none", "the literal -Infinity at byte 22"},
		{`{"id": "a", "boxes": None}`, "$", "null where there is none", "the literal None"},
		{`{"id": "a"`, "$", "JSON", "ends early"},
		{`{"id": "a"} {"id": "b"}`, "$", "JSON", "after top-level value"},
		{`{'id': 'a'}`, "$", "JSON", "at byte 2"},
		{"{\"id\": \"\xff\"}", "$", "UTF-8", "not UTF-8"},
		{`[1, 2]`, "$", "object", "a list of 2"},
		{strings.Replace(goodLine, `"answer": "A"`, `"answer": "A", "answer": "B"`, 1), "$.answer", "each key once", "again"},
		{strings.Replace(goodLine, `"kind": "modality"`, `"kind": "modality", "kind": "other"`, 1), "$.gold_path[0][0].kind", "each key once", "again"},
		{`{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}", "$", "JSON", "nesting"},
		{`{"id": "` + strings.Repeat("x", maxLine) + `"}`, "", "at most", "4194314"},
		{alter(t, 1, "answer", ""), "$.answer", "required", "no such key"},
		{alter(t, 2, "anwser", `"A"`), "$.anwser", "a key of the schema", "unknown key"},
		{alter(t, 3, "answer", `3`), "$.answer", "string", "the number 3"},
		{alter(t, 4, "answer", `" "`), "$.answer", "pattern", `" "`},
		{alter(t, 5, "type", `"numeric"`), "$.type", "one of single, multiple, bool, short, binary", "numeric"},
		{alter(t, 6, "task", `"Treatment"`), "$.task", "Action", "Treatment"},
		{alter(t, 7, "images", `[]`), "$.images", "minItems", "a list of 0"},
		{alter(t, 8, "gold_path", `[[{"kind": "feature", "text": "f"}], [{"kind": "guess", "text": "g"}]]`), "$.gold_path[1][0].kind", "conclusion", "guess"},
		{alter(t, 9, "gold_path", `[["f"]]`), "$.gold_path[0][0]", "object", "the text"},
		{alter(t, 10, "boxes", `[[0, 0, 10, 101]]`), "$.boxes[0]", "x0 < x1 and y0 < y1, from 0 to 100 (boxes: percent, boxes_form: xyxy)", "101"},
		{alter(t, 11, "boxes", `[[0, 0, 10, 10], [50, 0, 50, 10]]`), "$.boxes[1]", "x0 < x1", "[50 0 50 10]"},
		{alter(t, 12, "boxes", `[[0, 0, "10", 10]]`), "$.boxes", "four numbers", "10"},
		{alter(t, 13, "captions", `["one"]`), "$.captions", "2, one per image", "1"},
		{alter(t, 14, "options", `[{"label": "A", "text": "x"}, {"label": "A", "text": "y"}]`), "$.options[1].label", "B: labels in order", "A"},
		{alter(t, 15, "question", `"Which?\nA. one\nB. two"`), "$.options", "as they stand in the question", "2 others"},
		{alter(t, 16, "question", `"Which?\nA. one\nA. two"`), "$.question", "each once", "option A after A"},
		{alter(t, 17, "images", `["a.png", "../set.jsonl"]`), "$.images[1]", "inside the folder", "../set.jsonl"},
		{alter(t, 18, "captions", "[]") + " ", "", "", ""}, // nothing wrong
		{alter(t, 19, "images", `["a.png", "none.png"]`), "$.images[1]", "an image file", "no such file"},
		{strings.Replace(alter(t, 20, "captions", ""), `"sub/b.jpg"`, `"cut.png"`, 1), "$.images[1]", "a readable", "cut short"},
		{strings.Replace(alter(t, 21, "captions", ""), `"sub/b.jpg"`, string(quoted), 1), "$.images[1]", "an image file", "no such file"},
		{strings.Replace(alter(t, 22, "captions", ""), `"sub/b.jpg"`, `"set.jsonl"`, 1), "$.images[1]", "a readable", "not a PNG"},
		{alter(t, 23, "scale", `["Left", "Right"]`), "$.scale", "belongs to the types binary", "type single"},
		{alter(t, 24, "boxes", `{"Right": [[0, 0, 1, 1]]}`), "$.boxes", "by side", "Right"},
		{alter(t, 25, "boxes", `{"left": [[0, 0, 1, 1], [3, 3, 2, 4]]}`), "$.boxes.left[1]", "x0 < x1", "[3 3 2 4]"},
		{alter(t, 26, "boxes", `{}`), "$.boxes", "minProperties", "an object"},
		{alter(t, 27, "options", `[{"text": "Left"}, {"text": "Right"}]`), "$.options[0].label", "A: labels in order", `""`},
		{closedWith(t, 28, "answer", `"sideways"`), "$.answer", "one of the options right, left, none", "sideways"},
		{closedWith(t, 29, "question", `"Which side?"`), "$.options", "in brackets", "none"},
		{closedWith(t, 30, "options", `[{"text": "left"}, {"text": "Left "}]`), "$.options[1].text", "each answer once", "Left"},
		{closedWith(t, 31, "aliases", `{"l": "lift"}`), "$.aliases.l", "one of the options", "lift"},
		{closedWith(t, 32, "scale", `["left", "right"]`), "$.scale", "right, left, none from least to most", "left, right"},
		{closedWith(t, 33, "type", `"spatial"`), "$.scale", "only ordinal", "3 grades"},
		{alter(t, 3, "captions", ""), "", "", ""}, // y3's first line was left out
		{alter(t, 3, "captions", ""), "$.id", "each id once", "which line 48 already has"},
	}
	var lines []string
	for _, c := range cases {
		lines = append(lines, c.line)
	}
	d, err := JSONL("bad", jsonlFile(t, strings.Join(lines, "\n")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	byRow := map[int][]Problem{}
	for _, p := range d.Problems {
		byRow[p.Row] = append(byRow[p.Row], p)
	}
	for i, c := range cases {
		got := byRow[i+1]
		if c.want == "" {
			if len(got) > 0 {
				t.Errorf("line %d: %v", i+1, got)
			}
			continue
		}
		if len(got) == 0 {
			t.Errorf("line %d has no problem: %.80s", i+1, c.line)
			continue
		}
		if !slices.ContainsFunc(got, func(p Problem) bool {
			return p.Column == c.column && strings.Contains(p.Want, c.want) && strings.Contains(p.Got, c.got)
		}) {
			t.Errorf("line %d: %v; want %s: %s ... %s", i+1, got, c.column, c.want, c.got)
		}
	}
	if !slices.IsSortedFunc(d.Problems, func(a, b Problem) int { return a.Row - b.Row }) {
		t.Error("problems are not in the order of the lines")
	}
	if len(d.Items) != 2 {
		t.Errorf("%d items, want 2", len(d.Items))
	}
}

func TestJSONLFiles(t *testing.T) {
	for text, want := range map[string]string{"": "is empty", "\n \n": "is empty", "\xff\xfe{\x00}\x00": "UTF-16"} {
		if _, err := JSONL("x", jsonlFile(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	d, err := JSONL("x", jsonlFile(t, "\ufeff"+goodLine)) // and no newline at the end
	if err != nil || len(d.Items) != 1 || len(d.Problems) != 1 || !strings.Contains(d.Problems[0].Want, "byte order mark") {
		t.Errorf("%v, %+v", err, d)
	}
	d, err = JSONL("x", jsonlFile(t, goodLine+"\r\n"))
	if err != nil || len(d.Items) != 1 || len(d.Problems) != 0 {
		t.Errorf("CRLF: %v, %+v", err, d)
	}
	if _, err := JSONL("x", filepath.Join(t.TempDir(), "none.jsonl")); err == nil {
		t.Error("no file: no error")
	}
}

func TestOpenAndSniff(t *testing.T) {
	path := jsonlFile(t, goodLine)
	if d, err := Open(Source{Kind: KindJSONL, Name: "x", Path: path}); err != nil || d.Kind != KindJSONL || d.Name != "x" {
		t.Errorf("%v, %v", d, err)
	}
	if _, err := Open(Source{Kind: "arrow", Name: "x", Path: path}); err == nil || !strings.Contains(err.Error(), "m3cotbench, taix-vqa, medthinkvqa, jsonl") {
		t.Errorf("unknown kind: %v", err)
	}
	dir := filepath.Dir(path)
	for want, s := range map[string]Source{
		"knowledge: expected nothing, because data sets of kind m3cotbench have none": {Kind: KindM3CoTBench, Path: dir, Knowledge: "none.json"},
		"regions: expected nothing": {Kind: KindMedThinkVQA, Path: dir, Regions: "none.yaml"},
		"split: expected nothing":   {Kind: KindJSONL, Path: path, Split: "test"},
		"dicom: expected nothing":   {Kind: KindTAIX, Path: dir, DICOM: []string{"none"}},
		"columns: expected nothing": {Kind: KindM3CoTBench, Path: dir, Columns: Mapping{"id": {"nr"}}},
		"experts: expected nothing": {Kind: KindCSV, Path: path, Experts: "none.csv"},
	} {
		if _, err := Open(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "p"), []byte("PAR1...."), 0o644); err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]string{dir: "name one of them", filepath.Join(dir, "a.png"): "starts with", filepath.Join(dir, "none"): "no such file"} {
		if kind, err := sniff(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", p, kind, err)
		}
	}
}

// The schema, the struct that is filled from it and the item speak of the same keys.
func TestSchemaNamesWhatIsRead(t *testing.T) {
	var doc struct {
		Properties map[string]struct{ Description string }
	}
	if err := json.Unmarshal([]byte(jsonlSchema), &doc); err != nil {
		t.Fatal(err)
	}
	var line map[string]any
	for _, text := range []string{goodLine, closedLine, `{"answer_any": ["x"]}`} {
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
	}
	for key, p := range doc.Properties {
		if p.Description == "" {
			t.Errorf("%s is not described", key)
		}
		if _, ok := line[key]; !ok {
			t.Errorf("%s is in no test", key)
		}
	}
	typ := reflect.TypeFor[jsonlLine]()
	for i := range typ.NumField() {
		if tag := typ.Field(i).Tag.Get("json"); tag != "" {
			if _, ok := doc.Properties[tag]; !ok {
				t.Errorf("%s is read and not in the schema", tag)
			}
		}
	}
}

func TestDamaged(t *testing.T) {
	// Damage inside the scan, markers intact: only decoding finds it.
	path := jsonlFile(t, `{"id":"x","images":["sub/b.jpg"],"question":"?","type":"short","answer":"1"}`)
	file := filepath.Join(filepath.Dir(path), "sub", "b.jpg")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	scan := strings.Index(string(b), "\xff\xda") // bytes of the scan are dropped, its end stays
	b = append(b[:scan+14:scan+14], b[len(b)-40:]...)
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := JSONL("x", path)
	if err != nil || len(d.Items) != 1 {
		t.Fatalf("%v, %v", err, d.Problems)
	}
	if p := Damaged(d); len(p) != 1 || p[0].File != "sub/b.jpg" {
		t.Errorf("got %v", p)
	}
}

// Lines of type diagnosis are cases: their history may be shown, captions and findings
// are behind AnswerLeaking. Of other types nothing of that is kept.
func TestJSONLCases(t *testing.T) {
	one := strings.NewReplacer(`"type": "single"`, `"type": "diagnosis"`, `"history": "none"`, `"history": " A cough. "`).Replace(goodLine)
	if one == goodLine {
		t.Fatal("nothing was replaced")
	}
	d, err := JSONL("x", jsonlFile(t, one+"\n"+strings.NewReplacer(`"x1"`, `"x2"`, `"answer": "A"`, `"answer": "a disc"`).Replace(one)+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Items) != 1 || len(d.Problems) != 1 || d.Problems[0].Column != "$.answer" || !strings.Contains(d.Problems[0].Want, "label") {
		t.Fatalf("%d items, %v", len(d.Items), d.Problems)
	}
	it := d.Items[0]
	leak := it.AnswerLeaking()
	if it.Case == nil || it.Case.History != "A cough." || leak.Findings != "a disc" || !slices.Equal(leak.Captions, []string{"left disc", ""}) {
		t.Errorf("%+v, %+v", it.Case, leak)
	}
	plain, err := JSONL("x", jsonlFile(t, goodLine))
	if err != nil || plain.Items[0].Case != nil || plain.Items[0].AnswerLeaking().Findings != "" {
		t.Errorf("%+v, %v", plain, err)
	}
}

// TestJSONLGoldAnswers: of a short answer any of several is right, of type multiple a list is the
// set; both are in the digest. A file that is one array of such lines is the same set.
func TestJSONLGoldAnswers(t *testing.T) {
	line := func(id, typ, rest string) string {
		return fmt.Sprintf(`{"id": %q, "images": ["a.png"], "question": "q", "type": %q, %s}`, id, typ, rest)
	}
	const options = `"options": [{"label": "A", "text": "x"}, {"label": "B", "text": "y"}, {"label": "C", "text": "z"}], `
	lines := []string{line("1", "short", `"answer": ["CT", "computed tomography"]`), line("2", "short", `"answer": "CT | CTA", "answer_any": ["angiography", "CT"]`),
		line("3", "single", options+`"answer": "A", "answer_any": ["C"]`), line("4", "multiple", options+`"answer": ["A", "C"]`), line("5", "bool", `"answer": "True"`)}
	d, err := JSONL("mine", jsonlFile(t, strings.Join(lines, "\n")))
	if err != nil || len(d.Problems) > 0 {
		t.Fatal(err, d.Problems)
	}
	var got []string
	for _, it := range d.Items {
		got = append(got, it.Gold())
	}
	if want := []string{"any of: CT; computed tomography", "any of: CT; CTA; angiography", "any of: A; C", "A, C", "True"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if array, err := JSONL("mine", jsonlFile(t, "["+strings.Join(lines, ",\n")+"]")); err != nil || len(array.Problems) > 0 || array.Digest != d.Digest {
		t.Errorf("as an array: %v, %v, digest %s, want %s", err, array.Problems, array.Digest, d.Digest)
	}
	if other, err := JSONL("mine", jsonlFile(t, strings.Replace(strings.Join(lines, "\n"), "computed tomography", "MRI", 1))); err != nil || other.Digest == d.Digest {
		t.Errorf("another gold answer, the same digest: %v", err)
	}
	for rest, want := range map[string]string{`"bool", "answer": ["True", "False"]`: "$.answer: expected one answer, or several under answer_any", `"binary", "options": [{"text": "yes"}, {"text": "no"}], "answer": "yes", "answer_any": "no"`: "$.answer_any: expected no such key",
		`"short", "answer": []`: "$.answer", `"multiple", ` + options + `"answer": "A", "answer_any": ["B"]`: "$.answer_any: expected no such key of type multiple"} {
		d, err := JSONL("mine", jsonlFile(t, `{"id": "1", "images": ["a.png"], "question": "q", "type": `+rest+`}`))
		if err != nil || len(d.Problems) != 1 || !strings.Contains(d.Problems[0].Error(), want) {
			t.Errorf("%s: %v, %v, want %s", rest, err, d.Problems, want)
		}
	}
}
