package table

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestParseJSON(t *testing.T) {
	v, issues := ParseJSON([]byte(` {"a": [1.50, null, true], "b": {}} `))
	want := map[string]any{"a": []any{json.Number("1.50"), nil, true}, "b": map[string]any{}}
	if len(issues) > 0 || !reflect.DeepEqual(v, want) {
		t.Errorf("%v, %v", v, issues)
	}
	for text, want := range map[string]string{
		"": "ends early", "{": "ends early", "{} {}": "after top-level value", `{"a": NaN}`: "the literal NaN at byte 7", "\xff": "not UTF-8",
		strings.Repeat("[", 80) + strings.Repeat("]", 80): "nesting deeper than 64", `{"a": {"b": 1, "b": 2}}`: "the key again",
	} {
		_, issues := ParseJSON([]byte(text))
		if len(issues) != 1 || !strings.Contains(issues[0].Got, want) {
			t.Errorf("%.20q: %v, want %s", text, issues, want)
		}
	}
	if _, issues := ParseJSON([]byte(`{"a": {"b": 1, "b": 2}}`)); issues[0].Path != "$.a.b" {
		t.Errorf("a second key is at %s", issues[0].Path)
	}
}

func TestViolations(t *testing.T) {
	schema, err := Compile(`{"$id": "https://assay.invalid/x.schema.json", "type": "object", "required": ["n"], "additionalProperties": false,
		"properties": {"n": {"type": "array", "items": {"enum": ["a", "b"]}}}}`, "x")
	if err != nil {
		t.Fatal(err)
	}
	v, _ := ParseJSON([]byte(`{"n": ["a", "c", 3], "m": 1}`))
	var got []string
	Violations(schema.Validate(v), v, func(column, want, found string) { got = append(got, column+": "+want+", "+found) })
	want := []string{"$.m: a key of the schema, an unknown key", `$.n[1]: one of a, b, the text "c"`, "$.n[2]: one of a, b, the number 3"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	if _, err := Compile("{", "x"); err == nil {
		t.Error("no JSON and no error")
	}
}

func TestListed(t *testing.T) {
	var many []Problem
	for range 25 {
		many = append(many, Problem{File: "f", Row: 3, Column: "c", Want: "w", Got: Quote(strings.Repeat("é", 90))})
	}
	text := Listed(many).Error()
	if !strings.HasSuffix(text, "\nand 5 more") || strings.Count(text, "f:3: c: expected w, found \"é") != 20 || strings.Contains(text, strings.Repeat("é", 61)) {
		t.Errorf("%s", text)
	}
}
