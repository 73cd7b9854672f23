package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/harness/fleet"
)

// moving is a database of two hosts, one of which calls itself what a terminal obeys. At each look
// it is 100 trials further; at the third it is down.
type moving struct{ looks int }

func (d *moving) Hosts(context.Context) ([]fleet.Host, error) {
	if d.looks++; d.looks == 3 {
		return nil, errors.New("connection refused")
	}
	return []fleet.Host{{Name: "box-1", Slice: "m 1/4", Lease: time.Minute}, {Name: "evil\x1b[2J", Lease: time.Minute}}, nil
}

func (d *moving) Progress(context.Context, int64) ([]fleet.Count, error) {
	done := min(4, d.looks-1)
	out := []fleet.Count{{Kind: fleet.Answer, Model: "m", State: fleet.StateDone, Slices: done, Trials: 100 * done, Answered: 100 * done, Seconds: float64(10 * done)}}
	if done < 4 {
		out = append(out, fleet.Count{Kind: fleet.Answer, Model: "m", State: fleet.StateRunning, Slices: 4 - done, Trials: 100 * (4 - done)})
	}
	return out, nil
}

func TestFollow(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var out, errs strings.Builder
			s := fleetCommands{streams: streams{Out: &sink{W: &out}, Err: &errs}}
			if err := s.follow(t.Context(), &fleet.Watch{From: &moving{}}, "exp", 10*time.Second, terminal); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(errs.String(), "does not answer; asking again: connection refused") {
				t.Errorf("errors %q", errs.String())
			}
			said := out.String()
			if !terminal {
				lines := strings.Split(strings.TrimSpace(said), "\n")
				if len(lines) != 4 || !strings.Contains(lines[1], "exp: 100 of 400 trials (25 %), 0 failed, 1 host at work, 10 trials/s, about 30 s left") || !strings.HasSuffix(lines[3], "all done") {
					t.Errorf("%q", lines)
				}
				return
			}
			if strings.Contains(said, "\x1b") || strings.Count(said, "evil") < 4 || strings.Count(said, "│ box-1") != 4 {
				t.Errorf("%q", said)
			}
		})
	}
}

// A database that is down at first is an error, and a slice that was given up is told by the
// exit code.
func TestFollowEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		s := fleetCommands{streams: streams{Out: &sink{W: &out}, Err: &out}}
		var c *exitError
		if err := s.follow(t.Context(), &fleet.Watch{From: &moving{looks: 2}}, "exp", time.Second, false); !errors.As(err, &c) || c.Code != exitEnvironment {
			t.Errorf("down: %v", err)
		}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(1500*time.Millisecond, stop)
		if err := s.follow(ctx, &fleet.Watch{From: &moving{looks: 0}}, "exp", time.Second, false); !errors.As(err, &c) || c.Code != exitInterrupted {
			t.Errorf("interrupted: %v", err)
		}
		if err := given(fleet.Snapshot{Models: []fleet.Model{{Failed: 2}}}); !errors.As(err, &c) || c.Code != exitFailures {
			t.Errorf("given up: %v", err)
		}
	})
}
