package telemetry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/timing"
)

// Rates of a Sampler, in samples per second.
const (
	defaultHz = 20
	MaxHz     = 100
)

// grace is how long Run waits for a read that hangs when it is told to end.
const grace = 2 * time.Second

// Sampler reads probes at a fixed rate, each in a goroutine of its own, so that a
// slow device does not delay the others.
type Sampler struct {
	clock  timing.Clock
	probes []Probe
	every  time.Duration
	log    *Log
	ask    []chan chan<- struct{} // per probe: read it now, and close the other one
}

// NewSampler makes a sampler of probes on the run's clock. hz is 1 to MaxHz; 0 is
// defaultHz.
func NewSampler(clock timing.Clock, hz int, probes []Probe) (*Sampler, error) {
	if hz == 0 {
		hz = defaultHz
	}
	if hz < 1 || hz > MaxHz {
		return nil, fmt.Errorf("telemetry: %d samples per second: choose 1 to %d", hz, MaxHz)
	}
	var devices []Device
	for _, p := range probes {
		d := p.Describe()
		same := func(o Device) bool { return o.Source == d.Source && o.ID == d.ID }
		if slices.ContainsFunc(devices, same) {
			return nil, fmt.Errorf("telemetry: two probes of %s %s: give each device once", d.Source, d.ID)
		}
		devices = append(devices, d)
	}
	every := time.Second / time.Duration(hz)
	ask := make([]chan chan<- struct{}, len(probes))
	for i := range ask {
		ask[i] = make(chan chan<- struct{})
	}
	return &Sampler{clock, probes, every, newLog(every, devices), ask}, nil
}

// Log is what was sampled; it fills up while Run runs.
func (s *Sampler) Log() *Log { return s.log }

// Run samples until ctx is done, then packs the rest. A read that still hangs
// two seconds later is left behind, and is the error.
func (s *Sampler) Run(ctx context.Context) error {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		busy = map[string]bool{}
	)
	for i, p := range s.probes {
		d := s.log.devices[i]
		name := d.Source + " " + d.ID
		busy[name] = true
		wg.Go(func() {
			s.watch(ctx, i, p)
			mu.Lock()
			defer mu.Unlock()
			delete(busy, name)
		})
	}
	<-ctx.Done()
	ended := make(chan struct{})
	go func() {
		wg.Wait()
		close(ended)
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	var err error
	select {
	case <-ended:
	case <-timer.C:
		mu.Lock()
		var names []string
		for n := range busy {
			names = append(names, n)
		}
		mu.Unlock()
		slices.Sort(names)
		err = fmt.Errorf("telemetry: reading %s has not returned %v after the end of the run: its driver hangs; look at the system's log", strings.Join(names, ", "), grace)
	}
	s.log.close()
	return err
}

// Look reads every probe once more, beside the grid, and waits for that for up to
// within: less where a probe hangs, or Run has ended. After it the log holds a
// sample of a time at which Look was under way, of every probe that it waited for.
func (s *Sampler) Look(within time.Duration) {
	limit := time.NewTimer(within)
	defer limit.Stop()
	waits := make([]<-chan struct{}, 0, len(s.ask))
	for _, ask := range s.ask {
		read := make(chan struct{})
		select {
		case ask <- read:
			waits = append(waits, read)
		case <-limit.C:
			return
		}
	}
	for _, read := range waits {
		select {
		case <-read:
		case <-limit.C:
			return
		}
	}
}

// watch reads p on a fixed grid of times. A read that outlasts its interval
// costs the samples in between; it does not shift the grid.
func (s *Sampler) watch(ctx context.Context, device int, p Probe) {
	due, last := s.clock.Now(), time.Duration(-1)
	read := func() {
		var sample Sample
		began := s.clock.Now()
		if began <= last { // twice at one instant
			return
		}
		err := p.Read(&sample)
		ended := s.clock.Now()
		sample.At, sample.Took = began+(ended-began)/2, ended-began
		if err != nil {
			s.log.fail(device, sample.At, sample.Took, err)
			return
		}
		s.log.add(device, sample)
		last = sample.At
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case done := <-s.ask[device]:
			read()
			close(done)
			continue
		case <-timer.C:
		}
		read()
		due += s.every
		if late := s.clock.Now() - due; late >= 0 {
			due += (late/s.every + 1) * s.every
		}
		timer.Reset(due - s.clock.Now())
	}
}

// Rates is how often a device's figures really change, as seen by reading them
// about once a millisecond.
type Rates struct {
	Reads  int
	Read   time.Duration  // median duration of a read
	Energy *time.Duration // median time between changes of the counter; nil: it did not change twice
	Power  *time.Duration // of instant power, or of mean power where there is none
}

// MeasureRates reads p as fast as makes sense for d. It is for times when nobody
// else reads p.
func MeasureRates(ctx context.Context, clock timing.Clock, p Probe, d time.Duration) (Rates, error) {
	type watch struct {
		last    int64
		any     bool
		changes []time.Duration
	}
	see := func(w *watch, at time.Duration, v int64) {
		if w.any && v != w.last {
			w.changes = append(w.changes, at)
		}
		w.last, w.any = v, true
	}
	var energy, power watch
	var took []time.Duration
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for end := clock.Now() + d; clock.Now() < end; {
		var s Sample
		began := clock.Now()
		if err := p.Read(&s); err != nil {
			dev := p.Describe()
			return Rates{}, fmt.Errorf("telemetry: measuring the rates of %s %s: %w", dev.Source, dev.ID, err)
		}
		at := clock.Now()
		took = append(took, at-began)
		if v, ok := s.Get(Energy); ok {
			see(&energy, at, v)
		}
		if v, ok := s.Get(PowerInstant); ok {
			see(&power, at, v)
		} else if v, ok := s.Get(PowerAverage); ok {
			see(&power, at, v)
		}
		select {
		case <-ctx.Done():
			return Rates{}, ctx.Err()
		case <-ticker.C:
		}
	}
	median := func(ds []time.Duration) *time.Duration {
		if len(ds) == 0 {
			return nil
		}
		slices.Sort(ds)
		return &ds[len(ds)/2]
	}
	steps := func(w watch) (out []time.Duration) {
		for i := 1; i < len(w.changes); i++ {
			out = append(out, w.changes[i]-w.changes[i-1])
		}
		return out
	}
	r := Rates{Reads: len(took), Energy: median(steps(energy)), Power: median(steps(power))}
	if m := median(took); m != nil {
		r.Read = *m
	}
	return r, nil
}
