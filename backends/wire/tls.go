package wire

import (
	"crypto/tls"
	"encoding/binary"
	"net"
	"sync/atomic"

	"assay/timing"
)

// tlsReader reads what crypto/tls has decrypted, with the stamps of the raw reads
// beneath it.
type tlsReader struct {
	conn *tls.Conn
	raw  *records
}

// read gives the plaintext of one record at most, as tls.Conn.Read does.
func (r tlsReader) read(p []byte) (int, arrival, error) {
	n, err := r.conn.Read(p)
	if n > 0 {
		err = nil // it comes again with the next read
	}
	return n, r.raw.last, err
}

// records is a connection under TLS whose Read ends at the end of a record. So
// crypto/tls never holds more than the record that it is at, and the bytes that it
// took last are those that completed the record whose plaintext it gives out: that
// plaintext arrived with the raw read which they came from.
type records struct {
	net.Conn
	in   reader
	buf  []byte // read and not yet handed over
	room []byte
	at   arrival // of buf
	last arrival // of what was handed over last

	// begin is a request that starts with the next Write: sealing it is a part of
	// encoding it, and its clock starts when the first record is ready.
	begin atomic.Pointer[timing.Recorder]

	head  [5]byte // type, version, length
	known int     // bytes of head
	left  int     // bytes to come of the record behind its head
}

func newRecords(conn net.Conn, in reader) *records {
	return &records{Conn: conn, in: in, room: make([]byte, 32<<10)}
}

func (r *records) Write(p []byte) (int, error) {
	if rec := r.begin.Swap(nil); rec != nil {
		rec.Start()
	}
	return r.Conn.Write(p)
}

// Read is called by one goroutine at a time: crypto/tls sees to that.
func (r *records) Read(p []byte) (int, error) {
	if len(r.buf) == 0 {
		n, at, err := r.in.read(r.room)
		at.raw = r.at.raw + 1
		r.at = at
		if err != nil {
			r.last = at
			return 0, err
		}
		r.buf = r.room[:n]
	}
	p = p[:min(len(p), len(r.buf))]
	n := 0
	if r.left == 0 { // in a head
		k := copy(r.head[r.known:], p)
		n, r.known = k, r.known+k
		if r.known == len(r.head) {
			r.left, r.known = int(binary.BigEndian.Uint16(r.head[3:])), 0
		}
	}
	if r.known == 0 {
		k := min(len(p)-n, r.left)
		n, r.left = n+k, r.left-k
	}
	copy(p, r.buf[:n])
	r.buf, r.last = r.buf[n:], r.at
	return n, nil
}
