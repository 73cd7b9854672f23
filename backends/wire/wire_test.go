package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
	"assay/timing"
)

func TestNewRefusesWhatIsNoBase(t *testing.T) {
	for url, says := range map[string]string{
		"":                       "want http://HOST:PORT",
		"127.0.0.1:8080":         "did you mean http://127.0.0.1:8080?",
		"localhost:8080":         "want http://HOST:PORT",
		"ftp://host/":            "want http://HOST:PORT",
		"http://":                "want http://HOST:PORT",
		"http://me:geheim@host/": "neither user",
		"http://host/?key=1":     "neither user",
		"http://host/#x":         "neither user",
		"http://[::1":            "base URL",
	} {
		_, err := New(Config{URL: url})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: error %v, want %q", url, err, says)
		}
	}
	if _, err := New(Config{URL: "http://host", Key: "sk-secret\n"}); err == nil || strings.Contains(err.Error(), "sk-secret") {
		t.Errorf("key with a line break: %v", err)
	}
	c, err := New(Config{URL: "https://host:1/v1/"})
	if err != nil || c.URL() != "https://host:1" {
		t.Errorf("%v, %v", c, err)
	}
}

// TestTheKeyIsInNoError lets a server echo the key in every place.
func TestTheKeyIsInNoError(t *testing.T) {
	const key = "sk-very-secret"
	echo := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("authorization %q", r.Header.Get("Authorization"))
		}
		w.Header().Set("Location", "/?"+key)
		w.WriteHeader(map[bool]int{true: 307, false: 401}[r.URL.Path == "/redirect"])
		fmt.Fprint(w, "bad key "+key)
	}
	srv := httptest.NewServer(http.HandlerFunc(echo))
	defer srv.Close()
	c := client(t, Config{URL: srv.URL, Key: key})
	ctx := context.Background()
	for _, path := range []string{"/x", "/redirect"} {
		buffer, err := c.Stream(ctx, path, []byte("{}"), backends.Timeouts{}, timing.NewRecorder(timing.NewClock()), nil)
		if err == nil {
			err = buffer.Fail(backends.ErrRefused, string(buffer.Body), "")
		}
		reply, gerr := c.Get(ctx, path)
		if gerr == nil {
			gerr = reply.Fail(backends.ErrRefused, string(reply.Body), "")
		}
		for _, err := range []error{err, gerr} {
			var e *backends.Error
			if !errors.As(err, &e) || !errors.Is(err, backends.ErrRefused) {
				t.Fatalf("%s: %v", path, err)
			}
			if s := fmt.Sprintf("%+v %s", *e, e.Sent); strings.Contains(s, key) || !strings.Contains(s, "[key]") {
				t.Errorf("%s: %s", path, s)
			}
		}
	}
}

// TestTheKeyIsInNoReply lets a server give the key back where only the reader of
// the reply, or the decoder of its parts, speaks of it.
func TestTheKeyIsInNoReply(t *testing.T) {
	const key = `sk/"very<secret>&`
	for name, reply := range map[string]string{
		"header":      "HTTP/1.1 200 OK\r\nBearer " + key + "\r\n\r\n",
		"status line": "HTTP/1.1 200" + key + "\r\n\r\n",
		"event":       "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ndata: " + key + "\n\n",
		"JSON":        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ndata: " + fmt.Sprintf("%q", key) + "\n\n",
		"HTML-safe":   "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ndata: " + `sk/\"very\u003csecret\u003e\u0026` + "\n\n",
		"PHP's JSON":  "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ndata: " + strings.ReplaceAll(key, "/", `\/`) + "\n\n",
		"URL":         "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ndata: " + url.QueryEscape(key) + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			dial := func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				go func() {
					defer far.Close()
					if _, err := http.ReadRequest(bufio.NewReader(far)); err == nil {
						io.WriteString(far, reply)
					}
				}()
				return near, nil
			}
			c := client(t, Config{URL: "http://h", Key: key, Dial: dial})
			var said []string
			buffer, err := c.Stream(context.Background(), "/x", nil, backends.Timeouts{}, timing.NewRecorder(timing.NewClock()), nil)
			if err != nil {
				said = append(said, fmt.Sprintf("%v, %+v", err, err))
			} else {
				for e := range buffer.Events() {
					said = append(said, string(e.Data))
				}
				for l := range buffer.Lines() {
					said = append(said, string(l.Data))
				}
			}
			got, err := c.Get(context.Background(), "/x")
			if err != nil {
				said = append(said, fmt.Sprintf("%v, %+v", err, err))
			} else {
				said = append(said, string(got.Body))
			}
			for _, s := range said {
				if strings.Contains(s, "secret") || !strings.Contains(s, "[key]") {
					t.Errorf("%s", s)
				}
			}
		})
	}
}

