package metric

import (
	"runtime"
	"sync"

	"assay/results"
)

// ByModel goes through trials that a walk visits model by model, those of one item
// together: begin makes what collects one model's numbers, add takes in the trials
// of one item, score is called when all of the model is read. Models are scored
// beside the reading of the next one.
func ByModel[M, T any](walk func(visit func([]T) error) error, key func(T) results.Key, begin func(model string) M, add func(M, []T) error, score func(M)) ([]M, error) {
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
	err := walk(func(trials []T) error {
		if k := key(trials[0]); len(all) == 0 || name != k.Model {
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
