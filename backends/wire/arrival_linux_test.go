//go:build linux && (amd64 || arm64)

package wire

import (
	"bufio"
	"bytes"
	"container/heap"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"assay/backends"
	"assay/timing"
)

// child names what a copy of the test binary is to be instead of a test.
const child = "ASSAY_WIRE_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(child) {
	case "truth":
		serveTruth()
	case "busy":
		for range 4 {
			go func() {
				for n := 0; ; n++ {
					runtime.KeepAlive(n)
				}
			}()
		}
		io.Copy(io.Discard, os.Stdin) // until the parent is gone
	default:
		os.Exit(m.Run())
	}
}

// start runs a copy of the test binary as kind until the benchmark ends, and
// gives the first line it prints, if it is to print one.
func start(b *testing.B, kind string, prints bool) string {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), child+"="+kind)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	if !prints {
		return ""
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// The truth server's answers: 50 ms to the first chunk, 10 ms between chunks.
const (
	truthFirst = 50 * time.Millisecond
	truthGap   = 10 * time.Millisecond
	truthCount = 100
)

// monotonic is CLOCK_MONOTONIC, which processes share: Go's own monotonic reading,
// which needs no system call, from an origin on it.
func monotonic() int64 { return origin.ns + int64(time.Since(origin.at)) }

var origin = func() (o struct {
	at time.Time
	ns int64
}) {
	best := time.Duration(1 << 62)
	for range 1000 {
		before := time.Now()
		ns := clockNS(1)
		if took := time.Since(before); took < best {
			best, o.at, o.ns = took, before, ns-int64(took/2)
		}
	}
	return o
}()

func clockNS(id uintptr) int64 {
	var ts syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

// Truth is what really happened to one request, on CLOCK_MONOTONIC.
type Truth struct {
	Arrival int64   // the request's first segment, by the kernel's stamp; 0: it had none
	Writes  []int64 // just before each chunk was written
}

// writers is how many threads of the truth server write, each for its share of
// the streams: one alone cannot write 1,000 chunks in 10 ms.
const writers = 2

// truthServer answers requests after truthFirst, with truthGap between chunks, and
// notes when it really wrote.
type truthServer struct {
	mu     sync.Mutex
	truths map[string]*Truth // by path
	queues [writers][]*answer
	next   int
}

type answer struct {
	conn  net.Conn
	raw   *stamping // beneath conn
	truth *Truth
	due   int64
	done  chan struct{}
}

func serveTruth() {
	debug.SetGCPercent(400)
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, -10) // where we may: it is the clock of the others
	// Connections inherit the option, so that no segment can be there before it.
	stamped := net.ListenConfig{Control: func(_, _ string, rc syscall.RawConn) (err error) {
		rc.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1) })
		return err
	}}
	// The certificate of httptest, which its own client knows.
	model := httptest.NewTLSServer(http.NotFoundHandler())
	s := &truthServer{truths: map[string]*Truth{}}
	listen := func(secure *tls.Config) string {
		l, err := stamped.Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					os.Exit(1)
				}
				go s.handle(c.(*net.TCPConn), secure)
			}
		}()
		return l.Addr().String()
	}
	fmt.Println(listen(nil), listen(&tls.Config{Certificates: model.TLS.Certificates}))
	for i := range writers {
		go s.write(i)
	}
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func (s *truthServer) handle(tcp *net.TCPConn, secure *tls.Config) {
	defer tcp.Close()
	raw := &stamping{TCPConn: tcp}
	c := net.Conn(raw)
	if secure != nil {
		tc := tls.Server(raw, secure)
		if tc.Handshake() != nil {
			return
		}
		c = tc
	} else {
		raw.small = true
	}
	var first [1]byte
	if _, err := io.ReadFull(c, first[:]); err != nil {
		return
	}
	at := raw.last // of the read that the request's first byte came with
	raw.small = false
	in := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(first[:]), c), 1<<20)
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	if r.URL.Path == "/truth" {
		s.mu.Lock()
		b, _ := json.Marshal(s.truths)
		s.truths = map[string]*Truth{}
		s.mu.Unlock()
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(b), b)
		return
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	io.WriteString(c, chk)
	a := &answer{conn: c, raw: raw, truth: &Truth{Arrival: at, Writes: make([]int64, 0, truthCount)}, due: monotonic() + int64(truthFirst), done: make(chan struct{})}
	s.mu.Lock()
	s.truths[r.URL.Path] = a.truth
	s.queues[s.next] = append(s.queues[s.next], a)
	s.next = (s.next + 1) % writers
	s.mu.Unlock()
	<-a.done // the naive client gets no second request on this connection
}

