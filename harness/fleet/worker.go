// Worker takes slices of an experiment, runs them into stores on its own disk,
// and uploads these.
//
//  1. Join compares the experiment with this machine's: what merging would refuse at
//     the end is refused before anything is asked.
//  2. Run tells every few seconds that the host lives, gives slices of silent hosts out
//     again, and serves one model after the other: that which fewest work on, of those
//     that it can reach.
//  3. slice.go runs one slice as run --shard would, and uploads it.

package fleet

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/backends"
	"assay/harness/experiment"
	"assay/harness/plan"
	"assay/harness/servers"
	"assay/results"
	"assay/results/store"
)

// Worker is one process that works on slices.
type Worker struct {
	Fleet      *Fleet
	Experiment Experiment
	Bench      *experiment.Bench // of this machine
	Manifest   results.Manifest  // of a run that begins here now
	Dir        string            // for the stores of slices; no other process works in it
	Host       Host              // Name, Facts, Tags, Judge, Version, Revision and Lease
	Machine    results.Host      // what stores are told of this machine, but for its GPUs and its clock
	Visible    string            // the GPUs that the environment leaves, with commas between; "": all
	Locks      string            // the machine's folder for locks
	Notes      io.Writer         // a line each, from several goroutines

	mu    sync.Mutex
	at    *current
	clock *clock

	avoid map[string]time.Time // models that failed here, until when others may try
}

// current is the slice under way.
type current struct {
	slice  slice
	store  *store.Store // nil: it is not open
	cancel context.CancelCauseFunc
}

// summary is what a worker did.
type summary struct {
	Slices int // stored
	Trials int // in them
	Failed int // slices of the experiment that ended in errors everywhere
}

// ErrTaken is a folder in which another worker works.
var ErrTaken = errors.New("another worker works in this folder; give this one a folder of its own with --dir")

// avoidFor is how long a model is left to others after an error.
const avoidFor = 20 * time.Second

// beats is how often a host says within its lease that it lives.
const beats = 6

// idle is how long a worker waits before it looks for work again.
const idle = 500 * time.Millisecond

func (w *Worker) note(format string, args ...any) { fmt.Fprintf(w.Notes, format+"\n", args...) }

// Run works until all slices are done, or ctx ends.
func (w *Worker) Run(ctx context.Context) (sum summary, err error) {
	if err := os.MkdirAll(w.Dir, 0o700); err != nil {
		return sum, err
	}
	folder, mine, err := folder(w.Dir)
	if err != nil {
		return sum, err
	}
	if !mine {
		return sum, ErrTaken
	}
	defer folder.Close()
	if w.Host.ID, err = identity(filepath.Join(w.Dir, "worker.id")); err != nil {
		return sum, err
	}
	if err := Patient(ctx, w.Notes, func() error { return w.join(ctx) }); err != nil {
		return sum, err
	}
	if err := Patient(ctx, w.Notes, func() error { return w.Fleet.Register(ctx, w.Host) }); err != nil {
		return sum, err
	}
	w.avoid = map[string]time.Time{}
	w.beat(ctx) // so that the clock is known before the first slice
	alive, end := context.WithCancel(context.WithoutCancel(ctx))
	var living sync.WaitGroup
	living.Go(func() { w.live(alive) })
	defer func() {
		end()
		living.Wait()
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if left := w.Fleet.Leave(short, w.Host.ID); left != nil && err == nil {
			w.note("%v", left) // it will be taken for silent, and has no slice
		}
	}()
	err = w.work(ctx, &sum)
	return sum, err
}

