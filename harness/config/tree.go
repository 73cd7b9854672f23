// Tree reads the part of YAML that cannot surprise into values that know
// where they stand: one document without tags.

package config

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// pos is a place in the file: 1-based line, 1-based column in code points.
type pos struct{ Line, Column int }

// kind of a node's value.
type kind int

const (
	isNothing kind = iota
	IsMapping
	isList
	isText
	isWhole
	isNumber
	isFlag
)

// Node is a value that knows where it stands.
type Node struct {
	Kind    kind
	At      pos
	Raw     string // as written; a text without its quotes
	Value   any    // isWhole: int64 or uint64; isNumber: float64; isFlag: bool
	Entries []entry
	Items   []*Node

	size, levels int // of it with all that stands in it, aliases written out
}

// entry is a key of a mapping and its value. The keys of a mapping differ.
type entry struct {
	Key   string
	At    pos
	Value *Node
}

// Found names it in an error.
func (n *Node) Found() string {
	switch n.Kind {
	case isNothing:
		return "nothing"
	case IsMapping:
		return "a mapping"
	case isList:
		return "a list"
	case isText:
		return "text " + shown(n.Raw)
	default:
		return cut(n.Raw)
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

// shown is a word in quotes, for an error.
func shown(s string) string { return strconv.Quote(cut(s)) }

// Plain is the value of a node as encoding/json has it.
func (n *Node) Plain() any {
	switch n.Kind {
	case IsMapping:
		m := make(map[string]any, len(n.Entries))
		for _, e := range n.Entries {
			m[e.Key] = e.Value.Plain()
		}
		return m
	case isList:
		l := make([]any, len(n.Items))
		for i, it := range n.Items {
			l[i] = it.Plain()
		}
		return l
	case isText:
		return n.Raw
	default:
		return n.Value
	}
}

// Tree turns the bytes of a file into nodes. It keeps to the part of YAML that
// cannot surprise: one document without tags. What an alias stands for has the alias's
// place; what is in it stands where it is written. So do keys that are merged.
type Tree struct {
	File    string
	Errs    Errors
	Holes   map[string]bool  // paths whose value could not be had
	ends    []int            // the last column of each line, and one
	anchors map[string]*Node // nil: its value is not read to its end
	written int              // nodes that aliases stand for
}

// Errorf adds an error at a place; path is for whoever reads it.
func (t *Tree) Errorf(at pos, path, format string, args ...any) {
	if at.Line <= len(t.ends) { // the parser sees an empty value behind the end of its line
		at.Column = min(at.Column, t.ends[at.Line-1])
	}
	t.Errs = append(t.Errs, readError{File: t.File, Line: at.Line, Column: at.Column, Path: path, Msg: fmt.Sprintf(format, args...)})
}

// Parse returns the root, nil when the text cannot be read as one.
func (t *Tree) Parse(text []byte) *Node {
	if !t.checkBytes(text) {
		return nil
	}
	// The parser counts the line of a comment twice when it ends in CR LF.
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		t.ends = append(t.ends, utf8.RuneCount(line)+1)
	}
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
		t.Errorf(at, "", "expected YAML, found a mistake in it: %s", msg)
		return nil
	}
	var docs []*ast.DocumentNode
	for _, d := range f.Docs {
		if d.Body == nil {
			continue
		}
		if d.Body.Type() == ast.DirectiveType {
			t.Errorf(place(d.Body.GetToken()), "", "expected keys, found a directive; remove the line")
			return nil
		}
		docs = append(docs, d)
	}
	if len(docs) == 0 {
		t.Errorf(pos{1, 1}, "", "expected the keys name, datasets, backends, models and studies, found an empty file")
		return nil
	}
	if len(docs) > 1 {
		at := place(docs[1].Body.GetToken())
		if docs[1].Start != nil {
			at = place(docs[1].Start)
		}
		t.Errorf(at, "", "expected one document, found another; keep one experiment per file")
		return nil
	}
	return t.node(docs[0].Body, "")
}

