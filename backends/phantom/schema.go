package phantom

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Instance is a smallest JSON value that a JSON Schema allows: required
// properties only, first choices, least numbers. It knows type, enum, const,
// properties, required, items, prefixItems, minItems, minLength, bounds,
// anyOf, oneOf, allOf and local $ref. A broken schema is an error, as servers
// refuse it; nothing outside of it is read.
func Instance(schema json.RawMessage) (json.RawMessage, error) {
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("reader: read JSON schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource("asked:schema", root); err != nil {
		return nil, fmt.Errorf("reader: read JSON schema: %w", err)
	}
	s, err := c.Compile("asked:schema")
	if err != nil {
		return nil, fmt.Errorf("reader: JSON schema: %v", err)
	}
	v, err := minimal(s, 0)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func minimal(s *jsonschema.Schema, depth int) (any, error) {
	switch {
	case depth > 64:
		return nil, errors.New("reader: JSON schema nests too deep")
	case s == nil: // all is allowed
		return nil, nil
	case s.Bool != nil && !*s.Bool:
		return nil, errors.New("reader: JSON schema allows nothing")
	case s.Ref != nil:
		return minimal(s.Ref, depth+1)
	case s.Const != nil:
		return *s.Const, nil
	case s.Enum != nil && len(s.Enum.Values) > 0:
		return s.Enum.Values[0], nil
	case len(s.AnyOf) > 0:
		return minimal(s.AnyOf[0], depth+1)
	case len(s.OneOf) > 0:
		return minimal(s.OneOf[0], depth+1)
	}
	kind := ""
	switch {
	case s.Types != nil && !s.Types.IsEmpty():
		kind = s.Types.ToStrings()[0]
	case len(s.Properties)+len(s.Required) > 0:
		kind = "object"
	case s.Items2020 != nil || len(s.PrefixItems) > 0:
		kind = "array"
	}
	var out any
	var err error
	switch kind {
	case "object":
		out, err = object(s, depth)
	case "array":
		out, err = array(s, depth)
	case "string":
		out = ""
		if s.MinLength != nil {
			out = strings.Repeat("x", *s.MinLength)
		}
	case "integer":
		out = bounded(s, 1)
	case "number":
		out = bounded(s, .5)
	case "boolean":
		out = false
	}
	for _, part := range s.AllOf { // of objects: what each asks for
		v, err := minimal(part, depth+1)
		if err != nil {
			return nil, err
		}
		if all, ok := out.(map[string]any); ok {
			if more, ok := v.(map[string]any); ok {
				maps.Copy(all, more)
			}
		} else if out == nil {
			out = v
		}
	}
	return out, err
}

func object(s *jsonschema.Schema, depth int) (out map[string]any, err error) {
	out = map[string]any{}
	for _, name := range s.Required {
		if out[name], err = minimal(s.Properties[name], depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func array(s *jsonschema.Schema, depth int) (out []any, err error) {
	out = []any{}
	for i := 0; s.MinItems != nil && i < min(*s.MinItems, 1000); i++ {
		part := s.Items2020
		if i < len(s.PrefixItems) {
			part = s.PrefixItems[i]
		}
		v, err := minimal(part, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// bounded is the allowed number closest to zero; step keeps off open bounds.
func bounded(s *jsonschema.Schema, step float64) float64 {
	of := func(bound *big.Rat, none float64) float64 {
		if bound == nil {
			return none
		}
		v, _ := bound.Float64()
		return v
	}
	lo := math.Max(of(s.Minimum, math.Inf(-1)), of(s.ExclusiveMinimum, math.Inf(-1))+step)
	hi := math.Min(of(s.Maximum, math.Inf(1)), of(s.ExclusiveMaximum, math.Inf(1))-step)
	v := math.Min(math.Max(0, lo), hi)
	if step == 1 {
		v = math.Ceil(v)
	}
	if m := of(s.MultipleOf, 0); m > 0 {
		v = math.Ceil(v/m) * m
	}
	return v
}
