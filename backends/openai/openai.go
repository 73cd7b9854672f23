// Package openai speaks the chat-completions stream that most model servers
// offer. It is a backend of its own for any compatible server (SGLang, LM
// Studio, ...), and the base of llamacpp and vllm.
//
//  1. Body encodes a request before the clock starts.
//  2. wire.Client.Stream posts it and records the reply.
//  3. Decode turns the buffer into a Response and the chunks of the trace. Only a
//     stream with a finish reason is an answer, and either the end mark [DONE] or an
//     end as HTTP has it.
//
// What differs between servers is a Dialect.
package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"assay/backends"
	"assay/backends/wire"
	"assay/timing"
)

// Name is the kind of server.
const Name = "openai"

// ChatPath is where chat completions are posted, below the base URL.
const ChatPath = "/v1/chat/completions"

// ChatURL is where the server at a base URL takes chats.
func ChatURL(base string) string { return strings.TrimSuffix(base, "/v1") + ChatPath }

// Dialect is what one server adds to the common protocol. A nil function adds nothing.
type Dialect struct {
	Server    string // Identity.Server
	MaxTokens string // the field that limits the answer until Limits finds another: "max_tokens", "max_completion_tokens"
	// Fields may add top-level fields to a request.
	Fields func(req *backends.Request, fields map[string]any)
	// Salted says that Fields keeps the caches cold, so that the nonce of a cold
	// request stays out of the prompt and of the pictures' files.
	Salted bool
	// ImageIDs names each picture of a cold request by its nonce in a field "uuid".
	ImageIDs bool
	// Event may read more from one event than the common protocol has. Tokens that it
	// counts are a new Usage.completionTokens: those of the answer so far.
	Event func(data []byte, r *backends.Response) error
	// Classify may know better what a problem means; kind "" leaves it to Classify.
	Classify func(p Problem) (kind backends.Kind, hint string)
}

// Backend is one server. It is safe for concurrent use.
type Backend struct {
	Client  *wire.Client
	dialect Dialect
	omit    []string // of Omittable

	asking sync.Mutex       // held while Sees or Limits asks
	sight  map[string]sight // what Sees found, by model

	mu     sync.Mutex
	limits map[string]limit // what Limits found, by model
}

var _ backends.Backend = (*Backend)(nil)

// New makes a backend for a server of no particular kind. It keeps caches cold by a nonce in the prompt and in
// the pictures' files; proof is the count of reused tokens, where the server
// sends one.
func New(c wire.Config) (*Backend, error) {
	return NewDialect(c, Dialect{Server: Name, MaxTokens: "max_tokens"})
}

// NewDialect makes a backend for a server that speaks d.
func NewDialect(c wire.Config, d Dialect) (*Backend, error) {
	client, err := wire.New(c)
	if err != nil {
		return nil, err
	}
	return &Backend{Client: client, dialect: d, omit: c.Omit}, nil
}

// Generate makes one attempt.
func (b *Backend) Generate(ctx context.Context, req *backends.Request, rec *timing.Recorder) (*backends.Response, error) {
	body, err := b.Body(req)
	if err != nil {
		return nil, err
	}
	buffer, err := b.Client.StreamUpTo(ctx, req.Sampling.MostReply(), ChatPath, body, req.Timeouts, rec, hasContent)
	if buffer == nil {
		return nil, err
	}
	switch {
	case err != nil && (buffer.Status != http.StatusOK || !buffer.IsType("text/event-stream")):
		return nil, err
	case buffer.Status != http.StatusOK:
		return nil, b.Problem(buffer.Status, buffer.Text()).error(buffer.Fail)
	case !buffer.IsType("text/event-stream"):
		return nil, buffer.Fail(backends.ErrMalformed, fmt.Sprintf("want an event stream, got %q: %.200s", buffer.Header.Get("Content-Type"), buffer.Text()), "does the server support streaming?")
	}
	r, chunks, derr := b.decode(buffer, rec)
	rec.Chunks(chunks, buffer.Stamps)
	partial := r.Answer
	if partial == "" {
		partial = r.Reasoning
	}
	var be *backends.Error
	switch {
	case derr == nil && (err == nil || !r.Unended && (errors.Is(err, backends.ErrTruncated) || errors.Is(err, backends.ErrStalled))):
		// Where the end mark came, what the connection did after it matters no more.
		if why := req.Sampling.Overlong(len(r.Answer)+len(r.Reasoning), r.Usage.CompletionTokens); why != "" {
			e := buffer.Fail(backends.ErrOverlong, why, "does the server heed "+b.limitField(req.Model)+"?")
			e.Partial = req.Sampling.Kept(partial)
			return nil, e
		}
		if whole, ok := rec.Trace().Whole(); ok {
			r.Within(whole)
		}
		if req.Prove {
			r.Cache = r.Odd.Doubted(cache(req, r.Usage.CachedTokens), CachedTokens)
		}
		return r, nil
	case err != nil && (derr == nil || errors.Is(derr, backends.ErrTruncated)):
		// Why the stream was cut says more than that it was.
		derr = err
	}
	if errors.As(derr, &be) {
		be.Partial = req.Sampling.Kept(partial)
	}
	return nil, derr
}

