package run

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"assay/backends"
)

// tried is a server that does not say whether a model sees, and can be tried.
type tried struct {
	*server
	sees  *bool
	asked int
}

func (s *tried) Sees(context.Context, string) (*bool, string, error) {
	s.asked++
	return s.sees, "shown the words A and B it answered C", nil
}

// TestBlindModelsAreFoundOutBeforeARun: by trying, where neither bench.yaml nor the
// server says; only where pictures are shown.
func TestBlindModelsAreFoundOutBeforeARun(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		says, told, finds *bool // the server, bench.yaml, the trial
		pictures          bool
		asked             int
		refused           bool
	}{
		"found blind":                   {nil, nil, &no, true, 1, true},
		"found to see":                  {nil, nil, &yes, true, 1, false},
		"not clear":                     {nil, nil, nil, true, 1, false},
		"no pictures":                   {nil, nil, &no, false, 0, false},
		"the server says":               {&yes, nil, &no, true, 0, false},
		"bench.yaml knows better":       {nil, &yes, &no, true, 0, false},
		"bench.yaml knows worse":        {&yes, &no, &yes, true, 0, true},
		"bench.yaml overrules a server": {&no, &yes, nil, true, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, m := &tried{server: &server{id: backends.Identity{Vision: c.says}}, sees: c.finds}, newMemory()
			b := planned("s", "a", items(2), direct())
			if c.pictures {
				b = planned("s", "a", items(2, picture(8, 8, 1)), direct())
			}
			j := job(s.server, m, b)
			j.Endpoints["a"] = Endpoint{Backend: s, Model: "a", Sees: c.told}
			sum := must(t, j)
			if s.asked != c.asked || (len(sum.Refused) == 1) != c.refused || (len(s.calls) == 0) != c.refused {
				t.Errorf("%s: asked %d times, %d requests, %+v", name, s.asked, len(s.calls), sum)
			}
			if c.refused && c.told == nil && (!strings.Contains(sum.Refused[0].Reason, "answered C") || !strings.Contains(sum.Refused[0].Reason, "vision: true")) {
				t.Errorf("%s: %s", name, sum.Refused[0].Reason)
			}
		})
	}
}

// TestThinkingIsNotAskedOfAModelThatCannot: where the server says so, nothing is sent.
func TestThinkingIsNotAskedOfAModelThatCannot(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		can, asked *bool
		refused    bool
	}{{&no, &yes, true}, {&no, &no, false}, {&no, nil, false}, {&yes, &yes, false}, {nil, &yes, false}} {
		synctest.Test(t, func(t *testing.T) {
			s, m := &server{id: backends.Identity{Thinking: c.can}}, newMemory()
			j := job(s, m, planned("s", "a", items(2), direct()))
			j.Endpoints["a"] = Endpoint{Backend: s, Model: "a", Think: c.asked}
			sum := must(t, j)
			if (len(sum.Refused) == 1) != c.refused || (len(s.calls) == 0) != c.refused || c.refused && !strings.Contains(sum.Refused[0].Reason, "take think: true away") {
				t.Errorf("%+v", sum)
			}
		})
	}
}

// bounded is a server that can be asked whether it keeps to the limit of an answer.
type bounded struct {
	*server
	err   error
	asked int
}

func (s *bounded) Limits(context.Context, string, map[string]any) (string, error) {
	s.asked++
	return "", s.err
}

// TestALimitThatDoesNotHoldIsFoundBeforeARun: nothing is sent then. That it cannot be
// found out is a warning.
func TestALimitThatDoesNotHoldIsFoundBeforeARun(t *testing.T) {
	for _, c := range []struct {
		err               error
		refused, warnings int
	}{{nil, 0, 0}, {&backends.Error{Kind: backends.ErrDropped, Message: "16 tokens came"}, 1, 0}, {&backends.Error{Kind: backends.ErrServer, Message: "it broke"}, 0, 1}} {
		synctest.Test(t, func(t *testing.T) {
			s := &bounded{server: &server{}, err: c.err}
			j := job(s.server, newMemory(), planned("s", "a", items(2), direct()))
			j.Endpoints["a"] = Endpoint{Backend: s, Model: "a"}
			sum := must(t, j)
			if s.asked != 1 || len(sum.Refused) != c.refused || len(sum.Warnings) != c.warnings || (len(s.calls) == 0) != (c.refused == 1) || sum.Left != 2*c.refused {
				t.Errorf("%v: asked %d times, %d requests, %+v", c.err, s.asked, len(s.calls), sum)
			}
		})
	}
}

// TestAServerThatCutsBelowTheLimitStopsTheRun: at five of its first twenty answers, and
// no later.
func TestAServerThatCutsBelowTheLimitStopsTheRun(t *testing.T) {
	for _, c := range []struct {
		cut  func(n int) bool // of the nth answer, from 1
		done int
	}{
		{func(int) bool { return true }, 5},
		{func(n int) bool { return n%4 == 0 }, 20},
		{func(n int) bool { return n%4 == 1 }, 17},
		{func(n int) bool { return n <= 4 }, 30},
		{func(n int) bool { return n > 16 }, 30}, // the fifth is the 21st
	} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			s := &server{}
			s.server = func(r *backends.Response) {
				few := 7
				if n++; c.cut(n) {
					r.Finish, r.Usage.CompletionTokens = backends.FinishLength, &few
				}
			}
			j := job(s, newMemory(), planned("s", "a", items(30), direct()))
			sum := must(t, j)
			if sum.Done != c.done || sum.Left != 30-c.done || (len(sum.Stopped) == 1) != (c.done < 30) {
				t.Errorf("%d done, want %d; %+v", sum.Done, c.done, sum.Stopped)
			}
			if c.done < 30 && !strings.Contains(sum.Stopped[0].Err.Error(), "below the limit of") {
				t.Error(sum.Stopped[0].Err)
			}
		})
	}
}

// TestRepliesThatNameAnotherModelAreNotedOnce: and not failed.
func TestRepliesThatNameAnotherModelAreNotedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s := &server{server: func(r *backends.Response) { n++; r.Served = []string{"a:latest", "", "b", "c"}[n%4] }}
		j := job(s, newMemory(), planned("s", "a", items(12), direct())) // it asks for a:latest
		var told []string
		j.Named = func(_ context.Context, model, name string) error { told = append(told, model+" "+name); return nil }
		sum := must(t, j)
		if sum.Done != 12 || len(sum.Warnings) != 2 || strings.Join(told, ", ") != "a b, a c" {
			t.Errorf("told %q, %+v", told, sum)
		}
	})
}
