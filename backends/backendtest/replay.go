package backendtest

import (
	"bufio"
	"context"
	"embed"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed testdata/recordings
var testdata embed.FS

// Recording is what a real server sent, byte for byte, and when.
type Recording struct {
	Name  string
	Bytes []byte
	Reads []Read
}

// Read is one socket read of the recording client.
type Read struct {
	At  time.Duration // since the request was sent
	End int           // bytes received so far
}

// Load reads a recording by folder and name: "ollama-0.9.6/show-vlm".
func Load(name string) (Recording, error) {
	r := Recording{Name: name}
	var err error
	base := "testdata/recordings/" + name
	if r.Bytes, err = testdata.ReadFile(base + ".response.http"); err != nil {
		return r, fmt.Errorf("backendtest: recording %s: %w", name, err)
	}
	times, err := testdata.ReadFile(base + ".times.tsv")
	if err != nil {
		return r, fmt.Errorf("backendtest: recording %s: %w", name, err)
	}
	for i, row := range strings.Split(strings.TrimSpace(string(times)), "\n") {
		ms, end, _ := strings.Cut(row, "\t")
		at, err := strconv.ParseFloat(ms, 64)
		if err != nil {
			return r, fmt.Errorf("backendtest: recording %s: times row %d: %w", name, i+1, err)
		}
		n, err := strconv.Atoi(end)
		if err != nil {
			return r, fmt.Errorf("backendtest: recording %s: times row %d: %w", name, i+1, err)
		}
		r.Reads = append(r.Reads, Read{time.Duration(at * float64(time.Millisecond)).Round(100 * time.Microsecond), n})
	}
	if last := r.Reads[len(r.Reads)-1].End; last != len(r.Bytes) {
		return r, fmt.Errorf("backendtest: recording %s has %d bytes, its times end at %d", name, len(r.Bytes), last)
	}
	return r, nil
}

// Reply is an answer made up on the spot, sent at once. body goes out in the
// given chunks, one millisecond apart.
func Reply(status int, contentType string, body ...string) Recording {
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nConnection: close\r\n\r\n", status, http.StatusText(status), contentType)
	r := Recording{Name: "made up", Bytes: []byte(head)}
	for i, chunk := range body {
		r.Bytes = append(r.Bytes, chunk...)
		r.Reads = append(r.Reads, Read{time.Duration(i+1) * time.Millisecond, len(r.Bytes)})
	}
	if len(body) == 0 {
		r.Reads = []Read{{time.Millisecond, len(r.Bytes)}}
	}
	return r
}

// Seen is one request that reached a Network.
type Seen struct {
	Route  string // "POST /api/chat"
	Header http.Header
	Body   []byte
}

// Network stands in for the network and a server on it: each request on a
// connection that Dial gave is answered by its route's recording, with the
// recorded times on the test's clock. Use it inside a synctest bubble, where
// those times cost nothing and are exact.
type Network struct {
	Routes map[string]Recording // by "METHOD /path?query"; any other request is answered 404
	Silent bool                 // after the last byte: silence instead of an end

	mu   sync.Mutex
	seen []Seen
	open int
	dial int
}

// Seen lists the requests so far.
func (n *Network) Seen() []Seen {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]Seen(nil), n.seen...)
}

// Open is how many connections the client has not closed.
func (n *Network) Open() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.open
}

// Dials is how many connections were asked for.
func (n *Network) Dials() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dial
}

// Dial connects to the stand-in, whatever the address.
func (n *Network) Dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	n.mu.Lock()
	n.open++
	n.dial++
	n.mu.Unlock()
	go n.serve(server)
	return &counted{Conn: client, closed: func() {
		n.mu.Lock()
		n.open--
		n.mu.Unlock()
	}}, nil
}

// counted reports its first Close.
type counted struct {
	net.Conn
	once   sync.Once
	closed func()
}

func (c *counted) Close() error {
	c.once.Do(c.closed)
	return c.Conn.Close()
}

func (n *Network) serve(conn net.Conn) {
	defer conn.Close()
	from := bufio.NewReader(conn)
	req, err := http.ReadRequest(from)
	if err != nil {
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	route := req.Method + " " + req.URL.Path
	if req.URL.RawQuery != "" {
		route += "?" + req.URL.RawQuery
	}
	n.mu.Lock()
	n.seen = append(n.seen, Seen{route, req.Header, body})
	answer, ok := n.Routes[route]
	n.mu.Unlock()
	if !ok {
		answer = Reply(http.StatusNotFound, "text/plain", "404 page not found")
	}
	gone := make(chan struct{}) // closed when the client hangs up
	go func() {
		io.Copy(io.Discard, from)
		close(gone)
	}()
	sent, start := 0, time.Now()
	for _, r := range answer.Reads {
		if wait := r.At - time.Since(start); wait > 0 {
			select {
			case <-time.After(wait):
			case <-gone:
				return
			}
		}
		if _, err := conn.Write(answer.Bytes[sent:r.End]); err != nil {
			return
		}
		sent = r.End
	}
	if n.Silent {
		<-gone
	}
}

// Until is the recording's first n bytes.
func (r Recording) Until(n int) Recording {
	cut := Recording{Name: fmt.Sprintf("%s until byte %d", r.Name, n), Bytes: r.Bytes[:n]}
	for _, read := range r.Reads {
		if read.End >= n {
			cut.Reads = append(cut.Reads, Read{read.At, n})
			break
		}
		cut.Reads = append(cut.Reads, read)
	}
	return cut
}
