package judge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Accept is what a rubric lets pass beside what its Schema asks for. Names of
// keys and words are compared without case, spaces, hyphens and underscores.
type Accept struct {
	// Free are keys that may be missing of a clean reply.
	Free []string
	// Optional are keys that may be missing, or null: the reply is repaired. What
	// a verdict cannot do without is for Check to say.
	Optional []string
	// Keys are other names of keys.
	Keys map[string]string
	// Words are other words for the values of an enum or a boolean, by key.
	Words map[string]map[string]string
}

// folded is a name as names are compared.
func folded(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// fitting brings a reply into the form that a schema asks for, wherever only one
// reading is possible.
type fitting struct {
	accept Accept
	did    []string
	bad    string // what cannot be let pass although the schema could not tell
}

func (f *fitting) mend(what string) {
	if !slices.Contains(f.did, what) {
		f.did = append(f.did, what)
	}
}

func (f *fitting) refuse(format string, args ...any) {
	if f.bad == "" {
		f.bad = fmt.Sprintf(format, args...)
	}
}

// is says whether a schema has a type.
func is(shape map[string]any, typ string) bool {
	switch t := shape["type"].(type) {
	case string:
		return t == typ
	case []any:
		return slices.Contains(t, any(typ))
	}
	return false
}

func sub(shape map[string]any, key string) map[string]any {
	m, _ := shape[key].(map[string]any)
	return m
}

// top fits a whole reply.
func (f *fitting) top(shape map[string]any, v any) any {
	props := sub(shape, "properties")
	if obj, ok := v.(map[string]any); ok && len(obj) == 1 && is(shape, "object") {
		for key, inner := range obj {
			in, isObj := inner.(map[string]any)
			name, known := f.name(props, key)
			if isObj && f.knows(props, in) && !(known && (is(sub(props, name), "object") || is(sub(props, name), "array"))) {
				f.mend("an object round the verdict")
				v = in
			}
		}
	}
	return f.value(shape, "", v)
}

// value fits one value; what cannot be fitted stays, for the schema to refuse.
func (f *fitting) value(shape map[string]any, key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		return f.object(shape, key, v)
	case []any:
		return f.list(shape, key, v)
	case string:
		return f.word(shape, key, v)
	case json.Number:
		if is(shape, "integer") {
			// 4.0 is an integer for JSON Schema and not for us; so is one that no
			// machine integer holds.
			if _, err := strconv.ParseInt(v.String(), 10, 64); err != nil {
				f.refuse("%s is written %s, where a plain integer is asked for", named(key), v)
			}
		}
	}
	return v
}

func named(key string) string {
	if key == "" {
		return "a value"
	}
	return strconv.Quote(key)
}

// object fits an object: its keys get their names, surplus ones go.
func (f *fitting) object(shape map[string]any, key string, obj map[string]any) any {
	items := sub(shape, "items")
	switch {
	case is(shape, "object"):
	case is(shape, "array") && (is(items, "object") || is(items, "string")):
		f.mend("object where an array was asked")
		return f.list(shape, key, []any{obj})
	case is(shape, "array") && is(items, "integer"):
		if ends, ok := spanOf(obj); ok {
			f.mend("object where an array was asked")
			return f.list(shape, key, ends)
		}
		return obj
	case is(shape, "string"):
		if s, ok := onlyString(obj); ok {
			f.mend("object where a text was asked")
			return f.word(shape, key, s)
		}
		return obj
	default:
		return obj
	}
	props := sub(shape, "properties")
	if !f.knows(props, obj) {
		return obj
	}
	out := make(map[string]any, len(obj))
	from := map[string]string{}
	var extra []string
	for _, k := range slices.Sorted(maps.Keys(obj)) {
		name, ok := f.name(props, k)
		if !ok {
			extra = append(extra, k)
			continue
		}
		v := obj[k]
		if v == nil && !is(sub(props, name), "null") && slices.Contains(f.accept.Optional, name) {
			f.mend("no value for " + name)
			continue
		}
		v = f.value(sub(props, name), name, v)
		if k != name {
			if f.distinct(name) && folded(k) != folded(name) && !suits(sub(props, name), v) {
				extra = append(extra, k) // "step": 1 where "text" may be missing
				continue
			}
			f.mend("other name for " + name)
		}
		old, twice := out[name]
		switch {
		case !twice:
			out[name], from[name] = v, k
		case same(old, v):
		case f.distinct(name) && folded(k) != folded(from[name]): // "reason" beside "why"
			if k == name {
				out[name], from[name] = v, k
			}
		default:
			f.refuse("the keys %q and %q both stand for %s and differ", from[name], k, name)
		}
	}
	for _, k := range extra {
		f.mend("extra key")
		for name, v := range out {
			if f.rivals(sub(props, name), name, v, k, obj[k]) {
				f.refuse("the extra key %q says something else than %q", k, name)
			}
		}
	}
	for name := range props {
		if _, ok := out[name]; !ok && slices.Contains(f.accept.Optional, name) {
			f.mend("no value for " + name)
		}
	}
	return out
}

// suits says whether a value has a type that a schema asks for.
func suits(shape map[string]any, v any) bool {
	switch v.(type) {
	case string:
		return is(shape, "string") || shape["enum"] != nil
	case bool:
		return is(shape, "boolean")
	case []any:
		return is(shape, "array")
	case map[string]any:
		return is(shape, "object")
	case json.Number:
		return is(shape, "integer") || is(shape, "number")
	}
	return is(shape, "null")
}

