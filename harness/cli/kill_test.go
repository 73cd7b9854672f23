package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/results"
	"assay/results/store"
)

const killBench = `name: kill
seed: 7
store: kill.sqlite
rules: paper
datasets:
  chest: {kind: phantom, items: 8, size: 256}
backends:
  as-ollama: {kind: phantom, protocol: ollama}
  as-llama: {kind: phantom, protocol: llamacpp}
models:
  honest: {backend: as-ollama, model: honest}
  blind: {backend: as-llama, model: blind}
judges:
  lexical: {kind: lexical}
studies:
  cot:
    dataset: chest
    arms: [direct, cot]
    sampling: {temperature: 0.1, max_tokens: 512, seed: 1}
    timed: true
    repeats_of_invalid: 0
    rubrics: {accuracy: [lexical], precision: [lexical], recall: [lexical], order: [lexical]}
telemetry: {devices: none}
`

// assay starts the command that TestMain put on the PATH, in a process of its
// own that a signal can kill. It is killed after the given time; 0: never.
// The reply is what it wrote to standard output, and whether it was killed.
func assay(t *testing.T, dir string, kill time.Duration, args ...string) (stdout []byte, killed bool) {
	t.Helper()
	ctx := t.Context()
	if kill > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, kill)
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, "assay", args...) // its Cancel is SIGKILL
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		t.Fatalf("assay %s: %v\n%s", strings.Join(args, " "), err, errs.Bytes())
	} else if err != nil {
		return nil, true
	}
	return out.Bytes(), false
}

// trialsIn reads the trials of a store, from a copy: what a killed process left
// is for the next one to deal with.
func trialsIn(t *testing.T, dir string) map[results.Key]string {
	t.Helper()
	tmp := t.TempDir()
	for _, end := range []string{"", "-wal"} {
		data, err := os.ReadFile(filepath.Join(dir, "kill.sqlite"+end))
		if errors.Is(err, os.ErrNotExist) {
			if end == "" {
				return nil
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tmp, "copy.sqlite"+end), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	st, err := store.Open(t.Context(), filepath.Join(tmp, "copy.sqlite"))
	if err != nil {
		t.Fatalf("the store cannot be opened: %v", err)
	}
	defer st.Close()
	out := map[results.Key]string{}
	for tr, err := range st.Trials(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if len(tr.Attempts) != 1 || tr.Attempts[0].Output == nil {
			t.Errorf("%+v: %d attempts, want one answer", tr.Key, len(tr.Attempts))
		}
		b, err := json.Marshal(tr)
		if err != nil {
			t.Fatal(err)
		}
		out[tr.Key] = string(b)
	}
	return out
}

// scores are the report's numbers by table, row and column, without those that
// rest on time.
func scores(t *testing.T, dir string) map[string]string {
	t.Helper()
	stdout, _ := assay(t, dir, 0, "report", "--json", "kill.sqlite")
	var rep struct {
		Sections []results.Section `json:"sections"`
	}
	if err := json.Unmarshal(stdout, &rep); err != nil {
		t.Fatalf("assay report --json: %v\n%s", err, stdout)
	}
	out := map[string]string{}
	for _, sec := range rep.Sections {
		for _, tab := range sec.Tables {
			// Of times, and of the sessions of the run, of which a killed one has more.
			if strings.HasSuffix(tab.Name, "-arrivals") || tab.Name == "machine-gpus" || tab.Name == "machine-output" {
				continue
			}
			for i, row := range tab.Rows {
				for j, cell := range row {
					if c := tab.Columns[j]; !restsOnTime(tab.Name, c) {
						b, err := json.Marshal(cell)
						if err != nil {
							t.Fatal(err)
						}
						out[fmt.Sprintf("%s/%s/%d/%s", sec.Name, tab.Name, i, c.Name)] = string(b)
					}
				}
			}
		}
	}
	return out
}

// restsOnTime reports whether a column is a time, a rate, a ratio of times, what
// is paid by time, or a flag that was set because of one.
func restsOnTime(table string, c results.Column) bool {
	ofTimes := []string{"valid", "left_out", "repeated", "repeated_why", "cold", "unverified", "hit", "cache_proof"}
	return strings.HasPrefix(c.Name, "latency_ratio") || strings.HasSuffix(table, "-answers") && slices.Contains(ofTimes, c.Name) || strings.HasPrefix(c.Name, "gpu_") ||
		strings.HasSuffix(c.Name, "_at_most") || // what came in one read
		slices.ContainsFunc(strings.Split(c.Unit, "/"), func(u string) bool { return u == "s" || u == "ms" })
}

// A run that is killed at any moment and started again ends where one that was
// left alone does: no finished trial is lost or done again, and every score
// that does not rest on time is the same.
func TestKilledAtAnyMomentARunGoesOn(t *testing.T) {
	kills := 20
	if underRace { // the twenty are asked of the test without it
		kills = 3
	}
	bench := func() string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "bench.yaml"), []byte(killBench), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	quiet := bench()
	start := time.Now()
	assay(t, quiet, 0, "run")
	whole := time.Since(start)
	want, planned := scores(t, quiet), trialsIn(t, quiet)
	if len(planned) != 8*2*2 || len(want) == 0 {
		t.Fatalf("the undisturbed run has %d trials and %d scores", len(planned), len(want))
	}

	// Each kill comes within a third of the whole time after its start, so a run
	// meets several, and then two more while it is judged and reported; a few runs
	// are needed for twenty.
	rng := rand.New(rand.NewPCG(7, 20))
	done, rounds := 0, 0
	var at []int
	for done < kills {
		rounds++
		dir := bench()
		var before map[results.Key]string
		late := 0
		for {
			var kill time.Duration
			if len(before) == len(planned) {
				late++
			}
			if done < kills && late <= 2 {
				kill = 1 + time.Duration(rng.Int64N(int64(whole/3)))
			}
			_, killed := assay(t, dir, kill, "run")
			now := trialsIn(t, dir)
			for k, was := range before {
				if now[k] != was {
					t.Fatalf("trial %+v was stored before a kill and is lost or other after it:\n%s\n%s", k, was, now[k])
				}
			}
			before = now
			if !killed {
				break
			}
			done++
			at = append(at, len(now))
		}
		if got := slices.Collect(maps.Keys(before)); len(got) != len(planned) {
			t.Fatalf("%d trials stored at the end, want %d", len(got), len(planned))
		}
		for k := range planned {
			if _, ok := before[k]; !ok {
				t.Errorf("trial %+v is missing", k)
			}
		}
		if got := scores(t, dir); !maps.Equal(got, want) {
			for k := range want {
				if got[k] != want[k] {
					t.Errorf("score %s is %s, undisturbed %s", k, got[k], want[k])
				}
			}
			t.Errorf("%d scores, want %d", len(got), len(want))
		}
	}
	t.Logf("undisturbed %v; %d kills in %d runs, after %v trials", whole.Round(time.Millisecond), done, rounds, at)
	if mid := slices.DeleteFunc(slices.Clone(at), func(n int) bool { return n == 0 || n == len(planned) }); len(mid) < kills/4 {
		t.Errorf("only %d of %d kills hit the run among its trials", len(mid), done)
	}
}
