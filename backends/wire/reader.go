package wire

import (
	"io"
	"net"
	"time"

	"assay/timing"
)

// arrival is when the last byte of one read came in.
type arrival struct {
	at, lag time.Duration
	kernel  bool
	raw     int // number of the read beneath TLS that it is of; 0: there is no TLS
}

func (a arrival) stamps() timing.Stamps {
	if a.kernel {
		return timing.StampsKernel
	}
	return timing.StampsUser
}

// reader reads what is there and says when it arrived.
type reader interface {
	read(p []byte) (int, arrival, error)
}

// userReader stamps after Read returns.
type userReader struct {
	conn  net.Conn
	clock timing.Clock
}

func (r userReader) read(p []byte) (int, arrival, error) {
	n, err := r.conn.Read(p)
	if n > 0 {
		err = nil // it comes again with the next read
	}
	return n, arrival{at: r.clock.Now()}, err
}

// carry takes a wall-clock stamp over to the monotonic clock: now holds both
// clocks, read together, so the stamp's age on one is its age on the other.
// A stamp that is missing, in the future or from before start (when nothing can
// have arrived) is not believed, and now stands in: the wall clock was set in
// between. Nothing arrives before what stood ahead of it in the stream: a
// segment that overtook another became readable with it, at prev.
func carry(clock timing.Clock, now time.Time, wall int64, start, prev time.Duration) arrival {
	at := clock.At(now)
	age := time.Duration(now.UnixNano() - wall)
	if wall == 0 || age < 0 || at-age < start {
		return arrival{at: at}
	}
	a := arrival{at: max(at-age, prev), kernel: true}
	a.lag = at - a.at
	return a
}

// nothing is an io.Closer for where stamping needs no holding.
type nothing struct{}

func (nothing) Close() error { return nil }

var _ io.Closer = nothing{}
