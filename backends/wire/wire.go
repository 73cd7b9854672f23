// Package wire posts requests to a model server and says when each part of the
// reply arrived. It is the only code that posts, stamps and splits streams.
//
//  1. Stream dials a fresh connection, then writes one request whose body is
//     already encoded. The first write is Start, the end of the last one Sent.
//  2. Every read is stamped: by the kernel on Linux (SO_TIMESTAMPNS), else when
//     it returns. The bytes go to a Buffer with {offset, stamp} and nothing more
//     happens to them while the clock runs.
//  3. After the stream, Buffer.Events (SSE) or Buffer.Lines (NDJSON) split the buffer
//     and give each part the arrival of its last byte.
//
// Get and Post are for management, where nothing is timed.
//
// Requests are built and replies' heads are parsed by net/http, but a stream's
// connection is not given to http.Transport: its chunked reader joins reads that
// lie inside one chunk (their stamps would be lost, and a stall inside a chunk
// would go unseen) and costs 100 ns a chunk, three times as much as the buffer.
package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"assay/backends"
	"assay/timing"
)

// Limits of what a server may send. Beyond them the reply is ErrMalformed.
const (
	maxLine     = 8 << 20  // bytes in one line of a stream
	maxResponse = 64 << 20 // bytes in one stream
	maxReply    = 16 << 20 // bytes in the reply to Get or Post
	maxHead     = 1 << 20  // bytes of status line and header fields
)

// replyTimeout bounds Get and Post where their context has no deadline.
const replyTimeout = 30 * time.Second

// Dial opens a connection. Kernel stamps need it to return a *net.TCPConn.
type Dial func(ctx context.Context, network, addr string) (net.Conn, error)

// Config says where a server is.
type Config struct {
	URL  string // base: scheme, host, optional port and path, with or without /v1 at its end; "http://127.0.0.1:8080"; or "unix:///run/server.sock"
	Key  string // API key, sent as "Authorization: Bearer"; "": none
	Dial Dial   // nil: the operating system's
	// Roots are the authorities whose certificates are believed; nil: the system's.
	Roots *x509.CertPool
	// Omit are fields of requests that the server refuses, and that are left out of them:
	// of openai.Omittable, where it is spoken to in that protocol.
	Omit []string
	// Weights is the digest of a file that the server names as its weights; "": it is not
	// known. nil: it never is.
	Weights func(ctx context.Context, path string) (string, error)
	// Signs are what kinds of servers are known by, to name one that answers as another
	// than it was taken for; none: it is not named.
	Signs []Sign
}

// Client talks to one server. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	name  string // of the server, as messages have it
	key   string
	shows []string // the ways in which the key may stand in a reply
	dial  Dial
	http  *http.Client
	tls   *tls.Config
	rooms sync.Pool // of *room
	hold  io.Closer // keeps the kernel's stamping switched on while the client lives
	signs []Sign
}

// New checks c and makes a client. It does not connect.
func New(c Config) (*Client, error) {
	if c.URL != "" && !strings.Contains(c.URL, "://") && !strings.ContainsAny(c.URL, "@?#") {
		return nil, fmt.Errorf("wire: base URL %q: want http://HOST:PORT or https://HOST; did you mean http://%s?", c.URL, strings.TrimLeft(c.URL, "/"))
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("wire: base URL: %w", err)
	}
	socket := u.Scheme == "unix" && u.Host == "" && strings.Trim(u.Path, "/") != ""
	if !socket && ((u.Scheme != "http" && u.Scheme != "https") || u.Host == "") {
		return nil, fmt.Errorf("wire: base URL %q: want http://HOST:PORT, https://HOST or unix:///PATH", u.Redacted())
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("wire: base URL %q: want neither user, query nor fragment; a key goes into its own field", u.Redacted())
	}
	if strings.ContainsFunc(c.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("wire: the API key has a character that cannot stand in a header; check for a line break at its end")
	}
	if u.Path = strings.TrimRight(u.Path, "/"); !socket {
		u.Path = strings.TrimRight(strings.TrimSuffix(u.Path, "/v1"), "/")
	}
	cl := &Client{base: u, name: u.String(), key: c.Key, dial: c.Dial, shows: spellings(c.Key), hold: holdStamping(), signs: c.Signs}
	cl.rooms.New = newRoom
	cl.tls = &tls.Config{ServerName: u.Hostname(), NextProtos: []string{"http/1.1"}, RootCAs: c.Roots}
	if cl.dial == nil {
		cl.dial = new(net.Dialer).DialContext
	}
	if socket {
		path, dial := u.Path, cl.dial
		cl.dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, "unix", path) }
		cl.base = &url.URL{Scheme: "http", Host: "localhost"}
	}
	cl.http = &http.Client{
		Transport: &http.Transport{DialContext: cl.dial, TLSClientConfig: cl.tls, DisableKeepAlives: true, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	return cl, nil
}

// URL is the base that paths are appended to, as messages have it.
func (c *Client) URL() string { return c.name }

// request builds a request; its body is body, nil for none.
func (c *Client) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base.String()+path, r)
	if err != nil {
		return nil, fmt.Errorf("wire: %s %s: %w", method, path, err)
	}
	req.Close = true
	req.Header.Set("User-Agent", "assay")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	return req, nil
}

func (c *Client) op(method, path string) string { return method + " " + c.name + path }

