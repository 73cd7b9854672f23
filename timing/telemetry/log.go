package telemetry

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"time"
)

// gap is a stretch without samples, over 2.5 times as long as the sampler's interval.
type gap struct {
	From, To time.Duration // the samples on both sides of it
}

// Failure is a run of reads that failed with the same error.
type Failure struct {
	From, To time.Duration // of the first and the last of them
	N        int
	Err      string
}

// Stats is what watching one device took.
type Stats struct {
	Samples  int
	Failed   int           // reads
	Gaps     int           // stretches without samples
	Total    time.Duration // spent in reads
	Longest  time.Duration // read
	Interval time.Duration // that was asked for
}

// Log keeps what a Sampler saw. All methods may be called while it runs.
type Log struct {
	interval time.Duration
	devices  []Device
	tracks   []*track
}

// track is one device's part of a log.
type track struct {
	mu       sync.Mutex
	bundles  []Bundle
	tail     []Sample
	closed   bool          // a read that hung may still come back
	last     time.Duration // of the last sample
	any      bool
	gaps     []gap
	failures []Failure
	failing  bool // the last read failed
	stats    Stats
}

func newLog(interval time.Duration, devices []Device) *Log {
	l := &Log{interval: interval, devices: devices}
	for range devices {
		l.tracks = append(l.tracks, &track{stats: Stats{Interval: interval}})
	}
	return l
}

// Devices is what is watched, in the order of the sampler's probes. The other
// methods take a position in it.
func (l *Log) Devices() []Device { return slices.Clone(l.devices) }

func (l *Log) add(device int, s Sample) {
	t := l.tracks[device]
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	if t.any && s.At <= t.last {
		panic(fmt.Sprintf("telemetry: internal error: a sample at %v after one at %v", s.At, t.last))
	}
	if t.any && s.At-t.last > l.interval*5/2 {
		t.gaps = append(t.gaps, gap{t.last, s.At})
	}
	t.last, t.any, t.failing = s.At, true, false
	t.stats.Samples++
	t.spent(s.Took)
	if t.tail = append(t.tail, s); len(t.tail) == bundleSamples {
		t.seal()
	}
}

func (l *Log) fail(device int, at, took time.Duration, err error) {
	t := l.tracks[device]
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.stats.Failed++
	t.spent(took)
	if n := len(t.failures); t.failing && t.failures[n-1].Err == err.Error() {
		t.failures[n-1].N++
		t.failures[n-1].To = at
		return
	}
	t.failing = true
	t.failures = append(t.failures, Failure{at, at, 1, err.Error()})
}

func (t *track) spent(d time.Duration) {
	t.stats.Total += d
	t.stats.Longest = max(t.stats.Longest, d)
}

func (t *track) seal() {
	if len(t.tail) > 0 {
		t.bundles = append(t.bundles, Pack(t.tail))
		t.tail = t.tail[:0]
	}
}

// close seals the log for good.
func (l *Log) close() {
	for _, t := range l.tracks {
		t.mu.Lock()
		t.seal()
		t.closed = true
		t.mu.Unlock()
	}
}

// Bundles is the device's packed samples from the after-th full bundle on, and how
// many of them are full. One more may follow that will still grow: the next call
// yields it again from the same begin on.
func (l *Log) Bundles(device, after int) (bundles []Bundle, full int) {
	t := l.tracks[device]
	t.mu.Lock()
	defer t.mu.Unlock()
	bundles = slices.Clone(t.bundles[min(after, len(t.bundles)):])
	full = len(bundles)
	if len(t.tail) > 0 {
		bundles = append(bundles, Pack(t.tail))
	}
	return bundles, full
}

// Samples yields the device's samples from from to to, both included, in order.
func (l *Log) Samples(device int, from, to time.Duration) iter.Seq[Sample] {
	return func(yield func(Sample) bool) {
		t := l.tracks[device]
		t.mu.Lock()
		bundles, tail := t.bundles, slices.Clone(t.tail)
		t.mu.Unlock()
		send := func(samples []Sample) bool {
			for i := range samples {
				if at := samples[i].At; at > to || at >= from && !yield(samples[i]) {
					return false
				}
			}
			return true
		}
		for _, c := range bundles {
			if c.To < from || c.From > to {
				continue
			}
			samples, err := Unpack(c.Bytes)
			if err != nil {
				panic("telemetry: internal error: " + err.Error())
			}
			if !send(samples) {
				return
			}
		}
		send(tail)
	}
}

// All yields all of the device's samples so far, in order.
func (l *Log) All(device int) iter.Seq[Sample] {
	return l.Samples(device, math.MinInt64, math.MaxInt64)
}

// Failures is which reads of the device failed, in order.
func (l *Log) Failures(device int) []Failure {
	t := l.tracks[device]
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.failures)
}

// Stats is what watching the device took so far.
func (l *Log) Stats(device int) Stats {
	t := l.tracks[device]
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.stats
	s.Gaps = len(t.gaps)
	return s
}
