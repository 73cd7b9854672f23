package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"assay/backends"
	"assay/backends/kinds"
	"assay/backends/openai"
	"assay/backends/wire"
	"assay/harness/judge"
	"assay/timing"
)

// behaviour is how one OpenAI-style server behaves, and what is made of it.
type behaviour struct {
	name    string
	list    string   // reply to /v1/models; "": 404
	owner   string   // in place of it: a list of one model with this owner
	knows   string   // of "max_tokens max_completion_tokens", what it keeps to
	refuses string   // a field that it answers with 400
	words   int      // of an answer without a limit; 0: 3
	most    int      // a limit of its own; 0: none
	reply   string   // to a chat; "": an ordinary stream
	as      string   // its type; "": text/event-stream
	status  int      // of it; 0: 200
	cut     bool     // the connection breaks at its end
	omit    []string // in bench.yaml

	init  string // the kind that init writes, or its error
	limit string // what doctor and a run find before the first trial: the field, or the error
	model string // an untimed answer: its end and flags, or the error
	timed string // what a timed one adds: the state of the caches; "": it has none
	judge string // status of a judgment
}

const (
	oldName, newName, bothNames = "max_tokens", "max_completion_tokens", "max_tokens max_completion_tokens"
	whole                       = `{"verdict":"no"}`
)

func event(text string) string { return "data: " + text + "\n\n" }

func said(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return event(`{"choices":[{"index":0,"delta":{"content":` + string(b) + `}}]}`)
}

func finish(why string) string {
	return event(`{"choices":[{"index":0,"delta":{},"finish_reason":"` + why + `"}]}`)
}

func used(usage string) string { return event(`{"choices":[],"usage":` + usage + `}`) }

const (
	usage = `{"prompt_tokens":9,"completion_tokens":3}`
	done  = "data: [DONE]\n\n"
)

