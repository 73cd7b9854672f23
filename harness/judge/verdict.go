package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"assay/results"
)

// schemas compiles each rubric's schema once. The zero value is ready; it is
// safe from several goroutines.
type schemas struct {
	mu   sync.Mutex
	done map[string]compiled
}

type compiled struct {
	schema *jsonschema.Schema
	shape  map[string]any // the schema as data, for its types
}

// of panics on a schema that does not compile: it is part of the program.
func (s *schemas) of(r Rubric) compiled {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.done[string(r.Schema)]; ok {
		return c
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.Schema))
	if err != nil {
		panic(fmt.Sprintf("judge: internal error: the schema of rubric %s: %v", r.Name, err))
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("verdict.json", doc); err != nil {
		panic(fmt.Sprintf("judge: internal error: the schema of rubric %s: %v", r.Name, err))
	}
	sch, err := c.Compile("verdict.json")
	if err != nil {
		panic(fmt.Sprintf("judge: internal error: the schema of rubric %s: %v", r.Name, err))
	}
	shape, _ := doc.(map[string]any)
	if s.done == nil {
		s.done = map[string]compiled{}
	}
	s.done[string(r.Schema)] = compiled{sch, shape}
	return s.done[string(r.Schema)]
}

// check fills in the status of a reply that was read: schema, then the
// rubric's own check. A verdict is kept only when both pass.
func (s *schemas) check(j *results.Judgment, r Rubric, c Case, rep reply) {
	if len(rep.repeats) > 0 {
		j.Status = results.StatusSchema
		j.Detail = fmt.Sprintf("the key %q stands twice with different values", rep.repeats[0])
		return
	}
	comp := s.of(r)
	v := rep.value
	err := comp.schema.Validate(v)
	if err != nil {
		shaped, mends := reshape(comp.shape, v)
		if len(mends) == 0 || comp.schema.Validate(shaped) != nil {
			j.Status, j.Detail = results.StatusSchema, schemaError(err)
			return
		}
		v = shaped
		rep.mends = append(rep.mends, mends...)
	}
	verdict, err := json.Marshal(v)
	if err != nil {
		panic("judge: internal error: a parsed verdict does not marshal: " + err.Error())
	}
	if r.Check != nil {
		if st, why := r.Check(c, verdict); st != "" && !st.Usable() {
			j.Status, j.Detail = st, why
			return
		}
	}
	j.Status, j.Verdict = results.StatusClean, verdict
	if len(rep.mends) > 0 {
		j.Status, j.Detail = results.StatusRepaired, strings.Join(rep.mends, ", ")
	}
}

// schemaError is the first leaf of a validation error, on one line.
func schemaError(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	if len(lines) > 1 {
		lines = lines[1:] // the first names our own schema file
	}
	return strings.TrimPrefix(strings.TrimSpace(lines[0]), "- ")
}

// reshape turns an array into the object that the schema asks for, and the
// reverse, wherever only one reading is possible. It returns what it did.
func reshape(schema map[string]any, v any) (any, []string) {
	var did []string
	props, _ := schema["properties"].(map[string]any)
	if obj, ok := v.(map[string]any); ok && schema["type"] == "array" {
		v, did = []any{obj}, append(did, "object where an array was asked")
	}
	if list, ok := v.([]any); ok && schema["type"] == "object" {
		inner, only := onlyArray(props)
		switch one, isObj := single(list); {
		case isObj && known(props, one):
			v, did = one, append(did, "array where an object was asked")
		case only:
			v, did = map[string]any{inner: list}, append(did, "array where an object was asked")
		}
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			sub, _ := props[k].(map[string]any)
			w, d := reshape(sub, e)
			out[k], did = w, append(did, d...)
		}
		return out, distinct(did)
	case []any:
		items, _ := schema["items"].(map[string]any)
		out := make([]any, len(v))
		for i, e := range v {
			w, d := reshape(items, e)
			out[i], did = w, append(did, d...)
		}
		return out, distinct(did)
	}
	return v, did
}

func distinct(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}

// onlyArray is the name of the array property of an object that has just one.
func onlyArray(props map[string]any) (name string, ok bool) {
	for k, p := range props {
		if m, _ := p.(map[string]any); m["type"] == "array" {
			if ok {
				return "", false
			}
			name, ok = k, true
		}
	}
	return name, ok
}

func single(list []any) (map[string]any, bool) {
	if len(list) != 1 {
		return nil, false
	}
	m, ok := list[0].(map[string]any)
	return m, ok
}

// known says whether an object has a key of these properties.
func known(props, obj map[string]any) bool {
	for k := range obj {
		if _, ok := props[k]; ok {
			return true
		}
	}
	return false
}
