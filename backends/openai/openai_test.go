package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assay/backends"
	"assay/backends/wire"
	"assay/timing"
)

// says answers every request in memory: status and type, then the parts, one
// millisecond apart.
func says(status int, kind string, parts ...string) wire.Dial {
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			r, err := http.ReadRequest(bufio.NewReader(server))
			if err != nil {
				return
			}
			io.Copy(io.Discard, r.Body)
			head := fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Type: %s\r\n%s: 1\r\nTransfer-Encoding: chunked\r\n\r\n", status, kind, backends.PhantomHeader)
			_, err = io.WriteString(server, head)
			gone := make(chan struct{}) // closed when the client hangs up
			go func() {
				io.Copy(io.Discard, server)
				close(gone)
			}()
			for _, p := range append(parts, "") {
				select {
				case <-time.After(time.Millisecond):
				case <-gone:
					return
				}
				if err == nil {
					_, err = fmt.Fprintf(server, "%x\r\n%s\r\n", len(p), p)
				}
			}
		}()
		return client, nil
	}
}

func backend(t *testing.T, d wire.Dial) *Backend {
	t.Helper()
	b, err := New(wire.Config{URL: "http://server.invalid:1/v1/", Dial: d})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var ask = &backends.Request{Model: "m", Messages: []backends.Message{{Role: backends.User, Text: "?"}}, Sampling: backends.Sampling{MaxTokens: 9}}

const (
	role  = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null},"finish_reason":null}]}` + "\n\n"
	empty = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n"
	stop  = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	use   = `data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":1}}}` + "\n\n"
	done  = "data: [DONE]\n\n"
)

func word(w string) string { return thought("content", w) }

