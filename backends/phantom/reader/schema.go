package reader

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Instance is a smallest JSON value that a JSON Schema allows: required
// properties only, first choices, least numbers. It knows type, enum, const,
// properties, required, items, prefixItems, minItems, minLength, bounds,
// anyOf, oneOf, allOf and local $ref.
func Instance(schema json.RawMessage) (json.RawMessage, error) {
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, fmt.Errorf("reader: read JSON schema: %w", err)
	}
	m := minimal{root: root}
	if err := m.check(root); err != nil {
		return nil, err
	}
	v, err := m.of(root, 0)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

type minimal struct{ root any }

// check follows every reference, needed or not: servers refuse a broken one.
func (m minimal) check(v any) error {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			if _, err := m.resolve(ref); err != nil {
				return err
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := m.check(v[key]); err != nil {
				return err
			}
		}
	case []any:
		for _, one := range v {
			if err := m.check(one); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m minimal) of(schema any, depth int) (any, error) {
	if depth > 64 {
		return nil, errors.New("reader: JSON schema nests too deep")
	}
	s, ok := schema.(map[string]any)
	if !ok {
		if schema == false {
			return nil, errors.New("reader: JSON schema allows nothing")
		}
		return nil, nil // true allows all
	}
	if ref, ok := s["$ref"].(string); ok {
		to, err := m.resolve(ref)
		if err != nil {
			return nil, err
		}
		return m.of(to, depth+1)
	}
	if v, ok := s["const"]; ok {
		return v, nil
	}
	if list, ok := s["enum"].([]any); ok && len(list) > 0 {
		return list[0], nil
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := s[key].([]any); ok && len(list) > 0 {
			return m.of(list[0], depth+1)
		}
	}
	if list, ok := s["allOf"].([]any); ok && len(list) > 0 {
		all := maps.Clone(s)
		delete(all, "allOf")
		for _, part := range list {
			if p, ok := part.(map[string]any); ok {
				merge(all, p)
			}
		}
		return m.of(all, depth+1)
	}
	switch kind(s) {
	case "object":
		return m.object(s, depth)
	case "array":
		return m.array(s, depth)
	case "string":
		return strings.Repeat("x", int(number(s, "minLength", 0))), nil
	case "integer":
		return bounded(s, 1), nil
	case "number":
		return bounded(s, .5), nil
	case "boolean":
		return false, nil
	}
	return nil, nil
}

func (m minimal) object(s map[string]any, depth int) (any, error) {
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, r := range required {
		name, ok := r.(string)
		if !ok {
			continue
		}
		part, ok := properties[name]
		if !ok {
			part = true
		}
		v, err := m.of(part, depth+1)
		if err != nil {
			return nil, err
		}
		out[name] = v
	}
	return out, nil
}

func (m minimal) array(s map[string]any, depth int) (any, error) {
	first, _ := s["prefixItems"].([]any)
	out := []any{}
	for i := range min(int(number(s, "minItems", 0)), 1000) {
		part, ok := s["items"]
		if !ok {
			part = true
		}
		if i < len(first) {
			part = first[i]
		}
		v, err := m.of(part, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// resolve follows a reference inside the schema: "#/$defs/step".
func (m minimal) resolve(ref string) (any, error) {
	path, ok := strings.CutPrefix(ref, "#")
	at := m.root
	for _, key := range strings.Split(strings.Trim(path, "/"), "/") {
		if key == "" {
			continue
		}
		object, isObject := at.(map[string]any)
		next, found := object[strings.NewReplacer("~1", "/", "~0", "~").Replace(key)]
		if !ok || !isObject || !found {
			return nil, fmt.Errorf("error resolving ref %s: %s not in the schema", ref, key)
		}
		at = next
	}
	if !ok {
		return nil, fmt.Errorf("error resolving ref %s: not in the schema", ref)
	}
	return at, nil
}

// kind is the schema's first type, guessed from its keywords where it has none.
func kind(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		if len(t) > 0 {
			name, _ := t[0].(string)
			return name
		}
	}
	switch {
	case s["properties"] != nil, s["required"] != nil:
		return "object"
	case s["items"] != nil, s["prefixItems"] != nil:
		return "array"
	}
	return ""
}

// merge adds what part demands to all.
func merge(all, part map[string]any) {
	for k, v := range part {
		switch old := all[k].(type) {
		case []any:
			more, _ := v.([]any)
			all[k] = slices.Concat(old, more)
		case map[string]any:
			more, _ := v.(map[string]any)
			both := maps.Clone(old)
			maps.Copy(both, more)
			all[k] = both
		default:
			all[k] = v
		}
	}
}

func number(s map[string]any, key string, none float64) float64 {
	if v, ok := s[key].(float64); ok {
		return v
	}
	return none
}

// bounded is the allowed number closest to zero; step keeps off open bounds.
func bounded(s map[string]any, step float64) float64 {
	lo := math.Max(number(s, "minimum", math.Inf(-1)), number(s, "exclusiveMinimum", math.Inf(-1))+step)
	hi := math.Min(number(s, "maximum", math.Inf(1)), number(s, "exclusiveMaximum", math.Inf(1))-step)
	v := math.Min(math.Max(0, lo), hi)
	if step == 1 {
		v = math.Ceil(v)
	}
	if m := number(s, "multipleOf", 0); m > 0 {
		v = math.Ceil(v/m) * m
	}
	return v
}
