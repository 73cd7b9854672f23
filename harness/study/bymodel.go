package study

import (
	"context"
	"runtime"
	"sync"

	"assay/results/sqlite"
)

// ByModel walks over the trials as Walk does, model by model: begin makes what
// collects one model's numbers, add takes in the trials of one item, score is
// called when all of the model is read. Models are scored beside the reading of
// the next one.
func ByModel[M any](ctx context.Context, st *sqlite.Store, study string, judges map[string][]string, begin func(model string) M, add func(M, []Trial) error, score func(M)) ([]M, error) {
	var all []M
	var wg sync.WaitGroup
	turn := make(chan struct{}, runtime.GOMAXPROCS(0))
	complete := func() {
		if len(all) == 0 {
			return
		}
		m := all[len(all)-1]
		turn <- struct{}{}
		wg.Go(func() {
			score(m)
			<-turn
		})
	}
	name := ""
	err := Walk(ctx, st, study, judges, func(trials []Trial) error {
		if k := trials[0].Row.Key; len(all) == 0 || name != k.Model {
			complete()
			name = k.Model
			all = append(all, begin(name))
		}
		return add(all[len(all)-1], trials)
	})
	if err == nil {
		complete()
	}
	wg.Wait()
	return all, err
}

// Fraction is two columns of a sample: what is added up, and over how much.
type Fraction struct{ Num, Den int }

// Fraction adds one.
func (s *Sample) Fraction() Fraction { return Fraction{s.Column(), s.Column()} }

// Ratio is the fraction's value; false: it has no divisor.
func (f Fraction) Ratio(sums []float64) (float64, bool) {
	if sums[f.Den] == 0 {
		return 0, false
	}
	return sums[f.Num] / sums[f.Den], true
}

// Percent is 100 times that.
func (f Fraction) Percent(sums []float64) (float64, bool) {
	if sums[f.Den] == 0 {
		return 0, false
	}
	return 100 * sums[f.Num] / sums[f.Den], true
}