// cache is what a count of reused tokens proves. A nonce in the prompt cannot
// keep the template before it cold, and a server that counts single tokens says
// so: few of them are no hit, but no proof either.
func cache(req *backends.Request, cached *int) backends.Cache {
	if req.Cold != "" && cached != nil && 0 < *cached && *cached <= backends.TemplateTokens {
		return backends.Cache{State: backends.CacheUnverified, Field: CachedTokens, Value: fmt.Sprint(*cached),
			Reason: "some reused tokens, which may be the chat template's"}
	}
	return backends.CacheOf(CachedTokens, cached)
}

// Model is one entry of the model list.
type Model struct {
	ID      string   `json:"id"`
	Aliases []string `json:"aliases"`
	Type    string   `json:"type"` // "embedding", "embeddings": of gateways
	// MaxModelLen is vLLM's context in tokens.
	MaxModelLen json.RawMessage `json:"max_model_len"`
	// Meta is llama.cpp's own description.
	Meta struct {
		Params json.RawMessage `json:"n_params"`
		Size   json.RawMessage `json:"size"` // bytes of the weights' file
		Ftype  string          `json:"ftype"`
	} `json:"meta"`
}

// Models asks for the model list; nil: the server has none.
func (b *Backend) Models(ctx context.Context) ([]Model, *wire.Reply, error) {
	reply, err := b.Client.Get(ctx, "/v1/models")
	if err != nil {
		return nil, reply, err
	}
	switch reply.Status {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return nil, reply, nil
	default:
		return nil, reply, b.Refusal(reply)
	}
	var list struct{ Data []Model }
	if err := json.Unmarshal(reply.Body, &list); err != nil {
		return nil, reply, reply.Fail(backends.ErrMalformed, "the model list cannot be read: "+err.Error(), "is this an OpenAI-compatible server?")
	}
	if list.Data == nil {
		list.Data = []Model{}
	}
	return list.Data, reply, nil
}

// List asks a server that nothing else is wanted of for the names of its models, sorted,
// but for those that only embed or rank texts. Beside an error are those that came
// before it: a list may be too long, or never end. Without either, the server has no list.
func List(ctx context.Context, w wire.Config) ([]string, error) {
	b, err := New(w)
	if err != nil {
		return nil, err
	}
	models, reply, err := b.Models(ctx)
	if err != nil && reply != nil && reply.Status == http.StatusOK {
		models = begun(reply.Body)
	}
	var names []string
	for _, m := range models {
		if !m.embeds() {
			names = append(names, m.ID)
		}
	}
	slices.Sort(names)
	return names, err
}

// begun are the models at the beginning of a list that was cut.
func begun(body []byte) (models []Model) {
	d := json.NewDecoder(bytes.NewReader(body))
	for {
		switch t, err := d.Token(); {
		case err != nil:
			return nil
		case t != "data":
			continue
		}
		if t, err := d.Token(); err != nil || t != json.Delim('[') {
			return nil
		}
		for d.More() {
			var m Model
			if d.Decode(&m) != nil {
				return models
			}
			models = append(models, m)
		}
		return models
	}
}

// embeds says whether a model makes vectors or ranks, by what the list or its name says.
func (m Model) embeds() bool {
	name := strings.ToLower(m.ID)
	return strings.HasPrefix(m.Type, "embedding") || strings.Contains(name, "embed") || strings.Contains(name, "rerank")
}

// Refusal is the error for an untimed reply that is none of the good ones.
func (b *Backend) Refusal(r *wire.Reply) error { return b.Problem(r.Status, r.Body).error(r.Fail) }

// FindModel looks a model up by its name, without the tag that Ollama adds, or an alias.
func FindModel(models []Model, name string) (Model, bool) {
	i := slices.IndexFunc(models, func(m Model) bool {
		return m.ID == name || m.ID == name+latest || slices.Contains(m.Aliases, name)
	})
	if i < 0 {
		return Model{}, false
	}
	return models[i], true
}

// Identify looks the model up in the model list. A server without one says
// nothing, and whether a model sees is never said here.
func (b *Backend) Identify(ctx context.Context, model string) (backends.Identity, error) {
	id := backends.Identity{Server: b.dialect.Server, Model: model}
	models, reply, err := b.Models(ctx)
	if err != nil {
		return id, err
	}
	id.Synthetic = reply.Synthetic()
	if models == nil {
		return id, nil
	}
	m, ok := FindModel(models, model)
	if !ok {
		return id, UnknownModel(reply, models, model)
	}
	id.Context = backends.Positive(m.MaxModelLen)
	return id, nil
}

// latest is the tag of a model that is asked for without one, where Ollama lists it.
const latest = ":latest"

// UnknownModel is the error for a name that is not in the model list.
func UnknownModel(reply *wire.Reply, models []Model, name string) error {
	var have []string
	for _, m := range models {
		if len(have) == 10 {
			have = append(have, "...")
			break
		}
		have = append(have, m.ID)
	}
	hint := "the server lists no model"
	if len(have) > 0 {
		hint = "the server has " + strings.Join(have, ", ")
	}
	return reply.Fail(backends.ErrUnknownModel, fmt.Sprintf("%q is not in the model list", name), hint)
}
