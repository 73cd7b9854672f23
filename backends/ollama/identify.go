package ollama

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
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
	id, err := b.identify(ctx, name)
	if err != nil {
		return id, b.wire.Told(ctx, Name, err)
	}
	return id, nil
}

func (b *Backend) identify(ctx context.Context, name string) (backends.Identity, error) {
	asked := &through{wire: b.wire}
	client := asked.client()
	id := backends.Identity{Server: Name, Model: name}
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
	id.Weights, id.Template = weights(show.Modelfile), around(show)
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

// blob finds the files that a modelfile is made of: weights, projectors and
// adapters, named by their digests. What stands in a template is no instruction
// of its own unless a line of it looks like one, and then it changes the digest
// with the template.
var blob = regexp.MustCompile(`(?m)^(FROM|ADAPTER) .*sha256[-:]([0-9a-f]{64})\s*$`)

// weights is a digest of the files that a modelfile names; "": it names none by
// digest, as those of older versions and of models without files of their own.
func weights(modelfile string) string {
	found := blob.FindAllStringSubmatch(modelfile, -1)
	if len(found) == 0 {
		return ""
	}
	if len(found) == 1 {
		return "sha256:" + found[0][2] // as sha256sum prints it of the file
	}
	var files []string
	for _, m := range found {
		files = append(files, m[1]+" "+m[2])
	}
	slices.Sort(files)
	return digest(files...)
}

// around is a digest of what the server puts around a prompt; "": it says nothing
// of that. The order of its parameters is by chance.
func around(show *api.ShowResponse) string {
	parameters := strings.Split(show.Parameters, "\n")
	slices.Sort(parameters)
	if show.Template == "" && show.System == "" && show.Parameters == "" && len(show.Messages) == 0 {
		return ""
	}
	parts := []string{show.Template, show.System, strings.Join(parameters, "\n")}
	for _, m := range show.Messages {
		parts = append(parts, m.Role, m.Content)
	}
	return digest(parts...)
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// full is a model's name with its tag, as the server lists it.
func full(name string) string {
	if last := name[strings.LastIndex(name, "/")+1:]; !strings.Contains(last, ":") {
		return name + ":latest"
	}
	return name
}

// Loaded lists the models in memory now. Older servers do not say a context.
func (b *Backend) Loaded(ctx context.Context) ([]backends.Loaded, error) {
	asked := &through{wire: b.wire}
	ps, err := asked.client().ListRunning(ctx)
	if err != nil {
		return nil, asked.failure(err)
	}
	list := make([]backends.Loaded, 0, len(ps.Models))
	for _, m := range ps.Models {
		bare := strings.TrimSuffix(m.Name, ":latest") // which the server takes as the same
		one := backends.Loaded{Model: m.Name, Names: []string{full(m.Name), bare}, Bytes: m.Size, BytesVRAM: m.SizeVRAM, Stop: "ollama stop " + m.Name}
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
