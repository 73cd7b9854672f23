package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/types/model"

	"assay/backends"
	"assay/backends/wire"
)

// Identify asks the server for its version and for what it knows of a model.
// Context is the model's own limit; the server works with num_ctx, which is
// smaller unless the options raise it.
func (b *Backend) Identify(ctx context.Context, name string) (backends.Identity, error) {
	asked := &through{wire: b.wire}
	client := asked.client()
	id := backends.Identity{Server: "ollama", Model: name}
	version, err := client.Version(ctx)
	if err != nil {
		return id, asked.failure(err)
	}
	id.Version = version
	show, err := client.Show(ctx, &api.ShowRequest{Model: name})
	if err != nil {
		return id, asked.failure(err)
	}
	describe(&id, show)
	list, err := client.List(ctx)
	if err != nil {
		return id, asked.failure(err)
	}
	for _, m := range list.Models {
		if full(m.Name) == full(name) || full(m.Model) == full(name) {
			id.Digest = m.Digest
		}
	}
	id.Synthetic = asked.synthetic
	if id.Vision != nil {
		b.mu.Lock()
		b.blind[name] = !*id.Vision
		b.mu.Unlock()
	}
	return id, nil
}

// describe copies what /api/show says of a model.
func describe(id *backends.Identity, show *api.ShowResponse) {
	if q := show.Details.QuantizationLevel; q != "unknown" {
		id.Quantisation = q
	}
	id.Family, id.Parameters = show.Details.Family, show.Details.ParameterSize
	// Old versions list no capabilities at all.
	if show.Capabilities != nil {
		vision := slices.Contains(show.Capabilities, model.CapabilityVision)
		thinking := slices.Contains(show.Capabilities, model.CapabilityThinking)
		id.Vision, id.Thinking = &vision, &thinking
	}
	if arch, ok := show.ModelInfo["general.architecture"].(string); ok {
		if n, ok := show.ModelInfo[arch+".context_length"].(float64); ok && n >= 1 && n <= backends.MaxCount {
			tokens := int(n)
			id.Context = &tokens
		}
	}
}

// full is a model's name with its tag, as the server lists it.
func full(name string) string {
	if last := name[strings.LastIndex(name, "/")+1:]; !strings.Contains(last, ":") {
		return name + ":latest"
	}
	return name
}

// Loaded is a model in the server's memory. A nil Context means that the
// server, an older one, does not say.
type Loaded struct {
	Model     string
	Digest    string
	Bytes     int64 // in all
	BytesVRAM int64 // on the GPU; fewer than Bytes: part of it runs on the CPU
	Context   *int  // tokens it was loaded with
}

// Loaded lists the models in memory now.
func (b *Backend) Loaded(ctx context.Context) ([]Loaded, error) {
	asked := &through{wire: b.wire}
	ps, err := asked.client().ListRunning(ctx)
	if err != nil {
		return nil, asked.failure(err)
	}
	list := make([]Loaded, 0, len(ps.Models))
	for _, m := range ps.Models {
		one := Loaded{Model: m.Name, Digest: m.Digest, Bytes: m.Size, BytesVRAM: m.SizeVRAM}
		if m.Size < 0 || m.SizeVRAM < 0 || m.SizeVRAM > m.Size {
			return nil, &backends.Error{Kind: backends.ErrMalformed, Op: asked.last, Message: fmt.Sprintf("%s is said to have %d bytes, %d of them on a GPU", m.Name, m.Size, m.SizeVRAM), Hint: "look into the server's log"}
		}
		if m.ContextLength > 0 && m.ContextLength <= backends.MaxCount {
			one.Context = &m.ContextLength
		}
		list = append(list, one)
	}
	return list, nil
}

// through carries the requests of Ollama's client over package wire. Only the
// method, the path and the body are taken over: the client would sign requests
// with a key of the user's if an environment variable asked for it.
type through struct {
	wire      *wire.Client
	last      string // what was asked last
	synthetic bool   // a phantom answered
}

func (t *through) client() *api.Client {
	return api.NewClient(&url.URL{Scheme: "http", Host: "server"}, &http.Client{Transport: t})
}

// RoundTrip sends req. A status other than 200 is a *backends.Error.
func (t *through) RoundTrip(req *http.Request) (*http.Response, error) {
	t.last = req.Method + " " + t.wire.URL() + req.URL.Path
	var reply *wire.Reply
	var err error
	if req.Body == nil {
		reply, err = t.wire.Get(req.Context(), req.URL.Path)
	} else {
		var body []byte
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		req.Body.Close()
		reply, err = t.wire.Post(req.Context(), req.URL.Path, body)
	}
	if err != nil {
		return nil, err
	}
	if reply.Status != http.StatusOK {
		return nil, refusal(reply.Status, reply.Body, reply.Fail)
	}
	t.synthetic = t.synthetic || reply.Synthetic()
	return &http.Response{StatusCode: reply.Status, Header: reply.Header, Body: io.NopCloser(bytes.NewReader(reply.Body)), Request: req}, nil
}

// failure takes our own error out of the client's wrapping.
func (t *through) failure(err error) error {
	var e *backends.Error
	if errors.As(err, &e) {
		return e
	}
	e = &backends.Error{Kind: backends.ErrMalformed, Op: t.last, Err: err}
	var syntax *json.SyntaxError
	var shape *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &shape) {
		e.Message, e.Hint = fmt.Sprintf("the reply is not what Ollama sends: %v", err), "is this an Ollama server?"
	}
	return e
}