// identity is what this folder's worker is called, in all its processes.
func identity(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err == nil && len(b) > 0 {
		return strings.TrimSpace(string(b)), nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	id := make([]byte, 12)
	rand.Read(id)
	name := hex.EncodeToString(id)
	return name, os.WriteFile(path, []byte(name+"\n"), 0o600)
}

// join compares the experiment with that of this machine.
func (w *Worker) join(ctx context.Context) error {
	dir, err := os.MkdirTemp(w.Dir, "join-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	own := filepath.Join(dir, "here.sqlite")
	if err := baseStore(ctx, w.Bench, w.Manifest, own); err != nil {
		return err
	}
	return agrees(ctx, w.Fleet, w.Experiment.ID, own, dir)
}

// agrees says whether the store own could be joined with those of an experiment; what
// differs is a *store.DiffersError.
func agrees(ctx context.Context, f *Fleet, experiment int64, own, dir string) error {
	packed, err := f.Base(ctx, experiment)
	if err != nil {
		return err
	}
	submitted := filepath.Join(dir, "submitted.sqlite")
	if err := unpack(submitted, packed); err != nil {
		return err
	}
	_, err = store.Stores(ctx, filepath.Join(dir, "both.sqlite"), []string{submitted, own}, nil)
	return err
}

// baseStore writes a store of an experiment without trials: what everybody's is to agree with.
func baseStore(ctx context.Context, b *experiment.Bench, man results.Manifest, path string) error {
	p, err := b.Plan(plan.Filter{})
	if err != nil {
		return err
	}
	one := at(b, path)
	man.Host = nil // nothing runs on the machine that submits
	st, _, err := one.Open(ctx, p, man, io.Discard)
	if err != nil {
		return err
	}
	return st.Close()
}

// at is an experiment with another store.
func at(b *experiment.Bench, store string) *experiment.Bench {
	one, cfg := *b, *b.Config
	cfg.Store = store
	one.Config = &cfg
	return &one
}

func unpack(path string, packed []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(unpackStore(f, packed), f.Close())
}

// live says that this host lives, and looks for those that do not.
func (w *Worker) live(ctx context.Context) {
	tick := time.NewTicker(w.Host.Lease / beats)
	defer tick.Stop()
	for {
		w.beat(ctx)
		if n, err := w.Fleet.Reap(ctx, w.Host.Lease); err == nil && n > 0 {
			w.note("%d slices of hosts that are silent were given out again", n)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (w *Worker) beat(ctx context.Context) {
	w.mu.Lock()
	cur := w.at
	var at *At
	if cur != nil {
		at = &At{Slice: cur.slice}
		if cur.store != nil && cur.slice.Kind == Answer { // what is judged was answered before
			if all, err := cur.store.Extents(ctx, results.Manifest{}); err == nil {
				for _, e := range all {
					at.Answered, at.Failed = at.Answered+e.Answers, at.Failed+e.Failures
				}
			}
		}
	}
	w.mu.Unlock()
	short, cancel := context.WithTimeout(ctx, max(w.Host.Lease/beats, time.Second))
	defer cancel()
	clock, err := w.Fleet.Beat(short, w.Host.ID, at)
	if err != nil && Unreachable(err) {
		// Where the database was begun anew, every connection that is kept is dead.
		w.Fleet.Reset()
		clock, err = w.Fleet.Beat(short, w.Host.ID, at)
	}
	switch {
	case errors.Is(err, ErrLost):
		cur.cancel(ErrLost)
	case err != nil:
		return // it is told again; who is silent for too long loses its slice
	}
	w.mu.Lock()
	w.clock = &clock
	w.mu.Unlock()
}

// here is this machine with its clock, as far as it was compared with the database's.
func (w *Worker) here() results.Host {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.Machine
	h.GPUs = nil
	if c := w.clock; c != nil {
		h.Clock = &results.ClockOffset{Offset: -c.Offset, Bound: c.Error} // ours less the database's
	}
	return h
}

// work serves models until nothing is left.
func (w *Worker) work(ctx context.Context, sum *summary) error {
	kind := Answer
	if w.Host.Judge {
		kind = Judge
	}
	told := ""
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		wanted, why, err := w.choose(ctx, kind)
		switch {
		case err != nil:
			w.note("%v; trying again", err)
		case wanted != nil:
			told = ""
			if err := w.serve(ctx, kind, *wanted, sum); err != nil && ctx.Err() == nil {
				w.note("%v; trying again", err)
			}
			continue
		default:
			over, failed, err := w.over(ctx, kind)
			if err == nil && over {
				sum.Failed = failed
				return nil
			}
			if why != told && why != "" {
				w.note("waiting: %s", why)
				told = why
			}
		}
		workerPause(ctx, idle)
	}
}

func workerPause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// over says whether nothing is left of what this worker does, and how many slices failed.
func (w *Worker) over(ctx context.Context, kind kind) (bool, int, error) {
	counts, err := w.Fleet.Progress(ctx, w.Experiment.ID)
	if err != nil {
		return false, 0, err
	}
	failed := 0
	for _, c := range counts {
		switch {
		case c.State == stateFailed && c.Kind == kind:
			failed += c.Slices
		case c.State == StateDone || c.State == stateFailed:
		case c.Kind == kind || c.Kind == Answer: // answers are judged when they are there
			return false, 0, nil
		}
	}
	return true, failed, nil
}

// choose is what to serve next; why says what could not be.
func (w *Worker) choose(ctx context.Context, kind kind) (*wanted, string, error) {
	all, err := w.Fleet.Wanted(ctx, w.Experiment.ID, kind)
	if err != nil {
		return nil, "", err
	}
	var not []string
	for _, one := range all {
		if lacks := slices.DeleteFunc(slices.Clone(one.Tags), func(t string) bool { return slices.Contains(w.Host.Tags, t) }); len(lacks) > 0 {
			not = append(not, fmt.Sprintf("%s needs a host with %s", one.Model, strings.Join(lacks, ", ")))
			continue
		}
		if time.Now().Before(w.avoid[one.Model]) {
			continue
		}
		if kind == Answer {
			if err := w.reach(ctx, one.Model); err != nil {
				not = append(not, fmt.Sprintf("%s: %v", one.Model, err))
				w.avoid[one.Model] = time.Now().Add(avoidFor)
				continue
			}
		}
		return &one, "", nil
	}
	return nil, strings.Join(not, "; "), nil
}

// reach says whether a model can be asked here. A server that assay starts is asked
// when its slice begins.
func (w *Worker) reach(ctx context.Context, model string) error {
	for _, m := range w.Bench.Config.Models {
		if m.Name != model {
			continue
		}
		servers := servers.NewServers(experiment.Setup(w.Bench.Config))
		defer servers.Close()
		if c := servers.Config(m.Backend); len(c.Command) > 0 {
			return nil
		}
		end, err := experiment.Connect(w.Bench.Config, model, servers)
		if err != nil {
			return err
		}
		short, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		id, err := end.Backend.Identify(short, end.Model)
		if err != nil {
			return err
		}
		return w.serves(ctx, model, id)
	}
	return fmt.Errorf("there is no model %s in %s", model, w.Bench.Config.File)
}

// errOther is a model that is not the one whose slices are stored: what it answers could not
// be joined with theirs.
var errOther = errors.New("another model than that of the slices which are stored")

// serves notes who serves a model here, if that is who does on other hosts.
func (w *Worker) serves(ctx context.Context, model string, id backends.Identity) error {
	host, text, err := w.Fleet.Served(ctx, w.Experiment.ID, model, w.Host.ID)
	if err != nil {
		return err
	}
	if host != "" {
		var was backends.Identity
		if err := json.Unmarshal(text, &was); err != nil {
			return fmt.Errorf("what host %s says of model %s cannot be read: %w; its assay is of another version", host, model, err)
		}
		is := id
		was.Path, is.Path = "", "" // each machine has its own
		if diff := is.ChangesFrom(was); len(diff) > 0 {
			return fmt.Errorf("%w, on host %s: %s; serve the same one here", errOther, host, strings.Join(diff, ", "))
		}
	}
	return w.Fleet.Reached(ctx, w.Host.ID, model, id)
}

// serve works on a model's slices until none is open.
func (w *Worker) serve(ctx context.Context, kind kind, wanted wanted, sum *summary) error {
	queue := Queue(w.Experiment.ID, kind, wanted.Model)
	if kind == Answer && wanted.Timed {
		w.note("%s: waiting for the GPUs", wanted.Model)
		t, err := timed(ctx, w.Locks, w.Visible)
		if err != nil {
			return err
		}
		defer t.Close()
	}
	servers := servers.NewServers(experiment.Setup(w.Bench.Config))
	servers.Stay = true
	defer servers.Close()
	serving, leave := context.WithCancel(ctx)
	defer leave()
	var busy sync.Mutex // held while a slice is under way
	var watch sync.WaitGroup
	watch.Go(func() {
		for serving.Err() == nil {
			workerPause(serving, idle)
			if !busy.TryLock() {
				continue
			}
			if n, err := w.Fleet.OpenIn(serving, queue); err == nil && n == 0 {
				leave()
			}
			busy.Unlock()
		}
	})
	err := w.Fleet.Serve(serving, queue, func(jobs context.Context, job *Job) {
		busy.Lock()
		defer busy.Unlock()
		if ok := w.slice(ctx, jobs, job, servers, wanted.Timed, sum); !ok {
			leave()
			return
		}
		if n, err := w.Fleet.OpenIn(ctx, queue); err == nil && n == 0 {
			leave()
		}
	})
	leave()
	watch.Wait()
	return err
}

// Facts are JSON of what describes a machine.
func Facts(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("fleet: internal error: facts that are no JSON: " + err.Error())
	}
	return b
}