// behaviours are those of servers that were met, and of some that may be.
func behaviours() []behaviour {
	list := func(ids string) string {
		return `{"object":"list","data":[{"id":"` + strings.ReplaceAll(ids, " ", `"},{"id":"`) + `"}]}`
	}
	good := behaviour{owner: "x", knows: bothNames, init: "openai", limit: oldName, model: "stop", timed: "unverified", judge: "clean"}
	vary := func(name string, change func(*behaviour)) behaviour {
		b := good
		b.name = name
		change(&b)
		return b
	}
	// A reply that is the same whatever is asked says nothing of the limit.
	says := func(name, reply, model, judge string) behaviour {
		return vary(name, func(b *behaviour) {
			b.reply, b.model, b.judge = reply, model, judge
			if !strings.HasPrefix(model, "stop") && !strings.HasPrefix(model, "other") {
				b.limit, b.timed = "not known: "+strings.Fields(model)[0], ""
			}
		})
	}
	fails := func(name string, status int, body, model, judge string) behaviour {
		return vary(name, func(b *behaviour) {
			b.status, b.reply, b.as, b.model, b.judge, b.timed = status, body, "application/json", model, judge, ""
			b.limit = "not known: " + strings.Split(model, ",")[0]
		})
	}
	refusing := func(field string, omit bool) behaviour {
		return vary("refuses "+field+map[bool]string{true: ", with omit", false: ""}[omit], func(b *behaviour) {
			b.refuses = field
			if omit {
				b.omit = []string{field}
				return
			}
			// A judge alone sends a schema.
			if b.judge = "refused, write omit: [" + field + "]"; field != "response_format" {
				b.limit, b.model, b.timed = "not known: refused", "refused, write omit: ["+field+"]", ""
			}
		})
	}
	plain := said(whole)
	all := []behaviour{
		// How the limit of an answer is told.
		vary("plain", func(*behaviour) {}),
		vary("Ollama /v1, LM Studio, llama-cpp-python: max_tokens only", func(b *behaviour) { b.knows, b.words = oldName, 400 }),
		vary("vLLM, SGLang, long answers: both names", func(b *behaviour) { b.words = 400 }),
		vary("o3: 400 for max_tokens", func(b *behaviour) { b.knows, b.refuses, b.limit = newName, oldName, newName }),
		vary("a gateway that knows max_completion_tokens only", func(b *behaviour) { b.knows, b.words, b.limit = newName, 400, newName }),
		vary("no limit is kept to", func(b *behaviour) {
			b.knows, b.words, b.limit, b.judge = "", 400, "dropped: does not keep", "not asked"
		}),
		vary("no limit is kept to, short default", func(b *behaviour) {
			b.knows, b.words, b.most, b.limit, b.judge = "", 400, 20, "dropped: does not keep", "not asked"
		}),
		vary("cuts at 2 tokens", func(b *behaviour) {
			b.words, b.most, b.limit, b.judge = 400, 2, "dropped: below the limit", "not asked"
		}),
		vary("cuts at 30 tokens of its own", func(b *behaviour) { b.words, b.most, b.model = 400, 30, "length, below the limit" }),
		// What stands in a list, and what a server is taken for.
		vary("no model list", func(b *behaviour) { b.owner = ""; b.init = "no models" }),
		vary("an empty model list", func(b *behaviour) { b.owner, b.list = "", `{"data":[]}`; b.init = "no models" }),
		vary("models that embed beside it", func(b *behaviour) { b.owner, b.list = "", list("m text-embedding-3 bge-reranker-v2") }),
		vary("embedding models alone", func(b *behaviour) { b.owner, b.list = "", list("nomic-embed-text"); b.init = "no models" }),
		vary("a list that is a page", func(b *behaviour) { b.owner, b.list = "", "<!DOCTYPE html>"; b.init = "malformed" }),
		vary("a list without end", func(b *behaviour) { b.owner, b.list = "", `{"data":[{"id":"m"},` }),
		vary("a list of llama.cpp", func(b *behaviour) { b.owner, b.init = "llamacpp", "llamacpp" }),
		vary("a list of vLLM", func(b *behaviour) { b.owner, b.init = "vllm", "vllm" }),
		vary("a list of SGLang", func(b *behaviour) { b.owner = "sglang" }),
		vary("a list of LM Studio", func(b *behaviour) { b.owner = "organization_owner" }),
		vary("a list of Ollama /v1 alone", func(b *behaviour) { b.owner = "library" }),
		// Streams that are an answer.
		says("no end mark", plain+finish("stop")+used(usage), "stop no_end_mark", "clean"),
		says("an end mark without its blank line", plain+finish("stop")+used(usage)+"data: [DONE]\n", "stop no_end_mark", "clean"),
		says("half a usage, then closed", plain+finish("stop")+`data: {"choices":[],"us`, "stop no_end_mark", "clean"),
		says("no usage", plain+finish("stop")+done, "stop", "clean"),
		says("usage with the finish", plain+event(`{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":`+usage+`}`)+done, "stop", "clean"),
		says("usage on every event", event(`{"choices":[{"delta":{"content":"{\"verdict\":\"no\"}"}}],"usage":`+usage+`}`)+finish("stop")+done, "stop", "clean"),
		says("usage null", event(`{"choices":[{"delta":{"content":"{\"verdict\":\"no\"}"}}],"usage":null}`)+finish("stop")+done, "stop", "clean"),
		says("role first", event(`{"choices":[{"delta":{"role":"assistant","content":null}}]}`)+plain+finish("stop")+done, "stop", "clean"),
		says("role on every event", event(`{"choices":[{"delta":{"role":"assistant","content":"{\"verdict\":\"no\"}"}}]}`)+finish("stop")+done, "stop", "clean"),
		says("finish with the last text", event(`{"choices":[{"delta":{"content":"{\"verdict\":\"no\"}"},"finish_reason":"stop"}]}`)+done, "stop", "clean"),
		says("comments between", ": ping\n\n"+plain+": ping\n\n"+finish("stop")+done, "stop", "clean"),
		says("CRLF", strings.ReplaceAll(plain+finish("stop")+done, "\n", "\r\n"), "stop", "clean"),
		says("no space after data:", strings.ReplaceAll(plain+finish("stop")+done, "data: ", "data:"), "stop", "clean"),
		says("an event name", "event: message\n"+plain+finish("stop")+done, "stop", "clean"),
		says("empty events", "data: \n\n"+plain+"data:\n\n"+finish("stop")+done, "stop", "clean"),
		says("reasoning", event(`{"choices":[{"delta":{"reasoning":"hm"}}]}`)+plain+finish("stop")+done, "stop", "clean"),
		says("reasoning_content", event(`{"choices":[{"delta":{"reasoning_content":"hm"}}]}`)+plain+finish("stop")+done, "stop", "clean"),
		says("<think> in the answer", said("<think>hm</think>\n")+plain+finish("stop")+done, "stop", "clean"),
		says("content as parts", event(`{"choices":[{"delta":{"content":[{"type":"text","text":"{\"verdict\":\"no\"}"}]}}]}`)+finish("stop")+done, "stop", "clean"),
		says("a second choice", event(`{"choices":[{"index":1,"delta":{"content":"z"}}]}`)+plain+finish("stop")+done, "stop", "clean"),
		says("error: null", event(`{"error":null,"choices":[{"index":0,"delta":{"content":"{\"verdict\":\"no\"}"}}]}`)+finish("stop")+done, "stop", "clean"),
		says("a filter of contents", plain+finish("content_filter")+done, "other", "clean"),
		says("finish eos (older TGI)", plain+finish("eos_token")+done, "other", "clean"),
		says("another model's name", event(`{"model":"m-2026","choices":[{"delta":{"content":"{\"verdict\":\"no\"}"}}]}`)+finish("stop")+done, "stop served as m-2026", "clean"),
		says("nothing said", finish("stop")+used(`{"prompt_tokens":9,"completion_tokens":1}`)+done, "stop", "parse"),
		says("prose for JSON", said("The answer is no.")+finish("stop")+done, "stop", "parse"),
		says("odd counts", plain+finish("stop")+used(`{"prompt_tokens":-4,"completion_tokens":3}`)+done, "stop odd_figures", "clean"),
		vary("counts reused tokens: none", func(b *behaviour) {
			b.reply, b.timed = plain+finish("stop")+used(`{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":0}}`)+done, "cold"
		}),
		vary("counts reused tokens: most", func(b *behaviour) {
			b.reply, b.timed = plain+finish("stop")+used(`{"prompt_tokens":900,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":800}}`)+done, "hit"
		}),
		// Streams that are none.
		says("no finish reason", plain+done, "truncated", "unreachable"),
		says("neither finish nor end mark", plain, "truncated", "unreachable"),
		says("aborted", plain+finish("abort")+done, "truncated", "unreachable"),
		says("finish error", plain+finish("error")+done, "truncated", "unreachable"),
		says("nothing", "", "truncated", "unreachable"),
		says("error in the stream", plain+event(`{"error":{"message":"out of memory"}}`)+done, "server", "unreachable"),
		says("error in words", event(`{"error":"boom"}`)+done, "server", "unreachable"),
		says("no JSON", "data: nope\n\n"+done, "malformed", "unreachable"),
		vary("cut after the finish", func(b *behaviour) {
			b.reply, b.cut, b.limit, b.model, b.timed, b.judge = plain+finish("stop"), true, "not known: truncated", "truncated", "", "unreachable"
		}),
		vary("cut after the end mark", func(b *behaviour) { b.reply, b.cut = plain+finish("stop")+used(usage)+done, true }),
		// Replies that are no stream.
		fails("no streaming", 200, `{"choices":[{"message":{"content":"x"}}]}`, "malformed", "unreachable"),
		fails("500", 500, `{"error":{"message":"boom"}}`, "server", "unreachable"),
		fails("502 page", 502, "<html><title>Bad gateway</title></html>", "server", "unreachable"),
		fails("401", 401, `{"error":{"message":"key"}}`, "refused", "refused"),
		fails("404 for the model", 404, `{"error":{"message":"model m not found"}}`, "unknown_model", "refused"),
		fails("404 for the path", 404, "not found", "refused", "refused"),
		fails("413", 413, "too large", "refused", "refused"),
		fails("too long a prompt", 400, `{"error":{"message":"This model's maximum context length is 9","code":"context_length_exceeded"}}`, "context_exceeded", "refused"),
		fails("400 of something else", 400, `{"error":{"message":"messages must alternate"}}`, "refused", "refused"),
		fails("422 of FastAPI", 422, `{"detail":[{"loc":["body","seed"],"msg":"extra fields not permitted"}]}`, "refused, write omit: [seed]", "refused, write omit: [seed]"),
		fails("no vision", 400, `{"error":{"message":"this model does not support image input"}}`, "no_vision", "unreachable"),
	}
	for _, field := range []string{"seed", "stream_options", "response_format", "temperature"} {
		all = append(all, refusing(field, false), refusing(field, true))
	}
	all = append(all, vary("refuses chat_template_kwargs, which judges never send", func(b *behaviour) { b.refuses = "chat_template_kwargs" }))
	return all
}