// stamping is a connection that knows the kernel's stamp of its last read.
type stamping struct {
	*net.TCPConn
	small bool // read so few bytes that their stamp is that of one segment
	last  int64
	wrote int64 // when the last write began, on CLOCK_MONOTONIC
}

func (c *stamping) Write(p []byte) (int, error) {
	c.wrote = monotonic()
	return c.TCPConn.Write(p)
}

func (c *stamping) Read(p []byte) (int, error) {
	if c.small {
		p = p[:min(len(p), 16)]
	}
	b, at, err := recvStamped(c.TCPConn, p)
	if err != nil {
		return 0, err
	}
	if len(b) == 0 {
		return 0, io.EOF
	}
	c.last = at
	return len(b), nil
}

// recvStamped reads into b with the standard library's recvmsg; at is the kernel's
// stamp on CLOCK_MONOTONIC, 0: it had none.
func recvStamped(c *net.TCPConn, b []byte) (_ []byte, at int64, err error) {
	rc, err := c.SyscallConn()
	if err != nil {
		return nil, 0, err
	}
	rerr := rc.Read(func(fd uintptr) bool {
		oob := make([]byte, 64)
		var n, k int
		n, k, _, _, err = syscall.Recvmsg(int(fd), b, oob, 0)
		now, wall := monotonic(), clockNS(0)
		if err == syscall.EAGAIN {
			return false
		}
		if err != nil {
			return true
		}
		msgs, _ := syscall.ParseSocketControlMessage(oob[:k])
		for _, m := range msgs {
			if m.Header.Type == syscall.SCM_TIMESTAMPNS {
				at = now - (wall - int64(binary.NativeEndian.Uint64(m.Data))*1e9 - int64(binary.NativeEndian.Uint64(m.Data[8:])))
			}
		}
		b = b[:n]
		return true
	})
	if err == nil {
		err = rerr
	}
	return b, at, err
}

// write sends the chunks that are due, the earliest first, of one writer's share.
func (s *truthServer) write(writer int) {
	runtime.LockOSThread()
	var chunks [truthCount][]byte
	for i := range chunks {
		chunks[i] = []byte(textOf(i))
	}
	end := []byte(chunkOf("data: [DONE]\n\n") + "0\r\n\r\n")
	var open due
	for {
		s.mu.Lock()
		for _, a := range s.queues[writer] {
			heap.Push(&open, a)
		}
		s.queues[writer] = s.queues[writer][:0]
		s.mu.Unlock()
		next := monotonic() + int64(time.Millisecond)
		for len(open) > 0 && open[0].due <= monotonic() {
			a := open[0]
			i := len(a.truth.Writes)
			if i == truthCount {
				a.conn.Write(end)
				close(a.done)
				heap.Pop(&open)
				continue
			}
			a.conn.Write(chunks[i])
			now := a.raw.wrote // what TLS makes of the chunk is ready
			a.truth.Writes = append(a.truth.Writes, now)
			// On schedule, so that the rate holds; but chunks that a late server
			// sends in one go are one arrival to any client.
			a.due = max(a.due+int64(truthGap), now+int64(truthGap)/2)
			heap.Fix(&open, 0)
		}
		if len(open) > 0 {
			next = min(next, open[0].due)
		}
		if d := next - monotonic(); d > 0 {
			ts := syscall.NsecToTimespec(d)
			syscall.Nanosleep(&ts, nil)
		}
	}
}

