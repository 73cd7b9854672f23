package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep a reply may nest; verdicts need four levels.
const maxDepth = 64

// reply is a judge's answer read as JSON. Objects are map[string]any, arrays
// []any, numbers json.Number.
type reply struct {
	value   any
	mends   []string // what had to be mended, in words; none: it was clean
	repeats []string // keys that stand twice in one object with different values
}

// parseReply reads a judge's answer as one JSON value. It mends what
// metrics.md section 0 allows and nothing else: a code fence around the JSON, a
// missing comma, a trailing comma. Anything else that is not JSON is an error;
// the text is never searched for something that looks like a verdict.
func parseReply(s string) (reply, error) {
	var r reply
	body := strings.TrimSpace(strings.TrimPrefix(s, "\uFEFF"))
	if body == "" {
		return r, fmt.Errorf("the reply is empty")
	}
	if in, ok := unfence(body); ok {
		r.mends = append(r.mends, "code fence")
		body = in
	}
	p := parser{in: body, reply: &r}
	v, err := p.value(0)
	if err != nil {
		return r, err
	}
	p.space()
	if p.at < len(p.in) {
		return r, fmt.Errorf("%d bytes follow the JSON, from byte %d on", len(p.in)-p.at, p.at)
	}
	r.value = v
	return r, nil
}

var fenceLine = regexp.MustCompile("(?m)^[ \t]*```[ \t]*([A-Za-z0-9]*)[ \t]*\r?$")

// unfence is the content of the only fenced block of s. Prose around it is let
// pass only where it cannot be JSON itself.
func unfence(s string) (string, bool) {
	m := fenceLine.FindAllStringSubmatchIndex(s, -1)
	if len(m) != 2 || m[1][2] != m[1][3] {
		return "", false
	}
	if lang := strings.ToLower(s[m[0][2]:m[0][3]]); lang != "" && lang != "json" {
		return "", false
	}
	if strings.ContainsAny(s[:m[0][0]]+s[m[1][1]:], "{}[]`") {
		return "", false
	}
	return strings.TrimSpace(s[m[0][1]:m[1][0]]), true
}

// parser is a JSON parser that notes what it mends.
type parser struct {
	in string
	at int
	*reply
}

func (p *parser) space() {
	for p.at < len(p.in) && strings.IndexByte(" \t\r\n", p.in[p.at]) >= 0 {
		p.at++
	}
}

func (p *parser) mend(what string) {
	if !slices.Contains(p.mends, what) {
		p.mends = append(p.mends, what)
	}
}

// expected is the error of a place where something else should stand.
func (p *parser) expected(what string) error {
	if p.at >= len(p.in) {
		return fmt.Errorf("the reply ends at byte %d, where %s is expected", p.at, what)
	}
	r, _ := utf8.DecodeRuneInString(p.in[p.at:])
	return fmt.Errorf("byte %d is %q, where %s is expected", p.at, r, what)
}

func (p *parser) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the reply nests deeper than %d levels", maxDepth)
	}
	p.space()
	if p.at >= len(p.in) {
		return nil, p.expected("a value")
	}
	switch c := p.in[p.at]; {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		return p.string()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(p.in[p.at:], word) {
			p.at += len(word)
			if word == "null" {
				return nil, nil
			}
			return word == "true", nil
		}
	}
	return nil, p.expected("a value")
}

// more stands behind a value inside brackets. It moves to the next value, or
// past the closing bracket (done).
func (p *parser) more(closing byte) (done bool, err error) {
	end := p.at
	p.space()
	if p.at >= len(p.in) {
		return false, p.expected("a comma or " + string(closing))
	}
	switch p.in[p.at] {
	case closing:
		p.at++
		return true, nil
	case ',':
		p.at++
		p.space()
		if p.at < len(p.in) && p.in[p.at] == closing {
			p.mend("trailing comma")
			p.at++
			return true, nil
		}
		return false, nil
	}
	// A comma is missed only where two values are told apart without it.
	apart := p.at > end || strings.IndexByte(`}]"`, p.in[end-1]) >= 0
	if c := p.in[p.at]; apart && (c == '"' || closing == ']' && startsValue(c)) {
		p.mend("missing comma")
		return false, nil
	}
	return false, p.expected("a comma or " + string(closing))
}

func startsValue(c byte) bool {
	return strings.IndexByte(`{["-0123456789tfn`, c) >= 0
}

func (p *parser) array(depth int) (any, error) {
	p.at++
	list := []any{}
	p.space()
	if p.at < len(p.in) && p.in[p.at] == ']' {
		p.at++
		return list, nil
	}
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if done, err := p.more(']'); done || err != nil {
			return list, err
		}
	}
}

func (p *parser) object(depth int) (any, error) {
	p.at++
	obj := map[string]any{}
	p.space()
	if p.at < len(p.in) && p.in[p.at] == '}' {
		p.at++
		return obj, nil
	}
	for {
		p.space()
		if p.at >= len(p.in) || p.in[p.at] != '"' {
			return nil, p.expected("a key")
		}
		key, err := p.string()
		if err != nil {
			return nil, err
		}
		p.space()
		if p.at >= len(p.in) || p.in[p.at] != ':' {
			return nil, p.expected("a colon")
		}
		p.at++
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if old, twice := obj[key]; twice {
			if same(old, v) {
				p.mend("repeated key")
			} else {
				p.repeats = append(p.repeats, key)
			}
		}
		obj[key] = v
		if done, err := p.more('}'); done || err != nil {
			return obj, err
		}
	}
}

// same compares two values as JSON; maps marshal with sorted keys.
func same(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

func (p *parser) string() (string, error) {
	start := p.at
	for i := start + 1; i < len(p.in); i++ {
		switch c := p.in[i]; {
		case c == '\\':
			i++
		case c < 0x20:
			return "", fmt.Errorf("byte %d: a string holds an unescaped control character", i)
		case c == '"':
			p.at = i + 1
			var s string
			if err := json.Unmarshal([]byte(p.in[start:p.at]), &s); err != nil {
				return "", fmt.Errorf("the string at byte %d: %w", start, err)
			}
			return s, nil
		}
	}
	return "", fmt.Errorf("the string at byte %d does not end", start)
}

var numberForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`)

func (p *parser) number() (any, error) {
	s := numberForm.FindString(p.in[p.at:])
	if s == "" {
		return nil, p.expected("a number")
	}
	// A schema validator computes with exact fractions: an exponent of a
	// million would keep it busy for long.
	f, err := strconv.ParseFloat(s, 64)
	exp := strings.IndexAny(s, "eE")
	if err != nil || math.Abs(f) > 1e100 || len(s) > 200 || exp >= 0 && len(s)-exp > 5 {
		return nil, fmt.Errorf("the number at byte %d is out of range", p.at)
	}
	p.at += len(s)
	return json.Number(s), nil
}
