package wire

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// sealed is the server's end of a connection, whose ciphertext is kept until the
// client is to get it.
type sealed struct {
	net.Conn // the client's bytes
	mu       sync.Mutex
	more     sync.Cond
	b        []byte
}

func (c *sealed) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.b = append(c.b, p...)
	c.mu.Unlock()
	c.more.Broadcast()
	return len(p), nil
}

// scripted are raw reads of what is sealed: all that is there, and once there are
// cuts, up to the next of them. Each has a time of its own.
type scripted struct {
	c    *sealed
	from int
	cuts []int
	ends []int // of each read
}

func (s *scripted) read(p []byte) (int, arrival, error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	for len(s.c.b) == s.from {
		s.c.more.Wait()
	}
	end := len(s.c.b)
	for _, cut := range s.cuts {
		if cut > s.from {
			end = min(end, cut)
			break
		}
	}
	n := copy(p, s.c.b[s.from:end])
	s.from += n
	s.ends = append(s.ends, s.from)
	return n, arrival{at: tick(len(s.ends)), lag: 7, kernel: true}, nil
}

// TestArrivalUnderTLS: however the ciphertext is cut into reads, each plaintext
// has the time of the read that completed its record, also where it is read in
// small parts, and records of one read are known to share it.
func TestArrivalUnderTLS(t *testing.T) {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	srv.Close()
	certificate := srv.TLS.Certificates[0]
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				near, far := net.Pipe()
				defer near.Close()
				c := &sealed{Conn: far}
				c.more.L = &c.mu
				server := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{certificate}, MaxVersion: version})
				in := &scripted{c: c}
				raw := newRecords(near, in)
				client := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
				shaken := make(chan error, 1)
				go func() { shaken <- server.Handshake() }()
				if err := client.Handshake(); err != nil {
					t.Fatal(err)
				}
				if err := <-shaken; err != nil {
					t.Fatal(err)
				}
				var sizes, sealedAt []int // of each message; where its record ends
				begin := len(c.b)
				for range rapid.IntRange(1, 6).Draw(t, "messages") {
					n := rapid.IntRange(1, 300).Draw(t, "size")
					if _, err := server.Write(make([]byte, n)); err != nil {
						t.Fatal(err)
					}
					sizes, sealedAt = append(sizes, n), append(sealedAt, len(c.b))
				}
				at := begin
				for at < len(c.b) {
					at += rapid.IntRange(1, 700).Draw(t, "raw read")
					in.cuts = append(in.cuts, at)
				}
				r := tlsReader{client, raw}
				p := make([]byte, rapid.IntRange(1, 400).Draw(t, "read"))
				var reads []int // number of the raw read of each message
				for k, size := range sizes {
					for left := size; left > 0; {
						n, a, err := r.read(p)
						if err != nil || n == 0 || n > left {
							t.Fatalf("message %d: read %d of %d: %v", k, n, left, err)
						}
						left -= n
						want := 0
						for in.ends[want] < sealedAt[k] {
							want++
						}
						if a.at != tick(want+1) || a.lag != 7 || !a.kernel {
							t.Fatalf("message %d arrived with %+v, want read %d", k, a, want+1)
						}
						if left == 0 {
							reads = append(reads, a.raw)
						}
					}
				}
				for k := 1; k < len(reads); k++ {
					first := func(end int) (i int) {
						for in.ends[i] < end {
							i++
						}
						return i
					}
					if same := first(sealedAt[k-1]) == first(sealedAt[k]); same != (reads[k] == reads[k-1]) || reads[k] < reads[k-1] {
						t.Fatalf("messages %d and %d in raw reads %d and %d, in one: %t", k-1, k, reads[k-1], reads[k], same)
					}
				}
			})
		})
	}
}

// TestRecordsOfOneReadShareIt: on the buffer they are as the bytes of one read
// without TLS are.
func TestRecordsOfOneReadShareIt(t *testing.T) {
	s := &stream{buffer: &Buffer{Body: make([]byte, 0, 1<<10)}, content: func() {}}
	for i, raw := range []int{1, 1, 2, 2, 3} {
		text := "data: x\n\n"
		if i == 3 {
			text = "\r\n" // the end of a line is no later chunk
		}
		n := copy(s.buffer.room(), text)
		if _, err := s.take(n, arrival{at: tick(raw), lag: time.Microsecond, kernel: true, raw: raw}); err != nil {
			t.Fatal(err)
		}
	}
	var got []Arrival
	for e := range s.buffer.Events() {
		got = append(got, e.Arrival)
	}
	want := []Arrival{{tick(1), time.Microsecond, true}, {tick(1), time.Microsecond, false}, {tick(2), time.Microsecond, false}, {tick(3), time.Microsecond, false}}
	if len(got) != len(want) {
		t.Fatalf("%d events: %+v", len(got), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("event %d: %+v, want %+v", i, got[i], want[i])
		}
	}
}
