package ollama

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/ollama/ollama/api"

	"assay/backends"
	"assay/backends/wire"
)

// most log-probabilities that a server may be asked for.
const likeliest = 20

// Create makes a model of files, by their names; a model that has its name is replaced.
func (b *Backend) Create(ctx context.Context, name string, files map[string][]byte, template string, parameters map[string]any) error {
	off := false
	req := api.CreateRequest{Model: name, Files: map[string]string{}, Template: template, Parameters: parameters, Stream: &off}
	for file, data := range files {
		digest := fmt.Sprintf("sha256:%x", sha256.Sum256(data))
		req.Files[file] = digest
		// A server that has the file answers before it has read anything, and resets the connection.
		there, err := b.wire.Head(ctx, "/api/blobs/"+digest)
		if err != nil {
			return err
		}
		if there.Status == http.StatusOK {
			continue
		}
		if err := b.done(b.wire.Post(ctx, "/api/blobs/"+digest, data)); err != nil {
			return err
		}
	}
	return b.done(b.wire.Post(ctx, "/api/create", mustJSON(req)))
}

// Delete takes a model from the server. ErrNotFound: it has none of that name.
func (b *Backend) Delete(ctx context.Context, name string) error {
	return b.done(b.wire.Delete(ctx, "/api/delete", mustJSON(api.DeleteRequest{Model: name})))
}

// done is the error of a reply that is to say that something was done.
func (b *Backend) done(reply *wire.Reply, err error) error {
	if err != nil {
		return err
	}
	if reply.Status != http.StatusOK && reply.Status != http.StatusCreated {
		return refusal(reply.Status, reply.Body, reply.Fail)
	}
	return nil
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("ollama: internal error: " + err.Error())
	}
	return b
}

// Likely answers a request untimed. Servers before 0.12.11 say nothing of log-probabilities.
func (b *Backend) Likely(ctx context.Context, req *backends.Request) (backends.Likely, error) {
	body, err := encode(req)
	if err != nil {
		return backends.Likely{}, err
	}
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		panic("ollama: internal error: " + err.Error())
	}
	fields["stream"], fields["logprobs"], fields["top_logprobs"] = false, true, likeliest
	reply, err := b.wire.Post(ctx, chatPath, mustJSON(fields))
	if err := b.done(reply, err); err != nil {
		return backends.Likely{}, err
	}
	var said struct {
		Message  api.Message
		Logprobs []backends.Choices
	}
	if err := json.Unmarshal(reply.Body, &said); err != nil {
		return backends.Likely{}, reply.Fail(backends.ErrMalformed, fmt.Sprintf("the reply is not what Ollama sends: %v", err), "is this an Ollama server?")
	}
	return backends.Likely{Answer: said.Message.Content, First: backends.FirstOf(said.Logprobs)}, nil
}
