package phantom_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/backends/phantom"
	films "assay/harness/dataset/phantom"
)

// exchange is one response as it came over the connection.
type exchange struct {
	status  string
	headers map[string]string
	chunks  [][]byte // one where the body was not chunked
	closed  bool     // the server closed the connection after it
}

func (e exchange) body() []byte { return bytes.Join(e.chunks, nil) }

func parse(t *testing.T, r *bufio.Reader) exchange {
	t.Helper()
	line := func() string {
		s, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("read a line: %v after %q", err, s)
		}
		return strings.TrimSuffix(s, "\r\n")
	}
	e := exchange{status: line(), headers: map[string]string{}}
	for h := line(); h != ""; h = line() {
		k, v, _ := strings.Cut(h, ":")
		e.headers[strings.ToLower(k)] = strings.TrimSpace(v)
	}
	take := func(n int) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(r, b); err != nil {
			t.Fatalf("read %d bytes of body: %v", n, err)
		}
		return b
	}
	if e.headers["transfer-encoding"] != "chunked" {
		n, err := strconv.Atoi(e.headers["content-length"])
		if err != nil {
			t.Fatalf("neither chunked nor a length: %v", e.headers)
		}
		e.chunks = [][]byte{take(n)}
		return e
	}
	for {
		n, err := strconv.ParseInt(line(), 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			line()
			return e
		}
		e.chunks = append(e.chunks, take(int(n)))
		line()
	}
}

func recorded(t *testing.T, path string) exchange {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "recordings", path+".http"))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, bufio.NewReader(bytes.NewReader(b)))
}

// send puts a request on a connection of its own.
func send(t *testing.T, url, method, path, body string) exchange {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body)
	r := bufio.NewReader(conn)
	e := parse(t, r)
	// A server that keeps the connection answers once more.
	fmt.Fprintf(conn, "GET /again HTTP/1.1\r\nHost: x\r\n\r\n")
	_, err = r.ReadByte()
	e.closed = err != nil
	return e
}

// shape writes the structure of a JSON value: keys and types, lists by the
// shapes that occur in them.
func shape(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "bool"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		var kinds []string
		for _, x := range v {
			kinds = append(kinds, shape(x))
		}
		slices.Sort(kinds)
		return "[" + strings.Join(slices.Compact(kinds), "|") + "]"
	case map[string]any:
		var b strings.Builder
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if k == "model_info" || k == "projector_info" { // the model's own keys
				continue
			}
			b.WriteString(k + ":" + shape(v[k]) + ",")
		}
		return "{" + b.String() + "}"
	}
	panic("not JSON")
}

// events are the shapes of a stream's or body's JSON values, and of the text
// around them, chunk by chunk.
func events(t *testing.T, e exchange) [][]string {
	t.Helper()
	var out [][]string
	for _, c := range e.chunks {
		var in []string
		for l := range bytes.Lines(c) {
			text := strings.TrimSuffix(string(l), "\n")
			data, sse := strings.CutPrefix(text, "data: ")
			var v any
			if json.Unmarshal([]byte(data), &v) == nil {
				text = shape(v)
				if sse {
					text = "data: " + text
				}
			}
			in = append(in, text)
		}
		out = append(out, in)
	}
	return out
}

