package viewer

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"image"
	"image/color"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// said answers every request, and counts those that came through.
func said(n *int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { *n++; io.WriteString(w, "page") })
}

func ask(h http.Handler, method, target string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestWhereItMayListen(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string // part of the error; "": fine
	}{
		{Options{Listen: "127.0.0.1:0"}, ""},
		{Options{Listen: "[::1]:8080"}, ""},
		{Options{Listen: "localhost:0", SignIn: true}, ""},
		{Options{Listen: "8080"}, "expected host:port"},
		{Options{Listen: ":8080"}, "expected a token"},
		{Options{Listen: "0.0.0.0:8080"}, "expected a token"},
		{Options{Listen: "0.0.0.0:8080", Token: "x"}, "--tls-cert and --tls-key"},
		{Options{Listen: "0.0.0.0:8080", Token: "x"}, "--insecure"},
		{Options{Listen: "0.0.0.0:8080", Token: "x", Insecure: true}, ""},
		{Options{Listen: "0.0.0.0:8080", Insecure: true}, "expected a token"},
		{Options{Listen: "0.0.0.0:8080", Cert: "a.pem", Key: "b.pem"}, "expected a token"},
		{Options{Listen: "0.0.0.0:8080", Proxy: "https://study.example.org"}, "expected a token"},
		{Options{Listen: "0.0.0.0:8080", Token: "x", Proxy: "https://study.example.org"}, ""},
		{Options{Listen: "0.0.0.0:8080", Token: "x", Cert: "a.pem", Key: "b.pem"}, ""},
		{Options{Listen: "0.0.0.0:8080", Token: "x", SignIn: true}, "--tls-cert and --tls-key"},
		{Options{Listen: "0.0.0.0:8080", SignIn: true, Insecure: true}, "--tls-cert and --tls-key"},
		{Options{Listen: "0.0.0.0:8080", SignIn: true, Proxy: "https://study.example.org"}, ""},
		{Options{Listen: "127.0.0.1:0", Proxy: "http://study.example.org"}, "--proxy: expected"},
		{Options{Listen: "127.0.0.1:0", Proxy: "https://study.example.org/rate"}, "--proxy: expected"},
		{Options{Listen: "0.0.0.0:8080", SignIn: true, Cert: "a.pem"}, "expected both or none"},
		{Options{Listen: "0.0.0.0:8080", SignIn: true, Cert: "a.pem", Key: "b.pem"}, ""},
	} {
		err := c.o.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

func TestOnlyOurNamesAndOurPages(t *testing.T) {
	n := 0
	h := Guard(Options{Listen: "127.0.0.1:8080", Proxy: "https://study.example.org"}, said(&n))
	for host, want := range map[string]int{"127.0.0.1:8080": 200, "127.0.0.1:9999": 200, "[::1]:8080": 200, "localhost:8080": 200, "LOCALHOST": 200, "study.example.org": 200,
		"evil.example": 421, "printer.local": 421, "study.example.org.local:8080": 421, "localhost.evil.example": 421, "127.0.0.1.nip.io:8080": 421, "": 421} {
		if got := ask(h, "GET", "/", func(r *http.Request) { r.Host = host }).Code; got != want {
			t.Errorf("host %q: status %d, want %d", host, got, want)
		}
	}
	n = 0
	for name, c := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"the same page":         {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-origin") }, 200},
		"another page":          {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		"another port":          {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, 403},
		"an older browser":      {func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:8080") }, 200},
		"its other page":        {func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403},
		"a page without origin": {func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		"behind the proxy":      {func(r *http.Request) { r.Header.Set("Origin", "https://study.example.org") }, 200},
	} {
		if got := ask(h, "POST", "http://127.0.0.1:8080/", c.change).Code; got != c.want {
			t.Errorf("a change asked for by %s: status %d, want %d", name, got, c.want)
		}
	}
	if n != 3 {
		t.Errorf("%d requests came through, want 3", n)
	}
	head := ask(h, "GET", "http://localhost/", nil).Header()
	for name, want := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Frame-Options": "DENY"} {
		if got := head.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
		t.Errorf("the policy lets too much run: %s", policy)
	}
}

func TestToken(t *testing.T) {
	n := 0
	h := Guard(Options{Listen: "127.0.0.1:8080", Token: "right"}, said(&n))
	for _, target := range []string{"http://localhost/", "http://localhost/?token=wrong", "http://localhost/?token="} {
		if w := ask(h, "GET", target, nil); w.Code != 403 || len(w.Result().Cookies()) != 0 {
			t.Errorf("%s: status %d, cookies %v", target, w.Code, w.Result().Cookies())
		}
	}
	for i := range 2000 { // whatever their digests have in common
		if w := ask(h, "GET", fmt.Sprint("http://localhost/?token=wrong", i), nil); w.Code != 403 {
			t.Fatalf("another token, wrong%d: status %d", i, w.Code)
		}
	}
	if n != 0 {
		t.Fatalf("%d requests came through without the token", n)
	}
	w := ask(h, "GET", "http://localhost//evil.example/?token=right", nil)
	if got := w.Header().Get("Refresh"); got != "0; url=/" {
		t.Errorf("the token leads to %q", got)
	}
	w = ask(h, "GET", "http://localhost/runs?token=right", nil)
	cookies := w.Result().Cookies()
	if w.Header().Get("Refresh") != "0; url=/runs" || len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Secure {
		t.Fatalf("the token gives %v, %v", w.Header(), cookies)
	}
	if w := ask(h, "GET", "http://localhost/runs", func(r *http.Request) { r.AddCookie(cookies[0]) }); w.Code != 200 {
		t.Errorf("with its cookie: status %d", w.Code)
	}
	if w := ask(h, "GET", "http://localhost/runs", func(r *http.Request) { r.Header.Set("Authorization", "Bearer right") }); w.Code != 200 {
		t.Errorf("with the token in a header: status %d", w.Code)
	}
	for _, header := range []string{"Bearer wrong", "Bearer ", "right", "Basic right"} {
		if w := ask(h, "GET", "http://localhost/runs", func(r *http.Request) { r.Header.Set("Authorization", header) }); w.Code != 403 {
			t.Errorf("Authorization: %s: status %d", header, w.Code)
		}
	}
	// Two stores on two ports, one of them by TLS.
	other := Guard(Options{Listen: "127.0.0.1:8081", Token: "right", Proxy: "https://study.example.org"}, said(&n))
	if also := ask(other, "GET", "http://localhost/runs?token=right", nil).Result().Cookies(); len(also) != 1 || also[0].Name == cookies[0].Name || !also[0].Secure {
		t.Errorf("cookies %v and %v", cookies, also)
	}
	if a, b := NewToken(), NewToken(); a == b || len(a) < 20 {
		t.Errorf("tokens %q, %q", a, b)
	}
}

func TestSamplesAreWhole(t *testing.T) {
	grey := image.NewGray16(image.Rect(5, 7, 8, 9))
	for i, v := range []uint16{0, 1, 255, 256, 4095, 65535} {
		grey.SetGray16(5+i%3, 7+i/3, color.Gray16{v})
	}
	clear := image.NewNRGBA(image.Rect(0, 0, 1, 1))
	clear.SetNRGBA(0, 0, color.NRGBA{200, 100, 50, 0})
	eight := image.NewGray(image.Rect(0, 0, 4, 2))
	copy(eight.Pix, []byte{0, 1, 2, 3, 252, 253, 254, 255})
	for name, c := range map[string]struct {
		img  image.Image
		head []byte
		want []byte
	}{
		"16 bits":     {grey, []byte{3, 0, 0, 0, 2, 0, 0, 0, 1, 16, 0, 0}, []byte{0, 0, 1, 0, 255, 0, 0, 1, 255, 15, 255, 255}},
		"part of one": {eight.SubImage(image.Rect(1, 0, 3, 2)), []byte{2, 0, 0, 0, 2, 0, 0, 0, 1, 8, 0, 0}, []byte{1, 2, 253, 254}},
		"transparent": {clear, []byte{1, 0, 0, 0, 1, 0, 0, 0, 3, 8, 0, 0}, []byte{0, 0, 0}},
		"grey palette": {image.NewPaletted(image.Rect(0, 0, 1, 1), color.Palette{color.Gray{9}, color.Gray{8}}),
			[]byte{1, 0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0}, []byte{9}},
		"colours": {image.NewPaletted(image.Rect(0, 0, 1, 1), color.Palette{color.RGBA{1, 2, 3, 255}}),
			[]byte{1, 0, 0, 0, 1, 0, 0, 0, 3, 8, 0, 0}, []byte{1, 2, 3}},
	} {
		for _, zipped := range []bool{false, true} {
			r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
			if zipped {
				r.Header.Set("Accept-Encoding", "gzip, br")
			}
			if err := Samples(w, r, c.img); err != nil {
				t.Fatal(err)
			}
			var body io.Reader = w.Body
			if zipped {
				z, err := gzip.NewReader(body)
				if err != nil {
					t.Fatal(err)
				}
				body = z
			}
			got, err := io.ReadAll(body)
			if err != nil || !bytes.Equal(got, append(append([]byte("ASP1"), c.head...), c.want...)) {
				t.Errorf("%s (gzip %v): % x, %v", name, zipped, got, err)
			}
		}
	}
}

func TestAssets(t *testing.T) {
	w := ask(Assets(), "GET", "/assets/picture.js", nil)
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/javascript; charset=utf-8" || w.Header().Get("ETag") == "" {
		t.Errorf("picture.js: %d %v", w.Code, w.Header())
	}
	if again := ask(Assets(), "GET", "/assets/picture.js", func(r *http.Request) { r.Header.Set("If-None-Match", w.Header().Get("ETag")) }); again.Code != 304 {
		t.Errorf("asked again: %d", again.Code)
	}
	for _, p := range []string{"/assets/", "/assets/../serve.go", "/assets/..%2f..%2fserve.go", "/assets/nothing.js"} {
		if w := ask(Assets(), "GET", p, nil); w.Code != 404 {
			t.Errorf("%s: %d", p, w.Code)
		}
	}
}

// TestEndsWithItsContext: what is under way is answered, then nobody listens.
func TestEndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	inside, address, ended := make(chan bool), make(chan string, 1), make(chan error, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inside <- true
		<-ctx.Done()
		io.WriteString(w, "whole")
	})
	go func() { ended <- Serve(ctx, Options{Listen: "127.0.0.1:0"}, h, func(a string) { address <- a }) }()
	url := <-address
	got := make(chan string, 1)
	go func() {
		res, err := http.Get(url)
		if err != nil {
			got <- err.Error()
			return
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		got <- string(b)
	}()
	<-inside
	stop()
	if s := <-got; s != "whole" {
		t.Errorf("the answer under way: %q", s)
	}
	if err := <-ended; err != nil {
		t.Errorf("the end: %v", err)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("somebody still answers")
	}
	open, end := context.WithCancel(t.Context())
	defer end()
	if err := Serve(open, Options{Listen: "0.0.0.0:0"}, h, func(string) { end() }); err == nil {
		t.Error("it listens to everybody without a token")
	}
}

// TestTheAddressOfAllCanBeOpened: who lets everybody in is told an address that a browser
// somewhere can open, not the one that stands for all.
func TestTheAddressOfAllCanBeOpened(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		ctx, stop := context.WithCancel(t.Context())
		address, ended := make(chan string, 1), make(chan error, 1)
		h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		go func() {
			ended <- Serve(ctx, Options{Listen: listen, Token: NewToken(), Insecure: true}, h, func(a string) { address <- a })
		}()
		got := <-address
		u, err := url.Parse(got)
		if err != nil {
			t.Fatal(err)
		}
		if ip := net.ParseIP(u.Hostname()); ip == nil || ip.IsUnspecified() {
			t.Errorf("--listen %s says %s", listen, got)
		}
		res, err := http.Get(got)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("--listen %s, %s: %s", listen, got, res.Status)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestWhoAsks: what a client writes of himself does not tell who he is.
func TestWhoAsks(t *testing.T) {
	for _, c := range []struct{ proxy, forwarded, want string }{
		{"", "10.0.0.1", "192.0.2.1"},
		{"https://study.example.org", "10.0.0.1, 10.0.0.2", "10.0.0.2"},
		{"https://study.example.org", "", "192.0.2.1"},
	} {
		var got string
		var secure bool
		h := Guard(Options{Listen: "127.0.0.1:0", Proxy: c.proxy}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, secure = Client(r), Secure(r) }))
		ask(h, "GET", "http://localhost/", func(r *http.Request) { r.Header.Set("X-Forwarded-For", c.forwarded) })
		if got != c.want || secure != (c.proxy != "") {
			t.Errorf("behind %q, forwarded for %q: %q (secure %v), want %q", c.proxy, c.forwarded, got, secure, c.want)
		}
	}
}
