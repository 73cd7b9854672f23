package score

import (
	"runtime"
	"sync"
)

// eachModel goes through trials that a walk visits model by model, those of one item
// together: begin makes what collects one model's numbers, add takes in the trials
// of one item, score is called when all of the model is read. Models are scored
// beside the reading of the next one.
func eachModel[M any](walk func(visit func([]Scored) error) error, begin func(model string) M, add func(M, []Scored) error, score func(M)) ([]M, error) {
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
	err := walk(func(trials []Scored) error {
		if model := trials[0].Row.Key.Model; len(all) == 0 || name != model {
			complete()
			turn <- struct{}{}
			name = model
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
