package phantom

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"runtime"
	"sync"
)

// EachDrafts are the drafts of each case in order; several cases' are made beside each other.
func EachDrafts(seed uint64, cases int) iter.Seq2[int, []draft] {
	return func(yield func(int, []draft) bool) {
		all := make([][]draft, 256)
		workers := runtime.GOMAXPROCS(0)
		for first := 0; first < cases; first += len(all) {
			all = all[:min(len(all), cases-first)]
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					for i := w; i < len(all); i += workers {
						all[i] = drafts(NewScene(seed, first+i))
					}
				})
			}
			wg.Wait()
			for i, q := range all {
				if !yield(first+i, q) {
					return
				}
			}
		}
	}
}

// NextType drops the first of types, and starts anew with all of them, shuffled,
// when none is left.
func NextType(types, all []string, r *rand.Rand) []string {
	if len(types) > 1 {
		return types[1:]
	}
	r.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	return all
}

// Rarest draws a question of a type whose task was asked least so far.
func Rarest(all []draft, typ string, asked map[string]int, r *rand.Rand) draft {
	rare := least(all, func(q draft) bool { return q.Query.Type == typ }, func(a, b draft) int { return asked[typ+a.Task] - asked[typ+b.Task] })
	// A task with many questions is no more likely than one with few.
	var tasks []string
	byTask := map[string][]draft{}
	for _, q := range rare {
		if byTask[q.Task] == nil {
			tasks = append(tasks, q.Task)
		}
		byTask[q.Task] = append(byTask[q.Task], q)
	}
	some := byTask[tasks[r.IntN(len(tasks))]]
	return some[r.IntN(len(some))]
}

// LeastGiven draws a question of a type whose answer was given least so far, and
// among those one whose finding was asked about least.
func LeastGiven(all []Question, typ string, asked map[string]int, r *rand.Rand) Question {
	best := least(all, func(q Question) bool { return q.Query.Type == typ }, func(a, b Question) int {
		return cmp.Or(cmp.Compare(asked[typ+"="+a.Answer], asked[typ+"="+b.Answer]), cmp.Compare(asked[typ+":"+a.Finding], asked[typ+":"+b.Finding]))
	})
	return best[r.IntN(len(best))]
}

// least are those of all for which is holds that no other one comes before, in their order.
func least[Q any](all []Q, is func(Q) bool, compare func(a, b Q) int) []Q {
	var out []Q
	for _, q := range all {
		if !is(q) {
			continue
		}
		n := 0
		if len(out) > 0 {
			n = compare(q, out[0])
		}
		if n < 0 {
			out = out[:0]
		}
		if n <= 0 {
			out = append(out, q)
		}
	}
	return out
}
