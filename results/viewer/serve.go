// Serve shows pages to people in their browsers, and to nobody else.
//
//  1. Options say where: on this machine alone, unless more is asked for and guarded.
//  2. Guard stands before every handler: it looks at the host's name, at where a
//     request comes from, at the token, and sets what a browser may do with a page.
//  3. Assets are the scripts and styles that pages share; picture.js shows a picture at
//     the depth that Samples sends.

package viewer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Options is where pages are shown, and to whom.
type Options struct {
	Listen    string // host:port; port 0: any that is free
	Cert, Key string // PEM files of TLS; "": none
	Proxy     string // origin under which a proxy with TLS shows the pages, "https://study.example.org"; "": none does
	Token     string // everybody has to bring it; "": nobody is asked
	SignIn    bool   // the pages have a sign-in of their own
	Insecure  bool   // others may read on the way what is sent, and the token; never codes of a sign-in
}

// Loopback says whether only this machine can reach what listens there.
func (o Options) Loopback() bool {
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Check says all that speaks against showing pages there; nil: nothing does.
func (o Options) Check() error {
	var bad []error
	if _, _, err := net.SplitHostPort(o.Listen); err != nil {
		bad = append(bad, fmt.Errorf("--listen: expected host:port such as 127.0.0.1:0, found %q", o.Listen))
	}
	if (o.Cert == "") != (o.Key == "") {
		bad = append(bad, errors.New("--tls-cert and --tls-key: expected both or none; one is a certificate, the other its key, as PEM files"))
	}
	if o.Proxy != "" {
		u, err := url.Parse(o.Proxy)
		if err != nil || u.Scheme != "https" || u.Host == "" || strings.TrimSuffix(o.Proxy, "/") != "https://"+u.Host {
			bad = append(bad, fmt.Errorf("--proxy: expected the address under which the proxy shows the pages, as https://study.example.org, found %s", shown(u)))
		}
	}
	switch {
	case len(bad) > 0 || o.Loopback():
	case !o.SignIn && o.Token == "":
		bad = append(bad, fmt.Errorf("--listen %s: anybody could read the pages: expected a token, or an address of this machine alone (127.0.0.1:0)", o.Listen))
	case !o.secure() && (o.SignIn || !o.Insecure):
		how := "--tls-cert and --tls-key (files of a certificate and its key), --proxy https://... (where a proxy with TLS stands before it), or an address of this machine alone (127.0.0.1:0, which an SSH tunnel reaches)"
		if !o.SignIn {
			how += "; --insecure shows them all the same, where you trust everybody on the way"
		}
		bad = append(bad, fmt.Errorf("--listen %s: others could read on the way what is sent: expected %s", o.Listen, how))
	}
	return errors.Join(bad...)
}

// shown is an address without a password; nil: it cannot be read, and is not shown.
func shown(u *url.URL) string {
	if u == nil {
		return "one that cannot be read"
	}
	return strconv.Quote(u.Redacted())
}

// secure says whether browsers reach the pages by TLS.
func (o Options) secure() bool { return o.Cert != "" || o.Proxy != "" }

// Secure says of a request of a guarded handler whether it came by TLS, at least to
// the proxy: cookies are to say so.
func Secure(r *http.Request) bool {
	o, _ := r.Context().Value(optionsKey{}).(Options)
	return o.secure()
}

type optionsKey struct{}

// timeouts of a connection: a browser on a slow line loads pictures of some MB.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = time.Minute
	writeTimeout  = 5 * time.Minute
	idleTimeout   = 2 * time.Minute
	closeTimeout  = 5 * time.Second // for requests that are under way at the end
	maxBody       = 1 << 20
)

// Serve shows h, guarded, until ctx ends, and lets requests that are under way end. ready
// is told the address to open, with the token.
func Serve(ctx context.Context, o Options, h http.Handler, ready func(address string)) error {
	if err := o.Check(); err != nil {
		return err
	}
	var pair *tls.Config
	if o.Cert != "" {
		c, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return fmt.Errorf("--tls-cert %s, --tls-key %s: %w", o.Cert, o.Key, err)
		}
		pair = &tls.Config{Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS12}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", o.Listen)
	if ctx.Err() != nil {
		return nil // it ended before it began
	}
	if err != nil {
		return fmt.Errorf("--listen %s: %w", o.Listen, err)
	}
	o.Listen = l.Addr().String()
	guarded := Guard(o, h)
	srv := &http.Server{Handler: guarded, TLSConfig: pair, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: 32 << 10}
	ended := make(chan error, 1)
	go func() {
		if pair != nil {
			ended <- srv.ServeTLS(l, "", "")
		} else {
			ended <- srv.Serve(l)
		}
	}()
	ready(o.address())
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	err = srv.Shutdown(last)
	if err != nil {
		err = errors.Join(err, srv.Close())
	}
	<-ended
	return err
}

// address is where a browser finds the pages.
func (o Options) address() string {
	u := url.URL{Scheme: "http", Host: reachable(o.Listen), Path: "/"}
	if o.Cert != "" {
		u.Scheme = "https"
	}
	if o.Proxy != "" {
		u.Scheme, u.Host = "https", strings.TrimPrefix(strings.TrimSuffix(o.Proxy, "/"), "https://")
	}
	if o.Token != "" {
		u.RawQuery = url.Values{tokenParam: {o.Token}}.Encode()
	}
	return u.String()
}

// reachable is an address to open what listens at: of all addresses of this machine one that
// others may reach.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || !net.ParseIP(host).IsUnspecified() {
		return listen
	}
	host = "127.0.0.1"
	all, _ := net.InterfaceAddrs() // without them this machine still reaches it
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			host = n.IP.String()
			break
		}
	}
	return net.JoinHostPort(host, port)
}

// names are the hosts' names under which the pages are to be had, in lower case, beside
// plain addresses.
func (o Options) names() []string {
	out := []string{"localhost"}
	if host, _, err := net.SplitHostPort(o.Listen); err == nil && host != "" {
		out = append(out, strings.ToLower(host))
	}
	if u, err := url.Parse(o.Proxy); err == nil && u.Host != "" {
		out = append(out, strings.ToLower(u.Hostname()))
	}
	if !o.Loopback() {
		if name, err := os.Hostname(); err == nil {
			out = append(out, strings.ToLower(name))
		}
	}
	if o.Cert != "" {
		if pair, err := tls.LoadX509KeyPair(o.Cert, o.Key); err == nil && len(pair.Certificate) > 0 {
			if leaf, err := x509.ParseCertificate(pair.Certificate[0]); err == nil {
				for _, n := range leaf.DNSNames {
					out = append(out, strings.ToLower(n))
				}
			}
		}
	}
	return out
}