// picture is no chest: what a reader says of it is not looked at here.
func picture(w, h int) string {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// quick is a reader without pauses.
func quick(name string, vision bool) phantom.Profile {
	return phantom.Profile{Name: name, Vision: vision, Looks: vision, Acuity: 1, AcuityCoT: 1, StepRight: 1,
		Order: []string{"modality", "feature", "conclusion", "other"}, Context: 2048, Weights: 307_000_000}
}

func listen(t *testing.T, o phantom.Options) string {
	t.Helper()
	s, err := phantom.Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.URL
}

const catSchema = `{"type":"object","properties":{"label":{"type":"string","enum":["cat","dog","none"]},"count":{"type":"integer","minimum":0,"maximum":9},"caption":{"type":"string","maxLength":60},"ok":{"type":"boolean"}},"required":["label","count","caption","ok"]}`

// sameAs compares a phantom's response with a recording. exact: the body too;
// otherwise its structure.
func sameAs(t *testing.T, folder, name, url, method, path, body string, exact bool) {
	t.Run(folder+"/"+name, func(t *testing.T) {
		want, got := recorded(t, folder+"/"+name), send(t, url, method, path, body)
		if got.status != want.status {
			t.Errorf("status %q, recorded %q (%s)", got.status, want.status, got.body())
		}
		if got.headers["assay-phantom"] != "1" {
			t.Error("the response is not marked as a phantom's")
		}
		delete(got.headers, "assay-phantom")
		for _, h := range []string{"date", "content-length"} { // values that differ
			if _, ok := want.headers[h]; ok {
				want.headers[h] = "?"
			}
			if _, ok := got.headers[h]; ok {
				got.headers[h] = "?"
			}
		}
		// Go's server sends a large body in chunks and a small one whole.
		if !exact && path == "/api/show" {
			for _, e := range []exchange{want, got} {
				delete(e.headers, "transfer-encoding")
				delete(e.headers, "content-length")
			}
		}
		if !maps.Equal(got.headers, want.headers) {
			t.Errorf("headers %v, recorded %v", got.headers, want.headers)
		}
		if exact {
			if !bytes.Equal(got.body(), want.body()) {
				t.Errorf("body %s, recorded %s", got.body(), want.body())
			}
			return
		}
		g, w := events(t, got), events(t, want)
		ends := func(e [][]string) [][]string { // how a stream begins and ends, whatever its length
			if len(e) < 3 {
				return e
			}
			return [][]string{e[0], e[1], e[len(e)-3], e[len(e)-2], e[len(e)-1]}
		}
		if a, b := fmt.Sprint(ends(g)), fmt.Sprint(ends(w)); a != b {
			t.Errorf("structure\n%s\nrecorded\n%s", a, b)
		}
		if len(w) > 3 && len(g) > 3 {
			kinds := map[string]bool{}
			for _, e := range w {
				kinds[fmt.Sprint(e)] = true
			}
			for _, e := range g {
				if !kinds[fmt.Sprint(e)] {
					t.Errorf("a chunk of structure %v, which the recording has not", e)
				}
			}
		}
	})
}

func TestOllamaIsLikeTheRecordings(t *testing.T) {
	url := listen(t, phantom.Options{Skill: new(films.Films), Protocol: "ollama", Readers: []phantom.Profile{quick("tiny-vlm", true), quick("tiny-text", false)}})
	const folder = "ollama-0.24.0"
	chat := func(more string) string {
		return `{"model":"tiny-vlm","messages":[{"role":"user","content":"Describe this image.","images":["` + picture(224, 112) + `"]}]` + more + `}`
	}
	image := func(data string) string {
		return `{"model":"tiny-vlm","stream":false,"messages":[{"role":"user","content":"x","images":["` + data + `"]}]}`
	}
	long := strings.Repeat("word ", 6000)
	var cut bytes.Buffer
	if err := png.Encode(&cut, image0(64)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, method, path, body string }{
		{"version", "GET", "/api/version", ""},
		{"ps-empty", "GET", "/api/ps", ""},
		{"tags", "GET", "/api/tags", ""},
		{"show-vlm", "POST", "/api/show", `{"model":"tiny-vlm"}`},
		{"load-only", "POST", "/api/chat", `{"model":"tiny-vlm","messages":[]}`},
		{"chat-stream-image-warm", "POST", "/api/chat", chat(`,"stream":true,"options":{"seed":1,"num_predict":48}`)},
		{"chat-stream-length", "POST", "/api/chat", chat(`,"stream":true,"options":{"seed":4,"num_predict":5}`)},
		{"chat-nostream-image", "POST", "/api/chat", chat(`,"stream":false`)},
		{"chat-schema-nostream", "POST", "/api/chat", chat(`,"stream":false,"format":` + catSchema)},
		{"chat-schema-stream", "POST", "/api/chat", chat(`,"format":` + catSchema)},
		{"chat-format-json", "POST", "/api/chat", chat(`,"stream":false,"format":"json"`)},
		{"ps-loaded", "GET", "/api/ps", ""},
		{"unload-last", "POST", "/api/generate", `{"model": "tiny-vlm", "keep_alive": 0}`},
		{"err-text-model-image", "POST", "/api/chat", strings.Replace(chat(""), "tiny-vlm", "tiny-text", 1)},
		{"err-truncated-png", "POST", "/api/chat", image(base64.StdEncoding.EncodeToString(cut.Bytes()[:cut.Len()/2]))},
	} {
		sameAs(t, folder, c.name, url, c.method, c.path, c.body, false)
	}
	for _, c := range []struct{ name, method, path, body string }{
		{"root", "GET", "/", ""},
		{"show-unknown", "POST", "/api/show", `{"model":"nope"}`},
		{"err-unknown-model", "POST", "/api/chat", strings.Replace(chat(""), "tiny-vlm", "nope", 1)},
		{"err-malformed-json", "POST", "/api/chat", `{"model":"tiny-vlm","messages":[`},
		{"err-empty-body", "POST", "/api/chat", ""},
		{"err-wrong-type", "POST", "/api/chat", `{"model":"tiny-vlm","messages":"hello"}`},
		{"err-no-model", "POST", "/api/chat", `{"messages":[]}`},
		{"err-bad-base64", "POST", "/api/chat", image("@@@")},
		{"err-data-url-image", "POST", "/api/chat", image("data:image/png;base64,iVBO")},
		{"err-not-an-image", "POST", "/api/chat", image("aGVsbG8=")},
		{"err-bad-option-type", "POST", "/api/chat", chat(`,"options":{"num_predict":"many"}`)},
		{"err-think", "POST", "/api/chat", chat(`,"think":true`)},
		{"chat-format-bad", "POST", "/api/chat", chat(`,"format":"yaml"`)},
		{"chat-format-bad-schema", "POST", "/api/chat", chat(`,"format":{"type":"object","properties":{"a":{"$ref":"#/nope"}}}`)},
		{"err-long-context-no-truncate", "POST", "/api/chat", `{"model":"tiny-vlm","stream":false,"truncate":false,"messages":[{"role":"user","content":"` + long + `"}]}`},
		{"err-long-context-no-truncate-stream", "POST", "/api/chat", `{"model":"tiny-vlm","truncate":false,"messages":[{"role":"user","content":"` + long + `"}]}`},
		{"err-404", "GET", "/api/nope", ""},
		{"err-405", "GET", "/api/chat", ""},
	} {
		sameAs(t, folder, c.name, url, c.method, c.path, c.body, true)
	}
	covered(t, folder)
}

func image0(n int) image.Image { return image.NewGray(image.Rect(0, 0, n, n)) }

// covered fails where a recording in testdata is compared with nothing.
func covered(t *testing.T, folder string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Join("testdata", "recordings", folder))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recordings: %v", len(files), err)
	}
	source, err := os.ReadFile("conformance_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".http"); !bytes.Contains(source, []byte(`{"`+name+`"`)) {
			t.Errorf("recording %s/%s is compared with nothing", folder, name)
		}
	}
}

