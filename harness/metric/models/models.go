// Package models computes the numbers of each model of a store beside the reading of the
// next one.
package models

import (
	"runtime"
	"sync"

	"assay/results"
)

// Each goes through trials that a walk visits model by model, those of one item
// together: begin makes what collects one model's numbers, add takes in the trials
// of one item, score is called when all of the model is read. Models are scored
// beside the reading of the next one.
func Each[M, T any](walk func(visit func([]T) error) error, key func(T) results.Key, begin func(model string) M, add func(M, []T) error, score func(M)) ([]M, error) {
	var all []M
	var wg sync.WaitGroup
	// As many models as processors, the one that is read among them: they are most of the
	// memory, and no processor is left without work.
	turn := make(chan struct{}, runtime.GOMAXPROCS(0))
	complete := func() {
		if len(all) == 0 {
			return
		}
		m := all[len(all)-1]
		wg.Go(func() {
			score(m)
			<-turn
		})
	}
	name := ""
	err := walk(func(trials []T) error {
		if k := key(trials[0]); len(all) == 0 || name != k.Model {
			complete()
			turn <- struct{}{}
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
