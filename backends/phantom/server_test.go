package phantom_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends/phantom"
	films "assay/harness/dataset/phantom"
)

func protocols() []string { return []string{"ollama", "llamacpp", "vllm"} }

// chatBody asks a model for a text of many chunks.
func chatBody(protocol, model, more string) (path, body string) {
	path = "/v1/chat/completions"
	if protocol == "ollama" {
		path = "/api/chat"
	} else {
		more += `,"stream_options":{"include_usage":true}`
	}
	return path, `{"model":"` + model + `","stream":true,"messages":[{"role":"user","content":"Describe this image."}]` + more + `}`
}

// memory is a listener whose connections are pipes, so that a bubble's clock
// governs both ends.
type memory struct {
	conns chan net.Conn
	done  chan struct{}
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.done:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error   { close(m.done); return nil }
func (m *memory) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func TestChunksLeaveWhenTheyAreDue(t *testing.T) {
	for _, protocol := range protocols() {
		synctest.Test(t, func(t *testing.T) {
			p := quick("steady", true)
			p.Base, p.PerToken, p.PerMegapixel, p.PerChunk = 40*time.Millisecond, 10*time.Microsecond, 100*time.Millisecond, 7*time.Millisecond
			h, err := phantom.Handler(phantom.Options{Skill: new(films.Films), Protocol: protocol, Readers: []phantom.Profile{p}})
			if err != nil {
				t.Fatal(err)
			}
			m := &memory{make(chan net.Conn), make(chan struct{})}
			server := &http.Server{Handler: h}
			go server.Serve(m)
			defer server.Close()
			client, remote := net.Pipe()
			m.conns <- remote
			defer client.Close()

			path, body := chatBody(protocol, "steady", "")
			image := `"images":["` + picture(400, 250) + `"]` // a tenth of a megapixel
			if protocol == "ollama" {
				body = strings.Replace(body, `"content":"Describe this image."`, `"content":"Describe this image.",`+image, 1)
			} else {
				body = strings.Replace(body, `"Describe this image."`, `[{"type":"text","text":"Describe this image."},{"type":"image_url","image_url":{"url":"data:image/png;base64,`+picture(400, 250)+`"}}]`, 1)
			}
			start := time.Now()
			go fmt.Fprintf(client, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
			tokens := 5 + 1 + 100_000/784 // of text, at least one, of the picture
			want := 40*time.Millisecond + time.Duration(tokens)*10*time.Microsecond + 10*time.Millisecond
			r := bufio.NewReader(client)
			chunks := 0
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					t.Fatalf("%s: after %d chunks: %v", protocol, chunks, err)
				}
				if strings.Contains(line, "[DONE]") || strings.Contains(line, `"done":true`) {
					break
				}
				if !strings.Contains(line, `"content":"`) || strings.Contains(line, `"content":"",`) {
					continue
				}
				if at := time.Since(start); at != want {
					t.Fatalf("%s: chunk %d came after %v, due after %v", protocol, chunks, at, want)
				}
				chunks++
				want += 7 * time.Millisecond
			}
			if chunks < 15 {
				t.Errorf("%s: only %d chunks", protocol, chunks)
			}
		})
	}
}

func TestTokenLimit(t *testing.T) {
	for _, protocol := range protocols() {
		url := listen(t, phantom.Options{Skill: new(films.Films), Protocol: protocol, Readers: []phantom.Profile{quick("quick", true)}})
		path, body := chatBody(protocol, "quick", `,"max_tokens":3,"options":{"num_predict":3}`)
		got := string(send(t, url, "POST", path, body).body())
		if !strings.Contains(got, `reason":"length"`) || strings.Contains(got, `reason":"stop"`) {
			t.Errorf("%s: a reply cut at three tokens ends so: %s", protocol, got)
		}
		if n := strings.Count(got, `"content":" `) + strings.Count(got, `"content":"There`); n != 3 {
			t.Errorf("%s: %d chunks: %s", protocol, n, got)
		}
		if !strings.Contains(got, `"eval_count":3`) && !strings.Contains(got, `"completion_tokens":3`) {
			t.Errorf("%s: the count is not three: %s", protocol, got)
		}
	}
}

