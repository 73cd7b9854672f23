package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"assay/backends"
	"assay/backends/kinds"
	"assay/harness/config"
	"assay/harness/judge"
	"assay/harness/plan"
	"assay/harness/run"
	"assay/harness/servers"
	"assay/results"
	"assay/results/store"
	"assay/results/text"
	"assay/timing"
)

// Judge judges every stored answer of the plan's studies, says on notes how far it is,
// counts what became of them, and scores the trials.
func (b *Bench) Judge(ctx context.Context, p *plan.Plan, st *store.Store, srv *servers.Servers, notes io.Writer) (map[results.Status]int, error) {
	slots, err := b.slots(ctx, st, srv)
	if err != nil {
		return nil, err
	}
	stored, err := st.Answers(ctx)
	if err != nil {
		return nil, err
	}
	answers := 0
	for _, sel := range p.Studies {
		answers += stored[sel.Study]
	}
	started := time.Now()
	shown := run.NewJudging(answers, time.Now)
	tally, err := judge.Run(ctx, judge.RunArgs{
		Store: st, Tasks: shown.Count(b.Tasks(ctx, st, p)), Judges: slots,
		Progress: b.Meter.Judging(shown, notes), StopAt: stopsAt,
	})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(notes, "judged: %d new, %d from the store, %s\n", tally.Asked, tally.Reused, time.Since(started).Round(100*time.Millisecond))
	b.told(notes, tally)
	b.tellMoney(notes)
	for _, name := range slices.Sorted(maps.Keys(slots)) {
		if f, ok := slots[name].Judge.(*judge.File); ok {
			tellFile(notes, name, f, tally.Absent[name])
		}
	}
	if err := b.noteJudges(ctx, st, srv); err != nil {
		return nil, err
	}
	return tally.Status, Score(ctx, st, notes)
}

// stopsAt is how many useless replies a judge may begin with.
const stopsAt = 20

// told says which judges did not judge all, and what to do about it.
func (b *Bench) told(notes io.Writer, tally judge.Tally) {
	for _, name := range slices.Sorted(maps.Keys(tally.Left)) {
		if _, stopped := tally.Stops[name]; stopped {
			continue
		}
		n := tally.Left[name]
		fmt.Fprintf(notes, "judge %s cannot be connected to and was given up: %d judgments are left\n", name, n)
		tally.Status[results.StatusUnreachable] += n
	}
	for _, name := range slices.Sorted(maps.Keys(tally.Open)) {
		fmt.Fprintf(notes, "judge %s: %d judgments rest on verdicts that are still to come, and wait for them\n", name, tally.Open[name])
	}
	for _, name := range slices.Sorted(maps.Keys(tally.Stops)) {
		stop, left := tally.Stops[name], tally.Left[name]
		if stop.Why != judge.Useless {
			tally.Status[results.StatusUnreachable] += left
		}
		switch stop.Why {
		case judge.Unsent:
			fmt.Fprintf(notes, "judge %s was stopped: %s; %d judgments are left open\n", name, text.Visible(stop.Detail), left)
		case judge.Failing:
			fmt.Fprintf(notes, "judge %s was given up: its last %d judgments all failed; %d more are left open, and assay judge takes all of them up\n%s", name, stop.Asked, left, stop)
		case judge.Useless:
			fmt.Fprintf(notes, "judge %s was stopped: none of its first %d replies was a verdict; %d judgments are left\n%s"+
				"  what to do: mend its settings under judges in %s (max_tokens, model, options) or the rubric's prompt (prompts:), then run assay judge: it alone judges anew, and no model is asked for an answer again\n",
				name, stop.Asked, left, stop, b.Config.File)
		}
	}
}

// WriteCases writes what judges are shown as JSON lines, each case once: for tools and
// people that judge elsewhere, and says how many, and how many more are still to come,
// because they rest on verdicts. It names neither model nor condition.
func (b *Bench) WriteCases(ctx context.Context, p *plan.Plan, st *store.Store, w io.Writer) (written, open int, err error) {
	seen := map[results.Digest]bool{}
	out := json.NewEncoder(w)
	write := func(shown judge.Case) error {
		c, err := shown.Stored()
		if err != nil || seen[c.Digest] {
			return err
		}
		seen[c.Digest] = true
		return out.Encode(struct {
			Case   results.Digest  `json:"case"`
			Rubric string          `json:"rubric"`
			Fields json.RawMessage `json:"fields"`
		}{c.Digest, c.Rubric, c.Fields})
	}
	for t, err := range b.Tasks(ctx, st, p) {
		if err != nil {
			return len(seen), open, err
		}
		if len(t.Needs) == 0 {
			if err := write(t.Case); err != nil {
				return len(seen), open, err
			}
			continue
		}
		for _, name := range t.Judges {
			shown, why, there, err := t.Shown(ctx, st, name)
			switch {
			case err == nil && !there:
				open++
			case err == nil && why == "":
				err = write(shown)
			}
			if err != nil {
				return len(seen), open, err
			}
		}
	}
	return len(seen), open, nil
}

// tellFile says what of a file and what of the cases has nothing to go with.
func tellFile(notes io.Writer, name string, f *judge.File, absent int) {
	const most = 20
	if absent > 0 {
		fmt.Fprintf(notes, "judge %s: %d cases have no row in its file, and so no judgment\n", name, absent)
	}
	rows := f.Unmatched()
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(notes, "judge %s: %d rows of its file are of no case that it was asked:\n", name, len(rows))
	for i, r := range rows {
		if i == most {
			fmt.Fprintf(notes, "  and %d more\n", len(rows)-most)
			break
		}
		fmt.Fprintln(notes, " ", r)
	}
}