// distinct says of a key that no verdict hangs on which of two texts it has.
func (f *fitting) distinct(name string) bool {
	return slices.Contains(f.accept.Optional, name) && name != "score" && name != "abstain" && name != "quotes"
}

// rivals says whether a surplus key gives a second value of something that is
// decided: "final_score" beside "score".
func (f *fitting) rivals(shape map[string]any, name string, v any, extra string, other any) bool {
	if !strings.Contains(folded(extra), folded(name)) {
		return false
	}
	try := fitting{accept: f.accept}
	switch o := try.value(shape, name, other).(type) {
	case json.Number:
		return (is(shape, "integer") || is(shape, "number")) && !same(v, o)
	case bool:
		return is(shape, "boolean") && v != any(o)
	case string:
		words, _ := shape["enum"].([]any)
		return slices.Contains(words, any(o)) && v != any(o)
	}
	return false
}

// name is the key of a schema that k stands for.
func (f *fitting) name(props map[string]any, k string) (string, bool) {
	if _, ok := props[k]; ok {
		return k, true
	}
	short := folded(k)
	for name := range props {
		if folded(name) == short {
			return name, true
		}
	}
	for other, name := range f.accept.Keys {
		if _, ok := props[name]; ok && folded(other) == short {
			return name, true
		}
	}
	return "", false
}

// knows says whether an object has a key of these properties.
func (f *fitting) knows(props, obj map[string]any) bool {
	for k := range obj {
		if _, ok := f.name(props, k); ok {
			return true
		}
	}
	return false
}

// list fits an array.
func (f *fitting) list(shape map[string]any, key string, list []any) any {
	if is(shape, "object") {
		props := sub(shape, "properties")
		inner, only := onlyArray(props)
		switch one, isObj := single(list); {
		case isObj && f.knows(props, one):
			f.mend("array where an object was asked")
			return f.object(shape, key, one)
		case only && len(list) > 0: // of an empty list nobody can say what it lists
			f.mend("array where an object was asked")
			return f.object(shape, key, map[string]any{inner: list})
		}
		return list
	}
	if is(shape, "string") && slices.Contains(f.accept.Optional, key) {
		var parts []string
		for _, v := range list {
			s, ok := v.(string)
			if !ok {
				return list
			}
			parts = append(parts, s)
		}
		f.mend("array where a text was asked")
		return strings.Join(parts, "; ")
	}
	if !is(shape, "array") {
		return list
	}
	items := sub(shape, "items")
	if is(items, "array") && len(list) > 0 && !slices.ContainsFunc(list, func(v any) bool { _, ok := v.(json.Number); return !ok }) {
		f.mend("one level of brackets")
		list = []any{list}
	}
	out := make([]any, 0, len(list))
	for _, v := range list {
		in, ok := v.([]any)
		if is(items, "array") && (v == nil || ok && !slices.ContainsFunc(in, func(e any) bool { return e != nil })) {
			f.mend("an empty list")
			continue
		}
		out = append(out, f.value(items, key, v))
	}
	return out
}

// word fits a text: to an enum or a boolean by its words, to a list by being its
// only member. A number in quotation marks stays a text.
func (f *fitting) word(shape map[string]any, key, s string) any {
	if words, ok := shape["enum"].([]any); ok {
		for _, w := range words {
			if w == any(s) {
				return s
			}
		}
		for _, w := range words {
			if t, ok := w.(string); ok && folded(t) == folded(s) {
				f.mend("spelling of " + key)
				return t
			}
		}
		if t, ok := f.synonym(key, s); ok {
			return t
		}
		return s
	}
	switch {
	case is(shape, "string"):
	case is(shape, "boolean"):
		t := folded(s)
		if t != "true" && t != "false" {
			t, _ = f.synonym(key, s)
		}
		if t == "true" || t == "false" {
			f.mend("a word where true or false was asked")
			return t == "true"
		}
	case is(shape, "array") && is(sub(shape, "items"), "string"):
		f.mend("text where an array was asked")
		if strings.TrimSpace(s) == "" {
			return []any{}
		}
		return []any{s}
	}
	return s
}

func (f *fitting) synonym(key, s string) (string, bool) {
	for other, word := range f.accept.Words[key] {
		if folded(other) == folded(s) {
			f.mend("other word for " + word)
			return word, true
		}
	}
	return "", false
}

// onlyArray is the name of the array property of an object that has just one
// property.
func onlyArray(props map[string]any) (name string, ok bool) {
	for k, p := range props {
		if m, _ := p.(map[string]any); is(m, "array") {
			name, ok = k, true
		}
	}
	return name, ok && len(props) == 1
}

func single(list []any) (map[string]any, bool) {
	if len(list) != 1 {
		return nil, false
	}
	m, ok := list[0].(map[string]any)
	return m, ok
}

// onlyString is the only text of an object.
func onlyString(obj map[string]any) (text string, ok bool) {
	n := 0
	for _, v := range obj {
		if s, is := v.(string); is {
			text = s
			n++
		}
	}
	return text, n == 1
}

// spanOf is a span that was written as an object.
func spanOf(obj map[string]any) ([]any, bool) {
	var ends [2]any
	for k, v := range obj {
		switch folded(k) {
		case "start", "begin", "from":
			ends[0] = v
		case "end", "stop", "to":
			ends[1] = v
		}
	}
	return ends[:], len(obj) == 2 && ends[0] != nil && ends[1] != nil
}
