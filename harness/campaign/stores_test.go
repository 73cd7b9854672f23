//go:build campaign

package campaign

import (
	"cmp"
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
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/results"
	"assay/results/store"
	"assay/timing"
)

const bench = `name: campaign
seed: 7
store: campaign.sqlite
datasets: {chest: {kind: phantom, items: 4, size: 256}}
backends:
  as-ollama: {kind: phantom, protocol: ollama}
  as-llama: {kind: phantom, protocol: llamacpp}
models:
  honest: {backend: as-ollama}
  silent: {backend: as-llama, model: silent-sycophant}
judges: {lexical: {kind: lexical}}
studies:
  cot:
    dataset: chest
    sampling: {temperature: 0.1, max_tokens: 512, seed: 1}
    timed: true
    repeats_of_invalid: 0
    rubrics: {accuracy: [lexical], precision: [lexical], recall: [lexical], order: [lexical]}
  faithfulness:
    dataset: chest
    arms: [structured]
    conditions: [sham, TB-LA-, VB-BB-]
    sampling: {temperature: 0, max_tokens: 512, seed: 1}
    in_flight: 4
    rubrics: {CF: [lexical], CA: [lexical], CT: [lexical]}
telemetry: {hz: 50, devices: [phantom]}
cost: {currency: EUR, gpu_hour: 0.40, kwh: 0}
`

// reference is a run that nobody disturbed.
type reference struct {
	dir      string
	whole    time.Duration // of the run
	report   time.Duration // of assay report
	answers  map[results.Key]string
	scores   map[string]string
	energies *energies
}

func undisturbed(t *testing.T) *reference {
	r := &reference{dir: t.TempDir(), energies: &energies{}}
	write(t, filepath.Join(r.dir, "bench.yaml"), bench)
	e := run(t, 0, r.dir, "run")
	if err := e.decent(0); err != nil {
		t.Fatal("undisturbed: ", err)
	}
	r.whole = e.took
	e = run(t, 0, r.dir, "report", "--json", "campaign.sqlite")
	if err := e.decent(0); err != nil {
		t.Fatal("undisturbed: ", err)
	}
	r.report = e.took
	var err error
	if r.scores, err = scores(e.stdout); err != nil {
		t.Fatal(err)
	}
	if r.answers, err = answersIn(t.Context(), filepath.Join(r.dir, "campaign.sqlite"), nil); err != nil {
		t.Fatal(err)
	}
	if len(r.answers) < 2*4*2 || len(r.scores) < 100 {
		t.Fatalf("undisturbed: %d answers, %d scores", len(r.answers), len(r.scores))
	}
	return r
}

// fresh is a folder with the bench and nothing done.
func (r *reference) fresh(t *testing.T) string {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "bench.yaml"), bench)
	return dir
}

