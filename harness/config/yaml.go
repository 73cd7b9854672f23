package config

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// pos is a place in the file: 1-based line, 1-based column in code points.
type pos struct{ line, column int }

// kind of a node's value.
type kind int

const (
	isNothing kind = iota
	isMapping
	isList
	isText
	isWhole
	isNumber
	isFlag
)

// node is a value that knows where it stands.
type node struct {
	kind    kind
	at      pos
	raw     string // as written; a text without its quotes
	value   any    // isWhole: int64 or uint64; isNumber: float64; isFlag: bool
	entries []entry
	items   []*node
}

// entry is a key of a mapping and its value. The keys of a mapping differ.
type entry struct {
	key   string
	at    pos
	value *node
}

// found names a node in an error.
func (n *node) found() string {
	switch n.kind {
	case isNothing:
		return "nothing"
	case isMapping:
		return "a mapping"
	case isList:
		return "a list"
	case isText:
		return "text " + shown(n.raw)
	default:
		return cut(n.raw)
	}
}

// cut shortens a word to what suits an error.
func cut(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

func shown(s string) string { return strconv.Quote(cut(s)) }

// plain is the value of a node as encoding/json has it.
func (n *node) plain() any {
	switch n.kind {
	case isMapping:
		m := make(map[string]any, len(n.entries))
		for _, e := range n.entries {
			m[e.key] = e.value.plain()
		}
		return m
	case isList:
		l := make([]any, len(n.items))
		for i, it := range n.items {
			l[i] = it.plain()
		}
		return l
	case isText:
		return n.raw
	default:
		return n.value
	}
}

// tree turns the bytes of a file into nodes. It keeps to the part of YAML that
// cannot surprise: one document, no anchors, aliases, merge keys or tags.
type tree struct {
	file  string
	errs  Errors
	holes map[string]bool // paths whose value could not be had
}

func (t *tree) errorf(at pos, path, format string, args ...any) {
	t.errs = append(t.errs, Error{File: t.file, Line: at.line, Column: at.column, Path: path, Msg: fmt.Sprintf(format, args...)})
}

// parse returns the root, nil when the text cannot be read as one.
func (t *tree) parse(text []byte) *node {
	if !t.checkBytes(text) {
		return nil
	}
	// The parser counts the line of a comment twice when it ends in CR LF.
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	tokens := lexer.Tokenize(string(text))
	if !t.checkDepth(tokens) {
		return nil
	}
	f, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		at := pos{1, 1}
		msg := err.Error()
		var syntax *yaml.SyntaxError
		if errors.As(err, &syntax) {
			msg = syntax.GetMessage()
			if tk := syntax.GetToken(); tk != nil {
				at = place(tk)
			}
		}
		t.errorf(at, "", "expected YAML, found a mistake in it: %s", msg)
		return nil
	}
	var docs []*ast.DocumentNode
	for _, d := range f.Docs {
		if d.Body == nil {
			continue
		}
		if d.Body.Type() == ast.DirectiveType {
			t.errorf(place(d.Body.GetToken()), "", "expected keys, found a directive; remove the line")
			return nil
		}
		docs = append(docs, d)
	}
	if len(docs) == 0 {
		t.errorf(pos{1, 1}, "", "expected the keys name, datasets, backends, models and studies, found an empty file")
		return nil
	}
	if len(docs) > 1 {
		at := place(docs[1].Body.GetToken())
		if docs[1].Start != nil {
			at = place(docs[1].Start)
		}
		t.errorf(at, "", "expected one document, found another; keep one experiment per file")
		return nil
	}
	return t.node(docs[0].Body, "")
}

// checkBytes finds what is wrong below the level of YAML.
func (t *tree) checkBytes(text []byte) bool {
	for _, mark := range []struct{ bytes, name string }{
		{"\xef\xbb\xbf", "a byte order mark"}, {"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"},
	} {
		if bytes.HasPrefix(text, []byte(mark.bytes)) {
			t.errorf(pos{1, 1}, "", "expected UTF-8 text, found %s; save the file as UTF-8 without a byte order mark", mark.name)
			return false
		}
	}
	for i, line := range bytes.Split(text, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		column, indent := 0, true
		for len(line) > 0 {
			r, size := utf8.DecodeRune(line)
			column++
			at := pos{i + 1, column}
			switch {
			case r == utf8.RuneError && size == 1:
				t.errorf(at, "", "expected UTF-8 text, found the byte 0x%02x; save the file as UTF-8", line[0])
				return false
			case r == '\t' && indent && len(bytes.TrimSpace(line)) > 0:
				t.errorf(at, "", "expected spaces before the first word, found a tab; indent with spaces")
				line = line[:size] // one error a line
			case r != '\t' && (r < ' ' || r == 0x7f || r == 0xfeff):
				t.errorf(at, "", "expected text, found the control character %U; remove it", r)
				return false
			}
			indent = indent && (r == ' ' || r == '\t')
			line = line[size:]
		}
	}
	return len(t.errs) == 0
}

