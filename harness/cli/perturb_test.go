package cli

import (
	"os"
	"path/filepath"
	"testing"

	"assay/harness/config"
	"assay/harness/experiment"
	"assay/harness/plan"
	"assay/perturb"
	"assay/results"
)

const perturbBench = `
name: p
seed: 7
datasets:
  chest: {kind: phantom, items: 4, size: 256}
backends:
  p: {kind: phantom, protocol: ollama}
models:
  honest: {backend: p}
judges:
  lexical: {kind: lexical}
studies:
  faithfulness: {dataset: chest, arms: [structured], conditions: [all, VO-NOISE, VC-BB, VD-NOISE], grid: {columns: 3, rows: 2}}
`

func benchOf(t testing.TB, text string) *experiment.Bench {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bench.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Read(file, experiment.Known())
	if err != nil {
		t.Fatal(err)
	}
	b, err := experiment.Assemble(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is drawn is, byte for byte, what a run sends.
func TestPerturbDrawsWhatARunSends(t *testing.T) {
	t.Parallel()
	b := benchOf(t, perturbBench)
	p, err := planned(b, plan.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	const item = "case-00002-2"
	sub, err := ofItem(b, item, 1)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, trial := range p.Blocks[0].Trials {
		if trial.Key.Item != item {
			continue
		}
		reqs, _, err := b.Requests(t.Context(), trial)
		if err != nil {
			t.Fatal(err)
		}
		sent := results.DigestOf(reqs[0].Messages[len(reqs[0].Messages)-1].Images[0].Bytes)
		name := trial.Key.Condition
		if name == perturb.Baseline().Name {
			name = "sham" // any: the baseline is drawn beside it
		}
		choice, err := choiceOf(name)
		if err != nil {
			t.Fatal(err)
		}
		shown, _, err := sub.Draw(name, choice, perturb.Grid{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := shown.Conditions[0]
		if name != trial.Key.Condition {
			got.Digest = shown.Baseline.Digest
		}
		if got.Digest != sent {
			t.Errorf("%s: drawn %s, sent %s", trial.Key.Condition, got.Digest, sent)
		}
		if trial.Condition.Cue != got.Cue && name == trial.Key.Condition || trial.Condition.Target != got.Target && name == trial.Key.Condition {
			t.Errorf("%s: says %q for %q, should be %q for %q", name, got.Cue, got.Target, trial.Condition.Cue, trial.Condition.Target)
		}
		compared++
	}
	if compared < 1+11+3+6 {
		t.Errorf("only %d conditions were compared", compared)
	}
}