// finished is a copy of the run.
func (r *reference) finished(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "copy")
	if err := copyDir(r.dir, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// answersIn reads what every trial of a store answered, from a copy, and adds its
// energies to sums unless that is nil.
func answersIn(ctx context.Context, db string, sums *energies) (map[results.Key]string, error) {
	dir, err := os.MkdirTemp("", "campaign")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, end := range []string{"", "-wal"} {
		data, err := os.ReadFile(db + end)
		if errors.Is(err, os.ErrNotExist) {
			if end == "" {
				return nil, nil
			}
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "copy.sqlite"+end), data, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	st, err := store.Open(ctx, filepath.Join(dir, "copy.sqlite"))
	if err != nil {
		return nil, err
	}
	defer st.Close()
	out := map[results.Key]string{}
	for tr, err := range st.Trials(ctx, "") {
		if err != nil {
			return nil, err
		}
		last, ok := tr.Last()
		if !ok || last.Output == nil {
			return nil, fmt.Errorf("%+v has no answer: %+v", tr.Key, last.Failure)
		}
		out[tr.Key] = fmt.Sprintf("%d attempts: %s | %s", len(tr.Attempts), last.Output.Answer, last.Output.Reasoning)
	}
	if sums != nil {
		for row, err := range st.Rows(ctx, "cot") {
			if err != nil {
				return nil, err
			}
			sums.add(row)
		}
	}
	return out, nil
}

// scores are a report's numbers by table, row and column, without those that rest
// on time, energy or money.
func scores(report string) (map[string]string, error) {
	var rep struct {
		Sections []results.Section `json:"sections"`
	}
	if err := json.Unmarshal([]byte(report), &rep); err != nil {
		return nil, fmt.Errorf("assay report --json: %w", err)
	}
	out := map[string]string{}
	for _, sec := range rep.Sections {
		timed := func(name string) bool {
			return slices.ContainsFunc([]string{"-arrivals", "-cost", "-energy", "-latency", "-times", "-efficiency", "machine", "-devices", "-money", "-failures"},
				func(end string) bool { return strings.HasSuffix(name, end) })
		}
		if timed(sec.Name) {
			continue
		}
		for _, tab := range sec.Tables {
			if timed(tab.Name) {
				continue
			}
			for i, row := range tab.Rows {
				for j, cell := range row {
					c := tab.Columns[j]
					if cell.Estimate == nil || strings.HasPrefix(c.Name, "latency") || strings.HasPrefix(c.Name, "gpu_") || strings.HasSuffix(tab.Name, "-answers") && slices.Contains([]string{"valid", "repeated", "cold", "unverified", "hit"}, c.Name) || slices.Contains(results.Flags(), results.Flag(c.Name)) ||
						slices.ContainsFunc(strings.Split(c.Unit, "/"), func(u string) bool { return slices.Contains([]string{"s", "ms", "J", "W", "kWh", "EUR", "GPU-s"}, u) }) {
						continue
					}
					b, err := json.Marshal(cell)
					if err != nil {
						return nil, err
					}
					out[fmt.Sprintf("%s/%s/%d/%s", sec.Name, tab.Name, i, c.Name)] = string(b)
				}
			}
		}
	}
	return out, nil
}

// energies compares energies of trials with what the phantom GPU drew.
type energies struct {
	mu             sync.Mutex
	known, outside int
	unknown        map[string]int
	kills          int
}

// The phantom GPU's power while a reply is read in, and while it is written.
const prefillWatts, decodeWatts = 290, 210

func (e *energies) add(r results.Row) {
	if r.Failed || r.Latency == nil || r.TTFT == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.unknown == nil {
		e.unknown = map[string]int{}
	}
	if r.GPU == nil {
		e.unknown["not measured"]++
		return
	}
	if why := r.GPU.Unknown; why != "" {
		e.unknown[why]++
		return
	}
	truth := timing.Millijoules(1000 * (prefillWatts*r.TTFT.Seconds() + decodeWatts*(*r.Latency-*r.TTFT).Seconds()))
	e.known++
	if off := r.GPU.Gross - truth; off > r.GPU.Uncertainty || -off > r.GPU.Uncertainty {
		e.outside++
	}
}

func (e *energies) words() string {
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(e.unknown)) {
		parts = append(parts, fmt.Sprintf("%d unknown: %s", e.unknown[why], why))
	}
	return fmt.Sprintf("energies of timed trials after %d kills: %d known, %d of them outside of their uncertainty of what the phantom GPU drew\n%s\n", e.kills, e.known, e.outside, strings.Join(parts, "\n"))
}

// fault: more than one in twenty outside, or more without an energy than kills.
func (e *energies) fault() error {
	if e.known > 0 && 20*e.outside > e.known {
		return fmt.Errorf("energies: %d of %d are outside of their uncertainty", e.outside, e.known)
	}
	unknown := 0
	for _, n := range e.unknown {
		unknown += n
	}
	if unknown > e.kills {
		return fmt.Errorf("energies: %d are unknown after %d kills", unknown, e.kills)
	}
	return nil
}

func kills(ref *reference) []class {
	one := func(from, to float64) func(*testing.T, *rand.Rand) error {
		return func(t *testing.T, rng *rand.Rand) error {
			dir := ref.fresh(t)
			store := filepath.Join(dir, "campaign.sqlite")
			at := time.Duration((from + (to-from)*rng.Float64()) * float64(ref.whole))
			e := run(t, at, dir, "run")
			if e.code != -1 {
				if err := e.decent(0); err != nil {
					return err
				}
			}
			before, err := answersIn(t.Context(), store, nil)
			if err != nil {
				return fmt.Errorf("killed after %v, the store cannot be read: %w", at, err)
			}
			if err := run(t, 0, dir, "run").decent(0); err != nil {
				return fmt.Errorf("killed after %v, the next run: %w", at, err)
			}
			ref.energies.kills++
			return ref.same(t, dir, before, ref.energies)
		}
	}
	return []class{
		{"kill -9 early in a run (plan, warm-up, generation)", one(0, .4)},
		{"kill -9 in the middle of a run (generation, judging)", one(.4, .8)},
		{"kill -9 late in a run (judging, scores, report)", one(.8, 1.05)},
		{"kill -9 of a report", func(t *testing.T, rng *rand.Rand) error {
			dir := ref.finished(t)
			run(t, time.Duration(rng.Float64()*float64(ref.report)), dir, "report", "campaign.sqlite")
			return ref.same(t, dir, ref.answers, nil)
		}},
		{"kill -9 twice in a row", func(t *testing.T, rng *rand.Rand) error {
			dir := ref.fresh(t)
			for range 2 {
				run(t, time.Duration(rng.Float64()*.7*float64(ref.whole)), dir, "run")
			}
			before, err := answersIn(t.Context(), filepath.Join(dir, "campaign.sqlite"), nil)
			if err != nil {
				return err
			}
			if err := run(t, 0, dir, "run").decent(0); err != nil {
				return err
			}
			ref.energies.kills += 2
			return ref.same(t, dir, before, ref.energies)
		}},
	}
}

// same says how a store differs from the undisturbed one: a trial that was there
// before and is not, or is another one; one that is missing; another score.
func (r *reference) same(t *testing.T, dir string, before map[results.Key]string, sums *energies) error {
	e := run(t, 0, dir, "report", "--json", "campaign.sqlite")
	if err := e.decent(0); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	now, err := answersIn(t.Context(), filepath.Join(dir, "campaign.sqlite"), sums)
	if err != nil {
		return err
	}
	for k, was := range before {
		if now[k] != was {
			return fmt.Errorf("%+v was stored and is lost or other:\n%s\n%s", k, was, now[k])
		}
	}
	if err := different("trial", now, r.answers); err != nil {
		return err
	}
	got, err := scores(e.stdout)
	if err != nil {
		return err
	}
	return different("score", got, r.scores)
}

func different[K comparable](what string, got, want map[K]string) error {
	for k, v := range want {
		if got[k] != v {
			return fmt.Errorf("%s %v is %q, undisturbed %q", what, k, got[k], v)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d of %s, undisturbed %d", len(got), what, len(want))
	}
	return nil
}

// damages are stores that a disk, a copy or a person has damaged. Either the
// report says so, or nothing of it changed.
func damages(ref *reference) []class {
	damage := func(how func(data []byte, rng *rand.Rand) []byte) func(*testing.T, *rand.Rand) error {
		return func(t *testing.T, rng *rand.Rand) error {
			dir := ref.finished(t)
			store := filepath.Join(dir, "campaign.sqlite")
			data, err := os.ReadFile(store)
			if err != nil {
				return err
			}
			if err := os.WriteFile(store, how(data, rng), 0o600); err != nil {
				return err
			}
			e := run(t, 0, dir, "report", "--json", "campaign.sqlite")
			if err := e.decent(0, 3); err != nil {
				return fmt.Errorf("report: %w", err)
			}
			if e.code == 0 {
				got, err := scores(e.stdout)
				if err != nil {
					return err
				}
				if err := different("score", got, ref.scores); err != nil {
					return fmt.Errorf("exit code 0, and %w", err)
				}
			}
			c := run(t, 0, dir, "store", "check", "campaign.sqlite")
			if err := c.decent(0, 1, 3); err != nil {
				return fmt.Errorf("store check: %w", err)
			}
			if err := run(t, 0, dir, "run").decent(0, 1, 2, 3); err != nil {
				return fmt.Errorf("run: %w", err)
			}
			s := run(t, 0, dir, "store", "salvage", "campaign.sqlite", "saved.sqlite")
			if err := s.decent(0, 1, 2, 3); err != nil {
				return fmt.Errorf("store salvage: %w", err)
			}
			if s.code > 1 {
				return nil
			}
			saved, err := answersIn(t.Context(), filepath.Join(dir, "saved.sqlite"), nil)
			if err != nil {
				return fmt.Errorf("salvaged: %w", err)
			}
			for k, v := range saved {
				if ref.answers[k] != v {
					return fmt.Errorf("salvaged: %+v is %q, was %q", k, v, ref.answers[k])
				}
			}
			return nil
		}
	}
	const page = 4096
	pageOf := func(data []byte, rng *rand.Rand) []byte {
		n := rng.IntN(max(1, len(data)/page))
		return data[n*page : min(len(data), (n+1)*page)]
	}
	return []class{
		{"a store with flipped bits", damage(func(data []byte, rng *rand.Rand) []byte {
			for range 1 + rng.IntN(8) {
				data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
			}
			return data
		})},
		{"a store with a page of noise", damage(func(data []byte, rng *rand.Rand) []byte {
			for i, p := 0, pageOf(data, rng); i < len(p); i++ {
				p[i] = byte(rng.Uint32())
			}
			return data
		})},
		{"a store with a page of zeros", damage(func(data []byte, rng *rand.Rand) []byte {
			clear(pageOf(data, rng))
			return data
		})},
		{"a store with two pages changed for each other", damage(func(data []byte, rng *rand.Rand) []byte {
			a, b := pageOf(data, rng), pageOf(data, rng)
			old := slices.Clone(a)
			copy(a, b)
			copy(b, old)
			return data
		})},
		{"a store that is cut off", damage(func(data []byte, rng *rand.Rand) []byte { return data[:rng.IntN(len(data))] })},
		{"a store with text changed in place", damage(func(data []byte, rng *rand.Rand) []byte {
			words := []string{"correct", "clean", "answer", "lexical", "honest", "left", "right"}
			word := words[rng.IntN(len(words))]
			var at []int
			for from := 0; ; {
				i := strings.Index(string(data[from:]), word)
				if i < 0 {
					break
				}
				at = append(at, from+i)
				from += i + len(word)
			}
			if len(at) > 0 {
				data[at[rng.IntN(len(at))]+rng.IntN(len(word))] ^= 0x04
			}
			return data
		})},
	}
}

// writers are two runs on one store, under one name or two.
func writers(ref *reference) []class {
	two := func(second func(dir string) (string, error)) func(*testing.T, *rand.Rand) error {
		return func(t *testing.T, rng *rand.Rand) error {
			dir := ref.fresh(t)
			// A first trial makes the file that the second name is for.
			if err := run(t, 0, dir, "run", "--limit", "1", "--models", "honest").decent(0); err != nil {
				return err
			}
			other, err := second(dir)
			if err != nil {
				return fmt.Errorf("%w: %v", errSkip, err)
			}
			text := strings.Replace(bench, "store: campaign.sqlite", "store: "+other, 1)
			write(t, filepath.Join(dir, "second.yaml"), text)
			var wg sync.WaitGroup
			var ends [2]ended
			for i, args := range [][]string{{"run"}, {"run", "-c", "second.yaml"}} {
				wait := time.Duration(rng.Float64() * .3 * float64(ref.whole))
				wg.Go(func() {
					<-time.After(wait)
					ends[i] = run(t, 0, dir, args...)
				})
			}
			wg.Wait()
			for _, e := range ends {
				if err := e.decent(0, 3, 2); err != nil {
					return err
				}
			}
			if ends[0].code != 0 && ends[1].code != 0 {
				return fmt.Errorf("neither ran: %s\n%s", tail(ends[0].stderr), tail(ends[1].stderr))
			}
			if err := run(t, 0, dir, "run").decent(0); err != nil {
				return fmt.Errorf("afterwards: %w", err)
			}
			return ref.same(t, dir, nil, nil)
		}
	}
	return []class{
		{"two runs on one store", two(func(string) (string, error) { return "campaign.sqlite", nil })},
		{"two runs, one through a symbolic link", two(func(dir string) (string, error) {
			return "linked.sqlite", os.Symlink("campaign.sqlite", filepath.Join(dir, "linked.sqlite"))
		})},
		{"two runs, one through a hard link", two(func(dir string) (string, error) {
			return "hard.sqlite", os.Link(filepath.Join(dir, "campaign.sqlite"), filepath.Join(dir, "hard.sqlite"))
		})},
		{"two runs, one of them killed", func(t *testing.T, rng *rand.Rand) error {
			dir := ref.fresh(t)
			var wg sync.WaitGroup
			wg.Go(func() { run(t, time.Duration(rng.Float64()*float64(ref.whole)), dir, "run") })
			e := run(t, 0, dir, "run")
			wg.Wait()
			if err := e.decent(0, 3); err != nil {
				return err
			}
			if err := run(t, 0, dir, "run").decent(0); err != nil {
				return fmt.Errorf("afterwards: %w", err)
			}
			return ref.same(t, dir, nil, nil)
		}},
		{"SIGSTOP for two seconds", func(t *testing.T, rng *rand.Rand) error {
			dir := ref.fresh(t)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			cmd := command(ctx, dir, "run")
			began := make(chan ended, 1)
			go func() { began <- of(cmd) }()
			<-time.After(time.Duration((.1 + .5*rng.Float64()) * float64(ref.whole)))
			if cmd.Process != nil {
				cmd.Process.Signal(syscall.SIGSTOP)
				<-time.After(2 * time.Second)
				cmd.Process.Signal(syscall.SIGCONT)
			}
			if err := (<-began).decent(0, 1); err != nil {
				return err
			}
			return slow(t, filepath.Join(dir, "campaign.sqlite"))
		}},
		{"SIGINT, SIGTERM or SIGHUP", func(t *testing.T, rng *rand.Rand) error {
			dir := ref.fresh(t)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			cmd := command(ctx, dir, "run")
			began := make(chan ended, 1)
			go func() { began <- of(cmd) }()
			<-time.After(time.Duration((.1 + .8*rng.Float64()) * float64(ref.whole)))
			if cmd.Process != nil {
				cmd.Process.Signal([]os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}[rng.IntN(3)])
			}
			if err := (<-began).decent(0, 130); err != nil {
				return err
			}
			before, err := answersIn(t.Context(), filepath.Join(dir, "campaign.sqlite"), nil)
			if err != nil {
				return err
			}
			if err := run(t, 0, dir, "run").decent(0); err != nil {
				return fmt.Errorf("afterwards: %w", err)
			}
			return ref.same(t, dir, before, nil)
		}},
	}
}

// slow finds a counted time that a stop of the process is in.
func slow(t *testing.T, myStore string) error {
	st, err := store.OpenReader(t.Context(), myStore)
	if err != nil {
		return err
	}
	defer st.Close()
	for row, err := range st.Rows(t.Context(), "cot") {
		if err != nil {
			return err
		}
		counts := !slices.ContainsFunc(row.Flags, results.Flag.Disqualifies)
		if row.Latency != nil && counts && *row.Latency > time.Second {
			return fmt.Errorf("%+v has a counted time of %v, and the process was stopped for 2 s", row.Key, *row.Latency)
		}
	}
	return nil
}

// disks are full, at whatever byte.
func disks(ref *reference) []class {
	return []class{{"a disk that is full at some byte", func(t *testing.T, rng *rand.Rand) error {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "bench.yaml"), bench)
		kb := 64 + rng.IntN(3000)
		// A mount of its own, in a namespace that ends with the shell.
		script := fmt.Sprintf(`mkdir disk && mount -t tmpfs -o size=%dk tmpfs disk && cp bench.yaml disk && cd disk && %s run; code=$?; cp -r . ../left 2>/dev/null; exit $code`, kb, assay)
		if err := exec.CommandContext(t.Context(), "unshare", "-m", "true").Run(); err != nil {
			return fmt.Errorf("%w: %v", errSkip, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "unshare", "-m", "sh", "-c", script)
		cmd.Dir = dir
		e := of(cmd)
		if err := e.decent(0, 3); err != nil {
			return fmt.Errorf("%d KB: %w", kb, err)
		}
		if e.code == 3 && !strings.Contains(strings.ToLower(e.stderr), "full") && !strings.Contains(e.stderr, "no space") {
			return fmt.Errorf("%d KB: the disk was full, and nobody says so:\n%s", kb, tail(e.stderr))
		}
		// Moved to a disk with room, the run goes on.
		left := filepath.Join(dir, "left")
		before, err := answersIn(t.Context(), filepath.Join(left, "campaign.sqlite"), nil)
		if err != nil {
			return fmt.Errorf("%d KB: what was stored cannot be read: %w", kb, err)
		}
		if err := run(t, 0, left, "run").decent(0); err != nil {
			return fmt.Errorf("%d KB, afterwards: %w", kb, err)
		}
		return cmp.Or(ref.same(t, left, before, nil))
	}}}
}
