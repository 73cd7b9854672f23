package dataset

import (
	"reflect"
	"strings"
	"testing"
)

// A file of texts gives items its words, by id, in CSV and in JSON lines alike; labels stay, and a
// gold answer that is an option's text follows it.
func TestWord(t *testing.T) {
	items := func() *Dataset {
		return &Dataset{Items: []Item{
			{ID: "1", Question: "Which side?", Type: "single", Options: []Option{{"A", "left"}, {"B", "right"}}, Answer: "B"},
			{ID: "2", Question: "Which modality?", Type: "short", Answer: "plain film", Also: []string{"X-ray"}},
			{ID: "3", Question: "How severe?", Type: TypeOrdinal, Options: []Option{{"", "mild"}, {"", "severe"}}, Answer: "Mild"},
			{ID: "4", Question: "Is it?", Type: "bool", Answer: "True"},
		}}
	}
	csv := "id,question,A,B,answer\n1,Welche Seite?,links,rechts,\n2,Welches Verfahren?,,,Röntgen | Aufnahme\n3,Wie schwer?,leicht,schwer,\nelsewhere,Was?,,,\n"
	lines := `{"id": 1, "question": "Welche Seite?", "options": ["links", "rechts"]}
{"id": "2", "question": "Welches Verfahren?", "answer": ["Röntgen", "Aufnahme"]}
{"id": "3", "question": "Wie schwer?", "options": ["leicht", "schwer"], "answer": null}`
	for _, content := range []string{csv, lines} {
		d := items()
		if err := Word(d, "german", "g", []byte(content)); err != nil {
			t.Fatal(err)
		}
		want := []Item{
			{ID: "1", Question: "Welche Seite?", Type: "single", Options: []Option{{"A", "links"}, {"B", "rechts"}}, Answer: "B"},
			{ID: "2", Question: "Welches Verfahren?", Type: "short", Answer: "Röntgen", Also: []string{"Aufnahme"}},
			{ID: "3", Question: "Wie schwer?", Type: TypeOrdinal, Options: []Option{{"", "leicht"}, {"", "schwer"}}, Answer: "leicht"},
		}
		for i, w := range want {
			got := d.Items[i].Texts["german"].In(d.Items[i])
			if got.Texts = nil; !reflect.DeepEqual(got, w) {
				t.Errorf("%+v, want %+v", got, w)
			}
			if d.Items[i].Question == w.Question || d.Items[i].Options != nil && d.Items[i].Options[0] == w.Options[0] {
				t.Errorf("item %s itself is changed", w.ID)
			}
		}
		if d.Items[3].Texts != nil {
			t.Errorf("item 4 has %v", d.Items[3].Texts)
		}
	}
	for content, want := range map[string]string{
		"": "expected a header row", "id,text\n1,q\n": "column question", "id,question,Q2\n1,q,r\n": "Q2", "id,question\n1,\n": ":2: question: expected a question",
		"id,question\n1,q\n1,r\n": ":3: id: expected each id once", "id,question,A\n1,q,x\n": ":2: options: expected 2 options", "id,question,A,B\n1,q,,x\n": ":2: options: expected 2 options",
		"id,question,A,B,C\n1,q,x,y,z\n": ":2: options: expected 2 options", "id,question,answer\n1,q,left\n": ":2: answer: expected none", `{"id": "1", "question": "q", "options": "x"}`: ":1: options: expected a list",
	} {
		if err := Word(items(), "german", "g", []byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", content, err, want)
		}
	}
}

// What is read as texts fits the item that it is for.
func FuzzWord(f *testing.F) {
	for _, s := range []string{"id,question\n1,q\n", "id,question,A,B,answer\n1,q,x,y,\n", `{"id": "1", "question": "q", "options": ["x", "y"]}`, "\ufeffid,question\n\"1\",\"a\nb\"\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		d := &Dataset{Items: []Item{{ID: "1", Question: "Which?", Options: []Option{{"A", "left"}, {"B", "right"}}, Answer: "A"}}}
		err := Word(d, "w", "f", content)
		w, ok := d.Items[0].Texts["w"]
		if !ok {
			return
		}
		if got := w.In(d.Items[0]); len(got.Options) != 2 || got.Answer != "A" || strings.TrimSpace(got.Question) == "" {
			t.Fatalf("%q, %v: %+v", content, err, got)
		}
	})
}
