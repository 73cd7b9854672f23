package exchange

import (
	"iter"
	"sync"
)

// aheadOf is how many values are handed over at once, aheadLists how many such lists may
// wait: all that the store reads together (sqlite's Ended), so that it reads on meanwhile.
const aheadOf, aheadLists = 256, 16

// ahead is iter.Pull2 with the iterator in a goroutine of its own, some lists of values
// ahead: the store is read while rows are written. stop ends it and waits for that.
func ahead[T any](seq iter.Seq2[T, error]) (next func() (T, error, bool), stop func()) {
	type one struct {
		v   T
		err error
	}
	lists, done := make(chan []one, aheadLists), make(chan struct{})
	go func() {
		defer close(lists)
		var list []one
		hand := func() bool {
			select {
			case lists <- list:
				list = make([]one, 0, aheadOf)
				return true
			case <-done:
				return false
			}
		}
		for v, err := range seq {
			if list = append(list, one{v, err}); len(list) == aheadOf && !hand() {
				return
			}
		}
		hand()
	}()
	var list []one
	next = func() (v T, err error, more bool) {
		for len(list) == 0 {
			if list, more = <-lists; !more {
				return v, nil, false
			}
		}
		v, err = list[0].v, list[0].err
		list = list[1:]
		return v, err, true
	}
	return next, sync.OnceFunc(func() {
		close(done)
		for range lists {
		}
	})
}
