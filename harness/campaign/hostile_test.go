//go:build campaign

package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/backends"
	"assay/backends/llamacpp"
	"assay/backends/ollama"
	"assay/backends/openai"
	"assay/backends/vllm"
	"assay/backends/wire"
	"assay/harness/dataset/datasettest"
	"assay/timing"
)

// adapter makes a backend, and tells how its servers write a stream.
type adapter struct {
	name string
	make func(wire.Config) (backends.Backend, error)
	// chunk is a chunk of an answer, end the last line of a good one.
	chunk func(text string) string
	end   string
	kind  string // of its content
}

func adapters() []adapter {
	sse := func(text string) string {
		return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
	}
	const done = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":%s,\"completion_tokens\":%s}}\n\ndata: [DONE]\n\n"
	return []adapter{
		{"ollama", func(c wire.Config) (backends.Backend, error) { return ollama.New(c) },
			func(text string) string {
				return fmt.Sprintf("{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":%q},\"done\":false}\n", text)
			},
			"{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":%s,\"eval_count\":%s}\n", "application/x-ndjson"},
		{"llamacpp", func(c wire.Config) (backends.Backend, error) { return llamacpp.New(c) }, sse, done, "text/event-stream"},
		{"vllm", func(c wire.Config) (backends.Backend, error) { return vllm.New(c) }, sse, done, "text/event-stream"},
		{"openai", func(c wire.Config) (backends.Backend, error) { return openai.New(c) }, sse, done, "text/event-stream"},
	}
}

// limit is what one hostile server may take of our time: the timeouts below, and
// what a busy machine adds.
const limit = 15 * time.Second

func hostileServers() []class {
	var out []class
	for _, a := range adapters() {
		out = append(out, class{"a hostile server, through " + a.name, func(t *testing.T, rng *rand.Rand) error { return hostile(t, a, rng) }})
	}
	return out
}

// hostile asks a server that does one thing wrong. What comes back is a failure of
// a known kind, or an answer whose figures can be true.
func hostile(t *testing.T, a adapter, rng *rand.Rand) error {
	modes := misdeeds(a)
	m := modes[rng.IntN(len(modes))]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, io.LimitReader(r.Body, 1<<20))
		if r.Method != http.MethodPost { // what a server says of itself
			http.NotFound(w, r)
			return
		}
		m.do(w, rng)
	}))
	defer s.Close()
	defer s.CloseClientConnections()
	b, err := a.make(wire.Config{URL: s.URL})
	if err != nil {
		return fmt.Errorf("%s: %w", m.name, err)
	}
	req := &backends.Request{Model: "m", Messages: []backends.Message{{Role: "user", Text: "Which side?"}},
		Sampling: backends.Sampling{MaxTokens: 64}, Timeouts: backends.Timeouts{Connect: time.Second, FirstContent: 2 * time.Second, Stall: time.Second, Total: 4 * time.Second}}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	rec := timing.NewRecorder(timing.NewClock())
	began := time.Now()
	resp, err := b.Generate(ctx, req, rec)
	took := time.Since(began)
	if ctx.Err() != nil {
		return fmt.Errorf("%s: it hung for %v", m.name, took)
	}
	if err != nil {
		var known *backends.Error
		if !errors.As(err, &known) {
			return fmt.Errorf("%s: an error of no kind: %v", m.name, err)
		}
		if len(err.Error()) > 4000 || strings.Contains(err.Error(), "\n\n\n") {
			return fmt.Errorf("%s: an error of %d characters", m.name, len(err.Error()))
		}
		return nil
	}
	if m.fails {
		return fmt.Errorf("%s: it passed as an answer: %q", m.name, resp.Answer)
	}
	for name, n := range map[string]*int{"prompt": resp.Usage.PromptTokens, "completion": resp.Usage.CompletionTokens, "cached": resp.Usage.CachedTokens, "reasoning": resp.Usage.ReasoningTokens} {
		if n != nil && (*n < 0 || *n > 1_000_000_000) {
			return fmt.Errorf("%s: %d %s tokens", m.name, *n, name)
		}
	}
	return nil
}

