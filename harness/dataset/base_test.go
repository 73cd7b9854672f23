package dataset

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"assay/harness/dataset/datasettest"
	"assay/harness/dataset/phantom"
)

const oneEntry = `{"Is it?": {"type": "comparison", "projection_hint": "frontal", "answers": {
  "Right": {"must_all": [{"term": "a", "synonyms": ["b"]}], "at_least_k_of": [{"k": 2, "any_of": [{"term": "c"}, {"term": "d"}]}],
    "forbidden": [{"term": "e"}], "context": {"notes": ["n", "m"], "caps": [{"if": "x == y", "max_score": 4}]}},
  "correct": {"forbidden": [{"term": "e"}], "context": {"notes": "one"}}},
  "additional_guidance": {"disambiguation_rules": ["r"], "acceptable_alternate_terminology": [["p", "q"]]}}}`

func TestKnowledge(t *testing.T) {
	kb, problems := parseKnowledge("f", []byte(oneEntry))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	means := func(label string) (string, bool) {
		return map[string]string{"correct": "correctly positioned", "right": "right"}[label], label == "correct" || label == "right"
	}
	got, why := kb.Lookup(" is  it? ", "Right", means)
	want := &Knowledge{MustAll: []Term{{"a", []string{"b"}}}, AtLeast: []AtLeast{{2, []Term{{Term: "c"}, {Term: "d"}}}}, Forbidden: []Term{{Term: "e"}},
		Notes: "n\nm", Caps: []Cap{{"x == y", 4}}, Rules: []string{"r"}, Alternates: [][]string{{"p", "q"}}}
	if why != "" || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %s", got, why)
	}
	if got, why := kb.Lookup("Is it?", "correctly positioned", means); why != "" || got.Notes != "one" {
		t.Errorf("by an alias: %+v, %s", got, why)
	}
	if got, why := kb.Lookup("Is it?", "left", means); got != nil || why != "it knows the answers correct, right" {
		t.Errorf("an answer it does not know: %+v, %s", got, why)
	}
	if got, why := kb.Lookup("Was it?", "left", means); got != nil || !strings.Contains(why, "no entry for the question") {
		t.Errorf("a question it does not know: %+v, %s", got, why)
	}
}

func TestKnowledgeIsRefusedInWords(t *testing.T) {
	entry := func(s string) string { return `{"q": {"answers": {"yes": {` + s + `}}}}` }
	for _, c := range []struct{ text, want string }{
		{``, "$: expected JSON"}, {`[]`, "$: expected object"}, {`{}`, "$: expected minProperties"}, {`{"q": NaN}`, "the literal NaN"}, {`{"q": {}}`, "$.q.answers: expected a value"},
		{`{"q": {"type": "other", "answers": {"a": {"must_all": [{"term": "x"}]}}}}`, "$.q.type: expected one of binary"},
		{`{"q": {"answers": {}}}`, "$.q.answers: expected minProperties"}, {`{"q": {"answers": {"a": {"must_all": [{"term": "x"}]}}, "hint": ""}}`, "$.q.hint: expected a key of the schema"},
		{entry(`"must_all": []`), "$.q.answers.yes: expected at least one term"}, {entry(``), "$.q.answers.yes: expected at least one term"},
		{entry(`"must_all": ["x"]`), "$.q.answers.yes.must_all[0]: expected object"}, {entry(`"must_all": [{"term": " "}]`), "must_all[0].term"},
		{entry(`"at_least_k_of": [{"k": 0, "any_of": [{"term": "x"}]}]`), "at_least_k_of[0].k"},
		{entry(`"at_least_k_of": [{"k": 3, "any_of": [{"term": "x"}]}]`), "at_least_k_of[0].k: expected at most the 1 terms"},
		{entry(`"must_all": [{"term": "x"}], "context": {"caps": [{"if": "x", "max_score": 9}]}`), "caps[0].max_score"},
		{entry(`"must_all": [{"term": "x"}], "must_all": []`), "each key once"},
		{`{"q": {"answers": {"yes": {"must_all": [{"term": "x"}]}, "YES": {"must_all": [{"term": "x"}]}}}}`, "each answer once"},
		{`{"q": {"answers": {"a": {"must_all": [{"term": "x"}]}}}, "Q": {"answers": {"a": {"must_all": [{"term": "x"}]}}}}`, "each question once"},
	} {
		kb, problems := parseKnowledge("f", []byte(c.text))
		found := ""
		for _, p := range problems {
			found += p.Error() + "\n"
		}
		if kb != nil || !strings.Contains(found, c.want) {
			t.Errorf("%s: %q, want %q", c.text, found, c.want)
		}
	}
	file := filepath.Join(t.TempDir(), "k.json")
	if err := os.WriteFile(file, []byte(entry(``)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readKnowledge(file); err == nil || !strings.Contains(err.Error(), "k.json: $.q.answers.yes: expected at least one term") {
		t.Errorf("error %v", err)
	}
	if _, err := readKnowledge(file + "x"); err == nil {
		t.Error("no file and no error")
	}
}

// The bases that we make keep the schema, too.
func TestOurKnowledgeBases(t *testing.T) {
	for name, text := range map[string][]byte{"phantoms": phantom.Knowledge(), "synthetic TAIX-VQA": datasettest.TAIXKnowledge(false), "with gaps": datasettest.TAIXKnowledge(true)} {
		kb, problems := parseKnowledge(name, text)
		if len(problems) > 0 || len(kb.questions) < 30 {
			t.Errorf("%s: %v", name, problems)
		}
		if !reflect.DeepEqual(ownKnowledge(text), kb) {
			t.Errorf("%s: another base without checks", name)
		}
	}
}
