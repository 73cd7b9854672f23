//go:build mutants

// Package mutants tries mistakes: each edits a declaration of the program, and tests have to
// fail. A mutant names package, declaration and what it edits there, an expression or
// statements: lines and files may move, and comments and layout change. One whose place is
// gone is an error that names it.
//
//	go test -tags mutants -v -timeout 0 ./harness/mutants -only "cot"
//	go test -tags mutants -v -timeout 0 ./harness/mutants -edits FILE
//
// The second tries the edits of a file in place of its own: JSON, a list of {"what", "file",
// "old", "new"}, where old stands once in the text of file; "tests" and "run" say whose tests are
// run where it is not all of the file's package.
//
// First the tests run on what is unchanged, then on the mutants, as many at once as there
// are processors. It prints a table by package, and below it each mutant that no test noticed.
package mutants

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"golang.org/x/sync/errgroup"
)

var (
	only  = flag.String("only", "", "mutants whose package or name holds this")
	edits = flag.String("edits", "", "file of edits to try in place of the mutants")
	part  = flag.Int("part", 0, "of parts, which one is tried")
	parts = flag.Int("parts", 1, "how many parts the mutants are tried in")
)

// mutant is one edit: what is written instead of old, which stands once in a declaration:
// "name", "Type.method", of another package than its suite's "folder name"; or in a file that
// ends in .go.
type mutant struct{ name, in, old, new string }

// suite is mutants that the same tests have to notice.
type suite struct {
	dir     string // of the package whose tests are run
	tests   string // those of this file, or those that this expression names; "": all but slow ones
	mutants []mutant
}

// listed are the edits of a file.
func listed(path string) ([]suite, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var edits []struct{ What, File, Old, New, Tests, Run string }
	if err := json.Unmarshal(b, &edits); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out []suite
	for _, e := range edits {
		s := suite{dir: cmp.Or(e.Tests, filepath.ToSlash(filepath.Dir(e.File))), tests: e.Run}
		i := slices.IndexFunc(out, func(o suite) bool { return o.dir == s.dir && o.tests == s.tests })
		if i < 0 {
			i, out = len(out), append(out, s)
		}
		out[i].mutants = append(out[i].mutants, mutant{e.What, e.File, e.Old, e.New})
	}
	return out, nil
}

const root = "../.."

// outcome is what became of the mutants of a package.
type outcome struct{ mutants, caught, survived, untried int }

var (
	errSurvived = errors.New("no test notices")
	noticed     = regexp.MustCompile(`(?m)^--- FAIL: (\w+)|^\s*--- FAIL: ([^\s]+)|^(panic: .*)`)
)