// Reply is the whole answer to an untimed request, whatever its status.
type Reply struct {
	Op     string // "GET http://127.0.0.1:8080/health"
	Status int
	Header http.Header
	Body   []byte
	keys   []string // spellings of the API key, which Fail leaves out
}

// Fail makes the error for a reply that is not what was wanted.
func (r *Reply) Fail(kind backends.Kind, message, hint string) *backends.Error {
	return &backends.Error{Kind: kind, Op: r.Op, Status: r.Status, Message: hide(message, r.keys), Hint: hint, After: RetryAfter(r.Status, r.Header, time.Now())}
}

// Synthetic says whether a phantom answered.
func (r *Reply) Synthetic() bool { return r.Header.Get(backends.PhantomHeader) != "" }

// Get fetches path, untimed. Errors are *backends.Error; a status is none,
// except a redirect, which is never followed (ErrRefused). A reply that was cut, or is
// too long, is there beside its error as far as it came.
func (c *Client) Get(ctx context.Context, path string) (*Reply, error) {
	return c.reply(ctx, "GET", path, nil)
}

// Post posts a JSON body to path, untimed; otherwise like Get.
func (c *Client) Post(ctx context.Context, path string, body []byte) (*Reply, error) {
	if body == nil {
		body = []byte{}
	}
	return c.reply(ctx, "POST", path, body)
}

// Head asks whether there is something at path; otherwise like Get.
func (c *Client) Head(ctx context.Context, path string) (*Reply, error) {
	return c.reply(ctx, "HEAD", path, nil)
}

// Delete deletes what a JSON body names; otherwise like Post.
func (c *Client) Delete(ctx context.Context, path string, body []byte) (*Reply, error) {
	return c.reply(ctx, "DELETE", path, body)
}

func (c *Client) reply(ctx context.Context, method, path string, body []byte) (*Reply, error) {
	out := &Reply{Op: c.op(method, path), keys: c.shows}
	fail := func(err error) (*Reply, error) {
		// net/http quotes a reply that it cannot read.
		if said := c.redact(err.Error()); said != err.Error() {
			err = errors.New(said)
		}
		e := &backends.Error{Kind: backends.ErrUnreachable, Op: out.Op, Status: out.Status, Sent: body, Err: err}
		var opErr *net.OpError
		switch {
		case ctx.Err() != nil:
			e.Kind, e.Err = backends.ErrCancelled, context.Cause(ctx)
		case errors.Is(err, context.DeadlineExceeded):
			e.Kind, e.Message = backends.ErrStalled, fmt.Sprintf("no complete reply within %v", replyTimeout)
		case c.distrust(e):
		case errors.As(err, &opErr) && opErr.Op == "dial":
			e.Hint = c.whereHint()
		case strings.Contains(err.Error(), http2Frame):
			e.Kind, e.Message, e.Hint = backends.ErrMalformed, http2Only, http2Hint
		case strings.Contains(err.Error(), "malformed"):
			e.Kind, e.Hint = backends.ErrMalformed, "is this an HTTP server?"
		default:
			e.Kind = backends.ErrTruncated
		}
		return nil, e
	}
	rctx := ctx
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		rctx, cancel = context.WithTimeout(ctx, replyTimeout)
		defer cancel()
	}
	req, err := c.request(rctx, method, path, body)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		// The url.Error repeats method and URL, which Op already says.
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return fail(err)
	}
	defer resp.Body.Close()
	out.Status, out.Header = resp.StatusCode, resp.Header
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	out.Body = clean(b, secrets(c.key, c.shows))
	if err != nil {
		_, err := fail(err)
		return out, err
	}
	if len(b) > maxReply {
		return out, out.Fail(backends.ErrMalformed, fmt.Sprintf("the reply is longer than %d bytes", maxReply), "")
	}
	if coded := encoded(out.Header); coded != "" {
		return nil, out.Fail(backends.ErrMalformed, coded, encodedHint)
	}
	if err := c.redirected(out.Op, out.Status, out.Header); err != nil {
		err.Sent = body
		return out, err
	}
	return out, nil
}

// redirected is the error for a reply that sends us elsewhere: following it
// would hide a second request inside the first and could carry the key away.
func (c *Client) redirected(op string, status int, h http.Header) *backends.Error {
	to := h.Get("Location")
	if status < 300 || status > 399 || to == "" {
		return nil
	}
	return &backends.Error{Kind: backends.ErrRefused, Op: op, Status: status,
		Message: c.redact("the server redirects to " + to), Hint: "redirects are not followed: set the backend's url to where the server really is"}
}

// connect dials the server, with TLS for https. What comes in on the connection is
// read through the reader.
func (c *Client) connect(ctx context.Context, limit time.Duration, clock timing.Clock) (net.Conn, reader, error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	addr := c.base.Host
	if c.base.Port() == "" {
		addr = net.JoinHostPort(c.base.Hostname(), map[string]string{"http": "80", "https": "443"}[c.base.Scheme])
	}
	conn, err := c.dial(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, err
	}
	in := newReader(conn, clock)
	if c.base.Scheme == "http" {
		return conn, in, nil
	}
	raw := newRecords(conn, in)
	tc := tls.Client(raw, c.tls)
	if err := tc.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, nil, err
	}
	return tc, tlsReader{tc, raw}, nil
}
