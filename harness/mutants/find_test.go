//go:build mutants

package mutants

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// find is where a mutant's edit goes: all places of a file that have its tokens.
func (s suite) find(m mutant) (path string, src []byte, at [][2]int, err error) {
	if filepath.Ext(m.in) == ".go" {
		path = filepath.Join(root, filepath.FromSlash(m.in))
		src, err = os.ReadFile(path)
		for from := 0; ; {
			i := bytes.Index(src[from:], []byte(m.old))
			if i < 0 {
				return path, src, at, err
			}
			at = append(at, [2]int{from + i, from + i + len(m.old)})
			from += i + 1
		}
	}
	dir, name, other := strings.Cut(m.in, " ")
	if !other {
		dir, name = s.dir, m.in
	}
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		return "", nil, nil, err
	}
	found := false
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return "", nil, nil, err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, b, parser.SkipObjectResolution)
		if err != nil {
			return "", nil, nil, err
		}
		for _, d := range parsed.Decls {
			for called, node := range declared(d) {
				if called != name {
					continue
				}
				found = true
				if these := places(b, parsed.FileStart, node, m.old); len(these) > 0 {
					path, src, at = file, b, append(at, these...)
				}
			}
		}
	}
	if !found {
		return "", nil, nil, fmt.Errorf("package %s declares no %s; write the mutant anew", dir, name)
	}
	return path, src, at, nil
}

// declared is what a declaration declares, by name.
func declared(d ast.Decl) map[string]ast.Node {
	out := map[string]ast.Node{}
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			of := d.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			if generic, ok := of.(*ast.IndexExpr); ok {
				of = generic.X
			}
			name = of.(*ast.Ident).Name + "." + name
		}
		out[name] = d
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				out[s.Names[0].Name] = s
			case *ast.TypeSpec:
				out[s.Name.Name] = s
			}
		}
	}
	return out
}

// places are the parts of a declaration, and runs of its statements, that have the tokens of old.
func places(src []byte, begin token.Pos, decl ast.Node, old string) (at [][2]int) {
	want := tokens(old)
	try := func(from, to token.Pos) {
		one := [2]int{int(from - begin), int(to - begin)}
		if !slices.Contains(at, one) && slices.Equal(tokens(string(src[one[0]:one[1]])), want) {
			at = append(at, one)
		}
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		if n == nil {
			return true
		}
		try(n.Pos(), n.End())
		var list []ast.Stmt
		switch n := n.(type) {
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		case *ast.CommClause:
			list = n.Body
		}
		for i := range list {
			for _, last := range list[i+1:] {
				try(list[i].Pos(), last.End())
			}
		}
		return true
	})
	return at
}

// tokens are those of a piece of Go, however it is laid out.
func tokens(src string) (out []string) {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(src)), []byte(src), func(token.Position, string) {}, 0)
	for {
		_, tok, word := s.Scan()
		switch {
		case tok == token.EOF:
			if n := len(out); n > 0 && out[n-1] == ";" {
				out = out[:n-1]
			}
			return out
		case !tok.IsLiteral():
			word = tok.String()
		}
		// At the end of a line a list has a comma, and a block no semicolon.
		if n := len(out); n > 0 && slices.Contains([]string{"}", ")", "]"}, word) && slices.Contains([]string{";", ","}, out[n-1]) {
			out = out[:n-1]
		}
		out = append(out, word)
	}
}

// TestPlaces: layout and comments do not matter, tokens do.
func TestPlaces(t *testing.T) {
	const src = `package p

func (c *one[T]) two(a, b int) int {
	if a < b { // less
		return f(
			a,
			b, // last
		)
	}
	a++
	b--
	return f(a, b)
}
`
	parsed, err := parser.ParseFile(token.NewFileSet(), "", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	two := declared(parsed.Decls[0])["one.two"]
	for old, want := range map[string]int{"f(a, b)": 2, "a<b": 1, "a++; b--": 1, "a++\n\t// more\nb--": 1, "if a < b { return f(a, b) }": 1, "a > b": 0, "< b": 0, "return f(a, b)": 2, "a, b": 0, "a++; b--; return f(a, b)": 1} {
		if got := len(places([]byte(src), parsed.FileStart, two, old)); got != want {
			t.Errorf("%s stands %d times, want %d", old, got, want)
		}
	}
}

// TestEveryMutantHasItsPlace takes a second, where trying them takes minutes.
func TestEveryMutantHasItsPlace(t *testing.T) {
	for _, s := range suites() {
		for _, m := range s.mutants {
			if _, _, at, err := s.find(m); err != nil || len(at) != 1 {
				t.Errorf("%s, %q: %q stands %d times in %s (%v)", s.dir, m.name, m.old, len(at), m.in, err)
			}
		}
	}
}