func thought(key, w string) string {
	text, err := json.Marshal(w)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{%q:%s},"finish_reason":null}]}`+"\n\n", key, text)
}

// chunks describes a trace: r or a for reasoning or answer, code points, and the
// millisecond of arrival since the head; ~ where a later chunk shared the read.
func chunks(tr timing.Trace) string {
	var out []string
	start, _ := tr.At(timing.Start)
	for _, p := range tr.Chunks {
		s := fmt.Sprintf("%s%d@%d", map[bool]string{true: "a", false: "r"}[p.Answer], p.Runes, (p.At-start)/time.Millisecond)
		if p.Shared {
			s += "~"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestStreams(t *testing.T) {
	half := strings.Split(word("é"), "\xa9") // in the middle of the code point
	for name, c := range map[string]struct {
		parts             []string
		answer, reasoning string
		finish            backends.Finish
		chunks            string
		usage             string
	}{
		"plain":                    {[]string{role, word("Left"), word(" lung"), stop, use, done}, "Left lung", "", backends.FinishStop, "a4@2 a5@3", "7 3 0 1"},
		"an empty chunk is none":   {[]string{empty, word(""), word("x"), stop, done}, "x", "", backends.FinishStop, "a1@3", "- - - -"},
		"reasoning first":          {[]string{role, thought("reasoning_content", "hm"), word("x"), stop, done}, "x", "hm", backends.FinishStop, "r2@2 a1@3", "- - - -"},
		"reasoning, the other key": {[]string{thought("reasoning", "hm"), word("x"), stop, done}, "x", "hm", backends.FinishStop, "r2@1 a1@2", "- - - -"},
		"both keys are one text": {[]string{`data: {"choices":[{"delta":{"reasoning":"hm","reasoning_content":"hm"}}]}` + "\n\n", stop, done},
			"", "hm", backends.FinishStop, "r2@1", "- - - -"},
		"thought and answer in one": {[]string{`data: {"choices":[{"delta":{"reasoning":"hm","content":"x"}}]}` + "\n\n", stop, done},
			"x", "hm", backends.FinishStop, "r2@1~ a1@1", "- - - -"},
		"many chunks in one read": {[]string{role + word("a") + word("b") + word("c"), stop, done}, "abc", "", backends.FinishStop, "a1@1~ a1@1~ a1@1", "- - - -"},
		"halved code point":       {[]string{role, half[0], "\xa9", half[1], stop, done}, "é", "", backends.FinishStop, "a1@4", "- - - -"},
		"comments and CRLF":       {[]string{": ping\r\n\r\n", strings.ReplaceAll(word("x"), "\n", "\r\n"), ": ping\n\n", stop, done}, "x", "", backends.FinishStop, "a1@2", "- - - -"},
		"data over lines":         {[]string{"data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"x\"}}]}\n\n", stop, done}, "x", "", backends.FinishStop, "a1@1", "- - - -"},
		"cut by length":           {[]string{word("x"), strings.ReplaceAll(stop, "stop", "length"), done}, "x", "", backends.FinishLength, "a1@1", "- - - -"},
		"another finish":          {[]string{word("x"), strings.ReplaceAll(stop, "stop", "content_filter"), done}, "x", "", backends.FinishOther, "a1@1", "- - - -"},
		"nothing said":            {[]string{role, stop, done}, "", "", backends.FinishStop, "", "- - - -"},
		"a second choice":         {[]string{word("x"), strings.ReplaceAll(word("y"), `"index":0`, `"index":1`), stop, done}, "x", "", backends.FinishStop, "a1@1", "- - - -"},
		"error: null":             {[]string{`data: {"error":null,"choices":[{"delta":{"content":"x"}}]}` + "\n\n", stop, done}, "x", "", backends.FinishStop, "a1@1", "- - - -"},
		"an error as content":     {[]string{word(`{"error":"x"}`), stop, done}, `{"error":"x"}`, "", backends.FinishStop, "a13@1", "- - - -"},
		"usage on every event": {[]string{`data: {"choices":[{"delta":{"content":"x"}}],"usage":{"completion_tokens":1}}` + "\n\n", stop, use, done},
			"x", "", backends.FinishStop, "a1@1", "7 3 0 1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec := timing.NewRecorder(timing.NewClock())
				r, err := backend(t, says(200, "text/event-stream", c.parts...)).Generate(t.Context(), ask, rec)
				if err != nil {
					t.Fatal(err)
				}
				if r.Answer != c.answer || r.Reasoning != c.reasoning || r.Finish != c.finish {
					t.Errorf("answer %q, reasoning %q, finish %s", r.Answer, r.Reasoning, r.Finish)
				}
				if got := chunks(rec.Trace()); got != c.chunks {
					t.Errorf("chunks %s, want %s", got, c.chunks)
				}
				var usage []string
				for _, n := range []*int{r.Usage.PromptTokens, r.Usage.CompletionTokens, r.Usage.CachedTokens, r.Usage.ReasoningTokens} {
					if n == nil {
						usage = append(usage, "-")
					} else {
						usage = append(usage, fmt.Sprint(*n))
					}
				}
				if got := strings.Join(usage, " "); got != c.usage {
					t.Errorf("usage %s, want %s", got, c.usage)
				}
				if !json.Valid(r.Sent) {
					t.Errorf("sent %s", r.Sent)
				}
			})
		})
	}
}

func TestStreamsThatAreNoAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		status  int
		kind    string
		parts   []string
		want    backends.Kind
		says    string
		partial string
	}{
		"no end mark, no finish": {200, "text/event-stream", []string{word("x")}, backends.ErrTruncated, "[DONE]", "x"},
		"gave up, no end mark":   {200, "text/event-stream", []string{word("x"), strings.ReplaceAll(stop, "stop", "error")}, backends.ErrTruncated, "[DONE]", "x"},
		"only thoughts":          {200, "text/event-stream", []string{thought("reasoning", "hm")}, backends.ErrTruncated, "[DONE]", "hm"},
		"no finish reason":       {200, "text/event-stream", []string{word("x"), done}, backends.ErrTruncated, "without a finish reason", "x"},
		"aborted":                {200, "text/event-stream", []string{word("x"), strings.ReplaceAll(stop, "stop", "abort"), done}, backends.ErrTruncated, "gave up", "x"},
		"cut in an event":        {200, "text/event-stream", []string{word("x"), word("y")[:30]}, backends.ErrTruncated, "[DONE]", "x"},
		"garbage in an event":    {200, "text/event-stream", []string{word("x"), "data: {nope\n\n", stop, done}, backends.ErrMalformed, "{nope", "x"},
		"wrong kind of value":    {200, "text/event-stream", []string{`data: {"choices":7}` + "\n\n", done}, backends.ErrMalformed, "cannot be read", ""},
		"empty stream":           {200, "text/event-stream", nil, backends.ErrTruncated, "[DONE]", ""},
		"error, then end mark":   {200, "text/event-stream", []string{word("x"), `data: {"error":{"message":"out of memory","code":500}}` + "\n\n", stop, done}, backends.ErrServer, "out of memory", "x"},
		"error in words":         {200, "text/event-stream", []string{`data: {"error":"boom"}` + "\n\n", done}, backends.ErrServer, "boom", ""},
		"error of older vLLM":    {200, "text/event-stream", []string{`data: {"object":"error","message":"boom","code":500}` + "\n\n", done}, backends.ErrServer, "boom", ""},
		"error event":            {200, "text/event-stream", []string{"event: error\ndata: {\"error\":{\"note\":1}}\n\n"}, backends.ErrServer, `{"note":1}`, ""},
		"not a stream":           {200, "application/json", []string{`{"choices":[]}`}, backends.ErrMalformed, `got "application/json"`, ""},
		"a web page":             {200, "text/html", []string{"<html>"}, backends.ErrMalformed, "<html>", ""},
		"no content":             {204, "text/plain", nil, backends.ErrServer, "No Content", ""},
		"a page for an error":    {502, "text/html", []string{"<html>Bad gateway</html>"}, backends.ErrServer, "a web page, not a model server's reply: Bad gateway", ""},
		"refused":                {400, "application/json", []string{`{"error":{"message":"bad field"}}`}, backends.ErrRefused, "bad field", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec := timing.NewRecorder(timing.NewClock())
				r, err := backend(t, says(c.status, c.kind, c.parts...)).Generate(t.Context(), ask, rec)
				var e *backends.Error
				if r != nil || !errors.As(err, &e) || e.Kind != c.want {
					t.Fatalf("response %+v, error %v, want kind %s", r, err, c.want)
				}
				if !strings.Contains(e.Error(), c.says) || e.Partial != c.partial || e.Status != c.status || len(e.Sent) == 0 || !strings.HasPrefix(e.Op, "POST http://server.invalid:1/v1/chat/completions") {
					t.Errorf("error %+v, want %q, partial %q", e, c.says, c.partial)
				}
				if _, ok := rec.Trace().TTFT(); ok != (c.partial != "") {
					t.Errorf("TTFT is known: %t", ok)
				}
				<-time.After(time.Minute)
			})
		})
	}
}

// TestTheEndMarkIsTheEnd: what a connection does after it does not undo an answer.
func TestTheEndMarkIsTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		after string
		to    backends.Timeouts
	}{
		"the connection breaks": {"zz", backends.Timeouts{}},
		"the server lingers":    {"", backends.Timeouts{Stall: time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := func(context.Context, string, string) (net.Conn, error) {
					client, server := net.Pipe()
					go func() {
						r, err := http.ReadRequest(bufio.NewReader(server))
						if err == nil {
							io.Copy(io.Discard, r.Body)
							io.WriteString(server, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9999\r\n\r\n"+word("x")+stop+done+c.after)
						}
						if c.after == "" {
							io.Copy(io.Discard, server)
						}
						server.Close()
					}()
					return client, nil
				}
				req := *ask
				req.Timeouts = c.to
				r, err := backend(t, d).Generate(t.Context(), &req, timing.NewRecorder(timing.NewClock()))
				if err != nil || r.Answer != "x" {
					t.Errorf("%+v, %v", r, err)
				}
			})
		})
	}
}

func TestLiveLook(t *testing.T) {
	for line, want := range map[string]bool{
		strings.TrimSpace(role):       false,
		strings.TrimSpace(empty):      false,
		strings.TrimSpace(stop):       false,
		strings.TrimSpace(use):        false,
		"data: [DONE]":                false,
		": ping":                      false,
		"":                            false,
		strings.TrimSpace(word("x")):  true,
		strings.TrimSpace(word(`"}`)): true,
		strings.TrimSpace(thought("reasoning", "x")):                                     true,
		strings.TrimSpace(thought("reasoning_content", "x")):                             true,
		`data: {"choices": [{"delta": {"role": "assistant", "content": "x"}}]}`:          true,
		`data: {"choices": [{"delta": {"role": "assistant", "content": ""}}]}`:           false,
		`data: {"choices":[{"delta":{"content":"","reasoning_content":"x"}}]}`:           true,
		`data: {"choices":[{"delta":{"content":null}}],"note":{"content":"x"}}`:          false,
		`data: {"choices":[{"delta":{"reasoning":"{\"delta\":{","content":"x"}}],"z":1}`: true,
		`data: {"choices":[{"delta":`:                                                    false,
		`data: {"choices":[{"delta" : { "content" : "x" }}]}`:                            true,
		`data:{"choices":[{"delta":{"content"	:	"x"}}]}`:                                 true,
		`data: {"choices":[{"delta":{"tool":{"a":{}},"content":"x"}}]}`:                  true,
		`data: {"choices":[{"delta":{"tool":{"content":"y"},"content":""}}]}`:            false,
		`data: {"choices":[{"logprobs":{"content":[{"token":"x"}]},"delta":{}}]}`:        false,
		`data: {"choices":[{"delta":{"content":[{"type":"text","text":"x"}]}}]}`:         true,
		`data: {"choices":[{"delta":{"content":[]}}]}`:                                   false,
		`data: "delta" : { "content": "x",`:                                              true, // of an event in several lines
	} {
		if got := hasContent([]byte(line)); got != want {
			t.Errorf("%s: %t", line, got)
		}
	}
}