// checkDepth bounds nesting: the parser's memory grows with its square.
func (t *tree) checkDepth(tokens token.Tokens) bool {
	const most = 32
	brackets, dashes, line := 0, 0, 0
	for _, tk := range tokens {
		if at := place(tk); at.line != line {
			line, dashes = at.line, 0
		}
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		case token.SequenceEntryType, token.MappingKeyType:
			dashes++
		}
		if brackets > most || dashes > most {
			t.errorf(place(tk), "", "expected at most %d levels, found more", most)
			return false
		}
	}
	return true
}

func (t *tree) hole(path string) {
	if t.holes == nil {
		t.holes = map[string]bool{}
	}
	t.holes[path] = true
}

func place(tk *token.Token) pos {
	return pos{max(1, tk.Position.Line), max(1, tk.Position.Column)}
}

// node converts a value; path is for errors.
func (t *tree) node(n ast.Node, path string) *node {
	out := &node{at: place(n.GetToken()), raw: n.GetToken().Value}
	switch n := n.(type) {
	case *ast.MappingNode:
		out.kind, out.entries = isMapping, t.entries(n.Values, path)
		if !n.IsFlowStyle && len(n.Values) > 0 {
			out.at = place(n.Values[0].Key.GetToken())
		}
	case *ast.MappingValueNode:
		out.kind, out.entries = isMapping, t.entries([]*ast.MappingValueNode{n}, path)
		out.at = place(n.Key.GetToken())
	case *ast.SequenceNode:
		out.kind = isList
		for i, v := range n.Values {
			out.items = append(out.items, t.node(v, fmt.Sprintf("%s[%d]", path, i)))
		}
	case *ast.StringNode:
		out.kind, out.raw = isText, n.Value
	case *ast.LiteralNode:
		out.kind, out.raw = isText, n.Value.Value
	case *ast.IntegerNode:
		out.kind, out.value = isWhole, n.Value
	case *ast.FloatNode:
		out.kind, out.value = isNumber, n.Value
	case *ast.InfinityNode:
		out.kind, out.value = isNumber, n.Value
	case *ast.NanNode:
		out.kind, out.value = isNumber, math.NaN()
	case *ast.BoolNode:
		out.kind, out.value = isFlag, n.Value
	case *ast.NullNode:
	case *ast.AnchorNode:
		t.errorf(out.at, path, "expected a value, found an anchor (&); write the value out where it is needed")
		return t.node(n.Value, path)
	case *ast.AliasNode:
		t.errorf(out.at, path, "expected a value, found an alias (*); write the value out, or quote it if the star is meant")
		t.hole(path)
	case *ast.TagNode:
		t.errorf(out.at, path, "expected a value, found the tag %s; remove it, and quote the value if it is text", shown(out.raw))
		if n.Value != nil {
			return t.node(n.Value, path)
		}
	default:
		t.errorf(out.at, path, "expected a value, found a %s; this file needs nothing but mappings, lists, text, numbers, true and false", n.Type())
		t.hole(path)
	}
	return out
}

func (t *tree) entries(values []*ast.MappingValueNode, path string) []entry {
	var out []entry
	first := make(map[string]pos, len(values))
	for _, v := range values {
		at := place(v.Key.GetToken())
		key := v.Key.GetToken().Value
		switch v.Key.(type) {
		case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		case *ast.MergeKeyNode:
			t.errorf(at, path, "expected a key, found a merge key (<<); write the keys out")
			continue
		default:
			t.errorf(at, path, "expected a key, found a %s; a key is a plain word", v.Key.Type())
			continue
		}
		if before, twice := first[key]; twice {
			t.errorf(at, join(path, key), "expected each key once, found it again (first on line %d); remove one", before.line)
			continue
		}
		first[key] = at
		val := &node{at: at}
		if v.Value != nil {
			val = t.node(v.Value, join(path, key))
		}
		if val.kind == isNothing {
			val.at = at // an absent value stands nowhere
		}
		out = append(out, entry{key: key, at: at, value: val})
	}
	return out
}

// join appends a key to a dotted path.
func join(path, key string) string {
	if q := strconv.Quote(key); len(q) != len(key)+2 || key == "" {
		key = q
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
