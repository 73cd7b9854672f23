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

// schemas compiles each rubric's schema once, to read verdicts by. The zero value is
// ready; it is safe from several goroutines.
type schemas struct {
	mu   sync.Mutex
	done map[string]compiled
}

type compiled struct {
	schema *jsonschema.Schema // without the keys that may be missing
	shape  map[string]any     // the schema as data, for its types
}

// absolute is the name of a schema: one that is not would be taken for a file of
// the working directory, whose name need not be a URL.
const absolute = "https://assay.invalid/verdict.schema.json"

// of panics on a schema that does not compile: it is part of the program.
func (s *schemas) of(r Rubric) compiled {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.done[r.Name+"\n"+string(r.Schema)]; ok {
		return c
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.Schema))
	if err != nil {
		panic(fmt.Sprintf("judge: internal error: the schema of rubric %s: %v", r.Name, err))
	}
	shape, _ := doc.(map[string]any)
	c := jsonschema.NewCompiler()
	if err := c.AddResource(absolute, lenient(doc, slices.Concat(r.Accept.Free, r.Accept.Optional))); err != nil {
		panic(fmt.Sprintf("judge: internal error: the schema of rubric %s: %v", r.Name, err))
	}
	sch, err := c.Compile(absolute)
	if err != nil {
		panic(fmt.Sprintf("judge: internal error: the schema of rubric %s: %v", r.Name, err))
	}
	if s.done == nil {
		s.done = map[string]compiled{}
	}
	done := compiled{sch, shape}
	s.done[r.Name+"\n"+string(r.Schema)] = done
	return done
}

// check fills in the status of a reply that was read: schema, then the
// rubric's own check. A verdict is kept only when both pass.
func (s *schemas) check(j *results.Judgment, r Rubric, c Case, rep parsedReply) {
	if len(rep.Repeats) > 0 {
		j.Status = results.StatusSchema
		j.Detail = fmt.Sprintf("the key %q stands twice with different values", rep.Repeats[0])
		return
	}
	comp := s.of(r)
	v := rep.Value
	if r.Reshape != nil {
		if shaped, ok := r.Reshape(c, v); ok {
			v = shaped
			rep.Mends = append(rep.Mends, "a level of nesting")
		}
	}
	fit := fitting{accept: r.Accept}
	v = fit.top(comp.shape, v)
	rep.Mends = append(rep.Mends, fit.did...)
	err := comp.schema.Validate(v)
	switch {
	case err != nil:
		j.Status, j.Detail = results.StatusSchema, schemaError(err)
		return
	case fit.bad != "":
		j.Status, j.Detail = results.StatusSchema, fit.bad
		return
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
	if len(rep.Mends) > 0 {
		j.Status, j.Detail = results.StatusRepaired, strings.Join(rep.Mends, ", ")
	}
}

// lenient is a schema that lets keys be missing.
func lenient(schema any, keys []string) any {
	switch v := schema.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if list, ok := e.([]any); ok && k == "required" {
				e = slices.DeleteFunc(slices.Clone(list), func(name any) bool {
					s, _ := name.(string)
					return slices.Contains(keys, s)
				})
			}
			out[k] = lenient(e, keys)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = lenient(e, keys)
		}
		return out
	}
	return schema
}

// schemaError is the first leaf of a validation error, on one line.
func schemaError(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	if len(lines) > 1 {
		lines = lines[1:] // the first names our own schema file
	}
	return strings.TrimPrefix(strings.TrimSpace(lines[0]), "- ")
}

// Written fills in the verdict that somebody wrote as JSON.
func (s *schemas) Written(j *results.Judgment, r Rubric, c Case, verdict []byte) {
	rep, err := parseReply(string(verdict))
	if err != nil {
		j.Status, j.Detail = results.StatusParse, err.Error()
		return
	}
	s.check(j, r, c, rep)
}

// Number is how a rubric takes a number in place of a whole verdict.
type Number struct {
	Low, High float64
	Whole     bool              // whole numbers alone
	Scale     string            // in words: "0 or 1"
	Verdict   func(float64) any // that follows the rubric's Schema
}

// Takes says whether a number is on the scale.
func (n *Number) Takes(x float64) bool {
	return n != nil && x >= n.Low && x <= n.High && (!n.Whole || x == float64(int64(x)))
}

// Numbered fills in the verdict that a number stands for. A number has no quotes to
// look for, so the rubric's own check does not apply.
func (s *schemas) Numbered(j *results.Judgment, r Rubric, c Case, x float64) {
	b, err := json.Marshal(r.Number.Verdict(x))
	var rep parsedReply
	if err == nil {
		rep, err = parseReply(string(b))
	}
	if err != nil {
		panic("judge: internal error: the verdict of a number: " + err.Error())
	}
	r.Check = nil
	s.check(j, r, c, rep)
	if j.Status.Usable() {
		j.Status, j.Detail = results.StatusClean, ""
	}
}