// TestOddButLegalStreams: what event streams and servers may do, and an answer is
// an answer all the same.
func TestOddButLegalStreams(t *testing.T) {
	for name, parts := range map[string][]string{
		"empty data":          {"data:\n\n", "data: \n\n" + word("a"), "data\n\n" + word("b"), stop, done},
		"event without data":  {"event: ping\nid: 7\n\n", word("a"), word("b"), stop, done},
		"CR ends lines":       {strings.ReplaceAll(word("a")+word("b")+stop+done, "\n", "\r")},
		"CRLF cut in two":     {"data: {\"choices\":[{\"delta\":{\"content\":\"ab\"}}]}\r", "\n\r", "\n" + stop + done},
		"spaces in the JSON":  {`data: { "choices" : [ { "delta" : { "content" : "ab" } } ] }` + "\n\n", stop, done},
		"JSON in lines":       {"data: {\"choices\":[\ndata: {\"delta\": {\"content\":\ndata: \"ab\"}}]}\n\n", stop, done},
		"content in parts":    {`data: {"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]}` + "\n\n", stop, done},
		"empty list, a null":  {`data: {"choices":[{"delta":{"content":[]}}]}` + "\n\n", role, word("ab"), stop, done},
		"unfinished at first": {"data: ", strings.TrimPrefix(word("ab"), "data: "), stop, done},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := backend(t, says(200, "text/event-stream", parts...)).Generate(t.Context(), ask, timing.NewRecorder(timing.NewClock()))
				if err != nil || r.Answer != "ab" || r.Reasoning != "" {
					t.Errorf("%+v, %v", r, err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		think := `data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"b"}]}}]}` + "\n\n"
		r, err := backend(t, says(200, "text/event-stream", think, stop, done)).Generate(t.Context(), ask, timing.NewRecorder(timing.NewClock()))
		if err != nil || r.Answer != "b" || r.Reasoning != "hm" {
			t.Errorf("%+v, %v", r, err)
		}
		picture := `data: {"choices":[{"delta":{"content":[{"type":"image_url","image_url":{}}]}}]}` + "\n\n"
		_, err = backend(t, says(200, "text/event-stream", picture, stop, done)).Generate(t.Context(), ask, timing.NewRecorder(timing.NewClock()))
		if !errors.Is(err, backends.ErrMalformed) || !strings.Contains(err.Error(), `part 0 of a list-valued content is of type "image_url", want text or thinking`) {
			t.Errorf("error %v", err)
		}
	})
}

// TestFind: a model is found as Ollama takes it over /v1, with its tag and without.
func TestFind(t *testing.T) {
	list := []Model{{ID: "a:latest"}, {ID: "b:4b"}, {ID: "c", Aliases: []string{"d"}}}
	for name, want := range map[string]string{"a": "a:latest", "a:latest": "a:latest", "b": "", "b:4b": "b:4b", "d": "c", "c:latest": ""} {
		if m, ok := FindModel(list, name); m.ID != want || ok != (want != "") {
			t.Errorf("%s: %q, %t", name, m.ID, ok)
		}
	}
}

// TestTheModelOfAReplyIsRead, but no name that is none.
func TestTheModelOfAReplyIsRead(t *testing.T) {
	for name, want := range map[string]string{"m-2026": "m-2026", strings.Repeat("m", 501): "", "": ""} {
		synctest.Test(t, func(t *testing.T) {
			r, err := backend(t, says(200, "text/event-stream", fmt.Sprintf("data: {\"model\":%q,\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n", name), stop, done)).Generate(t.Context(), ask, timing.NewRecorder(timing.NewClock()))
			if err != nil || r.Served != want {
				t.Errorf("%q, %v", r.Served, err)
			}
		})
	}
}

// TestAFinishWithoutItsEndMark: an answer that says so, where the stream was closed as
// HTTP closes one, and nothing where the connection was cut. An end mark without its
// blank line is none.
func TestAFinishWithoutItsEndMark(t *testing.T) {
	for name, c := range map[string]struct {
		parts   []string
		cut     bool // the connection breaks
		unended bool
		finish  backends.Finish
		tokens  string
	}{
		"closed after the finish":      {[]string{word("x"), stop}, false, true, backends.FinishStop, "-"},
		"closed after the usage":       {[]string{word("x"), strings.ReplaceAll(stop, "stop", "length"), use}, false, true, backends.FinishLength, "3"},
		"an end mark that is no event": {[]string{word("x"), stop, "data: [DONE]\n"}, false, true, backends.FinishStop, "-"},
		"half a usage":                 {[]string{word("x"), stop, use[:30]}, false, true, backends.FinishStop, "-"},
		"with its end mark":            {[]string{word("x"), stop, use, done}, false, false, backends.FinishStop, "3"},
		"cut after the end mark":       {[]string{word("x"), stop, use, done}, true, false, backends.FinishStop, "3"},
		"cut after the finish":         {[]string{word("x"), stop}, true, false, "", ""},
		"cut in the usage":             {[]string{word("x"), stop, use[:30]}, true, false, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := says(200, "text/event-stream", c.parts...)
				if c.cut {
					d = cuts(c.parts...)
				}
				r, err := backend(t, d).Generate(t.Context(), ask, timing.NewRecorder(timing.NewClock()))
				if c.finish == "" {
					if !errors.Is(err, backends.ErrTruncated) {
						t.Errorf("%+v, error %v", r, err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				tokens := "-"
				if n := r.Usage.CompletionTokens; n != nil {
					tokens = fmt.Sprint(*n)
				}
				if r.Unended != c.unended || r.Finish != c.finish || r.Answer != "x" || tokens != c.tokens {
					t.Errorf("%+v, %s tokens", r, tokens)
				}
			})
		})
	}
}

// cuts answers every request, and breaks the connection off after the parts.
func cuts(parts ...string) wire.Dial {
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			if _, err := http.ReadRequest(bufio.NewReader(server)); err != nil {
				return
			}
			io.WriteString(server, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
			for _, p := range parts {
				fmt.Fprintf(server, "%x\r\n%s\r\n", len(p), p)
			}
		}()
		return client, nil
	}
}

