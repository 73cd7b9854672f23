// Package ollama speaks Ollama's own API.
//
//  1. Identify asks /api/version, /api/show and /api/tags through Ollama's
//     client, whose requests go out through package wire.
//  2. Generate posts one streaming /api/chat and decodes it when it has ended.
//  3. Whatever fails is named: Ollama reports errors by status, by an error line
//     inside a 200, or only by leaving out the last line.
//
// Counts and durations are passed on as received. What they leave out differs
// between versions of Ollama, so nothing is derived from them here.
//
// A cold request carries its nonce twice: at the start of the system message,
// for the cache of prompts, and in each picture's file, for the cache of image
// embeddings, which some models keep by the bytes of the file. Ollama reports
// nothing of the second, and of the first in versions newer than 0.33.2.
package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/ollama/ollama/api"

	"assay/backends"
	"assay/backends/wire"
	"assay/timing"
)

// Name is the kind of server.
const Name = "ollama"

const chatPath = "/api/chat"

// ChatURL is where the server at a base URL takes chats.
func ChatURL(base string) string { return base + chatPath }

// Backend is one Ollama server. It is safe for concurrent use.
type Backend struct {
	wire *wire.Client

	mu    sync.Mutex
	blind map[string]bool // models that said they cannot see
}

// New checks c and makes a backend. It does not connect.
func New(c wire.Config) (*Backend, error) {
	w, err := wire.New(c)
	if err != nil {
		return nil, err
	}
	return &Backend{wire: w, blind: map[string]bool{}}, nil
}

// Generate makes one attempt at one turn. Images for a model that Identify found
// to be blind are refused before anything is sent: up to 0.24 the server would
// drop them without a word and answer.
//
// Of req.Options, keep_alive, truncate and shift go to the top level of the
// request and the rest into its options. Truncate and shift are false unless
// set, so that an over-long prompt fails instead of losing its beginning.
func (b *Backend) Generate(ctx context.Context, req *backends.Request, rec *timing.Recorder) (*backends.Response, error) {
	refuse := func(kind backends.Kind, message, hint string) error {
		return &backends.Error{Kind: kind, Op: "POST " + b.wire.URL() + chatPath, Message: message, Hint: hint}
	}
	if b.isBlind(req.Model) && hasImages(req.Messages) {
		return nil, refuse(backends.ErrNoVision, fmt.Sprintf("model %s does not list vision among its capabilities; nothing was sent", req.Model), "choose a vision model")
	}
	body, err := encode(req)
	if err != nil {
		return nil, refuse(backends.ErrRefused, err.Error()+"; nothing was sent", "mend the backend's options in bench.yaml")
	}
	buffer, err := b.wire.StreamUpTo(ctx, req.Sampling.MostReply(), chatPath, body, req.Timeouts, rec, hasText)
	if buffer == nil || len(buffer.Body) == 0 {
		hintAt(err, req.Model)
	}
	if buffer == nil {
		return nil, err
	}
	resp, chunks, failed := decode(buffer)
	rec.Chunks(chunks, buffer.Stamps)
	if failed == nil {
		if why := req.Sampling.Overlong(len(resp.Answer)+len(resp.Reasoning), resp.Usage.CompletionTokens); why != "" {
			failed = buffer.Fail(backends.ErrOverlong, why, "does the server heed num_predict?")
			failed.Partial = partial(resp.Answer, resp.Reasoning)
		}
	}
	if failed != nil {
		failed.Partial = req.Sampling.Kept(failed.Partial)
	}
	var broken *backends.Error
	if !errors.As(err, &broken) {
		if failed != nil {
			return nil, failed
		}
		return checked(req, resp, rec), nil
	}
	switch {
	case failed == nil && (broken.Kind == backends.ErrTruncated || broken.Kind == backends.ErrStalled):
		// done:true came: what the connection did after it matters no more.
		return checked(req, resp, rec), nil
	case failed == nil:
		broken.Partial = partial(resp.Answer, resp.Reasoning)
	case failed.Kind == backends.ErrTruncated, failed.Kind == backends.ErrMalformed:
		// How the connection ended says more than what the torso lacks.
		broken.Partial = failed.Partial
	default:
		return nil, failed
	}
	return nil, broken
}

// hintAt says what may help where no reply came at all. When somebody hangs up on an
// answer, 0.9.6 (and others, as its llm/server.go has it) may keep the model's one slot
// for it, and nobody is served by it until it is loaded anew.
func hintAt(err error, model string) {
	var e *backends.Error
	if errors.As(err, &e) && e.Kind == backends.ErrStalled && e.Hint == "" {
		e.Hint = "if the model answers nobody, the server may still hold its slot for a request that was given up: ollama stop " + model + " frees it"
	}
}

// checked compares the server's times with the client's. It says that only time can
// tell that the caches did nothing: prompt_eval_count is the same after a hit, and
// prompt_eval_duration and prompt_eval_cached_count leave the picture out.
func checked(req *backends.Request, resp *backends.Response, rec *timing.Recorder) *backends.Response {
	if whole, ok := rec.Trace().Whole(); ok {
		resp.Within(whole)
	}
	if req.Prove {
		resp.Cache = backends.Cache{State: backends.CacheTimed}
	}
	return resp
}

func (b *Backend) isBlind(model string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.blind[model]
}

func hasImages(messages []backends.Message) bool {
	for _, m := range messages {
		if len(m.Images) > 0 {
			return true
		}
	}
	return false
}

// encode builds the request body. The same request gives the same bytes.
func encode(req *backends.Request) ([]byte, error) {
	stream, off := true, false
	out := api.ChatRequest{
		Model:    req.Model,
		Stream:   &stream,
		Format:   req.Schema,
		Truncate: &off,
		Shift:    &off,
		Options:  map[string]any{"temperature": req.Sampling.Temperature, "num_predict": req.Sampling.MaxTokens},
	}
	if req.Sampling.Seed != nil {
		out.Options["seed"] = *req.Sampling.Seed
	}
	switch {
	case req.Think != nil:
		out.Think = &api.ThinkValue{Value: *req.Think}
	case req.Schema != nil:
		// A thinking model under a schema generates twice and drops the schema
		// where its thinking never closes.
		out.Think = &api.ThinkValue{Value: false}
	}
	for name, value := range req.Options {
		var err error
		switch name {
		case "keep_alive":
			out.KeepAlive = &api.Duration{}
			err = convert(value, out.KeepAlive)
		case "truncate":
			err = convert(value, &out.Truncate)
		case "shift":
			err = convert(value, &out.Shift)
		case "temperature", "num_predict", "seed":
			err = fmt.Errorf("belongs into sampling (temperature, max_tokens, seed)")
		default:
			out.Options[name] = value
		}
		if err != nil {
			return nil, fmt.Errorf("option %s: %w", name, err)
		}
	}
	messages, pictures := req.Messages, 0
	if req.Cold != "" {
		messages = req.Cold.Talk(messages)
	}
	for _, m := range messages {
		msg := api.Message{Role: string(m.Role), Content: m.Text}
		for _, image := range m.Images {
			if req.Cold != "" {
				var err error
				if image, err = req.Cold.Mark(image, pictures); err != nil {
					return nil, err
				}
			}
			pictures++
			msg.Images = append(msg.Images, image.Bytes)
		}
		out.Messages = append(out.Messages, msg)
	}
	// Not json.Marshal: it would write < and > of a prompt as escapes.
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return nil, fmt.Errorf("the request cannot be written as JSON: %w", err)
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// convert gives an option's value from the configuration the type that the
// request wants.
func convert(value, to any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, to)
}
