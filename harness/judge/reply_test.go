package judge

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseReply(t *testing.T) {
	for _, c := range []struct {
		name, in, want string // want "": no verdict
		mends, repeats string
	}{
		{"clean", `{"a": [1, -2.5e1, true, null, "x\n"]}`, `{"a":[1,-2.5e1,true,null,"x\n"]}`, "", ""},
		{"white space around", " \n{}\r\n", `{}`, "", ""},
		{"byte order mark", "\uFEFF{}", `{}`, "", ""},
		{"a fence", "```json\n{\"a\":1}\n```", `{"a":1}`, "code fence", ""},
		{"a fence without a language", "```\n[1]\n```", `[1]`, "code fence", ""},
		{"prose around a fence", "My verdict:\n```json\n{\"a\":1}\n```\nDone.", `{"a":1}`, "code fence, prose around", ""},
		{"a fence that is not closed", "```json\n{\"a\":1}\n", `{"a":1}`, "code fence", ""},
		{"trailing commas", `{"a":[1,2,],}`, `{"a":[1,2]}`, "trailing comma", ""},
		{"missing commas", "{\"a\":1 \"b\":[1 2 \"x\"{}]\n\"c\":3}", `{"a":1,"b":[1,2,"x",{}],"c":3}`, "missing comma", ""},
		{"several mends", "```\n{\"a\":1 \"b\":2,}\n```", `{"a":1,"b":2}`, "code fence, missing comma, trailing comma", ""},
		{"a key twice, same value", `{"a":{"x":1},"a":{"x":1}}`, `{"a":{"x":1}}`, "repeated key", ""},
		{"a key twice, other value", `{"a":1,"a":2}`, `{"a":2}`, "", "a"},
		{"empty", "  ", "", "", ""},
		{"prose", "The answer is correct.", "", "", ""},
		{"prose before", `Sure! {"verdict":"correct"}`, `{"verdict":"correct"}`, "prose around", ""},
		{"prose behind", `{"verdict":"correct"} I hope this helps`, `{"verdict":"correct"}`, "prose around", ""},
		{"prose that takes it back", `{"verdict":"correct"} Wait, that is not so.`, "", "", ""},
		{"prose with a score of its own", `I give a score of 2. {"score":5}`, "", "", ""},
		{"a refusal with the form", `I cannot judge this. The form is {"score":5}`, "", "", ""},
		{"a citation", `The answer is on the left [1].`, "", "", ""},
		{"two values", `{"verdict":"correct"} {"verdict":"incorrect"}`, "", "", ""},
		{"two fences", "```\n{\"a\":1}\n```\n```\n{\"a\":2}\n```", "", "", ""},
		{"JSON beside a fence", "{\"a\":2}\n```\n{\"a\":1}\n```", "", "", ""},
		{"another language in the fence", "```python\n{}\n```", "", "", ""},
		{"cut", `{"steps":[{"type":"modality"}`, "", "", ""},
		{"cut in a string", `{"steps":"mod`, "", "", ""},
		{"single quotes", `{'a':1}`, "", "", ""},
		{"a comment", `{"a":1 // one` + "\n}", "", "", ""},
		{"two commas", `[1,,2]`, "", "", ""},
		{"a comma first", `[,1]`, "", "", ""},
		{"digits run together", `[1-2]`, "", "", ""},
		{"a bare word", `{"a":yes}`, "", "", ""},
		{"Python", `{"a":True,"b":None}`, `{"a":true,"b":null}`, "a name of Python's", ""},
		{"NaN", `{"a":NaN}`, "", "", ""},
		{"a leading zero", `[01]`, "", "", ""},
		{"an unescaped line end", "{\"a\":\"x\ny\"}", `{"a":"x\ny"}`, "a line end or tab in a string", ""},
		{"an apostrophe with a backslash", `{"a":"it\'s"}`, `{"a":"it's"}`, `\'`, ""},
		{"a control character", "{\"a\":\"x\x01y\"}", "", "", ""},
		{"a bad escape", `{"a":"\x"}`, "", "", ""},
		{"a key without a value", `{"a"}`, "", "", ""},
		{"a huge exponent", `[1e999999999]`, "", "", ""},
		{"a tiny exponent", `[1e-999999999]`, "", "", ""},
		{"too deep", strings.Repeat("[", 100) + strings.Repeat("]", 100), "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := parseReply(c.in)
			if c.want == "" {
				if err == nil {
					t.Fatalf("read as %v", r.Value)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(r.Value)
			if err != nil || string(got) != c.want {
				t.Errorf("value %s (%v), want %s", got, err, c.want)
			}
			if m := strings.Join(r.Mends, ", "); m != c.mends {
				t.Errorf("mends %q, want %q", m, c.mends)
			}
			if m := strings.Join(r.Repeats, ", "); m != c.repeats {
				t.Errorf("repeats %q, want %q", m, c.repeats)
			}
		})
	}
}

// TestEachWordIsKnown: prose with a word of lexicon.txt is of no use beside JSON, and behind it where
// its list is of what stands there.
func TestEachWordIsKnown(t *testing.T) {
	const verdict = `{"verdict":"no_answer"}`
	words := map[string]string{`apolog\w*`: "apologies", `examples?`: "example", `e\.g`: "e.g", `hypothetical\w*`: "hypothetically",
		`(?:in)?correct`: "incorrect", `changed?`: "change", `mistaken?`: "mistaken", `revis\w+`: "revised", `reconsider\w*`: "reconsider",
		`abstain\w*`: "abstained", `scor\w+`: "scoring"}
	of := func(list string, before bool) (n int) {
		for _, entry := range lexicon[list] {
			word := cmp.Or(words[entry], entry)
			if _, err := parseReply(verdict + " So " + word + " it is."); err == nil {
				t.Errorf("%s behind JSON: %q is read over", list, word)
			}
			if _, err := parseReply("So " + word + " it is: " + verdict); (err != nil) != before {
				t.Errorf("%s before JSON: %q gives %v", list, word, err)
			}
			n++
		}
		return n
	}
	if a, b := of("noVerdict", true), of("takenBack", false); a == 0 || b == 0 || len(lexicon) != 2 {
		t.Errorf("lexicon.txt has %d lists, with %d and %d words", len(lexicon), a, b)
	}
}

// seeds are the replies that the fuzz test starts from.
func seeds(t testing.TB) []string {
	files, err := filepath.Glob("testdata/replies/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	if len(out) < 8 {
		t.Fatalf("testdata/replies holds %d seeds; the corpus is missing", len(out))
	}
	return out
}

// FuzzParseReply: what is valid JSON is read as encoding/json reads it, without
// a mend; what was mended reads the same again once it is written out.
func FuzzParseReply(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkReply(t, s) })
}

