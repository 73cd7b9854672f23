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

// display is told what happens, one event at a time.
type display interface {
	Event(event)
}

// eventKind says what happened.
type eventKind string

const (
	runStarted    eventKind = "run_started"    // Trials to do, Skipped stored before
	blockStarted  eventKind = "block_started"  // Model, Trials to do
	trialDone     eventKind = "trial_done"     // Key, Took, InFlight
	trialFailed   eventKind = "trial_failed"   // Key, Took, InFlight, Failure, Text
	trialAgain    eventKind = "trial_again"    // Key, Text: done, and to be done once more; Failure: the first flag
	attemptFailed eventKind = "attempt_failed" // Model, Failure, Text, Wait; Key unless no trial was concerned
	warning       eventKind = "warning"        // Model, Text
	blockEnded    eventKind = "block_ended"    // Model, Trials left undone
)

// event is something that a person who watches wants to know.
type event struct {
	Kind     eventKind
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

func (t *tally) add(e event) {
	switch e.Kind {
	case runStarted:
		t.total = e.Trials
	case blockStarted:
		t.block, t.inBlock = e.Trials, 0
	case trialAgain:
		t.total++
		t.block++
	case blockEnded:
		t.total -= e.Trials
	case trialDone, trialFailed:
		if e.Kind == trialDone {
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
func (t *tally) message(e event) (string, bool) {
	var s string
	switch {
	case e.Kind == warning:
		return fmt.Sprintf("%s: %s\n", e.Model, e.Text), true
	case e.Kind == attemptFailed && e.Wait != nil:
		s = fmt.Sprintf("%s: %s; next try in %s\n", e.Model, e.Text, e.Wait.Round(100*time.Millisecond))
	case e.Kind == trialAgain:
		s = fmt.Sprintf("%s will be done again: %s\n", e.Key.Name(), e.Text)
	case e.Kind == trialFailed:
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

// lines shows progress as plain lines: one per twentieth of the run, or when a
// trial ends half a minute or more after the last line.
type lines struct {
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

// newLines writes to w. now is the wall clock.
func newLines(w io.Writer, now func() time.Time) *lines { return &lines{w: w, now: now, last: now()} }

// Event implements Display.
func (l *lines) Event(e event) {
	l.t.add(e)
	if s, ok := l.t.message(e); ok {
		io.WriteString(l.w, s)
	}
	switch e.Kind {
	case runStarted:
		fmt.Fprintf(l.w, "%d trials to do, %d stored before\n", e.Trials, e.Skipped)
	case blockStarted:
		fmt.Fprintf(l.w, "%s: %d trials\n", e.Model, e.Trials)
		l.last = l.now()
	case trialDone, trialFailed:
		n := l.t.done + l.t.failed
		if n < l.t.total && (n-l.mark)*lineShare < l.t.total && l.now().Sub(l.last) < lineEvery {
			return
		}
		l.mark, l.last = n, l.now()
		fmt.Fprintf(l.w, "%s: %d of %d; run: %d of %d (%d %%), %s\n", e.Model, l.t.inBlock, l.t.block, n, l.t.total, 100*n/max(1, l.t.total), l.t.pace(l.t.failed))
	case blockEnded:
		if e.Trials > 0 {
			fmt.Fprintf(l.w, "%s: ended with %d trials left undone\n", e.Model, e.Trials)
		}
	}
}

// bars shows progress on a terminal: a bar per model, messages above.
type bars struct {
	p *mpb.Progress

	mu  sync.Mutex // the terminal is drawn from another goroutine
	t   tally
	bar *mpb.Bar
	bad *int // failed trials of the bar's block
}

// newBars draws on w, a terminal of width columns (0: ask it), until Close.
func newBars(w io.Writer, width int) *bars {
	// Four frames a second: drawing must not take a core from a timed request.
	return &bars{p: mpb.New(mpb.WithOutput(w), mpb.WithWidth(width), mpb.WithAutoRefresh(), mpb.WithRefreshRate(250*time.Millisecond))}
}

// ShowProgress is the display that fits w: bars on a terminal of width columns, else
// lines. stop ends it; nothing may be told after that.
//
// At the end of ctx on a terminal, the cursor goes back to the beginning of its line: the
// terminal has written ^C there, and the next frame would begin behind it.
func ShowProgress(ctx context.Context, w io.Writer, width int, terminal bool) (d display, stop func()) {
	if terminal {
		if s, ok := w.(interface{ Raw() io.Writer }); ok { // one that shows what steers a terminal
			w = s.Raw()
		}
		b := newBars(w, width)
		back := context.AfterFunc(ctx, func() { io.WriteString(w, "\r") })
		return b, func() {
			back()
			b.Close()
		}
	}
	return newLines(w, time.Now), func() {}
}

// Event implements Display.
func (b *bars) Event(e event) {
	b.mu.Lock()
	b.t.add(e)
	s, say := b.t.message(e)
	if e.Kind == trialFailed {
		*b.bad++
	}
	b.mu.Unlock()
	// Not under the lock: the drawing goroutine may wait for it.
	if say {
		io.WriteString(b.p, text.VisibleLines(s))
	}
	switch e.Kind {
	case blockStarted:
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
	case trialDone, trialFailed:
		b.bar.Increment()
	case blockEnded:
		b.bar.Abort(false)
	}
}

// Close draws the last frame and gives the terminal back.
func (b *bars) Close() { b.p.Wait() }
