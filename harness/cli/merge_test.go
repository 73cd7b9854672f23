package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const shardedBench = `name: sharded
seed: 3
store: whole.sqlite
datasets: {chest: {kind: phantom, items: 6, size: 256}}
backends: {p: {kind: phantom, protocol: ollama}}
models:
  honest: {backend: p, model: honest}
  silent: {backend: p, model: silent-sycophant}
judges: {lexical: {kind: lexical}}
studies:
  cot:
    dataset: chest
    timed: false
    rubrics: {accuracy: [lexical], precision: [lexical], recall: [lexical], order: [lexical]}
  faithfulness:
    dataset: chest
    arms: [structured]
    conditions: [sham, TB-LA-, VO-BB]
    in_flight: 4
    rubrics: {CF: [lexical], CA: [lexical], CT: [lexical]}
telemetry: {devices: [phantom], hz: 20}
`

// Three shards, merged, give every trial and every score of the run on one machine, but
// times and what is made of them.
func TestShardsMergeToTheWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bench := filepath.Join(dir, "bench.yaml")
	if err := os.WriteFile(bench, []byte(strings.Replace(shardedBench, "whole.sqlite", filepath.Join(dir, "whole.sqlite"), 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	ok := func(args ...string) string {
		t.Helper()
		code, out, errs := assayHere(t, args...)
		if code != 0 {
			t.Fatalf("assay %v: exit code %d: %s", args, code, errs)
		}
		return out
	}
	ok("run", "-c", bench)
	merge := []string{"store", "merge", "--json", filepath.Join(dir, "merged.sqlite")}
	for _, part := range []int{2, 3, 1} {
		ok("run", "-c", bench, "--shard", fmt.Sprintf("%d/3", part))
		merge = append(merge, filepath.Join(dir, fmt.Sprintf("whole-%dof3.sqlite", part)))
	}
	var said struct {
		Trials    int
		Judgments int
		Sessions  int
		SetAside  int `json:"set_aside"`
	}
	if err := json.Unmarshal([]byte(ok(merge...)), &said); err != nil {
		t.Fatal(err)
	}
	if said.Trials == 0 || said.Judgments == 0 || said.Sessions != 3 || said.SetAside != 0 {
		t.Errorf("merge says %+v", said)
	}
	whole := rows(t, ok("export", "--format", "jsonl", filepath.Join(dir, "whole.sqlite")))
	if len(whole) != said.Trials {
		t.Errorf("%d trials on one machine, merge says %d", len(whole), said.Trials)
	}
	if sameAnswers(t, whole, rows(t, ok("export", "--format", "jsonl", filepath.Join(dir, "merged.sqlite")))) == 0 {
		t.Error("no energy was made of what the shards watched")
	}
}

func rows(t *testing.T, exported string) (out []map[string]any) {
	t.Helper()
	for line := range strings.Lines(exported) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// sameAnswers demands that each column of the trials but times, and what is made of them,
// is equal. energies is how many of the merged have one.
func sameAnswers(t *testing.T, whole, merged []map[string]any) (energies int) {
	t.Helper()
	if len(merged) != len(whole) || len(whole) == 0 {
		t.Fatalf("%d trials on one machine, %d merged", len(whole), len(merged))
	}
	for i, r := range whole {
		for name, v := range r {
			if (name == "server_s" || name == "latency_ratio") && (v == nil || merged[i][name] == nil) { // of times that count, and one of both may not be
				continue
			}
			if !timed(name) && !reflect.DeepEqual(v, merged[i][name]) {
				t.Errorf("%v/%v/%v/%v/%v: %s is %v on one machine and %v merged", r["study"], r["model"], r["item"], r["arm"], r["condition"], name, v, merged[i][name])
			}
		}
		if merged[i]["energy_j"] != nil {
			energies++
		}
	}
	return energies
}

// timed says whether a column holds a time, what is made of one, or why there is none.
func timed(name string) bool {
	return strings.HasPrefix(name, "energy_") || slices.Contains([]string{"ttft_s", "latency_s", "ttft_any_s", "latency_any_s", "decode_any_s", "gpu_held_s", "ttft_at_most", "latency_at_most", "flags", "missing"}, name)
}