func (b behaviour) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/models" && (b.list != "" || b.owner != "") {
		if b.list != "" {
			fmt.Fprint(w, b.list)
			return
		}
		fmt.Fprintf(w, `{"data":[{"id":"m","owned_by":%q}]}`, b.owner)
		return
	}
	if r.URL.Path != "/v1/chat/completions" {
		http.NotFound(w, r)
		return
	}
	var sent map[string]any
	if json.NewDecoder(r.Body).Decode(&sent) != nil {
		w.WriteHeader(400)
		return
	}
	if _, there := sent[b.refuses]; there {
		w.WriteHeader(400)
		fmt.Fprintf(w, `{"error":{"message":"Unsupported parameter: '%s'","param":%[1]q}}`, b.refuses)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if b.as != "" {
		w.Header().Set("Content-Type", b.as)
	}
	if b.status != 0 {
		w.WriteHeader(b.status)
	}
	text := b.reply
	if text == "" && b.status == 0 && b.name != "nothing" {
		text = b.ordinary(sent)
	}
	fmt.Fprint(w, text)
	if b.cut {
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// ordinary is a stream of as many words as the server gives.
func (b behaviour) ordinary(sent map[string]any) string {
	n, why := max(3, b.words), "stop"
	if sent["response_format"] != nil {
		n = 3 // a verdict is short
	}
	for _, f := range strings.Fields(b.knows) {
		if limit, ok := sent[f].(float64); ok && int(limit) < n {
			n, why = int(limit), "length"
		}
	}
	if b.most > 0 && b.most < n {
		n, why = b.most, "length"
	}
	answer := strings.TrimSpace(strings.Repeat("no ", n))
	if n == 3 {
		answer = whole
	}
	return said(answer) + finish(why) + used(fmt.Sprintf(`{"prompt_tokens":9,"completion_tokens":%d}`, n)) + done
}

// kindOf is the class of an error, and how its hint says to go on.
func kindOf(err error) string {
	var e *backends.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	out := string(e.Kind)
	if i := strings.Index(e.Hint, "write omit: ["); i >= 0 {
		out += ", " + e.Hint[i:i+strings.Index(e.Hint[i:], "]")+1]
	}
	return out
}

// TestBehaviours has init, doctor's and the run's look before the first trial, an answer
// untimed and timed, and a judge meet each server, and prints what they make of it.
func TestBehaviours(t *testing.T) {
	tmpl := template.Must(template.New("r").Parse("Is it so? {{.}}"))
	rubric := judge.Rubric{Name: "r", Template: tmpl, Schema: json.RawMessage(`{"type":"object","required":["verdict"],"properties":{"verdict":{"enum":["yes","no"]}}}`)}
	all := behaviours()
	if len(all) < 60 {
		t.Errorf("%d behaviours, want at least 60", len(all))
	}
	rows := make([]string, len(all))
	t.Run("each", func(t *testing.T) {
		for i, c := range all {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				s := httptest.NewServer(c)
				defer s.Close()
				w := wire.Config{URL: s.URL + "/v1", Omit: c.omit}
				got := c
				kind, names, err := kinds.FindServer(t.Context(), w)
				switch {
				case err != nil && len(names) == 0:
					got.init = kindOf(err)
				case len(names) == 0:
					got.init = "no models"
				default:
					got.init = kind.Name
				}
				b, err := openai.New(w)
				if err != nil {
					t.Fatal(err)
				}
				seed := int64(1)
				ask := func(cold backends.Nonce) (*backends.Response, error) {
					return b.Generate(t.Context(), &backends.Request{Model: "m", Messages: []backends.Message{{Role: backends.User, Text: "Is it so?"}},
						Sampling: backends.Sampling{MaxTokens: 500, Seed: &seed}, Cold: cold, Prove: cold != ""}, timing.NewRecorder(timing.NewClock()))
				}
				_, err = b.Limits(t.Context(), "m", nil)
				var e *backends.Error
				dropped := false
				switch {
				case err == nil:
					body, err := b.Body(&backends.Request{Model: "m"})
					if err != nil {
						t.Fatal(err)
					}
					got.limit = map[bool]string{true: newName, false: oldName}[strings.Contains(string(body), newName)]
				case errors.As(err, &e) && e.Kind == backends.ErrDropped:
					dropped = true
					got.limit = "dropped: " + map[bool]string{true: "below the limit", false: "does not keep"}[strings.Contains(e.Message, "below the limit")]
				default:
					got.limit = "not known: " + string(err.(*backends.Error).Kind)
				}
				got.model, got.timed = "", ""
				if dropped {
					got.model, c.model, c.timed = "not asked", "not asked", ""
				} else {
					r, err := ask("")
					if err != nil {
						got.model = kindOf(err)
					} else {
						got.model = string(r.Finish)
						if n := r.Usage.CompletionTokens; r.Finish == backends.FinishLength && n != nil && *n < 500 {
							got.model += ", below the limit"
						}
						if r.Unended {
							got.model += " no_end_mark"
						}
						if len(r.Odd) > 0 {
							got.model += " odd_figures"
						}
						if r.Served != "" && r.Served != "m" {
							got.model += " served as " + r.Served
						}
						timed, err := ask(backends.NonceOf("x"))
						if err != nil {
							t.Fatal(err)
						}
						got.timed = string(timed.Cache.State)
					}
				}
				m := &judge.Model{Name: "j", Backend: b, Model: "m", Sampling: backends.Sampling{MaxTokens: 500, Seed: &seed}, Clock: timing.NewClock(), Backoff: time.Millisecond}
				j, err := m.Judge(t.Context(), rubric, judge.Case{Rubric: "r", Fields: "x"})
				if err != nil {
					t.Fatal(err)
				}
				got.judge = string(j.Status)
				if last := j.Attempts[len(j.Attempts)-1]; last.Failure != nil && last.Failure.Kind == string(backends.ErrDropped) {
					got.judge = "not asked"
				}
				if i := strings.Index(j.Detail, "write omit: ["); i >= 0 {
					got.judge += ", " + j.Detail[i:i+strings.Index(j.Detail[i:], "]")+1]
				}
				rows[i] = fmt.Sprintf("%-58s | %-10s | %-25s | %-32s | %-10s | %s", c.name, got.init, got.limit, got.model, got.timed, got.judge)
				for _, p := range [][3]string{{"init", got.init, c.init}, {"limit", got.limit, c.limit}, {"model", got.model, c.model}, {"timed", got.timed, c.timed}, {"judge", got.judge, c.judge}} {
					if p[1] != p[2] {
						t.Errorf("%s: %q, want %q", p[0], p[1], p[2])
					}
				}
			})
		}
	})
	slices.Sort(rows)
	t.Logf("%d behaviours\n%-58s | %-10s | %-25s | %-32s | %-10s | %s\n%s", len(all), "server", "init", "before the first trial", "answer", "timed", "judge", strings.Join(rows, "\n"))
}
