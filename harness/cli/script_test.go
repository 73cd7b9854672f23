package cli_test

import (
	"bytes"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"assay/backends/phantom"
	"assay/harness/cli"
	"assay/harness/dataset/datasettest"
	films "assay/harness/dataset/phantom"
	"assay/results/store"
)

func TestMain(m *testing.M) {
	// Each command is a short process of its own: its garbage is hardly worth collecting.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
		os.Setenv("GOGC", "400")
	}
	if _, ok := os.LookupEnv("ASSAY_FIGURES"); !ok { // a script that looks at other figures says so
		os.Setenv("ASSAY_FIGURES", "svg")
	}
	// Scripts wait for disks and servers longer than they compute; -parallel says otherwise.
	if err := flag.Set("test.parallel", fmt.Sprint(3*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	testscript.Main(tidied{m}, map[string]func(){
		"assay": func() {
			ctx, stop := cli.Interruptible(context.Background())
			defer stop()
			os.Exit(cli.Main(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
		},
		"own-op": ownOp,
	})
}

// tidied takes away the stores that several tests look at.
type tidied struct{ *testing.M }

func (m tidied) Run() int {
	code := m.M.Run()
	for _, dir := range []string{made, madeBeside, madeDefault} {
		if dir != "" {
			os.RemoveAll(dir)
		}
	}
	return code
}

// scripts are all of them; under the race detector those alone that run something beside
// something else which no other script does, and no test of the package that does the work.
func scripts(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("testdata", "script", "*.txt"))
	if err != nil || len(all) < 40 {
		t.Fatalf("%d scripts, %v", len(all), err)
	}
	if !underRace {
		return all
	}
	alone := strings.Fields("agree compare completion config contamination cost damage dataset diagnosis export faithfulness filter init merge one-image perturb plan predictions prompts released scores shots slurm store taix usage user-boxes user-odd-columns regions user-own-data user-reviewer user-sweep version")
	left := slices.DeleteFunc(slices.Clone(all), func(f string) bool {
		return slices.Contains(alone, strings.TrimSuffix(filepath.Base(f), ".txt"))
	})
	if len(all)-len(left) != len(alone) {
		t.Fatalf("of the scripts %v some are not there", alone)
	}
	return left
}

// Every command is run by at least one script; see TestEveryCommandHasAScript.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Files:               scripts(t),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		// real-ollama: the environment names a server and its models.
		Condition: func(cond string) (bool, error) {
			if cond != "real-ollama" {
				return false, fmt.Errorf("no condition %s", cond)
			}
			return os.Getenv("ASSAY_OLLAMA") != "" && os.Getenv("ASSAY_OLLAMA_MODEL") != "" && os.Getenv("ASSAY_OLLAMA_BLIND") != "", nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// edit FILE PATCH: what its user changes by hand. Lines of PATCH with + are put before
			// the line that begins as the next one does, or at the end.
			"edit": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: edit FILE PATCH")
				}
				text, more := ts.ReadFile(args[0]), ""
				for line := range strings.Lines(ts.ReadFile(args[1])) {
					if line[0] == '+' {
						more += line[1:]
						continue
					}
					at := "\n" + strings.TrimRight(line[1:], "\n")
					if strings.Count(text, at) != 1 {
						ts.Fatalf("%s: not one line begins with %q", args[0], at[1:])
					}
					text, more = strings.Replace(text, at, "\n"+more+at[1:], 1), ""
				}
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text+more), 0o644))
			},
			// m3cot DIR N: a synthetic folder in M3CoTBench's format.
			"m3cot": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 1 {
					ts.Fatalf("usage: m3cot DIR")
				}
				ts.Check(datasettest.WriteM3CoTBench(ts.MkAbs(args[0]), 12))
			},
			// taix DIR KNOWLEDGE GAPPY: a synthetic folder in TAIX-VQA's format, a knowledge
			// base that knows it, and one that does not know all of it.
			"taix": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 3 || len(args) > 4 {
					ts.Fatalf("usage: taix DIR KNOWLEDGE GAPPY [small]")
				}
				patients := 12
				if len(args) == 4 {
					patients = 2
				}
				ts.Check(datasettest.WriteTAIX(ts.MkAbs(args[0]), "test", patients, 128))
				ts.Check(os.WriteFile(ts.MkAbs(args[1]), datasettest.TAIXKnowledge(false), 0o644))
				ts.Check(os.WriteFile(ts.MkAbs(args[2]), datasettest.TAIXKnowledge(true), 0o644))
			},
			// expand FILE...: puts the environment's variables into files.
			"expand": func(ts *testscript.TestScript, neg bool, args []string) {
				for _, name := range args {
					text := os.Expand(ts.ReadFile(name), ts.Getenv)
					ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
				}
			},
			// port: a port that nobody listens at, as $PORT.
			"port": func(ts *testscript.TestScript, neg bool, args []string) {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				ts.Check(err)
				ts.Setenv("PORT", fmt.Sprint(l.Addr().(*net.TCPAddr).Port))
				ts.Check(l.Close())
			},
			// damage HOW FILE: cut in the middle of a page, cut after a third of its
			// pages, overwritten pages, those with verdicts (and with what was scored by them),
			// or a schema of the future.
			"damage": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: damage cut|short|holes|verdicts|newer FILE")
				}
				path := ts.MkAbs(args[1])
				b, err := os.ReadFile(path)
				ts.Check(err)
				const page = 4096
				switch pages := len(b) / page; args[0] {
				case "cut":
					b = b[:pages/2*page+100]
				case "short":
					b = b[:pages/3*page]
				case "holes":
					for p := pages / 2; p < pages; p++ {
						copy(b[p*page:], bytes.Repeat([]byte{0xa5}, page))
					}
				case "verdicts":
					for p := range pages {
						if of := b[p*page : (p+1)*page]; bytes.Contains(of, []byte("compared by rule")) || bytes.Contains(of, []byte(`{"Scores":`)) {
							copy(of, bytes.Repeat([]byte{0xa5}, page))
						}
					}
				case "newer":
					db, err := sql.Open("sqlite3", "file:"+path+"?"+store.VFS())
					ts.Check(err)
					_, err = db.Exec("PRAGMA user_version = 99")
					ts.Check(err)
					ts.Check(db.Close())
					return
				default:
					ts.Fatalf("damage: no %q", args[0])
				}
				ts.Check(os.WriteFile(path, b, 0o644))
			},
			// phantom PROTOCOL: a phantom server for the rest of the script, at $PHANTOM.
			"phantom": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 1 {
					ts.Fatalf("usage: phantom PROTOCOL")
				}
				p, err := phantom.Listen("127.0.0.1:0", phantom.Options{Skill: new(films.Films), Protocol: args[0], Seed: 7})
				ts.Check(err)
				ts.Defer(func() { p.Close() })
				ts.Setenv("PHANTOM", p.URL)
			},
		},
		Setup: func(env *testscript.Env) error {
			for _, name := range []string{"ASSAY_FIGURES", "ASSAY_OLLAMA", "ASSAY_OLLAMA_MODEL", "ASSAY_OLLAMA_BLIND"} {
				env.Setenv(name, os.Getenv(name))
			}
			src, err := os.ReadFile(filepath.Join("..", "..", "bench.yaml"))
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(env.WorkDir, "default.yaml"), src, 0o644)
		},
	})
}