// TestNothingIsWaitedForBehindTheEndMark: a server that keeps the connection open
// costs no time, and a mark that is part of an answer is none.
func TestNothingIsWaitedForBehindTheEndMark(t *testing.T) {
	for name, parts := range map[string][]string{
		"in one":       {word("a[DONE]") + stop + done},
		"cut":          {word("a[DONE]"), stop + "data: [DO", "NE]\n", "\n"},
		"CRLF, cut":    {word("a[DONE]"), stop + "data: [DONE]\r", "\n\r"},
		"CR":           {word("a[DONE]"), stop + "data:[DONE]\r", "\r"},
		"not the mark": {word("a[DONE]"), "data: [DONE]\ndata: x\n\n", stop, done},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := func(context.Context, string, string) (net.Conn, error) {
					client, server := net.Pipe()
					go func() {
						defer server.Close()
						r, err := http.ReadRequest(bufio.NewReader(server))
						if err != nil {
							return
						}
						io.Copy(io.Discard, r.Body)
						io.WriteString(server, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
						for _, p := range parts {
							io.WriteString(server, p)
						}
						io.Copy(io.Discard, server) // until the client hangs up
					}()
					return client, nil
				}
				req := *ask
				req.Timeouts.Stall = time.Minute
				began := time.Now()
				r, err := backend(t, d).Generate(t.Context(), &req, timing.NewRecorder(timing.NewClock()))
				if name == "not the mark" {
					if !errors.Is(err, backends.ErrMalformed) {
						t.Errorf("%+v, %v", r, err)
					}
				} else if err != nil || r.Answer != "a[DONE]" {
					t.Errorf("%+v, %v", r, err)
				}
				if took := time.Since(began); took != 0 {
					t.Errorf("waited %v", took)
				}
			})
		})
	}
}

