package phantom_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"assay/backends/phantom"
)

func compile(t interface{ Fatal(...any) }, schema string) *jsonschema.Schema {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", v); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func instanceOf(schema string) (string, error) {
	b, err := phantom.Instance(json.RawMessage(schema))
	return string(b), err
}

func TestAnswersFollowTheirSchema(t *testing.T) {
	for _, schema := range []string{
		catSchema, `{}`, `true`, `{"const":{"a":[1,null]}}`, `{"type":["integer","null"],"minimum":3.5}`,
		`{"type":"array","minItems":2,"items":{"$ref":"#/$defs/step"},"$defs":{"step":{"type":"object","required":["n","t"],"properties":{"n":{"type":"integer","minimum":4},"t":{"type":"string","minLength":3}}}}}`,
		`{"required":["a","b"],"properties":{"a":{"type":"boolean"},"b":{"type":"number","maximum":-2.5}}}`,
		`{"anyOf":[{"type":"null"},{"type":"string"}]}`, `{"type":"object","required":["x"]}`,
		`{"$defs":{"a/b":{"enum":["u","v"]}},"$ref":"#/$defs/a~1b"}`,
	} {
		got, err := instanceOf(schema)
		if err != nil {
			t.Errorf("%s: %v", schema, err)
			continue
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(got))
		if err == nil {
			err = compile(t, schema).Validate(v)
		}
		if err != nil {
			t.Errorf("%s: %s: %v", schema, got, err)
		}
	}
	for _, schema := range []string{`{`, `false`, `{"$ref":"#/nope"}`, `{"$ref":"http://x/y"}`, `{"required":["a"],"properties":{"a":{"$ref":"#"}}}`,
		`{"type":"integer","minimum":5,"multipleOf":4}`, `{"type":"number","exclusiveMinimum":0}`} { // and what phantoms have no answer to
		if got, err := instanceOf(schema); err == nil {
			t.Errorf("%s: answered %s", schema, got)
		}
	}
}

func TestAnyObjectSchemaIsFollowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var make func(depth int) map[string]any
		make = func(depth int) map[string]any {
			kinds := []string{"string", "integer", "number", "boolean", "null", "array", "object"}
			if depth == 0 {
				kinds = kinds[:5]
			}
			s := map[string]any{"type": rapid.SampledFrom(kinds).Draw(t, "type")}
			switch s["type"] {
			case "string":
				s["minLength"] = rapid.IntRange(0, 5).Draw(t, "minLength")
			case "integer", "number":
				lo := rapid.IntRange(-9, 9).Draw(t, "minimum")
				s["minimum"], s["maximum"] = lo, lo+rapid.IntRange(0, 5).Draw(t, "room")
			case "array":
				s["items"], s["minItems"] = make(depth-1), rapid.IntRange(0, 3).Draw(t, "minItems")
			case "object":
				s["properties"] = map[string]any{"a": make(depth - 1), "b": make(depth - 1)}
				s["required"], s["additionalProperties"] = []string{"b"}, false
			}
			return s
		}
		b, err := json.Marshal(make(3))
		if err != nil {
			t.Fatal(err)
		}
		got, err := instanceOf(string(b))
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(got))
		if err == nil {
			err = compile(t, string(b)).Validate(v)
		}
		if err != nil {
			t.Fatalf("%s: %s: %v", b, got, err)
		}
	})
}

func TestSchemaErrorsAreWorded(t *testing.T) {
	if _, err := instanceOf(`{"$ref":"#/a/b"}`); err == nil || errors.Unwrap(err) != nil || !strings.Contains(err.Error(), "#/a/b") {
		t.Errorf("a broken reference: %v", err)
	}
}