// misdeed is what a hostile server does with a request. fails: it can never be an
// answer.
type misdeed struct {
	name  string
	fails bool
	do    func(w http.ResponseWriter, rng *rand.Rand)
}

func misdeeds(a adapter) []misdeed {
	stream := func(w http.ResponseWriter) func(parts ...string) {
		w.Header().Set("Content-Type", a.kind)
		return func(parts ...string) {
			for _, p := range parts {
				io.WriteString(w, p)
				w.(http.Flusher).Flush()
			}
		}
	}
	good := func(prompt, completion string) string { return fmt.Sprintf(a.end, prompt, completion) }
	raw := func(text func(rng *rand.Rand) string, reset bool) func(http.ResponseWriter, *rand.Rand) {
		return func(w http.ResponseWriter, rng *rand.Rand) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			io.WriteString(c, text(rng))
			if t, ok := c.(*net.TCPConn); ok && reset {
				t.SetLinger(0)
			}
			c.Close()
		}
	}
	is := func(text string) func(*rand.Rand) string { return func(*rand.Rand) string { return text } }
	status := func(code int, body string, header ...string) func(http.ResponseWriter, *rand.Rand) {
		return func(w http.ResponseWriter, _ *rand.Rand) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			io.WriteString(w, body)
		}
	}
	says := func(parts ...string) func(http.ResponseWriter, *rand.Rand) {
		return func(w http.ResponseWriter, _ *rand.Rand) { stream(w)(parts...) }
	}
	noise := func(rng *rand.Rand) string {
		b := make([]byte, rng.IntN(4096))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return string(b)
	}
	out := []misdeed{
		{"closes at once", true, raw(is(""), false)},
		{"resets at once", true, raw(is(""), true)},
		{"noise instead of HTTP", true, raw(noise, false)},
		{"half a status line", true, raw(is("HTTP/1.1 2"), false)},
		{"a head without end", true, raw(func(*rand.Rand) string { return "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: b\r\n", 200_000) }, false)},
		{"HTTP/0.9", true, raw(is("hello"), false)},
		{"chunks of a wrong size", true, raw(is("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: "+a.kind+"\r\n\r\nzz\r\n"), false)},
		{"a body shorter than it says", true, raw(is("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\nContent-Type: "+a.kind+"\r\n\r\n"+a.chunk("left")), false)},
		{"two lengths", true, raw(is("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nhello"), false)},
		{"a negative length", true, raw(is("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello"), false)},
		{"a redirect to itself", true, status(302, "", "Location", "/api/chat")},
		{"a redirect elsewhere", true, status(307, "", "Location", "http://127.0.0.1:9/")},
		{"204", true, status(204, "")},
		{"304", true, status(304, "")},
		{"418", true, status(418, "teapot")},
		{"413", true, status(413, "<html>too large</html>", "Content-Type", "text/html")},
		{"401", true, status(401, `{"error":"no key"}`)},
		{"500 with a page", true, status(500, "<html><body>"+strings.Repeat("<p>long</p>", 20_000)+"</body></html>", "Content-Type", "text/html")},
		{"200 with a page", true, status(200, "<html>login</html>", "Content-Type", "text/html")},
		{"gzip that nobody asked for", true, status(200, "\x1f\x8b\x08\x00\x00\x00", "Content-Encoding", "gzip")},
		{"an empty stream", true, says()},
		{"no end", true, says(a.chunk("left"))},
		{"an end and no text", false, says(good("5", "0"))},
		{"an error in the middle", true, says(a.chunk("left"), strings.Replace(map[bool]string{true: "{\"error\":\"out of memory\"}\n", false: "data: {\"error\":{\"message\":\"out of memory\",\"code\":500}}\n\n"}[a.name == "ollama"], "x", "x", 1))},
		{"JSON that is none", true, says("data: {oops\n\n", "{oops\n")},
		{"an array", true, says("data: []\n\n", "[]\n")},
		{"deep nesting", true, says("data: "+strings.Repeat("[", 100_000)+"\n\n", strings.Repeat("{\"a\":", 50_000)+"\n")},
		{"a line of 20 MB", true, says("data: {\"x\":\"" + strings.Repeat("a", 20<<20) + "\"}\n\n")},
		{"silence", true, func(w http.ResponseWriter, _ *rand.Rand) { stream(w)(":\n\n"); <-time.After(5 * time.Second) }},
		{"silence after a word", true, func(w http.ResponseWriter, _ *rand.Rand) { stream(w)(a.chunk("left")); <-time.After(4 * time.Second) }},
		{"comments for ever", true, func(w http.ResponseWriter, _ *rand.Rand) {
			send := stream(w)
			for range 400 {
				send(": ping\n\n")
				<-time.After(10 * time.Millisecond)
			}
		}},
		{"words for ever", true, func(w http.ResponseWriter, _ *rand.Rand) {
			send := stream(w)
			for range 20_000 {
				send(a.chunk("left "))
			}
			send(good("5", "20000"))
		}},
		{"a drip of bytes", false, func(w http.ResponseWriter, _ *rand.Rand) {
			send := stream(w)
			for _, c := range []byte(a.chunk("left") + good("5", "1")) {
				send(string(c))
				<-time.After(time.Millisecond)
			}
		}},
		{"negative counts", false, says(a.chunk("left"), good("-5", "-1"))},
		{"enormous counts", false, says(a.chunk("left"), good("9223372036854775807", "9223372036854775807"))},
		{"fractional counts", false, says(a.chunk("left"), good("5.5", "1e3"))},
		{"counts as text", false, says(a.chunk("left"), good(`"5"`, `"one"`))},
		{"null counts", false, says(a.chunk("left"), good("null", "null"))},
		{"bytes that are no UTF-8", false, says(strings.Replace(a.chunk("left"), "left", "le\xff\xfet", 1), good("5", "1"))},
		{"a character in two chunks of the connection", false, func(w http.ResponseWriter, _ *rand.Rand) {
			text := a.chunk("naïve")
			i := strings.Index(text, "ï") + 1
			stream(w)(text[:i], text[i:], good("5", "1"))
		}},
		{"control characters", false, says(a.chunk("\x00\x1b[31m\u202e"), good("5", "1"))},
		{"an answer after the end", false, says(a.chunk("left"), good("5", "1"), a.chunk("right"))},
		{"noise in a stream", true, func(w http.ResponseWriter, rng *rand.Rand) { stream(w)(a.chunk("left"), noise(rng)) }},
		{"CR alone", false, says(strings.ReplaceAll(a.chunk("left"), "\n", "\r\n"), strings.ReplaceAll(good("5", "1"), "\n", "\r\n"))},
	}
	return out
}

