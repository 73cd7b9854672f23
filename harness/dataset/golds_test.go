package dataset

import (
	"slices"
	"strings"
	"testing"
)

// questionGolds are the gold answers of questions, with | between those of which any is right.
func questionGolds(t tableRead) (out []string) {
	for _, q := range t.Questions {
		out = append(out, q.Type+" "+strings.Join(append([]string{q.Answer}, q.Also...), "|"))
	}
	return out
}

// TestSeveralGoldAnswers: of a short answer any of those given is right, in whatever form they
// stand; with options a list is the set to choose, unless the column says that any is right.
func TestSeveralGoldAnswers(t *testing.T) {
	const two = "short CT|computed tomography"
	for _, c := range []struct{ format, text, want string }{
		{formatJSONL, `{"image": "a.png", "question": "q", "answer": ["CT", "computed tomography"]}`, two},
		{formatJSONL, `{"image": "a.png", "question": "q", "answer": "CT | computed tomography"}`, two},
		{formatJSONL, `{"image": "a.png", "question": "q", "answers": ["CT", "computed tomography", "ct."]}`, two},
		{formatJSONL, `{"image": "a.png", "question": "q", "answer_any": ["CT", "computed tomography"]}`, two},
		{formatJSONL, `{"image": "a.png", "question": "q", "answer": "CT", "answer_any": ["computed tomography", "CT"]}`, two},
		{formatJSONL, `{"image": "a.png", "question": "q", "answer": "CT", "answer_any": null}`, "short CT"},
		{formatJSONL, `{"image": "a.png", "question": "q", "answer": [3, "three"], "type": "short"}`, "short 3|three"},
		{formatJSONL, `{"image": "a.png", "question": "q", "answer": ["yes", "Yes."]}`, "binary yes"},
		{formatJSONL, `{"image": "a.png", "question": "q", "answer": ["yes", "there is one"]}`, "short yes|there is one"},
		{formatJSONL, `{"image": "a.png", "question": "q", "answer": ["CT"]}`, "short CT"},
		{KindCSV, "image,question,answer\na.png,q,CT|computed tomography\n", two},
		{KindCSV, "image,question,answer\na.png,q,\"[\"\"CT\"\", \"\"computed tomography\"\"]\"\n", two},
		{KindCSV, "image,question,answer,answer,answer\na.png,q,CT,,computed tomography\n", two},
		{KindCSV, "image,question,gold,gold\na.png,q,CT,computed tomography\n", two},
		{KindCSV, "image,question,gold1,gold2\na.png,q,CT,computed tomography\n", two},
		{KindCSV, "image,question,answer_1,answer_2\na.png,q,CT,computed tomography\n", two},
		{KindCSV, "image,question,answer_any\na.png,q,CT|computed tomography\n", two},
		{KindCSV, "image,question,A,B,C,answer\na.png,q,x,y,z,\"[\"\"A\"\", \"\"C\"\"]\"\n", "multiple A, C"},
		{KindCSV, "image,question,A,B,C,answer\na.png,q,x,y,z,A|C\n", "multiple A, C"},
		{KindCSV, "image,question,A,B,C,answer,answer\na.png,q,x,y,z,z,A\n", "multiple A, C"},
		{KindCSV, "image,question,A,B,C,answer_any\na.png,q,x,y,z,C|x\n", "single C|A"},
		{KindCSV, "image,question,A,B,C,answer,answer_any\na.png,q,x,y,z,C,A|C\n", "single C|A"},
	} {
		got := read(t, tableSource{Format: c.format, Path: questionFile(t, "q", c.text)})
		if list := questionGolds(got); len(list) != 1 || list[0] != c.want || len(got.Unused) > 0 {
			t.Errorf("%s: %q, want %q; unused %q, %q", c.text, list, c.want, got.Unused, problems(got))
		}
	}
	got := read(t, tableSource{Format: KindCSV, Path: questionFile(t, "q.csv", "image,question,a1,a2\na.png,q,CT,computed tomography\n"), Columns: Mapping{fieldAnswer: {"a1", "a2"}}})
	same(t, "two columns that are named", questionGolds(got), []string{two})
	for text, want := range map[string]string{
		"image,question,answer\na.png,q,yes|no\n":                        "2 answer: want one of yes and no",
		"image,question,answer,type\na.png,q,true|yes|no,bool\n":         "2 answer: want one of true and false",
		"image,question,answer\na.png,q,|\n":                             "2 answer: want a gold answer, found none",
		"image,question,A,B,answer_any\na.png,q,x,y,A|Z\n":               "2 answer_any: want the letter or the text of one of the options x, y",
		"image,question,A,B,answer_any,type\na.png,q,x,y,A|B,multiple\n": "2 answer_any: want no type multiple",
		"image,question,image,answer\na.png,q,b.png,CT\n":                "",
	} {
		got, err := readQuestions(tableSource{Format: KindCSV, Path: questionFile(t, "q.csv", text)})
		switch {
		case want == "" && (err == nil || !strings.Contains(err.Error(), `two columns are called "image"`)):
			t.Errorf("%s: %v", text, err)
		case want != "" && (err != nil || len(got.Questions) > 0 || len(got.Problems) != 1 || !strings.HasPrefix(problems(got)[0], want)):
			t.Errorf("%s: %q, %q, want %s", text, questionGolds(got), problems(got), want)
		}
	}
}

