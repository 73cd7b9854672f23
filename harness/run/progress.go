// Progress shows a person how far a run is: as lines, or as bars on a terminal.

package run

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"assay/results"
	"assay/results/text"
)

// Display is told what happens, one event at a time.
type Display interface {
	Event(Event)
}

// EventKind says what happened.
type EventKind string

const (
	RunStarted    EventKind = "run_started"    // Trials to do, Skipped stored before
	BlockStarted  EventKind = "block_started"  // Model, Trials to do
	TrialDone     EventKind = "trial_done"     // Key, Took, InFlight
	TrialFailed   EventKind = "trial_failed"   // Key, Took, InFlight, Failure, Text
	TrialAgain    EventKind = "trial_again"    // Key, Text: done, and to be done once more; Failure: the first flag
	AttemptFailed EventKind = "attempt_failed" // Model, Failure, Text, Wait; Key unless no trial was concerned
	Warning       EventKind = "warning"        // Model, Text
	BlockEnded    EventKind = "block_ended"    // Model, Trials left undone
)

// Event is something that a person who watches wants to know.
type Event struct {
	Kind     EventKind
	Model    string
	Key      results.Key
	Trials   int            // to do, or left undone
	Skipped  int            // stored before this run
	Took     time.Duration  // all attempts of the trial, pauses included
	InFlight int            // how many may run together in the trial's study
	Wait     *time.Duration // pause before the next attempt
	Failure  string         // its kind, as in results.Failure
	Text     string
}

// tally adds events up.
type tally struct {
	total          int // trials of the run that are to do
	done, failed   int
	block, inBlock int             // trials of the block: to do, finished
	costs          []time.Duration // the latest, oldest first: see add
	told           map[string]int  // messages by model and kind
}

// latest is how many trials the estimates rest on: a median forgets a slow one
// at once, and a new model is believed after half as many.
const latest = 31

// sameMessages is how many messages of one kind and model are shown.
const sameMessages = 3

func (t *tally) add(e Event) {
	switch e.Kind {
	case RunStarted:
		t.total = e.Trials
	case BlockStarted:
		t.block, t.inBlock = e.Trials, 0
	case TrialAgain:
		t.total++
		t.block++
	case BlockEnded:
		t.total -= e.Trials
	case TrialDone, TrialFailed:
		if e.Kind == TrialDone {
			t.done++
		} else {
			t.failed++
		}
		t.inBlock++
		// What a trial costs the run: together with others it costs its share.
		t.costs = append(t.costs, e.Took/time.Duration(max(1, e.InFlight)))
		if len(t.costs) > latest {
			t.costs = t.costs[1:]
		}
	}
}

// cost is the median over the latest trials; false: there was none.
func (t *tally) cost() (time.Duration, bool) {
	if len(t.costs) == 0 {
		return 0, false
	}
	s := slices.Sorted(slices.Values(t.costs))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2, true
}

// left is how long the run will still take; false: not known yet.
func (t *tally) left() (time.Duration, bool) {
	c, ok := t.cost()
	return c * time.Duration(t.total-t.done-t.failed), ok
}

// pace is failures, rate and the run's time left, in words.
func (t *tally) pace(failed int) string {
	s := fmt.Sprintf("%d failed", failed)
	c, ok := t.cost()
	if !ok {
		return s
	}
	if c > 0 {
		perMinute := float64(time.Minute) / float64(c)
		digits := 0
		if perMinute < 10 {
			digits = 1
		}
		s += fmt.Sprintf(", %.*f/min", digits, perMinute)
	}
	left, _ := t.left()
	return s + ", about " + Rough(left) + " left"
}