// due is a heap of answers, the one whose chunk is due first on top.
type due []*answer

func (d due) Len() int           { return len(d) }
func (d due) Less(i, j int) bool { return d[i].due < d[j].due }
func (d due) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *due) Push(a any)        { *d = append(*d, a.(*answer)) }
func (d *due) Pop() any {
	a := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return a
}

// textOf is chunk i of an answer as servers send it, in a chunk of its own.
func textOf(i int) string {
	return chunkOf(fmt.Sprintf(`data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"truth","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}]}`+"\n\n", i))
}

// contentOf is the text of an event of textOf; "": none.
func contentOf(data []byte) string {
	var c struct {
		Choices []struct{ Delta struct{ Content string } }
	}
	if json.Unmarshal(data, &c) != nil || len(c.Choices) == 0 {
		return ""
	}
	return c.Choices[0].Delta.Content
}

// naive reads a stream line by line, decodes each and only then looks at the clock.
func naive(b *testing.B, body io.Reader) (at []time.Time) {
	in := bufio.NewReader(body)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return at
		}
		if err != nil {
			b.Error(err)
			return at
		}
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && contentOf(data) != "" {
			at = append(at, time.Now())
		}
	}
}

// seen is what a client believes of one request, on CLOCK_MONOTONIC.
type seen struct {
	start  int64
	chunks []int64
	shared []bool
	kernel bool
}

// bench is one truth server and the clients measured against it.
type bench struct {
	addr   string
	client map[string]*Client
	naive  *http.Client
	clock  timing.Clock
	offset int64 // CLOCK_MONOTONIC minus the clock
	next   int
}

func newBench(b *testing.B) *bench {
	addr, secure, _ := strings.Cut(start(b, "truth", true), " ")
	w := &bench{addr: addr, clock: timing.NewClock(), client: map[string]*Client{}}
	w.naive = &http.Client{Transport: &http.Transport{}}
	plain := func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		return struct{ net.Conn }{c}, err // no longer a *net.TCPConn: no kernel stamps
	}
	model := httptest.NewTLSServer(http.NotFoundHandler()) // has the truth server's certificate
	defer model.Close()
	roots := x509.NewCertPool()
	roots.AddCert(model.Certificate())
	for name, c := range map[string]Config{"kernel": {URL: "http://" + addr}, "user": {URL: "http://" + addr, Dial: plain}, "tls": {URL: "https://" + secure, Roots: roots}} {
		c, err := New(c)
		if err != nil {
			b.Fatal(err)
		}
		w.client[name] = c
	}
	best := int64(1 << 62)
	for range 1000 {
		t0 := monotonic()
		now := w.clock.Now()
		if took := monotonic() - t0; took < best {
			best, w.offset = took, t0+took/2-int64(now)
		}
	}
	return w
}

