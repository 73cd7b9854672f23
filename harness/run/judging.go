package run

import (
	"fmt"
	"iter"
	"sync"
	"time"

	"assay/harness/judge"
	"assay/results"
)

// judging tells how far judges are, by answers: how many judgments those will ask for
// shows only as they are read.
type judging struct {
	total int // answers
	now   func() time.Time

	mu   sync.Mutex
	pass int         // over the answers, from 1; a further one is about verdicts that rest on others
	seen int         // answers that judges have begun with in it
	last results.Key // of these
	// At the last line, from which the pace is taken: what is in the store goes fast.
	at     time.Time
	atSeen int
}

// judgingEvery is how long after a line the next may come.
const judgingEvery = 5 * time.Second

// NewJudging tells of the judging of so many stored answers.
func NewJudging(answers int, now func() time.Time) *judging {
	return &judging{total: answers, now: now, at: now()}
}

// Count lets tasks by and counts their answers, which come one after another.
func (j *judging) Count(tasks iter.Seq2[judge.Task, error]) iter.Seq2[judge.Task, error] {
	return func(yield func(judge.Task, error) bool) {
		j.mu.Lock()
		j.pass, j.seen, j.atSeen, j.last = j.pass+1, 0, 0, results.Key{}
		j.mu.Unlock()
		for t, err := range tasks {
			j.mu.Lock()
			if err == nil && t.Key != j.last {
				j.last = t.Key
				j.seen++
			}
			j.mu.Unlock()
			if !yield(t, err) {
				return
			}
		}
	}
}

// Left is how many stored answers judges have not begun with.
func (j *judging) Left() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return max(0, j.total-j.seen)
}

// Line is a line to show, or nothing, where the last one is young.
func (j *judging) Line(p judge.Progress) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.now()
	since := now.Sub(j.at)
	if since < judgingEvery {
		return ""
	}
	what := "judging"
	if j.pass > 1 {
		what = fmt.Sprintf("judging, pass %d", j.pass)
	}
	s := fmt.Sprintf(what+": %d of %d answers (%d %%), %d judgments, %d without a verdict", j.seen, j.total, 100*j.seen/max(1, j.total), p.Done, p.Failed)
	if n := j.seen - j.atSeen; n > 0 {
		s += ", about " + Rough(since/time.Duration(n)*time.Duration(max(0, j.total-j.seen))) + " left"
	}
	j.at, j.atSeen = now, j.seen
	return s + "\n"
}