// slots are the judges that bench.yaml names, and how many cases each may have at once.
func (b *Bench) slots(ctx context.Context, st *store.Store, srv *servers.Servers) (map[string]judge.Slot, error) {
	slots := map[string]judge.Slot{}
	for _, j := range b.Config.Judges {
		if own := b.judges[j.Name]; own != nil {
			// More than processors: what is stored together pays for one sync.
			slot := judge.Slot{Judge: own, InFlight: 16}
			if f, ok := own.(*judge.File); ok {
				slot.Repeats = f.Repeats()
			}
			slots[j.Name] = slot
			continue
		}
		slot, err := b.Slot(ctx, st, srv, j)
		if err != nil {
			return nil, err
		}
		slots[j.Name] = slot
	}
	return slots, nil
}

// Slot is a judge that asks a model. What a hosted one was paid until now is in st.
func (b *Bench) Slot(ctx context.Context, st *store.Store, srv *servers.Servers, j config.Judge) (judge.Slot, error) {
	m, err := ModelOf(j, srv)
	if err == nil && j.Hosted != nil {
		m.Backend, err = b.hostedJudge(ctx, st, j)
	}
	return judge.Slot{InFlight: max(1, j.InFlight), Repeats: j.Repeats, Again: j.RepeatShare, Seed: b.Config.Seed, Judge: m}, err
}

// ModelOf is a judge that asks a model, without the adapter of a hosted one.
func ModelOf(j config.Judge, srv *servers.Servers) (m *judge.Model, err error) {
	m = &judge.Model{Name: j.Name, Model: j.Model, Sampling: j.Sampling, Timeouts: j.Timeouts, Clock: timing.NewClock(), Retries: 2, Think: new(bool)}
	if j.Hosted != nil {
		m.Think = nil // langchaingo has no place for it
		return m, nil
	}
	c := srv.Config(j.Backend)
	if m.Options = c.Options; !kinds.Server(c.Kind, c.Protocol).Thinks {
		m.Think = nil
	}
	m.Backend, err = srv.Backend(j.Backend)
	return m, err
}

// noteJudges stores what answered as each judge that is a model, so that a report
// can say whether a model judged its own weights. A server that cannot be asked
// now stays unknown: none is started for it.
func (b *Bench) noteJudges(ctx context.Context, st *store.Store, srv *servers.Servers) error {
	const patience = 5 * time.Second
	man, ok, err := st.Manifest(ctx)
	if err != nil || !ok {
		return err
	}
	before := len(man.JudgeModels)
	for _, j := range b.Config.Judges {
		if _, known := man.JudgeModels[j.Name]; known || b.judges[j.Name] != nil {
			continue
		}
		var be backends.Backend
		if asked := b.hosted[j.Name]; asked != nil {
			be = asked
		} else if be, err = srv.Backend(j.Backend); err != nil {
			return err
		}
		if m, ok := be.(*servers.Backend); ok {
			be = m.Backend
		}
		short, cancel := context.WithTimeout(ctx, patience)
		id, err := be.Identify(short, j.Model)
		cancel()
		if err != nil {
			continue
		}
		if man.JudgeModels == nil {
			man.JudgeModels = map[string]backends.Identity{}
		}
		man.JudgeModels[j.Name] = id
	}
	if len(man.JudgeModels) == before {
		return nil
	}
	return st.PutManifest(ctx, man)
}

// beside judges what is stored while the run goes on, by judges whose backends
// do not share the GPU with it (shares_gpu: false).
type beside struct {
	wake chan struct{}
	done chan struct{}
}

// judgeBeside starts it; nil: there is no such judge.
func (b *Bench) judgeBeside(ctx context.Context, p *plan.Plan, st *store.Store, srv *servers.Servers, notes io.Writer) (*beside, error) {
	slots, err := b.slots(ctx, st, srv)
	if err != nil {
		return nil, err
	}
	for _, j := range b.Config.Judges {
		// Rules need a core, which a timed request may need, too; hosted APIs the network.
		used := slices.ContainsFunc(b.Config.Models, func(m backends.Model) bool { return m.Backend == j.Backend })
		if b.judges[j.Name] != nil || j.Hosted != nil || used || srv.Config(j.Backend).SharesGPU {
			delete(slots, j.Name)
		}
	}
	if len(slots) == 0 {
		return nil, nil
	}
	w := &beside{make(chan struct{}, 1), make(chan struct{})}
	go func() {
		defer close(w.done)
		for range w.wake {
			tally, err := judge.Run(ctx, judge.RunArgs{Store: st, Judges: slots, StopAt: stopsAt, Tasks: func(yield func(judge.Task, error) bool) {
				for t, err := range b.Tasks(ctx, st, p) {
					t.Judges = slices.DeleteFunc(slices.Clone(t.Judges), func(name string) bool { _, ok := slots[name]; return !ok })
					if (err != nil || len(t.Judges) > 0) && !yield(t, err) {
						return
					}
				}
			}})
			if err != nil {
				return // the judging after the last block meets it again, and says so
			}
			fmt.Fprintf(notes, "judged beside the run: %d new\n", tally.Asked)
		}
	}()
	return w, nil
}

// more says that a block has ended. What comes while it judges is judged after.
func (w *beside) more() {
	if w == nil {
		return
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// wait ends it, after what it has to do.
func (w *beside) wait() {
	if w == nil {
		return
	}
	close(w.wake)
	<-w.done
}
