package tinymodel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"

	"github.com/ollama/ollama/api"
)

// Names under which Install and InstallReader create the models.
const (
	VLMName    = "tiny-vlm"
	TextName   = "tiny-text"
	ReaderName = "tiny-reader"
)

const template = `{{- range .Messages }}` +
	`{{- if eq .Role "system" }}[SYSTEM_PROMPT]{{ .Content }}[/SYSTEM_PROMPT]{{ end }}` +
	`{{- if eq .Role "user" }}[INST]{{ .Content }}[/INST]{{ end }}` +
	`{{- if eq .Role "assistant" }}{{ .Content }}</s>{{ end }}` +
	`{{- end }}`

// model is a file and the name to create it under.
type model struct {
	name string
	file []byte
}

// Install creates VLM and Text in the Ollama at address ("http://127.0.0.1:11434"),
// replacing what it has under their names.
func Install(ctx context.Context, address string) error {
	return install(ctx, address, model{VLMName, VLM()}, model{TextName, Text()})
}

// InstallReader creates Reader as Install does the others.
func InstallReader(ctx context.Context, address string) error {
	return install(ctx, address, model{ReaderName, Reader()})
}

// install creates models. One thread: more than the free cores makes Ollama slower
// by orders of magnitude; and vision needs a context of at least 2,048 tokens.
func install(ctx context.Context, address string, models ...model) error {
	base, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("tinymodel: address %q: %w", address, err)
	}
	httpClient := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	client := api.NewClient(base, httpClient)
	for _, m := range models {
		name, file := m.name, m.file
		digest := fmt.Sprintf("sha256:%x", sha256.Sum256(file))
		if err := upload(ctx, client, httpClient, base.JoinPath("api", "blobs", digest).String(), digest, file); err != nil {
			return fmt.Errorf("tinymodel: upload %s to %s: %w", name, address, err)
		}
		err := client.Create(ctx, &api.CreateRequest{
			Model:      name,
			Files:      map[string]string{name + ".gguf": digest},
			Template:   template,
			Parameters: map[string]any{"num_ctx": contextTokens, "num_thread": 1},
		}, func(api.ProgressResponse) error { return nil })
		if err != nil {
			return fmt.Errorf("tinymodel: create %s on %s: %w", name, address, err)
		}
	}
	return nil
}

// upload sends the file unless the server has it: a server that has it answers
// before it has read anything, and resets the connection under the upload.
func upload(ctx context.Context, client *api.Client, httpClient *http.Client, blob, digest string, file []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, blob, nil)
	if err != nil {
		return err
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return client.CreateBlob(ctx, digest, bytes.NewReader(file))
}