// wave sends n requests at once through the client of the given name, and
// gives what it saw of each beside the truth.
func (w *bench) wave(b *testing.B, name string, n int, picture []byte) (good []seen, truths []Truth) {
	got := make([]seen, n)
	buffers := make([]*Buffer, n)
	first := w.next
	w.next += n
	path := func(i int) string { return fmt.Sprintf("/%d", first+i) }
	body := w.body(picture)
	runtime.GC()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if name == "naive" {
				got[i] = w.naively(b, path(i), picture)
				return
			}
			rec := timing.NewRecorder(w.clock)
			buffer, err := w.client[name].Stream(context.Background(), path(i), body, backends.Timeouts{FirstContent: time.Minute, Stall: time.Minute}, rec, nil)
			if err != nil {
				b.Error(err)
				return
			}
			begin, _ := rec.Trace().At(timing.Start)
			got[i] = seen{start: int64(begin) + w.offset, kernel: buffer.Stamps == timing.StampsKernel}
			buffers[i] = buffer
		})
	}
	wg.Wait()
	// Decoded after the wave: its streams end together, as those of a run do not,
	// and the first ones decoded would take the cores from the last ones read.
	for i, buffer := range buffers {
		if buffer == nil {
			continue
		}
		for e := range buffer.Events() {
			if contentOf(e.Data) != "" {
				got[i].chunks = append(got[i].chunks, int64(e.At)+w.offset)
				got[i].shared = append(got[i].shared, e.Shared)
			}
		}
	}
	reply, err := w.client["user"].Get(context.Background(), "/truth")
	if err != nil {
		b.Fatal(err)
	}
	var all map[string]Truth
	if err := json.Unmarshal(reply.Body, &all); err != nil {
		b.Fatal(err)
	}
	for i := range got {
		tr := all[path(i)]
		if tr.Arrival == 0 {
			b.Logf("%s: a request without the server's stamp of arrival is left out", name)
			continue
		}
		if len(tr.Writes) != truthCount || len(got[i].chunks) != truthCount || got[i].kernel != (name == "kernel" || name == "tls") {
			b.Fatalf("%s: %d chunks written, %d seen, kernel stamps %t", name, len(tr.Writes), len(got[i].chunks), got[i].kernel)
		}
		good, truths = append(good, got[i]), append(truths, tr)
	}
	return good, truths
}

