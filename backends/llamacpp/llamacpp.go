// Package llamacpp is the backend for llama.cpp's llama-server.
//
// The stream is openai's, with the server's own clock (timings) on the last
// event before the end mark. Options of a request are the server's own request
// fields, such as cache_prompt or id_slot. For timed work start it with
// "-np 1 --cache-ram 0": its prompt cache in RAM costs up to 430 ms of a fresh
// prompt's time to first token, and neighbours slow each other.
//
// A cold request says cache_prompt:false, which has picture and prompt computed
// anew; timings.cache_n == 0 proves it.
package llamacpp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"assay/backends"
	"assay/backends/openai"
	"assay/backends/wire"
	"assay/timing"
)

// Name is the kind of server.
const Name = "llamacpp"

// Backend is one llama-server. It is safe for concurrent use.
type Backend struct {
	chat    *openai.Backend
	weights func(ctx context.Context, path string) (string, error)
}

var _ backends.Backend = (*Backend)(nil)

// New makes a backend for the server at c.URL.
func New(c wire.Config) (*Backend, error) {
	chat, err := openai.NewDialect(c, openai.Dialect{Server: "llama.cpp", MaxTokens: "max_tokens", Fields: fields, Salted: true, Event: timings, Classify: classify})
	if err != nil {
		return nil, err
	}
	return &Backend{chat, c.Weights}, nil
}

// Generate makes one attempt.
func (b *Backend) Generate(ctx context.Context, req *backends.Request, rec *timing.Recorder) (*backends.Response, error) {
	r, err := b.chat.Generate(ctx, req, rec)
	if err == nil && req.Prove {
		var cached *int
		if r.Server.Raw != nil {
			cached = r.Usage.CachedTokens
		}
		r.Cache = r.Odd.Doubted(backends.CacheOf(cacheN, cached), cacheN, openai.CachedTokens, promptN, openai.PromptTokens)
	}
	return r, err
}

// Likely answers a request untimed.
func (b *Backend) Likely(ctx context.Context, req *backends.Request) (backends.Likely, error) {
	return b.chat.Likely(ctx, req)
}

func fields(req *backends.Request, f map[string]any) {
	if req.Cold != "" {
		f["cache_prompt"] = false
	}
}

// timings reads the server's clock and counts; with timings_per_token the last
// event has the final ones. The counts stand in for a usage that is missing. The
// rates are left alone: since b10406 they divide by one token less.
func timings(data []byte, r *backends.Response) error {
	if !bytes.Contains(data, []byte(`"timings"`)) {
		return nil
	}
	var e struct{ Timings json.RawMessage }
	if err := json.Unmarshal(data, &e); err != nil || len(e.Timings) == 0 || string(e.Timings) == "null" {
		return err
	}
	var t struct {
		Cached      json.RawMessage `json:"cache_n"`
		Prompt      json.RawMessage `json:"prompt_n"`
		PromptMS    json.RawMessage `json:"prompt_ms"`
		Predicted   json.RawMessage `json:"predicted_n"`
		PredictedMS json.RawMessage `json:"predicted_ms"`
	}
	if err := json.Unmarshal(e.Timings, &t); err != nil {
		return fmt.Errorf("the timings cannot be read: %w", err)
	}
	r.Server.Prompt, r.Server.Decode = r.Odd.Span("timings.prompt_ms", t.PromptMS, time.Millisecond), r.Odd.Span("timings.predicted_ms", t.PredictedMS, time.Millisecond)
	r.Server.Raw = e.Timings
	r.Usage.CachedTokens, r.Usage.CompletionTokens = r.Odd.Count(cacheN, t.Cached), r.Odd.Count("timings.predicted_n", t.Predicted)
	r.Usage.PromptTokens = nil
	if n := r.Odd.Count(promptN, t.Prompt); n != nil && r.Usage.CachedTokens != nil {
		sum := *r.Usage.CachedTokens + *n
		r.Usage.PromptTokens = &sum
	}
	return nil
}

// Where timings say how many tokens of the prompt were reused, and computed.
const (
	cacheN  = "timings.cache_n"
	promptN = "timings.prompt_n"
)

