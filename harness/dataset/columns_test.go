package dataset

import (
	"slices"
	"strings"
	"testing"
)

// TestQuestionOptionColumns: options stand in columns of any of the names that people give them.
func TestQuestionOptionColumns(t *testing.T) {
	for _, header := range []string{"A,B,C", "a,b,c", "opt_a,opt_b,opt_c", "optA,optB,optC", "option_a,option_b,option_c", "optionA,optionB,optionC", "Option A,Option B,Option C", "options.a,options.b,options.c",
		"option1,option2,option3", "option_1,option_2,option_3", "option_0,option_1,option_2", "choice1,choice2,choice3", "choice_a,choice_b,choice_c", "Choice-01,Choice-02,Choice-03", "answer_a,answer_b,answer_c", "opt_a_text,opt_b_text,opt_c_text"} {
		for _, gold := range []string{"B", "b", "right", strings.Split(header, ",")[1]} {
			got := read(t, tableSource{Format: KindCSV, Path: questionFile(t, "q.csv", "id,image,question,"+header+",gold\n1,a.png,q,left,right,both,"+gold+"\n2,a.png,q,yes,no,,A\n")})
			same(t, header+" with the gold answer "+gold, shorts(got), []string{`1 single "q" [A=left; B=right; C=both] -> B () {a.png}`, `2 single "q" [A=yes; B=no] -> A () {a.png}`})
			if len(got.Unused) > 0 || !slices.Contains(got.Guesses, "options: column "+strings.ReplaceAll(header, ",", ", ")) {
				t.Errorf("%s: unused %q, guessed %q", header, got.Unused, got.Guesses)
			}
		}
	}
	// The numbers of columns say from what numbers in answers count, unless those say it.
	for header, want := range map[string]string{"option1,option2,option3": "A B", "option0,option1,option2": "B C", "A,B,C": ""} {
		got := read(t, tableSource{Format: KindCSV, Path: questionFile(t, "q.csv", "image,question,"+header+",gold\na.png,q,left,right,both,1\na.png,q,left,right,both,2\n")})
		var answers []string
		for _, q := range got.Questions {
			answers = append(answers, q.Answer)
		}
		if strings.Join(answers, " ") != want {
			t.Errorf("%s: %q, want %s; %q", header, answers, want, problems(got))
		}
	}
	quiz := read(t, tableSource{Format: KindCSV, Path: questionFile(t, "q.csv", "image,question,answer1,answer2,correct\na.png,q,left,right,2\n")})
	same(t, "answers to choose from", shorts(quiz), []string{`row-1 single "q" [A=left; B=right] -> B () {a.png}`})
	// A name that stands alone is no list of options.
	got := read(t, tableSource{Format: KindCSV, Path: questionFile(t, "q.csv", "image,question,a,option_b,option_1,gold\na.png,q,x,y,z,some text\n")})
	same(t, "no options", shorts(got), []string{`row-1 short "q" [] -> some text () {a.png}`})
	same(t, "unused", got.Unused, []string{"a", "option_b", "option_1"})
}

// TestUnusedColumns: what nobody reads is named, whatever the format; what is read by another
// name is not.
func TestUnusedColumns(t *testing.T) {
	for format, text := range map[string]string{
		KindCSV:     "id,image,question,answer,distractors,patient,split,\n1,a.png,q,x,y,p1,test,\n",
		formatJSONL: `{"id": 1, "image": "a.png", "question": "q", "answer": "x", "distractors": "y", "patient": "p1", "split": "test", "": ""}`,
	} {
		got := read(t, tableSource{Format: format, Path: questionFile(t, "q", text), Cluster: "patient"})
		same(t, format, got.Unused, []string{"distractors"})
		got = read(t, tableSource{Format: format, Path: questionFile(t, "q", text), Columns: Mapping{fieldHint: {"distractors"}}})
		same(t, format, got.Unused, []string{"patient"})
	}
}

// TestLettersWithoutOptions: answers that are letters of options which are not there are
// refused as a whole, with what to do; as texts they are taken where the table says so.
func TestLettersWithoutOptions(t *testing.T) {
	rows := "image,question,first,second,gold,type\na.png,q,x,y,A,KIND\na.png,q,x,y,b,KIND\na.png,q,x,y,some text,KIND\n"
	got := read(t, tableSource{Format: KindCSV, Path: questionFile(t, "q.csv", strings.ReplaceAll(rows, "KIND", ""))})
	if len(got.Questions) != 0 || len(got.Problems) != 1 || !strings.Contains(problems(got)[0], "0 gold: want options to choose from, because 2 of 3 answers are single letters") ||
		!strings.Contains(problems(got)[0], "columns: {options: [first, second]}") {
		t.Errorf("%q, %q", shorts(got), problems(got))
	}
	if got := read(t, tableSource{Format: KindCSV, Path: questionFile(t, "q.csv", strings.ReplaceAll(rows, "KIND", "short"))}); len(got.Questions) != 3 {
		t.Errorf("texts of one letter: %q", problems(got))
	}
	if got := read(t, tableSource{Format: KindCSV, Path: questionFile(t, "q.csv", strings.ReplaceAll(rows, "KIND", "")), Columns: Mapping{fieldOptions: {"first", "second"}}}); len(got.Questions) != 2 || got.Questions[1].Answer != "B" {
		t.Errorf("with options: %q", problems(got))
	}
	if got := read(t, tableSource{Format: KindCSV, Path: questionFile(t, "q.csv", "image,question,answer\na.png,Which letter?,A\na.png,q,some text\na.png,q,another\n")}); len(got.Questions) != 3 {
		t.Errorf("one letter of three: %q", problems(got))
	}
}