// TestAKeyThatIsAWordStaysInAnswers: what is sent to a server without keys may be
// any word.
func TestAKeyThatIsAWordStaysInAnswers(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "data: none of them\n\n")
	}))
	defer srv.Close()
	c := client(t, Config{URL: srv.URL, Key: "none"})
	buffer, err := c.Stream(context.Background(), "/x", nil, backends.Timeouts{}, timing.NewRecorder(timing.NewClock()), nil)
	if err != nil {
		t.Fatal(err)
	}
	for e := range buffer.Events() {
		if string(e.Data) != "none of them" {
			t.Errorf("%s", e.Data)
		}
	}
	if err := buffer.Fail(backends.ErrRefused, string(buffer.Body), ""); strings.Contains(err.Error(), "none") {
		t.Error(err)
	}
	got, err := c.Get(context.Background(), "/x")
	if err != nil || !strings.Contains(string(got.Body), "none of them") {
		t.Errorf("%v, %v", got, err)
	}
}

func TestGetAndPost(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/phantom" {
			w.Header().Set(backends.PhantomHeader, "1")
		}
		if r.URL.Path == "/long" {
			w.Write(make([]byte, maxReply+1))
			return
		}
		w.WriteHeader(418)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"), b)
	}))
	defer srv.Close()
	c := client(t, Config{URL: srv.URL})
	got, err := c.Get(context.Background(), "/x")
	if err != nil || got.Status != 418 || string(got.Body) != "GET /x  " || got.Synthetic() || got.Op != "GET "+srv.URL+"/x" {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = c.Post(context.Background(), "/phantom", []byte("{}"))
	if err != nil || string(got.Body) != "POST /phantom application/json {}" || !got.Synthetic() {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err = c.Get(context.Background(), "/long"); !errors.Is(err, backends.ErrMalformed) {
		t.Errorf("too long a reply: %v", err)
	}
}

func TestUntimedFailures(t *testing.T) {
	for name, h := range map[string]struct {
		dial Dial
		kind backends.Kind
		at   time.Duration
	}{
		"refused": {func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
		}, backends.ErrUnreachable, 0},
		"silent":   {silence(), backends.ErrStalled, replyTimeout},
		"in body":  {silence("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), backends.ErrStalled, replyTimeout},
		"cut":      {says("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), backends.ErrTruncated, 0},
		"closed":   {says(), backends.ErrTruncated, 0},
		"garbage":  {says("hello, this is no HTTP\r\n\r\n"), backends.ErrMalformed, 0},
		"redirect": {says("HTTP/1.1 301 Moved\r\nLocation: http://elsewhere.invalid/\r\nContent-Length: 0\r\n\r\n"), backends.ErrRefused, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				c := client(t, Config{Dial: h.dial})
				_, err := c.Get(t.Context(), "/x")
				var e *backends.Error
				if !errors.As(err, &e) || e.Kind != h.kind || !strings.HasPrefix(e.Error(), "GET http://server.invalid:1/x: ") {
					t.Errorf("error %v, want kind %s", err, h.kind)
				}
				if took := time.Since(began); h.at != 0 && took != h.at {
					t.Errorf("given up after %v, want %v", took, h.at)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := client(t, Config{Dial: silence()})
		if _, err := c.Get(ctx, "/x"); !errors.Is(err, backends.ErrCancelled) {
			t.Errorf("own deadline: %v", err)
		}
	})
}

func TestTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "data: %s\n\n", r.Proto)
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake that is meant to fail
	srv.StartTLS()
	defer srv.Close()
	c := client(t, Config{URL: srv.URL})
	rec := timing.NewRecorder(timing.NewClock())
	_, err := c.Stream(context.Background(), "/", []byte("{}"), backends.Timeouts{}, rec, nil)
	if !errors.Is(err, backends.ErrUnreachable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("unknown authority: %v", err)
	}
	if _, ok := rec.Trace().At(timing.Start); ok {
		t.Error("the clock started although nothing was sent")
	}
	if want := "name that authority's certificate under ca_file"; !strings.Contains(err.Error(), want) {
		t.Errorf("unknown authority: %v does not say %q", err, want)
	}
	if _, err := c.Get(context.Background(), "/"); !errors.Is(err, backends.ErrUnreachable) || !strings.Contains(err.Error(), "ca_file") {
		t.Errorf("unknown authority, untimed: %v", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	c = client(t, Config{URL: srv.URL, Roots: roots})
	buffer, err := c.Stream(context.Background(), "/", []byte("{}"), backends.Timeouts{Connect: time.Minute}, rec, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain := httptest.NewServer(srv.Config.Handler)
	defer plain.Close()
	bare, err := client(t, Config{URL: plain.URL}).Stream(context.Background(), "/", []byte("{}"), backends.Timeouts{}, timing.NewRecorder(timing.NewClock()), nil)
	if err != nil {
		t.Fatal(err)
	}
	start, begun := rec.Trace().At(timing.Start)
	sent, done := rec.Trace().At(timing.Sent)
	if first, ok := rec.Trace().At(timing.FirstByte); !begun || !done || !ok || sent < start || first < start {
		t.Errorf("start %v, sent %v, first byte %v", start, sent, first)
	}
	if got := events(buffer); fmt.Sprint(got) != "[HTTP/1.1]" || buffer.Stamps != bare.Stamps {
		t.Errorf("%q with stamps %s, without TLS %s", got, buffer.Stamps, bare.Stamps)
	}
	if reply, err := c.Get(context.Background(), "/"); err != nil || reply.Status != 200 {
		t.Errorf("untimed: %v", err)
	}
}

// TestOverTCP checks what holds of any arrival, whoever took the stamps.
func TestOverTCP(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for i := range 50 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
		}
	}))
	defer srv.Close()
	c := client(t, Config{URL: srv.URL})
	clock := timing.NewClock()
	rec := timing.NewRecorder(clock)
	before := clock.Now()
	buffer, err := c.Stream(context.Background(), "/", make([]byte, 5<<20), backends.Timeouts{Total: time.Minute}, rec, nil)
	after := clock.Now()
	if err != nil {
		t.Fatal(err)
	}
	start, _ := rec.Trace().At(timing.Start)
	first, _ := rec.Trace().At(timing.FirstByte)
	end, _ := rec.Trace().At(timing.End)
	if start < before || first < start || end < first || after < end {
		t.Errorf("before %v, start %v, first byte %v, end %v, after %v", before, start, first, end, after)
	}
	prev, n := first, 0
	for e := range buffer.Events() {
		if e.At < prev || e.At > end || e.Lag < 0 || e.At+e.Lag > after || (buffer.Stamps == timing.StampsUser) != (e.Lag == 0) {
			t.Errorf("event %d: %+v after %v, stamps %s", n, e.Arrival, prev, buffer.Stamps)
		}
		prev = e.At
		n++
	}
	if n != 50 {
		t.Errorf("%d events", n)
	}
}

func TestResetByTheServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		c.Read(make([]byte, 1))
		io.WriteString(c, chk+chunkOf("data: x\n\n"))
		c.(*net.TCPConn).SetLinger(0) // and so close with a reset
		c.Close()
	}()
	c := client(t, Config{URL: "http://" + l.Addr().String()})
	_, err = c.Stream(context.Background(), "/", make([]byte, 8<<20), backends.Timeouts{Total: time.Minute}, timing.NewRecorder(timing.NewClock()), nil)
	if !errors.Is(err, backends.ErrTruncated) {
		t.Errorf("error %v", err)
	}
}

