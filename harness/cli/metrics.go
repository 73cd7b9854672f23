package cli

import (
	"context"
	"fmt"

	"assay/harness/experiment"
	"assay/harness/run"
	"assay/results"
	"assay/results/store"
	"assay/results/viewer"
)

// showMetrics shows what a run does at an address until stop is called.
func (s streams) showMetrics(ctx context.Context, address string, b *experiment.Bench, st *store.Store, man results.Manifest) (stop func(), err error) {
	held, err := st.Extents(ctx, man)
	if err != nil {
		return nil, environment(err)
	}
	b.Meter = run.NewMeter(man.Name, man.Version)
	b.Meter.Begin(held)
	ctx, cancel := context.WithCancel(ctx)
	up, ended := make(chan string), make(chan error, 1)
	go func() {
		ended <- viewer.Serve(ctx, viewer.Options{Listen: address}, b.Meter, func(address string) { up <- address })
	}()
	select {
	case at := <-up:
		fmt.Fprintf(s.Err, "metrics at %smetrics until the run ends\n", at)
	case err := <-ended: // without an error: the run was interrupted before it began
		return cancel, environment(err)
	}
	return func() {
		cancel()
		<-ended
	}, nil
}