// hostileFiles are data sets and settings that nobody wrote by hand.
func hostileFiles(ref *reference) []class {
	mutate := func(data []byte, rng *rand.Rand) []byte {
		data = bytes.Clone(data)
		for range 1 + rng.IntN(6) {
			if len(data) == 0 {
				return data
			}
			i := rng.IntN(len(data))
			switch rng.IntN(6) {
			case 0:
				data[i] ^= 1 << rng.IntN(8)
			case 1:
				data = data[:i]
			case 2:
				j := min(len(data), i+rng.IntN(64))
				data = append(data[:i:i], data[j:]...)
			case 3:
				j := min(len(data), i+rng.IntN(64))
				data = append(data[:j:j], data[i:]...)
			case 4:
				data = append(append(data[:i:i], "\xff\x00\xf8\"{}[]:,\n- &*!|>%@`"[rng.IntN(21)]), data[i:]...)
			default:
				clear(data[i:min(len(data), i+rng.IntN(16))])
			}
		}
		return data
	}
	check := func(t *testing.T, path string) error {
		e := run(t, time.Minute, filepath.Dir(path), "dataset", "check", path)
		if e.took > 50*time.Second {
			return fmt.Errorf("dataset check took %v", e.took)
		}
		return e.decent(0, 1, 2, 3)
	}
	change := func(t *testing.T, path string, rng *rand.Rand) error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, mutate(data, rng), 0o600)
	}
	return []class{
		{"a bench.yaml with changed bytes", func(t *testing.T, rng *rand.Rand) error {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "bench.yaml"), string(mutate([]byte(bench), rng)))
			return run(t, time.Minute, dir, "plan").decent(0, 2, 3)
		}},
		{"a JSONL data set with changed bytes", func(t *testing.T, rng *rand.Rand) error {
			dir := t.TempDir()
			var lines strings.Builder
			for i := range 4 {
				ext, file, err := datasettest.Picture(i)
				if err != nil {
					return err
				}
				name := fmt.Sprintf("%d%s", i, ext)
				write(t, filepath.Join(dir, name), string(file))
				fmt.Fprintf(&lines, `{"id":"x%d","images":[%q],"question":"Which?\nA. one\nB. two","type":"single","answer":"B","boxes":[[0,10,50,100]]}`+"\n", i, name)
			}
			path := filepath.Join(dir, "set.jsonl")
			write(t, path, string(mutate([]byte(lines.String()), rng)))
			return check(t, path)
		}},
		{"pictures with changed bytes", func(t *testing.T, rng *rand.Rand) error {
			dir := t.TempDir()
			ext, file, err := datasettest.Picture(rng.IntN(4))
			if err != nil {
				return err
			}
			name := "a" + ext
			write(t, filepath.Join(dir, name), string(mutate(file, rng)))
			path := filepath.Join(dir, "set.jsonl")
			write(t, path, fmt.Sprintf(`{"id":"x","images":[%q],"question":"Which?\nA. one\nB. two","type":"single","answer":"B"}`+"\n", name))
			if err := check(t, path); err != nil {
				return err
			}
			return run(t, time.Minute, dir, "perturb", "--region", "10,10,50,50", name).decent(0, 1, 2, 3)
		}},
		{"an M3CoTBench folder with changed bytes", func(t *testing.T, rng *rand.Rand) error {
			dir := filepath.Join(t.TempDir(), "m3")
			if err := datasettest.WriteM3CoTBench(dir, 12); err != nil {
				return err
			}
			files, err := filepath.Glob(filepath.Join(dir, "*.xlsx"))
			if err != nil || len(files) == 0 {
				return fmt.Errorf("no workbook: %v", err)
			}
			if err := change(t, files[rng.IntN(len(files))], rng); err != nil {
				return err
			}
			return check(t, dir)
		}},
		{"a TAIX-VQA folder with changed bytes", func(t *testing.T, rng *rand.Rand) error {
			dir := t.TempDir()
			if err := datasettest.WriteTAIX(dir, "test", 2, 64); err != nil {
				return err
			}
			files, err := filepath.Glob(filepath.Join(dir, "data", "*.parquet"))
			if err != nil || len(files) == 0 {
				return fmt.Errorf("no shard: %v", err)
			}
			if err := change(t, files[rng.IntN(len(files))], rng); err != nil {
				return err
			}
			return check(t, dir)
		}},
		{"a small Parquet file that unpacks to much", func(t *testing.T, rng *rand.Rand) error {
			return swollen(t, rng)
		}},
	}
}

// swollen gives a small Parquet file that says it holds gigabytes, or does.
func swollen(t *testing.T, rng *rand.Rand) error {
	path := filepath.Join(t.TempDir(), "set.parquet")
	what := "a footer of 4 GB"
	if rng.IntN(3) == 0 {
		write(t, path, "PAR1\xff\xff\xff\xffPAR1")
	} else {
		n := 1<<30 + rng.Uint32N(1<<30)
		says := int32(n + 4)
		if rng.IntN(2) == 0 {
			says = 100
		}
		what = fmt.Sprintf("a question of %d MB, which says %d bytes", n>>20, says)
		if err := datasettest.WriteSwollen(path, "question", n, says); err != nil {
			return err
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	e := run(t, time.Minute, filepath.Dir(path), "dataset", "check", path)
	if err := e.within(t, fmt.Sprintf("%s, in a file of %d bytes", what, info.Size()), 512<<20); err != nil {
		return err
	}
	if e.code == 0 {
		return fmt.Errorf("%s: dataset check found nothing wrong", what)
	}
	return e.decent(1, 2, 3)
}
