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
	sent   []byte // the body; nil: none was made
	status int    // 0: no reply
	header http.Header
	body   []byte
	err    error // of the network
}

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
	x.sent = body
	resp, err := t.next.RoundTrip(out)
	if err != nil {
		x.err = err
		return nil, err
	}
	defer resp.Body.Close()
	x.status, x.header = resp.StatusCode, resp.Header
	x.body, x.err = io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if x.err == nil && len(x.body) > maxReply {
		x.body, x.err = x.body[:maxReply], errLong
	}
	resp.Body = io.NopCloser(bytes.NewReader(x.body))
	return resp, nil
}

const maxReply = 8 << 20 // bytes

var errLong = errors.New("the reply is longer than 8 MiB")
