//go:build fleet && linux

package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// setting is a number from the environment.
func setting(t testing.TB, name string, otherwise int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("%s: expected a number, found %q", name, s)
	}
	return n
}

const (
	lease   = 2 * time.Second
	workers = 4
)

// TestFaults has four workers and a judge work on an experiment while they are killed
// and stopped and the database is restarted. ASSAY_FLEET_ROUNDS rounds (3) with the seed
// ASSAY_FLEET_SEED (1): the same faults at the same moments after the begin, though not
// at the same moments of the work. Of each round it prints what came of it.
func TestFaults(t *testing.T) {
	binary := assay(t)
	pg := postgres(t)
	server := slow(t, 30*time.Millisecond)
	dir := t.TempDir()
	config := bench(server, 24)
	put(t, filepath.Join(dir, "bench.yaml"), config)
	ok(t, binary, dir, "", "run")
	one := rows(t, ok(t, binary, dir, "", "export", "--format", "jsonl", "one.sqlite"))
	rounds, seed := setting(t, "ASSAY_FLEET_ROUNDS", 3), setting(t, "ASSAY_FLEET_SEED", 1)
	out := table.NewWriter()
	out.SetStyle(table.StyleLight)
	out.AppendHeader(table.Row{"round", "kill -9", "stopped", "database restarted", "slices", "given again", "uploads refused", "trials", "lost", "twice", "differences", "s"})
	var sum [9]int
	for round := range rounds {
		r := faulty{t: t, binary: binary, pg: pg, rng: rand.New(rand.NewPCG(uint64(seed), uint64(round))), name: fmt.Sprintf("round%d", round), dir: filepath.Join(t.TempDir(), "round"), config: config}
		row := r.run(one)
		out.AppendRow(append(table.Row{round + 1}, row.cells()...))
		fmt.Printf("round %d: %d killed, %d stopped, %d restarts; %d given again, %d refused; %d lost, %d twice, %d differences\n",
			round+1, row.killed, row.stopped, row.restarted, row.again, row.refused, row.lost, row.twice, row.different)
		for i, n := range []int{row.killed, row.stopped, row.restarted, row.slices, row.again, row.refused, row.trials, row.lost, row.twice} {
			sum[i] += n
		}
		if row.lost+row.twice+row.different > 0 {
			t.Errorf("round %d: %d lost, %d twice, %d differences", round+1, row.lost, row.twice, row.different)
		}
	}
	foot := table.Row{"all"}
	for _, n := range sum {
		foot = append(foot, n)
	}
	out.AppendFooter(foot)
	fmt.Printf("\n%d rounds, seed %d: %d workers and a judge, lease %s\n%s\n", rounds, seed, workers, lease, out.Render())
}

// outcome is what came of a round.
type outcome struct {
	killed, stopped, restarted, slices, again, refused, trials, lost, twice, different int
	took                                                                               time.Duration
}

func (o outcome) cells() table.Row {
	return table.Row{o.killed, o.stopped, o.restarted, o.slices, o.again, o.refused, o.trials, o.lost, o.twice, o.different, fmt.Sprintf("%.1f", o.took.Seconds())}
}

// faulty is a round.
type faulty struct {
	t      *testing.T
	binary string
	pg     *server
	rng    *rand.Rand
	name   string
	dir    string
	config string
}

// fault is something that goes wrong, at a time after the begin.
type fault struct {
	at   time.Duration
	what string
	who  int // of the workers; the last one judges
	how  int
	wait time.Duration // until it is over
}

func (f *faulty) faults() []fault {
	var all []fault
	for range 3 + f.rng.IntN(4) {
		one := fault{at: time.Duration(300+f.rng.IntN(7000)) * time.Millisecond, who: f.rng.IntN(workers + 1), how: f.rng.IntN(2)}
		switch k := f.rng.IntN(5); {
		case k < 2:
			one.what, one.wait = "kill", time.Duration(f.rng.IntN(4000))*time.Millisecond
		case k < 4:
			one.what, one.wait = "stop", lease+time.Duration(500+f.rng.IntN(2500))*time.Millisecond
		default:
			one.what, one.wait = "restart", time.Duration(f.rng.IntN(3000))*time.Millisecond
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b fault) int { return int(a.at - b.at) })
	return all
}

func (f *faulty) worker(i int, database string) *program {
	args := []string{"fleet", "worker", "--lease", lease.String(), "--name", fmt.Sprint("w", i), "--dir", fmt.Sprint("w", i)}
	if i == workers {
		args = append(args, "--judge")
	}
	return begin(f.t, f.binary, f.dir, database, args...)
}

