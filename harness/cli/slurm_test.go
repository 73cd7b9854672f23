package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestSlurm runs an experiment in parts on the Slurm of SLURM_CONF with the binary
// ASSAY_BINARY (.ci/slurm starts the one and builds the other). One task is queued again
// in its middle, one is told that its time is over; all answers and scores are those of
// the run on one machine.
func TestSlurm(t *testing.T) {
	program := os.Getenv("ASSAY_BINARY")
	if os.Getenv("SLURM_CONF") == "" || program == "" {
		t.Skip("no Slurm is given; .ci/slurm starts one")
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, name, args...)
		var errs bytes.Buffer
		cmd.Dir, cmd.Stderr = dir, &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %v: %v: %s", name, args, err, errs.Bytes())
		}
		return string(out)
	}
	server := fmt.Sprintf(`{p: {kind: llamacpp, url: "http://127.0.0.1:{port}", port: 18320, command: [%q, phantom, serve, --protocol, llamacpp, --listen, "127.0.0.1:{port}"]}}`, program)
	bench := strings.Replace(shardedBench, "{p: {kind: phantom, protocol: ollama}}", server, 1)
	bench = strings.Replace(bench, "items: 6", "items: 48", 1)
	for name, store := range map[string]string{"one.yaml": "one.sqlite", "parts.yaml": "whole.sqlite"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Replace(bench, "whole.sqlite", store, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(program, "run", "-c", "one.yaml")
	script := run(program, "fleet", "slurm", "-c", "parts.yaml", "--parts", "4", "--gres", "gpu:1", "--sbatch=--cpus-per-task=1")
	if err := os.WriteFile(filepath.Join(dir, "parts.sh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	said := run("bash", "parts.sh")
	job := regexp.MustCompile(`^\d+`).FindString(said)
	if job == "" {
		t.Fatalf("the script says %q", said)
	}
	until := func(what string, done func() bool) {
		t.Helper()
		for tick := time.NewTicker(100 * time.Millisecond); !done(); {
			select {
			case <-ctx.Done():
				logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
				for _, l := range logs {
					b, _ := os.ReadFile(l)
					t.Logf("%s:\n%s", l, b)
				}
				t.Fatalf("still not: %s\n%s", what, run("scontrol", "show", "job"))
			case <-tick.C:
			}
		}
	}
	log := func(part int) string {
		b, _ := os.ReadFile(filepath.Join(dir, fmt.Sprintf("assay-sharded-%s_%d.log", job, part)))
		return string(b)
	}
	try := func(name string, args ...string) bool {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		return cmd.Run() == nil // it may be refused while a task changes its state
	}
	again := func(task string) bool {
		return regexp.MustCompile(`Restarts=[1-9]`).MatchString(run("scontrol", "show", "job", task))
	}
	stops := [][]string{{"scontrol", "requeue"}, {"scancel", "--batch", "--signal=INT"}}
	for i, stop := range stops {
		task := fmt.Sprintf("%s_%d", job, i+1)
		until("part "+task+" is in its middle", func() bool { return strings.Contains(log(i+1), "honest: 8 of") })
		until("part "+task+" was stopped", func() bool { return try(stop[0], append(stop[1:], task)...) || again(task) })
	}
	for i := range stops {
		task := fmt.Sprintf("%s_%d", job, i+1)
		until("part "+task+" goes on", func() bool {
			try("scontrol", "update", "JobId="+task, "StartTime=now") // Slurm lets it wait for two minutes
			return strings.Count(log(i+1), "trials to do") > 1
		})
	}
	until("all is done", func() bool { return strings.TrimSpace(run("squeue", "--noheader")) == "" })
	for part := 1; part <= 2; part++ {
		if !regexp.MustCompile(`[1-9]\d* stored before`).MatchString(log(part)) {
			t.Errorf("part %d did not go on where it was:\n%s", part, log(part))
		}
	}
	if state := run("scontrol", "show", "job", job); strings.Count(state, "JobState=COMPLETED") != 4 {
		t.Errorf("not every part is done:\n%s", state)
	}
	if _, err := os.Stat(filepath.Join(dir, "whole.sqlite")); err != nil {
		t.Fatalf("%v\n%s", err, run("scontrol", "show", "job"))
	}
	sameAnswers(t, rows(t, run(program, "export", "--format", "jsonl", "one.sqlite")), rows(t, run(program, "export", "--format", "jsonl", "whole.sqlite")))
	if _, err := os.Stat(filepath.Join(dir, "whole-report")); err != nil {
		t.Errorf("no report: %v", err)
	}
}