func TestIdentify(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		kind   backends.Kind
		says   string
		length int
	}{
		"listed":       {200, `{"object":"list","data":[{"id":"other"},{"id":"m","max_model_len":4096}]}`, "", "", 4096},
		"by its alias": {200, `{"data":[{"id":"file.gguf","aliases":["m"]}]}`, "", "", 0},
		"no list":      {404, `{"detail":"Not Found"}`, "", "", 0},
		"not listed":   {200, `{"data":[{"id":"a"},{"id":"b"}]}`, backends.ErrUnknownModel, `"m" is not in the model list; the server has a, b`, 0},
		"empty list":   {200, `{"data":[]}`, backends.ErrUnknownModel, "lists no model", 0},
		"garbage":      {200, `<html>`, backends.ErrMalformed, "cannot be read", 0},
		"key":          {401, `{"error":{"message":"Invalid API key"}}`, backends.ErrRefused, "check the API key", 0},
		"loading":      {503, `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`, backends.ErrLoading, "Loading model", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				id, err := backend(t, says(c.status, "application/json", c.body)).Identify(t.Context(), "m")
				if c.kind != "" {
					if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
						t.Errorf("error %v, want %s: %s", err, c.kind, c.says)
					}
					return
				}
				if err != nil || id.Server != "openai" || id.Model != "m" || id.Vision != nil || !id.Synthetic {
					t.Errorf("%+v, %v", id, err)
				}
				if (id.Context != nil) != (c.length > 0) || id.Context != nil && *id.Context != c.length {
					t.Errorf("context %v, want %d", id.Context, c.length)
				}
			})
		})
	}
}
