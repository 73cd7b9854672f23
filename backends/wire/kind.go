package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"assay/backends"
)

// kindWithin is how long Kind waits for each of its answers.
const kindWithin = 5 * time.Second

// Kind is what kind of server answers: "ollama", "llamacpp", "vllm"; "": it cannot be
// told. It is asked where a server did not speak as expected.
func (c *Client) Kind(ctx context.Context) string {
	get := func(path string) *Reply {
		ctx, cancel := context.WithTimeout(ctx, kindWithin)
		defer cancel()
		reply, err := c.Get(ctx, path)
		if err != nil {
			return &Reply{Header: http.Header{}}
		}
		return reply
	}
	models := get("/v1/models")
	if models.Header.Get("Server") == "llama.cpp" {
		return "llamacpp"
	}
	var list struct {
		Data []struct {
			Owner string `json:"owned_by"`
		}
	}
	if models.Status == http.StatusOK && json.Unmarshal(models.Body, &list) == nil && len(list.Data) > 0 {
		switch list.Data[0].Owner {
		case "vllm":
			return "vllm"
		case "llamacpp":
			return "llamacpp"
		}
	}
	if bytes.HasPrefix(bytes.TrimSpace(get("/").Body), []byte("Ollama is running")) {
		return "ollama"
	}
	var props map[string]json.RawMessage
	if reply := get("/props"); reply.Status == http.StatusOK && json.Unmarshal(reply.Body, &props) == nil && props["default_generation_settings"] != nil {
		return "llamacpp"
	}
	return ""
}

// KindName is a kind of server for people: "an Ollama".
func KindName(kind string) string {
	return strings.NewReplacer("ollama", "an Ollama", "llamacpp", "a llama-server", "vllm", "vLLM").Replace(kind)
}

// NotKind is what to do where a server of another kind than the wanted one answers;
// "": it is that kind, or cannot be told.
func (c *Client) NotKind(ctx context.Context, want string) string {
	is := c.Kind(ctx)
	if is == "" || is == want {
		return ""
	}
	return "this is " + KindName(is) + ": write kind: " + is
}

// Told is err with what kind of server it was that did not speak as one of the wanted
// kind does, where it answered and that can be told.
func (c *Client) Told(ctx context.Context, want string, err error) error {
	var e *backends.Error
	if !errors.As(err, &e) || e.Kind != backends.ErrMalformed && e.Status != http.StatusNotFound && e.Status != http.StatusMethodNotAllowed || e.Kind == backends.ErrUnknownModel {
		return err
	}
	hint := c.NotKind(ctx, want)
	if hint == "" {
		return err
	}
	told := *e
	told.Hint = hint
	return &told
}