// checkBytes finds what is wrong below the level of YAML.
func (t *Tree) checkBytes(text []byte) bool {
	for _, mark := range []struct{ bytes, name string }{
		{"\xef\xbb\xbf", "a byte order mark"}, {"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"},
	} {
		if bytes.HasPrefix(text, []byte(mark.bytes)) {
			t.Errorf(pos{1, 1}, "", "expected UTF-8 text, found %s; save the file as UTF-8 without a byte order mark", mark.name)
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
				t.Errorf(at, "", "expected UTF-8 text, found the byte 0x%02x; save the file as UTF-8", line[0])
				return false
			case r == '\t' && indent && len(bytes.TrimSpace(line)) > 0:
				t.Errorf(at, "", "expected spaces before the first word, found a tab; indent with spaces")
				line = line[:size] // one error a line
			case r != '\t' && (r < ' ' || r == 0x7f || r == 0xfeff):
				t.Errorf(at, "", "expected text, found the control character %U; remove it", r)
				return false
			}
			indent = indent && (r == ' ' || r == '\t')
			line = line[size:]
		}
	}
	return len(t.Errs) == 0
}

// checkDepth bounds nesting: the parser's memory grows with its square.
func (t *Tree) checkDepth(tokens token.Tokens) bool {
	const most = 32
	brackets, dashes, line := 0, 0, 0
	for _, tk := range tokens {
		if at := place(tk); at.Line != line {
			line, dashes = at.Line, 0
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
			t.Errorf(place(tk), "", "expected at most %d levels, found more", most)
			return false
		}
	}
	return true
}

func (t *Tree) hole(path string) {
	if t.Holes == nil {
		t.Holes = map[string]bool{}
	}
	t.Holes[path] = true
}

func place(tk *token.Token) pos {
	return pos{max(1, tk.Position.Line), max(1, tk.Position.Column)}
}

// node converts a value; path is for errors.
func (t *Tree) node(n ast.Node, path string) *Node {
	out := &Node{At: place(n.GetToken()), Raw: n.GetToken().Value}
	switch n := n.(type) {
	case *ast.MappingNode:
		out.Kind, out.Entries = IsMapping, t.entries(n.Values, path)
		if !n.IsFlowStyle && len(n.Values) > 0 {
			out.At = place(n.Values[0].Key.GetToken())
		}
	case *ast.MappingValueNode:
		out.Kind, out.Entries = IsMapping, t.entries([]*ast.MappingValueNode{n}, path)
		out.At = place(n.Key.GetToken())
	case *ast.SequenceNode:
		out.Kind = isList
		for i, v := range n.Values {
			out.Items = append(out.Items, t.node(v, fmt.Sprintf("%s[%d]", path, i)))
		}
	case *ast.StringNode:
		out.Kind, out.Raw = isText, n.Value
	case *ast.LiteralNode:
		out.Kind, out.Raw = isText, n.Value.Value
	case *ast.IntegerNode:
		out.Kind, out.Value = isWhole, n.Value
	case *ast.FloatNode:
		out.Kind, out.Value = isNumber, n.Value
	case *ast.InfinityNode:
		out.Kind, out.Value = isNumber, n.Value
	case *ast.NanNode:
		out.Kind, out.Value = isNumber, math.NaN()
	case *ast.BoolNode:
		out.Kind, out.Value = isFlag, n.Value
	case *ast.NullNode:
	case *ast.AnchorNode:
		name := n.Name.GetToken().Value
		if t.anchors == nil {
			t.anchors = map[string]*Node{}
		}
		t.anchors[name] = nil
		if n.Value != nil {
			out = t.node(n.Value, path)
		}
		t.anchors[name] = out
		return out
	case *ast.AliasNode:
		return t.alias(n.Value.GetToken().Value, out.At, path)
	case *ast.TagNode:
		t.Errorf(out.At, path, "expected a value, found the tag %s; remove it, and quote the value if it is text", shown(out.Raw))
		if n.Value != nil {
			return t.node(n.Value, path)
		}
	default:
		t.Errorf(out.At, path, "expected a value, found a %s; this file needs nothing but mappings, lists, text, numbers, true and false", n.Type())
		t.hole(path)
	}
	out.measure()
	return out
}

