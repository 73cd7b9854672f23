package phantom

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Instance is a smallest JSON value that a JSON Schema allows: required
// properties only, first choices, numbers near zero. It knows type, enum, const,
// properties, required, items, minItems, minLength, minimum, maximum, anyOf, oneOf
// and local $ref. A schema that is broken, as servers refuse it, or that asks for
// more than that is an error; nothing outside of it is read.
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
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		return nil, fmt.Errorf("reader: JSON schema: phantoms know no answer to it: %w", err)
	}
	return json.Marshal(v)
}

// minimal is what a schema allows by the keywords that are known.
func minimal(s *jsonschema.Schema, depth int) (v any, err error) {
	switch {
	case depth > 64:
		return nil, errors.New("it nests too deep")
	case s == nil: // all is allowed
		return nil, nil
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
	case len(s.Required) > 0:
		kind = "object"
	}
	switch kind {
	case "object":
		all := map[string]any{}
		for _, name := range s.Required {
			if all[name], err = minimal(s.Properties[name], depth+1); err != nil {
				return nil, err
			}
		}
		return all, nil
	case "array":
		list := []any{}
		for n := min(whole(s.MinItems), 1000); len(list) < n; {
			if v, err = minimal(s.Items2020, depth+1); err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case "string":
		return strings.Repeat("x", whole(s.MinLength)), nil
	case "integer":
		return math.Ceil(nearZero(s)), nil
	case "number":
		return nearZero(s), nil
	case "boolean":
		return false, nil
	}
	return nil, nil
}

func whole(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// nearZero is the number nearest to zero within a schema's bounds.
func nearZero(s *jsonschema.Schema) float64 {
	of := func(bound *big.Rat) float64 {
		if bound == nil {
			return 0
		}
		v, _ := bound.Float64()
		return v
	}
	if v := of(s.Minimum); v > 0 {
		return v
	}
	return min(of(s.Maximum), 0)
}