func TestMutants(t *testing.T) {
	var mu sync.Mutex // of complaints and what is in by
	var complaints []string
	say := func(s suite, m mutant, format string, args ...any) {
		complaints = append(complaints, fmt.Sprintf("%s, %q: ", s.dir, m.name)+fmt.Sprintf(format, args...))
	}
	by := map[string]*outcome{}
	var order []string
	seen := map[string]bool{}
	var wanted []suite
	all := suites()
	if *edits != "" {
		var err error
		if all, err = listed(*edits); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range all {
		var run []mutant
		for _, m := range s.mutants {
			if name := s.dir + " " + m.name; !strings.Contains(name, *only) {
				continue
			} else if seen[name] {
				t.Fatalf("two mutants are called %q", name)
			} else {
				seen[name] = true
			}
			if len(seen)%*parts == *part {
				run = append(run, m)
			}
		}
		if len(run) == 0 {
			continue
		}
		if by[s.dir] == nil {
			by[s.dir] = &outcome{}
			order = append(order, s.dir)
		}
		by[s.dir].mutants += len(run)
		s.mutants = run
		wanted = append(wanted, s)
	}
	if len(order) == 0 {
		t.Fatalf("no mutant's package or name holds %q", *only)
	}
	type edit struct {
		suite
		mutant
		expr string
	}
	var edits []edit
	each(wanted, func(s suite) {
		expr, err := expression(s)
		if err == nil {
			err = unchanged(t, s, expr)
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			by[s.dir].untried += len(s.mutants)
			say(s, mutant{name: "unchanged"}, "%v", err)
			return
		}
		for _, m := range s.mutants {
			edits = append(edits, edit{s, m, expr})
		}
	})
	each(edits, func(e edit) {
		start := time.Now()
		test, err := try(t, e.suite, e.mutant, e.expr)
		mu.Lock()
		defer mu.Unlock()
		switch o := by[e.dir]; {
		case err == nil:
			o.caught++
			t.Logf("%5.1f s  killed: %s, %s: %s", time.Since(start).Seconds(), e.dir, e.name, test)
		case errors.Is(err, errSurvived):
			o.survived++
			say(e.suite, e.mutant, "survived: %v %q instead of %q in %s", err, e.new, e.old, e.in)
		default:
			o.untried++
			say(e.suite, e.mutant, "%v", err)
		}
	})
	out := table.NewWriter()
	out.SetStyle(table.StyleLight)
	out.AppendHeader(table.Row{"tests of", "mutants", "caught", "survived", "not tried"})
	var sum outcome
	for _, dir := range order {
		o := *by[dir]
		out.AppendRow(table.Row{dir, o.mutants, o.caught, o.survived, o.untried})
		sum = outcome{sum.mutants + o.mutants, sum.caught + o.caught, sum.survived + o.survived, sum.untried + o.untried}
	}
	out.AppendFooter(table.Row{"all", sum.mutants, sum.caught, sum.survived, sum.untried})
	fmt.Println(out.Render())
	for _, c := range complaints {
		t.Error(c)
	}
}

// each calls f with all of them, with as many at once as there are processors.
func each[T any](all []T, f func(T)) {
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for _, one := range all {
		g.Go(func() error {
			f(one)
			return nil
		})
	}
	_ = g.Wait() // f has no error
}

// expression names the tests of a suite.
func expression(s suite) (string, error) {
	if !strings.HasSuffix(s.tests, "_test.go") {
		return s.tests, nil
	}
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(s.dir), s.tests))
	if err != nil {
		return "", err
	}
	var names []string
	for _, f := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(b), -1) {
		names = append(names, f[1])
	}
	if len(names) == 0 {
		return "", fmt.Errorf("%s has no tests", s.tests)
	}
	return "^(" + strings.Join(names, "|") + ")$", nil
}

// tests runs a suite's tests, until one fails.
func tests(t *testing.T, s suite, expr string, more ...string) (string, error) {
	args := append([]string{"test", "-vet=off", "-failfast", "-timeout", "5m", "-run", expr}, more...)
	if s.tests == "" {
		args = append(args, "-skip", "Fuzz|Kill|Crash|Large|Fault")
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, ".")...)
	cmd.Dir = filepath.Join(root, filepath.FromSlash(s.dir))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// unchanged says whether a suite's tests pass as the program is: only then does a
// failure show anything.
func unchanged(t *testing.T, s suite, expr string) error {
	out, err := tests(t, s, expr)
	if err != nil {
		return fmt.Errorf("the tests fail without a mutant: %w\n%s", err, out)
	}
	if strings.Contains(out, "no tests to run") {
		return fmt.Errorf("no test of it is called %q", s.tests)
	}
	return nil
}

// try runs a suite's tests on a mutant. It says which test noticed.
func try(t *testing.T, s suite, m mutant, expr string) (string, error) {
	path, src, at, err := s.find(m)
	if err != nil {
		return "", err
	}
	if len(at) != 1 {
		return "", fmt.Errorf("%q stands %d times in %s, not once; write the mutant anew", m.old, len(at), m.in)
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	dir := t.TempDir()
	mutated, overlay := filepath.Join(dir, filepath.Base(path)), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutated}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(mutated, slices.Concat(src[:at[0][0]], []byte(m.new), src[at[0][1]:]), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return "", err
	}
	out, err := tests(t, s, expr, "-count=1", "-overlay", overlay)
	if err == nil {
		return "", errSurvived
	}
	// A mutant that does not build shows nothing.
	by := noticed.FindStringSubmatch(out)
	if by == nil {
		return "", fmt.Errorf("the tests did not run: %w\n%s", err, out)
	}
	return by[1] + by[2] + by[3], nil
}
