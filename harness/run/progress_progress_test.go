package run

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assay/results"
)

func TestLinesOnAFakeClock(t *testing.T) {
	var out bytes.Buffer
	at := time.Unix(0, 0)
	l := newLines(&out, func() time.Time { return at })
	step := func(d time.Duration, e event) { at = at.Add(d); e.Model = "honest"; l.Event(e) }
	wait := 1200 * time.Millisecond

	l.Event(event{Kind: runStarted, Trials: 100, Skipped: 20})
	step(0, event{Kind: blockStarted, Trials: 60})
	for range 4 { // below a twentieth, below half a minute
		step(2*time.Second, event{Kind: trialDone, Took: 4 * time.Second, InFlight: 2})
	}
	step(2*time.Second, event{Kind: trialDone, Took: 4 * time.Second, InFlight: 2})
	step(31*time.Second, event{Kind: trialFailed, Took: 31 * time.Second, InFlight: 2, Failure: "stalled", Text: "nothing came", Key: results.Key{Study: "cot", Model: "honest", Item: "3", Arm: "direct", Condition: "baseline"}})
	for range 5 {
		step(0, event{Kind: attemptFailed, Failure: "server", Text: "busy", Wait: &wait})
	}
	step(0, event{Kind: warning, Text: "odd"})
	step(0, event{Kind: blockEnded, Trials: 54})
	want := `100 trials to do, 20 stored before
honest: 60 trials
honest: 5 of 60; run: 5 of 100 (5 %), 0 failed, 30/min, about 3 min left
cot/honest/3/direct/baseline failed: nothing came
honest: 6 of 60; run: 6 of 100 (6 %), 1 failed, 30/min, about 3 min left
honest: busy; next try in 1.2s
honest: busy; next try in 1.2s
honest: busy; next try in 1.2s
honest: further messages of this kind (server) are only counted
honest: odd
honest: ended with 54 trials left undone
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestTimeLeftIsAMovingMedian(t *testing.T) {
	var y tally
	y.add(event{Kind: runStarted, Trials: 200})
	if _, ok := y.left(); ok {
		t.Error("time left known before a trial ended")
	}
	feed := func(n int, took time.Duration) {
		for range n {
			y.add(event{Kind: trialDone, Took: took, InFlight: 1})
		}
	}
	check := func(want time.Duration) {
		t.Helper()
		if got, ok := y.left(); !ok || got != want {
			t.Errorf("%v left, want %v", got, want)
		}
	}
	feed(1, time.Minute) // a model is loaded
	check(199 * time.Minute)
	feed(2, time.Second)
	check(197 * time.Second)
	feed(37, time.Second)
	check(160 * time.Second)
	feed(15, 9*time.Second) // the next model is slower
	check(145 * time.Second)
	feed(1, 9*time.Second)
	check(144 * 9 * time.Second)
	y.add(event{Kind: blockEnded, Trials: 44}) // nobody waits for what is not done
	check(100 * 9 * time.Second)
}

func TestRoughDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0 s", 400 * time.Millisecond: "0 s", 99 * time.Second: "99 s", 100 * time.Second: "2 min",
		99 * time.Minute: "99 min", 100 * time.Minute: "1 h 40 min", 50*time.Hour + 59*time.Minute + 40*time.Second: "51 h 0 min"} {
		if got := Rough(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestShowWritesLinesWhereThereIsNoTerminal(t *testing.T) {
	var out bytes.Buffer
	p, stop := ShowProgress(t.Context(), &out, 0, false)
	p.Event(event{Kind: runStarted, Trials: 3})
	stop()
	if out.String() != "3 trials to do, 0 stored before\n" {
		t.Errorf("got %q", out.String())
	}
}

// TestTheLastLineSaysAll whatever the number of trials: a run ends at 100 %.
func TestTheLastLineSaysAll(t *testing.T) {
	for total := 1; total < 130; total += 3 {
		var out bytes.Buffer
		at := time.Unix(0, 0)
		l := newLines(&out, func() time.Time { return at })
		l.Event(event{Kind: runStarted, Trials: total})
		l.Event(event{Kind: blockStarted, Model: "honest", Trials: total})
		for range total {
			l.Event(event{Kind: trialDone, Model: "honest", Took: time.Second, InFlight: 1})
		}
		l.Event(event{Kind: blockEnded, Model: "honest"})
		if want := fmt.Sprintf("run: %d of %d (100 %%)", total, total); strings.Count(out.String(), want) != 1 {
			t.Errorf("%q is not written once:\n%s", want, out.String())
		}
	}
}

// screen is a terminal as far as bars need one: it moves up, erases to its end and
// returns, and writes over what is there.
type screen struct {
	mu              sync.Mutex // bars are drawn by a goroutine of their own
	lines           []string
	row, col, width int
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for rest := string(p); rest != ""; {
		var up int
		if n, err := fmt.Sscanf(rest, "\x1b[%dA", &up); n == 1 && err == nil {
			s.row, rest = s.row-up, rest[strings.Index(rest, "A")+1:]
			continue
		}
		for len(s.lines) <= s.row {
			s.lines = append(s.lines, "")
		}
		if after, ok := strings.CutPrefix(rest, "\x1b[J"); ok {
			s.lines, rest = append(s.lines[:s.row], s.lines[s.row][:min(s.col, len(s.lines[s.row]))]), after
			continue
		}
		switch c := rest[0]; c {
		case '\n': // a terminal's driver adds the return
			s.row, s.col = s.row+1, 0
		case '\r':
			s.col = 0
		default:
			if s.col == s.width { // it goes on in the next line, and the bars do not know
				s.row, s.col = s.row+1, 0
				if len(s.lines) <= s.row {
					s.lines = append(s.lines, "")
				}
			}
			line := s.lines[s.row]
			line += strings.Repeat(" ", max(0, s.col-len(line)))
			s.lines[s.row] = line[:s.col] + string(c) + line[min(s.col+1, len(line)):]
			s.col++
		}
		rest = rest[1:]
	}
	return len(p), nil
}

// TestInterruptedBarsStayWhole: the terminal writes ^C where the cursor is, and the
// next frame is drawn over it.
func TestInterruptedBarsStayWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tty := &screen{width: 60}
		ctx, cancel := context.WithCancel(t.Context())
		p, stop := ShowProgress(ctx, tty, 60, true)
		p.Event(event{Kind: runStarted, Trials: 9})
		p.Event(event{Kind: blockStarted, Model: "honest", Trials: 9})
		for range 2 {
			p.Event(event{Kind: trialDone, Model: "honest", Took: time.Second, InFlight: 1})
			time.Sleep(time.Second) // of the bubble
			synctest.Wait()
		}
		tty.Write([]byte("^C"))
		cancel()
		synctest.Wait()
		time.Sleep(time.Second)
		p.Event(event{Kind: blockEnded, Model: "honest", Trials: 7})
		stop()
		tty.Write([]byte("assay: interrupted\n"))
		if len(tty.lines) != 2 || !strings.HasPrefix(tty.lines[0], "honest  2/9 [") || tty.lines[1] != "assay: interrupted" {
			t.Errorf("on the screen:\n%s", strings.Join(tty.lines, "\n"))
		}
	})
}
