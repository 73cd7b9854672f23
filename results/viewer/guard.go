package viewer

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"slices"
	"strings"
)

// policy is the content security policy of every page: scripts and styles of our own
// files alone, none inside a page, nothing of anybody else's.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const (
	tokenParam  = "token"
	tokenCookie = "assay-token"
)

// NewToken is a token that nobody guesses.
func NewToken() string {
	b := make([]byte, 18)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// Guard lets through what a person's browser asks for on our own pages.
//
//   - A page of somebody else's whose name leads to this address (DNS rebinding) has
//     another host's name, and is refused.
//   - What changes something is refused when it comes from a page of another origin.
//   - With a token, who does not bring it sees nothing.
func Guard(o Options, h http.Handler) http.Handler {
	names := o.names()
	cross := http.NewCrossOriginProtection()
	if o.Proxy != "" {
		// The proxy may pass its own name for us on.
		if err := cross.AddTrustedOrigin(strings.TrimSuffix(o.Proxy, "/")); err != nil {
			panic("viewer: internal error: a proxy that was not checked: " + err.Error())
		}
	}
	var inner http.Handler = h
	if o.Token != "" {
		inner = o.asked(inner)
	}
	inner = http.MaxBytesHandler(cross.Handler(inner), maxBody)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("X-Frame-Options", "DENY")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		head.Set("Cache-Control", "no-store")
		if !ours(r.Host, names) {
			http.Error(w, "This address goes by another name: open the one that assay printed.", http.StatusMisdirectedRequest)
			return
		}
		inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), optionsKey{}, o)))
	})
}

// ours says whether a Host header names us. A plain address cannot be somebody's name
// for us, whatever its port: a tunnel has another.
func ours(host string, names []string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return net.ParseIP(strings.Trim(host, "[]")) != nil || slices.Contains(names, host)
}

// asked demands the token: once in the address, then in a cookie, so that it stands in
// no link and in no history but the first.
func (o Options) asked(h http.Handler) http.Handler {
	want := sha256.Sum256([]byte(o.Token))
	right := func(s string) bool {
		got := sha256.Sum256([]byte(s))
		return subtle.ConstantTimeCompare(got[:], want[:]) == 1
	}
	_, port, _ := net.SplitHostPort(o.Listen)
	name := tokenCookie + "-" + port // cookies know no ports: two stores may be shown at once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); r.Method == http.MethodGet && q.Has(tokenParam) && right(q.Get(tokenParam)) {
			http.SetCookie(w, &http.Cookie{Name: name, Value: q.Get(tokenParam), Path: "/", HttpOnly: true, Secure: o.secure(), SameSite: http.SameSiteStrictMode})
			// Not a redirect: after a link in a mail a browser would go there without the cookie.
			head := w.Header()
			head.Set("Content-Type", "text/html; charset=utf-8")
			to := r.URL.EscapedPath()
			if strings.HasPrefix(to, "//") { // which is another host
				to = "/"
			}
			head.Set("Refresh", "0; url="+to)
			w.WriteHeader(http.StatusOK)
			return
		}
		if c, err := r.Cookie(name); err == nil && right(c.Value) {
			h.ServeHTTP(w, r)
			return
		}
		if b, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && right(b) {
			h.ServeHTTP(w, r)
			return
		}
		http.Error(w, "These pages need the token: open the address that assay printed.", http.StatusForbidden)
	})
}

// Client is the address that a request comes from: behind a stated proxy the one that
// the proxy saw.
func Client(r *http.Request) string {
	if o, _ := r.Context().Value(optionsKey{}).(Options); o.Proxy != "" {
		list := strings.Split(r.Header.Get("X-Forwarded-For"), ",")
		if last := strings.TrimSpace(list[len(list)-1]); last != "" { // those before it anybody can write
			return last
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