func TestLlamaServerIsLikeTheRecordings(t *testing.T) {
	one := listen(t, phantom.Options{Skill: new(films.Films), Protocol: "llamacpp", Readers: []phantom.Profile{quick("tiny-vlm", true), quick("tiny-text", false)}, Loaded: "tiny-vlm"})
	const folder, path = "llama-server-b10573", "/v1/chat/completions"
	ask := func(url, more string) string {
		return `{"model":"tiny-vlm","max_tokens":48,"messages":[{"role":"user","content":[{"type":"text","text":"Describe this image."},{"type":"image_url","image_url":{"url":"` + url + `"}}]}]` + more + `}`
	}
	const data = "data:image/png;base64,"
	chat := func(more string) string { return ask(data+picture(224, 112), more) }
	long := strings.Repeat("word ", 6000)
	schema := `,"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":` + catSchema + `}}`
	for _, c := range []struct{ name, method, path, body string }{
		{"models", "GET", "/v1/models", ""},
		{"props", "GET", "/props", ""},
		{"slots-idle", "GET", "/slots", ""},
		{"chat-stream-image-nocache", "POST", path, chat(`,"stream":true,"stream_options":{"include_usage":true},"cache_prompt":false`)},
		{"chat-stream-no-usage", "POST", path, chat(`,"stream":true`)},
		{"chat-stream-timings-per-token", "POST", path, chat(`,"stream":true,"timings_per_token":true`)},
		{"chat-schema-stream", "POST", path, chat(`,"stream":true` + schema)},
		{"chat-nostream-nocache", "POST", path, chat(`,"cache_prompt":false`)},
		{"chat-nostream-length", "POST", path, strings.Replace(chat(""), `"max_tokens":48`, `"max_tokens":4`, 1)},
		{"chat-schema-nostream", "POST", path, chat(schema)},
		{"err-malformed-json", "POST", path, `{"model":"tiny-vlm","messages":[`},
		{"err-bad-schema", "POST", path, chat(`,"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"object","properties":{"a":{"$ref":"#/nope"}}}}}`)},
		{"err-long-context", "POST", path, `{"model":"tiny-vlm","messages":[{"role":"user","content":"` + long + `"}]}`},
	} {
		sameAs(t, folder, c.name, one, c.method, c.path, c.body, false)
	}
	for _, c := range []struct{ name, method, path, body string }{
		{"health", "GET", "/health", ""},
		{"err-text-model-image", "POST", path, strings.Replace(chat(""), "tiny-vlm", "tiny-text", 1)},
		{"err-empty-body", "POST", path, ""},
		{"err-no-messages", "POST", path, `{"model":"tiny-vlm"}`},
		{"err-wrong-type", "POST", path, `{"model":"tiny-vlm","messages":"hello"}`},
		{"err-bad-base64", "POST", path, ask(data+"@@@", "")},
		{"err-not-an-image", "POST", path, ask(data+"aGVsbG8=", "")},
		{"err-truncated-png", "POST", path, ask(data+picture(64, 64)[:60], "")},
		{"err-http-image", "POST", path, ask("http://127.0.0.1:1/x.png", "")},
		{"err-bad-format-type", "POST", path, chat(`,"response_format":{"type":"yaml"}`)},
	} {
		sameAs(t, folder, c.name, one, c.method, c.path, c.body, true)
	}
	for _, c := range []struct{ name, method, path, body string }{
		{"err-404", "GET", "/nope", ""},
		{"err-405", "GET", path, ""},
	} {
		sameAs(t, folder, c.name, one, c.method, c.path, c.body, false)
	}
	covered(t, folder)

	// After a stream it closes the connection that it promised to keep.
	if e := send(t, one, "POST", path, chat(`,"stream":true`)); !e.closed || e.headers["connection"] != "" {
		t.Errorf("after a stream: closed %v, headers %v", e.closed, e.headers)
	}
	if e := send(t, one, "POST", path, chat("")); e.closed {
		t.Error("after a whole reply the connection was closed")
	}
	// A server with a model loaded does not check names; one without does.
	if e := send(t, one, "POST", path, strings.Replace(chat(""), "tiny-vlm", "nope", 1)); !strings.HasPrefix(e.status, "HTTP/1.1 200") {
		t.Errorf("any name: %s %s", e.status, e.body())
	}
	many := listen(t, phantom.Options{Skill: new(films.Films), Protocol: "llamacpp"})
	if e := send(t, many, "POST", path, strings.Replace(chat(""), "tiny-vlm", "nope", 1)); !strings.HasPrefix(e.status, "HTTP/1.1 404") || shape(decoded(t, e)) != "{error:{code:number,message:string,type:string,},}" {
		t.Errorf("unknown name: %s %s", e.status, e.body())
	}
}

