package table

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Compile compiles one of our own schemas.
func Compile(text, name string) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("internal error: the schema %s is no JSON: %w", name, err)
	}
	id := "https://assay.invalid/" + name + ".schema.json"
	c := jsonschema.NewCompiler()
	if err := c.AddResource(id, doc); err != nil {
		return nil, fmt.Errorf("internal error: the schema %s: %w", name, err)
	}
	s, err := c.Compile(id)
	if err != nil {
		return nil, fmt.Errorf("internal error: the schema %s: %w", name, err)
	}
	return s, nil
}

// Violations reports the leaves of a validation error, in the order of their paths.
func Violations(err error, v any, bad func(column, want, got string)) {
	var top *jsonschema.ValidationError
	if !errors.As(err, &top) {
		bad("$", "an object that keeps the schema", err.Error())
		return
	}
	type violation struct{ path, want, got string }
	var all []violation
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, c := range e.Causes {
			walk(c)
		}
		if len(e.Causes) > 0 {
			return
		}
		at, path := lookUp(v, e.InstanceLocation)
		switch k := e.ErrorKind.(type) {
		case *kind.Required:
			for _, m := range k.Missing {
				all = append(all, violation{path + "." + m, "a value: the key is required", "no such key"})
			}
		case *kind.AdditionalProperties:
			for _, p := range k.Properties {
				all = append(all, violation{path + "." + p, "a key of the schema", "an unknown key"})
			}
		case *kind.Type:
			all = append(all, violation{path, strings.Join(k.Want, " or "), Kind(at)})
		case *kind.Enum:
			var want []string
			for _, w := range k.Want {
				want = append(want, fmt.Sprint(w))
			}
			all = append(all, violation{path, "one of " + strings.Join(want, ", "), Kind(at)})
		default:
			all = append(all, violation{path, e.ErrorKind.LocalizedString(message.NewPrinter(language.English)), Kind(at)})
		}
	}
	walk(top)
	slices.SortFunc(all, func(a, b violation) int { return strings.Compare(a.path+"\x00"+a.want, b.path+"\x00"+b.want) })
	for _, x := range all {
		bad(x.path, x.want, x.got)
	}
}

// lookUp is the value at a location, and its JSON path.
func lookUp(v any, location []string) (any, string) {
	path := "$"
	for _, key := range location {
		switch c := v.(type) {
		case map[string]any:
			v = c[key]
			path += "." + key
		case []any:
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(c) {
				v = c[i]
			}
			path += "[" + key + "]"
		}
	}
	return v, path
}
