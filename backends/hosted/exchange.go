package hosted

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"assay/backends"
)

// exchangeKey is under what a request's context holds its exchange.
type exchangeKey struct{}

// exchange is one request as it left and its reply as it came.
type exchange struct {
	sent   []byte // the body; nil: none was made
	status int    // 0: no reply
	header http.Header
	body   []byte // longer than maxReply: it is not whole
	err    error  // of the network
}

const maxReply = 8 << 20 // bytes

// exchanger is the round tripper that langchaingo is given. It keeps replies for itself: what
// langchaingo reads in them is of no use, and of some it panics.
type exchanger struct {
	key      string // "": none
	provider provider
	next     http.RoundTripper
}

func (t *exchanger) RoundTrip(r *http.Request) (*http.Response, error) {
	x := r.Context().Value(exchangeKey{}).(*exchange) // Generate's: nobody else asks
	defer r.Body.Close()
	if x.sent, x.err = io.ReadAll(r.Body); x.err != nil {
		return nil, x.err
	}
	out := r.Clone(r.Context())
	out.Body = io.NopCloser(bytes.NewReader(x.sent))
	out.Header.Set("User-Agent", "assay")
	out.Header.Del("Authorization") // of what langchaingo holds for the key
	out.Header.Del("X-Api-Key")
	if t.key != "" {
		out.Header.Set(t.provider.header, t.provider.scheme+t.key)
	}
	resp, err := t.next.RoundTrip(out)
	if x.err = err; err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	x.status, x.header = resp.StatusCode, resp.Header
	x.body, x.err = io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	return nil, errors.New("langchaingo is not to read the reply")
}

// reply is what a reply says.
type reply struct {
	backends.Response        // no Finish: there is no end
	fingerprint       string // "": it does not say
	declined          string // why it did not answer; "": it did
	problem           string // an error in the place of an answer
}

// read reads a reply, of Ollama one line after the other: langchaingo asks for no stream by
// leaving the word out, and Ollama streams unless it is told not to.
func (f *form) read(body []byte) (out reply, err error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	for out.Finish == "" {
		var v any
		begin := dec.InputOffset()
		err := dec.Decode(&v)
		out.problem = complaint(body[begin:dec.InputOffset()])
		switch {
		case out.problem != "":
			return out, nil
		case errors.Is(err, io.EOF):
			return out, errors.New("no answer in it")
		case err != nil:
			return out, err
		}
		out.Served, out.fingerprint = text(v, "model", ""), text(v, "system_fingerprint", "")
		out.count(v, f)
		out.Answer += text(v, f.text, "text")
		out.Reasoning += cmp.Or(text(v, f.reasoning, "thinking"), text(v, f.alias, "thinking"))
		if end := at(v, f.end); end != nil && end != false {
			why := text(v, f.finish, "")
			no := map[string]string{"content_filter": "the provider's filter stopped it", "refusal": "the model refused"}
			out.Finish, out.declined = ending(why), cmp.Or(text(v, f.refusal, ""), no[why])
		}
	}
	return out, nil
}

// at is what a path leads to; nil: nothing.
func at(v any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		if list, ok := v.([]any); ok && key == "0" && len(list) > 0 {
			v = list[0]
		} else {
			in, _ := v.(map[string]any)
			v = in[key]
		}
	}
	return v
}

// text is the text that a path leads to, or those that parts there have under a key.
func text(v any, path, key string) string {
	v = at(v, path)
	all, _ := v.(string)
	parts, _ := v.([]any)
	for _, part := range parts {
		all += text(part, key, "")
	}
	return all
}

func ending(word string) backends.Finish {
	switch word {
	case "stop", "end_turn", "stop_sequence":
		return backends.FinishStop
	case "length", "max_tokens", "model_context_window_exceeded":
		return backends.FinishLength
	}
	return backends.FinishOther
}

// count reads the numbers of tokens. What is not said stays unknown.
func (r *reply) count(v any, f *form) {
	number := func(path string) *int {
		raw, _ := json.Marshal(at(v, path)) // as it came; null: nothing did
		return r.Odd.Count(path, raw)
	}
	u := &r.Usage
	u.PromptTokens, u.CompletionTokens = number(f.prompt[0]), number(f.answer)
	u.CachedTokens, u.ReasoningTokens = number(f.cached), number(f.thought)
	for _, part := range f.prompt[1:] {
		if n, all := number(part), u.PromptTokens; n != nil && all != nil {
			sum := *all + *n
			u.PromptTokens = &sum
		}
	}
}
