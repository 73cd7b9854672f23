// Watch says how far an experiment is that several machines work on.

package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// source is where hosts and slices are looked up: a *Fleet.
type source interface {
	Hosts(ctx context.Context) ([]Host, error)
	Progress(ctx context.Context, experiment int64) ([]Count, error)
}

const (
	stateWorking state = "working"
	waiting      state = "waiting" // it lives, and has no slice
	stateSilent  state = "silent"  // for longer than it said: its slice goes to others
	ended        state = "ended"
)

// watchHost is one machine at a moment.
type watchHost struct {
	Name   string        `json:"name"`
	State  state         `json:"state"`
	Judge  bool          `json:"judge,omitempty"` // it judges, and asks no models
	Slice  string        `json:"slice,omitempty"`
	Silent time.Duration `json:"silent_ns"`
	// Ahead is how far its clock is ahead of the database's, in seconds, and Bound by how
	// much that may be wrong; nil: not measured yet.
	Ahead *float64 `json:"clock_ahead_s"`
	Bound *float64 `json:"clock_bound_s"`
}

// Model is how far the slices of a model are.
type Model struct {
	Kind    kind   `json:"kind"`
	Name    string `json:"model"`
	Slices  int    `json:"slices"`
	Open    int    `json:"open"`
	Running int    `json:"running"`
	Done    int    `json:"done"`
	Failed  int    `json:"failed"` // slices that nobody tries any more
	Trials  int    `json:"trials"`
	// Stored trials: answered or failed ones, of slices that run as their hosts said last.
	Stored   int      `json:"stored"`
	Failures int      `json:"failures"`      // of these
	Again    int      `json:"given_again"`   // how often slices were given to another host
	Refused  int      `json:"refused"`       // uploads that came too late
	Why      string   `json:"why,omitempty"` // of a slice that failed
	Rate     *float64 `json:"trials_per_s"`  // nil: not known yet
}

// Snapshot is an experiment at a moment.
type Snapshot struct {
	At     time.Time   `json:"at"`
	Hosts  []watchHost `json:"hosts"`
	Models []Model     `json:"models"`
	// Left is about how long it takes until everything that was submitted is done; nil: not known.
	Left *time.Duration `json:"left_ns"`
}

// Over says whether nothing is left to be done.
func (s Snapshot) Over() bool {
	return !slices.ContainsFunc(s.Models, func(m Model) bool { return m.Open+m.Running > 0 })
}

// Unjudged says whether all is answered, and what is left to be judged waits for a worker
// that judges: none lives.
func (s Snapshot) Unjudged() bool {
	judge := slices.ContainsFunc(s.Hosts, func(h watchHost) bool { return h.Judge && (h.State == stateWorking || h.State == waiting) })
	return !judge && !s.Over() && !slices.ContainsFunc(s.Models, func(m Model) bool { return m.Running > 0 || m.Kind == Answer && m.Open > 0 })
}

// Foremost are at most that many hosts, those first that want a look: silent ones, then who
// works, waits, and ended; more is how many others there are.
func (s Snapshot) Foremost(most int) (list []watchHost, more int) {
	order := []state{stateSilent, stateWorking, waiting, ended}
	list = slices.Clone(s.Hosts)
	slices.SortStableFunc(list, func(a, b watchHost) int {
		return cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State))
	})
	n := min(most, len(list))
	return list[:n], len(list) - n
}

// FailedSlices are those that nobody tries any more.
func (s Snapshot) FailedSlices() (n int) {
	for _, m := range s.Models {
		n += m.Failed
	}
	return n
}

// Watch looks at an experiment again and again.
type Watch struct {
	From       source
	Experiment int64

	seen []look // of the last window
}

type look struct {
	at     time.Time
	stored map[key]int
}

type key struct {
	kind  kind
	model string
}

// Rates are of the last window, once that much of it was seen.
const (
	window = time.Minute
	least  = 5 * time.Second
)