func (f *faulty) run(one []map[string]any) (o outcome) {
	t := f.t
	t.Helper()
	database := f.pg.database(f.name)
	put(t, filepath.Join(f.dir, "bench.yaml"), f.config)
	ok(t, f.binary, f.dir, database, "fleet", "submit", "--slice", "12")
	began := time.Now()
	var running [workers + 1]*program
	logs := make([]strings.Builder, len(running))
	for i := range running {
		running[i] = f.worker(i, database)
	}
	stopped := map[int]time.Time{} // until when
	dead := map[int]time.Time{}    // until when
	var down time.Time             // the database is, until then
	var healthy time.Time          // before this, who begins may not find it
	faults := f.faults()
	for deadline := began.Add(2 * time.Minute); ; {
		now := time.Now()
		if now.After(deadline) {
			for i, p := range running {
				t.Logf("worker %d:\n%s%s", i, logs[i].String(), p.errs.String())
			}
			t.Fatalf("%s does not end", f.name)
		}
		if len(faults) > 0 && now.Sub(began) >= faults[0].at {
			one := faults[0]
			faults = faults[1:]
			_, isStopped := stopped[one.who]
			_, isDead := dead[one.who]
			p := running[one.who]
			switch {
			case one.what == "restart" && down.IsZero():
				f.pg.stop([]syscall.Signal{syscall.SIGINT, syscall.SIGQUIT}[one.how])
				down = now.Add(one.wait)
				healthy = down.Add(time.Minute)
				o.restarted++
			case one.what == "kill" && !isDead && !isStopped && p.lives():
				p.cmd.Process.Kill()
				<-p.waited
				logs[one.who].WriteString(p.errs.String() + "--- kill -9\n")
				dead[one.who] = now.Add(one.wait)
				o.killed++
			case one.what == "stop" && !isDead && !isStopped && p.lives():
				p.cmd.Process.Signal(syscall.SIGSTOP)
				stopped[one.who] = now.Add(one.wait)
				o.stopped++
			}
		}
		for i, until := range stopped {
			if now.After(until) {
				running[i].cmd.Process.Signal(syscall.SIGCONT)
				delete(stopped, i)
			}
		}
		for i, until := range dead {
			if now.After(until) && down.IsZero() {
				running[i] = f.worker(i, database)
				delete(dead, i)
			}
		}
		if !down.IsZero() && now.After(down) {
			f.pg.start()
			down, healthy = time.Time{}, time.Now().Add(5*time.Second)
		}
		for i, p := range running { // as whatever keeps a worker up does
			if !p.lives() && p.code() == 3 && strings.Contains(p.errs.String(), "connecting to the database") && now.Before(healthy) {
				logs[i].WriteString(p.errs.String() + "--- could not connect\n")
				dead[i] = now
			}
		}
		busy := len(stopped)+len(dead) > 0 || !down.IsZero()
		for _, p := range running {
			busy = busy || p.lives()
		}
		if !busy {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	o.took = time.Since(began)
	for i, p := range running {
		if code := p.code(); code != 0 {
			t.Errorf("%s, worker %d: exit code %d\n%s%s", f.name, i, code, logs[i].String(), p.errs.String())
		}
	}
	o.slices = f.pg.number(f.name, "SELECT count(*) FROM assay.slice")
	o.again = f.pg.number(f.name, "SELECT sum(epoch - 1) FROM assay.slice")
	o.refused = f.pg.number(f.name, "SELECT sum(refused) FROM assay.slice")
	o.trials = f.pg.number(f.name, "SELECT count(*) FROM assay.trial")
	o.lost = len(one) - f.pg.number(f.name, "SELECT count(DISTINCT key) FROM assay.trial")
	if open := f.pg.number(f.name, "SELECT count(*) FROM assay.slice WHERE state <> 'done'"); open > 0 {
		t.Errorf("%s: %d slices are not done", f.name, open)
	}
	ok(t, f.binary, f.dir, database, "fleet", "pull", "several.sqlite")
	several := rows(t, ok(t, f.binary, f.dir, "", "export", "--format", "jsonl", "several.sqlite"))
	seen := map[string]bool{}
	for _, r := range several {
		k := fmt.Sprint(r["study"], "\x00", r["model"], "\x00", r["item"], "\x00", r["arm"], "\x00", r["condition"], "\x00", r["repeat"])
		if seen[k] {
			o.twice++
		}
		seen[k] = true
	}
	o.lost = max(o.lost, len(one)-len(seen))
	diff := differences(one, several)
	o.different = len(diff)
	for i, d := range diff {
		if i == 5 {
			break
		}
		t.Error(d)
	}
	os.RemoveAll(f.dir)
	f.pg.do("postgres", "DROP DATABASE "+f.name+" WITH (FORCE)")
	return o
}

func (p *program) lives() bool {
	select {
	case <-p.waited:
		return false
	default:
		return true
	}
}
