//go:build campaign

// Package campaign attacks the whole program at random, again and again, and
// counts what held: processes killed, stores damaged, hostile servers and files,
// two writers, full disks. Nothing here is a test of a detail; what it finds
// becomes one.
//
//	go test -tags campaign -v -timeout 0 ./harness/campaign -rounds 100 -seed 1
//
// It prints a table: class, tried, held, failed. The same seed makes the same
// attacks, though not the same moments of a machine.
package campaign

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

var (
	rounds = flag.Int("rounds", 3, "attacks of each class")
	seed   = flag.Uint64("seed", 1, "of what is random")
	only   = flag.String("only", "", "classes whose name holds this")
)

// class is a kind of attack. attack returns why it did not hold; errSkip: it
// cannot be made here.
type class struct {
	name   string
	attack func(t *testing.T, rng *rand.Rand) error
}

var errSkip = errors.New("cannot be made here")

func TestCampaign(t *testing.T) {
	assay = filepath.Join(t.TempDir(), "assay")
	if out, err := exec.Command("go", "build", "-o", assay, "assay").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	ref := undisturbed(t)
	classes := append(kills(ref), damages(ref)...)
	classes = append(classes, writers(ref)...)
	classes = append(classes, disks(ref)...)
	classes = append(classes, hostileServers()...)
	classes = append(classes, hostileFiles(ref)...)
	out := table.NewWriter()
	out.SetStyle(table.StyleLight)
	out.AppendHeader(table.Row{"class", "tried", "held", "failed", "not possible here"})
	tried, held, failed := 0, 0, 0
	for i, c := range classes {
		if !strings.Contains(c.name, *only) {
			continue
		}
		var n, ok, bad, skipped int
		for round := range *rounds {
			rng := rand.New(rand.NewPCG(*seed, uint64(i)<<32|uint64(round)))
			switch err := c.attack(t, rng); {
			case errors.Is(err, errSkip):
				skipped++
				continue
			case err != nil:
				bad++
				t.Errorf("%s, round %d: %v", c.name, round, err)
			default:
				ok++
			}
			n++
		}
		out.AppendRow(table.Row{c.name, n, ok, bad, skipped})
		tried, held, failed = tried+n, held+ok, failed+bad
	}
	out.AppendFooter(table.Row{"in all", tried, held, failed})
	fmt.Printf("\n%d rounds of each class, seed %d\n%s\n%s", *rounds, *seed, out.Render(), ref.energies.words())
	if err := ref.energies.fault(); err != nil {
		t.Error(err)
	}
}

// assay is the program.
var assay string

// ended is how a process of assay ended.
type ended struct {
	code           int // -1: killed
	stdout, stderr string
	took           time.Duration
	memory         int64 // the most it held, in bytes; 0: not known here
}

// command is assay in a folder; it ends with the context, by SIGKILL.
func command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, assay, args...)
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// run runs assay to its end, or to its kill.
func run(t *testing.T, kill time.Duration, dir string, args ...string) ended {
	t.Helper()
	if kill <= 0 {
		kill = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), kill)
	defer cancel()
	return of(command(ctx, dir, args...))
}

func of(cmd *exec.Cmd) ended {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	err := cmd.Run()
	e := ended{stdout: out.String(), stderr: errs.String(), took: time.Since(began)}
	if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && runtime.GOOS == "linux" {
		e.memory = use.Maxrss << 10
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		e.code = exit.ExitCode()
	case err != nil:
		e.code, e.stderr = -2, e.stderr+err.Error()
	}
	return e
}

var crash = regexp.MustCompile(`(?m)^(panic:|fatal error:|goroutine \d+ \[|runtime: |SIG[A-Z]+: )|internal error`)

// decent says what is not decent about an end: a crash, an exit code that there is
// not, an error without words.
func (e ended) decent(codes ...int) error {
	if m := crash.FindString(e.stderr + "\n" + e.stdout); m != "" {
		return fmt.Errorf("it crashed (%s):\n%s", m, tail(e.stderr))
	}
	ok := false
	for _, c := range codes {
		ok = ok || c == e.code
	}
	if !ok {
		return fmt.Errorf("exit code %d, not one of %v:\n%s", e.code, codes, tail(e.stderr))
	}
	if e.code != 0 && strings.TrimSpace(e.stderr) == "" {
		return fmt.Errorf("exit code %d without a word", e.code)
	}
	return nil
}

// within says that a process held no more memory, and prints what it held.
func (e ended) within(t *testing.T, what string, most int64) error {
	t.Logf("%s: %d MB, limit %d MB, exit code %d", what, e.memory>>20, most>>20, e.code)
	if e.memory > most {
		return fmt.Errorf("%s: %d MB held, limit %d MB", what, e.memory>>20, most>>20)
	}
	return nil
}

func tail(s string) string {
	if len(s) > 1500 {
		return "..." + s[len(s)-1500:]
	}
	return s
}

// copyDir copies a folder of plain files and folders.
func copyDir(from, to string) error {
	return os.CopyFS(to, os.DirFS(from))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