func (w *bench) body(picture []byte) []byte {
	b, err := json.Marshal(map[string]any{"model": "truth", "stream": true, "messages": []any{map[string]any{"role": "user",
		"content": "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture)}}})
	if err != nil {
		panic(err)
	}
	return b
}

// naively encodes the body inside the clock, as clients that are handed a
// request do.
func (w *bench) naively(b *testing.B, path string, picture []byte) seen {
	begin := time.Now()
	resp, err := w.naive.Post("http://"+w.addr+path, "application/json", bytes.NewReader(w.body(picture)))
	if err != nil {
		b.Error(err)
		return seen{}
	}
	defer resp.Body.Close()
	g := seen{start: int64(w.clock.At(begin)) + w.offset}
	for _, at := range naive(b, resp.Body) {
		g.chunks = append(g.chunks, int64(w.clock.At(at))+w.offset)
		g.shared = append(g.shared, false)
	}
	return g
}

// ttftError is (first content - Start) - (first write - arrival of the request), in ns.
func ttftError(g seen, t Truth) int64 { return g.chunks[0] - g.start - (t.Writes[0] - t.Arrival) }

// quantile of v, sorted, in microseconds.
func quantile(v []int64, q float64) float64 {
	return float64(v[int(q*float64(len(v)-1)+.5)]) / 1e3
}

// result is the sizes of the errors of one client over some waves, in ns.
type result struct {
	ttft, chunk []int64 // chunk: of chunks that do not share a read
	gaps        []int64 // between the truth server's own writes
	shared, n   int
	mustHold    bool // the truth server has cores enough to keep its rate
}

func (r *result) add(got []seen, truths []Truth) {
	for i, g := range got {
		for k := range truths[i].Writes[1:] {
			r.gaps = append(r.gaps, truths[i].Writes[k+1]-truths[i].Writes[k])
		}
		r.ttft = append(r.ttft, max(ttftError(g, truths[i]), -ttftError(g, truths[i])))
		for k, at := range g.chunks {
			r.n++
			if g.shared[k] {
				r.shared++
				continue
			}
			late := at - truths[i].Writes[k]
			r.chunk = append(r.chunk, max(late, -late))
		}
	}
}

// The truth server's rate has slipped where its mean gap is over 10.5 ms or its
// median over 11 ms: such a run says nothing of so many streams at 10 ms.
const (
	slippedMean   = 10.5
	slippedMedian = 11
)

func (r *result) report(b *testing.B) {
	slices.Sort(r.ttft)
	slices.Sort(r.chunk)
	slices.Sort(r.gaps)
	for range b.N {
	}
	b.ReportMetric(0, "ns/op")
	sum := int64(0)
	for _, g := range r.gaps {
		sum += g
	}
	mean, median := float64(sum)/float64(len(r.gaps))/1e6, quantile(r.gaps, .5)/1e3
	b.ReportMetric(mean, "server-gap-mean-ms")
	b.ReportMetric(median, "server-gap-p50-ms")
	b.ReportMetric(quantile(r.gaps, .99)/1e3, "server-gap-p99-ms")
	b.ReportMetric(float64(len(r.ttft)), "N")
	if r.mustHold && (mean > slippedMean || median > slippedMedian) {
		// No figure of this row is printed but the server's own. The benchmark goes on: what it
		// measures is no gate, and a machine that is too small for one row is not for all.
		b.ReportMetric(1, "refused")
		b.Logf("refused: the truth server held a mean gap of %.2f ms and a median of %.2f ms, not 10 ms; the errors of this run are no figures", mean, median)
		return
	}
	for _, q := range []float64{.5, .95, .99} {
		b.ReportMetric(quantile(r.ttft, q), fmt.Sprintf("ttft-p%.0f-us", 100*q))
		b.ReportMetric(quantile(r.chunk, q), fmt.Sprintf("chunk-p%.0f-us", 100*q))
	}
	b.ReportMetric(100*float64(r.shared)/float64(r.n), "shared-%")
}

// plainClients are without TLS, which the bars of pictures are for.
var clients, plainClients = []string{"kernel", "user", "tls", "naive"}, []string{"kernel", "user", "naive"}

// BenchmarkArrival is the error of the first content and of each chunk against
// a truth server in another process, in microseconds; the clients take turns.
func BenchmarkArrival(b *testing.B) {
	w := newBench(b)
	measure := func(name string, streams, waves int) {
		b.Run(fmt.Sprintf("%s=%d", name, streams), func(b *testing.B) {
			results := map[string]*result{}
			for _, c := range clients {
				results[c] = &result{mustHold: name == "streams"}
			}
			for range waves {
				for _, c := range clients {
					results[c].add(w.wave(b, c, streams, nil))
				}
			}
			for _, c := range clients {
				b.Run(c, results[c].report)
			}
		})
	}
	measure("streams", 1, 12)
	measure("streams", 8, 6)
	measure("streams", 32, 4)
	measure("streams", 100, 3)
	measure("streams", 500, 2)
	measure("streams", 1000, 2)
	start(b, "busy", false)
	measure("busy-cores-streams", 1, 12)
	measure("busy-cores-streams", 8, 6)
}

// BenchmarkArrivalPicture is the slope of the error of the first content over
// the size of the picture, in milliseconds per megabyte.
func BenchmarkArrivalPicture(b *testing.B) {
	w := newBench(b)
	noise := make([]byte, 12<<20)
	x := uint64(1)
	for i := range noise {
		x = x*6364136223846793005 + 1442695040888963407
		noise[i] = byte(x >> 56)
	}
	for _, streams := range []int{1, 8} {
		type point struct{ mb, ms float64 }
		points := map[string][]point{}
		for range 2 {
			for _, mb := range []int{0, 1, 2, 4, 8, 12} {
				for _, c := range plainClients {
					got, truths := w.wave(b, c, streams, noise[:mb<<20])
					for i := range got {
						points[c] = append(points[c], point{float64(mb), float64(ttftError(got[i], truths[i])) / 1e6})
					}
				}
			}
		}
		for _, c := range plainClients {
			b.Run(fmt.Sprintf("streams=%d/%s", streams, c), func(b *testing.B) {
				for range b.N {
				}
				var n, sx, sy, sxx, sxy float64
				for _, p := range points[c] {
					n, sx, sy, sxx, sxy = n+1, sx+p.mb, sy+p.ms, sxx+p.mb*p.mb, sxy+p.mb*p.ms
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric((n*sxy-sx*sy)/(n*sxx-sx*sx), "ms/MB")
			})
		}
	}
}
