package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// script is a database that says one thing after another.
type script struct {
	hosts  []Host
	counts [][]Count
	at     int
	err    error
}

func (s *script) Hosts(context.Context) ([]Host, error) { return s.hosts, s.err }

func (s *script) Progress(_ context.Context, experiment int64) ([]Count, error) {
	if experiment != 7 {
		return nil, errors.New("another experiment")
	}
	c := s.counts[min(s.at, len(s.counts)-1)]
	s.at++
	return c, s.err
}

func count(kind kind, model string, state state, slices, trials, answered, failed int, seconds float64) Count {
	return Count{Kind: kind, Model: model, State: state, Slices: slices, Trials: trials, Answered: answered, Failed: failed, Seconds: seconds}
}

func rough(d time.Duration) string { return d.Round(time.Second).String() }

// Rates are of the last minute, and of slices that are done before that much was seen; what
// is not known is not 0.
func TestRatesAndTheTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &script{counts: [][]Count{
			{count(Answer, "m", stateOpen, 10, 1000, 0, 0, 0)},
			{count(Answer, "m", stateOpen, 8, 800, 0, 0, 0), count(Answer, "m", StateRunning, 2, 200, 10, 0, 0)},
			// One slice took 50 s for its 100 trials: two at a time are 4 a second.
			{count(Answer, "m", stateOpen, 7, 700, 0, 0, 0), count(Answer, "m", StateRunning, 2, 200, 100, 0, 0), count(Answer, "m", StateDone, 1, 100, 90, 10, 50)},
			{count(Answer, "m", stateOpen, 7, 700, 0, 0, 0), count(Answer, "m", StateRunning, 2, 200, 120, 0, 0), count(Answer, "m", StateDone, 1, 100, 90, 10, 50)},
			{count(Answer, "m", StateDone, 10, 1000, 990, 10, 500)},
		}}
		w := &Watch{From: db, Experiment: 7}
		look := func(wait time.Duration) Snapshot {
			t.Helper()
			time.Sleep(wait)
			s, err := w.Look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := look(0)
		if m := s.Models[0]; m.Rate != nil || s.Left != nil || m.Open != 10 || s.Over() || !strings.Contains(s.Headline(rough), "0 of 1000 trials (0 %), 0 failed, 0 hosts at work, rate not known yet") {
			t.Errorf("at the start: %+v; %s", m, s.Headline(rough))
		}
		if s = look(2 * time.Second); s.Models[0].Rate != nil || s.Left != nil {
			t.Errorf("after two seconds: %v", *s.Models[0].Rate)
		}
		if s = look(2 * time.Second); s.Models[0].Rate == nil || *s.Models[0].Rate != 4 || s.Left == nil || *s.Left != 200*time.Second {
			t.Errorf("by the slices that are done: %+v", s)
		}
		// 220 of 1000 trials in 11 s since the first look: 20 a second.
		if s = look(7 * time.Second); *s.Models[0].Rate != 20 || *s.Left != 39*time.Second || s.Models[0].Stored != 220 || s.Models[0].Failures != 10 {
			t.Errorf("by what was seen: %+v", s)
		}
		if got := s.Headline(rough); got != "220 of 1000 trials (22 %), 10 failed, 0 hosts at work, 20 trials/s, about 39s left" {
			t.Error(got)
		}
		if s = look(time.Second); !s.Over() || *s.Left != 0 || !strings.HasSuffix(s.Headline(rough), "all done") {
			t.Errorf("at the end: %+v", s)
		}
	})
}

// Only the last minute counts, and a slice that was given out again is no negative rate.
func TestTheWindowOfRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := func(n int) []Count {
			return []Count{count(Answer, "m", StateRunning, 1, 10_000, n, 0, 0)}
		}
		db := &script{counts: [][]Count{at(0), at(1000), at(1060), at(1120), at(900)}}
		w := &Watch{From: db, Experiment: 7}
		var s Snapshot
		var err error
		for range 4 {
			if s, err = w.Look(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Second)
		}
		if r := s.Models[0].Rate; r == nil || *r != 2 {
			t.Errorf("rate %v, want 120 trials in 60 s", *r)
		}
		if s, err = w.Look(t.Context()); err != nil || s.Models[0].Rate != nil || s.Left != nil {
			t.Errorf("after a slice was lost: %+v, %v", s.Models[0], err)
		}
	})
}