// TestArrayOfRows: a JSON array of rows is read as the same rows in lines are; what is wrong
// is told with the line on which its row begins.
func TestArrayOfRows(t *testing.T) {
	rows := []string{`{"image": "a.png", "question": "q1", "answer": "CT"}`, `{"image": "a.png", "question": "q2", "answer": ["CT", "MRI"]}`, `{"image": "a.png", "question": "q3"}`, `7`, `{"image": "a.png", "question": "q4", "answer": "a", "answer": "b"}`}
	lines := read(t, tableSource{Format: formatJSONL, Path: questionFile(t, "q.jsonl", strings.Join(rows, "\n"))})
	for _, text := range []string{"[" + strings.Join(rows, ",\n") + "]", "\ufeff [" + strings.Join(rows, "\n,") + "\n]\n"} {
		got := read(t, tableSource{Format: formatJSONL, Path: questionFile(t, "q.json", text)})
		p := problems(got)
		if strings.HasPrefix(text, "\ufeff") {
			p = p[1:]
		}
		same(t, text, questionGolds(got), questionGolds(lines))
		same(t, text, p, problems(lines))
		if !slices.Equal(got.Guesses, lines.Guesses) {
			t.Errorf("%s: %q, want %q", text, got.Guesses, lines.Guesses)
		}
	}
	got := read(t, tableSource{Format: formatJSONL, Path: questionFile(t, "q.json", "[\n"+rows[0]+",\n{\"image\": }\n,"+rows[1]+"]")})
	if len(got.Questions) != 2 || len(got.Problems) != 1 || got.Problems[0].Row != 3 || !strings.HasPrefix(problems(got)[0], "3 $: want JSON") {
		t.Errorf("%q, %q", questionGolds(got), problems(got))
	}
	if got := read(t, tableSource{Format: formatJSONL, Path: questionFile(t, "q.json", "["+rows[0]+"] x")}); len(got.Questions) != 1 || len(got.Problems) != 1 {
		t.Errorf("%q, %q", questionGolds(got), problems(got))
	}
	if _, err := readQuestions(tableSource{Format: formatJSONL, Path: questionFile(t, "q.json", "[ ]")}); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("no rows: %v", err)
	}
	if !tableInJSONL(questionFile(t, "q.json", "[\n\n"+rows[0]+"]")) || tableInJSONL(questionFile(t, "p.json", `[{"id":"1","images":["a"],"question":"q","type":"short","answer":"x"}]`)) {
		t.Error("an array is told to be a table, or not, by its first row")
	}
}