// idle waits until none of our goroutines is left.
func idle(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; runtime.Gosched() {
		var stacks bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, 2); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(stacks.String(), "assay/backends/phantom.") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("goroutines are left:\n%s", stacks.String())
		}
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	slow := quick("slow", true)
	slow.PerChunk = time.Minute
	for _, protocol := range protocols() {
		for _, how := range []string{"client", "server"} {
			s, err := phantom.Listen("127.0.0.1:0", phantom.Options{Skill: new(films.Films), Protocol: protocol, Readers: []phantom.Profile{slow}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			path, body := chatBody(protocol, "slow", "")
			req, err := http.NewRequestWithContext(ctx, "POST", s.URL+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatalf("%s: %v", protocol, err)
			}
			if _, err := resp.Body.Read(make([]byte, 10)); err != nil {
				t.Fatalf("%s: %v", protocol, err)
			}
			if how == "client" {
				cancel()
				resp.Body.Close()
				busy(t, s.URL, protocol)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if how == "server" {
				if _, err := io.Copy(io.Discard, resp.Body); err == nil {
					t.Errorf("%s: a stream that the server cut looks complete", protocol)
				}
			}
			cancel()
			resp.Body.Close()
			idle(t)
		}
	}
}

// busy waits until the server has noticed that its client is gone.
func busy(t *testing.T, url, protocol string) {
	t.Helper()
	path, idle := map[string]string{"llamacpp": "/slots", "vllm": "/metrics"}[protocol], map[string]string{"llamacpp": `"id":0,"n_ctx":2048,"speculative":false,"is_processing":false`, "vllm": "requests_running 0\n"}[protocol]
	for deadline := time.Now().Add(5 * time.Second); path != ""; {
		if strings.Contains(string(get(t, url+path)), idle) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: still busy after the client has gone", protocol)
		}
	}
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTextOnlyInEachProtocol(t *testing.T) {
	url := listen(t, phantom.Options{Skill: new(films.Films), Protocol: "llamacpp", Loaded: "text-only"})
	if props := string(get(t, url+"/props")); !strings.Contains(props, `"vision":false`) {
		t.Errorf("props of a text-only model: %s", props)
	}
	url = listen(t, phantom.Options{Skill: new(films.Films), Protocol: "ollama"})
	e := send(t, url, "POST", "/api/show", `{"model":"text-only:latest"}`)
	if !strings.Contains(string(e.body()), `"capabilities":["completion"]`) {
		t.Errorf("show: %s", e.body())
	}
	e = send(t, url, "POST", "/api/show", `{"name":"thinker"}`)
	if !strings.Contains(string(e.body()), `"capabilities":["completion","vision","thinking"]`) {
		t.Errorf("show: %s", e.body())
	}
}

func TestOptionsAreChecked(t *testing.T) {
	if _, err := phantom.Handler(phantom.Options{Skill: new(films.Films), Protocol: "grpc"}); err == nil || !strings.Contains(err.Error(), `found "grpc"`) {
		t.Errorf("unknown protocol: %v", err)
	}
	if _, err := phantom.Handler(phantom.Options{Skill: new(films.Films), Protocol: "llamacpp", Loaded: "nobody"}); err == nil || !strings.Contains(err.Error(), "honest") {
		t.Errorf("unknown reader: %v", err)
	}
	for _, addr := range []string{"0.0.0.0:0", ":0", "127.0.0.1", "192.0.2.1:0"} {
		if s, err := phantom.Listen(addr, phantom.Options{Skill: new(films.Films), Protocol: "ollama"}); err == nil {
			s.Close()
			t.Errorf("listens on %s", addr)
		}
	}
	names := phantom.ProfileNames()
	if want := []string{"honest", "silent-sycophant", "disclosing-sycophant", "blind", "overconfident", "thinker", "memoriser", "flaky", "text-only"}; strings.Join(names, " ") != strings.Join(want, " ") {
		t.Errorf("profiles %v, want %v", names, want)
	}
}

// Whatever is posted, the answer is JSON, a stream with its end mark, or an error.
func FuzzRequests(f *testing.F) {
	files, err := os.ReadDir("testdata/fuzz/FuzzRequests")
	if err != nil || len(files) == 0 {
		f.Fatalf("the seed corpus is empty: %v", err)
	}
	var urls [3]http.Handler
	for i, protocol := range protocols() {
		if urls[i], err = phantom.Handler(phantom.Options{Skill: new(films.Films), Protocol: protocol, Readers: []phantom.Profile{quick("quick", true)}}); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, body string) {
		protocol := protocols()[int(which)%3]
		path, _ := chatBody(protocol, "", "")
		w := httptest.NewRecorder()
		urls[int(which)%3].ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
		got := w.Body.String()
		switch {
		case w.Header().Get("Assay-Phantom") != "1":
			t.Error("not marked as a phantom's")
		case strings.Contains(w.Header().Get("Content-Type"), "event-stream"):
			if !strings.HasSuffix(got, "data: [DONE]\n\n") {
				t.Errorf("a stream without its end: %q", got)
			}
		case strings.Contains(w.Header().Get("Content-Type"), "ndjson"):
			if !strings.Contains(got, `"done":true`) {
				t.Errorf("a stream without its end: %q", got)
			}
		case !json.Valid([]byte(got)):
			t.Errorf("status %d and %q", w.Code, got)
		case w.Code != 200 && !strings.Contains(got, `"error"`):
			t.Errorf("status %d without an error: %q", w.Code, got)
		}
	})
}
