package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// BOM is a byte order mark of UTF-8.
const BOM = "\ufeff"

// issue is one thing wrong with a JSON text.
type issue struct {
	Path      string // JSON path, "$" for the whole
	Want, Got string
}

const jsonMaxDepth = 64 // of nesting; deeper is no data set

// ParseJSON parses one JSON value strictly: no duplicate keys, no literals that
// Python writes and JSON does not have, nothing after the value. Numbers stay as
// written (json.Number). The value is nil when there is a syntax error.
func ParseJSON(b []byte) (any, []issue) {
	if !utf8.Valid(b) {
		return nil, []issue{{"$", "UTF-8 text", "bytes that are not UTF-8"}}
	}
	var raw json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, []issue{syntaxIssue(b, err)}
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	p := jsonParser{dec: dec}
	v, err := p.value("$", 0)
	if err != nil {
		return nil, []issue{{"$", "JSON", err.Error()}}
	}
	return v, p.issues
}

// endless begins the texts that stand for numbers that JSON does not have.
const endless = "\x00assay "

// parsePython is ParseJSON of what Python writes: NaN, Infinity and -Infinity outside of texts
// are numbers of these names.
func parsePython(b []byte) (any, []issue) {
	v, issues := ParseJSON(b)
	if len(issues) == 0 {
		return v, nil
	}
	var out []byte
	for in := false; len(b) > 0; {
		n := 1
		switch {
		case in && b[0] == '\\':
			n = min(2, len(b))
		case b[0] == '"':
			in = !in
		case !in:
			for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
				if bytes.HasPrefix(b, []byte(word)) {
					out, b, n = append(out, `"\u0000`+endless[1:]+word+`"`...), b[len(word):], 0
					break
				}
			}
		}
		out, b = append(out, b[:n]...), b[n:]
	}
	return ParseJSON(out)
}

func syntaxIssue(b []byte, err error) issue {
	var syn *json.SyntaxError
	if !errors.As(err, &syn) {
		return issue{"$", "JSON", err.Error()}
	}
	at := min(max(int(syn.Offset)-1, 0), len(b))
	rest := string(b[at:])
	// The decoder reads on into "-Infinity" and "None" before it gives up.
	for _, lit := range []string{"NaN", "-Infinity", "Infinity", "nan", "None", "True", "False"} {
		for back := range len(lit) {
			if at >= back && strings.HasPrefix(string(b[at-back:]), lit) {
				return issue{"$", "a JSON value (null where there is none)", fmt.Sprintf("the literal %s at byte %d", lit, at-back+1)}
			}
		}
	}
	if at >= len(b)-1 && strings.Contains(syn.Error(), "unexpected end") {
		return issue{"$", "JSON", "a value that ends early"}
	}
	return issue{"$", "JSON", fmt.Sprintf("%v at byte %d, before %s", syn, at+1, Quote(rest))}
}

type jsonParser struct {
	dec    *json.Decoder
	issues []issue
}

func (p *jsonParser) value(path string, depth int) (any, error) {
	if depth > jsonMaxDepth {
		return nil, fmt.Errorf("nesting deeper than %d", jsonMaxDepth)
	}
	tok, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('['):
		list := []any{}
		for p.dec.More() {
			v, err := p.value(fmt.Sprintf("%s[%d]", path, len(list)), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := p.dec.Token()
		return list, err
	case json.Delim('{'):
		obj := map[string]any{}
		for p.dec.More() {
			tok, err := p.dec.Token()
			if err != nil {
				return nil, err
			}
			key, ok := tok.(string)
			if !ok {
				return nil, fmt.Errorf("a key that is %v", tok)
			}
			v, err := p.value(path+"."+key, depth+1)
			if err != nil {
				return nil, err
			}
			if _, twice := obj[key]; twice {
				p.issues = append(p.issues, issue{path + "." + key, "each key once", "the key again"})
				continue
			}
			obj[key] = v
		}
		_, err := p.dec.Token()
		return obj, err
	}
	if s, ok := tok.(string); ok {
		if word, ok := strings.CutPrefix(s, endless); ok {
			return json.Number(word), nil
		}
	}
	return tok, nil
}

// Kind is a JSON value in words.
func Kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(v)
	case string:
		return "the text " + Quote(v)
	case json.Number:
		return "the number " + v.String()
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case map[string]any:
		return fmt.Sprintf("an object of %d keys", len(v))
	}
	return fmt.Sprintf("%T", v)
}

// Plain is a JSON value as text; null and no value are "". It is false for lists and objects.
func Plain(v any) (text string, ok bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return v.String(), true
	}
	return "", false
}