// TestWhatIsNoServerForUs: each is named for what it is, timed and untimed.
func TestWhatIsNoServerForUs(t *testing.T) {
	certified := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(certified.Close)
	roots := x509.NewCertPool()
	roots.AddCert(certified.Certificate())
	port := certified.URL[strings.LastIndex(certified.URL, ":"):]
	certified.Config.ErrorLog = log.New(io.Discard, "", 0)
	// Some servers refuse who does not offer their protocol, others begin with it.
	secure := func(protocol, begins string) string {
		l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{NextProtos: []string{protocol}, Certificates: certified.TLS.Certificates})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Read(make([]byte, 1<<10))
				io.WriteString(c, begins)
				c.Close()
			}
		}()
		return "https://" + l.Addr().String()
	}
	const frame = "\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64"
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	packed := says("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00")
	t.Setenv("http_proxy", "http://proxy.invalid:3128")
	gone := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	for name, c := range map[string]struct {
		config Config
		kind   backends.Kind
		says   []string
	}{
		"HTTP/2 insisted on":     {Config{URL: secure("h2c", ""), Roots: roots}, backends.ErrUnreachable, []string{"the server speaks HTTP/2 only", "speak HTTP/1.1 too"}},
		"HTTP/2 over TLS":        {Config{URL: secure("h2", frame), Roots: roots}, backends.ErrMalformed, []string{"the server speaks HTTP/2 only", "speak HTTP/1.1 too"}},
		"HTTP/2 alone":           {Config{Dial: says(frame)}, backends.ErrMalformed, []string{"the server speaks HTTP/2 only", "speak HTTP/1.1 too"}},
		"another server's name":  {Config{URL: "https://localhost" + port, Roots: roots}, backends.ErrUnreachable, []string{"certificate", "is for other names"}},
		"no TLS behind https":    {Config{URL: strings.Replace(plain.URL, "http:", "https:", 1)}, backends.ErrUnreachable, []string{"does not speak TLS: write http://"}},
		"compressed":             {Config{Dial: packed}, backends.ErrMalformed, []string{"compressed (Content-Encoding: gzip), which nobody asked for", "switch compression off"}},
		"a proxy that is not us": {Config{Dial: gone}, backends.ErrUnreachable, []string{"connection refused", "http_proxy is set; assay connects directly"}},
		"no socket":              {Config{URL: "unix:///nowhere/x.sock"}, backends.ErrUnreachable, []string{"listening at /nowhere/x.sock?"}},
	} {
		t.Run(name, func(t *testing.T) {
			cl := client(t, c.config)
			_, timed := cl.Stream(t.Context(), "/p", []byte("{}"), backends.Timeouts{FirstContent: time.Minute}, timing.NewRecorder(timing.NewClock()), nil)
			_, untimed := cl.Get(t.Context(), "/p")
			for _, err := range []error{timed, untimed} {
				if !errors.Is(err, c.kind) {
					t.Errorf("error %v, want kind %s", err, c.kind)
					continue
				}
				for _, want := range c.says {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %q does not say %q", err, want)
					}
				}
			}
		})
	}
	_, err := client(t, Config{Dial: silence("\x15\x03\x01\x00\x02\x02\x46")}).Stream(t.Context(), "/p", nil, backends.Timeouts{}, timing.NewRecorder(timing.NewClock()), nil)
	if err == nil || !strings.Contains(err.Error(), "the server speaks TLS; write https://") {
		t.Errorf("TLS behind http: %v", err)
	}
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts = append(hosts, r.Host+r.URL.Path)
		fmt.Fprint(w, "data: x\n\n")
	})}}
	srv.Start()
	defer srv.Close()
	c := client(t, Config{URL: "unix://" + path})
	buffer, err := c.Stream(t.Context(), "/v1/p", []byte("{}"), backends.Timeouts{}, timing.NewRecorder(timing.NewClock()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := events(buffer); fmt.Sprint(got) != "[x]" || buffer.Op != "POST unix://"+path+"/v1/p" {
		t.Errorf("%q from %s", got, buffer.Op)
	}
	if reply, err := c.Get(t.Context(), "/q"); err != nil || string(reply.Body) != "data: x\n\n" {
		t.Errorf("%+v, %v", reply, err)
	}
	if fmt.Sprint(hosts) != "[localhost/v1/p localhost/q]" {
		t.Errorf("the server saw %q", hosts)
	}
	for _, bad := range []string{"unix://host/path", "unix:///", "unix:path"} {
		if _, err := New(Config{URL: bad}); err == nil {
			t.Errorf("%s is an address", bad)
		}
	}
}