func decoded(t *testing.T, e exchange) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(e.body(), &v); err != nil {
		t.Fatalf("%s: %v", e.body(), err)
	}
	return v
}

// Unverified: nobody has recorded a live vLLM. The shapes follow its source.
func TestUnverifiedVLLMFraming(t *testing.T) {
	thinker := quick("seer", true)
	thinker.Thinking = phantom.ThinksChannel
	url := listen(t, phantom.Options{Skill: new(films.Films), Protocol: "vllm", Readers: []phantom.Profile{thinker, quick("scribe", false)}})
	const path, question = "/v1/chat/completions", "How large is the heart? Select one option.\\nA. Normal\\nB. Borderline"
	chat := func(model, more string) string {
		return `{"model":"` + model + `","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + picture(56, 56) + `"}},{"type":"text","text":"` + question + `"}]}]` + more + `}`
	}
	choice := func(delta, finish string) string {
		return `data: {choices:[{delta:` + delta + `,finish_reason:` + finish + `,index:number,logprobs:null,token_ids:null,}],created:number,id:string,model:string,object:string,}`
	}
	e := send(t, url, "POST", path, chat("seer", `,"stream":true,"stream_options":{"include_usage":true}`))
	if e.headers["content-type"] != "text/event-stream; charset=utf-8" || e.headers["assay-phantom"] != "1" {
		t.Errorf("headers %v", e.headers)
	}
	got := events(t, e)
	want := []string{choice("{content:string,role:string,}", "null"), choice("{reasoning:string,}", "null")}
	for i, w := range want {
		if fmt.Sprint(got[i]) != fmt.Sprint([]string{w, ""}) {
			t.Errorf("event %d is %v, want %s", i, got[i], w)
		}
	}
	want = []string{choice("{content:string,}", "null"), choice("{}", "string"),
		"data: {choices:[],created:number,id:string,metrics:{generation_time_ms:number,mean_itl_ms:number,queue_time_ms:number,time_to_first_token_ms:number,},model:string,object:string,usage:{completion_tokens:number,prompt_tokens:number,prompt_tokens_details:{cached_tokens:number,},total_tokens:number,},}",
		"data: [DONE]"}
	for i, w := range want {
		if g := got[len(got)-len(want)+i]; fmt.Sprint(g) != fmt.Sprint([]string{w, ""}) {
			t.Errorf("event %d from the end is %v, want %s", len(want)-i, g, w)
		}
	}
	problem := func(param string) string {
		return "{error:{code:number,message:string,param:" + param + ",type:string,},}"
	}
	for _, c := range []struct{ name, method, path, body, status, shape, says string }{
		{"unknown model", "POST", path, chat("nope", ""), "404", problem("string"), "The model `nope` does not exist."},
		{"no vision", "POST", path, chat("scribe", ""), "400", problem("null"), "scribe is not a multimodal model"},
		{"context", "POST", path, `{"model":"seer","messages":[{"role":"user","content":"` + strings.Repeat("word ", 3000) + `"}]}`, "400", problem("string"), "maximum context length is 2048 tokens"},
		{"no picture", "POST", path, strings.Replace(chat("seer", ""), "iVBO", "xxxx", 1), "400", problem("null"), "image"},
		{"malformed", "POST", path, `{"model":`, "400", problem("null"), "JSON"},
		{"no messages", "POST", path, `{"model":"seer"}`, "400", problem("null"), "messages"},
		{"schema", "POST", path, chat("seer", `,"structured_outputs":{"json":{"$ref":"#/nope"}}`), "400", problem("null"), "#/nope"},
		{"version", "GET", "/version", "", "200", "{version:string,}", "phantom"},
		{"models", "GET", "/v1/models", "", "200", "{data:[{created:number,id:string,max_model_len:number,object:string,owned_by:string,parent:null,permission:[],root:string,}],object:string,}", "seer"},
		{"whole", "POST", path, chat("seer", ""), "200", "{choices:[{finish_reason:string,index:number,logprobs:null,message:{content:string,reasoning:string,role:string,},token_ids:null,}],created:number,id:string,model:string,object:string,usage:{completion_tokens:number,prompt_tokens:number,prompt_tokens_details:{cached_tokens:number,},total_tokens:number,},}", "radiograph"},
		{"nowhere", "GET", "/nope", "", "404", "{detail:string,}", "Not Found"},
	} {
		e := send(t, url, c.method, c.path, c.body)
		if !strings.HasPrefix(e.status, "HTTP/1.1 "+c.status) || shape(decoded(t, e)) != c.shape || !strings.Contains(string(e.body()), c.says) {
			t.Errorf("%s: %s %s, shape %s", c.name, e.status, e.body(), shape(decoded(t, e)))
		}
	}
	metrics := string(send(t, url, "GET", "/metrics", "").body())
	for _, line := range []string{"vllm:prefix_cache_hits_total 0\n", "vllm:mm_cache_hits_total 0\n", "vllm:time_to_first_token_seconds_count 2\n", "vllm:num_requests_running 0\n"} {
		if !strings.Contains(metrics, line) {
			t.Errorf("metrics lack %q:\n%s", line, metrics)
		}
	}
	if e := send(t, url, "GET", "/health", ""); !strings.HasPrefix(e.status, "HTTP/1.1 200") {
		t.Errorf("health: %s", e.status)
	}
}
