package cli

import (
	"context"
	"fmt"
	"slices"

	"assay/harness/config"
	"assay/harness/experiment"
	"assay/harness/judge"
	"assay/harness/plan"
	"assay/results/sqlite"
)

// beside judges what is stored while the run goes on, by judges whose backends
// do not share the GPU with it (shares_gpu: false).
type beside struct {
	wake chan struct{}
	done chan struct{}
}

// judgeBeside starts it; nil: there is no such judge.
func (s streams) judgeBeside(ctx context.Context, b *experiment.Bench, p *plan.Plan, st *sqlite.Store, srv *servers) (*beside, error) {
	slots, err := slots(b, srv)
	if err != nil {
		return nil, err
	}
	for _, j := range b.Config.Judges {
		// Rules need a core, which a timed request may need, too.
		used := slices.ContainsFunc(b.Config.Models, func(m config.Model) bool { return m.Backend == j.Backend })
		if j.Kind != "model" || used || srv.config(j.Backend).SharesGPU {
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
			tally, err := judge.Run(ctx, judge.RunArgs{Store: st, Judges: slots, Tasks: func(yield func(judge.Task, error) bool) {
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
			fmt.Fprintf(s.err, "judged beside the run: %d new\n", tally.Asked)
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
