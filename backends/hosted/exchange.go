package hosted

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// exchangeKey is under what a request's context holds its exchange.
type exchangeKey struct{}

// exchange is one request as it left and its reply as it came.
type exchange struct {
	dry   bool               // nothing is to leave
	check func([]byte) error // of the body, before it leaves; an error keeps it here; nil: it may leave
	limit int64              // bytes of a reply

	sent   []byte // the body; nil: none was made
	left   bool   // it was handed to the network
	status int    // 0: no reply
	header http.Header
	body   []byte
	held   error // what check said
	err    error // of the network
}

var errDry = errors.New("hosted: nothing is to be sent")

// exchanger is the round tripper that langchaingo is given.
type exchanger struct {
	key    string
	bearer bool // langchaingo has no place for the provider's key
	next   http.RoundTripper
}

func (t *exchanger) RoundTrip(r *http.Request) (*http.Response, error) {
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		panic("hosted: internal error: a request that nobody asked for: " + r.URL.Path)
	}
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	x.sent = body
	if x.dry {
		return nil, errDry
	}
	if x.check != nil {
		if x.held = x.check(body); x.held != nil {
			return nil, x.held
		}
	}
	out := r.Clone(r.Context())
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	out.Header.Set("User-Agent", "assay")
	switch {
	case t.key == "": // what stands in for one, because langchaingo wants some
		out.Header.Del("Authorization")
		out.Header.Del("X-Api-Key")
	case t.bearer:
		out.Header.Set("Authorization", "Bearer "+t.key)
	}
	x.left = true
	resp, err := t.next.RoundTrip(out)
	if err != nil {
		x.err = err
		return nil, err
	}
	defer resp.Body.Close()
	x.status, x.header = resp.StatusCode, resp.Header
	x.body, x.err = io.ReadAll(io.LimitReader(resp.Body, x.limit+1))
	if x.err == nil && int64(len(x.body)) > x.limit {
		x.body, x.err = x.body[:x.limit], errLong
	}
	resp.Body = io.NopCloser(bytes.NewReader(x.body))
	return resp, nil
}

var errLong = errors.New("the reply is longer than 8 MiB")
