// Package eye is a small vision-language model that really sees, and an independent reckoning
// of what a server that runs it must answer.
//
//  1. The files are a model of 0.67 million numbers as llama.cpp and Ollama load it, trained by
//     .ci/eye on shapes and on phantom films.
//  2. Draw makes pictures of which the answers are known; Questions are ways to ask.
//  3. Answer computes the model in plain Go: how an Engine resizes a picture, tokens, all layers,
//     the log-probability of every token.
package eye

import (
	_ "embed" // the model's files
)

//go:embed model/eye.gguf
var text []byte

//go:embed model/eye-mmproj.gguf
var projector []byte

// The model's files, as servers load them.
const (
	TextFile      = "eye.gguf"
	ProjectorFile = "eye-mmproj.gguf"
)

// Files are the model's files by name. They are not to be changed.
func Files() map[string][]byte { return map[string][]byte{TextFile: text, ProjectorFile: projector} }

// OllamaTemplate is the model's chat template as Ollama writes templates.
const OllamaTemplate = `{{- range .Messages }}` +
	`{{- if eq .Role "system" }}[SYSTEM_PROMPT]{{ .Content }}[/SYSTEM_PROMPT]{{ end }}` +
	`{{- if eq .Role "user" }}[INST]{{ .Content }}[/INST]{{ end }}` +
	`{{- if eq .Role "assistant" }}{{ .Content }}</s>{{ end }}` +
	`{{- end }}`

// Read reads the model that is built in.
func Read() (*Model, error) { return read(text, projector) }
