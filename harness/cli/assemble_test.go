package cli_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// follower follows the configuration handed to a function through the source: into
// every function of ours to which it, or a part of it, is handed in a call that names
// that function. Calls are taken in the order of the source, each function once.
type follower struct {
	t       *testing.T
	fset    *token.FileSet
	listed  map[string]listed
	checked map[string]*checkedPackage
	seen    map[string]bool
	trace   []string // files, one after the other
}

type listed struct {
	ImportPath, Dir, Export string
	GoFiles, CgoFiles       []string
}

type checkedPackage struct {
	info  *types.Info
	funcs map[string]*ast.FuncDecl // by receiver and name
	files map[*ast.FuncDecl]string
}

func newFollower(t *testing.T, root string) *follower {
	t.Helper()
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,CgoFiles", root).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	f := &follower{t: t, fset: token.NewFileSet(), listed: map[string]listed{}, checked: map[string]*checkedPackage{}, seen: map[string]bool{}}
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p listed
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		f.listed[p.ImportPath] = p
	}
	return f
}

func (f *follower) of(path string) *checkedPackage {
	if p := f.checked[path]; p != nil {
		return p
	}
	from := f.listed[path]
	out := &checkedPackage{info: &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}, funcs: map[string]*ast.FuncDecl{}, files: map[*ast.FuncDecl]string{}}
	var files []*ast.File
	for _, name := range from.GoFiles {
		file, err := parser.ParseFile(f.fset, filepath.Join(from.Dir, name), nil, 0)
		if err != nil {
			f.t.Fatal(err)
		}
		files = append(files, file)
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				out.funcs[receiverOf(fn)+fn.Name.Name] = fn
				out.files[fn] = strings.TrimPrefix(path, "assay/") + "/" + name
			}
		}
	}
	conf := types.Config{Importer: importer.ForCompiler(f.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(f.listed[path].Export) })}
	if _, err := conf.Check(path, f.fset, files, out.info); err != nil {
		f.t.Fatal(err)
	}
	f.checked[path] = out
	return out
}

func receiverOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	x := fn.Recv.List[0].Type
	if s, ok := x.(*ast.StarExpr); ok {
		x = s.X
	}
	if g, ok := x.(*ast.IndexExpr); ok {
		x = g.X
	}
	return fmt.Sprint(x) + "."
}

// configured says whether a type is configuration, or holds it.
func configured(t types.Type) bool {
	switch x := t.(type) {
	case *types.Pointer:
		return configured(x.Elem())
	case *types.Slice:
		return configured(x.Elem())
	case *types.Named:
		if p := x.Obj().Pkg(); p != nil {
			name := p.Path() + "." + x.Obj().Name()
			return p.Path() == "assay/harness/config" || name == "assay/harness/dataset.Source" || name == "assay/harness/experiment.Bench"
		}
	}
	return false
}

// follow goes through a function whose parameters at these places hold configuration;
// -1 is the receiver.
func (f *follower) follow(path, name string, handed []int) {
	p := f.of(path)
	fn := p.funcs[name]
	if fn == nil || f.seen[path+" "+name] {
		return
	}
	f.seen[path+" "+name] = true
	file := p.files[fn]
	f.enter(file)
	holds := map[types.Object]bool{}
	n := 0
	if fn.Type.Params != nil {
		for _, field := range fn.Type.Params.List {
			for _, id := range field.Names {
				holds[p.info.Defs[id]] = slices.Contains(handed, n)
				n++
			}
		}
	}
	part := func(e ast.Expr) (yes bool) {
		ast.Inspect(e, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if obj := p.info.Uses[id]; obj != nil && (holds[obj] || configured(obj.Type())) {
					if _, variable := obj.(*types.Var); variable {
						yes = true
					}
				}
			}
			return !yes
		})
		return yes
	}
	mark := func(to []ast.Expr, yes bool) {
		for _, e := range to {
			if id, ok := e.(*ast.Ident); ok && yes {
				if obj := p.info.Defs[id]; obj != nil {
					holds[obj] = true
				}
			}
		}
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.RangeStmt:
			mark([]ast.Expr{x.Key, x.Value}, part(x.X))
		case *ast.CallExpr:
			f.call(p, x, part, file)
		}
		return true
	})
}

func (f *follower) call(p *checkedPackage, x *ast.CallExpr, part func(ast.Expr) bool, back string) {
	var id *ast.Ident
	var handed []int
	switch fun := x.Fun.(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
		if part(fun.X) {
			handed = append(handed, -1)
		}
	default:
		return
	}
	obj, ok := p.info.Uses[id].(*types.Func)
	if !ok || obj.Pkg() == nil || !strings.HasPrefix(obj.Pkg().Path(), "assay/") {
		return
	}
	for i, a := range x.Args {
		if part(a) {
			handed = append(handed, i)
		}
	}
	if len(handed) == 0 {
		return
	}
	name := obj.Name()
	if recv := obj.Type().(*types.Signature).Recv(); recv != nil {
		t := recv.Type()
		if ptr, ok := t.(*types.Pointer); ok {
			t = ptr.Elem()
		}
		named, ok := t.(*types.Named)
		if !ok || types.IsInterface(named) {
			return
		}
		name = named.Obj().Name() + "." + name
	}
	f.follow(obj.Pkg().Path(), name, handed)
	f.enter(back)
}

// enter notes a file where it is another one than the last.
func (f *follower) enter(file string) {
	if len(f.trace) == 0 || f.trace[len(f.trace)-1] != file {
		f.trace = append(f.trace, file)
	}
}

// TestTheConfigurationOfAssemble counts the files that the configuration handed to
// Assemble visits, and how often it comes back to one that it had left, returns of calls
// included. -v prints the way. A function that a table holds (a study's New, a kind of
// judge's Make, a kind of data set's reader) is where it is handed over: what an entry
// does with its own is its own. The bounds are what it takes today: lower them with it.
func TestTheConfigurationOfAssemble(t *testing.T) {
	f := newFollower(t, "assay/harness/experiment")
	f.follow("assay/harness/experiment", "Assemble", []int{0})
	var files []string
	back := 0
	for _, file := range f.trace {
		if slices.Contains(files, file) {
			back++
		} else {
			files = append(files, file)
		}
	}
	t.Logf("%d files, %d times back:\n%s", len(files), back, strings.Join(f.trace, "\n"))
	if len(files) > 5 || back > 4 {
		t.Errorf("%d files and %d times back, want at most 5 and 4", len(files), back)
	}
	for _, want := range []string{"harness/experiment/experiment.go", "harness/studies/studies.go", "harness/judge/judges/kinds.go", "harness/dataset/source.go"} {
		if !slices.Contains(files, want) {
			t.Errorf("it was lost on the way to %s: %v", want, files)
		}
	}
}