func (n *Node) measure() {
	n.size = 1
	add := func(in *Node) { n.size, n.levels = n.size+in.size, max(n.levels, 1+in.levels) }
	for _, e := range n.Entries {
		add(e.Value)
	}
	for _, it := range n.Items {
		add(it)
	}
}

// alias is a copy of what an anchor names, with the alias's place. What the aliases of a
// file stand for is bounded: each line of a file could double it.
func (t *Tree) alias(name string, at pos, path string) *Node {
	const mostLevels, mostNodes = 32, maxText
	of, known := t.anchors[name]
	switch over := t.written > mostNodes; {
	case !known:
		// The name is not shown: it may be a secret that begins with a star.
		t.Errorf(at, path, "expected an alias (*) of an anchor (&) that stands before it, found another; write the value out, or quote it if the star is meant")
	case of == nil:
		t.Errorf(at, path, "expected a value, found *%s inside of what it stands for; write the value out", cut(name))
	case of.levels >= mostLevels:
		t.Errorf(at, path, "expected at most %d levels, found more in what *%s stands for", mostLevels, cut(name))
	default:
		if t.written += of.size; t.written <= mostNodes {
			out := *of
			out.At = at
			return &out
		}
		if !over { // said once
			t.Errorf(at, path, "expected aliases of at most %d values in all, found more; write fewer", mostNodes)
		}
	}
	t.hole(path)
	return &Node{At: at, size: 1}
}

// merged are the mappings under a merge key: one, or a list of them.
func (t *Tree) merged(n ast.Node, path string) (out []*Node) {
	list := []ast.Node{n}
	if several, ok := n.(*ast.SequenceNode); ok {
		list = several.Values
	}
	for _, one := range list {
		m := t.node(one, path)
		if m.Kind != IsMapping && !t.Holes[path] {
			t.Errorf(m.At, path, "expected a mapping of keys to values under <<, or a list of them, found %s", m.Found())
			t.hole(path)
		}
		out = append(out, m)
	}
	return out
}

func (t *Tree) entries(values []*ast.MappingValueNode, path string) []entry {
	var out []entry
	var merged []*Node
	first := make(map[string]pos, len(values))
	for _, v := range values {
		at := place(v.Key.GetToken())
		key := v.Key.GetToken().Value
		switch v.Key.(type) {
		case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.MergeKeyNode:
		default:
			t.Errorf(at, path, "expected a key, found a %s; a key is a plain word", v.Key.Type())
			continue
		}
		if before, twice := first[key]; twice {
			t.Errorf(at, JoinPath(path, key), "expected each key once, found it again (first on line %d); remove one", before.Line)
			continue
		}
		first[key] = at
		if _, merge := v.Key.(*ast.MergeKeyNode); merge && v.Value != nil {
			merged = append(merged, t.merged(v.Value, path)...)
			continue
		}
		val := &Node{At: at}
		if v.Value != nil {
			val = t.node(v.Value, JoinPath(path, key))
		}
		if val.Kind == isNothing {
			val.At = at // an absent value stands nowhere
		}
		if val.Kind == isText && slices.Contains(secretKeys(), key) {
			val.Raw = "(not shown)" // wherever an alias takes it
		}
		out = append(out, entry{Key: key, At: at, Value: val})
	}
	for _, m := range merged {
		for _, e := range m.Entries {
			if _, own := first[e.Key]; !own {
				first[e.Key] = e.At
				out = append(out, e)
			}
		}
	}
	return out
}

// JoinPath appends a key to a dotted path.
func JoinPath(path, key string) string {
	if q := strconv.Quote(key); len(q) != len(key)+2 || key == "" {
		key = q
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