func checkReply(t interface{ Fatalf(string, ...any) }, s string) {
	r, err := parseReply(s)
	body := strings.TrimSpace(strings.TrimPrefix(s, "\uFEFF"))
	if err != nil {
		if json.Valid([]byte(body)) && !strings.Contains(err.Error(), "out of range") && !strings.Contains(err.Error(), "deeper") {
			t.Fatalf("%q is JSON but was refused: %v", s, err)
		}
		return
	}
	out, err := json.Marshal(r.Value)
	if err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	if json.Valid([]byte(body)) {
		for _, m := range r.Mends {
			if m != "repeated key" {
				t.Fatalf("%q is JSON but was mended: %v", s, r.Mends)
			}
		}
		var want any
		dec := json.NewDecoder(strings.NewReader(body))
		dec.UseNumber()
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		// encoding/json merges the objects of a repeated key; we say so instead.
		if len(r.Repeats) == 0 && !reflect.DeepEqual(want, r.Value) {
			t.Fatalf("%q is %v, want %v", s, r.Value, want)
		}
	} else if len(r.Mends) == 0 {
		t.Fatalf("%q is not JSON, yet nothing was mended", s)
	}
	again, err := parseReply(string(out))
	if err != nil || len(again.Mends) > 0 || !reflect.DeepEqual(again.Value, r.Value) {
		t.Fatalf("%q written out is %s, which reads as %v, %v", s, out, again.Value, err)
	}
}

// TestMends: a value from which commas were taken, or to which one was added,
// reads as before and is called repaired.
func TestMends(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom([]string{`"a"`, `12`, `{"k":"v"}`, `true`, `[1,2]`, `null`}), 2, 6).Draw(t, "list")
		at := rapid.IntRange(1, len(list)-1).Draw(t, "at")
		whole := "[" + strings.Join(list, ",") + "]"
		missing := "[" + strings.Join(list[:at], ",") + " " + strings.Join(list[at:], ",") + "]"
		trailing := "[" + strings.Join(list, ",") + " , ]"
		want, err := parseReply(whole)
		if err != nil || len(want.Mends) > 0 {
			t.Fatalf("%s: %v %v", whole, want.Mends, err)
		}
		for s, mend := range map[string]string{missing: "missing comma", trailing: "trailing comma"} {
			got, err := parseReply(s)
			if err != nil || !reflect.DeepEqual(got.Value, want.Value) || !reflect.DeepEqual(got.Mends, []string{mend}) {
				t.Fatalf("%s is %v with %v, %v", s, got.Value, got.Mends, err)
			}
		}
		checkReply(t, missing)
	})
}
