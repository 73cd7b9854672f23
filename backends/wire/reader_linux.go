//go:build linux && (amd64 || arm64)

package wire

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"assay/timing"
)

// newReader reads a TCP connection with kernel stamps, any other without.
// It switches the stamps on, so it must come before the request is written.
func newReader(conn net.Conn, clock timing.Clock) reader {
	tc, ok := conn.(*net.TCPConn)
	if !ok {
		return userReader{conn, clock}
	}
	rc, err := tc.SyscallConn()
	if err != nil {
		return userReader{conn, clock}
	}
	var serr error
	err = rc.Control(func(fd uintptr) {
		serr = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
	})
	if err != nil || serr != nil {
		return userReader{conn, clock}
	}
	r := &kernelReader{rc: rc, clock: clock, start: clock.Now()}
	r.recv = r.recvmsg // bound once: a method value allocates
	return r
}

// holdStamping keeps one socket open that wants stamps. The kernel patches its
// receive path when the first such socket appears and again when the last one
// goes, some time later; held, that happens once and not with every request.
func holdStamping() io.Closer {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nothing{}
	}
	// Without the option nothing is lost but the first stamps.
	_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
	return os.NewFile(uintptr(fd), "assay-stamps")
}

// kernelReader reads with recvmsg, which hands over the time at which the
// network layer received the last segment of what was read.
type kernelReader struct {
	rc    syscall.RawConn
	clock timing.Clock
	start time.Duration // nothing arrived before this
	prev  time.Duration // the arrival before
	recv  func(fd uintptr) bool

	buf []byte
	ctl [64]byte
	iov syscall.Iovec
	msg syscall.Msghdr
	n   int
	err syscall.Errno
}

func (r *kernelReader) recvmsg(fd uintptr) bool {
	r.iov.Base, r.iov.Len = unsafe.SliceData(r.buf), uint64(len(r.buf))
	r.msg.Iov, r.msg.Iovlen = &r.iov, 1
	r.msg.Control, r.msg.Controllen = &r.ctl[0], uint64(len(r.ctl))
	for {
		n, _, e := syscall.Syscall(syscall.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&r.msg)), 0)
		if e == syscall.EINTR {
			continue
		}
		r.n, r.err = int(n), e
		return e != syscall.EAGAIN
	}
}

func (r *kernelReader) read(p []byte) (int, arrival, error) {
	r.buf = p
	err := r.rc.Read(r.recv)
	now := time.Now()
	switch {
	case err != nil:
		return 0, arrival{at: r.clock.At(now)}, err
	case r.err != 0:
		return 0, arrival{at: r.clock.At(now)}, os.NewSyscallError("recvmsg", r.err)
	case r.n == 0:
		return 0, arrival{at: r.clock.At(now)}, io.EOF
	}
	a := carry(r.clock, now, stamp(r.ctl[:r.msg.Controllen]), r.start, r.prev)
	r.prev = a.at
	return r.n, a, nil
}

// stamp finds the time in a control message, in nanoseconds of wall clock; 0: none.
func stamp(ctl []byte) int64 {
	if len(ctl) < syscall.SizeofCmsghdr+16 {
		return 0
	}
	level := int32(binary.NativeEndian.Uint32(ctl[8:]))
	kind := int32(binary.NativeEndian.Uint32(ctl[12:]))
	if level != syscall.SOL_SOCKET || kind != syscall.SCM_TIMESTAMPNS {
		return 0
	}
	return int64(binary.NativeEndian.Uint64(ctl[16:]))*1e9 + int64(binary.NativeEndian.Uint64(ctl[24:]))
}
