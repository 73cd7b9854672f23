package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"assay/backends"
)

// What a server may be that is no HTTP/1.1 server whose reply can be timed, in the
// words of an error and its hint.
const (
	http2Only   = "the server speaks HTTP/2 only"
	http2Hint   = "let it, or the proxy before it, speak HTTP/1.1 too: assay times chunks on a connection of their own"
	encodedHint = "switch compression off in the server, or in the proxy before it: inside compressed data chunks have no times of their own"

	// http2Frame is how net/http quotes the settings that an HTTP/2 server begins with.
	http2Frame = `malformed HTTP response "\x00\x00`
)

// encoded says that a reply is compressed, which no request of ours asks for; "": it is not.
func encoded(h http.Header) string {
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return "the reply is compressed (Content-Encoding: " + e + "), which nobody asked for"
	}
	return ""
}

// notHTTP says what a reply is that does not begin as HTTP/1.1 does.
func notHTTP(b []byte) (what, hint string) {
	switch {
	case len(b) >= 4 && b[0] == 0 && b[3] == 4: // a frame of type SETTINGS
		return http2Only, http2Hint
	case len(b) >= 3 && b[0] == 0x15 && b[1] == 3: // an alert
		return "the server speaks TLS", "write https:// in the backend's url"
	}
	return fmt.Sprintf("the reply is not HTTP: it begins with %.40q", b), "is this the right port?"
}

// distrust gives e the words for a connection that TLS refused; false: it did not.
func (c *Client) distrust(e *backends.Error) bool {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var plain tls.RecordHeaderError
	var opErr *net.OpError
	refused := errors.As(e.Err, &opErr) && opErr.Op == "remote error" // an alert
	switch {
	case errors.As(e.Err, &unknown):
		e.Hint = "the server's certificate is signed by an authority that this machine does not know: name that authority's certificate under ca_file in the backend"
	case errors.As(e.Err, &name):
		e.Hint = "the server's certificate is for other names: write one of them in the backend's url"
	case errors.As(e.Err, &invalid) && invalid.Reason == x509.Expired:
		e.Hint = "the server needs a new certificate, or this machine's clock is wrong"
	case errors.As(e.Err, &invalid):
		e.Hint = "the server's certificate cannot be used"
	case errors.As(e.Err, &plain), strings.Contains(e.Err.Error(), "server gave HTTP response to HTTPS client"):
		e.Hint = "the server does not speak TLS: write http:// in the backend's url"
	case refused && strings.Contains(opErr.Error(), "no application protocol"):
		e.Message, e.Hint = http2Only, http2Hint
	case refused:
		e.Hint = "the server refused the TLS connection"
	default:
		return false
	}
	return true
}

// whereHint is what to look at when nobody answers.
func (c *Client) whereHint() string {
	hint := "is the server running at " + c.base.Host + "?"
	if strings.HasPrefix(c.name, "unix:") {
		return "is the server running, and listening at " + strings.TrimPrefix(c.name, "unix://") + "?"
	}
	for _, name := range []string{strings.ToUpper(c.base.Scheme) + "_PROXY", c.base.Scheme + "_proxy"} {
		if os.Getenv(name) != "" {
			return hint + " (" + name + " is set; assay connects directly, never through a proxy)"
		}
	}
	return hint
}
