//go:build linux && (amd64 || arm64)

package wire

import (
	"encoding/binary"
	"net"
	"syscall"
	"testing"
	"time"

	"assay/timing"
)

// TestStampIsWhatTheKernelSays parses the control messages of one connection with our stamp
// and with the standard library's parser: whether there is a stamp is the kernel's business
// (some sandboxes have none), but both must find the same time, which lies between writing
// and reading. Our reader, on a connection beside it, says as often that it has one.
func TestStampIsWhatTheKernelSays(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	pair := func() (near *net.TCPConn, far net.Conn) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		far, err = l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(); far.Close() })
		return c.(*net.TCPConn), far
	}
	held := holdStamping()
	defer held.Close()
	clock := timing.NewClock()
	ours, oursFar := pair()
	r := newReader(ours, clock)
	theirs, theirsFar := pair()
	newReader(theirs, clock) // switches the stamps on
	rc, err := theirs.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		before := time.Now()
		oursFar.Write([]byte("x"))
		theirsFar.Write([]byte("x"))
		n, a, err := r.read(make([]byte, 9))
		if n != 1 || err != nil {
			t.Fatal(n, err)
		}
		var want, own int64
		err = rc.Read(func(fd uintptr) bool {
			p, oob := make([]byte, 9), make([]byte, 128)
			_, k, _, _, rerr := syscall.Recvmsg(int(fd), p, oob, 0)
			if rerr == syscall.EAGAIN {
				return false
			}
			own = stamp(oob[:k])
			msgs, _ := syscall.ParseSocketControlMessage(oob[:k])
			for _, m := range msgs {
				if m.Header.Type == syscall.SCM_TIMESTAMPNS {
					want = int64(binary.NativeEndian.Uint64(m.Data))*1e9 + int64(binary.NativeEndian.Uint64(m.Data[8:]))
				}
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if a.kernel != (want != 0) || own != want {
			t.Fatalf("our reader %+v, our stamp %d; the standard library finds %d", a, own, want)
		}
		if now := time.Now(); want != 0 && (want < before.UnixNano() || want > now.UnixNano()) {
			t.Fatalf("stamp %v outside %v..%v", time.Unix(0, want), before, now)
		}
		if low, high := clock.At(before), clock.Now(); a.at < low || a.at > high {
			t.Fatalf("arrival %v outside %v..%v", a.at, low, high)
		}
	}
}

func TestStampParsesOnlyItsOwnMessage(t *testing.T) {
	msg := func(level, kind int32, s, ns int64) []byte {
		b := make([]byte, 32)
		binary.NativeEndian.PutUint64(b, 32)
		binary.NativeEndian.PutUint32(b[8:], uint32(level))
		binary.NativeEndian.PutUint32(b[12:], uint32(kind))
		binary.NativeEndian.PutUint64(b[16:], uint64(s))
		binary.NativeEndian.PutUint64(b[24:], uint64(ns))
		return b
	}
	good := msg(syscall.SOL_SOCKET, syscall.SCM_TIMESTAMPNS, 7, 9)
	if got := stamp(good); got != 7e9+9 {
		t.Errorf("stamp %d", got)
	}
	for name, b := range map[string][]byte{"none": nil, "short": good[:31], "other level": msg(6, syscall.SCM_TIMESTAMPNS, 7, 9), "other kind": msg(syscall.SOL_SOCKET, 1, 7, 9)} {
		if got := stamp(b); got != 0 {
			t.Errorf("%s: %d", name, got)
		}
	}
}
