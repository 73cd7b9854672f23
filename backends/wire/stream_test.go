package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
	"assay/timing"
)

// serve gives a Dial whose connections are answered by answer, in memory. The
// request has been read when answer is called.
func serve(answer func(c net.Conn, r *http.Request, body []byte)) Dial {
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			r, err := http.ReadRequest(bufio.NewReader(server))
			if err != nil {
				return
			}
			body, err := io.ReadAll(r.Body)
			if err == nil {
				answer(server, r, body)
			}
		}()
		return client, nil
	}
}

// says writes each part at once, one millisecond after the other.
func says(parts ...string) Dial {
	return serve(func(c net.Conn, _ *http.Request, _ []byte) {
		gone := hungUp(c)
		for _, p := range parts {
			select {
			case <-time.After(time.Millisecond):
			case <-gone:
				return
			}
			if _, err := io.WriteString(c, p); err != nil {
				return
			}
		}
	})
}

// hungUp is closed when the client has hung up.
func hungUp(c io.Reader) <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		io.Copy(io.Discard, c)
		close(gone)
	}()
	return gone
}

// settle lets the servers of a bubble notice that the client has gone.
func settle() { <-time.After(time.Minute) }

// silence writes the parts and then nothing until the client hangs up.
func silence(parts ...string) Dial {
	return serve(func(c net.Conn, _ *http.Request, _ []byte) {
		for _, p := range parts {
			io.WriteString(c, p)
		}
		io.Copy(io.Discard, c)
	})
}

const (
	sse  = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	open = sse + "\r\n"
	chk  = sse + "Transfer-Encoding: chunked\r\n\r\n"
)

func chunkOf(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

func client(t *testing.T, c Config) *Client {
	t.Helper()
	if c.URL == "" {
		c.URL = "http://server.invalid:1"
	}
	cl, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

// post streams once, checks that an error has its kind, and returns all there is.
func post(t *testing.T, d Dial, to backends.Timeouts, kind backends.Kind) (*Buffer, timing.Trace, *backends.Error) {
	t.Helper()
	rec := timing.NewRecorder(timing.NewClock())
	buffer, err := client(t, Config{Dial: d}).Stream(t.Context(), "/p", []byte(`{"a":1}`), to, rec, nil)
	var e *backends.Error
	if kind == "" {
		if err != nil {
			t.Fatalf("error %v", err)
		}
	} else if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("error %v, want one of kind %s", err, kind)
	}
	return buffer, rec.Trace(), e
}

func events(buffer *Buffer) (out []string) {
	for e := range buffer.Events() {
		out = append(out, string(e.Data))
	}
	return out
}

func TestFramingsGiveTheSameBody(t *testing.T) {
	const a, b = "data: one\n\n", "data: two\n\ndata: [DONE]\n\n"
	want := []string{"one", "two", "[DONE]"}
	for name, parts := range map[string][]string{
		"chunked":           {chk, chunkOf(a), chunkOf(b), "0\r\n\r\n"},
		"chunks in one":     {chk + chunkOf(a) + chunkOf(b) + "0\r\n\r\n"},
		"chunk cut":         {chk, "b\r\nda", "ta: one\n", "\n\r", "\n1", "9;x=y\r\n" + b[:4], b[4:], "\r\n0\r\nTrailer: x\r\n", "\r\n"},
		"head cut":          {chk[:7], chk[7:40], chk[40:] + chunkOf(a+b) + "0\r\n\r\n"},
		"length":            {sse + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(a+b)), a, b},
		"until close":       {open, a + b},
		"HTTP/1.0":          {"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + a, b},
		"interim reply":     {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", open + a + b},
		"bare line ends":    {strings.ReplaceAll(open, "\r", "") + a + b},
		"bytes behind":      {chk + chunkOf(a+b) + "0\r\n\r\nHTTP/1.1 200 OK\r\n"},
		"code point halved": {chk, chunkOf(a + ": \xc3"), chunkOf("\xa9\n" + b), "0\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				buffer, tr, _ := post(t, says(parts...), backends.Timeouts{}, "")
				if got := events(buffer); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("events %q, want %q", got, want)
				}
				for _, e := range []timing.Event{timing.Start, timing.Sent, timing.FirstByte, timing.End} {
					if _, ok := tr.At(e); !ok {
						t.Errorf("no %s", e)
					}
				}
				if at, _ := tr.At(timing.FirstByte); at != time.Millisecond {
					t.Errorf("first byte at %v", at)
				}
				if buffer.Stamps != timing.StampsUser {
					t.Errorf("stamps %q in memory", buffer.Stamps)
				}
			})
		})
	}
}

func TestArrivalIsThatOfTheLastByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		buffer, tr, _ := post(t, says(chk, // 1 ms
			chunkOf("data: a\n\n"),            // 2
			chunkOf("data: b\n\ndata: c\n\n"), // 3: b shares with c
			"12\r\ndata: ",                    // 4
			"d\r\n\r\nda",                     // 5: d shares with the beginning of e
			"ta: e",                           // 6: the chunk is full
			"\r\n"+chunkOf("\n\n")+chunkOf("data: f\n"), // 7: e ends here, f behind it
			chunkOf("\ndata: g\n\n")+"0\r\n\r\n",        // 8: f is an event now, g behind it, and the reply ends
		), backends.Timeouts{}, "")
		want := []struct {
			data   string
			at     int
			shared bool
		}{{"a", 2, false}, {"b", 3, true}, {"c", 3, false}, {"d", 5, true}, {"e", 7, true}, {"f", 8, true}, {"g", 8, true}}
		i := 0
		for e := range buffer.Events() {
			w := want[i]
			if string(e.Data) != w.data || e.At != time.Duration(w.at)*time.Millisecond || e.Shared != w.shared || e.Lag != 0 {
				t.Errorf("event %d: %q %+v, want %+v", i, e.Data, e.Arrival, w)
			}
			i++
		}
		if i != len(want) {
			t.Errorf("%d events, want %d", i, len(want))
		}
		if at, _ := tr.At(timing.End); at != 8*time.Millisecond {
			t.Errorf("end at %v", at)
		}
	})
}

// TestOneKindOfStamps: a buffer on which any read lacks the kernel's stamp has
// our own stamps throughout, and says so.
func TestOneKindOfStamps(t *testing.T) {
	for _, second := range []bool{true, false} {
		s := &stream{buffer: &Buffer{Body: make([]byte, 0, 1<<20)}, content: func() {}}
		for i, kernel := range []bool{true, second} {
			copy(s.buffer.room(), "data: x\n\n")
			a := arrival{at: time.Duration(10 * i), kernel: kernel}
			if kernel {
				a.lag = 3
			}
			if _, err := s.take(9, a); err != nil {
				t.Fatal(err)
			}
		}
		var got []Arrival
		for e := range s.buffer.Events() {
			got = append(got, e.Arrival)
		}
		want, stamps := []Arrival{{At: 0, Lag: 3}, {At: 10, Lag: 3}}, timing.StampsKernel
		if !second {
			want, stamps = []Arrival{{At: 3}, {At: 10}}, timing.StampsUser
		}
		if !slices.Equal(got, want) || s.buffer.Stamps != stamps {
			t.Errorf("second read stamped by the kernel: %t: %+v, %s", second, got, s.buffer.Stamps)
		}
	}
}