// Rough is a duration for people: seconds, then minutes, then hours and minutes.
func Rough(d time.Duration) string {
	switch {
	case d < 100*time.Second:
		return fmt.Sprintf("%d s", int(d.Round(time.Second).Seconds()))
	case d < 100*time.Minute:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// message is what of an event deserves a line of its own; false: nothing. Of
// the same kind and model only the first few are shown: the count says the rest.
func (t *tally) message(e Event) (string, bool) {
	var s string
	switch {
	case e.Kind == Warning:
		return fmt.Sprintf("%s: %s\n", e.Model, e.Text), true
	case e.Kind == AttemptFailed && e.Wait != nil:
		s = fmt.Sprintf("%s: %s; next try in %s\n", e.Model, e.Text, e.Wait.Round(100*time.Millisecond))
	case e.Kind == TrialAgain:
		s = fmt.Sprintf("%s will be done again: %s\n", e.Key.Name(), e.Text)
	case e.Kind == TrialFailed:
		s = fmt.Sprintf("%s failed: %s\n", e.Key.Name(), e.Text)
	default:
		return "", false
	}
	if t.told == nil {
		t.told = map[string]int{}
	}
	same := string(e.Kind) + "/" + e.Model + "/" + e.Failure
	t.told[same]++
	if t.told[same] == sameMessages {
		s += fmt.Sprintf("%s: further messages of this kind (%s) are only counted\n", e.Model, e.Failure)
	}
	return s, t.told[same] <= sameMessages
}

// Lines shows progress as plain lines: one per twentieth of the run, or when a
// trial ends half a minute or more after the last line.
type Lines struct {
	w    io.Writer
	now  func() time.Time
	t    tally
	mark int // finished trials at the last line
	last time.Time
}

const (
	lineEvery = 30 * time.Second
	lineShare = 20
)

// NewLines writes to w. now is the wall clock.
func NewLines(w io.Writer, now func() time.Time) *Lines { return &Lines{w: w, now: now, last: now()} }

// Event implements Display.
func (l *Lines) Event(e Event) {
	l.t.add(e)
	if s, ok := l.t.message(e); ok {
		io.WriteString(l.w, s)
	}
	switch e.Kind {
	case RunStarted:
		fmt.Fprintf(l.w, "%d trials to do, %d stored before\n", e.Trials, e.Skipped)
	case BlockStarted:
		fmt.Fprintf(l.w, "%s: %d trials\n", e.Model, e.Trials)
		l.last = l.now()
	case TrialDone, TrialFailed:
		n := l.t.done + l.t.failed
		if n < l.t.total && (n-l.mark)*lineShare < l.t.total && l.now().Sub(l.last) < lineEvery {
			return
		}
		l.mark, l.last = n, l.now()
		fmt.Fprintf(l.w, "%s: %d of %d; run: %d of %d (%d %%), %s\n", e.Model, l.t.inBlock, l.t.block, n, l.t.total, 100*n/max(1, l.t.total), l.t.pace(l.t.failed))
	case BlockEnded:
		if e.Trials > 0 {
			fmt.Fprintf(l.w, "%s: ended with %d trials left undone\n", e.Model, e.Trials)
		}
	}
}

// Bars shows progress on a terminal: a bar per model, messages above.
type Bars struct {
	p *mpb.Progress

	mu  sync.Mutex // the terminal is drawn from another goroutine
	t   tally
	bar *mpb.Bar
	bad *int // failed trials of the bar's block
}

// NewBars draws on w, a terminal of width columns (0: ask it), until Close.
func NewBars(w io.Writer, width int) *Bars {
	// Four frames a second: drawing must not take a core from a timed request.
	return &Bars{p: mpb.New(mpb.WithOutput(w), mpb.WithWidth(width), mpb.WithAutoRefresh(), mpb.WithRefreshRate(250*time.Millisecond))}
}

// Show is the display that fits w: bars on a terminal of width columns, else
// lines. stop ends it; nothing may be told after that.
//
// At the end of ctx on a terminal, the cursor goes back to the beginning of its line: the
// terminal has written ^C there, and the next frame would begin behind it.
func Show(ctx context.Context, w io.Writer, width int, terminal bool) (d Display, stop func()) {
	if terminal {
		if s, ok := w.(interface{ Raw() io.Writer }); ok { // one that shows what steers a terminal
			w = s.Raw()
		}
		b := NewBars(w, width)
		back := context.AfterFunc(ctx, func() { io.WriteString(w, "\r") })
		return b, func() {
			back()
			b.Close()
		}
	}
	return NewLines(w, time.Now), func() {}
}

// Event implements Display.
func (b *Bars) Event(e Event) {
	b.mu.Lock()
	b.t.add(e)
	s, say := b.t.message(e)
	if e.Kind == TrialFailed {
		*b.bad++
	}
	b.mu.Unlock()
	// Not under the lock: the drawing goroutine may wait for it.
	if say {
		io.WriteString(b.p, text.VisibleLines(s))
	}
	switch e.Kind {
	case BlockStarted:
		bad := new(int)
		b.bad = bad
		b.bar = b.p.AddBar(int64(e.Trials),
			mpb.PrependDecorators(decor.Name(text.Visible(e.Model), decor.WCSyncSpaceR), decor.CountersNoUnit("%d/%d", decor.WCSyncSpace)),
			mpb.AppendDecorators(decor.Any(func(s decor.Statistics) string {
				b.mu.Lock()
				defer b.mu.Unlock()
				if s.Completed || s.Aborted {
					return fmt.Sprintf("%d failed", *bad)
				}
				return b.t.pace(*bad)
			})))
	case TrialDone, TrialFailed:
		b.bar.Increment()
	case BlockEnded:
		b.bar.Abort(false)
	}
}

// Close draws the last frame and gives the terminal back.
func (b *Bars) Close() { b.p.Wait() }
