package dataset

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"assay/results/text"
)

// sound says what is wrong with a question that was read.
func sound(q tableQuestion) string {
	labels := map[string]bool{}
	for _, o := range q.Options {
		labels[o.Label] = true
	}
	switch {
	case q.ID == "" || strings.TrimSpace(q.Text) == "" || q.Answer == "" || q.Row < 1 || len(q.Pictures) == 0:
		return "something is missing"
	case q.Type == text.Single && (len(q.Options) < 2 || !labels[q.Answer]):
		return "its answer is none of its options"
	case q.Type == text.Multiple && slices.ContainsFunc(strings.Split(q.Answer, ", "), func(l string) bool { return !labels[l] }):
		return "one of its answers is no option"
	case q.Type == text.Bool && q.Answer != "True" && q.Answer != "False", q.Type == binaryType && q.Answer != "yes" && q.Answer != "no":
		return "its answer is another word"
	case slices.Contains(q.Also, q.Answer) || len(q.Also) > 0 && q.Type != text.Single && q.Type != text.Short || q.Type == text.Single && slices.ContainsFunc(q.Also, func(a string) bool { return !labels[a] }):
		return "other gold answers are none"
	case !slices.Contains([]string{text.Single, text.Multiple, text.Bool, text.Short, binaryType}, q.Type):
		return "it is of no type"
	}
	for _, p := range q.Pictures {
		if p.Path == "" && p.Load == nil {
			return "a picture is nowhere"
		}
	}
	return ""
}

func fuzzed(t *testing.T, format, s string) {
	r := &questionReader{of: tableSource{Format: format, Path: "q"}, types: map[string]int{}}
	var err error
	switch format {
	case formatJSONL:
		err = r.objects(strings.NewReader(s))
	case KindCSV:
		err = r.parse(&questionCells{path: "q", comma: comma([]byte(s))}, strings.NewReader(s))
	default:
		err = r.parse(&questionCells{path: "q", comma: '\t'}, strings.NewReader(s))
	}
	if err != nil {
		return
	}
	got := r.finish()
	ids := map[string]bool{}
	for _, q := range got.Questions {
		if bad := sound(q); bad != "" {
			t.Errorf("%s: %s", short(q), bad)
		}
		if ids[q.ID] {
			t.Errorf("the id %q twice", q.ID)
		}
		ids[q.ID] = true
	}
	for _, p := range got.Problems {
		if p.Want == "" || p.Got == "" || p.File == "" {
			t.Errorf("a problem says too little: %+v", p)
		}
	}
}

// FuzzCells: whatever a CSV, TSV or VLMEvalKit file holds, what is read can be asked.
func FuzzCells(f *testing.F) {
	picture := base64.StdEncoding.EncodeToString(dot(1))
	for _, s := range []string{"id,image,question,A,B,answer\n1,a.png,q,x,y,A\n", "image;question;options;answer\na.png;q;x|y;1\nb.png;q;['x', 'y'];0\n", "index\timage\tquestion\tanswer\n0\t" + picture + "\tq\tYes\n1\t0\tq\tno\n",
		"image,question,answer,type\na.png,\"q\nA. x\nB. y\",\"A, B\",multiple\n", "", "\ufeffimage,question,answer\r\n\"a\"b,q,x\n",
		"image,question,opt_a,opt_b,gold,gold\na.png,q,x,y,opt_b,a\n", "image,question,choice1,choice2,answer\na.png,q,x,y,1\n", "image,question,w,v,answer\na.png,q,x,y,A\n", "image,question,answer1,answer2,answer_any\na.png,q,CT,,a|b\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, format := range []string{KindCSV, KindVLMEvalKit} {
			fuzzed(t, format, s)
		}
		sniffTable([]byte(s))
		if all, ok := list(s); !ok && all != nil && len(all) == 0 {
			t.Errorf("%q is no list, and is %q", s, all)
		}
	})
}

// FuzzLines: the same of JSON lines.
func FuzzLines(f *testing.F) {
	for _, s := range []string{`{"image": "a.png", "question": "q", "answer": "x"}`, `{"images": ["a.png"], "question": "q", "options": ["x", "y"], "answer": ["A", "B"]}`,
		`{"image": "a.png", "question": "q", "options": {"A": "x", "B": "y"}, "answer": 1}` + "\n" + `{"image": 1, "question": null, "options": [{"text": "x"}], "answer": true}`, `[]`, `[{"image": "a.png", "question": "q", "answer": ["x", 2, null]}, {"image": "b.png", "question": "q", "answer": "a|b", "answer_any": {}}`, `{"image": {}, "question": [], "answer": {}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		fuzzed(t, formatJSONL, s)
		mapped([]byte(s))
	})
}
