// Package vllm is the backend for vLLM's OpenAI-compatible server.
//
// It rests on vLLM's source of August 2026; no live server and no recording of
// one was at hand. vLLM ignores request fields that it does not know without a
// word, so a misspelt option has no effect and shows nowhere.
//
// For timed work start it with "--no-enable-prefix-caching
// --mm-processor-cache-gb 0", and with "--enable-prompt-tokens-details
// --enable-per-request-metrics" to have proof and the server's own clock.
//
// A cold request carries a cache_salt, which keeps its prompt out of the prefix
// cache, and a uuid on each picture, under which the picture's caches keep it;
// proof.go says what proves that they did.
package vllm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"sync"
	"time"

	"assay/backends"
	"assay/backends/openai"
	"assay/backends/wire"
	"assay/timing"
)

// Name is the kind of server.
const Name = "vllm"

// Backend is one vLLM server. It is safe for concurrent use.
type Backend struct {
	chat *openai.Backend

	mu    sync.Mutex
	sight map[string]bool // what the probe found, by model
	tells map[string]bool // models whose replies count reused tokens, also where there are none
}

var _ backends.Backend = (*Backend)(nil)

// New makes a backend for the server at c.URL.
func New(c wire.Config) (*Backend, error) {
	chat, err := openai.NewDialect(c, openai.Dialect{Server: Name, MaxTokens: "max_completion_tokens", Fields: fields, Salted: true, ImageIDs: true, Event: metrics, Classify: classify})
	if err != nil {
		return nil, err
	}
	return &Backend{chat: chat, sight: map[string]bool{}, tells: map[string]bool{}}, nil
}

// Generate makes one attempt. Where the reply alone proves nothing of the caches,
// a request that asks for proof reads the server's counters before and after.
func (b *Backend) Generate(ctx context.Context, req *backends.Request, rec *timing.Recorder) (*backends.Response, error) {
	if !req.Prove {
		return b.chat.Generate(ctx, req, rec)
	}
	pictures := hasPictures(req)
	count := func() counters { return counters{} }
	if pictures || !b.saysCached(req.Model) {
		count = func() counters { return b.counters(ctx) }
	}
	before := count()
	r, err := b.chat.Generate(ctx, req, rec)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	n := r.Usage.CachedTokens // some versions leave a 0 out
	b.tells[req.Model] = n != nil && (*n == 0 || b.tells[req.Model])
	b.mu.Unlock()
	r.Cache = r.Odd.Doubted(proof(r.Usage.CachedTokens, pictures, before, count()), openai.CachedTokens)
	return r, nil
}

func (b *Backend) saysCached(model string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tells[model]
}

// fields asks for the server's clock, which needs the server's flag as well.
func fields(req *backends.Request, f map[string]any) {
	f["include_metrics"] = true
	if req.Cold != "" {
		f["cache_salt"] = string(req.Cold)
	}
}

// metrics reads the server's clock. Its time to first token starts when the
// request is scheduled, so it is the prompt's share, without the queue.
func metrics(data []byte, r *backends.Response) error {
	if !bytes.Contains(data, []byte(`"metrics"`)) {
		return nil
	}
	var e struct{ Metrics json.RawMessage }
	if err := json.Unmarshal(data, &e); err != nil || len(e.Metrics) == 0 || string(e.Metrics) == "null" {
		return err
	}
	var m struct {
		First    json.RawMessage `json:"time_to_first_token_ms"`
		Generate json.RawMessage `json:"generation_time_ms"`
		Queue    json.RawMessage `json:"queue_time_ms"`
	}
	if err := json.Unmarshal(e.Metrics, &m); err != nil {
		return fmt.Errorf("the metrics cannot be read: %w", err)
	}
	span := func(name string, raw json.RawMessage) *time.Duration {
		return r.Odd.Span("metrics."+name, raw, time.Millisecond)
	}
	r.Server.Prompt, r.Server.Decode, r.Server.Queue = span("time_to_first_token_ms", m.First), span("generation_time_ms", m.Generate), span("queue_time_ms", m.Queue)
	r.Server.Raw = e.Metrics
	return nil
}

// classify knows vLLM's words for a model that takes no images.
func classify(p openai.Problem) (backends.Kind, string) {
	if p.Says("not a multimodal model", "at most 0 image") {
		return backends.ErrNoVision, "choose a model that can see, and allow images with --limit-mm-per-prompt"
	}
	return "", ""
}

// Identify asks /version and /v1/models, and finds out whether the model sees
// by showing it a small grey picture, once per model.
func (b *Backend) Identify(ctx context.Context, model string) (backends.Identity, error) {
	version, err := b.chat.Client.Get(ctx, "/version")
	if err != nil {
		return backends.Identity{Server: Name, Model: model}, err
	}
	if version.Status == http.StatusNotFound || version.Status == http.StatusMethodNotAllowed {
		if hint := b.chat.Client.NotKind(ctx, Name); hint != "" {
			return backends.Identity{Server: Name, Model: model}, version.Fail(backends.ErrRefused, "vLLM would say its version here", hint)
		}
	}
	id, err := b.chat.Identify(ctx, model)
	if err != nil {
		return id, err
	}
	var v struct{ Version string }
	if version.Status == http.StatusOK && json.Unmarshal(version.Body, &v) == nil {
		id.Version = v.Version
	}
	id.Vision, err = b.vision(ctx, model)
	return id, err
}

// vision is whether the model takes an image; nil: the server would not say.
func (b *Backend) vision(ctx context.Context, model string) (*bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if sees, ok := b.sight[model]; ok {
		return &sees, nil
	}
	body, err := probe(model)
	if err != nil {
		return nil, err
	}
	reply, err := b.chat.Client.Post(ctx, openai.ChatPath, body)
	if err != nil {
		return nil, err
	}
	sees := reply.Status == http.StatusOK
	if !sees && !errors.Is(b.chat.Refusal(reply), backends.ErrNoVision) {
		return nil, nil
	}
	b.sight[model] = sees
	return &sees, nil
}

// probe is a request for one token about a grey picture of 56 x 56 pixels, the
// least that models with 28-pixel patches take as it is.
func probe(model string) ([]byte, error) {
	grey := image.NewGray(image.Rect(0, 0, 56, 56))
	for i := range grey.Pix {
		grey.Pix[i] = 128
	}
	var file bytes.Buffer
	if err := png.Encode(&file, grey); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{
		"model": model, "max_completion_tokens": 1, "temperature": 0, "seed": 0,
		"messages": []any{map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "image_url", "image_url": map[string]any{"url": openai.DataURL("image/png", file.Bytes())}},
			map[string]any{"type": "text", "text": "?"},
		}}},
	})
}