// Look looks now.
func (w *Watch) Look(ctx context.Context) (Snapshot, error) {
	hosts, err := w.From.Hosts(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	counts, err := w.From.Progress(ctx, w.Experiment)
	if err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{At: time.Now()}
	for _, h := range hosts {
		s.Hosts = append(s.Hosts, hostOf(h))
	}
	seconds, trials := map[key]float64{}, map[key]int{} // of slices that are done
	for _, c := range counts {
		i := slices.IndexFunc(s.Models, func(m Model) bool { return m.Kind == c.Kind && m.Name == c.Model })
		if i < 0 {
			i = len(s.Models)
			s.Models = append(s.Models, Model{Kind: c.Kind, Name: c.Model})
		}
		m := &s.Models[i]
		m.Slices, m.Trials, m.Stored, m.Failures = m.Slices+c.Slices, m.Trials+c.Trials, m.Stored+c.Answered+c.Failed, m.Failures+c.Failed
		m.Again, m.Refused, m.Why = m.Again+c.Epochs, m.Refused+c.Refused, cmp.Or(m.Why, c.Why)
		switch c.State {
		case stateOpen:
			m.Open += c.Slices
		case StateRunning:
			m.Running += c.Slices
		case StateDone:
			m.Done += c.Slices
			k := key{c.Kind, c.Model}
			seconds[k], trials[k] = seconds[k]+c.Seconds, trials[k]+c.Answered+c.Failed
		case stateFailed:
			m.Failed += c.Slices
		}
	}
	now := look{s.At, map[key]int{}}
	for _, m := range s.Models {
		now.stored[key{m.Kind, m.Name}] = m.Stored
	}
	w.seen = append(w.seen, now)
	for len(w.seen) > 2 && s.At.Sub(w.seen[1].at) >= window {
		w.seen = w.seen[1:]
	}
	for i := range s.Models {
		m := &s.Models[i]
		k := key{m.Kind, m.Name}
		m.Rate = w.rate(k, now)
		if m.Rate == nil && seconds[k] > 0 && trials[k] > 0 && m.Running > 0 {
			r := float64(trials[k]) / seconds[k] * float64(m.Running) // as those that are done went
			m.Rate = &r
		}
	}
	s.Left = left(s.Models)
	return s, nil
}

func hostOf(h Host) watchHost {
	out := watchHost{Name: h.Name, Judge: h.Judge, Slice: h.Slice, Silent: h.Silent, Bound: h.Error}
	if h.Offset != nil {
		ahead := -*h.Offset // theirs is the database's clock less the host's
		out.Ahead = &ahead
	}
	switch {
	case h.Ended:
		out.State = ended
	case h.Silent > h.Lease:
		out.State = stateSilent
	case h.Slice != "":
		out.State = stateWorking
	default:
		out.State = waiting
	}
	return out
}

// rate is how many trials a second were stored lately; nil: too little was seen, or slices
// were given out again meanwhile, whose trials do not count any more.
func (w *Watch) rate(k key, now look) *float64 {
	first := w.seen[0]
	before, ok := first.stored[k]
	since := now.at.Sub(first.at)
	if !ok || since < least || now.stored[k] < before {
		return nil
	}
	r := float64(now.stored[k]-before) / since.Seconds()
	return &r
}

// left adds up what answering takes, and what judging takes; each goes on for all its models
// at once. Trials of slices that failed are not waited for.
func left(models []Model) *time.Duration {
	var longest time.Duration
	for _, kind := range []kind{Answer, Judge} {
		var rate float64
		trials, known := 0, true
		for _, m := range models {
			if m.Kind != kind || m.Open+m.Running == 0 {
				continue
			}
			trials += m.Trials - m.Stored
			if m.Rate != nil {
				rate += *m.Rate
			} else if m.Running > 0 {
				known = false
			}
		}
		if trials <= 0 {
			continue
		}
		if !known || rate <= 0 {
			return nil
		}
		longest = max(longest, time.Duration(float64(trials)/rate*float64(time.Second)))
	}
	return &longest
}

// Headline is the snapshot in one line; rough words a duration.
func (s Snapshot) Headline(rough func(time.Duration) string) string {
	var trials, stored, failures, working, silent int
	var rate float64
	known := false
	for _, m := range s.Models {
		if m.Kind != Answer {
			continue
		}
		trials, stored, failures = trials+m.Trials, stored+m.Stored, failures+m.Failures
		if m.Rate != nil {
			rate, known = rate+*m.Rate, true
		}
	}
	for _, h := range s.Hosts {
		switch h.State {
		case stateWorking:
			working++
		case stateSilent:
			silent++
		}
	}
	line := []string{fmt.Sprintf("%d of %d trials (%d %%)", stored, trials, 100*stored/max(1, trials)), fmt.Sprintf("%d failed", failures)}
	at := "hosts"
	if working == 1 {
		at = "host"
	}
	line = append(line, fmt.Sprintf("%d %s at work", working, at))
	if silent > 0 {
		line = append(line, fmt.Sprintf("%d silent", silent))
	}
	if n := s.FailedSlices(); n > 0 {
		line = append(line, fmt.Sprintf("%d slices given up", n))
	}
	switch {
	case s.Over():
		line = append(line, "all done")
	case s.Unjudged():
		line = append(line, "all answered, and no worker judges")
	case !known:
		line = append(line, "rate not known yet")
	default:
		line = append(line, fmt.Sprintf("%.3g trials/s", rate))
		if s.Left != nil {
			line = append(line, "about "+rough(*s.Left)+" left")
		}
	}
	return strings.Join(line, ", ")
}