// TestHazards is one row for each way in which a stream goes wrong.
func TestHazards(t *testing.T) {
	to := backends.Timeouts{Connect: time.Second, FirstContent: 10 * time.Second, Stall: 3 * time.Second, Total: time.Minute}
	reset := func(parts ...string) Dial {
		return func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := says(parts...)(ctx, network, addr)
			return resetConn{c}, err
		}
	}
	for name, h := range map[string]struct {
		dial Dial
		kind backends.Kind
		at   time.Duration // when the failure is known; 0: any
		says string
	}{
		"refused connection": {func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}, backends.ErrUnreachable, 0, "connection refused; is the server running at server.invalid:1?"},
		"no connection in time": {func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, backends.ErrUnreachable, time.Second, "no connection within 1s"},
		"closed at once":         {says(), backends.ErrTruncated, 0, "before any reply"},
		"closed in the head":     {says(open[:20]), backends.ErrTruncated, 0, "before any reply"},
		"closed in a chunk":      {says(chk, "ff\r\ndata"), backends.ErrTruncated, 0, "after 4 bytes"},
		"no last chunk":          {says(chk, chunkOf("data: x\n\n")), backends.ErrTruncated, 0, "after 9 bytes"},
		"short of its length":    {says(sse + "Content-Length: 99\r\n\r\nabc"), backends.ErrTruncated, 0, "after 3 bytes"},
		"reset in the head":      {reset(), backends.ErrTruncated, 0, "connection reset by peer"},
		"reset in the body":      {reset(chk, chunkOf("data: x\n\n")), backends.ErrTruncated, 0, "connection reset by peer"},
		"reset where it may end": {reset(open, "data: x\n\n"), backends.ErrTruncated, 0, "connection reset by peer"},
		"no reply":               {silence(), backends.ErrStalled, 10 * time.Second, "no content within 10s"},
		"head only":              {silence(chk), backends.ErrStalled, 10 * time.Second, "no content within 10s"},
		"half a line":            {silence(open, "data: x"), backends.ErrStalled, 10 * time.Second, "no content within 10s"},
		"stall":                  {silence(open, "data: x\n\n"), backends.ErrStalled, 3 * time.Second, "nothing more within 3s"},
		"stall in a chunk":       {silence(chk, "ff\r\ndata: x\n\n"), backends.ErrStalled, 3 * time.Second, "nothing more within 3s"},
		"slow drip": {serve(func(c net.Conn, _ *http.Request, _ []byte) {
			io.WriteString(c, open)
			for {
				if _, err := io.WriteString(c, "data: x\n\n"); err != nil {
					return
				}
				<-time.After(time.Second)
			}
		}), backends.ErrStalled, time.Minute, "longer than 1m0s in all"},
		"slow drip of the head": {serve(func(c net.Conn, _ *http.Request, _ []byte) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for {
				if _, err := io.WriteString(c, "X: y\r\n"); err != nil {
					return
				}
				<-time.After(time.Second)
			}
		}), backends.ErrStalled, 10 * time.Second, "no content within 10s"},
		"endless head":       {endless("HTTP/1.1 200 OK\r\n", "X: "+strings.Repeat("y", 4<<10)+"\r\n"), backends.ErrMalformed, 0, "longer than 1048576 bytes"},
		"endless line":       {endless(open+"data: ", strings.Repeat("x", 1<<20)), backends.ErrMalformed, 0, "a line is longer than 8388608 bytes"},
		"endless reply":      {endless(open, strings.Repeat("data: 0123456789abcdef\n\n", 1<<16)), backends.ErrMalformed, 0, "longer than 67108864 bytes"},
		"endless chunk size": {endless(chk, strings.Repeat("0", 1<<10)), backends.ErrMalformed, 0, "longer than 4096 bytes"},
		"bad chunk size":     {says(chk, "zz\r\n"), backends.ErrMalformed, 0, `bad chunk size "zz"`},
		"chunk without end":  {says(chk, "1\r\nabc\r\n"), backends.ErrMalformed, 0, "does not end where its size says"},
		"negative chunk":     {says(chk, "-1\r\n"), backends.ErrMalformed, 0, "bad chunk size"},
		"not HTTP":           {silence("SSH-2.0-OpenSSH\r\n"), backends.ErrMalformed, 0, "is this the right port?"},
		"not HTTP, short":    {silence("HI"), backends.ErrMalformed, 0, `it begins with "HI"`},
		"bad head":           {says("HTTP/1.1 two hundred\r\n\r\n"), backends.ErrMalformed, 0, "cannot be read"},
		"redirect": {says("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://elsewhere.invalid/\r\nContent-Length: 0\r\n\r\n"),
			backends.ErrRefused, 0, "redirects to http://elsewhere.invalid/; redirects are not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // fails where a goroutine is left behind
				began := time.Now()
				_, tr, e := post(t, h.dial, to, h.kind)
				if took := time.Since(began); h.at != 0 && took != h.at {
					t.Errorf("given up after %v, want %v", took, h.at)
				}
				if !strings.Contains(e.Error(), h.says) {
					t.Errorf("error %q does not say %q", e, h.says)
				}
				if !strings.HasPrefix(e.Error(), "POST http://server.invalid:1/p: ") {
					t.Errorf("error %q does not say what was attempted", e)
				}
				sent := h.kind != backends.ErrUnreachable
				if _, ok := tr.At(timing.Start); ok != sent || (string(e.Sent) == `{"a":1}`) != sent {
					t.Errorf("started %t, sent %q", ok, e.Sent)
				}
				if _, ok := tr.At(timing.End); ok != sent {
					t.Errorf("end marked: %t", ok)
				}
				settle()
			})
		})
	}
}

// resetConn ends the way a TCP connection does whose peer has died.
type resetConn struct{ net.Conn }

func (c resetConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == io.EOF {
		err = &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	}
	return n, err
}

// endless writes head and then part until the client has had enough.
func endless(head, part string) Dial {
	return serve(func(c net.Conn, _ *http.Request, _ []byte) {
		_, err := io.WriteString(c, head)
		for err == nil {
			_, err = io.WriteString(c, part)
		}
	})
}

func TestWhatArrivedIsKeptBesideTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		buffer, _, _ := post(t, says(chk, chunkOf("data: x\n\n")+"5\r\nda"), backends.Timeouts{}, backends.ErrTruncated)
		if buffer == nil || string(buffer.Body) != "data: x\n\nda" || fmt.Sprint(events(buffer)) != "[x]" {
			t.Errorf("buffer %+v", buffer)
		}
	})
}

func TestScanDecidesWhenContentIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := serve(func(c net.Conn, _ *http.Request, _ []byte) {
			io.WriteString(c, open+"data: role\n\n: ping\n")
			<-time.After(4 * time.Second)
			io.WriteString(c, "data: wo")
			io.WriteString(c, "rd\n\nda")
			<-time.After(4 * time.Second)
			io.WriteString(c, "ta: more\n\n")
			io.Copy(io.Discard, c)
		})
		var lines []string
		scan := func(line []byte) bool {
			lines = append(lines, string(line))
			return bytes.Contains(line, []byte("word"))
		}
		began := time.Now()
		rec := timing.NewRecorder(timing.NewClock())
		_, err := client(t, Config{Dial: d}).Stream(t.Context(), "/p", nil, backends.Timeouts{FirstContent: 5 * time.Second, Stall: 5 * time.Second}, rec, scan)
		if !errors.Is(err, backends.ErrStalled) || !strings.Contains(err.Error(), "nothing more within 5s") {
			t.Errorf("error %v", err)
		}
		// Content at 4 s, the last read at 8 s, five seconds of nothing after it.
		if took := time.Since(began); took != 13*time.Second {
			t.Errorf("given up after %v, want 13s", took)
		}
		settle()
		if fmt.Sprintf("%q", lines) != `["data: role" ": ping" "data: word"]` {
			t.Errorf("lines looked at: %q", lines)
		}
	})
}

func TestCancelledByUs(t *testing.T) {
	why := errors.New("the run was interrupted")
	for name, d := range map[string]Dial{
		"dialling": func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() },
		"writing":  func(context.Context, string, string) (net.Conn, error) { c, _ := net.Pipe(); return c, nil },
		"waiting":  silence(),
		"reading":  silence(open, "data: x\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(why) })
				rec := timing.NewRecorder(timing.NewClock())
				_, err := client(t, Config{Dial: d}).Stream(ctx, "/p", []byte("{}"), backends.Timeouts{FirstContent: time.Hour, Stall: time.Hour}, rec, nil)
				if !errors.Is(err, backends.ErrCancelled) || !errors.Is(err, why) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

func TestAnAnswerBeforeTheBodyIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() {
				io.ReadFull(server, make([]byte, 10)) // and never the rest
				io.WriteString(server, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
			}()
			return client, nil
		}
		rec := timing.NewRecorder(timing.NewClock())
		buffer, err := client(t, Config{Dial: d}).Stream(t.Context(), "/p", make([]byte, 1<<20), backends.Timeouts{}, rec, nil)
		if err != nil || buffer.Status != 413 || string(buffer.Body) != "big" {
			t.Fatalf("%+v, %v", buffer, err)
		}
		if at, ok := rec.Trace().At(timing.Sent); ok {
			t.Errorf("sent at %v, but it never was", at)
		}
	})
}

func TestTheClockStartsAfterTheConnectionIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := serve(func(c net.Conn, _ *http.Request, _ []byte) { io.WriteString(c, open+"data: x\n\n") })
		slow := func(ctx context.Context, network, addr string) (net.Conn, error) {
			<-time.After(time.Second)
			return answer(ctx, network, addr)
		}
		_, tr, _ := post(t, slow, backends.Timeouts{FirstContent: time.Millisecond}, "")
		if at, _ := tr.At(timing.Start); at != time.Second {
			t.Errorf("start at %v, want 1s", at)
		}
	})
}

func TestTheRequestAsTheServerSeesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got *http.Request
		var body []byte
		d := serve(func(c net.Conn, r *http.Request, b []byte) {
			got, body = r, b
			io.WriteString(c, open)
		})
		cl := client(t, Config{URL: "http://server.invalid:1/base/", Key: "sk-1", Dial: d})
		if _, err := cl.Stream(t.Context(), "/p?q=1", []byte(`{"a":1}`), backends.Timeouts{}, timing.NewRecorder(timing.NewClock()), nil); err != nil {
			t.Fatal(err)
		}
		if got.Method != "POST" || got.RequestURI != "/base/p?q=1" || got.Host != "server.invalid:1" || string(body) != `{"a":1}` || !got.Close || len(got.TransferEncoding) > 0 {
			t.Errorf("request %+v, body %s", got, body)
		}
		for k, v := range map[string]string{"Content-Type": "application/json", "Authorization": "Bearer sk-1", "User-Agent": "assay", "Accept": "*/*", "Accept-Encoding": ""} {
			if got.Header.Get(k) != v {
				t.Errorf("%s: %q, want %q", k, got.Header.Get(k), v)
			}
		}
	})
}
