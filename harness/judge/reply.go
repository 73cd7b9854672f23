package judge

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"assay/results/text"
)

// maxDepth is how deep a reply may nest; verdicts need four levels.
const maxDepth = 64

// parsedReply is a judge's answer read as JSON. Objects are map[string]any, arrays
// []any, numbers json.Number.
type parsedReply struct {
	Value   any
	Mends   []string // what had to be mended, in words; none: it was clean
	Repeats []string // keys that stand twice in one object with different values
}

// parseReply reads a judge's answer as one JSON value. It mends what leaves no
// doubt of the value: a code fence, prose around the only object of the text, a
// missing or trailing comma, Python's names of true, false and null, a line end
// or \' inside a string. Anything else that is not JSON is an error: of several
// values none is chosen.
func parseReply(s string) (parsedReply, error) {
	body := strings.TrimSpace(strings.TrimPrefix(s, "\uFEFF"))
	if body == "" {
		return parsedReply{}, fmt.Errorf("the reply is empty")
	}
	r, rest, err := parseAt(body)
	if err == nil && rest == "" {
		return r, nil
	}
	if err == nil {
		err = fmt.Errorf("%d bytes follow the JSON, from byte %d on", len(rest), len(body)-len(rest))
	}
	at := strings.IndexAny(body, "{[")
	if at < 0 {
		return r, err
	}
	in, rest, inner := parseAt(body[at:])
	if inner != nil {
		return r, err
	}
	around, ok := prose(body[:at], rest)
	if !ok || slices.Contains(around, proseAround) && !verdictLike(in.Value) {
		return r, err
	}
	in.Mends = append(around, in.Mends...)
	return in, nil
}

// parseAt reads the value that s begins with, and what follows it.
func parseAt(s string) (r parsedReply, rest string, err error) {
	p := parser{in: s, parsedReply: &r}
	if r.Value, err = p.value(0); err != nil {
		return r, "", err
	}
	p.space()
	return r, s[p.at:], nil
}

// verdictLike says of a value inside of prose that it is no citation.
func verdictLike(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0 && !slices.ContainsFunc(v, func(e any) bool { _, ok := e.(map[string]any); return !ok })
	}
	return false
}

//go:embed lexicon.txt
var lexiconFile string

var (
	lexicon   = text.MustLexicon(lexiconFile)
	fenceMark = regexp.MustCompile("```[ \t]*([A-Za-z0-9]*)")
	// Prose that says that what stands beside it is no verdict, before or behind.
	noVerdict = regexp.MustCompile(`(?i)` + lexicon.Whole("noVerdict"))
	scoreSaid = regexp.MustCompile(`(?i)\bscor\w*\W+(?:\w+\W+){0,3}[0-9]|\b[0-9]\s*(?:/|out of)\s*[0-9]`)
	// Prose behind a verdict that takes it back or gives another one.
	takenBack = regexp.MustCompile(`(?i)` + lexicon.Whole("takenBack") + `|[0-9]`)
)

const proseAround = "prose around"

// prose says whether what stands before and behind the only JSON of a reply
// leaves it as it is, and what has to be mended: fences, words. It may hold no
// JSON of its own.
func prose(before, behind string) (mends []string, ok bool) {
	fences := append(fenceMark.FindAllStringSubmatch(before, -1), fenceMark.FindAllStringSubmatch(behind, -1)...)
	if len(fences) > 2 {
		return nil, false
	}
	for _, f := range fences {
		if lang := strings.ToLower(f[1]); lang != "" && lang != "json" {
			return nil, false
		}
	}
	if len(fences) > 0 {
		mends = append(mends, "code fence")
	}
	before, behind = strings.TrimSpace(fenceMark.ReplaceAllString(before, "")), strings.TrimSpace(fenceMark.ReplaceAllString(behind, ""))
	if before+behind == "" {
		return mends, true
	}
	if strings.ContainsAny(before+behind, "{}[]`") || noVerdict.MatchString(before) || noVerdict.MatchString(behind) ||
		scoreSaid.MatchString(before) || takenBack.MatchString(behind) {
		return nil, false
	}
	return append(mends, proseAround), true
}

// parser is a JSON parser that notes what it mends.
type parser struct {
	in string
	at int
	*parsedReply
}

func (p *parser) space() {
	for p.at < len(p.in) && strings.IndexByte(" \t\r\n", p.in[p.at]) >= 0 {
		p.at++
	}
}

func (p *parser) mend(what string) {
	if !slices.Contains(p.Mends, what) {
		p.Mends = append(p.Mends, what)
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
	for i, word := range []string{"true", "false", "null", "True", "False", "None"} {
		if strings.HasPrefix(p.in[p.at:], word) {
			p.at += len(word)
			if i >= 3 {
				p.mend("a name of Python's")
			}
			switch i % 3 {
			case 0:
				return true, nil
			case 1:
				return false, nil
			}
			return nil, nil
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
	return strings.IndexByte(`{["-0123456789tfnTFN`, c) >= 0
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
				p.Repeats = append(p.Repeats, key)
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
	var raw strings.Builder
	for i := start; i < len(p.in); i++ {
		switch c := p.in[i]; {
		case c == '\\' && i+1 < len(p.in) && p.in[i+1] == '\'':
			p.mend(`\'`)
			continue
		case c == '\\' && i+1 < len(p.in):
			raw.WriteByte(c)
			i++
			raw.WriteByte(p.in[i])
		case c == '\n', c == '\r', c == '\t':
			p.mend("a line end or tab in a string")
			raw.WriteString(map[byte]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}[c])
		case c < 0x20:
			return "", fmt.Errorf("byte %d: a string holds an unescaped control character", i)
		case c == '"' && i > start:
			p.at = i + 1
			raw.WriteByte(c)
			var s string
			if err := json.Unmarshal([]byte(raw.String()), &s); err != nil {
				return "", fmt.Errorf("the string at byte %d: %w", start, err)
			}
			return s, nil
		default:
			raw.WriteByte(c)
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