// Judging goes on beside answering: what takes longer decides. Without any rate nothing is known.
func TestTheTimeLeftOfTwoKinds(t *testing.T) {
	rate := func(v float64) *float64 { return &v }
	answer := Model{Kind: Answer, Open: 1, Running: 1, Trials: 100, Stored: 50, Rate: rate(5)}
	for _, c := range []struct {
		name  string
		judge Model
		want  time.Duration // < 0: not known
	}{
		{"judging is slower", Model{Kind: Judge, Running: 1, Trials: 100, Rate: rate(2)}, 50 * time.Second},
		{"judging is faster", Model{Kind: Judge, Running: 1, Trials: 100, Rate: rate(50)}, 10 * time.Second},
		{"judging is done", Model{Kind: Judge, Done: 1, Trials: 100, Stored: 100}, 10 * time.Second},
		{"nobody knows how fast", Model{Kind: Judge, Running: 1, Trials: 100}, -1},
		{"nobody judges", Model{Kind: Judge, Open: 1, Trials: 100}, -1},
		{"it stands still", Model{Kind: Judge, Running: 1, Trials: 100, Rate: rate(0)}, -1},
		{"slices were given up", Model{Kind: Judge, Failed: 1, Trials: 100}, 10 * time.Second},
	} {
		got := left([]Model{answer, c.judge})
		if c.want < 0 && got != nil || c.want >= 0 && (got == nil || *got != c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// All is answered, and nobody is there to judge: there is nothing to wait for.
func TestNobodyJudges(t *testing.T) {
	answered := Model{Kind: Answer, Done: 2, Trials: 10, Stored: 10}
	for _, c := range []struct {
		name   string
		hosts  []watchHost
		models []Model
		want   bool
	}{
		{"nobody", []watchHost{{State: waiting}, {State: ended, Judge: true}, {State: stateSilent, Judge: true}}, []Model{answered, {Kind: Judge, Open: 2}}, true},
		{"one waits", []watchHost{{State: waiting, Judge: true}}, []Model{answered, {Kind: Judge, Open: 2}}, false},
		{"one slice is judged", nil, []Model{answered, {Kind: Judge, Open: 1, Running: 1}}, false},
		{"answers are missing", nil, []Model{{Kind: Answer, Open: 1}, {Kind: Judge, Open: 1}}, false},
		{"all is judged", nil, []Model{answered, {Kind: Judge, Done: 2}}, false},
	} {
		s := Snapshot{Hosts: c.hosts, Models: c.models}
		if got := s.Unjudged(); got != c.want || got != strings.HasSuffix(s.Headline(rough), "all answered, and no worker judges") {
			t.Errorf("%s: %t, %s", c.name, got, s.Headline(rough))
		}
	}
}

func TestStatesOfHosts(t *testing.T) {
	offset, bound := .5, .001
	db := &script{counts: [][]Count{{count(Answer, "m", stateFailed, 2, 10, 0, 3, 0)}}, hosts: []Host{
		{Name: "ended", Ended: true, Silent: time.Hour, Lease: time.Minute},
		{Name: "waits", Silent: time.Minute, Lease: time.Minute},
		{Name: "works", Slice: "m 1/2", Lease: time.Minute, Offset: &offset, Error: &bound},
		{Name: "gone", Slice: "m 2/2", Silent: time.Minute + 1, Lease: time.Minute},
	}}
	s, err := (&Watch{From: db, Experiment: 7}).Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, more := s.Foremost(3)
	if more != 1 || len(list) != 3 || list[0].Name != "gone" || list[0].State != stateSilent || list[1].State != stateWorking || list[2].State != waiting {
		t.Errorf("%+v and %d", list, more)
	}
	if a := list[1].Ahead; a == nil || *a != -.5 || list[0].Ahead != nil {
		t.Errorf("a host that the database is ahead of: %v", a)
	}
	if s.FailedSlices() != 2 || !s.Over() || !strings.Contains(s.Headline(rough), "3 failed, 1 host at work, 1 silent, 2 slices given up, all done") {
		t.Error(s.Headline(rough))
	}
	db.err = errors.New("down")
	if _, err := (&Watch{From: db, Experiment: 7}).Look(t.Context()); err == nil {
		t.Error("a database that is down has no snapshot")
	}
}
