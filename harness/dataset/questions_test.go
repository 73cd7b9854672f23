package dataset

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// dot is a small picture of a grey.
func dot(grey uint8) []byte {
	m := image.NewGray(image.Rect(0, 0, 3, 3))
	for i := range m.Pix {
		m.Pix[i] = grey
	}
	m.SetGray(1, 1, color.Gray{Y: 255 - grey})
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func questionFile(t *testing.T, name string, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, s tableSource) tableRead {
	t.Helper()
	got, err := readQuestions(s)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// short is a question in a few words.
func short(q tableQuestion) string {
	var options, pictures []string
	for _, o := range q.Options {
		options = append(options, o.Label+"="+o.Text)
	}
	for _, p := range q.Pictures {
		if p.Path == "" {
			p.Path = fmt.Sprintf("inside %x", p.Sum[:2])
		}
		pictures = append(pictures, p.Path)
	}
	return fmt.Sprintf("%s %s %q [%s] -> %s (%s) {%s}", q.ID, q.Type, q.Text, strings.Join(options, "; "), q.Answer, q.Task, strings.Join(pictures, ", "))
}

func shorts(t tableRead) (out []string) {
	for _, q := range t.Questions {
		out = append(out, short(q))
	}
	return out
}

func problems(t tableRead) (out []string) {
	for _, p := range t.Problems {
		out = append(out, fmt.Sprintf("%d %s: want %s, found %s", p.Row, p.Column, p.Want, p.Got))
	}
	return out
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAnswersAndTypes: options in every form, and what follows from options and answer.
func TestAnswersAndTypes(t *testing.T) {
	got := read(t, tableSource{Format: formatJSONL, Path: questionFile(t, "q.jsonl", strings.Join([]string{
		`{"question": "q", "image": "a.png", "options": ["left", "right"], "answer": "B"}`,
		`{"question": "q", "image": "a.png", "options": ["left", "right"], "answer": "Right"}`,
		`{"question": "q", "image": ["a.png", "b.png"], "options": {"A": "left", "B": "right"}, "answer": "(b)"}`,
		`{"question": "q", "image": "a.png", "options": [{"label": "A", "text": "left"}, {"label": "B", "text": "right"}], "answer": "A. left"}`,
		`{"question": "q", "image": "a.png", "options": "left | right", "answer": "a"}`,
		`{"question": "q", "image": "a.png", "options": "['left side', \"the patient's right\"]", "answer": "the patient's right"}`,
		`{"question": "q", "image": "a.png", "options": "A. left\nB. right", "answer": "left"}`,
		`{"question": "q\nA) left\nB) right", "image": "a.png", "answer": "B"}`,
		`{"question": "q", "image": "a.png", "options": ["x", "y", "z"], "answer": ["C", "A"]}`,
		`{"question": "q", "image": "a.png", "options": ["x", "y", "z"], "answer": "BC"}`,
		`{"question": "q", "image": "a.png", "options": ["x", "y", "z"], "answer": "y; x"}`,
		`{"question": "q", "image": "a.png", "options": ["2", "3"], "answer": 3}`,
		`{"question": "q", "image": "a.png", "options": ["yes", "no"], "answer": "no"}`,
		`{"question": "q", "image": "a.png", "answer": "Yes"}`,
		`{"question": "q", "image": "a.png", "answer": false}`,
		`{"question": "q", "image": "a.png", "answer": "yes", "type": "bool"}`,
		`{"question": "q", "image": "a.png", "answer": "No", "type": "bool"}`,
		`{"question": "q", "image": "a.png", "answer": "True"}`,
		`{"question": "q", "image": "a.png", "answer": "CT"}`,
		`{"question": "q", "image": "a.png", "answer": 3}`,
		`{"question": "q", "image": "a.png", "answer": "no", "type": "open"}`,
		`{"question": "q", "image": "a.png", "options": ["x", "y"], "answer": "A", "type": "multiple"}`,
		`{"question": "q", "image": "a.png", "hint": "A cough.", "answer": "x", "category": "chest"}`,
	}, "\n"))})
	same(t, "questions", shorts(got), []string{
		`row-1 single "q" [A=left; B=right] -> B () {a.png}`,
		`row-2 single "q" [A=left; B=right] -> B () {a.png}`,
		`row-3 single "q" [A=left; B=right] -> B () {a.png, b.png}`,
		`row-4 single "q" [A=left; B=right] -> A () {a.png}`,
		`row-5 single "q" [A=left; B=right] -> A () {a.png}`,
		`row-6 single "q" [A=left side; B=the patient's right] -> B () {a.png}`,
		`row-7 single "q" [A=left; B=right] -> A () {a.png}`,
		`row-8 single "q\nA) left\nB) right" [A=left; B=right] -> B () {a.png}`,
		`row-9 multiple "q" [A=x; B=y; C=z] -> A, C () {a.png}`,
		`row-10 multiple "q" [A=x; B=y; C=z] -> B, C () {a.png}`,
		`row-11 multiple "q" [A=x; B=y; C=z] -> A, B () {a.png}`,
		`row-12 single "q" [A=2; B=3] -> B () {a.png}`,
		`row-13 single "q" [A=yes; B=no] -> B () {a.png}`,
		`row-14 binary "q" [=yes; =no] -> yes () {a.png}`,
		`row-15 bool "q" [] -> False () {a.png}`,
		`row-16 bool "q" [] -> True () {a.png}`,
		`row-17 bool "q" [] -> False () {a.png}`,
		`row-18 bool "q" [] -> True () {a.png}`,
		`row-19 short "q" [] -> CT () {a.png}`,
		`row-20 short "q" [] -> 3 () {a.png}`,
		`row-21 short "q" [] -> no () {a.png}`,
		`row-22 multiple "q" [A=x; B=y] -> A () {a.png}`,
		`row-23 short "A cough.\n\nq" [] -> x (chest) {a.png}`,
	})
	same(t, "problems", problems(got), nil)
	same(t, "guesses", got.Guesses, []string{"task: column category", "id: none; items are called row-1, row-2 and so on",
		"types of questions: single 10 (they have options), multiple 3 (several options are right), binary 1 (the answer is yes or no), bool 2 (the answer is true or false), short 3 (they have no options)"})
}

// TestAllBadRowsAtOnce: each with its line and column, what was expected and found.
func TestAllBadRowsAtOnce(t *testing.T) {
	got := read(t, tableSource{Format: KindCSV, Path: questionFile(t, "q.csv", "\ufeffid,image,question,A,B,C,answer,type\n"+
		"1,a.png,q,x,y,,A,\n"+
		"1,a.png,q,x,y,,B,\n"+
		"2,a.png,,x,y,,B,\n"+
		"3,,q,x,y,,B,\n"+
		"4,a.png,q,x,,z,B,\n"+
		"5,a.png,q,x,y,,C,\n"+
		"6,a.png,q,x,y,,,\n"+
		"7,a.png,q,x,y,A\n"+
		"8,a.png,\"q\"x,x,y,,A,\n"+
		"9,https://x/a.png,q,x,y,,A,\n"+
		"a b,a.png,q,x,y,,A,\n"+
		"11,a.png,q,,,,maybe,binary\n"+
		"12,a.png,q,,,,A,single\n"+
		"13,a.png,\"q\nC. x\nA. one\nC. two\",,,,A,\n"+
		"14,a.png,\"q\nA. x\nB. z\",x,y,,A,\n"+
		"15,a.png,q,x,y,,A,single\n"+
		"16,a.png,q,Gr\xf6n,y,,B,\n"+
		"17,a.png,q,X,x,y,x,\n"+
		"18,a.png,q,x,x,y,x,\n"+
		"19,a.png,q,x,x,y,B,\n")})
	same(t, "questions", shorts(got), []string{`1 single "q" [A=x; B=y] -> A () {a.png}`, `15 single "q" [A=x; B=y] -> A () {a.png}`, `17 single "q" [A=X; B=x; C=y] -> B () {a.png}`,
		`19 single "q" [A=x; B=x; C=y] -> B () {a.png}`})
	same(t, "problems", problems(got), []string{
		`3 id: want each id once, found "1", which row 2 already has`,
		`4 question: want a question, found ""`,
		`5 image: want a picture, found none`,
		`6 A, B, C: want 2 to 26 options: a list, left | right, an object by letter or by number, or columns A, B, C in order, found none in column B, and some after it`,
		`7 answer: want the letter or the text of one of the options x, y, found "C"`,
		`8 answer: want a gold answer, found none`,
		`9 : want 8 cells, as the header has, found 6`,
		`10 : want cells with quotation marks around all of a cell, or doubled (""), found extraneous or missing " in quoted-field at character 11 of line 10`,
		`11 image: want a picture file: nothing is downloaded, found "https://x/a.png"`,
		`12 id: want an id without blanks, of at most 200 characters, found "a b"`,
		`13 answer: want yes or no, found "maybe"`,
		`14 answer: want options, which a question of type single has, found "A"`,
		`15 question: want options A, B, C, ... each once and in order, found option C after A`,
		`19 A, B, C: want the options as they stand in the question, or none, found 2 others`,
		`23 A: want text in UTF-8, found "Gr\xf6n"`,
		`25 answer: want the letter or the text of one of the options x, x, y, found "x"`,
	})
}

// TestNumbersOfOptions: from what they count is told by the whole table, or by nothing.
func TestNumbersOfOptions(t *testing.T) {
	for _, c := range []struct{ answers, want, guess string }{
		{"0 1 2", "A B C", "from 0"},
		{"1 2 3", "A B C", "from 1"},
		{"1 2 3 4", "A B C", "from 1"}, // there is no fourth
		{"1 2 1", "", ""},
		{"0 3 1", "", ""},
	} {
		var b strings.Builder
		b.WriteString("image;question;options;answer\n")
		for _, a := range strings.Fields(c.answers) {
			fmt.Fprintf(&b, "a.png;q;x|y|z;%s\n", a)
		}
		got := read(t, tableSource{Format: KindCSV, Path: questionFile(t, "q.csv", b.String())})
		var answers []string
		for _, q := range got.Questions {
			answers = append(answers, q.Answer)
		}
		if strings.Join(answers, " ") != c.want || c.want == "" && len(got.Problems) != 3 {
			t.Errorf("%s: %q, %q; want %s", c.answers, answers, problems(got), c.want)
		}
		if all := strings.Join(got.Guesses, "; "); !strings.Contains(all, `separated by ";"`) || c.guess != "" && !strings.Contains(all, "count the options "+c.guess) || c.guess == "" && strings.Contains(all, "count") {
			t.Errorf("%s: guesses %s", c.answers, all)
		}
	}
}

// An option's text may be a number too. Where all answers of a table are numbers of
// options, it is one here; where some are not, it cannot be told.
func TestNumbersThatAreTextsToo(t *testing.T) {
	for _, c := range []struct{ rows, want, problem string }{
		{"x|y|z;0\n2|1|0;1\n2|3|4;2\n", "A B C", ""},
		{"x|y|z;z\nx|y|z;0\n2|1|0;1\n2|1|0;2\n", "C A B", `5 answer: want the letter of an option (2 is the text of option A and the number of option C), found "2"`}, // 1 means B both ways
		{"2|3|4;2\n2|3|4;4\n", "A C", ""},
		{"x|y|z;3\n10|20|30;20\n", "C B", ""}, // there is no twentieth
	} {
		var b strings.Builder
		b.WriteString("image;question;options;answer\n")
		for _, r := range strings.Split(strings.TrimSuffix(c.rows, "\n"), "\n") {
			b.WriteString("a.png;q;" + r + "\n")
		}
		got := read(t, tableSource{Format: KindCSV, Path: questionFile(t, "q.csv", b.String())})
		var answers []string
		for _, q := range got.Questions {
			answers = append(answers, q.Answer)
		}
		if strings.Join(answers, " ") != c.want || !strings.Contains(strings.Join(problems(got), "; "), c.problem) || (c.problem == "") != (len(got.Problems) == 0) {
			t.Errorf("%s: %q, %q; want %s", c.rows, answers, problems(got), c.want)
		}
	}
}

// TestLabelsThatAreDigits: options that are numbered keep their numbers, and a gold number is
// the option's label, whatever other tables count from.
func TestLabelsThatAreDigits(t *testing.T) {
	rows := strings.Join([]string{
		`{"image":"a.png","question":"q1","options":{"1":"mild","2":"moderate","3":"severe"},"answer":"2"}`,
		`{"image":"a.png","question":"q2","options":[{"label":"1","text":"mild"},{"label":"2","text":"severe"}],"answer":1}`,
		`{"image":"a.png","question":"q3","options":["1. mild","2) severe"],"answer":"2. severe"}`,
		`{"image":"a.png","question":"q4","options":{"1":"mild","2":"moderate","3":"severe"},"answer":["1","3"]}`,
		`{"image":"a.png","question":"q5","options":["1.5 cm","2.5 cm"],"answer":"2.5 cm"}`,
	}, "\n") + "\n"
	got := read(t, tableSource{Format: formatJSONL, Path: questionFile(t, "q.jsonl", rows)})
	want := []string{
		`row-1 single "q1" [1=mild; 2=moderate; 3=severe] -> 2 () {a.png}`,
		`row-2 single "q2" [1=mild; 2=severe] -> 1 () {a.png}`,
		`row-3 single "q3" [1=mild; 2=severe] -> 2 () {a.png}`,
		`row-4 multiple "q4" [1=mild; 2=moderate; 3=severe] -> 1, 3 () {a.png}`,
		`row-5 single "q5" [A=1.5 cm; B=2.5 cm] -> B () {a.png}`,
	}
	if !slices.Equal(shorts(got), want) || len(got.Problems) > 0 {
		t.Errorf("got\n%s\nwant\n%s\nproblems %q", strings.Join(shorts(got), "\n"), strings.Join(want, "\n"), problems(got))
	}
}

// TestMapping: what bench.yaml says goes before what is guessed, and what is not there is
// told at once.
func TestMapping(t *testing.T) {
	const rows = "scan\tfilename\tprompt\tright\twrong\tlabel\tanswer_type\nb.png\ta.png\tq\tx\ty\tx\tCLOSED\n"
	got := read(t, tableSource{Format: kindTSV, Path: questionFile(t, "q.tsv", rows), Columns: Mapping{fieldImage: {"scan"}, fieldOptions: {"right", "wrong"}}})
	same(t, "questions", shorts(got), []string{`row-1 single "q" [A=x; B=y] -> A () {b.png}`})
	same(t, "guesses", got.Guesses, []string{"question: column prompt", "answer: column label", `column answer_type has other words than types of questions, such as "CLOSED": it is not used`,
		"id: none; items are called row-1, row-2 and so on", "types of questions: single 1 (they have options)"})
	got = read(t, tableSource{Format: kindTSV, Path: questionFile(t, "q.tsv", rows), Columns: Mapping{fieldImage: {"scans"}, fieldType: {"answer_type"}}})
	same(t, "problems", problems(got), []string{"0 : want the column scans (columns: {image: ...}), found the columns scan, filename, prompt, right, wrong, label, answer_type; did you mean scan?"})
	got = read(t, tableSource{Format: kindTSV, Path: questionFile(t, "q.tsv", rows), Columns: Mapping{fieldType: {"answer_type"}}})
	same(t, "problems", problems(got), []string{`2 answer_type: want single, multiple, bool, binary or short, found "CLOSED"`})
	got = read(t, tableSource{Format: KindCSV, Path: questionFile(t, "q.csv", "a,b\n1,2\n")})
	same(t, "problems", problems(got), []string{
		"0 : want a column with the image, such as image, images, image_path; columns: {image: NAME} says which it is, found the columns a, b",
		"0 : want a column with the question, such as question, prompt, query; columns: {question: NAME} says which it is, found the columns a, b",
		"0 : want a column with the answer, such as answer, gold, label; columns: {answer: NAME} says which it is, found the columns a, b"})
	got = read(t, tableSource{Format: KindCSV, Path: questionFile(t, "q.csv", "image,question,answer,\"note; of; a; reader\"\na.png,q,x,y\n")}) // as many semicolons as commas
	same(t, "questions", shorts(got), []string{`row-1 short "q" [] -> x () {a.png}`})
	for text, want := range map[string]string{"": "is empty", "a,a\n": "two columns", "\xff\xfeq": "UTF-16", "id,question\r1,q\r": "carriage returns alone"} {
		if _, err := readQuestions(tableSource{Format: KindCSV, Path: questionFile(t, "q.csv", text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestVLMEvalKit: pictures in base64, lists of them, another row's, and files.
func TestVLMEvalKit(t *testing.T) {
	one, two := base64.StdEncoding.EncodeToString(dot(10)), base64.StdEncoding.EncodeToString(dot(20))
	path := questionFile(t, "q.tsv", "\ufeffindex\timage\timage_path\tquestion\thint\tA\tB\tanswer\tcategory\tl2-category\tsplit\n"+
		"0\t"+one+"\tx.jpg\tq\t\tx\ty\tB\tc\td\tdev\n"+
		"1\t0\t\tq\t\tx\ty\tA\tc\td\tdev\n"+
		"2\t\"['"+one+"', '"+two+"']\"\t\tq\tLook.\t\t\tYes\tc\td\ttest\n"+
		"3\t\tx.jpg\tq\t\t\t\tsome words\tc\td\ttest\n"+
		"4\t"+one[:80]+"\t\tq\t\tx\ty\tA\tc\td\tdev\n"+
		"5\t7\t\tq\t\tx\ty\tA\tc\td\tdev\n")
	got := read(t, tableSource{Format: KindVLMEvalKit, Path: path})
	sums := fmt.Sprintf("%x %x", got.Questions[2].Pictures[0].Sum[:2], got.Questions[2].Pictures[1].Sum[:2])
	first, second, _ := strings.Cut(sums, " ")
	same(t, "questions", shorts(got), []string{
		`0 single "q" [A=x; B=y] -> B (c) {inside ` + first + `}`,
		`1 single "q" [A=x; B=y] -> A (c) {inside ` + first + `}`,
		`2 binary "Look.\n\nq" [=yes; =no] -> yes (c) {inside ` + first + `, inside ` + second + `}`,
		`3 short "q" [] -> some words (c) {x.jpg}`,
		`5 single "q" [A=x; B=y] -> A (c) {7}`, // a file of that name, which nobody has
	})
	if len(got.Problems) != 1 || got.Problems[0].Row != 6 || got.Problems[0].Column != "image" {
		t.Errorf("problems %q", problems(got))
	}
	for i, want := range [][]byte{dot(10), dot(20)} {
		if b, err := got.Questions[2].Pictures[i].Load(); err != nil || !bytes.Equal(b, want) {
			t.Errorf("picture %d: %v", i, err)
		}
	}
	if got := read(t, tableSource{Format: KindVLMEvalKit, Path: path, Split: "test"}); len(got.Questions) != 2 || got.Questions[0].ID != "2" {
		t.Errorf("split test: %q", shorts(got))
	}
	if got := read(t, tableSource{Format: KindVLMEvalKit, Path: path, Split: "val"}); len(got.Questions) != 0 || len(got.Problems) != 1 {
		t.Errorf("split val: %q", problems(got))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(two), []byte(one), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := got.Questions[2].Pictures[1].Load(); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("another picture in its place: %v", err)
	}
}

type stored struct {
	Bytes []byte `parquet:"bytes,optional"`
	Path  string `parquet:"path,optional"`
}

type parquetRow struct {
	Images  []stored `parquet:"images,list"`
	Query   string   `parquet:"query"`
	Choices []string `parquet:"choices,list"`
	Answer  int64    `parquet:"answer"`
}

func writeParquet[T any](t *testing.T, path string, rows []T) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, parquet.MaxRowsPerRowGroup(2))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestParquet: lists of pictures and of options, numbers as answers, pictures beside the
// file, splits.
func TestParquet(t *testing.T) {
	dir := t.TempDir()
	writeParquet(t, filepath.Join(dir, "data", "test-00000-of-00002.parquet"), []parquetRow{
		{[]stored{{Bytes: dot(1)}, {Bytes: dot(2)}}, "q0", []string{"x", "y"}, 0},
		{[]stored{{Bytes: dot(3)}}, "q1", []string{"x", "y", "z"}, 1},
		{[]stored{{Bytes: dot(4)}, {Bytes: dot(5)}, {Bytes: dot(6)}}, "q2", nil, 3},
	})
	writeParquet(t, filepath.Join(dir, "data", "test-00001-of-00002.parquet"), []parquetRow{
		{[]stored{{Path: "b.png"}}, "q3", []string{"x", "y", "z"}, 1},
		{[]stored{{Bytes: []byte("no picture")}}, "q4", []string{"x", "y", "z"}, 1},
		{nil, "q5", []string{"x", "y", "z"}, 1},
	})
	got := read(t, tableSource{Format: kindParquet, Path: dir})
	var want []string
	for i, greys := range [][]uint8{{1, 2}, {3}, {4, 5, 6}} {
		q := got.Questions[i]
		if len(q.Pictures) != len(greys) {
			t.Fatalf("question %d: %s", i, short(q))
		}
		for k, g := range greys {
			if b, err := q.Pictures[k].Load(); err != nil || !bytes.Equal(b, dot(g)) {
				t.Errorf("question %d, picture %d: %v", i, k, err)
			}
		}
		want = append(want, short(q))
	}
	if text := strings.Join(want, "\n"); !strings.Contains(text, `row-1 single "q0" [A=x; B=y] -> A`) || !strings.Contains(text, `row-2 single "q1" [A=x; B=y; C=z] -> B`) || !strings.Contains(text, `row-3 short "q2" [] -> 3`) {
		t.Errorf("questions:\n%s", text)
	}
	if len(got.Questions) != 4 || short(got.Questions[3]) != `row-4 single "q3" [A=x; B=y; C=z] -> B () {b.png}` {
		t.Errorf("questions %q", shorts(got))
	}
	if p := problems(got); len(p) != 2 || !strings.HasPrefix(p[0], "2 images: want a readable") || !strings.HasPrefix(p[1], "3 images: want a picture, found none") {
		t.Errorf("problems %q", p)
	}
	writeParquet(t, filepath.Join(dir, "data", "dev-00000-of-00001.parquet"), []parquetRow{{[]stored{{Bytes: dot(1)}}, "q", nil, 1}})
	if got := read(t, tableSource{Format: kindParquet, Path: dir}); len(got.Questions) != 4 || !slices.Contains(got.Guesses, "split: test, of dev, test") {
		t.Errorf("two splits: %q, %q", shorts(got), got.Guesses)
	}
	if got := read(t, tableSource{Format: kindParquet, Path: dir, Split: "dev"}); len(got.Questions) != 1 {
		t.Errorf("split dev: %q", shorts(got))
	}
	if _, err := readQuestions(tableSource{Format: kindParquet, Path: dir, Split: "val"}); err == nil || !strings.Contains(err.Error(), "it has dev, test") {
		t.Errorf("split val: %v", err)
	}
}

// A text without a blank that begins as a picture in base64 is said to; one that is too long, too.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("a", maxText)
	got := read(t, tableSource{Format: KindCSV, Path: questionFile(t, "t.csv", "id,question,answer,image\n1,"+long+",yes,a.png\n2,a "+long+",yes,a.png\n3,a b,yes,a.png\n")})
	var said []string
	for _, p := range got.Problems {
		said = append(said, fmt.Sprintf("%d %s: %s; %s", p.Row, p.Column, p.Want, p.Got))
	}
	want := []string{"2 question: a question; what begins as a picture in base64 does: more than 64 characters without a blank",
		"3 question: a text of at most 4 MB; 4194306 bytes"}
	if !slices.Equal(said, want) || len(got.Questions) != 1 {
		t.Errorf("%d questions, %q, expected %q", len(got.Questions), said, want)
	}
}

func TestSniff(t *testing.T) {
	for head, want := range map[string]string{
		"id,image,question,answer\n": KindCSV, "image_path;prompt;label\n": KindCSV, "image\tquestion\tanswer\n": kindTSV,
		"index\timage\tquestion\tanswer\n": KindVLMEvalKit, "index\timage_path\tquestion\tA\tanswer\r\n": KindVLMEvalKit,
		"name,size\n": "", "question\n": "", "": "", "Some text, and more.": "", "\xff\xfei\x00d\x00": KindCSV,
	} {
		if got := sniffTable([]byte(head)); got != want {
			t.Errorf("%q is %q, want %q", head, got, want)
		}
	}
	for line, want := range map[string]bool{
		`{"id":"1","images":["a"],"question":"q","type":"short","answer":"x"}`:                            false,
		`{"id":"1","images":["a"],"question":"q","type":"single","options":[{"label":"A"}],"answer":"x"}`: false,
		`{"id":"1","images":["a"],"question":"q","type":"single","options":["x","y"],"answer":"x"}`:       true,
		`{"id":"1","image":"a","question":"q","type":"short","answer":"x"}`:                               true,
		`{"id":"1","images":["a"],"question":"q","answer":"x"}`:                                           true, `[]`: false, `{"id":`: false,
	} {
		if got := mapped([]byte(line)); got != want {
			t.Errorf("%s is a table: %t", line, got)
		}
	}
}

func TestList(t *testing.T) {
	for s, want := range map[string][]string{
		`["a", "b"]`: {"a", "b"}, `['a', "b's"]`: {"a", "b's"}, `['a\'b', 'c\nd']`: {"a'b", "c\nd"}, `['a',]`: {"a"}, `[]`: {},
		`[a, b]`: nil, `['a' 'b']`: nil, `['a`: nil, `[1, 2]`: nil, `a`: nil, ``: nil, `['a]`: nil, `[`: nil,
	} {
		if got, ok := list(s); ok != (want != nil) || !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
			t.Errorf("%s: %q, %t; want %q", s, got, ok, want)
		}
	}
}
