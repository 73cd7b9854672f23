package timing

import "time"

// Clocks is one look at the machine's own clocks. What they show apart is what a
// time on a Clock, which is CLOCK_MONOTONIC, does not tell: that the machine
// slept, or that the clock was steered.
type Clocks struct {
	Mono time.Duration // CLOCK_MONOTONIC: stands still while the machine sleeps
	Boot time.Duration // CLOCK_BOOTTIME: does not
	Raw  time.Duration // CLOCK_MONOTONIC_RAW: the hardware's, which nobody steers; stands still, too
	// Within is how far from each other the clocks were read.
	Within time.Duration
}

// Slept is how long the machine slept since an earlier look; 0: it did not, as
// far as the looks can tell.
func (c Clocks) Slept(since Clocks) time.Duration {
	slept := (c.Boot - since.Boot) - (c.Mono - since.Mono)
	if slept <= c.Within+since.Within+sleepFloor {
		return 0
	}
	return slept
}

const (
	// sleepFloor is below what any machine sleeps.
	sleepFloor = time.Millisecond
	// slewFloor is what reading two clocks one after the other may take when a
	// machine is busy, and is not seen.
	slewFloor = 200 * time.Microsecond
)

// Slewed says whether the clock ran over 0.1 % faster or slower than the
// hardware's since an earlier look. ntpd and systemd steer it by at most 0.05 %,
// which no time suffers from; chronyd by up to 10 %.
func (c Clocks) Slewed(since Clocks) bool {
	drift := (c.Mono - since.Mono) - (c.Raw - since.Raw)
	return drift.Abs() > (c.Raw-since.Raw)/1000+c.Within+since.Within+slewFloor
}

// Slew is how much faster the clock ran than the hardware's since an earlier look,
// in parts per million; false: the time is too short to tell to a part per million.
func (c Clocks) Slew(since Clocks) (ppm float64, ok bool) {
	raw := c.Raw - since.Raw
	if raw < 10*time.Second {
		return 0, false
	}
	return float64((c.Mono-since.Mono)-raw) / float64(raw) * 1e6, true
}