// classify knows that llama-server answers 500 to a body that it cannot parse.
func classify(p openai.Problem) (backends.Kind, string) {
	switch {
	case p.Says("image input is not supported"):
		return backends.ErrNoVision, "start the server with the model's --mmproj file, or choose a model that can see"
	case p.Says("json.exception"):
		return backends.ErrRefused, ""
	case p.Status == http.StatusServiceUnavailable && p.Says("no slot available"):
		return backends.ErrBusy, "let fewer requests be in flight, or start the server with more slots (-np)"
	}
	return "", ""
}

// Identify asks /health, /props and /v1/models. A server for one model answers to any
// name with it, so that a name it does not list is an error
// here: results would be another model's. Path says which file the model is, Weights its
// digest where the file can be read.
func (b *Backend) Identify(ctx context.Context, model string) (backends.Identity, error) {
	id, err := b.identify(ctx, model)
	if err != nil {
		return id, b.chat.Client.Told(ctx, Name, err)
	}
	return id, nil
}

func (b *Backend) identify(ctx context.Context, model string) (backends.Identity, error) {
	id := backends.Identity{Server: "llama.cpp", Model: model}
	health, err := b.chat.Client.Get(ctx, "/health")
	if err != nil {
		return id, err
	}
	id.Synthetic = health.Synthetic()
	if health.Status != http.StatusOK {
		return id, b.chat.Refusal(health)
	}
	p, err := b.properties(ctx, "/props")
	if err == nil && p.Role == "router" { // its own say nothing of a model, which this loads
		p, err = b.properties(ctx, "/props?model="+url.QueryEscape(model))
	}
	if err != nil {
		return id, err
	}
	id.Version, id.Path, id.Quantisation = p.Build, p.Path, p.Ftype
	id.Context, id.Slots = backends.Positive(p.Settings.Context), backends.Positive(p.Slots)
	if p.Template != "" {
		sum := sha256.Sum256([]byte(p.Template))
		id.Template = "sha256:" + hex.EncodeToString(sum[:])
	}
	if p.Modalities != nil {
		id.Vision = p.Modalities.Vision
	}
	models, reply, err := b.chat.Models(ctx)
	if err != nil {
		return id, err
	}
	m, ok := openai.FindModel(models, model)
	if !ok && len(models) > 0 {
		return id, openai.UnknownModel(reply, models, model)
	}
	if ok {
		meta := m.Meta
		if id.Quantisation == "" {
			id.Quantisation = meta.Ftype
		}
		var size int64
		if json.Unmarshal(meta.Size, &size) == nil && size > 0 {
			id.Bytes = &size
		}
		var n float64
		if json.Unmarshal(meta.Params, &n) == nil && n > 0 && n < 1e15 {
			id.Parameters = count(n)
		}
	}
	if b.weights != nil {
		id.Weights, err = b.weights(ctx, id.Path)
	}
	return id, err
}

// properties are what a server says of the model that it has loaded.
type properties struct {
	Role     string // "router": of a server for several models, each of which has properties of its own
	Settings struct {
		Context json.RawMessage `json:"n_ctx"`
	} `json:"default_generation_settings"`
	Slots      json.RawMessage `json:"total_slots"`
	Path       string          `json:"model_path"`
	Ftype      string          `json:"model_ftype"`
	Build      string          `json:"build_info"`
	Template   string          `json:"chat_template"`
	Modalities *struct {
		Vision *bool `json:"vision"`
	} `json:"modalities"`
}

func (b *Backend) properties(ctx context.Context, path string) (p properties, err error) {
	reply, err := b.chat.Client.Get(ctx, path)
	if err != nil {
		return p, err
	}
	if reply.Status != http.StatusOK {
		return p, b.chat.Refusal(reply)
	}
	if err := json.Unmarshal(reply.Body, &p); err != nil {
		return p, reply.Fail(backends.ErrMalformed, "the properties cannot be read: "+err.Error(), "is this a llama-server?")
	}
	return p, nil
}

// count writes a number of parameters the usual way: 4300000000 is "4.3B".
func count(n float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "B"}, {1e6, "M"}, {1e3, "K"}} {
		if n >= unit.size {
			return fmt.Sprintf("%.1f%s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.0f", n)
}
