package hosted

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/llms/openai"

	"assay/backends"
)

// Droppable are the settings that bench.yaml may allow to be missing from a request.
func Droppable() []string { return []string{"temperature", "top_p", "seed", "schema", "think"} }

// Allowing says in words how to allow settings to be missing.
func Allowing(settings []string) string {
	return "take the setting away, or write allow_dropped: [" + strings.Join(settings, ", ") + "] of the judge"
}

// Forms in which a schema is asked for. None, the empty one, is that it is not.
const (
	formExact  = "exact"
	formWeaker = "weaker" // without the limits of numbers and lengths
	formJSON   = "json"   // any JSON
)

// dropped are the settings that were asked for and are not in what left as they were
// asked. It says in left in which form the schema went.
func dropped(s Settings, req *backends.Request, left *Left) []string {
	var out []string
	differs := func(name string, asked, got any) {
		if !reflect.DeepEqual(asked, got) {
			out = append(out, name)
		}
	}
	t, n := req.Sampling.Temperature, req.Sampling.MaxTokens
	differs("model", s.Model, left.Model)
	differs("temperature", &t, left.Temperature)
	differs("max_tokens", &n, left.MaxTokens)
	if s.TopP != nil {
		differs("top_p", s.TopP, left.TopP)
	}
	if req.Sampling.Seed != nil {
		differs("seed", req.Sampling.Seed, left.Seed)
	}
	if left.schema != nil {
		left.Schema = compared(req.Schema, left.schema)
	}
	if req.Schema != nil && left.Schema != formExact {
		out = append(out, "schema")
	}
	// Where an API has no such setting, not to think is what it does unasked.
	if left.thinks && req.Think != nil && (left.Think == nil || *left.Think != *req.Think) || !left.thinks && req.Think != nil && *req.Think {
		out = append(out, "think")
	}
	return out
}

// notSent says in words what would not reach the provider.
func notSent(s Settings, not []string, left Left) string {
	what := strings.Join(not, " and ")
	if slices.Contains(not, "schema") && left.Schema != "" {
		what = strings.Replace(what, "schema", "schema (only as "+left.Schema+")", 1)
	}
	return fmt.Sprintf("%s would not reach %s as asked for, and nothing was sent", what, s.Provider)
}

// bounds are the words of JSON Schema that langchaingo has no place for, and without
// which a schema lets more pass.
func bounds() []string {
	return []string{"minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "uniqueItems", "pattern", "format"}
}

// formOf is the form in which langchaingo's openai can ask for a schema.
func formOf(schema json.RawMessage) (string, *openai.ResponseFormatJSONSchemaProperty) {
	if schema == nil {
		return "", nil
	}
	p := new(openai.ResponseFormatJSONSchemaProperty)
	if json.Unmarshal(schema, p) != nil { // a list of types
		return formJSON, nil
	}
	made, err := json.Marshal(p)
	if err != nil {
		return formJSON, nil
	}
	if form := compared(schema, made); form == formExact || form == formWeaker {
		return form, p
	}
	return formJSON, nil
}

// compared says in which form a schema left.
func compared(asked, left json.RawMessage) string {
	var a, l any
	if json.Unmarshal(asked, &a) != nil || json.Unmarshal(left, &l) != nil {
		return ""
	}
	l = without(l, nil)
	switch {
	case reflect.DeepEqual(without(a, nil), l):
		return formExact
	case reflect.DeepEqual(without(a, bounds()), l):
		return formWeaker
	}
	return ""
}

// without is a schema without words, and without the additionalProperties: false that
// langchaingo writes of what is no object.
func without(schema any, words []string) any {
	switch s := schema.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, v := range s {
			if k == "additionalProperties" && s["type"] != "object" || slices.Contains(words, k) {
				continue
			}
			if k == "properties" {
				named := map[string]any{}
				if of, ok := v.(map[string]any); ok {
					for name, p := range of {
						named[name] = without(p, words)
					}
				}
				out[k] = named
				continue
			}
			out[k] = without(v, words)
		}
		return out
	case []any:
		out := make([]any, len(s))
		for i, v := range s {
			out[i] = without(v, words)
		}
		return out
	}
	return schema
}

// closed says whether a schema is what OpenAI calls strict: of every object all
// properties are required, and no others allowed.
func closed(p *openai.ResponseFormatJSONSchemaProperty) bool {
	if p.Type == "object" && (p.AdditionalProperties || len(p.Required) != len(p.Properties)) {
		return false
	}
	for _, q := range p.Properties {
		if !closed(q) {
			return false
		}
	}
	return p.Items == nil || closed(p.Items)
}
